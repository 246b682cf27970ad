"""Where the rows of a pool lie: what strategies measure distances in."""

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import gen_batches

from ..._compat import _safe_indexing
from .._rows import n_rows_of

REFERENCE = 20000  # rows among which neighbours are searched exactly
SAMPLE = 5000  # reference rows of larger pools
DIMENSIONS = 16  # of coordinates of sparse rows
CELLS = 1 << 24  # distances that are made at once
LARGE = np.float32(1e18)  # above it, differences may be more than 32 bits hold
CATEGORIES = 30  # of a column of strings that become coordinates
WORDS = 3  # on average, of a column of sentences


class Embedding:
    """Coordinates of a pool's rows, and distances between them.

    Numeric columns are standardised, missing values lie at the mean; columns of strings
    or categories become indicators, sentences the main directions of their TF-IDF,
    unless `transform` gives the coordinates. They are made once a pool. Neighbours are
    searched by `neighbors`, as scikit-learn's ``NearestNeighbors`` does it; None:
    exactly up to 20,000 rows, else the distances to 5,000 rows at random stand for
    those to all.
    """

    def __init__(self, X, transform=None, neighbors=None, seed=0):
        self.points = np.ascontiguousarray(
            _coordinates(X) if transform is None else transform(X), dtype=np.float32
        )
        if self.points.ndim != 2 or len(self.points) != n_rows_of(X):
            raise ValueError(
                "embedding must give coordinates of shape (n_rows, n_dimensions). Got "
                f"shape {self.points.shape} for {n_rows_of(X)} rows."
            )
        self.neighbors = neighbors
        self.seed = seed
        self._density = {}
        # squared distance of each row to the nearest labelled one, and these
        self._nearest = None, np.empty(0, dtype=np.intp)

    def squared_distances(self, row, rows=None):
        """Squared distances of rows (all by default) to one row.

        Each is a sum over coordinates in their order, so that it does not depend on
        which other rows are asked about.
        """
        points = self.points if rows is None else self.points[rows]
        out = np.zeros(len(points), dtype=np.float32)
        for j in range(points.shape[1]):
            gap = points[:, j] - self.points[row, j]
            out += gap * gap
        return out

    def nearest_labeled(self, labeled):
        """Squared distance of every row to the nearest of the labelled rows.

        Kept between calls, and changed by the rows that are new: a minimum does not
        depend on the order.
        """
        nearest, known = self._nearest
        new = np.setdiff1d(labeled, known)
        if nearest is None or len(known) + len(new) != len(labeled):
            nearest = np.full(len(self.points), np.inf, dtype=np.float32)
            new = labeled
        for row in new:
            nearest = np.minimum(nearest, self.squared_distances(row))
        self._nearest = nearest, np.array(labeled)
        return nearest

    def density(self, k=10):
        """Mean squared distance of each row to its `k` nearest others."""
        if k not in self._density:
            self._density[k] = self._mean_squared_distance(k)
        return self._density[k]

    def _mean_squared_distance(self, k):
        n = len(self.points)
        k = min(k, n - 1)
        if k < 1:
            return np.zeros(n, dtype=np.float32)
        if self.neighbors is not None:
            search = self.neighbors.fit(self.points)
            found = search.kneighbors(self.points, n_neighbors=k + 1)
            distances = found[0] if isinstance(found, tuple) else found
            distances = np.asarray(distances, dtype=np.float32)[:, 1:]
            return (distances * distances).mean(axis=1)
        reference = self.points
        if n > REFERENCE:
            rng = np.random.default_rng(self.seed)
            reference = self.points[rng.choice(n, SAMPLE, replace=False)]
        out = np.empty(n, dtype=np.float32)
        lengths = np.einsum("ij,ij->i", reference, reference)
        for part in gen_batches(n, max(1, CELLS // len(reference))):
            block = self.points[part]
            squared = lengths - 2.0 * (block @ reference.T)
            squared += np.einsum("ij,ij->i", block, block)[:, None]
            # the nearest is the row itself, or as near as rows of a sample come to it
            nearest = np.partition(squared, k, axis=1)[:, : k + 1]
            nearest.sort(axis=1)
            out[part] = np.maximum(nearest[:, 1:], 0.0).mean(axis=1)
        return out


def _coordinates(X):
    if issparse(X):
        from sklearn.decomposition import TruncatedSVD

        X = X.tocsr()
        most = abs(X).max() if X.nnz else 0.0
        if LARGE < most < np.inf:  # zeros stay zeros: one scale for all columns
            X = X / most
        size = min(DIMENSIONS, X.shape[1] - 1)
        if size < 1:
            return X.toarray()
        with np.errstate(all="ignore"):  # shares of variance, if all rows are equal
            return TruncatedSVD(size, random_state=0).fit_transform(X)
    if hasattr(X, "columns"):
        columns = [_column(X, j) for j in range(X.shape[1])]
    else:
        X = np.asarray(X)
        if X.ndim == 1:
            return _of_texts(X.tolist())
        if X.dtype.kind in "biuf":
            return _standardised(X.reshape(len(X), -1))
        columns = list(X.T)
    numbers, words, parts = [], [], []
    for column in columns:
        try:
            numbers.append(_narrow(column))
        except (TypeError, ValueError):
            texts = [str(one) for one in column]
            if _are_sentences(texts):
                parts.append(_of_texts(texts))
            else:
                words.append(texts)
    if numbers:
        parts.append(_standardised(np.column_stack(numbers)))
    if words:
        encoder = OneHotEncoder(
            max_categories=CATEGORIES, sparse_output=False, dtype=np.float32
        )
        table = np.array(words, dtype=object).T
        parts.append(encoder.fit_transform(table) / np.sqrt(2.0))
    return np.hstack(parts)


def _are_sentences(texts):
    # Categories have few words and come again.
    n_words = sum(len(one.split()) for one in texts)
    return n_words >= WORDS * len(texts) and len(set(texts)) > CATEGORIES


def _of_texts(texts):
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [one if isinstance(one, str) else "" for one in texts]
    try:
        return _coordinates(TfidfVectorizer(dtype=np.float32).fit_transform(texts))
    except ValueError:  # no words at all
        return np.zeros((len(texts), 1))


def _column(X, j):
    column = _safe_indexing(X, j, axis=1)
    if str(getattr(column, "dtype", None)) == "category":
        column = column.astype(str)  # of numbers too
    return np.asarray(column)


def _narrow(X):
    with np.errstate(over="ignore"):  # which makes them infinite
        return np.array(X, dtype=np.float32)


def _standardised(X):
    X = _narrow(X)
    X[~np.isfinite(X)] = np.nan
    X[:, np.isnan(X).all(axis=0)] = 0.0  # such columns have no mean
    most = np.maximum(np.nanmax(X, axis=0), -np.nanmin(X, axis=0))
    X[:, most > LARGE] /= LARGE
    with np.errstate(all="ignore"):  # of a sum that it tries, and of spreads near 0
        scaled = StandardScaler(copy=False).fit_transform(X)
    return np.nan_to_num(scaled, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
