"""What a tree says of rows, by the leaves that they reach."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..utils._lock import reads
from ..utils._types import Floats, Indices, TableLike


class TreePrediction:
    """Mixin of an estimator with `tree_`, `_rows(X)`, and a model that knows leaves."""

    def _best(self, rows):
        return self._model.best(rows)

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        """Class probabilities in the leaf that each row reaches.

        They are its class proportions; or, of a
        :class:`~skconftree.ConfidenceTreeClassifier`, these drawn towards those of the
        nodes above according to `shrinkage`, or what naive Bayes says, see
        `leaf_prediction`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        rows = self._rows(X)
        return self._model.proba(rows)

    @reads
    def apply(self, X: TableLike) -> Indices:
        """Index of the leaf that each row reaches.

        A row whose category did not occur at a node in training stays there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples,), intp
        """
        rows = self._rows(X)
        return self._model.leaves(rows)

    @reads
    def get_depth(self) -> int:
        """Return the depth of the deepest leaf.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    @reads
    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @reads
    def decision_path(self, X: TableLike) -> Any:
        """Nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `fit` takes.

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        """
        leaves = self.apply(X)
        return self.tree_.path(leaves)
