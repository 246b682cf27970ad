"""Groups of a pool's rows, and the choice that weighs scores against diversity."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state, gen_batches

from ...tables._missing_labels import is_unlabeled
from ...utils._types import Indices, Seed
from .._rows import CHUNK


def cell_groups(X, n_cells, max_dimensions=8):
    """Group rows by the cell of a grid that they lie in; no group is empty.

    Columns are standardised, and reduced to principal components if they are more than
    `max_dimensions`; each of d axes is cut into ``ceil(n_cells ** (1 / d))`` bins of
    equal width.
    """
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
    """Groups of rows from what a user gives: nothing, labels of groups, a clusterer.

    The seed is for a clusterer whose `random_state` is None.
    """
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
    """`lts_select` for groups numbered from 0, and what rows add to the objective.

    That is the score alone if `alpha` is infinite.
    """
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
