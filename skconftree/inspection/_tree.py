"""The picture of a tree with its evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from skconftree.tree import class_colors, node_table

from ..utils._types import Estimator
from ._tree_layout import arrange, readable_depth, width_of
from ._tree_svg import write_svg

if TYPE_CHECKING:
    from ._audit import SplitAudit

# In units of the picture: one leaf is 1 wide, one level of the tree 1 high.
BOX_WIDTH = 0.9
BOX_TOP = 0.36
BOX_BOTTOM = -0.45
LEAF_BOTTOM = -0.28
MARGIN = 0.05
# Inches of such a unit, in a figure of our own.
LEAF_INCHES, LEVEL_INCHES = 1.6, 1.5
COMPACT_INCHES, COMPACT_LEVEL_INCHES = 0.45, 0.75
MOST_INCHES = 26.0
AUTO_WIDTH = 6.0  # boxes beside each other, where nobody set a depth
MOST_CLASSES = 12  # in the legend
SMALLEST_FONT = 3.0
WIDEST_EDGE, THINNEST_EDGE = 7.0, 0.6
POINTS = 72.0  # of an inch


class _Statement(NamedTuple):
    """What was compared at a split: it was made as `value` is below `limit`."""

    text: str
    value: float = math.nan
    limit: float = math.nan
    reach: float = math.nan  # how far `value` might be off: a race's radius


def _statement(evidence):
    """Put the evidence of a split into words and, if possible, on a scale."""
    if {"child_limit", "parent_limit"} <= evidence.keys():
        child, parent = evidence["child_limit"], evidence["parent_limit"]
        return _Statement(f"children < {child:.3g}, node > {parent:.3g}", child, parent)
    if {"radius", "rival_score"} <= evidence.keys():
        score, rival, radius = (
            evidence[name] for name in ("score", "rival_score", "radius")
        )
        name = "no split" if evidence["rival_feature"] < 0 else "rival"
        text = f"{score:.3g} \N{PLUS-MINUS SIGN} {radius:.3g}, {name} {rival:.3g}"
        return _Statement(text, score, rival, radius)
    if "confidence" in evidence:
        tiny = evidence["confidence"] < 1e-300
        number = "< 1e-300" if tiny else f"{evidence['confidence']:.3g}"
        return _Statement(f"{evidence['statement']} {number}")
    return _Statement("")


def _tested(row, words):
    """Leave the name of the feature out of what holds in a branch."""
    return words[len(row.name) + 1 :]


def _mixed(color, background, share):
    """So much of a colour on a background."""
    from matplotlib.colors import to_rgb

    pair = zip(to_rgb(color), to_rgb(background), strict=True)
    return tuple(share * one + (1.0 - share) * other for one, other in pair)


class ConfidenceTreeDisplay:
    """Picture of a tree: what is asked, how strong each split is, and the classes.

    Every box is a node. One that was split says what it asks, how strong the split is
    ("overwhelming", "strong" or "weak", and the number expected by luck, as in
    :func:`skconftree.tree.export_text`), and how many rows it had. A leaf is named and
    coloured by the class that `predict` gives, the paler the less probable it is there,
    and says how many of its rows are of that class, and its probability.
    Coloured strips show the probabilities of the classes; they heed `class_weight`, the
    number of rows does not. The more rows go along an edge, the wider it is.

    Make one with :meth:`from_estimator`. The colours of text and background are those
    of matplotlib's style, dark ones included, and ``figure_.savefig("tree.svg")`` gives
    a picture that can be enlarged.

    Parameters
    ----------
    nodes : list of NamedTuple
        All nodes of a tree, see :func:`skconftree.tree.node_table`.
    class_names : list of str
        Names of the classes.
    marks : dict of int to (str, str) or None, default=None
        Verdicts of an audit, see :meth:`~skconftree.inspection.SplitAudit.marks`.
    notes : sequence of str, default=()
        Further lines of the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        The figure they are in.

    See Also
    --------
    skconftree.tree.export_text : The same in text.
    skconftree.tree.export_html : A page whose nodes open and close.
    skconftree.tree.node_table : The same as plain records.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.inspection import ConfidenceTreeDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ConfidenceTreeClassifier().fit(X, y)
    >>> display = ConfidenceTreeDisplay.from_estimator(tree)
    >>> display.figure_.savefig("tree.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        nodes: Sequence[Any],
        *,
        class_names: Sequence[str],
        marks: dict[Any, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.nodes = nodes
        self.class_names = class_names
        self.marks = marks
        self.notes = notes

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_depth: int | Literal["auto"] | None = "auto",
        compact: bool = False,
        verbose: bool = False,
        audit: SplitAudit | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : ConfidenceTreeClassifier
            A fitted tree.
        feature_names : list of str, default=None
            Names of the features; by default those seen in ``fit``, else ``x0``,
            ``x1`` and so on.
        class_names : list of str, default=None
            Names of the classes, in the order of ``classes_``; by default those.
        max_depth : int, "auto" or None, default="auto"
            Deepest level to draw; boxes whose branches are not drawn say so.
            ``"auto"`` draws as many levels as a page has room for, all of a compact
            picture; None draws all.
        compact : bool, default=False
            Whether to draw small boxes, for the shape of a large tree: leaves without
            text, and tests where there is room for them.
        verbose : bool, default=False
            Whether to add what the bound of each split compared: in numbers, and as a
            bar for what the children are at most (interval bounds) or for the score of
            the winner (races), with a tick for the limit that it had to stay below.
            All scales of one picture are the same.
        audit : SplitAudit or None, default=None
            What :func:`skconftree.inspection.audit_splits` said of this tree: each
            split has its verdict on the upper edge of its box.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure that fits the tree.

        Returns
        -------
        ConfidenceTreeDisplay
            The display, drawn.
        """
        nodes = node_table(
            estimator, feature_names=feature_names, class_names=class_names
        )
        if class_names is None:
            class_names = estimator.classes_
        marks, notes = None, ()
        if audit is not None:
            marks, notes = audit.marks(estimator), audit.legend
        names = [str(name) for name in class_names]
        display = cls(nodes, class_names=names, marks=marks, notes=notes)
        return display.plot(ax, max_depth=max_depth, compact=compact, verbose=verbose)

    def plot(
        self,
        ax: Any = None,
        *,
        max_depth: int | Literal["auto"] | None = "auto",
        compact: bool = False,
        verbose: bool = False,
    ) -> Self:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure that fits the tree.
        max_depth : int, "auto" or None, default="auto"
            Deepest level to draw, see `from_estimator`.
        compact : bool, default=False
            Whether to draw small boxes.
        verbose : bool, default=False
            Whether to add what the bound of each split compared.

        Returns
        -------
        ConfidenceTreeDisplay
            The display itself.
        """
        import matplotlib.pyplot as plt

        self._table = {row.node: row for row in self.nodes}
        places = arrange(self.nodes, self._depth(max_depth, compact))
        width = width_of(places)
        height = 1 - min(y for _, y in places.values())
        inches = (LEAF_INCHES, LEVEL_INCHES)
        if compact:
            inches = (COMPACT_INCHES, COMPACT_LEVEL_INCHES)
        given = ax is not None
        if not given:
            size = (
                min(max(4.8, inches[0] * width), MOST_INCHES),
                min(max(1.6, inches[1] * height + 0.7), MOST_INCHES),
            )
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._ink = plt.rcParams["text.color"]
        self._ground = self.figure_.get_facecolor()
        self._muted = _mixed(self._ink, self._ground, 0.65)
        self._colors = class_colors(len(self.class_names))
        # what a unit is in points, as far as can be told before the layout
        box = ax.get_window_extent().transformed(
            self.figure_.dpi_scale_trans.inverted()
        )
        self._unit = (POINTS * box.width / width, POINTS * box.height / height)
        room = min(self._unit[0] / LEAF_INCHES, self._unit[1] / LEVEL_INCHES) / POINTS
        self._zoom = min(max(room, SMALLEST_FONT / 8.0), 1.0)

        for node, (x, y) in places.items():
            row = self._table[node]
            if any(branch.node in places for branch in row.branches):
                self._draw_edges(row, places, compact)
            if compact:
                self._draw_small(row, x, y, places)
        if not compact:
            self._draw_boxes(places, verbose)
        below = self._draw_legend(not compact, inside=given)
        ax.set_xlim(-0.5, width - 0.5)
        ax.set_ylim(0.45 - height * (1.0 + below), 0.45)
        ax.set_axis_off()
        return self

    def to_svg(
        self,
        *,
        max_depth: int | Literal["auto"] | None = "auto",
        compact: bool = False,
    ) -> str:
        """Write the tree as plain SVG, which needs no matplotlib.

        The same tree gives the same text with any version of any library. Where the
        picture is part of a page, or opened by itself, a node that is pointed at,
        tapped or reached by the tabulator says how one gets there and what is there. It
        is dark where a page is.

        Parameters
        ----------
        max_depth : int, "auto" or None, default="auto"
            Deepest level to draw, see `from_estimator`.
        compact : bool, default=False
            Whether to draw small boxes, which say what they are when they are asked.

        Returns
        -------
        str
            A whole file, and an element that a page of HTML may contain.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> from skconftree.inspection import ConfidenceTreeDisplay
        >>> from skconftree.tree import node_table
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> names = ["setosa", "versicolor", "virginica"]
        >>> tree = ConfidenceTreeClassifier().fit(X, y)
        >>> nodes = node_table(tree, class_names=names)
        >>> picture = ConfidenceTreeDisplay(nodes, class_names=names).to_svg()
        >>> picture[:5], picture.count('class="node"')
        ('<svg ', 9)
        """
        return write_svg(
            self.nodes,
            self.class_names,
            marks=self.marks,
            notes=self.notes,
            max_depth=self._depth(max_depth, compact),
            compact=compact,
        )

    def _depth(self, max_depth, compact):
        """Deepest level to draw; None for all."""
        if isinstance(max_depth, str) and max_depth == "auto":
            return None if compact else readable_depth(self.nodes, AUTO_WIDTH)
        if max_depth is not None and (
            not isinstance(max_depth, Integral) or max_depth < 0
        ):
            raise ValueError(
                "max_depth must be 'auto', None or a whole number of at least 0. Got "
                f"{max_depth!r} instead."
            )
        return max_depth

    # --- what ----------------------------------------------------------------

    def _draw_edges(self, row, places, compact):
        x, y = places[row.node]
        words = ["yes", "no"]
        if row.n_children > 2:
            words = [
                _tested(row, branch.words).removeprefix("= ").removeprefix("in ")
                for branch in row.branches
            ]
        top, bottom = (0.12, -0.12) if compact else (BOX_TOP, BOX_BOTTOM)
        total = max(self.nodes[0].weight, 1e-300)
        for branch, word in zip(row.branches, words, strict=True):
            to_x, to_y = places[branch.node]
            share = min(max(self._table[branch.node].weight / total, 0.0), 1.0)
            width = THINNEST_EDGE + (WIDEST_EDGE - THINNEST_EDGE) * share
            self.ax_.plot(
                [x, to_x],
                [y + bottom, to_y + top],
                color=_mixed(self._ink, self._ground, 0.35),
                lw=width * (0.6 if compact else max(self._zoom, 0.4)),
                solid_capstyle="round",
                zorder=0,
            )
            if compact:
                continue
            self._write(
                (x + to_x) / 2,
                (y + bottom + to_y + top) / 2,
                word if len(word) <= 14 else f"{word[:12]}...",
                self._muted,
                7,
                bbox={"facecolor": self._ground, "edgecolor": "none", "pad": 0.8},
            )

    def _draw_boxes(self, places, verbose):
        statements, scale = {}, 1.0
        if verbose:
            statements = {
                node: _statement(self._table[node].evidence)
                for node in places
                if self._table[node].branches
            }
            limits = [
                np.nanmax([one.value, one.limit])
                for one in statements.values()
                if one.limit > 0
            ]
            scale = max(limits, default=1.0)
        for node, (x, y) in places.items():
            row = self._table[node]
            if not row.branches:
                self._draw_leaf(row, x, y)
                continue
            is_open = row.branches[0].node in places
            self._draw_split(row, x, y, is_open)
            if verbose:
                said = statements[node]
                self._write(x, y - 0.41, said.text, self._muted, 6, most=BOX_WIDTH)
                self._draw_scale(said, x - BOX_WIDTH / 2 + MARGIN, y - 0.08, scale)

    def _draw_box(self, x, y, bottom, **look):
        from matplotlib.patches import FancyBboxPatch

        self.ax_.add_patch(
            FancyBboxPatch(
                (x - BOX_WIDTH / 2, y + bottom),
                BOX_WIDTH,
                BOX_TOP - bottom,
                boxstyle="round,pad=0,rounding_size=0.04",
                **look,
            )
        )

    def _draw_leaf(self, row, x, y):
        place = max(range(len(row.value)), key=row.value.__getitem__)
        sure = 0.12 + 0.33 * max(min(row.value[place], 1.0), 0.0)
        self._draw_box(
            x,
            y,
            LEAF_BOTTOM,
            facecolor=_mixed(self._colors[place], self._ground, sure),
            edgecolor=self._colors[place],
            linewidth=1.0,
        )
        self._draw_shares(row.value, x - BOX_WIDTH / 2 + MARGIN, y - 0.02)
        self._write(x, y + 0.2, str(row.label), self._ink, 8, most=BOX_WIDTH)
        for line, down in zip(row.outcome.split(", "), (0.1, 0.2), strict=True):
            self._write(x, y - down, line, self._ink, 7)

    def _draw_split(self, row, x, y, is_open):
        look = {"overwhelming": (1.6, "-"), "strong": (1.0, "-")}
        width, style = look.get(row.strength.word, (0.8, "--"))
        self._draw_box(
            x,
            y,
            BOX_BOTTOM,
            facecolor=self._ground,
            edgecolor=self._ink,
            linewidth=width,
            linestyle=style,
        )
        self._draw_shares(row.value, x - BOX_WIDTH / 2 + MARGIN, y - 0.02)
        test = "which category?"
        if row.n_children == 2:
            test = _tested(row, row.test)
        self._write(x, y + 0.26, row.name, self._ink, 8, most=BOX_WIDTH)
        self._write(x, y + 0.14, test, self._ink, 8, most=BOX_WIDTH)
        self._draw_mark(row, x, y)
        rows = row.rows if is_open else f"{row.rows}, split further"
        said = [row.strength.word, *filter(None, [row.tie, row.strength.expected])]
        for place, line in enumerate([*said, rows]):
            ink = self._muted if line is rows else self._ink
            self._write(x, y - 0.11 - 0.075 * place, line, ink, 7, most=BOX_WIDTH)

    def _draw_mark(self, row, x, y):
        if self.marks and row.node in self.marks:
            verdict, _ = self.marks[row.node]
            # on the left half of the edge: the way to the box ends in its middle
            self._write(
                x - BOX_WIDTH / 4,
                y + BOX_TOP,
                verdict,
                self._ink,
                6,
                bbox={"facecolor": self._ground, "edgecolor": self._ink, "pad": 1.5},
            )

    def _draw_small(self, row, x, y, places):
        from matplotlib.patches import Rectangle

        place = max(range(len(row.value)), key=row.value.__getitem__)
        is_end = not any(branch.node in places for branch in row.branches)
        self.ax_.add_patch(
            Rectangle(
                (x - 0.4, y - 0.12),
                0.8,
                0.24,
                facecolor=self._colors[place] if is_end else self._ground,
                edgecolor=self._colors[place],
                lw=0.6,
            )
        )
        if is_end:
            return
        # beside the edges, as wide as the part of the tree below
        ends = [places[branch.node][0] for branch in row.branches]
        room = max((max(ends) - min(ends)) * 0.9, 0.8)
        if room * self._unit[0] >= 45.0:
            test = row.test if row.n_children == 2 else f"{row.name} = ?"
            self._write(x, y + 0.3, test, self._ink, 7, most=room, zoom=1.0)

    def _write(self, x, y, text, color, size, *, most=None, zoom=None, **more):
        text = re.sub(r"\s", " ", text)  # fonts have no glyph for the end of a line
        size = max(size * (self._zoom if zoom is None else zoom), SMALLEST_FONT - 1)
        if most is not None:
            text = _fitting(text, size, (most - MARGIN) * self._unit[0])
        self.ax_.text(
            x,
            y,
            text,
            color=color,
            fontsize=size,
            ha="center",
            va="center",
            parse_math=False,
            **more,
        )

    def _draw_shares(self, shares, left, y):
        from matplotlib.patches import Rectangle

        for share, color in zip(shares, self._colors, strict=True):
            width = (BOX_WIDTH - 2 * MARGIN) * share
            if width > 0.0:
                self.ax_.add_patch(Rectangle((left, y), width, 0.07, color=color, lw=0))
            left += width

    def _draw_scale(self, statement, left, y, scale):
        from matplotlib.patches import Rectangle

        if not statement.limit > 0:
            return
        unit = (BOX_WIDTH - 2 * MARGIN) / scale
        self.ax_.add_patch(
            Rectangle((left, y), statement.value * unit, 0.03, color=self._muted, lw=0)
        )
        if statement.reach > 0:
            end = min(statement.value + statement.reach, scale)
            self.ax_.plot(
                [left + statement.value * unit, left + end * unit],
                [y + 0.015, y + 0.015],
                color=self._muted,
                lw=1,
            )
        limit = left + statement.limit * unit
        self.ax_.plot([limit, limit], [y - 0.02, y + 0.05], color=self._ink, lw=1.6)

    def _draw_legend(self, explained, inside):
        """Draw it below the tree; return the room it needs of axes that were given."""
        from matplotlib.patches import Patch

        weight = self.nodes[0].counts
        order = range(len(self.class_names))
        shown = sorted(sorted(order, key=lambda one: -weight[one])[:MOST_CLASSES])
        handles = [
            Patch(color=self._colors[one], label=_shortened(self.class_names[one], 24))
            for one in shown
        ]
        if len(shown) < len(order):
            left = len(order) - len(shown)
            handles.append(Patch(alpha=0.0, label=f"and {left} classes more"))
        box = self.ax_.get_window_extent()
        columns = int(box.width / self.figure_.dpi // 1.3)
        columns = max(min(columns, len(handles)), 1)
        root = self.nodes[0]
        lines = []
        if explained and root.branches:
            lines = [*root.strength.legend, *self.notes]
        self.ax_.legend(
            handles=handles,
            loc="lower left" if inside else "upper left",
            bbox_to_anchor=(0.0, 0.0),
            ncols=columns,
            title="\n".join(lines) or None,
            title_fontsize=7,
            alignment="left",
            fontsize=8,
            frameon=False,
            borderaxespad=0.0,
        )
        if not inside:
            return 0.0
        # lines of a legend are about 14 points high
        height = 14.0 * (len(lines) + math.ceil(len(handles) / columns))
        share = min(height / (POINTS * box.height / self.figure_.dpi), 0.5)
        return share / (1.0 - share)


def _shortened(text, length):
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[: length - 3 - half]}...{text[len(text) - half :]}"


def _fitting(text, size, most):
    """Leave out the last words of a text that is wider than so many points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)

    def fits(text):
        return text_to_path.get_text_width_height_descent(text, font, False)[0] <= most

    if fits(text):
        return text
    words = text.split(" ")
    for n in range(len(words) - 1, 0, -1):
        shorter = f"{' '.join(words[:n])} ..."
        if fits(shorter):
            return shorter
    length = len(words[0])
    while length > 12 and not fits(text):  # a single word has no other place to cut
        text = _shortened(words[0], length)
        length -= 1
    return text
