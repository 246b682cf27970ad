"""Draw pictures as plain SVG, from tables of ``benchmarks/results``.

The same figures make the same bytes with any version of any library. Colors of series
are those of classes in the package (Okabe and Ito), and each picture has a dark form.
"""

import csv
import math
import re
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
INK, SOFT, LINE, PAPER = "#1b2733", "#5c6b7a", "#c5ced6", "#ffffff"
STRONG, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
RED = "#D55E00"
PALE, FAINT = "#b3d4e8", "#e6eaee"
DARK = {  # what a color becomes on a dark page
    INK: "#e6edf3",
    SOFT: "#a9b4c0",
    LINE: "#46525e",
    PAPER: "#14181d",
    FAINT: "#262d35",
    STRONG: "#4fa8e0",
    PALE: "#24506b",
    "#6b7a89": "#93a1ae",
    "#8c6d31": "#c9a45a",
}


def table(name):
    """Rows of a table of results, as dictionaries; equal names get a number."""
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    names = [
        f"{one} {header[:i].count(one) + 1}" if one in header[:i] else one
        for i, one in enumerate(header)
    ]
    return [dict(zip(names, row, strict=True)) for row in rows]


def number(cell):
    """First number of a cell: ``"+0.05 (0.19)"`` is 0.05."""
    found = re.search(r"[-+]?[\d,]*\.?\d+", cell.replace("\N{MINUS SIGN}", "-"))
    return float(found[0].replace(",", ""))


def plain(cell):
    """A cell of a page without its marks."""
    return cell.replace("`", "").replace('""', '"')


LINES = (  # told apart without colors, too
    ("#6b7a89", "2 3"),
    (ORANGE, "7 3"),
    (STRONG, ""),
    (GREEN, "10 3 2 3"),
    (PURPLE, "4 2"),
    (RED, "12 4"),
    ("#8c6d31", "1 2"),
    (INK, "6 2 1 2 1 2"),
    ("#56B4E9", ""),
)


class Picture:
    """A drawing that grows; `text` is its file."""

    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []
        self.box(0, 0, width, height, fill=PAPER, radius=8)

    def add(self, tag, content="", **attributes):
        """Add an element; underscores become hyphens, numbers are rounded."""
        told = "".join(
            f' {key.replace("_", "-")}="{f"{value:.1f}".removesuffix(".0")}"'
            if isinstance(value, float)
            else f' {key.replace("_", "-")}="{escape(str(value))}"'
            for key, value in attributes.items()
        )
        self.parts.append(
            f"<{tag}{told}>{content}</{tag}>" if content else f"<{tag}{told}/>"
        )

    def box(self, x, y, width, height, *, fill, radius=0, stroke="none"):
        """Add a rectangle."""
        self.add(
            *("rect",),
            x=float(x),
            y=float(y),
            width=float(width),
            height=float(height),
            rx=radius,
            fill=fill,
            stroke=stroke,
        )

    def line(self, x, y, x2, y2, *, stroke=LINE, width=1.0):
        """Add a line."""
        ends = {"x1": float(x), "y1": float(y), "x2": float(x2), "y2": float(y2)}
        self.add("line", **ends, stroke=stroke, stroke_width=width)

    def arrow(self, x, y, x2, y2, *, stroke=SOFT, width=1.6):
        """Add a line with a head at its end."""
        length = math.hypot(x2 - x, y2 - y)
        dx, dy = 7 * (x2 - x) / length, 7 * (y2 - y) / length
        self.line(x, y, x2 - dx / 2, y2 - dy / 2, stroke=stroke, width=width)
        corners = (
            (x2, y2),
            (x2 - dx - dy / 1.8, y2 - dy + dx / 1.8),
            (x2 - dx + dy / 1.8, y2 - dy - dx / 1.8),
        )
        told = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
        self.add("polygon", points=told, fill=stroke)

    def card(self, x, y, width, height, head, lines=(), *, fill=FAINT, stroke=LINE):
        """Add a box with a heading and lines of text."""
        self.box(x, y, width, height, fill=fill, radius=6, stroke=stroke)
        self.say(x + 12, y + 20, head, bold=True)
        for i, line in enumerate(lines):
            self.say(x + 12, y + 38 + 16 * i, line, size=11, fill=SOFT)

    def say(self, x, y, words, *, size=12, fill=INK, anchor="start", bold=False):
        """Add a line of text."""
        weight = {"font_weight": "600"} if bold else {}
        place = {"x": float(x), "y": float(y), "text_anchor": anchor}
        self.add("text", escape(words), **place, font_size=size, fill=fill, **weight)

    def style(self):
        """Rules for dark pages: CSS is stronger than the attributes of elements."""
        body = "".join(self.parts)
        rules = "".join(
            f'[{what}="{light}"]{{{what}:{dark}}}'
            for what in ("fill", "stroke")
            for light, dark in DARK.items()
            if f'{what}="{light}"' in body
        )
        return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"

    @property
    def text(self):
        """The file."""
        width, height = self.size
        return "\n".join(
            [
                '<svg xmlns="http://www.w3.org/2000/svg" '
                f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                'role="img" font-family="system-ui, sans-serif">',
                f"<title>{escape(self.title)}</title>",
                self.style(),
                *self.parts,
                "</svg>\n",
            ]
        )


