"""Possibilistic cumulative entropy of leaves against that of their parent."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

from ..._compat import Interval
from ...bounds import possibilistic_entropy
from ...utils._types import Floats
from ._base import BasePruning, proportionate_counts

if TYPE_CHECKING:
    from ..nodes._tree import Tree
    from ._base import TrainingRows


class PossibilisticPruning(BasePruning):
    """A subtree stays if its possibilistic entropy is lower.

    Parameters
    ----------
    confidence : float, default=0.05
        Error of the limits, in (0, 1); smaller prunes more.

    See Also
    --------
    skconftree.bounds.possibilistic_entropy : The entropy.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import PossibilisticPruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(
    ...     bound=None, pruning=PossibilisticPruning(1e-6))
    >>> tree.fit(X, y).get_n_leaves()
    3
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")]
    }

    def __init__(self, confidence: float = 0.05) -> None:
        self.confidence = confidence

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        counts = proportionate_counts(tree)
        return counts.sum(axis=1) * possibilistic_entropy(counts, self.confidence)
