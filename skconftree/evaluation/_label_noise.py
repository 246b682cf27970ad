"""Estimation of label noise."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.utils import check_consistent_length, check_scalar
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from ..tables._labels import exact_labels
from ..utils._types import Estimator, LabelsLike, TableLike


def estimate_label_noise(
    estimator: Estimator,
    X: TableLike,
    y: LabelsLike,
    cv: Any = 5,
    *,
    share: float = 0.5,
    n_jobs: int | None = None,
) -> float:
    """Estimate the probability that a label is wrong.

    Labels are compared with cross-validated predictions for the rows on which the
    classifier is most confident. If the classes are separable in some region, the
    classifier makes few errors on these rows, so that a label that differs from the
    prediction is probably wrong. Predictions are held-out: a wrong label does not
    influence the prediction for its own row.

    The estimate also counts confident rows whose correct label the classifier does not
    predict. If the classes overlap everywhere, such rows are frequent, and the estimate
    is too high.

    Parameters
    ----------
    estimator : classifier with `predict_proba`
        Classifier that is cross-validated; it is cloned. A forest is usually more
        accurate than a tree.
    X : array-like or frame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels, some of which are wrong. A wrong label is assumed to be each of the
        other classes with the same probability, independent of the row.
    cv : int, cross-validation generator or iterable, default=5
        Folds, as in :func:`sklearn.model_selection.cross_val_predict`; each row must
        be in one test set.
    share : float, default=0.5
        Share of the rows that are used, in (0, 1]: the confident rows, those with the
        largest probability of their predicted class. With a smaller value, the
        classifier makes fewer errors on these rows, but there are fewer of them. With
        1, the result is the cross-validated error rate.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel.

    Returns
    -------
    float
        Share of the confident rows whose label is not the predicted one. It is the
        `noise` of the split rule :class:`~skconftree.bounds.EC2Bound`.

    See Also
    --------
    skconftree.bounds.EC2Bound : Needs the noise as a parameter, because it cannot be
        estimated from the counts of a node.

    Notes
    -----
    Let alpha be the probability that a label is wrong, K the number of classes, and e
    the probability that the prediction for a confident row is not its correct class.
    The expected value is ``alpha + e (1 - alpha K / (K - 1))``. The standard error is
    that of a proportion of ``share * n_samples`` rows.

    References
    ----------
    C. G. Northcutt, L. Jiang, I. L. Chuang (2021), "Confident learning: Estimating
    uncertainty in dataset labels", Journal of Artificial Intelligence Research 70,
    1373-1411. It estimates the noise for each pair of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skconftree import ConfidenceForestClassifier
    >>> from skconftree.evaluation import estimate_label_noise
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wrong = np.random.default_rng(0).choice(len(y), len(y) // 5, replace=False)
    >>> y[wrong] = 1 - y[wrong]
    >>> forest = ConfidenceForestClassifier(20, random_state=0)
    >>> round(estimate_label_noise(forest, X, y), 1)
    0.2
    """
    share = check_scalar(
        share, "share", Real, min_val=0, max_val=1, include_boundaries="right"
    )
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            "estimator must have predict_proba, which determines the confident rows. "
            f"Got {estimator!r}."
        )
    y = exact_labels(y)  # converted to an array without rounding any label
    check_consistent_length(X, y)
    check_classification_targets(y)
    if type_of_target(y) not in ("binary", "multiclass"):
        raise ValueError(f"y must be one-dimensional. Got shape {np.shape(y)}.")
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must contain at least two classes. Got {classes.tolist()!r} only."
        )
    proba = cross_val_predict(
        estimator, X, y, cv=cv, n_jobs=n_jobs, method="predict_proba"
    )
    # Rows that are as confident as the last one of the share have a fractional weight.
    confidence = proba.max(axis=1)
    wrong = proba.argmax(axis=1) != labels
    size = share * len(labels)
    last = np.sort(confidence)[::-1][int(np.ceil(size)) - 1]
    above, tied = confidence > last, confidence == last
    weight = above + tied * ((size - above.sum()) / tied.sum())
    return min(1.0, float(weight @ wrong / size))  # limits rounding errors
