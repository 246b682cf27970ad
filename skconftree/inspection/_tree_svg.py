"""Drawing of a tree as SVG, without a plotting library.

The *evidence* for a split has a level, a word such as "strong". An *audit* tests the
splits on held-out rows; `marks` maps nodes to pairs of its verdict and its numbers, and
`notes` are further lines of the legend. *Compact* drawings have small boxes without
text. The CSS class of a drawing is "sct", so that its style does not apply to a page
that contains it. `Picture` has texts of a box (`head`, `lines`), whether no branch of a
node is drawn (`is_end`), and its share of the rows (`share`).
"""

from ..utils import escape
from ._tree_layout import (
    Picture,
    arrange,
    cut,
    edge_labels,
    width_in,
    width_of,
    wrapped,
)

STEP, BOX = 158, 152  # horizontal distance of boxes, width of a box
# Heights: of a level of the tree, of a line, of the strip of class probabilities.
LEVEL, LINE, STRIP = 166, 14, 7
SMALL_STEP, SMALL_BOX, SMALL_LEVEL = 18, 14, 34  # the same in compact drawings
MARGIN = 8
MIN_WIDTH = 328  # width of a drawing with its legend: that of a phone
DESCRIPTION = 312  # width of the description of a node
HEAD, TEXT, SMALL = 12.5, 11.2, 11.2  # font sizes
BOLD = 1.12  # relative width of bold letters
MAX_LINES = 6  # of the description of a node
# Colors of less important text, of text, of the background, and of edges.
SOFT = {"light": "#4a5866", "dark": "#aab5bf"}
INK = {"light": "#1b2733", "dark": "#ffffff"}
PAPER = {"light": "#ffffff", "dark": "#161616"}
EDGE = {"light": "#c5ced6", "dark": "#4c5863"}


def _style():
    rules = {
        ".ink": ("fill", INK),
        ".soft": ("fill", SOFT),
        ".paper": ("fill", PAPER),
        ".line": ("stroke", SOFT),
        ".edge": ("stroke", EDGE),
    }

    def of(scheme):
        return "".join(
            f".sct {name}{{{what}:{colors[scheme]}}}"
            for name, (what, colors) in rules.items()
        )

    return (
        f"{of('light')}@media screen and (prefers-color-scheme:dark){{{of('dark')}}}"
        ".sct .note{visibility:hidden}"
        ".sct .node:hover .note,.sct .node:focus .note{visibility:visible}"
        ".sct .node{cursor:help;outline:none}"
        ".sct .node:hover .box,.sct .node:focus .box{stroke-width:2.5}"
    )


