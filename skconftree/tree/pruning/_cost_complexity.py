"""Minimal cost-complexity pruning."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

from ..._compat import Interval
from ...utils._types import Floats
from ._base import BasePruning

if TYPE_CHECKING:
    from ..nodes._tree import Tree
    from ._base import TrainingRows


class CostComplexityPruning(BasePruning):
    """Minimal cost-complexity pruning, as by scikit-learn's `ccp_alpha`.

    Parameters
    ----------
    ccp_alpha : float, default=0.0
        Decrease of the impurity that each leaf must be worth, at least 0. Larger prunes
        more, 0 not at all.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import CostComplexityPruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(
    ...     bound=None, pruning=CostComplexityPruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    5
    """

    _parameter_constraints: dict = {
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")]
    }
    strength_parameter = "ccp_alpha"

    def __init__(self, ccp_alpha: float = 0.0) -> None:
        self.ccp_alpha = ccp_alpha

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        if self.ccp_alpha == 0.0:
            return tree  # as scikit-learn, which else would merge equal leaves
        return super().prune(tree, rows)

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        weight = tree.weighted_n_node_samples
        return tree.impurity * (weight / weight[0]) + self.ccp_alpha
