"""Completes the merged archive: the landing page, a line above the others that leads back to it, and
on each symbol's page the guides that name it.

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
SNIPPETS = ROOT / "Tests/Extended/SecureStorageExtendedTests/Documentation/DocumentedSnippets.swift"


def data_file(site, url):
    return site / ("data" + url + ".json")


def add_mentions(site):
    """Does what docc does for the articles of a symbol's own catalogue."""
    mentions = {}
    # What every reader of a symbol may want: guides, not the list of changes or the reasons.
    others = re.compile(r"about-|changelog|contributing|design|\d{4}-")
    for file in sorted((site / "data/documentation/guides").rglob("*.json")):
        if others.match(file.name):
            continue
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


def fill(template, site, base):
    """Replaces what a template of Docs/Site leaves open."""
    page = (SOURCE / template).read_text()
    page = re.sub(r"\{\{snippet: (.*?)\}\}", lambda match: snippet(match[1]), page)
    tutorials = sorted((site / "data/tutorials").glob("*.json"))
    page = re.sub(r"\{\{if tutorials\}\}(.*?)\{\{end\}\}", r"\1" if tutorials else "", page, flags=re.DOTALL)
    if tutorials:
        page = page.replace("{{tutorials}}", f"{base}/tutorials/{tutorials[0].stem}/")
    return page.replace("{{base}}", base)


def add_header(site, base):
    """Puts a line above every page of docc, as its custom templates do, for the way back."""
    header = f'<template id="custom-header">{fill("header.html", site, base)}</template>'
    for folder in ("documentation", "tutorials"):
        for file in (site / folder).rglob("index.html"):
            page = file.read_text()
            file.write_text(page.replace('<div id="app">', header + '<div id="app">', 1))


def sort_modules(site):
    """Lists the modules in the navigator's order: the guides, then what most people need first."""
    index = json.loads((site / "index/index.json").read_text())
    root = index["interfaceLanguages"]["swift"][0]
    order = [child["path"] for child in root["children"]]
    file = site / "data/documentation.json"
    page = json.loads(file.read_text())
    for section in page["topicSections"]:
        section["identifiers"].sort(key=lambda name: order.index(page["references"][name]["url"]))
    file.write_text(json.dumps(page))


site, base = pathlib.Path(sys.argv[1]), sys.argv[2].rstrip("/")
count = add_mentions(site)
sort_modules(site)
add_header(site, base)
(site / "index.html").write_text(fill("index.html", site, base))
for file in SOURCE.iterdir():
    if file.suffix != ".html":
        shutil.copyfile(file, site / file.name)
print(f"finish: {count} symbols say which guides name them")
