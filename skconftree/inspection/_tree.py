"""The picture of a tree with its evidence."""

import math
import textwrap
from typing import NamedTuple

import numpy as np

from skconftree.tree import node_table

# Told apart by people with any colour vision (Okabe and Ito).
COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)
INK = "#222222"
MUTED = "#6b6b6b"

# In units of the picture: one leaf is 1 wide, one level of the tree 1 high.
BOX_WIDTH = 0.9
BOX_TOP = 0.36
BOX_BOTTOM = -0.38
LEAF_BOTTOM = -0.22
MARGIN = 0.05
LINE_WIDTH = 26  # characters that fit into a box


class _Statement(NamedTuple):
    """What was compared at a split: it was installed as `value` is below `limit`."""

    text: str
    value: float = math.nan
    limit: float = math.nan
    reach: float = math.nan  # how far `value` might be off: a race's radius


def _statement(evidence):
    """Put the evidence of a split into words and, if possible, on a scale."""
    if {"child_limit", "parent_limit"} <= evidence.keys():
        child, parent = evidence["child_limit"], evidence["parent_limit"]
        return _Statement(f"children < {child:.3f}, node > {parent:.3f}", child, parent)
    if {"radius", "rival_score"} <= evidence.keys():
        score, rival, radius = (
            evidence[name] for name in ("score", "rival_score", "radius")
        )
        name = "no split" if evidence["rival_feature"] < 0 else "rival"
        text = f"{score:.3f} \N{PLUS-MINUS SIGN} {radius:.3f}, {name} {rival:.3f}"
        return _Statement(text, score, rival, radius)
    if "confidence" in evidence:
        return _Statement(f"{evidence['statement']} {evidence['confidence']:.3g}")
    return _Statement("")


def _tested(row, words):
    """Leave the name of the feature out of what holds in a branch."""
    return words[len(row.name) + 1 :]


def _shortened(text, end):
    return textwrap.shorten(text, LINE_WIDTH, placeholder=end)


