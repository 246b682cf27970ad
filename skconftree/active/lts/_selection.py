"""Selection of rows by Learning To Sample: groups, scores and diversity."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state, gen_batches

from ..._compat import HasMethods, Interval, validate_parameters
from ...tables._labels import is_unlabeled
from ...utils._types import Floats, Indices, Seed
from .._labels import CHUNK
from .._strategy import FOR_ROWS, SamplingStrategy
from ._boosting import ENOUGH, FOLDS, assign_folds, fit_sampler, predict_errors


def cell_groups(X, n_cells, max_dimensions=8):
    """Group rows by cells of a grid over standardized or principal components."""
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
        place = (points[:, j] - low[j]) * (bins / width[j])
        cells *= bins
        cells += np.clip(place.astype(np.int64), 0, bins - 1)
    return np.unique(cells, return_inverse=True)[1].reshape(-1)


def _axes(X, max_dimensions):
    # What centred rows are multiplied by to become coordinates.
    mean = X.mean(axis=0, dtype=np.float64)
    d = X.shape[1]
    covariance = np.zeros((d, d))
    for part in gen_batches(len(X), CHUNK):
        centred = X[part] - mean
        covariance += centred.T @ centred
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


def find_groups(groups, X, n_cells, max_dimensions, seed):
    """Groups of rows from None, labels of groups, or a clusterer."""
    if groups is None:
        return cell_groups(X, n_cells, max_dimensions)
    name = "groups"
    if hasattr(groups, "fit_predict"):
        name = f"{type(groups).__name__}.fit_predict"
        clusterer = clone(groups)
        if clusterer.get_params().get("random_state", 0) is None:
            clusterer.set_params(random_state=seed)
        groups = clusterer.fit_predict(X)
    groups = np.asarray(groups)
    if groups.shape != (len(X),):
        raise ValueError(
            f"{name} must give one group for each of the {len(X)} rows. Got shape "
            f"{groups.shape}."
        )
    if is_unlabeled(groups, None).any():
        raise ValueError(f"{name} must give every row a group. Got None or NaN.")
    return np.unique(groups, return_inverse=True)[1].reshape(-1)


def lts_select(
    scores: ArrayLike,
    groups: ArrayLike,
    k: int,
    alpha: float = 1.0,
    *,
    random_state: Seed = None,
) -> Indices:
    r"""Choose rows with large scores from many groups.

    The set of k rows with the largest
    :math:`\sum_i s_i + \alpha \sum_j \sqrt{n_j}`, where :math:`s_i` are the scores of
    the chosen rows and :math:`n_j` their number in group j. It is found one by one: the
    next row of a group from which m have been taken adds its score and
    :math:`\alpha (\sqrt{m + 1} - \sqrt{m})`. This is exact, as both fall from row to
    row of a group.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
    groups : array-like of shape (n_rows,)
        Group of each row, of any kind that can be sorted.
    k : int
        Rows to choose.
    alpha : float, default=1.0
        Weight of diversity: 0 takes the largest scores, infinity as many groups as
        possible and among these choices the one with the largest scores.
    random_state : int, RandomState instance or None, default=None
        Chooses among rows of equal worth.

    Returns
    -------
    ndarray of shape (k,), intp
        Places of the chosen rows, in the order in which they are chosen.

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
            "scores and groups must be of one dimension and as long as each other. Got "
            f"shapes {scores.shape} and {groups.shape}."
        )
    if not 0 <= k <= len(scores):
        raise ValueError(f"k must be from 0 to the {len(scores)} rows. Got {k}.")
    if not alpha >= 0:
        raise ValueError(f"alpha must be 0 or more. Got {alpha}.")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite.")
    codes = np.unique(groups, return_inverse=True)[1].reshape(-1)
    return choose(scores, codes, k, alpha, check_random_state(random_state))[0]


