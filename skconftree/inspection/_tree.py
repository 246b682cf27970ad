"""The picture of a tree with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

from skconftree.tree import fold_weak_subtrees, node_table

from ..utils import reads_argument
from ..utils._types import Estimator
from ._tree_layout import readable_depth
from ._tree_plot import PlotPicture
from ._tree_svg import SvgPicture

if TYPE_CHECKING:
    from ._audit import SplitAudit

CONFIRMED = "confirmed"  # verdict of an audit
AUTO_WIDTH = 6.0  # boxes of a level, if no depth is set


class ConfidenceTreeDisplay:
    """Picture of a tree: its splits, the evidence for each of them, and the classes.

    Every box is a node. One that was split shows its test, the evidence for the split
    (its level of evidence and the number expected by chance, as in
    :func:`skconftree.tree.export_text`), and how many rows it had. A leaf is named and
    colored by the class that it predicts, the paler the less probable that class is,
    and shows how many of its rows are of that class, and its probability.
    Colored strips show the probabilities of the classes, with `class_weight`; the
    numbers of rows are without it. The more rows go along an edge, the wider it is.

    Create it with :meth:`from_estimator`. The colors of text and background are those
    of matplotlib's style, dark ones included, and ``figure_.savefig("tree.svg")`` gives
    a picture that can be enlarged. In a window of matplotlib, a box that is pointed at
    or clicked shows the path to its node and what the node predicts, also in a compact
    picture; so do the boxes of :meth:`to_svg`.

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
    @reads_argument
    def from_estimator(
        cls,
        estimator: Estimator,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_depth: int | Literal["auto"] | None = "auto",
        compact: bool = False,
        fold_weak: bool = True,
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
            ``"auto"`` draws as many levels as fit on a page, or all of a compact
            picture; None draws all.
        compact : bool, default=False
            Whether to draw small boxes, for the shape of a large tree: leaves without
            text, whose description is shown on hover, and conditions if they fit.
        fold_weak : bool, default=True
            Whether a subtree that has no strong or overwhelming split is one box, with
            the class, the rows and the probability of its top node.
        verbose : bool, default=False
            Whether to add what the bound of each split compared: in numbers, and as a
            bar for what the children are at most (interval bounds) or for the score of
            the winner (races), with a tick for the limit that it had to stay below.
            All scales of one picture are the same.
        audit : SplitAudit or None, default=None
            Result of :func:`skconftree.inspection.audit_splits` for this tree: each
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
        return display.plot(
            ax,
            max_depth=max_depth,
            compact=compact,
            fold_weak=fold_weak,
            verbose=verbose,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        max_depth: int | Literal["auto"] | None = "auto",
        compact: bool = False,
        fold_weak: bool = True,
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
        fold_weak : bool, default=True
            Whether a subtree without a strong split is one box.
        verbose : bool, default=False
            Whether to add what the bound of each split compared.

        Returns
        -------
        ConfidenceTreeDisplay
            The display itself.
        """
        shown = self._shown(fold_weak)
        picture = PlotPicture(*shown, compact, verbose)
        self.ax_ = picture.draw(ax, _depth(shown[0], max_depth, compact))
        self.figure_ = self.ax_.figure
        return self

    def to_svg(
        self,
        *,
        max_depth: int | Literal["auto"] | None = "auto",
        compact: bool = False,
        fold_weak: bool = True,
    ) -> str:
        """Write the tree as plain SVG, which needs no matplotlib.

        The same tree gives the same text with any version of any library. In a page, or
        opened by itself, a node that has the pointer or the keyboard focus shows its
        path and what it predicts. The picture follows the dark mode of a page.

        Parameters
        ----------
        max_depth : int, "auto" or None, default="auto"
            Deepest level to draw, see `from_estimator`.
        compact : bool, default=False
            Whether to draw small boxes, whose description is shown on hover.
        fold_weak : bool, default=True
            Whether a subtree without a strong split is one box.

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
        ('<svg ', 7)
        """
        shown = self._shown(fold_weak)
        depth = _depth(shown[0], max_depth, compact)
        return SvgPicture(*shown, compact).text(depth)

    def _shown(self, fold_weak):
        # What both kinds of pictures show.
        nodes = self.nodes
        if fold_weak:
            marks = (self.marks or {}).items()
            confirmed = [node for node, (verdict, _) in marks if verdict == CONFIRMED]
            nodes = fold_weak_subtrees(nodes, keep=confirmed)
        return nodes, self.class_names, self.marks, self.notes


def _depth(nodes, max_depth, compact):
    """Deepest level to draw; None for all."""
    if isinstance(max_depth, str) and max_depth == "auto":
        return None if compact else readable_depth(nodes, AUTO_WIDTH)
    if max_depth is not None and (not isinstance(max_depth, Integral) or max_depth < 0):
        raise ValueError(
            "max_depth must be 'auto', None or a whole number of at least 0. Got "
            f"{max_depth!r} instead."
        )
    return max_depth
