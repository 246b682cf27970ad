"""The context of a query: what a strategy may ask about a pool."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import gen_batches

from ..._compat import _safe_indexing
from ...utils._types import Estimator, Floats, Indices
from .._estimators import final_step
from .._labels import in_chunks, n_rows_of, take


def _read_only(array):
    # The learner goes on with its own array, whatever a strategy does.
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


class QueryContext:
    """A pool at the time of a query, or of the look of a stopping rule before it.

    Attributes that cost something (`proba`, `votes`, `leaf_ids`, `leaf_counts`,
    `density`, `dist_to_labeled`) are made when a strategy first asks for them. The
    learner makes it; strategies and rules read it.

    Parameters
    ----------
    pool : object
        Rows of the pool, and where they lie.
    estimator : classifier or None
        Fitted to the labels so far; None before there are two classes.
    codes : ndarray of shape (n_rows,), intp
        Place of each row's label in `classes`; -1 without one.
    labeled : ndarray of shape (n_labeled,), intp, or callable
        Rows that have a label, in the order in which they were learnt, or a function
        that gives them.
    classes : ndarray of shape (n_classes,)
        Labels seen so far.
    candidates : ndarray of shape (n_candidates,), intp, or callable
        Rows of the pool that may be asked for, ascending, or a function that gives
        them.
    key : tuple of int
        What random numbers are drawn by.

    Attributes
    ----------
    X : array-like, sparse or frame
        The pool.
    costs : ndarray of shape (n_candidates,) or None
        Price of each candidate's label.
    strategy : SamplingStrategy
        What the learner was told to ask for.
    audit : tuple of int
        Wrong predictions among, and number of, the rows drawn for an audit.
    index : RowIndex or None
        Which leaf of a single tree the candidates lie in, other rows being taken out;
        None if the tree does not keep track of them.
    grows : bool
        Whether the classifier goes on with `partial_fit`, so that splits stay, and is
        not fitted anew at each label.
    kept : dict
        What a strategy wants to find again at the next query of the same tree. Queries
        must not depend on whether it is there.
    memory : dict
        The same for as long as answers are only added to.
    answers : list
        What has been taught since `fit`, in order: batches with ``rows``, ``known``
        (whether a row was not skipped) and ``labels`` of those.

    Examples
    --------
    A strategy that prefers uncertain rows far from what is known:

    >>> from skconftree.active.pool import SamplingStrategy
    >>> class Explorer(SamplingStrategy):
    ...     needs = ("predict_proba",)
    ...     def score(self, context):
    ...         return (1 - context.proba.max(axis=1)) * context.dist_to_labeled
    """

    def __init__(
        self,
        pool: object,
        estimator: Estimator | None,
        codes: Indices,
        labeled: Indices | Callable[..., Any],
        classes: Floats,
        candidates: Indices | Callable[..., Any],
        key: tuple[int, ...],
    ) -> None:
        self._pool = pool
        self.X = pool.X
        self.estimator = estimator
        self.codes = _read_only(codes)
        self._given = {"labeled": labeled, "candidates": candidates}
        self.classes = _read_only(classes)
        self.costs = None
        self.strategy = None
        self.audit = 0, 0
        self.index = None
        self.grows = False
        self._pool_proba = None  # gives those of all rows, where they are kept
        self.kept = {}
        self.memory = {}
        self.answers = []
        self._model_after = None
        self.tie_break = "random"
        self._key = key

    @cached_property
    def labeled(self):
        """Rows that have a label, in the order in which they were learnt."""
        return self._read("labeled")

    @cached_property
    def candidates(self):
        """Rows of the pool that may be asked for, ascending."""
        return self._read("candidates")

    def _read(self, name):
        given = self._given[name]
        return given() if callable(given) else given

    @property
    def n_labeled(self) -> int:
        """How many rows have a label."""
        return len(self.labeled)

    @cached_property
    def n_candidates(self):
        """How many rows may be asked for."""
        return len(self.candidates)

    def draw_key(self, use: int) -> int:
        """Key of draws for one use, as `rng` has; a whole number below 2**63.

        Parameters
        ----------
        use : int

        Returns
        -------
        int
        """
        seed, n_taught = self._key
        return ((seed << 32) ^ (n_taught & 0xFFFFFFFF)) ^ (use << 16)

    @property
    def n_classes(self) -> int:
        """Number of classes seen so far."""
        return len(self.classes)

    def rng(self, use: int) -> np.random.Generator:
        """Random numbers for one use, the same at each query until something is taught.

        Parameters
        ----------
        use : int
            Tells the draws of one purpose from those of others.

        Returns
        -------
        numpy.random.Generator
        """
        return np.random.default_rng([*self._key, use])

    def model_after(self, n_answers: int) -> Any:
        """Say what the classifier was after the first answers.

        Parameters
        ----------
        n_answers : int
            At most the length of `answers`; the classifier is fitted again if it is
            less.

        Returns
        -------
        classifier or None
            None if there were no two classes.
        """
        if n_answers == len(self.answers):
            return self.estimator
        return self._model_after(n_answers)

    @cached_property
    def proba(self):
        """Class probabilities of the candidates, (n_candidates, n_classes)."""
        if self._pool_proba is not None:
            return self._pool_proba().take(self.candidates, axis=0)
        final, seen = final_step(self.estimator)
        is_tree = self.tie_break == "leaf" and hasattr(final, "apply")
        if not is_tree or final is self.estimator:
            return in_chunks(self.X, self.candidates, self.estimator.predict_proba)
        # what comes before a tree takes longer than the tree: once for both
        leaves = []

        def ask(X):
            X = seen(X)
            leaves.append(final.apply(X))
            return final.predict_proba(X)

        proba = in_chunks(self.X, self.candidates, ask)
        vars(self)["leaf_ids"] = np.concatenate(leaves).astype(np.intp)
        return proba

    @cached_property
    def votes(self):
        """Share of the committee's members for each class, as `proba`."""
        final, seen = final_step(self.estimator)
        members = np.ravel(final.estimators_)
        classes = {label: i for i, label in enumerate(final.classes_.tolist())}

        def count(X):
            X = seen(X)
            out = np.zeros((X.shape[0], len(classes)))
            rows = np.arange(len(out))
            for member in members:
                voted = member.predict(X)
                if np.array_equal(member.classes_, final.classes_):
                    index = np.searchsorted(final.classes_, voted)
                else:  # scikit-learn's forests train their trees on class numbers
                    index = voted.astype(np.intp)
                out[rows, index] += 1.0
            return out / len(members)

        return in_chunks(self.X, self.candidates, count)

    @cached_property
    def leaf_ids(self):
        """Leaf of each candidate in a single tree, (n_candidates,)."""
        if self.index is not None:
            return self.pool_leaves[self.candidates]
        return self._leaves_of(self.candidates)

    @cached_property
    def pool_leaves(self):
        """Leaf of each row of the pool in a single tree, (n_rows,)."""
        if self.index is not None:
            return self.index.apply()
        return self._leaves_of(np.arange(len(self.codes)))

    def _leaves_of(self, rows):
        final, seen = final_step(self.estimator)
        leaves = in_chunks(self.X, rows, lambda X: final.apply(seen(X)))
        return leaves.astype(np.intp)

    @cached_property
    def leaf_counts(self):
        """Labels of each class in each node of a single tree, (n_nodes, n_classes).

        By the leaf protocol, if the tree has `tree_.counts`; else labels are counted.
        """
        final, _ = final_step(self.estimator)
        if self.index is not None and getattr(final, "is_categorical_", 0) is None:
            return final.tree_.leaf_counts()  # rows lie in leaves only
        counts = getattr(final.tree_, "counts", None)
        if counts is not None:
            return np.asarray(counts)
        out = np.zeros((final.tree_.node_count, self.n_classes))
        if not self.n_labeled:
            return out
        leaves = self._leaves_of(self.labeled)
        np.add.at(out, (leaves, self.codes[self.labeled]), 1.0)
        return out

    @cached_property
    def leaf_sizes(self):
        """Candidates in each node of a single tree, (n_nodes,)."""
        if self.index is not None:
            return self.index.counts()
        return np.bincount(self.leaf_ids, minlength=len(self.leaf_counts))

    @cached_property
    def density(self):
        """Mean squared distance of each candidate to its ten nearest rows of the pool.

        Small is dense.
        """
        return self.density_of(10)

    def density_of(self, n_neighbors: int) -> NDArray[np.float32]:
        """`density` with another number of nearest rows.

        Parameters
        ----------
        n_neighbors : int

        Returns
        -------
        ndarray of shape (n_candidates,), float32
        """
        return self._pool.embedding.density(n_neighbors)[self.candidates]

    @cached_property
    def dist_to_labeled(self):
        """Squared distance of each candidate to the nearest row with a label.

        Infinite if there is none.
        """
        nearest = self._pool.embedding.nearest_labeled(self.labeled)
        return nearest[self.candidates]

    def with_labeled(self, place: int) -> Self:
        """The same candidates, one of which counts as labelled for distances.

        So rows of a batch keep away from those that were chosen before them.

        Parameters
        ----------
        place : int
            Among the candidates.

        Returns
        -------
        QueryContext
        """
        out = copy(self)
        new = self.squared_distances(self.candidates[place])
        vars(out)["dist_to_labeled"] = np.minimum(self.dist_to_labeled, new)
        return out

    @property
    def points(self) -> NDArray[Any]:
        """Coordinates of all rows of the pool, as distances see them."""
        return self._pool.embedding.points

    def squared_distances(self, row: int) -> NDArray[np.float32]:
        """Squared distances of the candidates to a row of the pool.

        Parameters
        ----------
        row : int
            Place in the pool.

        Returns
        -------
        ndarray of shape (n_candidates,), float32
        """
        return self._pool.embedding.squared_distances(row, self.candidates)

    def take(self, rows: ArrayLike) -> None:
        """Take rows of the pool.

        Parameters
        ----------
        rows : array-like of int
            Places in the pool.

        Returns
        -------
        array-like, sparse or frame
        """
        return take(self.X, rows)


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
        """Squared distances to one row, whichever `rows` are given."""
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
            # categories have few words and come again
            n_words = sum(len(one.split()) for one in texts)
            if n_words >= WORDS * len(texts) and len(set(texts)) > CATEGORIES:
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
