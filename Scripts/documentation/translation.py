"""Translates Markdown as forges show it into DocC's."""

import pathlib
import re
import shutil

CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
FENCE = re.compile(r"^\s*(```+|~~~+)(.*)$")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*$")


class Page:
    """A Markdown file, and its name and title on the site."""

    def __init__(self, file, name, title=None):
        self.file = file
        self.name = name
        self.lines = file.read_text().splitlines()
        self.title = title or next(
            (match[2] for line in self.lines if (match := HEADING.match(line))), name)

    def fragments(self):
        """Returns DocC's names of the headings by those of forges."""
        found, fenced = {}, False
        for line in self.lines:
            if FENCE.match(line):
                fenced = not fenced
            elif not fenced and (match := HEADING.match(line)):
                found.setdefault(forge_fragment(match[2]), docc_fragment(match[2]))
        return found


def forge_fragment(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def docc_fragment(heading):
    heading = re.sub(r"[`'\"“”‘’]", "", heading.strip())
    return re.sub(r"\s+", "-", heading)


class Translation:
    def __init__(self, root, catalogue, pages, symbols, repository):
        self.root, self.catalogue, self.pages = root, catalogue, pages
        self.symbols, self.repository = symbols, repository
        self.names = {file: page.name for file, page in pages.items()}
        self.folders = {}
        self.symbol_links = 0
        self.is_abstract = False

    def article(self, page):
        lines = page.lines
        if lines and lines[0].startswith("# "):
            lines = lines[1:]
        text = "\n".join(lines).strip()
        # The first paragraph is shown in lists as well, where docc loses links to other sites.
        abstract, gap, rest = text.partition("\n\n")
        if not abstract.startswith(("#", "|", "```", "- ")):
            self.is_abstract = True
            abstract = self.text(abstract, page.file)
            self.is_abstract = False
            text = abstract + gap + self.text(rest, page.file)
        else:
            text = self.text(text, page.file)
        return f"# {page.title}\n\n{text}\n"

    def text(self, text, file):
        """Translates everything but blocks of code, section by section."""
        result, prose, fence = [], [], None
        self.linked = set()

        def flush():
            if prose:
                result.append(self.prose("\n".join(prose), file))
                prose.clear()

        for line in text.split("\n"):
            match = FENCE.match(line)
            if fence:
                result.append(line)
                if match and match[1].startswith(fence) and not match[2].strip():
                    fence = None
            elif match:
                flush()
                fence = match[1]
                # The first word is the language; others are for tests.
                words = match[2].split()
                result.append(line[:match.end(1)] + (words[0] if words else ""))
            elif HEADING.match(line):
                flush()
                self.linked = set()
                result.append(line)
            else:
                # A line that begins so would be a directive.
                prose.append(re.sub(r"^(\s*)@", r"\1\\@", line))
        flush()
        return "\n".join(result)

    def prose(self, text, file):
        text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
        codes = []

        def protect(match):
            codes.append(match[0])
            return f"\0{len(codes) - 1}\0"

        def restore(part, link_symbols):
            def code(match):
                return self.code(codes[int(match[1])]) if link_symbols else codes[int(match[1])]
            return re.sub("\0(\\d+)\0", code, part)

        text = CODE.sub(protect, text)
        parts, end = [], 0
        for match in LINK.finditer(text):
            parts.append(restore(text[end:match.start()], True))
            parts.append(self.link(match[1], restore(match[2], False), match[3], file))
            end = match.end()
        parts.append(restore(text[end:], True))
        return "".join(parts)

    def code(self, code):
        """Links the name of a symbol, the first time in each section."""
        name = code.strip("`")
        if name not in self.symbols or name in self.linked:
            return code
        self.linked.add(name)
        self.symbol_links += 1
        return f"[{code}](doc:{self.symbols[name]})"

    def link(self, image, label, target, file):
        if re.match(r"[a-z]+:", target):
            return label if self.is_abstract else f"{image}[{label}]({target})"
        path, _, fragment = target.partition("#")
        destination = (file.parent / path).resolve() if path else file
        if image:
            return self.image(label, destination)
        if destination in self.folders:
            return f"[{label}](doc:{self.folders[destination]})"
        if destination.is_dir() and destination / "README.md" in self.pages:
            destination = destination / "README.md"
        if destination in self.pages:
            page = self.pages[destination]
            if fragment:
                fragments = page.fragments()
                if fragment not in fragments:
                    raise SystemExit(f"guides: {file.relative_to(self.root)}: {target} has no such heading")
                fragment = "#" + fragments[fragment]
            return f"[{label}](doc:{page.name}{fragment})"
        if not destination.exists():
            raise SystemExit(f"guides: {file.relative_to(self.root)}: {target} does not exist")
        name = destination.relative_to(self.root).as_posix()
        if self.repository:
            return f"[{label}]({self.repository}/{name})"
        return label if name in label or destination.name in label else f"{label} (`{name}`)"

    def image(self, label, source):
        if not source.exists():
            raise SystemExit(f"guides: {source} does not exist")
        name = source.relative_to(self.root).as_posix().replace("/", "-")
        shutil.copyfile(source, self.catalogue / name)
        return f"![{' '.join(label.split())}]({name})"
