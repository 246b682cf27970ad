"""C4.5's pruning, which may also raise a branch."""

import numpy as np
from scipy.sparse import issparse

from ...criteria._criterion import CRITERIA
from ._base import Pruning, Strength
from ._pruning import SubtreeRaising


class C45Pruning(Pruning):
    """A subtree becomes a leaf, or its larger branch takes its place."""

    strength = Strength(0.25, 0.0, 0.5, "(]")

    def prune(self, tree, rows):
        X, y, weight = rows.take()
        weight = np.ones(len(y)) if weight is None else weight
        score = CRITERIA[rows.criterion](tree.n_classes)
        y = y.astype(np.intp, copy=False)
        X = X.tocsr() if issparse(X) else X
        return SubtreeRaising(tree, score, X, y, weight, self.confidence).prune()
