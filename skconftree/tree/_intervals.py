"""Confidence limits of class probabilities, and the rows they are computed from.

A model `grows` if it learns row by row; its `n_rows_before` are the rows of `fit`. Its
`honest_counts` are class counts of held-out rows. The `raw_proba` of a node are its
class proportions, before shrinkage.
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from .._compat import InvalidParameterError
from ..bounds._limits import beta_lower, confidence_sequence
from ..tables._growth_data import stream_weights
from ..tables._labels import read_labels
from ..utils._lock import reads  # locks the estimator
from ..utils._types import Floats, LabelsLike, TableLike
from .nodes._derived import sum_of_leaves
from .nodes._row_index import find_leaves

METHODS = ("conditional", "honest", "sequence")


class LeafLimits:
    """Mixin of a tree with confidence limits of leaf probabilities; without state."""

    @reads
    def predict_proba_interval(
        self,
        X: TableLike,
        *,
        confidence_level: float = 0.95,
        method: Literal["conditional", "honest", "sequence"] = "conditional",
    ) -> Floats:
        """Confidence limits of each class probability in the leaf of each row.

        They are limits of the class proportions in the leaf, weighted by
        `class_weight`. A probability that `shrinkage` has shrunk toward those of other
        nodes may lie outside the limits.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
        confidence_level : float, default=0.95
            Confidence level, in (0, 1), of the limits of each class. A larger level
            gives wider limits.
        method : {"conditional", "honest", "sequence"}, default="conditional"
            Rows from which the limits are computed, and when they are valid:

            - ``"conditional"``: the training rows. The limits are conditional on the
              tree, which was chosen with the same rows, and hence optimistic, in
              particular for small leaves.
            - ``"honest"``: held-out rows that were counted by `recount_leaves`.
            - ``"sequence"``: rows that `partial_fit` has learned since the creation of
              the leaf, which were not used for the splits above it either. In a
              stationary stream the limits of a leaf hold at all times simultaneously,
              so that optional stopping is valid, for example when they are narrow
              enough.

            The first two are equal-tailed limits of a Dirichlet posterior with a prior
            of 1 / n_classes per class, valid at one time: an absent class has the lower
            limit 0, a class that fills its leaf the upper limit 1. The third are a
            :func:`~skconftree.bounds.confidence_sequence`, which is wider.

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper limits; 0 and 1 in a leaf without a row.

        Raises
        ------
        ValueError
            If honest limits are requested and no rows have been counted, a sequence is
            requested for a tree without `partial_fit`, or conditional limits for a
            distilled tree, which was fitted to the predictions of a classifier.

        See Also
        --------
        recount_leaves : Counts the rows for honest limits.
        leaf_counts : With ``fresh=True`` the counts of ``method="sequence"``.

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
        check_limits(confidence_level, method, METHODS)
        rows = self._rows(X)
        return limits_in_leaves(self._model, rows, confidence_level, method)

    @reads
    def recount_leaves(
        self, X: TableLike, y: LabelsLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Count held-out rows in the leaves, for honest confidence limits.

        Training rows of a leaf are purer than new ones, because the tree was fitted to
        them. Held-out rows are counted in a separate array: splits, ``tree_.counts``
        and predictions do not change, and ``predict_proba_interval(method="honest")``
        uses these counts. Each call replaces the counts; `fit` and `partial_fit`
        discard them.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows that were used neither by `fit` or `partial_fit` nor to select
            parameters. This cannot be checked.
        y : array-like of shape (n_samples,)
            Class labels, which must be in `classes_`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, which are frequencies.

        Returns
        -------
        ConfidenceTreeClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If the input is invalid; earlier counts are then kept.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import train_test_split
        >>> from skconftree import ConfidenceTreeClassifier
        >>> parts = train_test_split(*load_iris(return_X_y=True), random_state=0)
        >>> X, X_held_out, y, y_held_out = parts
        >>> tree = ConfidenceTreeClassifier().fit(X, y)
        >>> tree = tree.recount_leaves(X_held_out, y_held_out)
        >>> tree.predict_proba_interval(X[:1], method="honest").round(3)
        array([[[0.   , 0.123],
                [0.824, 1.   ],
                [0.   , 0.123]]])
        """
        # Training waits meanwhile; readers see either the old or the new counts.
        rows = self._rows(X)
        labels = read_labels(y, rows.X, type(self).__name__)
        labels, weight = self._model.classes.codes(labels), None
        if sample_weight is not None:  # weight_seen=0.0: no earlier rows
            weight = stream_weights(
                sample_weight, rows.X, kind="frequency", weight_seen=0.0
            )
        self._model.recount(rows.X, labels, weight, rows.finite)
        return self


def limits_in_leaves(model, rows, confidence_level, method):
    """Confidence limits of the class proportions in the leaves of rows."""
    tree = model.tree
    leaves, row = np.unique(model.leaves(rows), return_inverse=True)
    if method == "sequence":
        if not model.grows or model.n_rows_seen == model.n_rows_before > 0:
            raise ValueError(
                "method='sequence' requires rows that arrived after the creation of a "
                "leaf, and this tree has none: fit creates all leaves at once. Call "
                "partial_fit with further rows, or use method='honest'."
            )
        counts = model.leaf_counts(fresh=True)[leaves]
        alpha = 1.0 - confidence_level
        return limits_of_sequence(counts, tree.class_weight, alpha)[row]
    if method == "conditional":
        if model.is_distilled:
            raise ValueError(
                "This tree was distilled from a classifier, and its predictions are "
                "not evidence for confidence limits. Call recount_leaves with labeled "
                "rows that the classifier was not trained on, and use method='honest'."
            )
        n = tree.counts[leaves].sum(axis=1, keepdims=True)
        return credible_limits(tree.raw_proba[leaves] * n, n, confidence_level)[row]
    if model.honest_counts is None:
        raise ValueError(
            "method='honest' requires held-out rows, and none have been counted. Call "
            "recount_leaves with rows that were not used for training, after fit or "
            "partial_fit."
        )
    counts = model.honest_counts[leaves]
    n = counts.sum(axis=1, keepdims=True)
    counts = counts * tree.class_weight
    weight = counts.sum(axis=1, keepdims=True)
    counts = np.divide(counts, weight, out=counts, where=weight > 0.0) * n
    return credible_limits(counts, n, confidence_level)[row]


def count_rows(tree, X, y, weight, finite):
    """Count rows in the nodes of a tree; `finite` if X has no missing values."""
    # index of the leaf and the class of each row in a flat array of counts
    cell = find_leaves(tree, X, finite) * tree.max_n_classes + y
    size = tree.node_count * tree.max_n_classes
    counts = np.bincount(cell, weights=weight, minlength=size).astype(np.float64)
    # adds the counts of leaves to those of their ancestors
    counts = sum_of_leaves(counts.reshape(-1, tree.max_n_classes), tree)
    counts.flags.writeable = False
    return counts


def check_limits(confidence_level, method, methods):
    """Raise ValueError unless the arguments of confidence limits are valid."""
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(
            f"confidence_level must be in (0, 1). Got {confidence_level!r}."
        )
    if not (isinstance(method, str) and method in methods):
        raise InvalidParameterError(
            f"method must be one of {list(methods)}. Got {method!r}."
        )


def credible_limits(counts, n, confidence_level):
    """Limits of class probabilities from a Dirichlet posterior."""
    n_classes = counts.shape[1]
    if n_classes == 1:
        return np.ones((len(counts), 1, 2))
    prior = 1.0 / n_classes
    # counts may exceed n by rounding
    a, b = counts + prior, np.maximum(n - counts, 0.0) + (1.0 - prior)
    tail = (1.0 - confidence_level) / 2.0
    # `beta_lower`: the quantile of a beta distribution at a tail probability
    limits = np.stack([beta_lower(a, b, tail), beta_lower(a, b, 1.0 - tail)], axis=2)
    limits[..., 0][counts == 0.0] = 0.0
    limits[..., 1][counts == n] = 1.0
    return limits


def limits_of_sequence(counts, class_weight, alpha):
    """Limits of reweighted class probabilities that hold at all times simultaneously.

    The proportion of class k is ``w_k p_k / sum(w_j p_j)``. For two classes the limits
    are the transformed limits of p_k. For more classes they are the extreme values
    within the limits of p_k, if all other classes have the largest, or the smallest, of
    their weights. The last axis is (lower, upper).
    """
    n_classes = counts.shape[1]
    if n_classes == 1:
        return np.ones((len(counts), 1, 2))
    limits = confidence_sequence(counts, alpha)
    if (class_weight == class_weight[0]).all():
        return limits
    for k, weight in enumerate(class_weight):
        others = np.delete(class_weight, k)
        for side, other in enumerate((others.max(), others.min())):
            part = weight * limits[:, k, side]
            whole = part + other * (1.0 - limits[:, k, side])
            # a class of weight 0 is never predicted
            limits[:, k, side] = np.divide(
                part, whole, out=np.zeros(len(part)), where=whole > 0.0
            )
    return limits