class SvgPicture(Picture):
    """Drawing of a tree as SVG."""

    def __init__(self, nodes, class_names, marks, notes, compact):
        super().__init__(nodes, class_names, marks, notes, compact)
        self.step, self.level = (SMALL_STEP, SMALL_LEVEL) if compact else (STEP, LEVEL)
        self.parts = []

    def text(self, max_depth):
        """Return the SVG file of the tree down to a level; None draws all levels."""
        positions = arrange(self.nodes, max_depth)  # x in boxes, y = -depth
        drawn = self.step * width_of(positions)
        self.width = max(drawn + 2 * MARGIN, MIN_WIDTH)
        left = (self.width - drawn) / 2 + self.step / 2
        self.at = {
            node: (left + x * self.step, MARGIN - y * self.level)
            for node, (x, y) in positions.items()
        }
        shown = [row for row in self.nodes if row.node in self.at]
        bottom = max(self.at[row.node][1] + self._height(row) for row in shown)
        for row in shown:
            self._edges(row)
        below = self._legend(bottom + 2 * LINE)
        descriptions = {node: self.describe(node) for node in self.at}
        described = {
            node: wrapped(text, TEXT, DESCRIPTION - 14, MAX_LINES)
            for node, text in descriptions.items()
        }
        n_lines = max(map(len, described.values()))
        self.height = max(below, bottom + 2 * LINE + (LINE + 1) * n_lines) + MARGIN
        for row in shown:
            self._node(row, descriptions[row.node], described[row.node], bottom + LINE)
        leaves = sum(not row.branches for row in self.nodes)
        title = f"A decision tree with {leaves} {'leaf' if leaves == 1 else 'leaves'}"
        size = f"{_number(self.width)} {_number(self.height)}"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" '
                f'width="{_number(self.width)}" height="{_number(self.height)}" '
                'class="sct" role="img" font-family="system-ui, sans-serif" '
                'text-anchor="middle" '
                'style="max-width:100%;height:auto">',
                f"<title>{title}</title>",
                f"<style>{_style()}</style>",
                '<rect class="paper" width="100%" height="100%" fill="#ffffff"/>',
                *self.parts,
                "</svg>\n",
            ]
        )

    def _height(self, row):
        if self.compact:
            return SMALL_BOX
        return LINE * (len(self.head(row)) + len(self.lines(row))) + STRIP + 16

    def _wrapped(self, text, n_lines, is_head):
        return wrapped(text, HEAD * BOLD if is_head else TEXT, BOX - 8, n_lines)

    def _edges(self, row):
        if self.is_end(row):
            return
        x, y = self.at[row.node]
        y += self._height(row)
        labels = edge_labels(row)
        for i, (branch, label) in enumerate(zip(row.branches, labels, strict=True)):
            if branch.node not in self.at:
                continue
            to_x, to_y = self.at[branch.node]
            wide = (1.0 + 7.0 * self.share(branch.node)) * (
                0.4 if self.compact else 1.0
            )
            self._add(
                f'<line class="edge" stroke="#c5ced6" stroke-width="{_number(wide)}" '
                f'x1="{_number(x)}" y1="{_number(y)}" x2="{_number(to_x)}" '
                f'y2="{_number(to_y)}"/>'
            )
            if self.compact:
                continue
            label = cut(label, SMALL, STEP / 2)
            shift = (-14 if i == 0 else 14) if len(labels) == 2 else 0
            self._write(
                (x + to_x) / 2 + shift, (y + to_y) / 2 + 4, label, SMALL, soft=True
            )

    def _legend(self, y):
        shown, n_more, lines = self.legend()
        x = MARGIN + 4
        for label in shown:
            name = cut(self.names[label], SMALL, 150)
            wide = 24 + width_in(name, SMALL)
            if x + wide > self.width - MARGIN and x > MARGIN + 4:
                x, y = MARGIN + 4, y + LINE + 2
            self._add(
                f'<rect x="{_number(x)}" y="{_number(y - 9)}" width="10" height="10" '
                f'fill="{self.colors[label]}"/>'
            )
            self._write(x + 15, y, name, SMALL, anchor="start")
            x += wide + 8
        if n_more:
            self._write(x, y, f"and {n_more} more classes", SMALL, anchor="start")
        for line in lines:
            for part in wrapped(line, SMALL, self.width - 2 * MARGIN - 8, n_lines=3):
                y += LINE + 1
                self._write(MARGIN + 4, y, part, SMALL, soft=True, anchor="start")
        return y + 4

    def _node(self, row, description, described, below):
        x, y = self.at[row.node]
        best, opacity = self.leaf_style(row)
        color = self.colors[best]
        self._add(f'<g class="node" tabindex="0"><title>{escape(description)}</title>')
        if self.compact:
            style = f'class="box" fill="{color}"'
            if not self.is_end(row):
                style = 'class="box paper" fill="#ffffff"'
            self._add(
                f'<rect {style} stroke="{color}" stroke-width="1.5" '
                f'x="{_number(x - SMALL_BOX / 2)}" y="{_number(y)}" '
                f'width="{SMALL_BOX}" height="{SMALL_BOX}" rx="2"/>'
            )
        else:
            self._large_box(row, x, y, color, opacity)
        self._describe(described, x, below)
        self._add("</g>")

    def _large_box(self, row, x, y, color, opacity):
        height, left = self._height(row), x - BOX / 2
        where = (
            f'x="{_number(left)}" y="{_number(y)}" width="{BOX}" '
            f'height="{_number(height)}" rx="6"'
        )
        self._add(f'<rect class="paper" fill="#ffffff" {where}/>')
        if row.branches:
            width, dashes = {"overwhelming": (1.6, ""), "strong": (1.0, "")}.get(
                row.evidence.level, (1.0, ' stroke-dasharray="4 3"')
            )
            self._add(
                f'<rect class="box line" fill="none" stroke="#4a5866" '
                f'stroke-width="{width}"{dashes} {where}/>'
            )
        else:
            self._add(
                f'<rect class="box" fill="{color}" fill-opacity="{opacity:.2f}" '
                f'stroke="{color}" {where}/>'
            )
        down = y + 5
        for line in self.head(row):
            down += LINE
            self._write(x, down - 1, line, HEAD, bold=True)
        self._strip(row, left + 7, down + 4)
        down += STRIP + 6
        lines = self.lines(row)
        for i, line in enumerate(lines, 1):
            down += LINE
            line = cut(line, TEXT, BOX - 8)
            last = i == len(lines)
            self._write(x, down, line, TEXT, soft=last and bool(row.branches))
        if row.node in self.marks:
            self._write(x, y - 2, self.marks[row.node][0], SMALL, bold=True)

    def _strip(self, row, left, y):
        for share, color in zip(row.value, self.colors, strict=True):
            wide = (BOX - 14) * share
            if wide > 0.05:
                self._add(
                    f'<rect x="{_number(left)}" y="{_number(y)}" '
                    f'width="{_number(wide)}" height="{STRIP}" fill="{color}"/>'
                )
            left += wide

    def _describe(self, lines, x, y):
        # The description is below the tree, so that both are visible together.
        left = min(max(x - DESCRIPTION / 2, MARGIN), self.width - MARGIN - DESCRIPTION)
        height = (LINE + 1) * len(lines) + 12
        self._add(
            '<g class="note" text-anchor="start"><rect class="paper line" '
            f'fill="#ffffff" stroke="#4a5866" x="{_number(left)}" y="{_number(y)}" '
            f'width="{DESCRIPTION}" height="{height}" rx="4"/>'
        )
        for i, line in enumerate(lines, 1):
            self._write(left + 7, y + 3 + (LINE + 1) * i, line, TEXT)
        self._add("</g>")

    def _write(self, x, y, text, size, *, bold=False, soft=False, anchor=None):
        weight = ' font-weight="600"' if bold else ""
        where = f' text-anchor="{anchor}"' if anchor else ""
        self._add(  # centered, unless the enclosing element sets another anchor
            f'<text class="{"soft" if soft else "ink"}" x="{_number(x)}" '
            f'y="{_number(y)}" font-size="{_number(size)}"{where} '
            f'fill="{(SOFT if soft else INK)["light"]}"{weight}>{escape(text)}</text>'
        )

    def _add(self, part):
        self.parts.append(part)


def _number(value):
    return f"{value:.1f}".removesuffix(".0")
