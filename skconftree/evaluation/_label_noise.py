"""Estimation of label noise, and ranking of labels that are probably wrong."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import check_consistent_length, check_random_state, check_scalar
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from ..tables._labels import exact_labels
from ..utils._codec import class_of
from ..utils._types import Estimator, Floats, Indices, LabelsLike, Seed, TableLike

# Default of `rank_label_issues`. It is imported when it is needed, because this package
# must not depend on that of the forests.
FOREST = "skconftree.ConfidenceForestClassifier"
N_TREES = 250
MIN_WEIGHT = 0.3  # in the second forest, of a row whose label the first contradicts


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
    rank_label_issues : Ranks the labels that are probably wrong.
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
    _, labels = _encoded(X, y)
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


def _encoded(X, y):
    # Classes and the class index of each label.
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
    return classes, labels


class LabelIssues(NamedTuple):
    """Rows ordered by how strongly the data contradict their labels.

    ``pandas.DataFrame(issues._asdict())`` is a table of them.

    Parameters
    ----------
    row : ndarray of shape (n_samples,), intp
        Row indices, from the most to the least suspicious label.
    label : ndarray of shape (n_samples,)
        Given labels of these rows.
    suggested : ndarray of shape (n_samples,)
        For each of them the most probable of the other labels.
    score : ndarray of shape (n_samples,)
        Out-of-bag probability that the given label is wrong, in decreasing order. It is
        not calibrated.

    See Also
    --------
    rank_label_issues : Computes them.

    Examples
    --------
    >>> from skconftree.evaluation import LabelIssues
    >>> LabelIssues([7, 2], ["ham", "spam"], ["spam", "ham"], [0.9, 0.2]).row[0]
    7
    """

    row: Indices
    label: NDArray[Any]
    suggested: NDArray[Any]
    score: Floats


def rank_label_issues(
    X: TableLike,
    y: LabelsLike,
    estimator: Estimator | None = None,
    *,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> LabelIssues:
    """Rank labels by how strongly the data contradict them.

    Use it to find wrong labels: check the first rows of the result until most of them
    turn out to be correct. The label of a row is compared with the probabilities of
    those trees of a forest that were not trained with the row (out-of-bag).

    A second forest is trained with less weight on labels that the first forest
    contradicts, because wrong labels also mislead the predictions for other rows. The
    score is the average of both.

    Parameters
    ----------
    X : array-like, sparse or frame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels, some of which may be wrong.
    estimator : forest, default=None
        Classifier with the parameter `oob_score`, which is cloned, for example a
        :class:`~skconftree.ConfidenceForestClassifier` with `categorical_features`.
        More trees make the order more stable. None: a forest of 250 trees.
    n_jobs : int or None, default=None
        Number of threads that grow the forest. None: as `estimator`.
    random_state : int, RandomState instance or None, default=None
        Seed of the forests. Pass an int to get the same order again.

    Returns
    -------
    LabelIssues
        All rows, from the most to the least suspicious label.

    See Also
    --------
    estimate_label_noise : Estimates how many labels are wrong.

    Notes
    -----
    Let p and q be the out-of-bag probabilities of the label by the first and the second
    forest. The weight of the row in the second forest is ``max(p, 0.3)``, and the score
    is ``1 - (p + q) / 2``. Ranking by 1 - p alone is called self-confidence [1]_.

    References
    ----------
    .. [1] C. G. Northcutt, L. Jiang, I. L. Chuang (2021), "Confident learning:
       Estimating uncertainty in dataset labels", Journal of Artificial Intelligence
       Research 70, 1373-1411.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree.evaluation import rank_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 42]] = 2                                 # two labels are wrong
    >>> issues = rank_label_issues(X, y, random_state=0)
    >>> {3, 42} <= set(issues.row[:3].tolist()), int(issues.suggested[0])
    (True, 0)
    """
    classes, labels = _encoded(X, y)
    if estimator is None:
        estimator = class_of(FOREST)(N_TREES)
    if "oob_score" not in estimator.get_params():
        raise TypeError(
            "estimator must have the parameter oob_score, as a forest has. Got "
            f"{estimator!r}."
        )
    rng = check_random_state(random_state)
    n_jobs = estimator.get_params().get("n_jobs") if n_jobs is None else n_jobs
    rows = np.arange(len(labels))
    proba, weight = np.zeros((len(labels), len(classes))), None
    for _ in range(2):
        forest = clone(estimator)
        forest.set_params(
            oob_score=True, n_jobs=n_jobs, random_state=rng.randint(2**31 - 1)
        )
        forest.fit(X, labels, sample_weight=weight)
        votes = forest.oob_decision_function_.copy()
        votes[np.isnan(votes)] = 1.0  # nothing contradicts the label
        weight = np.maximum(votes[rows, labels], MIN_WEIGHT)
        proba += votes / 2.0
    score = 1.0 - proba[rows, labels]
    proba[rows, labels] = -1.0
    order = np.argsort(-score, kind="stable")
    return LabelIssues(
        *(order, classes[labels[order]]),
        *(classes[proba.argmax(axis=1)[order]], score[order]),
    )
