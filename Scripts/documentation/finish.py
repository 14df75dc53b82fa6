"""Completes the merged archive: the landing page, and on each symbol's page the guides that name it.

usage: finish.py SITE BASE-PATH
"""

import html
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "Docs/Site"
SNIPPETS = ROOT / "Tests/SecureStorageTests/Documentation/DocumentedSnippets.swift"


def data_file(site, url):
    return site / ("data" + url + ".json")


def add_mentions(site):
    """Does what docc does for the articles of a symbol's own catalogue."""
    mentions = {}
    for file in sorted((site / "data/documentation/guides").rglob("*.json")):
        page = json.loads(file.read_text())
        url = "/" + file.relative_to(site / "data").with_suffix("").as_posix()
        itself = {
            "type": "topic", "kind": "article", "role": "article",
            "identifier": page["identifier"]["url"], "title": page["metadata"]["title"],
            "url": url, "abstract": [],
        }
        for reference in page.get("references", {}).values():
            if reference.get("type") == "topic" and "/documentation/guides" not in reference["url"]:
                mentions.setdefault(reference["url"].split("#")[0], []).append(itself)
    for url, articles in mentions.items():
        file = data_file(site, url)
        page = json.loads(file.read_text())
        if page["kind"] != "symbol":
            continue
        sections = page.setdefault("primaryContentSections", [])
        section = next((section for section in sections if section["kind"] == "mentions"), None)
        if section is None:
            section = {"kind": "mentions", "mentions": []}
            place = next((i + 1 for i, other in enumerate(sections) if other["kind"] == "declarations"), 0)
            sections.insert(place, section)
        for article in articles:
            section["mentions"].append(article["identifier"])
            page["references"][article["identifier"]] = article
        file.write_text(json.dumps(page))
    return len(mentions)


def snippet(name):
    """Returns the compiled code of a test, between its lines `begin` and `end`."""
    text = SNIPPETS.read_text()
    match = re.search(
        r"@Test func `" + re.escape(name) + r"`\(\).*?\n *// begin\n(.*?)\n *// end", text, re.DOTALL)
    if not match:
        raise SystemExit(f"finish: {SNIPPETS.name} has no test {name}")
    lines = match[1].split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return html.escape("\n".join(line[margin:] for line in lines), quote=False)


def write_landing_page(site, base):
    page = (SOURCE / "index.html").read_text()
    page = re.sub(r"\{\{snippet: (.*?)\}\}", lambda match: snippet(match[1]), page)
    page = page.replace("{{base}}", base.rstrip("/"))
    tutorials = sorted((site / "data/tutorials").glob("*.json"))
    link = f"{base.rstrip('/')}/tutorials/{tutorials[0].stem}/" if tutorials else None
    page = re.sub(r"\{\{if tutorials\}\}(.*?)\{\{end\}\}", (r"\1" if link else ""), page, flags=re.DOTALL)
    (site / "index.html").write_text(page.replace("{{tutorials}}", link or ""))
    for file in SOURCE.iterdir():
        if file.name != "index.html":
            shutil.copyfile(file, site / file.name)


site, base = pathlib.Path(sys.argv[1]), sys.argv[2]
count = add_mentions(site)
write_landing_page(site, base)
print(f"finish: {count} symbols say which guides name them")
