"""Figures of a table in a guide: ratios as marks, sizes as bars, growth as lines."""
import math
import re

from drawing.svg import MARGIN, WIDTH, Mistake

# A name has the same mark in all charts.
NAMES = ["this library", "GRDB", "C, not encrypted", "C"]


def pairs(text):
    """Returns `a: b; c: d` as pairs."""
    return [pair.strip().split(": ") for pair in text.split(";")]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(cell):
    """Returns a cell's number; None for a dash."""
    return None if cell == "–" else float(cell.replace(",", ""))


class Chart:
    def __init__(self, lines, guides):
        words = [line.split(maxsplit=1) for line in lines]
        given = dict(words)
        self.form = next(word for word in given if word in ("ratios", "bars", "growth"))
        columns = dict(pairs(given[self.form]))
        self.marks = [NAMES.index(name) for name in columns.values()]
        rows = self.table(guides, *given["table"].split(": "))
        label = next(iter(rows[0]))
        names = dict(pairs(given["rows"])) if "rows" in given else {row[label]: row[label] for row in rows}
        # Of each row its name, its place on the axis of a growth, and its figures.
        self.rows = [(names[row[label]].replace("`", ""), row.get(given.get("across")),
                      [number(row[column]) for column in columns]) for row in rows if row[label] in names]
        self.when = ", ".join(self.found(guides, *rest.split(maxsplit=1)) for word, rest in words if word == "when")

    @staticmethod
    def found(guides, name, pattern):
        """Returns what a guide says of the measurement."""
        match = re.search(pattern, (guides / name).read_text().replace("\n", " "))
        if not match:
            raise Mistake(f"{name} has no {pattern}")
        return match[0].replace("`", "")

    @staticmethod
    def table(guides, name, columns):
        """Returns the rows of the first table that has the columns."""
        lines = (guides / name).read_text().splitlines() + [""]
        for start, line in enumerate(lines):
            if line.startswith("|") and set(columns.split(", ")) <= set(cells(line)):
                end = next(index for index in range(start, len(lines)) if lines[index][:1] != "|")
                return [dict(zip(cells(line), cells(row))) for row in lines[start + 2:end]]
        raise Mistake(f"{name} has no table with {columns}")

    def draw(self, svg):
        svg.legend([(mark, NAMES[mark]) for mark in self.marks])
        getattr(self, self.form)(svg)
        svg.y += 10
        svg.paragraph(f"Measured: {self.when.rstrip('.')}.")

    def ratios(self, svg):
        rows = [(label, {mark: value for mark, value in zip(self.marks, values) if value is not None})
                for label, _, values in self.rows if any(values)]
        every = [math.log2(value) for _, values in rows for value in values.values()]
        low, high, left = math.floor(min(every)), math.ceil(max(every)), 196
        place = lambda value: left + (math.log2(value) - low) / (high - low) * (WIDTH - MARGIN - 12 - left)
        svg.y += 30
        for power in range(low, high + 1):
            x, name = place(2 ** power), f"1/{2 ** -power}" if power < 0 else str(2 ** power)
            svg.text(x, svg.y - 6, name, anchor="middle", color="soft")
            svg.path("grid" if power else "arrow", [(x, svg.y), (x, svg.y + 21 * len(rows) + 4)])
        for label, values in rows:
            svg.y += 21
            svg.text(MARGIN, svg.y - 4, label)
            svg.path("grid", [(place(min(values.values())), svg.y - 8), (place(max(values.values())), svg.y - 8)])
            for mark, value in values.items():
                svg.mark(mark, place(value), svg.y - 8)

    def bars(self, svg):
        scale = (WIDTH - 2 * MARGIN - 70) / max(value for _, _, values in self.rows for value in values)
        for label, _, values in self.rows:
            svg.y += 10
            svg.paragraph(label)
            for mark, value in zip(self.marks, values):
                svg.rect(f"s{mark}", MARGIN, svg.y + 2, value * scale, 14)
                svg.text(MARGIN + value * scale + 6, svg.y + 14, f"{value:,.0f}")
                svg.y += 18

    def growth(self, svg):
        for group in dict.fromkeys(label for label, _, _ in self.rows):
            self.panel(svg, group, [(across, values) for label, across, values in self.rows if label == group])

    def panel(self, svg, title, points):
        most = max(value for _, values in points for value in values)
        step = next(step for step in (.1, .2, .5, 1, 2, 5, 10) if most / step <= 5)
        steps = math.ceil(most / step)
        left, right, top, bottom = MARGIN + 40, WIDTH - MARGIN - 44, svg.y + 44, svg.y + 154
        powers = [math.log10(number(across)) for across, _ in points]
        x = [left + (power - powers[0]) / (powers[-1] - powers[0]) * (right - left) for power in powers]
        y = lambda value: bottom - value / (steps * step) * (bottom - top)
        svg.text(MARGIN, svg.y + 28, title, "label")
        for line in range(steps + 1):
            svg.path("grid", [(left, y(line * step)), (right, y(line * step))])
            svg.text(left - 10, y(line * step) + 4, f"{line * step:g}", anchor="end", color="soft")
        for place, (across, _) in zip(x, points):
            svg.text(place, bottom + 20, across, anchor="middle", color="soft")
        for index, mark in enumerate(self.marks):
            line = [(place, y(values[index])) for place, (_, values) in zip(x, points)]
            svg.path(f"l{mark}", line, stroke_width=1.8)
            for point in line:
                svg.mark(mark, *point)
        svg.y = bottom + 26
