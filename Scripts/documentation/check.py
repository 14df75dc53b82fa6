"""Checks the built site without a browser.

usage: check.py SITE SYMBOL-GRAPHS

Fails on a link, a picture or a heading's anchor that leads to nothing, on a page that nothing links
to, on an empty group, on a symbol that is in no group of its own catalogue, and on a public symbol
without a page.
"""

import html.parser
import json
import pathlib
import re
import sys

site, graphs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
problems = []
data = site / "data"
pages = {"/" + file.relative_to(data).with_suffix("").as_posix(): json.loads(file.read_text())
         for file in data.rglob("*.json")}


def walk(value):
    """Yields every object in a page."""
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from walk(child)
    elif isinstance(value, list):
        for child in value:
            yield from walk(child)


anchors = {url: {part["anchor"] for part in walk(page) if "anchor" in part} for url, page in pages.items()}
linked = set()
links = 0


def check_link(url, place):
    global links
    links += 1
    path, _, anchor = url.partition("#")
    path = path.rstrip("/").lower()
    if path not in pages:
        problems.append(f"{place}: no page {url}")
        return
    if path != place:
        linked.add(path)
    if anchor and anchor not in anchors[path]:
        problems.append(f"{place}: no heading {url}")


groups = symbols = 0
for url, page in pages.items():
    if not (site / url[1:] / "index.html").exists():
        problems.append(f"{url}: no index.html, so a file server does not find the page")
    references = page.get("references", {})
    # A chapter of tutorials has a name, but no page.
    hierarchy = page.get("hierarchy", {})
    chapters = {module["reference"] for module in hierarchy.get("modules", [])}
    for identifier, reference in references.items():
        kind = reference.get("type")
        if identifier in chapters:
            continue
        if kind in ("topic", "section") or (kind == "link" and reference["url"].startswith("/")):
            check_link(reference["url"], url)
        elif kind in ("image", "video", "download"):
            files = [variant["url"] for variant in reference.get("variants", [])] or [reference.get("url", "")]
            for file in files:
                if not file.startswith("http") and not (site / file.lstrip("/")).is_file():
                    problems.append(f"{url}: no file {file}")
        elif kind == "link" and not re.match(r"https?://|mailto:", reference["url"]):
            problems.append(f"{url}: a link to {reference['url']}, which is neither a page nor an address")
        # Protocols of the standard library that a type conforms to have no pages here.
        elif kind == "unresolvable" and "/documentation/" in identifier:
            problems.append(f"{url}: {reference.get('title')} leads nowhere")
    for part in walk({key: value for key, value in page.items() if key != "references"}):
        if part.get("type") in ("reference", "image") and part.get("identifier") not in references:
            problems.append(f"{url}: {part.get('identifier')} is not known")
    for group in page.get("topicSections", []) + page.get("seeAlsoSections", []):
        groups += 1
        if not group.get("identifiers"):
            problems.append(f"{url}: the group {group.get('title')} is empty")
        if group.get("generated") and group in page.get("topicSections", []):
            problems.append(f"{url}: {group['title']} are in no group of the catalogue: "
                            + ", ".join(name.rsplit("/", 1)[1] for name in group["identifiers"]))
        for identifier in group.get("identifiers", []):
            if identifier not in references:
                problems.append(f"{url}: {identifier}, in the group {group.get('title')}, is not known")
    symbols += page.get("kind") == "symbol" and page["metadata"].get("symbolKind") != "module"

for url in sorted(set(pages) - linked - {"/documentation"}):
    problems.append(f"{url}: no page links to it")

# The pages of symbols by the names that compilers give them.
known = {page["metadata"].get("externalID") for page in pages.values()}
public = 0
for graph in graphs.glob("*/*.symbols.json"):
    if "@" in graph.name:
        continue
    for symbol in json.loads(graph.read_text())["symbols"]:
        public += 1
        if symbol["identifier"]["precise"] not in known:
            problems.append(f"{'.'.join(symbol['pathComponents'])} of {graph.stem} has no page")


class Links(html.parser.HTMLParser):
    """The links and files of the landing page."""

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value and not value.startswith(("#", "http", "data:")):
                path = value.split("#")[0]
                if base and not path.startswith(base):
                    problems.append(f"the landing page: {value} is outside of {base}")
                    continue
                path = path[len(base):]
                if not (site / path.lstrip("/")).is_file():
                    if not path.endswith("/"):
                        problems.append(f"the landing page: no file {value}")
                    elif path != "/":
                        check_link(path, "the landing page")


index = (site / "documentation/index.html").read_text()
base = re.search(r'var baseUrl = "(.*?)/?"', index)[1].rstrip("/")
landing = (site / "index.html").read_text()
if "{{" in landing:
    problems.append("the landing page: a placeholder is left")
Links().feed(landing)

for problem in problems:
    print("check:", problem, file=sys.stderr)
print(f"check: {len(pages)} pages, {symbols} pages of symbols, {public} public symbols, "
      f"{groups} groups, {links} links, {len(problems)} problems")
sys.exit(1 if problems else 0)
