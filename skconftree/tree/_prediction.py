"""What a grown tree says of rows."""

import numpy as np
from scipy.special import betaincinv
from sklearn.utils.validation import check_is_fitted

from ..tables._reading import read_rows
from ..tables._sparse import blocks, in_blocks
from ..utils._lock import reads
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
        """Class proportions of the leaf that each row reaches.

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
        """Most frequent class of the leaf that each row reaches.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Among equally frequent classes the first of `classes_`.
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
    def predict_proba_interval(self, X, *, confidence_level=0.95):
        """Credible limits of each class probability in the leaf reached.

        The limits are equal-tailed, from a Dirichlet posterior with a prior of
        1 / n_classes per class; an absent class has the lower limit 0, a class that
        fills its leaf the upper limit 1. They are conditional on the grown tree,
        which was chosen with the same rows, and hence optimistic.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
        confidence_level : float, default=0.95
            Posterior probability between the limits, in (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper limits.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1).fit(X, y)
        >>> tree.predict_proba_interval(X[:1]).round(3)
        array([[[0.943, 1.   ],
                [0.   , 0.039],
                [0.   , 0.039]]])
        """
        if not 0.0 < confidence_level < 1.0:
            raise ValueError(
                f"confidence_level must be in (0, 1), got {confidence_level!r}."
            )
        leaves, row = np.unique(self.apply(X), return_inverse=True)
        n = self.tree_.counts[leaves].sum(axis=1, keepdims=True)
        counts = self.tree_.value[leaves] * n
        prior = 1.0 / self.n_classes_
        a, b = counts + prior, n - counts + (1.0 - prior)
        tail = (1.0 - confidence_level) / 2.0
        if self.n_classes_ == 1:
            return np.ones((len(row), 1, 2))
        limits = np.stack(
            [betaincinv(a, b, tail), betaincinv(a, b, 1.0 - tail)], axis=2
        )
        limits[..., 0][counts == 0.0] = 0.0
        limits[..., 1][counts == n] = 1.0
        return limits[row]

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
