"""The elements of a picture: colours for light and dark, texts that fit, lines, marks."""
import html
import math

# Narrow, so that a phone shows it at nearly its own size.
WIDTH, MARGIN = 520, 20
LABEL, NOTE = 15, 13

# What a class looks like in light and in dark mode: its fill and its line.
COLORS = {
    "page": ("#ffffff none", "#0d1117 none"),
    "frame": ("#f6f8fa #d1d9e0", "#151b23 #3d444d"),
    "actor": ("#ffffff #818b98", "#212830 #9198a1"),
    "step": ("#ddf4ff #0969da", "#10243e #4493f8"),
    "data": ("#dafbe1 #1a7f37", "#12261e #3fb950"),
    "key": ("#fff8c5 #9a6700", "#2e2611 #d29922"),
    "secret": ("#fbefff #8250df", "#251a3a #ab7df8"),
    "bad": ("#ffebe9 #cf222e", "#301b1e #f85149"),
    "arrow": ("none #59636e", "none #9198a1"),
    "grid": ("none #d1d9e0", "none #3d444d"),
    "head": ("#59636e none", "#9198a1 none"),
    "text": ("#1f2328 none", "#f0f6fc none"),
    "soft": ("#4b535d none", "#b3bac2 none"),
    "s0": ("#0969da none", "#4493f8 none"),
    "s1": ("#bc4c00 none", "#f0883e none"),
    "s2": ("#6e7781 none", "#9198a1 none"),
    "s3": ("#1a7f37 none", "#3fb950 none"),
    "l0": ("none #0969da", "none #4493f8"),
    "l1": ("none #bc4c00", "none #f0883e"),
    "l2": ("none #6e7781", "none #9198a1"),
    "l3": ("none #1a7f37", "none #3fb950"),
    # Texts over lines: around them is what is behind the lines.
    "over": ("#4b535d #ffffff", "#b3bac2 #0d1117"),
    "head-line": ("#4b535d #f6f8fa", "#b3bac2 #151b23"),
}
SANS = 'system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif'
MONO = 'ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace'
STYLE = (
    f"text{{font:{NOTE}px {SANS}}}.label{{font-weight:600;font-size:{LABEL}px}}.mono{{font-family:{MONO}}}"
    ".over,.head-line{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}")


class Mistake(Exception):
    """A description that cannot be drawn."""


def text_width(text, size, mono=False):
    """Returns about the width in DejaVu Sans, which is wider than most other fonts."""
    widths = {**dict.fromkeys("ijl'|", .29), **dict.fromkeys(" .,:;!/-()[]frtI", .38),
              **dict.fromkeys("mwMW→", .95)}
    usual = lambda c: .7 if c.isupper() or size == LABEL else .62
    return size * sum(.61 if mono else widths.get(c, usual(c)) for c in text)


def wrap(text, size, room, mono=False):
    """Returns the lines of a text; a word that does not fit is a mistake."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size, mono) > room:
            lines.append(word)
        else:
            lines[-1] = longer
        if text_width(lines[-1], size, mono) > room:
            raise Mistake(f"“{lines[-1]}” does not fit into {room:.0f}")
    return lines


class SVG:
    """A picture, and how far down it is drawn."""

    def __init__(self, title="", about=""):
        self.title, self.about, self.y = title, about, MARGIN - 2
        self.parts, self.classes = [], {"page"}
        for line in wrap(title, LABEL, WIDTH - 2 * MARGIN) if title else []:
            self.y += 20
            self.text(MARGIN, self.y - 5, line, "label")

    def add(self, name, classes, content=None, **attributes):
        self.classes.update(classes.split())
        values = [f' {key.replace("_", "-")}="{round(value, 1) if isinstance(value, float) else value}"'
                  for key, value in attributes.items()]
        end = "/>" if content is None else f">{html.escape(content, quote=False)}</{name}>"
        self.parts.append(f'<{name} class="{classes}"{"".join(values)}{end}')

    def rect(self, kind, x, y, width, height, radius=0):
        self.add("rect", kind, x=x, y=y, width=width, height=height, rx=radius)

    def text(self, x, y, text, style="", anchor="start", color="text"):
        self.add("text", f"{color} {style}".strip(), text, x=x, y=y, text_anchor=anchor)

    def path(self, kind, points, **attributes):
        places = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.add("path", kind, d="M" + places, **attributes)

    def paragraph(self, text, indent=MARGIN):
        for line in wrap(text, NOTE, WIDTH - 2 * indent):
            self.y += 18
            self.text(indent, self.y - 4, line, color="soft")

    def arrow(self, points, **attributes):
        self.path("arrow", points, stroke_width=1.6, **attributes)
        (x0, y0), (x, y) = points[-2:]
        length = math.hypot(x - x0, y - y0)
        dx, dy = (x - x0) / length * 8, (y - y0) / length * 8
        self.path("head", [(x, y), (x - dx - dy / 2, y - dy + dx / 2), (x - dx + dy / 2, y - dy - dx / 2)])

    def mark(self, number, x, y):
        """Draws a mark: each has a shape of its own, since not everybody sees colours."""
        circle = [(math.cos(i * math.pi / 8) * 5, math.sin(i * math.pi / 8) * 5) for i in range(16)]
        shapes = [circle, [(-4, -4), (4, -4), (4, 4), (-4, 4)], [(0, -5.5), (5.5, 4), (-5.5, 4)],
                  [(0, -6), (6, 0), (0, 6), (-6, 0)]]
        self.path(f"s{number}", [(x + dx, y + dy) for dx, dy in shapes[number]])

    def legend(self, marks):
        """Draws numbers of marks and what they stand for."""
        x = MARGIN + 6
        self.y += 22
        for mark, name in marks:
            if x > MARGIN + 6 and x + 12 + text_width(name, NOTE) > WIDTH - MARGIN:
                x, self.y = MARGIN + 6, self.y + 20
            self.mark(mark, x, self.y - 4.5)
            self.text(x + 10, self.y, name)
            x += 34 + text_width(name, NOTE)

    def finish(self):
        rules = ["".join(f".{name}{{fill:{fill};stroke:{line}}}" for name, fill, line in (
            (name, *modes[mode].split()) for name, modes in COLORS.items() if name in self.classes))
            for mode in (0, 1)]
        height = math.ceil(self.y + MARGIN)
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
            f' width="{WIDTH * 5 // 4}" height="{height * 5 // 4}" role="img" aria-labelledby="t a">',
            f'<title id="t">{html.escape(self.title)}</title>',
            f'<desc id="a">{html.escape(self.about)}</desc>',
            f"<style>{STYLE}\n{rules[0]}\n@media (prefers-color-scheme:dark){{{rules[1]}}}</style>",
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>', *self.parts, "</svg>", ""])