class ConfidenceTreeDisplay:
    """Picture of a tree: class shares, tests, and the evidence of every split.

    Every box is a node. Its coloured strip shows the shares of the classes, and a leaf
    is named by the class that `predict` gives; both heed `class_weight`, the number of
    rows does not. A node that was split shows below the strip what its bound compared:
    a bar for what the children are at most (interval bounds) or for the score of the
    winner (races), and a tick for the limit that it had to stay below. The gap between
    bar and tick is the margin of the decision. All scales of one picture are the same.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    nodes : list of NamedTuple
        All nodes of a tree, see :func:`skconftree.tree.node_table`.
    class_names : list of str
        Names of the classes.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        The figure they are in.

    See Also
    --------
    skconftree.tree.export_text : The same in text.
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

    def __init__(self, nodes, *, class_names):
        self.nodes = nodes
        self.class_names = class_names

    @classmethod
    def from_estimator(
        cls, estimator, *, feature_names=None, class_names=None, max_depth=None, ax=None
    ):
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
        max_depth : int, default=None
            Deepest level to draw; what is below is shown as an ellipsis.
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
        display = cls(nodes, class_names=[str(name) for name in class_names])
        return display.plot(ax, max_depth=max_depth)

    def plot(self, ax=None, *, max_depth=None):
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure that fits the tree.
        max_depth : int, default=None
            Deepest level to draw; what is below is shown as an ellipsis.

        Returns
        -------
        ConfidenceTreeDisplay
            The display itself.
        """
        places = self._places(max_depth)
        width = 1 + max(x for x, _ in places.values())
        height = 1 - min(y for _, y in places.values())
        if ax is None:
            import matplotlib.pyplot as plt

            size = (max(4.8, 1.9 * width), max(1.6, 1.3 * height + 0.5))
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure

        statements = {
            node: _statement(self.nodes[node].evidence)
            for node in places
            if self.nodes[node].branches
        }
        scale = max(
            (
                np.nanmax([one.value, one.limit])
                for one in statements.values()
                if one.limit > 0
            ),
            default=1.0,
        )
        for node, (x, y) in places.items():
            row = self.nodes[node]
            is_open = any(branch.node in places for branch in row.branches)
            if is_open:
                self._draw_edges(row, places)
            self._draw_node(row, x, y, statements.get(node), scale, is_open)
        self._draw_legend()
        ax.set_xlim(-0.5, width - 0.5)
        ax.set_ylim(0.45 - height, 0.45)
        ax.set_axis_off()
        return self

    def _places(self, max_depth):
        """Return where each drawn node goes: leaves side by side, parents centred."""
        order, ends, waiting = [], set(), [0]
        while waiting:  # from the left, parents before children
            row = self.nodes[waiting.pop()]
            order.append(row)
            if not row.branches or row.depth == max_depth:
                ends.add(row.node)
            else:
                waiting += [branch.node for branch in row.branches[::-1]]
        leaves = (row.node for row in order if row.node in ends)
        x = {node: place for place, node in enumerate(leaves)}
        for row in reversed(order):
            if row.node not in ends:
                x[row.node] = (x[row.branches[0].node] + x[row.branches[-1].node]) / 2
        return {row.node: (x[row.node], -row.depth) for row in order}

    def _draw_edges(self, row, places):
        x, y = places[row.node]
        words = ["yes", "no"]
        if row.n_children > 2:
            words = [
                _tested(row, branch.words).removeprefix("= ").removeprefix("in ")
                for branch in row.branches
            ]
        for branch, word in zip(row.branches, words, strict=True):
            to_x, to_y = places[branch.node]
            self.ax_.plot(
                [x, to_x], [y + BOX_BOTTOM, to_y + BOX_TOP], color=MUTED, lw=1, zorder=0
            )
            self.ax_.text(
                (x + to_x) / 2,
                (y + BOX_BOTTOM + to_y + BOX_TOP) / 2,
                word if len(word) <= 14 else f"{word[:12]}...",
                color=MUTED,
                fontsize=7,
                ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            )

    def _draw_node(self, row, x, y, statement, scale, is_open):
        from matplotlib.patches import FancyBboxPatch

        left = x - BOX_WIDTH / 2
        bottom = BOX_BOTTOM if statement else LEAF_BOTTOM
        self.ax_.add_patch(
            FancyBboxPatch(
                (left, y + bottom),
                BOX_WIDTH,
                BOX_TOP - bottom,
                boxstyle="round,pad=0,rounding_size=0.04",
                facecolor="white",
                edgecolor=INK if statement else MUTED,
                linewidth=1.1 if statement else 0.7,
            )
        )
        rows = f"{row.weight:.6g} {'row' if row.weight == 1 else 'rows'}"
        self._draw_shares(row.value, left + MARGIN, y - 0.02)
        if statement is None:
            self._write(x, y + 0.2, str(row.label), INK, 8)
            self._write(x, y - 0.14, rows, MUTED, 7)
            return
        test = "which category?"
        if row.n_children == 2:
            test = _shortened(_tested(row, row.test), " ...")
        self._write(x, y + 0.2, f"{_shortened(row.name, '...')}\n{test}", INK, 8)
        self._write(x, y - 0.21, statement.text, MUTED, 6.5)
        self._write(
            x, y - 0.3, rows if is_open else f"{rows}, split further", MUTED, 6.5
        )
        self._draw_scale(statement, left + MARGIN, y - 0.12, scale)

    def _write(self, x, y, text, color, size):
        self.ax_.text(x, y, text, color=color, fontsize=size, ha="center", va="center")

    def _draw_shares(self, shares, left, y):
        from matplotlib.patches import Rectangle

        for share, color in zip(shares, self._colors(), strict=True):
            width = (BOX_WIDTH - 2 * MARGIN) * share
            self.ax_.add_patch(Rectangle((left, y), width, 0.07, color=color, lw=0))
            left += width

    def _draw_scale(self, statement, left, y, scale):
        from matplotlib.patches import Rectangle

        if not statement.limit > 0:
            return
        unit = (BOX_WIDTH - 2 * MARGIN) / scale
        self.ax_.add_patch(
            Rectangle((left, y), statement.value * unit, 0.03, color=MUTED, lw=0)
        )
        if statement.reach > 0:
            end = min(statement.value + statement.reach, scale)
            self.ax_.plot(
                [left + statement.value * unit, left + end * unit],
                [y + 0.015, y + 0.015],
                color=MUTED,
                lw=1,
            )
        limit = left + statement.limit * unit
        self.ax_.plot([limit, limit], [y - 0.02, y + 0.05], color=INK, lw=1.6)

    def _colors(self):
        from matplotlib import colormaps

        many = len(self.class_names)
        return (
            COLORS[:many]
            if many <= len(COLORS)
            else colormaps["turbo"].resampled(many).colors
        )

    def _draw_legend(self):
        from matplotlib.patches import Patch

        handles = [
            Patch(color=color, label=name)
            for color, name in zip(self._colors(), self.class_names, strict=True)
        ]
        self.ax_.legend(
            handles=handles,
            loc="upper left",
            fontsize=8,
            frameon=False,
            borderaxespad=0.0,
        )