def choose(scores, codes, k, alpha, rng):
    """`lts_select` for group codes, and what each row adds to the objective."""
    if k == 0:
        return np.empty(0, dtype=np.intp), np.empty(0)
    order = rng.permutation(len(scores))  # rows of equal worth come in any order
    few = np.min_scalar_type(int(codes.max()))  # few bits are sorted in linear time
    order = order[np.argsort(codes.astype(few)[order], kind="stable")]
    sizes = np.bincount(codes)
    ends = np.cumsum(sizes)
    # no more than the k best rows of a group can be chosen
    parts = [order[np.repeat(sizes <= k, sizes)]]
    for j in np.flatnonzero(sizes > k):
        rows = order[ends[j] - sizes[j] : ends[j]]
        parts.append(rows[np.argpartition(-scores[rows], k - 1)[:k]])
    rows = np.concatenate(parts)
    rows = rows[np.lexsort((-scores[rows], codes[rows]))]
    begins = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    taken = np.arange(len(rows)) - np.repeat(begins, np.diff([*begins, len(rows)]))
    worth = scores[rows]
    chance = rng.random_sample(len(rows))
    if alpha == np.inf:
        first = np.lexsort((chance, -worth, taken))[:k]
    else:
        worth = worth + alpha * (np.sqrt(taken + 1.0) - np.sqrt(taken))
        first = np.lexsort((chance, -worth))[:k]
    return rows[first], worth[first]


class LTSSampling(SamplingStrategy):
    """Ask where the classifier is expected to be wrong, in many groups of rows.

    A *sampling model* is fitted to how wrong the classifier is about the labels so far:
    one minus the probability of the true class, out of fold from 20 labels on, which
    takes five more fits of the classifier at each query. A batch maximises the sum of
    the errors that it expects and `alpha` times the sum over groups of the square root
    of the rows chosen from each (:func:`~skconftree.active.lts.lts_select`). Before
    there is a model a batch comes from as many groups as possible.

    Made for batches: a single row is asked for by its expected error alone.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of diversity, in [0, inf].
    groups : array-like of shape (n_rows,), clusterer or None, default=None
        Groups of the pool's rows: one for each row of the pool, or what ``fit_predict``
        of a clusterer gives, at each query. None: cells of a grid on the pool's
        coordinates, at least as many as rows are asked for.
    max_dimensions : int, default=8
        Of that grid; more coordinates become principal components.
    sampler : regressor, default=None
        The sampling model; it must take a `sample_weight`. None: a
        ``GradientBoostingRegressor`` of 20 trees of depth 3.

    See Also
    --------
    LearningToSampleClassifier : The whole method, with its boosted trees.

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

    needs = ("predict_proba",)
    takes_costs = False
    without_model = True

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="both")],
        "groups": ["array-like", HasMethods(["fit_predict"]), None],
        "max_dimensions": [Interval(Integral, 1, 16, closed="both")],
        "sampler": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        groups: Any = None,
        max_dimensions: int = 8,
        sampler: Any = None,
    ) -> None:
        self.alpha = alpha
        self.groups = groups
        self.max_dimensions = max_dimensions
        self.sampler = sampler

    def score(self, context: Any) -> Floats:
        self._check(context)
        if context.estimator is None:
            return np.zeros(len(context.candidates))
        labeled = np.sort(context.labeled)
        codes = context.codes[labeled]
        rng = _old_rng(context)
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
        rng = _old_rng(context)
        seed = rng.randint(2**31 - 1)
        groups = find_groups(self.groups, context.points, k, self.max_dimensions, seed)[
            context.candidates
        ]
        alpha = np.inf if context.estimator is None else self.alpha
        return choose(scores, groups, k, alpha, rng)

    def _check(self, context):
        validate_parameters(self)
        if context.costs is not None:
            raise ValueError(f"{type(self).__name__} does not take costs.")


def _old_rng(context):
    # scikit-learn's kind of generator, drawn from the context's
    return np.random.RandomState(context.rng(FOR_ROWS).integers(2**31))


def _held_out_proba(context, labeled, codes, rng):
    # Class probabilities of labelled rows, (n_labeled, n_classes).
    out = np.zeros((len(labeled), context.n_classes))
    if len(labeled) < ENOUGH:
        _fill(out, slice(None), context.estimator, context, labeled)
        return out
    folds = assign_folds(codes, codes[:0], rng)
    for fold in range(FOLDS):
        left_out = np.flatnonzero(folds == fold)
        kept = folds != fold
        present = np.unique(codes[kept])
        if len(present) < 2:
            out[left_out, present] = 1.0
            continue
        model = clone(context.estimator)
        model.fit(context.take(labeled[kept]), context.classes[codes[kept]])
        _fill(out, left_out, model, context, labeled[left_out])
    return out


def _fill(out, places, model, context, rows):
    if len(rows):
        known = np.searchsorted(context.classes, model.classes_)
        out[np.arange(len(out))[places][:, None], known] = model.predict_proba(
            context.take(rows)
        )
