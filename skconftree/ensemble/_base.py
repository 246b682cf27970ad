"""Predictions that both kinds of forests share: averages over trees, decision paths.

The *model* of a forest has its fitted trees. Methods decorated by `reads` take the lock
of a forest for reading.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..utils._lock import reads
from ..utils._types import Floats, TableLike


class VotingForest:
    """Mixin of a forest with `_rows(X)`, `_mean_proba(rows)` and `_model`.

    `_rows` validates X, `_mean_proba` averages class probabilities over the trees, and
    `_model` has the list `trees`.
    """

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        """Mean class probabilities of the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any type that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`. They do not depend on
            `n_jobs`.
        """
        return self._mean_proba(self._rows(X))

    def _best(self, rows):
        # index of the most probable class of each row, for `predict`
        return self._mean_proba(rows).argmax(axis=1)

    @reads
    def decision_path(self, X: TableLike) -> tuple[Any, NDArray[Any]]:
        """Return the decision path of each row in all trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any type that `fit` accepts.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 if the row passes the node.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns of tree i are those from ``n_nodes_ptr[i]`` to
            ``n_nodes_ptr[i + 1]``.
        """
        leaves = self.apply(X)
        paths = [tree.path(leaves[:, i]) for i, tree in enumerate(self._model.trees)]
        ends = np.cumsum([0, *(path.shape[1] for path in paths)])
        return sparse.hstack(paths, format="csr"), ends


TASKS_PER_JOB = 4  # batches of trees per worker, to balance the load
