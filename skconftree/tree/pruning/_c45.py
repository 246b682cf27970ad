"""C4.5's pruning, which may also raise a branch."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from ..._compat import Interval
from ...criteria._criterion import CRITERIA
from ._base import BasePruning
from ._pruning import SubtreeRaising

if TYPE_CHECKING:
    from ..nodes._tree import Tree
    from ._base import TrainingRows


class C45Pruning(BasePruning):
    """A subtree becomes a leaf, or its larger branch takes its place.

    As the pruning of C4.5, in Weka's form.

    Parameters
    ----------
    confidence : float, default=0.25
        C4.5's confidence factor, in (0, 0.5]; smaller prunes more.

    See Also
    --------
    PessimisticPruning : The idea with exact limits, and without raised branches.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import C45Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=C45Pruning(0.1))
    >>> tree.fit(X, y).get_n_leaves()
    7
    """

    limits_errors = True
    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 0.5, closed="right")]
    }

    def __init__(self, confidence: float = 0.25) -> None:
        self.confidence = confidence

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        X, y, weight = rows.take()
        weight = np.ones(len(y)) if weight is None else weight
        score = CRITERIA[rows.criterion](tree.n_classes)
        y = y.astype(np.intp, copy=False)
        X = X.tocsr() if issparse(X) else X
        return SubtreeRaising(tree, score, X, y, weight, self.confidence).prune()
