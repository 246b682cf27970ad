"""Selection of rows by Learning To Sample (LTS): groups, scores and diversity.

The sampling model is a regression of the errors of the classifier. Random draws for
selected rows have the key FOR_ROWS. The *pool* is the table of unlabeled and labeled
rows; their *coordinates* are standardized and encoded columns. The *context* is the
state of the learner: coordinates (`points`), unlabeled rows that may be queried
(`candidates`), classifier and labels. *Codes* are indices of classes or of groups.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.utils import check_random_state, gen_batches

from ..._compat import HasMethods, Interval, validate_parameters
from ...tables._labels import is_unlabeled
from ...utils._types import Floats, Indices, Seed
from .._labels import CHUNK
from .._strategy import FOR_ROWS, SamplingStrategy
from ._boosting import (
    FOLDS,
    MIN_OUT_OF_FOLD_LABELS,
    assign_folds,
    fit_sampler,
    predict_errors,
)


def cell_groups(X, n_cells, max_dimensions=8):
    """Group rows by cells of a grid on standardized columns or principal components."""
    axes, mean = _axes(X, max_dimensions)
    d = axes.shape[1]
    bins = 1
    while bins**d < n_cells:
        bins += 1
    if bins == 1:
        return np.zeros(len(X), dtype=np.intp)
    points = np.empty((len(X), d), dtype=np.float32)
    for part in gen_batches(len(X), CHUNK):
        points[part] = (X[part] - mean) @ axes
    low, high = points.min(axis=0), points.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    cells = np.zeros(len(X), dtype=np.int64)
    for j in range(d):
        cell = (points[:, j] - low[j]) * (bins / width[j])
        cells *= bins
        cells += np.clip(cell.astype(np.int64), 0, bins - 1)
    return np.unique(cells, return_inverse=True)[1].reshape(-1)


def _axes(X, max_dimensions):
    # Matrix that maps centered rows to coordinates, and the mean.
    mean = X.mean(axis=0, dtype=np.float64)
    d = X.shape[1]
    covariance = np.zeros((d, d))
    for part in gen_batches(len(X), CHUNK):
        centered = X[part] - mean
        covariance += centered.T @ centered
    covariance /= len(X)
    spread = np.sqrt(covariance.diagonal())
    varies = np.flatnonzero(spread > 1e-12 * np.maximum(1.0, np.abs(mean)))
    axes = np.zeros((d, len(varies)))
    axes[varies, np.arange(len(varies))] = 1.0 / spread[varies]
    if len(varies) == 0:
        return np.zeros((d, 1)), mean
    if len(varies) > max_dimensions:
        vectors = np.linalg.eigh(axes.T @ covariance @ axes)[1]
        axes = axes @ vectors[:, ::-1][:, :max_dimensions]
    return axes, mean


def _components(X, n_components, seed):
    # Coordinates of sparse rows.
    n_components = min(n_components, X.shape[1] - 1)
    if n_components < 1:
        return X.toarray()
    with np.errstate(all="ignore"):  # explained variance, if all rows are equal
        return TruncatedSVD(n_components, random_state=seed).fit_transform(X)


def find_groups(groups, X, n_cells, max_dimensions, seed):
    """Groups of rows from None, labels of groups, or a clusterer."""
    if groups is None:
        if issparse(X):
            X = _components(X, max_dimensions, seed)
        return cell_groups(X, n_cells, max_dimensions)
    name = "groups"
    if hasattr(groups, "fit_predict"):
        name = f"{type(groups).__name__}.fit_predict"
        clusterer = clone(groups)
        # the default 0 is not None: without this parameter, there is no seed to set
        if clusterer.get_params().get("random_state", 0) is None:
            clusterer.set_params(random_state=seed)
        groups = clusterer.fit_predict(X)
    groups = np.asarray(groups)
    if groups.shape != (X.shape[0],):
        raise ValueError(
            f"{name} must return one group for each of the {X.shape[0]} rows. Got "
            f"shape {groups.shape}."
        )
    if is_unlabeled(groups, None).any():  # the value None, or NaN
        raise ValueError(
            f"{name} returned None or NaN for some rows. It must return a group for "
            "each row."
        )
    return np.unique(groups, return_inverse=True)[1].reshape(-1)


def lts_select(
    scores: ArrayLike,
    groups: ArrayLike,
    k: int,
    alpha: float = 1.0,
    *,
    random_state: Seed = None,
) -> Indices:
    r"""Select rows with large scores from many groups.

    The function returns the set of k rows that maximizes
    :math:`\sum_i s_i + \alpha \sum_j \sqrt{n_j}`, where :math:`s_i` are the scores of
    the selected rows and :math:`n_j` their number in group j. The greedy algorithm is
    exact: the next row of a group with m selected rows adds its score and
    :math:`\alpha (\sqrt{m + 1} - \sqrt{m})`, and both decrease within a group.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Score of each row.
    groups : array-like of shape (n_rows,)
        Group of each row, of any sortable type.
    k : int
        Number of rows to select.
    alpha : float, default=1.0
        Weight of diversity: 0 selects the largest scores, infinity as many groups as
        possible, and the largest scores among these selections.
    random_state : int, RandomState instance or None, default=None
        Seed of the random order of ties.

    Returns
    -------
    ndarray of shape (k,), intp
        Indices of the selected rows, in the order of selection.

    References
    ----------
    .. [1] J. Shao, Q. Wang and F. Liu (2019), "Learning to sample: an active learning
       framework", ICDM.

    Examples
    --------
    >>> from skconftree.active.lts import lts_select
    >>> scores, groups = [0.9, 0.8, 0.3, 0.1], ["a", "a", "b", "c"]
    >>> lts_select(scores, groups, 2, alpha=0.5).tolist()
    [0, 1]
    >>> lts_select(scores, groups, 2, alpha=1.0).tolist()
    [0, 2]
    """
    scores = np.asarray(scores, dtype=np.float64)
    groups = np.asarray(groups)
    if scores.ndim != 1 or groups.shape != scores.shape:
        raise ValueError(
            "`scores` and `groups` must be 1d arrays of the same length. Got shapes "
            f"{scores.shape} and {groups.shape}."
        )
    if not 0 <= k <= len(scores):
        raise ValueError(f"k must be from 0 to the {len(scores)} rows. Got {k}.")
    if not alpha >= 0:
        raise ValueError(f"alpha must be 0 or more. Got {alpha}.")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite, but some are NaN or infinite.")
    codes = np.unique(groups, return_inverse=True)[1].reshape(-1)
    return choose(scores, codes, k, alpha, check_random_state(random_state))[0]


def choose(scores, codes, k, alpha, rng):
    """`lts_select` for group codes; also returns each row's gain of the objective."""
    if k == 0:
        return np.empty(0, dtype=np.intp), np.empty(0)
    order = rng.permutation(len(scores))  # random order of ties
    code_type = np.min_scalar_type(int(codes.max()))  # for radix sort
    order = order[np.argsort(codes.astype(code_type)[order], kind="stable")]
    sizes = np.bincount(codes)
    ends = np.cumsum(sizes)
    # at most the k best rows of a group can be selected
    parts = [order[np.repeat(sizes <= k, sizes)]]
    for j in np.flatnonzero(sizes > k):
        rows = order[ends[j] - sizes[j] : ends[j]]
        parts.append(rows[np.argpartition(-scores[rows], k - 1)[:k]])
    rows = np.concatenate(parts)
    rows = rows[np.lexsort((-scores[rows], codes[rows]))]
    begins = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    n_before = np.arange(len(rows)) - np.repeat(begins, np.diff([*begins, len(rows)]))
    objective = scores[rows]
    ties = rng.random_sample(len(rows))
    if alpha == np.inf:
        selected = np.lexsort((ties, -objective, n_before))[:k]
    else:
        objective = objective + alpha * (np.sqrt(n_before + 1.0) - np.sqrt(n_before))
        selected = np.lexsort((ties, -objective))[:k]
    return rows[selected], objective[selected]


