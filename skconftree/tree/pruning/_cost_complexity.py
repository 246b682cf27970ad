"""Impurity that a leaf has to earn."""

from numbers import Real

from ..._compat import Interval
from ._base import BasePruning


class CostComplexityPruning(BasePruning):
    """Minimal cost-complexity pruning, as by scikit-learn's `ccp_alpha`.

    Parameters
    ----------
    confidence : float, default=0.0
        Impurity that a leaf must earn: `ccp_alpha`, at least 0. Larger prunes more, 0
        not at all.

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
        "confidence": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(self, confidence=0.0):
        self.confidence = confidence

    def prune(self, tree, rows):
        if self.confidence == 0.0:
            return tree  # as scikit-learn, which else would merge equal leaves
        return super().prune(tree, rows)

    def cost(self, tree, rows):
        weight = tree.weighted_n_node_samples
        return tree.impurity * (weight / weight[0]) + self.confidence
