"""Makes a DocC catalogue of the repository's Markdown, which stays the only text.

usage: guides.py CATALOGUE SYMBOL-GRAPHS [REPOSITORY-URL]

Docs/README.md becomes the root page, and its lists the groups. A page that no list names is put
beside its neighbours, so that a new file needs no change here. What articles and files on a forge
write differently is translated: links between pages, links to files of the repository, pictures,
and names of symbols in code, which become links to the reference.
"""

import json
import pathlib
import re
import shutil
import sys

from translation import Page, Translation

ROOT = pathlib.Path(__file__).resolve().parents[2]
INDEX = ROOT / "Docs/README.md"
BUNDLE = "Guides"

# Pages with other names on the site than their files have.
NAMES = {"README.md": "GettingStarted", "CHANGELOG.md": "Changelog", "CONTRIBUTING.md": "Contributing"}
TITLES = {"README.md": "Getting started"}


def find_pages():
    """Returns the pages of the site by their files."""
    patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Docs/*.md", "Docs/*/*.md",
                "Examples/*/README.md", "Benchmarks/README.md", "Fuzz/README.md"]
    pages = {}
    for file in sorted(file for pattern in patterns for file in ROOT.glob(pattern)):
        path = file.relative_to(ROOT).as_posix()
        if file == INDEX:
            name = BUNDLE
        elif file.name == "README.md" and file.parent != ROOT:
            name = "About-" + file.parent.name
        else:
            name = NAMES.get(path, file.stem)
        pages[file] = Page(file, name, TITLES.get(path))
    return pages


def find_symbols(folder):
    """Returns links to public symbols by the names under which guides mention them.

    A name stands for a symbol if it has no overloads, and no other type has a member of that name.
    """
    found = {}
    for graph in sorted(pathlib.Path(folder).glob("*/*.symbols.json")):
        content = json.loads(graph.read_text())
        module = content["module"]["name"]
        if graph.name != module + ".symbols.json":
            continue
        for symbol in content["symbols"]:
            path = symbol["pathComponents"]
            names = {".".join(path)}
            if path[-1].endswith(")") and not path[-1].startswith("init("):
                names.add(path[-1])
            link = f"/{module}/" + "/".join(path)
            for name in names:
                found.setdefault(name, set()).add((link, symbol["identifier"]["precise"]))
    # Members that are type names of one module and cases of another are left out with the others.
    return {name: next(iter(links))[0] for name, links in found.items() if len(links) == 1}


def groups_of_index(pages):
    """Returns the root page's text before its lists, and the groups: a title and files."""
    groups, introduction = [], []
    for line in INDEX.read_text().splitlines()[1:]:
        if line.startswith("## "):
            groups.append((line[3:].strip(), []))
        elif not groups:
            introduction.append(line)
        elif link := re.match(r"- \[[^\]]*\]\(([^)]+)\)", line):
            groups[-1][1].append((INDEX.parent / link[1]).resolve())
    return "\n".join(introduction).strip(), groups


def complete(groups, pages):
    """Adds the pages that no list names to the group of a neighbour: of their folder, or `From…`."""
    listed = {file for _, files in groups for file in files}
    for file in pages:
        if file in listed or file == INDEX:
            continue
        def is_neighbour(other):
            if file.parent == INDEX.parent:
                return other.parent == file.parent and other.stem[:4] == file.stem[:4] == "From"
            return other.parent == file.parent or other.parent.parent == file.parent.parent != ROOT
        group = next((files for _, files in groups if any(is_neighbour(other) for other in files)), None)
        if group is None:
            if groups[-1][0] != "Further pages":
                groups.append(("Further pages", []))
            group = groups[-1][1]
        group.append(file)


def main():
    catalogue, graphs = pathlib.Path(sys.argv[1]), sys.argv[2]
    repository = sys.argv[3] if len(sys.argv) > 3 else None
    shutil.rmtree(catalogue, ignore_errors=True)
    catalogue.mkdir(parents=True)

    pages = find_pages()
    decisions = ROOT / "Docs/Decisions"
    translation = Translation(ROOT, catalogue, pages, find_symbols(graphs), repository)
    translation.folders[decisions] = "Decisions"
    for file, page in pages.items():
        if file != INDEX:
            (catalogue / (page.name + ".md")).write_text(translation.article(page))

    introduction, groups = groups_of_index(pages)
    chosen = [file for file in pages if file.parent == decisions]
    complete(groups, {file: page for file, page in pages.items() if file.parent != decisions})

    def topics(files):
        return "".join(f"- <doc:{translation.names[file]}>\n" for file in files if file in translation.names)

    translation.names[decisions] = "Decisions"
    (catalogue / "Decisions.md").write_text(
        "# Decisions\n\nThe choices that a newcomer would question, each with its context, its reasons, "
        f"the alternatives and what follows.\n\n## Topics\n\n### In the order in which they were made\n\n{topics(chosen)}")
    title = INDEX.read_text().splitlines()[0]
    body = translation.text(introduction, INDEX)
    (catalogue / (BUNDLE + ".md")).write_text(
        f"{title}\n\n@Metadata {{\n  @TechnologyRoot\n}}\n\n{body}\n\n## Topics\n\n"
        + "\n".join(f"### {name}\n\n{topics(files)}" for name, files in groups))
    print(f"guides: {len(pages)} pages, {translation.symbol_links} links to symbols")


main()