@dataclass(eq=False, repr=False)
class LTSSampling(SamplingStrategy):
    """Query strategy by expected error and diversity (Learning To Sample).

    A *sampling model* is fitted to the errors of the classifier on the labels so far.
    The error is one minus the predicted probability of the true class. From 20 labels
    on, predictions are out-of-fold, which needs five more fits of the classifier per
    query. A batch maximizes the sum of the expected errors plus `alpha` times the sum
    over groups of the square root of the number of rows selected from each
    (:func:`~skconftree.active.lts.lts_select`). Before there is a model, a batch is
    selected from as many groups as possible.

    The strategy is designed for batches: a single row is selected by its expected error
    alone.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of diversity, in [0, inf]. Larger values select from more groups.
    groups : array-like of shape (n_rows,), clusterer or None, default=None
        Group of each row of the pool, or a clusterer whose ``fit_predict`` returns them
        at each query. None: cells of a grid on the coordinates of the pool, at least as
        many as rows are queried.
    max_dimensions : int, default=8
        Maximum number of dimensions of the grid; if there are more coordinates, their
        principal components are used.
    sampler : regressor, default=None
        Sampling model; it must accept `sample_weight`. None: a
        ``GradientBoostingRegressor`` of 20 trees of depth 3.

    See Also
    --------
    LearningToSampleClassifier : The complete method, with its boosted trees.

    References
    ----------
    .. [1] J. Shao, Q. Wang and F. Liu (2019), "Learning to sample: an active learning
       framework", ICDM.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, LTSSampling
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(GaussianNB(), strategy=LTSSampling(), random_state=0)
    >>> learner = learner.fit(X)
    >>> for _ in range(4):
    ...     rows = learner.query(10)
    ...     learner = learner.teach(rows, y[rows])
    >>> bool(learner.score(X, y) > 0.9)
    True
    """

    needs = ("predict_proba",)  # method of the classifier
    takes_costs = False  # scores cannot be divided by the costs of labels
    without_model = True  # can select rows before there is a classifier

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="both")],
        "groups": ["array-like", HasMethods(["fit_predict"]), None],
        "max_dimensions": [Interval(Integral, 1, 16, closed="both")],
        "sampler": [HasMethods(["fit", "predict"]), None],
    }

    alpha: float = 1.0
    _: KW_ONLY
    groups: Any = None
    max_dimensions: int = 8
    sampler: Any = None

    def score(self, context: Any) -> Floats:
        self._check(context)
        if context.estimator is None:
            return np.zeros(len(context.candidates))
        labeled = np.sort(context.labeled)
        codes = context.codes[labeled]
        rng = _legacy_rng(context)
        model = fit_sampler(
            self.sampler,
            context.points[labeled],
            codes,
            _held_out_proba(context, labeled, codes, rng),
            rng.randint(2**31 - 1),
        )
        return predict_errors(model, context.points, context.candidates)

    def select(self, context: Any, k: int) -> tuple[Indices, Floats]:
        scores = self.score(context)
        rng = _legacy_rng(context)
        seed = rng.randint(2**31 - 1)
        groups = find_groups(self.groups, context.points, k, self.max_dimensions, seed)[
            context.candidates
        ]
        alpha = np.inf if context.estimator is None else self.alpha
        return choose(scores, groups, k, alpha, rng)

    def _check(self, context):
        validate_parameters(self)
        if context.costs is not None:
            raise ValueError(
                f"{type(self).__name__} does not support costs. Omit them."
            )


def _legacy_rng(context):
    # a RandomState, as scikit-learn uses it, seeded by the context
    return np.random.RandomState(context.rng(FOR_ROWS).integers(2**31))


def _held_out_proba(context, labeled, codes, rng):
    # Held-out class probabilities of labeled rows, (n_labeled, n_classes).
    out = np.zeros((len(labeled), context.n_classes))
    if len(labeled) < MIN_OUT_OF_FOLD_LABELS:
        _fill(out, slice(None), context.estimator, context, labeled)
        return out
    folds = assign_folds(codes, codes[:0], rng)  # codes[:0]: no earlier labels
    for fold in range(FOLDS):
        held_out = np.flatnonzero(folds == fold)
        train = folds != fold
        present = np.unique(codes[train])
        if len(present) < 2:
            out[held_out, present] = 1.0
            continue
        model = clone(context.estimator)
        model.fit(context.take(labeled[train]), context.classes[codes[train]])
        _fill(out, held_out, model, context, labeled[held_out])
    return out


def _fill(out, indices, model, context, rows):
    if len(rows):
        known = np.searchsorted(context.classes, model.classes_)
        out[np.arange(len(out))[indices][:, None], known] = model.predict_proba(
            context.take(rows)
        )
