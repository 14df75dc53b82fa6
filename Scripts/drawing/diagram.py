"""Boxes in rows from top to bottom, in frames, with arrows between them; lanes of time."""
import re

from drawing.svg import COLORS, LABEL, MARGIN, NOTE, SVG, WIDTH, Mistake, text_width, wrap

GAP = 10


class Box:
    """A box of a row: its first line is a label, the others are notes, `those` are code."""

    def __init__(self, line):
        match = re.fullmatch(r"(\S+) (\w+)(?:\*([\d.]+))?(?: (.+))?", line)
        if not match or match[2] not in {*COLORS, "gap"}:
            raise Mistake(f"not a box: {line}")
        self.id, self.kind, self.share, text = match[1], match[2], float(match[3] or 1), match[4] or ""
        self.parts = [part.strip() for part in text.split("|") if part.strip()]

    def place(self, x, y, width):
        self.x, self.y, self.width, self.lines = x, y, width, []
        for index, part in enumerate(self.parts):
            mono, size = part.startswith("`") and part.endswith("`"), NOTE if index else LABEL
            if "`" in part and not mono:
                raise Mistake(f"only a whole part is code: {part}")
            style = " ".join(["label"] * (index == 0) + ["mono"] * mono)
            self.lines += [(style, size + 4, line) for line in wrap(part.strip("`"), size, width - 10, mono)]
        self.height = 12 + sum(height for _, height, _ in self.lines)

    def draw(self, svg):
        svg.rect(self.kind, self.x, self.y, self.width, self.height, 6)
        y = self.y + (self.height - sum(height for _, height, _ in self.lines)) / 2
        for style, height, line in self.lines:
            y += height
            svg.text(self.x + self.width / 2, y - 4.5, line, style, "middle")


class Arrow:
    """`a b -> c`, `~>` for a dashed one; `@left` along the edge, `@-30` moved; `: label`."""

    pattern = re.compile(r"(.+?) (->|~>) (\S+)(?: @(left|right|[+-]\d+))?(?: : (.+))?")

    def __init__(self, sources, kind, target, way, label):
        self.sources, self.target, self.way, self.label = sources.split(), target, way, label
        self.dashes = {"stroke_dasharray": "5 4"} if kind == "~>" else {}

    def draw(self, svg, labels, boxes):
        for source in self.sources:
            points = self.route(boxes[source], boxes[self.target])
            svg.arrow(points, **self.dashes)
        if self.label:
            (x0, y0), (x, y) = points[-2:]
            is_tight = x + 8 + text_width(self.label, NOTE) > WIDTH - MARGIN - 4
            labels.text(x + (-8 if is_tight else 8), (y + y0) / 2 + 4, self.label,
                        anchor="end" if is_tight else "start", color="over")

    def route(self, a, b):
        middle = lambda box: box.y + box.height / 2
        if self.way in ("left", "right"):
            is_left = self.way == "left"
            edge = lambda box: box.x if is_left else box.x + box.width
            out = 8 if is_left else WIDTH - 8
            return [(edge(a), middle(a)), (out, middle(a)), (out, middle(b)), (edge(b), middle(b))]
        if a.y == b.y:
            is_right = a.x < b.x
            return [(a.x + a.width * is_right, middle(a)), (b.x + b.width * (not is_right), middle(a))]
        is_down = a.y < b.y
        start, end = (a.y + a.height, b.y) if is_down else (a.y, b.y + b.height)
        low, high, moved = max(a.x, b.x), min(a.x + a.width, b.x + b.width), float(self.way or 0)
        if high - low > 12:
            x = (low + high) / 2 + moved
            return [(x, start), (x, end)]
        x, turn = a.x + a.width / 2 + moved, end + (-14 if is_down else 14)
        return [(x, start), (x, turn), (b.x + b.width / 2, turn), (b.x + b.width / 2, end)]


class Diagram:
    def __init__(self, lines):
        self.items, self.arrows, self.boxes = [], [], {}
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            if line.startswith("  "):
                self.items[-1][2].append(line.strip())
            elif match := Arrow.pattern.fullmatch(line):
                self.arrows.append(Arrow(*match.groups()))
            elif word in ("row", "lanes", "frame", "end", "note"):
                self.items.append((word, rest, []))
            else:
                raise Mistake(f"neither an arrow nor a word of a diagram: {line}")

    def draw(self, svg):
        boxes, texts = SVG(), SVG()
        texts.y, indent = svg.y, MARGIN
        for word, rest, lines in self.items:
            if word == "frame":
                top, title, indent = texts.y + 12, rest, MARGIN + GAP
                texts.y += 34 if title else 12
            elif word == "end":
                svg.rect("frame", MARGIN, top, WIDTH - 2 * MARGIN, texts.y + 12 - top, 8)
                for line in wrap(title, LABEL, WIDTH - 2 * indent)[:1] if title else []:
                    texts.text(indent, top + 20, line, "label", color="head-line")
                texts.y, indent = texts.y + 12, MARGIN
            elif word == "note":
                texts.y += 6
                texts.paragraph(rest, indent)
            elif word == "lanes":
                self.draw_lanes(texts, lines, indent)
            else:
                row = [Box(line) for line in lines]
                self.place(texts, row, float(rest or 28), indent)
                for box in row:
                    if box.kind != "gap":
                        self.boxes[box.id] = box
                        box.draw(boxes)
        for arrow in self.arrows:
            arrow.draw(svg, texts, self.boxes)
        svg.parts += boxes.parts + texts.parts
        svg.classes |= boxes.classes | texts.classes
        svg.y = texts.y

    def place(self, svg, row, above, indent):
        names = {box.id for box in row}
        is_linked = any(arrow.target in names and names & set(arrow.sources) and not arrow.way
                        for arrow in self.arrows)
        gutter = 30 if is_linked else GAP
        unit = (WIDTH - 2 * indent + gutter) / sum(box.share for box in row)
        svg.y, x = svg.y + above, indent
        for box in row:
            box.place(x, svg.y, unit * box.share - gutter)
            x += unit * box.share
        for box in row:
            box.height = max(other.height for other in row)
        svg.y += row[0].height

    @staticmethod
    def draw_lanes(svg, lines, indent):
        """Draws a line of time for each `name | kind length text, …`; kinds are a box's, `wait` and `gap`."""
        left = indent + 74
        lanes = [(name.strip(), [part.split(maxsplit=2) for part in parts.split(",")])
                 for name, parts in (line.split("|") for line in lines)]
        unit = (WIDTH - indent - left) / max(sum(float(part[1]) for part in parts) for _, parts in lanes)
        for name, parts in lanes:
            svg.y, x = svg.y + 8, left
            svg.text(indent, svg.y + 18, name)
            for kind, length, *text in parts:
                width = float(length) * unit
                if kind == "wait":
                    svg.path("arrow", [(x, svg.y + 13), (x + width, svg.y + 13)], stroke_dasharray="2 4")
                elif kind != "gap":
                    svg.rect(kind, x, svg.y, width, 26, 3)
                for line in text:
                    wrap(line, NOTE, width - 2)
                    svg.text(x + width / 2, svg.y + 18, line, anchor="middle")
                x += width
            svg.y += 26
