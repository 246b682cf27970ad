"""What a grown tree says of rows."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..tables._reading import read_rows
from ..tables._sparse import blocks, in_blocks
from ..utils._lock import reads
from ._row_index import RowIndex
from .nodes._apply import find_leaves
from .reading._explain import explain_rows


class LeafPrediction:
    """Mixin of a tree estimator that sends rows to leaves and lets these speak."""

    def _rows(self, X):
        # Numbers and codes, and whether no value is missing.
        if not hasattr(self, "tree_"):
            check_is_fitted(self)  # raises; it takes longer than routing a row
        return read_rows(self, X, getattr(self, "_features", None))

    @reads
    def apply(self, X):
        """Index of the leaf that each row reaches.

        A row with a category that did not occur at a node in training stays there.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), intp
        """
        rows, finite = self._rows(X)
        return find_leaves(self.tree_, rows, finite)

    @reads
    def index_rows(self, X):
        """Keep track of which row of a table lies in which node while the tree grows.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            A pool of rows. It is referred to, and must not be changed.

        Returns
        -------
        RowIndex
        """
        if not hasattr(self, "tree_"):
            check_is_fitted(self)
        return RowIndex(self, X)

    @reads
    def decision_path(self, X):
        """Nodes that each row passes.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        """
        leaves = self.apply(X)
        return self.tree_.path(leaves)

    @reads
    def predict_proba(self, X):
        """Class probabilities in the leaf that each row reaches.

        They are its class proportions, drawn towards those of the nodes above
        according to `shrinkage`; or what naive Bayes says, see `leaf_prediction`.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        rows, finite = self._rows(X)
        if self._predicts_by_bayes():
            grower = self._grower
            return in_blocks(lambda block: grower.predict_proba(block, finite), rows)
        return self.tree_.value_of(find_leaves(self.tree_, rows, finite))

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @reads
    def predict(self, X):
        """Most probable class in the leaf that each row reaches.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Among equally probable classes the first of `classes_`.
        """
        rows, finite = self._rows(X)
        if self._predicts_by_bayes():
            grower = self._grower
            best = in_blocks(
                lambda block: grower.predict_proba(block, finite).argmax(axis=1), rows
            )
            return self.classes_.take(best)
        leaves = find_leaves(self.tree_, rows, finite)
        return self.classes_.take(self.tree_.best_of(leaves))

    @reads
    def explain(self, X):
        """Evidence of every split on the path of each row.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        list of list of dict
            For each row, from the root down, one dict per split with ``node``,
            ``feature`` (index), ``name``, ``threshold``, ``categories`` (of the
            branch taken, None at a numeric test), ``value`` (of the row), ``goes``
            (``"left"``, ``"right"``, ``"branch"`` of a multiway test, or ``"stays"``
            if the category was not known there) and the fields of ``tree_.evidence``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1).fit(X, y)
        >>> step = tree.explain(X[:1])[0][0]
        >>> step["name"], step["goes"], step["child_limit"] < step["parent_limit"]
        ('x2', 'left', True)
        """
        rows, _ = self._rows(X)
        return [
            explanation
            for _, block in blocks(rows)
            for explanation in explain_rows(self, block)
        ]
