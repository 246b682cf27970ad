"""Rows that might have been in a table: MUNGE (Bucila et al., 2006)."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from .._compat import _safe_indexing
from ._frames import library_of

N_NEIGHBORS = 5
SHARE_CHANGED = 0.5  # of the values of a row


def can_make_up(X):
    """Whether rows like these can be made up: of arrays and of frames of pandas."""
    if library_of(X) is not None:
        return hasattr(X, "iloc")
    return isinstance(X, np.ndarray) and X.ndim == 2


def make_up(X, codes, nominal, n_rows, weight, rng):
    """Make up rows between those of a table and their neighbours.

    A row is drawn by its weight, and one of its nearest neighbours. Half of the values
    become others: a category that of the neighbour, a number one drawn around that of
    the neighbour, as far from it as the two rows are apart. Numbers of a column of
    whole numbers are whole, and none lies outside its column. A value that is missing
    in one of the two rows is the drawn row's.

    `codes` are the values of X with codes of categories, NaN or below 0 where there is
    none. Gives an array or frame like X.
    """
    share = None if weight is None else weight / weight.sum()
    drawn = rng.choice(len(codes), n_rows, p=share)
    near = _neighbours(_places(codes, nominal), drawn, rng)
    known = ~(_is_missing(codes[drawn], nominal) | _is_missing(codes[near], nominal))
    changed = known & (rng.random_sample(known.shape) < SHARE_CHANGED)
    steps = rng.standard_normal(known.shape)
    made, other = _safe_indexing(X, drawn), _safe_indexing(X, near)
    if isinstance(made, np.ndarray):
        for j, changes in enumerate(changed.T):
            one, two = made[:, j], other[:, j]
            if not nominal[j]:
                two = _moved(one, two, steps[:, j], X[:, j])
            made[:, j] = np.where(changes, two, one)
        return made
    columns = {}
    for j, changes in enumerate(changed.T):
        one, two = (part.iloc[:, j].reset_index(drop=True) for part in (made, other))
        if nominal[j]:
            columns[j] = one.mask(changes, two)
        else:
            one, two = _numbers(one), _numbers(two)
            two = _moved(one, two, steps[:, j], _numbers(X.iloc[:, j]))
            columns[j] = np.where(changes, two, one)
    made = type(made)(columns)
    made.columns = X.columns
    return made


def _numbers(column):
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _moved(one, two, steps, column):
    # Numbers around two, as far from it as one is.
    one, two, column = (np.asarray(part, np.float64) for part in (one, two, column))
    value, known = two + steps * np.abs(one - two), column[~np.isnan(column)]
    if not len(known):
        return value
    value = value if np.any(known % 1.0) else np.round(value)
    return np.clip(value, known.min(), known.max())


def _is_missing(codes, nominal):
    return np.isnan(codes) | ((codes < 0.0) & nominal)


def _places(codes, nominal):
    # Where rows lie: numbers in standard deviations, a column for each category. Two
    # categories are as far apart as two numbers by sqrt(2) deviations.
    numbers = codes[:, ~nominal].astype(np.float64)
    missing = np.isnan(numbers)
    n_known = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, numbers).sum(axis=0) / n_known
    numbers = np.where(missing, 0.0, numbers - mean)
    scale = np.sqrt((numbers**2).sum(axis=0) / n_known)
    numbers /= np.where(scale > 0.0, scale, 1.0)
    if not nominal.any():
        return numbers
    parts = [sparse.csr_array(numbers)]
    for j in np.flatnonzero(nominal):
        known = np.flatnonzero(codes[:, j] >= 0.0)
        place = codes[known, j].astype(np.intp)
        shape = len(codes), int(place.max(initial=0)) + 1
        parts.append(sparse.csr_array((np.ones(len(known)), (known, place)), shape))
    return sparse.hstack(parts, format="csr")


def _neighbours(places, drawn, rng):
    # A near neighbour of each drawn row, not itself unless there is no other.
    n = min(N_NEIGHBORS, places.shape[0] - 1)
    if n == 0:
        return drawn
    rows, place = np.unique(drawn, return_inverse=True)
    found = NearestNeighbors(n_neighbors=n + 1).fit(places)
    near = found.kneighbors(places[rows], return_distance=False)
    # A row lies nowhere in particular among its duplicates: take it out where it is, or
    # else the farthest.
    own = near == rows[:, None]
    own[~own.any(axis=1), -1] = True
    near = near[~own].reshape(len(rows), n)
    return near[place, rng.randint(n, size=len(drawn))]