def curves(title, panels, across, *, log=False, from_zero=True):
    """Panels of lines, two beside each other, with one key for all.

    Parameters
    ----------
    title : str
        What people who cannot see it are told.
    panels : list of tuple
        Words above a panel, and its lines: name -> list of x and y.
    across : str
        What runs from left to right in all of them.
    log : bool, default=False
        It runs in powers.
    from_zero : bool, default=True
        Panels begin at 0, else at a round number below their smallest value.
    """
    wide, tall, gap, left, top = 250, 160, 74, 46, 44
    names = list(dict.fromkeys(name for _, lines in panels for name in lines))
    n_rows, key = -(-len(panels) // 2), -(-len(names) // 3)
    width = left + 2 * wide + gap + 20
    head = top + 18 * key
    picture = Picture(width, head + n_rows * (tall + 66), title)
    style = {name: LINES[i] for i, name in enumerate(names)}
    for i, name in enumerate(names):
        x, y = left + (i % 3) * 186, 24 + 18 * (i // 3)
        stroke(picture, [(x, y - 4), (x + 26, y - 4)], style[name])
        picture.say(x + 32, y, name, size=11)
    for i, (words, lines) in enumerate(panels):
        x, y = left + (i % 2) * (wide + gap), head + (i // 2) * (tall + 66)
        ways = {"log": log, "from_zero": from_zero}
        panel(picture, (x, y, wide, tall), words, lines, style, **ways)
        middle = x + wide / 2
        picture.say(middle, y + tall + 32, across, size=11, fill=SOFT, anchor="middle")
    return picture


def panel(picture, place, words, lines, style, *, log, from_zero):
    """Draw one panel of `curves`, up to a round number above its largest value."""
    x, y, wide, tall = place
    points = [point for line in lines.values() for point in line]
    scale = math.log10 if log else float
    low, high = (end(scale(one) for one, _ in points) for end in (min, max))
    most = max(value for _, value in points)
    least = 0.0 if from_zero else min(value for _, value in points)
    span = most - least
    step = 10.0 ** math.floor(math.log10(span))
    step *= next(part for part in (0.2, 0.5, 1, 2) if span <= 6 * part * step)
    first, last = math.floor(least / step), math.ceil(most / step)

    def at(a, b):
        up = (b / step - first) / (last - first)
        return x + wide * (scale(a) - low) / (high - low), y + tall * (1 - up)

    picture.say(x, y - 8, words, size=12, bold=True)
    for i in range(first, last + 1):
        _, height = at(10.0**low if log else low, i * step)
        picture.line(x, height, x + wide, height)
        told = f"{i * step:.4g}"
        picture.say(x - 6, height + 4, told, size=10, fill=SOFT, anchor="end")
    some = [value for value, _ in next(iter(lines.values()))]
    some = some if len(some) < 7 else some[:: len(some) // 5]
    for value in round_numbers(10.0**low, 10.0**high) if log else some:
        told = f"{value:g}"
        place = at(value, least)[0], y + tall + 15
        picture.say(*place, told, size=10, fill=SOFT, anchor="middle")
    for name, line in lines.items():
        stroke(picture, [at(*point) for point in line], style[name])


def round_numbers(low, high):
    """1, 2, 5, 10, 20, ... from one number to another."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [part * 10.0**power for power in powers for part in (1, 2, 5)]
    return [value for value in found if low * 0.999 <= value <= high * 1.001]


def stroke(picture, points, style):
    """Draw a line through points."""
    color, dashes = style
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    more = {"stroke_dasharray": dashes} if dashes else {}
    picture.add(
        "polyline", points=told, fill="none", stroke=color, stroke_width=2.0, **more
    )
