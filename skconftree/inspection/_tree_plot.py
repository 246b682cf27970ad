"""Drawing of a tree by matplotlib, with the proportions of the SVG.

The *evidence* for a split has its test statistics and a level, a word such as "strong".
Interval bounds compare confidence limits of the impurity; other bounds compare the
score of a split with that of the runner-up (the second best). An *audit* tests the
splits on held-out rows. *Compact* drawings have small boxes. `Picture` has texts of a
box (`head`, `lines`), whether no branch of a node is drawn (`is_end`), and its share of
the rows (`share`).
"""

import math
from functools import cache, partial
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from ._tree_layout import (
    Picture,
    arrange,
    cut,  # shortens a text to a width
    edge_labels,
    single_line,
    width_of,
    wrapped,
)

# In units of the plot: the width of a leaf and the height of a level are 1.
BOX_WIDTH = 0.92
BOX_TOP, TOP = 0.42, 0.45  # upper edge of a box, and of the plot, above a node's y
# Padding, and heights of a line, of the strip of class probabilities, and of the bar of
# a bound's statistics.
PAD, LINE, STRIP, SCALE = 0.03, 0.079, 0.05, 0.06
MARGIN = 0.05
SMALL_WIDTH, SMALL_HEIGHT = 0.8, 0.24
# Size of these units in inches, in a new figure.
LEAF_INCHES, LEVEL_INCHES = 1.6, 1.8
COMPACT_INCHES, COMPACT_LEVEL_INCHES = 0.22, 0.5
MAX_INCHES, LEGEND_INCHES = 26.0, 0.75
USUAL_INCHES = 9.7  # width of a plot of six boxes
SHARE_INSIDE = 0.985  # share of a figure inside its margins
HEAD, TEXT, SMALL = 8.7, 7.7, 7.0  # font sizes
SMALLEST_FONT = 2.0
MIN_CONDITION_POINTS = 45.0  # width for a condition in a compact plot
WIDEST_EDGE, THINNEST_EDGE = 6.0, 0.6
POINTS = 72.0  # per inch


class _BoundStatistics(NamedTuple):
    """Statistics of a bound (split rule), which accepted a split: `value` < `limit`."""

    text: str
    value: float = math.nan
    limit: float = math.nan
    radius: float = math.nan  # radius of the confidence interval of `value`


def _bound_statistics(evidence):
    """Return the statistics of the bound at a split."""
    # Only interval bounds have limits, of the impurity of the children and of the node.
    if not math.isnan(evidence.child_limit):
        child, parent = evidence.child_limit, evidence.parent_limit
        return _BoundStatistics(
            f"impurity limits, children {child:.3g} < node {parent:.3g}", child, parent
        )
    # bounds that compare the scores of the split and of the runner-up
    if not math.isnan(evidence.radius) and evidence.runner_up_name is not None:
        score, runner_up = evidence.score, evidence.runner_up_score
        radius = evidence.radius
        name = "no split" if evidence.runner_up_feature < 0 else "runner-up"
        text = (
            f"score {score:.3g}, {name} {runner_up:.3g}, "
            f"difference \N{PLUS-MINUS SIGN} {radius:.3g}"
        )
        return _BoundStatistics(text, score, runner_up, radius)
    if evidence.statistic_name is not None:  # such as that of a test
        tiny = evidence.statistic < 1e-300
        number = "< 1e-300" if tiny else f"{evidence.statistic:.3g}"
        return _BoundStatistics(f"{evidence.statistic_name} {number}")
    return _BoundStatistics("")


def _mixed(color, background, share):
    """Mix a share of a color with a background."""
    from matplotlib.colors import to_rgb

    pair = zip(to_rgb(color), to_rgb(background), strict=True)
    return tuple(share * first + (1.0 - share) * second for first, second in pair)


