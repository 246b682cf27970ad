"""Errors at their upper confidence limit."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..._compat import Interval
from ...utils._types import Floats
from ._base import BasePruning, proportionate_counts
from ._pruning import PessimisticCost

if TYPE_CHECKING:
    from ..nodes._tree import LeafCost, Tree
    from ._base import TrainingRows


class PessimisticPruning(BasePruning):
    """A subtree stays if the upper limits of its leaves' errors sum to less.

    Parameters
    ----------
    confidence : float, default=0.25
        Error of the limits, in (0, 1); smaller prunes more.
    protect_below : float or None, default=0.01
        Splits with fewer than this expected by chance stay, whatever their errors, so
        that leaves of one class can differ in their probabilities. It is compared with
        the ``statistic`` of bounds whose small statistics are strong
        (``smaller_is_stronger``). None: errors alone count.

    See Also
    --------
    skconftree.bounds.binomial_upper : The limits.

    Notes
    -----
    Whether a subtree is taken back is decided by errors everywhere, as if no split had
    been kept. Then splits that are strong and whose children say something else than
    their node stay, unless they are below one that goes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import PessimisticPruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=PessimisticPruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    5

    A split that no prediction needs, but probabilities do:

    >>> import numpy as np
    >>> X = np.repeat([[0.0], [1.0]], 500, axis=0)
    >>> y = np.arange(1000) % 10 < np.where(X[:, 0] > 0, 4, 1)
    >>> tree = ConfidenceTreeClassifier(pruning=PessimisticPruning(protect_below=None))
    >>> tree.fit(X, y).get_n_leaves()
    1
    >>> tree.set_params(pruning__protect_below=0.01).fit(X, y).get_n_leaves()
    2
    """

    limits_errors = True
    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")],
        "protect_below": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    def __init__(
        self, confidence: float = 0.25, *, protect_below: float | None = 0.01
    ) -> None:
        self.confidence = confidence
        self.protect_below = protect_below

    def keep_as_leaf(self, tree: Tree, rows: TrainingRows) -> NDArray[np.bool_] | None:
        keep_as_leaf = super().keep_as_leaf(tree, rows)
        smaller_is_stronger = getattr(rows.bound, "smaller_is_stronger", False)
        goes = keep_as_leaf & (tree.n_children > 0)
        if self.protect_below is not None and smaller_is_stronger and goes.any():
            # a leaf has no evidence, which is below nothing
            strong = tree.evidence["statistic"] < self.protect_below
            keep_as_leaf &= ~(strong & _tells_more(tree))
        return keep_as_leaf

    # Errors alone, in a growth that looks ahead too: strong splits that change no
    # prediction have no cost of errors by which trials could be told apart.
    def leaf_cost(self, n_leaves: int) -> LeafCost | None:
        return PessimisticCost(self.confidence, n_leaves)

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        return self.leaf_cost(tree.node_count).of_nodes(proportionate_counts(tree))


def _tells_more(tree):
    """Whether the children of each node have other class proportions than it has."""
    value, parent = tree.raw_value, tree.parent
    tells = np.zeros(tree.node_count, dtype=bool)
    tells[parent[1:][(value[1:] != value[parent[1:]]).any(axis=1)]] = True
    return tells
