"""What an estimator says of its tree."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..utils._lock import reads
from .reading._to_sklearn import to_sklearn, warn_of_missing


class TreeShape:
    """Mixin of an estimator whose `tree_` has nodes."""

    @reads
    def get_depth(self):
        """Return the depth of the deepest leaf.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    @reads
    def get_n_leaves(self):
        """Return the number of leaves.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves


class GrownTree(TreeShape):
    """Mixin of a tree estimator that tells what its tree is like."""

    @reads
    def leaf_counts(self, *, fresh=False):
        """Weight of the training rows of each class in each leaf.

        Parameters
        ----------
        fresh : bool, default=False
            Count only rows that came after the leaf was made, by which no split was
            chosen. All zeros after `fit`.

        Returns
        -------
        ndarray of shape (node_count, n_classes), float64
            0 at inner nodes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", leaf_memory="rows")
        >>> tree = tree.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
        >>> tree.leaf_counts().sum(axis=0), tree.leaf_counts(fresh=True).sum()
        (array([50., 50.,  0.]), np.float64(0.0))
        >>> tree.partial_fit(X[:1], y[:1]).leaf_counts(fresh=True).sum()
        np.float64(1.0)
        """
        check_is_fitted(self)
        if not fresh:
            return self.tree_.leaf_counts()
        if self._grower is None:
            return np.zeros((self.tree_.node_count, len(self.classes_)))
        return self._grower.fresh_counts()

    @property
    @reads
    def categories_(self):
        """Categories of the nominal columns."""
        check_is_fitted(self)
        return None if self._features is None else self._features.categories

    @property
    @reads
    def shrinkage_(self):
        """How strongly the probabilities are drawn towards those of the nodes above."""
        check_is_fitted(self)
        return self.tree_.shrinkage

    @property
    @reads
    def feature_importances_(self):
        """Share of each feature in the decrease of impurity."""
        check_is_fitted(self)
        return self.tree_.feature_importances()

    @reads
    def to_sklearn(self):
        """Copy the tree into a genuine scikit-learn classifier.

        Whatever accepts scikit-learn's trees (plotting, exporting, explaining)
        accepts the result. Node ids are kept, but not by a tree with nominal
        columns. Of that, each nominal test becomes a column in which an
        ``OrdinalEncoder`` gives neighbouring codes to the categories of a branch.

        Returns
        -------
        sklearn.tree.DecisionTreeClassifier or sklearn.pipeline.Pipeline
            Fitted; its `predict_proba` equals this tree's bit for bit, categories
            that it does not know included. A pipeline of encoders and a
            ``DecisionTreeClassifier`` if there are nominal columns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1).fit(X, y)
        >>> (tree.to_sklearn().predict_proba(X) == tree.predict_proba(X)).all()
        np.True_
        """
        check_is_fitted(self)
        if self._predicts_by_bayes():
            raise ValueError(
                "A tree whose leaves predict by naive Bayes has no counterpart in "
                "scikit-learn. Use leaf_prediction='majority'."
            )
        warn_of_missing([self], stacklevel=2)
        return to_sklearn(self)