class PlotPicture(Picture):
    """Drawing of a tree on axes of matplotlib.

    `marks` maps nodes to pairs of an audit's verdict and its numbers, as text; `notes`
    are further lines of the legend.
    """

    def __init__(self, nodes, class_names, marks, notes, compact, verbose):
        super().__init__(nodes, class_names, marks, notes, compact)
        self.verbose = verbose
        # texts of a node are measured once
        self.head, self.lines = cache(self.head), cache(self.lines)

    def draw(self, ax, max_depth):
        """Draw the tree down to a level (None: all) on axes, or in a new figure."""
        import matplotlib.pyplot as plt

        # positions of the drawn nodes; `table` maps a node to its record in `nodes`
        self.at = arrange(self.nodes, max_depth)
        self.statistics, self.scale = self._statistics()
        width, height = width_of(self.at), 1 - min(y for _, y in self.at.values())
        has_axes = ax is not None
        size = self._size_of_units(ax, width, height)
        if not self.compact:  # the lowest boxes need not fill their level
            height = TOP - min(
                y + BOX_TOP - self._height(self.table[node])
                for node, (_, y) in self.at.items()
            )
        if not has_axes:
            tall = self.unit[1] / POINTS * height + LEGEND_INCHES
            tall = min(max(1.6, tall), MAX_INCHES)
            _, ax = plt.subplots(figsize=(size, tall), layout="constrained")
        self.ax, self.figure = ax, ax.figure
        # colors of text, background and less important text
        self.ink = plt.rcParams["text.color"]
        self.ground = self.figure.get_facecolor()
        self.muted = _mixed(self.ink, self.ground, 0.65)
        for node, (x, y) in self.at.items():
            row = self.table[node]
            self._draw_edges(row, x, y)
            if self.compact:
                self._draw_small(row, x, y)
            else:
                self._draw_box(row, x, y)
        legend, below = self._draw_legend(has_axes), 0.0
        if has_axes:  # the legend is inside the axes
            inches = ax.get_window_extent().height / self.figure.dpi
            share = min(legend / inches, 0.5)
            below = share / (1.0 - share)
        elif legend > LEGEND_INCHES:
            tall = min(tall + legend - LEGEND_INCHES, MAX_INCHES)
            self.figure.set_size_inches(size, tall)
        ax.set_xlim(-0.5, width - 0.5)
        ax.set_ylim(TOP - height * (1.0 + below), TOP)
        ax.set_axis_off()
        _describe_on_hover(self)
        return ax

    def _size_of_units(self, ax, width, height):
        """Set the size of units in points; return the width of a figure in inches.

        `zoom` is the factor of the font sizes.
        """
        inches = (LEAF_INCHES, LEVEL_INCHES)
        if self.compact:
            inches = (COMPACT_INCHES, COMPACT_LEVEL_INCHES)
        across = min(max(4.8, inches[0] * width), MAX_INCHES)
        down = min(inches[1], (MAX_INCHES - LEGEND_INCHES) / height)
        self.unit = POINTS * SHARE_INSIDE * across / width, POINTS * down
        if ax is not None:  # estimated before the layout
            scale = ax.figure.dpi_scale_trans.inverted()
            box = ax.get_window_extent().transformed(scale)
            self.unit = POINTS * box.width / width, POINTS * box.height / height
        usual = POINTS * SHARE_INSIDE * LEAF_INCHES, POINTS * LEVEL_INCHES
        scale = min(self.unit[0] / usual[0], self.unit[1] / usual[1])
        self.zoom = min(max(scale, SMALLEST_FONT / TEXT), 1.0)
        # a wide plot of small boxes is displayed at a smaller scale: enlarge its text
        self.enlarged = 1.0
        if self.compact and ax is None:
            self.enlarged = max(across / USUAL_INCHES, 1.0)
        return across

    def node_at(self, x, y):
        """Return the node whose box contains a point, or None."""
        for node, (middle, level) in self.at.items():
            wide, top, bottom = BOX_WIDTH, BOX_TOP, None
            if self.compact:
                wide, top, bottom = SMALL_WIDTH, SMALL_HEIGHT / 2, -SMALL_HEIGHT / 2
            if abs(x - middle) > wide / 2 or y > level + top or y < level - 1.0:
                continue
            if bottom is None:
                bottom = BOX_TOP - self._height(self.table[node])
            if y >= level + bottom:
                return node
        return None

    def _statistics(self):
        """Return the statistics of the bound at each split, and their maximum."""
        if not self.verbose or self.compact:
            return {}, 1.0
        statistics = {
            node: _bound_statistics(self.table[node].evidence)
            for node in self.at
            if self.table[node].branches
        }
        limits = [
            np.nanmax([item.value, item.limit])
            for item in statistics.values()
            if item.limit > 0
        ]
        return statistics, max(limits, default=1.0)

    def lines(self, row):
        lines = super().lines(row)
        text = self.statistics[row.node].text if row.node in self.statistics else ""
        if not text:
            return lines
        fits = self._wrapped(text, 1, False) == [text]
        return [*([text] if fits else text.split(", ")), *lines]

    def _height(self, row):
        n_lines = len(self.head(row)) + len(self.lines(row))
        more = SCALE if self._has_scale(row) else 0.0
        return LINE * n_lines + STRIP + 4.5 * PAD + more

    def _has_scale(self, row):
        return row.node in self.statistics and self.statistics[row.node].limit > 0

    def _wrapped(self, text, n_lines, is_head):
        max_width = (BOX_WIDTH - MARGIN) * self.unit[0]
        n_lines = 1 if self.statistics else n_lines  # statistics need the space
        width = partial(_points, weight="bold" if is_head else "normal")
        return wrapped(
            text, self._size(HEAD if is_head else TEXT), max_width, n_lines, width
        )

    def _size(self, size):
        return max(size * self.zoom, SMALLEST_FONT)

    def _draw_edges(self, row, x, y):
        if self.is_end(row):
            return
        top = BOX_TOP
        bottom = 0.0 if self.compact else BOX_TOP - self._height(row)
        if self.compact:
            top, bottom = SMALL_HEIGHT / 2, -SMALL_HEIGHT / 2
        labels = edge_labels(row)
        for branch, label in zip(row.branches, labels, strict=True):
            to_x, to_y = self.at[branch.node]
            share = self.share(branch.node)
            width = THINNEST_EDGE + (WIDEST_EDGE - THINNEST_EDGE) * share
            self.ax.plot(
                [x, to_x],
                [y + bottom, to_y + top],
                color=_mixed(self.ink, self.ground, 0.25),
                lw=width * (0.5 if self.compact else max(self.zoom, 0.4)),
                solid_capstyle="round",
                zorder=0,
            )
            if self.compact:
                continue
            label = label.removeprefix("= ").removeprefix("in ")
            max_width = 0.5 * self.unit[0]
            self._write(
                (x + to_x) / 2,
                (y + bottom + to_y + top) / 2,
                cut(label, self._size(SMALL), max_width, _points),
                self.muted,
                SMALL,
                bbox={"facecolor": self.ground, "edgecolor": "none", "pad": 0.8},
            )

    def _draw_box(self, row, x, y):
        from matplotlib.patches import FancyBboxPatch

        head, lines, height = self.head(row), self.lines(row), self._height(row)
        self.ax.add_patch(
            FancyBboxPatch(
                (x - BOX_WIDTH / 2, y + BOX_TOP - height),
                BOX_WIDTH,
                height,
                boxstyle="round,pad=0,rounding_size=0.04",
                **(
                    self._split_style(row)
                    if row.branches
                    else self._leaf_box_style(row)
                ),
            )
        )
        left, down = x - BOX_WIDTH / 2 + MARGIN, y + BOX_TOP - PAD
        for line in head:
            self._write(x, down - LINE / 2, line, self.ink, HEAD, weight="bold")
            down -= LINE
        down -= PAD / 2 + STRIP
        self._draw_shares(row.value, left, down)
        down -= PAD
        if self._has_scale(row):
            self._draw_scale(self.statistics[row.node], left, down - SCALE / 2)
            down -= SCALE
        for i, line in enumerate(lines, 1):
            last = i == len(lines) and row.branches
            fitting = self._wrapped(line, 1, False)[0]
            ink = self.muted if last else self.ink
            self._write(x, down - LINE / 2, fitting, ink, TEXT)
            down -= LINE
        if row.node in self.marks:
            # on the left half, because the edge to the box ends at its center
            self._write(
                x - BOX_WIDTH / 4,
                y + BOX_TOP,
                self.marks[row.node][0],
                self.ink,
                6,
                bbox={"facecolor": self.ground, "edgecolor": self.ink, "pad": 1.5},
            )

    def _leaf_box_style(self, row):
        """Style of the box of a leaf."""
        best, opacity = self.leaf_style(row)  # the most probable class
        return {
            "facecolor": _mixed(self.colors[best], self.ground, opacity),
            "edgecolor": self.colors[best],
            "linewidth": 1.0,
        }

    def _split_style(self, row):
        styles = {"overwhelming": (1.6, "-"), "strong": (1.0, "-")}
        width, style = styles.get(row.evidence.level, (0.8, "--"))
        return {
            "facecolor": self.ground,
            "edgecolor": self.ink,
            "linewidth": width,
            "linestyle": style,
        }

    def _draw_small(self, row, x, y):
        from matplotlib.patches import Rectangle

        best, is_end = self.leaf_style(row)[0], self.is_end(row)
        self.ax.add_patch(
            Rectangle(
                (x - SMALL_WIDTH / 2, y - SMALL_HEIGHT / 2),
                SMALL_WIDTH,
                SMALL_HEIGHT,
                facecolor=self.colors[best] if is_end else self.ground,
                edgecolor=self.colors[best],
                lw=1.0,
            )
        )
        if is_end:
            return
        # next to the edges, as wide as the subtree
        ends = [self.at[branch.node] for branch in row.branches]
        across = [x for x, _ in ends]
        width = max((max(across) - min(across)) * 0.9, SMALL_WIDTH) * self.unit[0]
        if width >= MIN_CONDITION_POINTS * self.enlarged:
            size = SMALL * self.enlarged
            test = row.test if row.n_children == 2 else f"{row.name} = ?"
            fitting = cut(test, size, width, _points)
            bbox = {"facecolor": self.ground, "edgecolor": "none", "pad": 0.5}
            self._write(x, y + 0.32, fitting, self.ink, size / self.zoom, bbox=bbox)

    def _write(self, x, y, text, color, size, **more):
        self.ax.text(
            x,
            y,
            single_line(text),
            color=color,
            fontsize=self._size(size),
            ha="center",
            va="center",
            parse_math=False,
            **more,
        )

    def _draw_shares(self, shares, left, y):
        from matplotlib.patches import Rectangle

        for share, color in zip(shares, self.colors, strict=True):
            width = (BOX_WIDTH - 2 * MARGIN) * share
            if width > 0.0:
                self.ax.add_patch(Rectangle((left, y), width, STRIP, color=color, lw=0))
            left += width

    def _draw_scale(self, statistics, left, y):
        from matplotlib.patches import Rectangle

        unit = (BOX_WIDTH - 2 * MARGIN) / self.scale
        self.ax.add_patch(
            Rectangle((left, y), statistics.value * unit, 0.03, color=self.muted, lw=0)
        )
        if statistics.radius > 0:
            end = min(statistics.value + statistics.radius, self.scale)
            self.ax.plot(
                [left + statistics.value * unit, left + end * unit],
                [y + 0.015, y + 0.015],
                color=self.muted,
                lw=1,
            )
        limit = left + statistics.limit * unit
        self.ax.plot([limit, limit], [y - 0.02, y + 0.05], color=self.ink, lw=1.6)

    def _draw_legend(self, inside):
        """Draw the legend below the tree; return its height in inches."""
        from matplotlib.patches import Patch

        shown, n_more, text = self.legend()
        handles = [
            Patch(color=self.colors[label], label=cut(self.names[label], 1.0, 14.0))
            for label in shown
        ]
        if n_more:
            handles.append(Patch(alpha=0.0, label=f"and {n_more} more classes"))
        box = self.ax.get_window_extent()
        columns = int(box.width / self.figure.dpi // (1.3 * self.enlarged))
        columns = max(min(columns, len(handles)), 1)
        # letters are about half as wide as they are high
        letters = int(POINTS * box.width / self.figure.dpi / (0.5 * TEXT))
        lines = [part for line in text for part in wrap(line, max(letters, 40))]
        self.ax.legend(
            handles=handles,
            loc="lower left" if inside else "upper left",
            bbox_to_anchor=(0.0, 0.0),
            ncols=columns,
            title="\n".join(lines) or None,
            title_fontsize=TEXT,
            alignment="left",
            fontsize=8 * self.enlarged,
            frameon=False,
            borderaxespad=0.0,
        )
        # lines of a legend are about 14 points high
        return 14.0 * (len(lines) + math.ceil(len(handles) / columns)) / POINTS


def _points(text, size, weight="normal"):
    """Return the width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, False)[0]


def _describe_on_hover(plot):
    """Show a node's path on hover or click; the figure keeps the function alive."""
    figure, shown = plot.figure, {"node": None, "text": None}
    canvas, size = figure.canvas, 9 * plot.enlarged

    def on_event(event):
        node = None
        if event.inaxes is plot.ax:
            node = plot.node_at(event.xdata, event.ydata)
        if node == shown["node"] or plot.ax.figure is None:
            return
        shown["node"] = node
        if shown["text"] is None:
            shown["text"] = figure.text(
                0.01,
                0.01,
                "",
                fontsize=size,
                color=plot.ink,
                va="bottom",
                parse_math=False,
                bbox={"facecolor": plot.ground, "edgecolor": plot.muted, "pad": 4.0},
            )
        text = shown["text"]
        text.set_visible(node is not None)
        if node is not None:
            max_width = POINTS * 0.96 * figure.get_size_inches()[0]
            path = plot.describe(node)
            lines = wrapped(path, size, max_width, n_lines=20, width=_points)
            text.set_text("\n".join(lines))
        canvas.draw_idle()

    for event in ("motion_notify_event", "button_press_event"):
        canvas.mpl_connect(event, on_event)
