"""Plot of a tree with the evidence for its splits.

A *bound* is the split rule of a tree; interval bounds compare confidence limits of the
impurity. The *evidence* for a split has its test statistics and a level, a word such as
"strong". An *audit* tests the splits on held-out rows; its verdicts are words such as
"confirmed", and `marks` maps nodes to pairs of a verdict and its numbers, as text.
Subtrees without strong splits are *weak*, and may be *folded*, that is, drawn as one
box. Methods decorated by `reads_argument` take the lock of the estimator for reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
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
AUTO_WIDTH = 6.0  # maximal width in boxes if max_depth="auto"


@dataclass(eq=False, repr=False)
class ConfidenceTreeDisplay:
    """Plot of a decision tree with the evidence for each split.

    Every box is a node. The box of a split shows its condition, the evidence (the level
    of evidence and the number of splits expected by chance, as in
    :func:`skconftree.tree.export_text`), and its number of rows. The box of a leaf
    shows the predicted class, the number of its rows of that class, and the
    probability. It has the color of the class, which is paler if the class is less
    probable. Colored strips show the class probabilities, which include `class_weight`;
    numbers of rows do not. The width of an edge increases with its number of rows.

    Create it with :meth:`from_estimator`. The colors of text and background are those
    of matplotlib's style, including dark styles, and ``figure_.savefig("tree.svg")``
    writes a scalable file. In an interactive window of matplotlib, pointing at or
    clicking a box shows the path to its node and the prediction, also in a compact
    plot. The boxes of :meth:`to_svg` do the same.

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
    skconftree.tree.export_text : The tree as text.
    skconftree.tree.export_html : The tree as an HTML page with nodes that fold.
    skconftree.tree.node_table : The tree as plain records.

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

    nodes: Sequence[Any]
    _: KW_ONLY
    class_names: Sequence[str]
    marks: dict[Any, Any] | None = None
    notes: Sequence[str] = ()

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
            Names of the features. By default, the names seen in ``fit``, or ``x0``,
            ``x1`` and so on if there were none.
        class_names : list of str, default=None
            Names of the classes, in the order of ``classes_``. By default,
            ``classes_``.
        max_depth : int, "auto" or None, default="auto"
            Deepest level to draw. Boxes whose branches are not drawn are marked.
            ``"auto"`` draws as many levels as fit on a page, or all levels of a compact
            plot. None draws all levels.
        compact : bool, default=False
            If True, draw small boxes, to show the shape of a large tree: leaves have no
            text, but their description is shown on hover, and conditions are drawn if
            they fit.
        fold_weak : bool, default=True
            If True, a subtree without any strong or overwhelming split is drawn as one
            box, with the class, the rows and the probability of its top node.
        verbose : bool, default=False
            If True, also show the statistics that the bound compared at each split, as
            numbers and as a bar. The bar is the upper limit of the children's impurity
            (interval bounds) or the score of the best split (Hoeffding-type bounds); a
            tick marks the limit that it had to stay below. All bars of one plot have
            the same scale.
        audit : SplitAudit or None, default=None
            Result of :func:`skconftree.inspection.audit_splits` for this tree. The
            verdict on each split is drawn on the upper edge of its box.
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
            Whether a subtree without a strong split is drawn as one box.
        verbose : bool, default=False
            Whether to show the statistics of the bound at each split.

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
        """Draw the tree as SVG, without matplotlib.

        The result depends only on the tree, not on versions of libraries. A node under
        the pointer or with keyboard focus shows its path and its prediction. The colors
        follow the dark mode of the browser.

        Parameters
        ----------
        max_depth : int, "auto" or None, default="auto"
            Deepest level to draw, see `from_estimator`.
        compact : bool, default=False
            Whether to draw small boxes, whose description is shown on hover.
        fold_weak : bool, default=True
            Whether a subtree without a strong split is drawn as one box.

        Returns
        -------
        str
            A complete SVG file, which can also be embedded in an HTML page.

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
        # Arguments that both kinds of drawings share.
        nodes = self.nodes
        if fold_weak:
            marks = (self.marks or {}).items()
            confirmed = [node for node, (verdict, _) in marks if verdict == CONFIRMED]
            nodes = fold_weak_subtrees(nodes, keep=confirmed)
        return nodes, self.class_names, self.marks, self.notes


def _depth(nodes, max_depth, compact):
    """Return the deepest level to draw; None for all levels."""
    if isinstance(max_depth, str) and max_depth == "auto":
        return None if compact else readable_depth(nodes, AUTO_WIDTH)
    if max_depth is not None and (not isinstance(max_depth, Integral) or max_depth < 0):
        raise ValueError(
            "max_depth must be 'auto', None or an integer of at least 0. Got "
            f"{max_depth!r} instead."
        )
    return max_depth
