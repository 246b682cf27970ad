"""The picture of a tree with its evidence."""

import math
import textwrap
from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

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


def _statement(evidence, confidence):
    """Put the evidence of a split into words and, if possible, on a scale."""
    known = {
        name: float(evidence[name])
        for name in evidence.dtype.names
        if math.isfinite(evidence[name])
    }
    if "child_limit" in known and "parent_limit" in known:
        child, parent = known["child_limit"], known["parent_limit"]
        return _Statement(f"children < {child:.3f}, node > {parent:.3f}", child, parent)
    if "radius" in known and "rival_score" in known:
        score, rival, radius = (
            known[name] for name in ("score", "rival_score", "radius")
        )
        name = "no split" if known["rival_feature"] < 0 else "rival"
        text = f"{score:.3f} \N{PLUS-MINUS SIGN} {radius:.3f}, {name} {rival:.3f}"
        return _Statement(text, score, rival, radius)
    if "confidence" in known:
        return _Statement(f"{confidence} {known['confidence']:.3g}")
    return _Statement("")


class ConfidenceTreeDisplay:
    """Picture of a tree: class shares, tests, and the evidence of every split.

    Every box is a node. Its coloured strip shows the shares of the classes. A node
    that was split shows below the strip what its bound compared: a bar for what the
    children are at most (interval bounds) or for the score of the winner (races),
    and a tick for the limit that it had to stay below. The gap between bar and tick is
    the margin of the decision. All scales of one picture are the same.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    tree : object
        The ``tree_`` of a fitted confidence tree.
    feature_names : list of str
        Names of the features.
    class_names : list of str
        Names of the classes.
    confidence_name : str, default="confidence"
        What the bound calls the confidence it stores.
    categories : list of (list or None), default=None
        Categories of each nominal feature by their codes; None for a numeric one.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        The figure they are in.

    See Also
    --------
    skconftree.tree.export_text : The same in text.

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
        tree,
        *,
        feature_names,
        class_names,
        confidence_name="confidence",
        categories=None,
    ):
        self.tree = tree
        self.feature_names = feature_names
        self.class_names = class_names
        self.confidence_name = confidence_name
        self.categories = categories

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
        check_is_fitted(estimator)
        if feature_names is None:
            feature_names = getattr(
                estimator,
                "feature_names_in_",
                [f"x{place}" for place in range(estimator.n_features_in_)],
            )
        if class_names is None:
            class_names = estimator.classes_
        for name, given, size in (
            ("feature_names", feature_names, estimator.n_features_in_),
            ("class_names", class_names, len(estimator.classes_)),
        ):
            if len(given) != size:
                raise ValueError(f"{name} must have {size} entries. Got {len(given)}.")
        display = cls(
            copy(estimator.tree_),  # it may grow on
            feature_names=[str(name) for name in feature_names],
            class_names=[str(name) for name in class_names],
            confidence_name=getattr(estimator.bound_, "statement", "confidence"),
            categories=estimator.categories_,
        )
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
            node: _statement(self.tree.evidence[node], self.confidence_name)
            for node in places
            if self._is_split(node)
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
            is_open = node in statements and self.tree.children(node)[0] in places
            if is_open:
                self._draw_edges(node, places)
            self._draw_node(node, x, y, statements.get(node), scale, is_open)
        self._draw_legend()
        ax.set_xlim(-0.5, width - 0.5)
        ax.set_ylim(0.45 - height, 0.45)
        ax.set_axis_off()
        return self

    def _is_split(self, node):
        return self.tree.n_children[node] > 0

    def _places(self, max_depth):
        """Return where each drawn node goes: leaves side by side, parents centred."""
        order, ends, waiting = [], set(), [(0, 0)]
        while waiting:  # from the left, parents before children
            node, depth = waiting.pop()
            order.append((node, depth))
            if not self._is_split(node) or depth == max_depth:
                ends.add(node)
            else:
                waiting += [(one, depth + 1) for one in self.tree.children(node)[::-1]]
        leaves = (node for node, _ in order if node in ends)
        x = {node: place for place, node in enumerate(leaves)}
        for node, _ in reversed(order):
            if node not in ends:
                children = self.tree.children(node)
                x[node] = (x[children[0]] + x[children[-1]]) / 2
        return {node: (x[node], -depth) for node, depth in order}

    def _draw_edges(self, node, places):
        x, y = places[node]
        children = self.tree.children(node)
        words = ["yes", "no"]
        if self.tree.children_left[node] < 0:
            words = [self._category_names(node, child)[0] for child in children]
        for child, word in zip(children, words, strict=True):
            to_x, to_y = places[child]
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

    def _draw_node(self, node, x, y, statement, scale, is_open):
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
        counts = np.asarray(self.tree.counts[node], dtype=float)
        total = counts.sum()
        rows = f"{total:.6g} {'row' if total == 1 else 'rows'}"
        self._draw_shares(counts, left + MARGIN, y - 0.02)
        if statement is None:
            self._write(x, y + 0.2, self.class_names[counts.argmax()], INK, 8)
            self._write(x, y - 0.14, rows, MUTED, 7)
            return
        name = self.feature_names[self.tree.feature[node]]
        name = textwrap.shorten(name, LINE_WIDTH, placeholder="...")
        self._write(x, y + 0.2, f"{name}\n{self._test(node)}", INK, 8)
        self._write(x, y - 0.21, statement.text, MUTED, 6.5)
        self._write(
            x, y - 0.3, rows if is_open else f"{rows}, split further", MUTED, 6.5
        )
        self._draw_scale(statement, left + MARGIN, y - 0.12, scale)

    def _test(self, node):
        """Return what holds for the rows on the left, or of every branch."""
        if self.tree.is_nominal[node]:
            if self.tree.children_left[node] < 0:
                return "which category?"
            names = self._category_names(node, self.tree.children_left[node])
            test = f"in {{{', '.join(names)}}}" if len(names) > 1 else f"= {names[0]}"
            return textwrap.shorten(test, LINE_WIDTH, placeholder=" ...")
        if math.isinf(self.tree.threshold[node]):
            return "is known"
        missing = self.tree.missing_seen[node] and self.tree.missing_go_to_left[node]
        return f"<= {self.tree.threshold[node]:.4g}{' or missing' if missing else ''}"

    def _category_names(self, node, child):
        categories = self.categories[self.tree.feature[node]]
        codes = np.flatnonzero(self.tree.branches(node) == child)
        return [
            "missing" if categories[code] is None else str(categories[code])
            for code in codes
        ]

    def _write(self, x, y, text, color, size):
        self.ax_.text(x, y, text, color=color, fontsize=size, ha="center", va="center")

    def _draw_shares(self, counts, left, y):
        from matplotlib.patches import Rectangle

        shares = counts / (counts.sum() or 1.0)
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
