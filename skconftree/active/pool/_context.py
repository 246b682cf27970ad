"""Context of a query: the pool, the classifier and the labels so far.

The *pool* is the table of unlabeled and labeled rows, a *journal* the file of its
labels. `teach` is the method of the learner that adds labels.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import gen_batches

from ..._compat import _safe_indexing
from ...utils._types import Estimator, Floats, Indices
from .._estimators import final_step
from .._labels import in_chunks, n_rows_of, take


def _read_only(array):
    # Protects the learner's array against modification by a strategy.
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


class QueryContext:
    """State of an active learner at the time of a query or of a stopping rule.

    Expensive attributes (`proba`, `votes`, `leaf_ids`, `leaf_counts`, `density`,
    `dist_to_labeled`) are computed on first access. The learner creates the context;
    strategies and rules read it.

    Parameters
    ----------
    pool : object
        Rows of the pool and their coordinates.
    estimator : classifier or None
        Fitted to the labels so far; None before there are two classes.
    codes : ndarray of shape (n_rows,), intp
        Index in `classes` of each row's label; -1 for unlabeled rows.
    labeled : ndarray of shape (n_labeled,), intp, or callable
        Labeled rows, in the order in which they were learned, or a function that
        returns them.
    classes : ndarray of shape (n_classes,)
        Class labels seen so far.
    candidates : ndarray of shape (n_candidates,), intp, or callable
        Rows of the pool that may be queried, ascending, or a function that returns
        them.
    key : tuple of int
        Key of random draws.

    Attributes
    ----------
    X : array-like, sparse or frame
        The pool.
    costs : ndarray of shape (n_candidates,) or None
        Cost of labeling each candidate.
    strategy : SamplingStrategy
        Query strategy of the learner.
    audit : tuple of int
        Number of wrong predictions among the rows of all audits, which are drawn at
        random to estimate the error rate, and number of these rows.
    audits : list of tuple of int
        The same for each query that was an audit, in order.
    index : RowIndex or None
        Index of the leaves of the candidates in a single tree; None if the tree has no
        such index.
    grows : bool
        Whether the classifier is updated by `partial_fit`, so that its splits stay. If
        False, it is refitted after each label.
    kept : dict
        Cache of the strategy for further queries of the same tree. The result of a
        query must not depend on the cache.
    memory : dict
        Cache of the strategy that is cleared when labels are withdrawn.
    answers : list
        Batches of labels since `fit`, in order, with ``rows``, ``known`` (False for a
        row that got no label) and ``labels`` of the known rows.
    growth : list of tuple of int
        For each time that rows were appended to the pool of a journal, the number of
        `answers` and the number of rows of the pool before.
    declared : bool
        Whether `classes` were passed to the learner, so that there are no others.
    decisions : dict
        What a person or a function has decided for stopping rules. Unlike `memory`, it
        is stored with the learner and in its journal.

    Examples
    --------
    A strategy that prefers uncertain rows far from labeled rows:

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
        self._lazy = {"labeled": labeled, "candidates": candidates}
        self.classes = _read_only(classes)
        self.costs = None
        self.strategy = None
        self.audit = 0, 0
        self.audits = []
        self.index = None
        self.grows = False
        self._pool_proba = None  # function that returns probabilities of all rows
        self.kept = {}
        self.memory = {}
        self.answers = []
        self.growth = []
        self.declared = False
        self.decisions = {}
        self.suggestions = None  # `Suggestions` of a cheap annotator
        self.new_estimator = None  # function that returns an unfitted classifier
        self._model_after = None  # function that refits the classifier to early labels
        self._chosen = ()  # rows of a batch that count as labeled for distances
        self.follows_labels = False  # whether a density of unlabeled rows was requested
        self.tie_break = "random"  # "leaf": leaves with many rows per label first
        self._key = key

    @cached_property
    def labeled(self):
        """Labeled rows, in the order in which they were learned."""
        return self._read("labeled")

    @cached_property
    def candidates(self):
        """Rows of the pool that may be queried, ascending."""
        return self._read("candidates")

    def _read(self, name):
        value_or_function = self._lazy[name]
        return value_or_function() if callable(value_or_function) else value_or_function

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows."""
        return len(self.labeled)

    @cached_property
    def n_candidates(self):
        """Number of candidates."""
        return len(self.candidates)

    def draw_key(self, use: int) -> int:
        """Key of random draws for one use, as in `rng`.

        Parameters
        ----------
        use : int
            Number that separates draws for different purposes.

        Returns
        -------
        int
            Key below 2**63.
        """
        seed, n_taught = self._key  # `n_taught`: number of rows passed to `teach`
        return ((seed << 32) ^ (n_taught & 0xFFFFFFFF)) ^ (use << 16)

    @property
    def seed(self) -> int:
        """Seed of the learner."""
        return self._key[0]

    @property
    def n_classes(self) -> int:
        """Number of classes seen so far."""
        return len(self.classes)

    def rng(self, use: int) -> np.random.Generator:
        """Random generator for one use, in the same state until `teach` adds labels.

        Parameters
        ----------
        use : int
            Number that separates draws for different purposes.

        Returns
        -------
        numpy.random.Generator
            A new generator.
        """
        return np.random.default_rng([*self._key, use])

    def model_after(self, n_answers: int) -> Any:
        """Classifier after the first batches of labels.

        Parameters
        ----------
        n_answers : int
            Number of batches, at most the length of `answers`. If it is less, the
            classifier is fitted again.

        Returns
        -------
        classifier or None
            None if there were fewer than two classes.
        """
        if n_answers == len(self.answers):
            return self.estimator
        return self._model_after(n_answers)

    @cached_property
    def proba(self):
        """Class probabilities of the candidates, (n_candidates, n_classes)."""
        if self._pool_proba is not None:
            return self._pool_proba().take(self.candidates, axis=0)
        # last step of a pipeline, and a function that applies the steps before it
        final, transform = final_step(self.estimator)
        is_tree = self.tie_break == "leaf" and hasattr(final, "apply")
        if not is_tree or final is self.estimator:
            return in_chunks(self.X, self.candidates, self.estimator.predict_proba)
        # ties are broken by `leaf_ids`, which are computed too: rows are transformed
        # once, as the steps before a tree take longer than the tree
        leaves = []

        def predict_and_apply(X):
            X = transform(X)
            leaves.append(final.apply(X))
            return final.predict_proba(X)

        proba = in_chunks(self.X, self.candidates, predict_and_apply)
        vars(self)["leaf_ids"] = np.concatenate(leaves).astype(np.intp)
        return proba

    @cached_property
    def votes(self):
        """Vote share of the committee for each class, (n_candidates, n_classes)."""
        final, transform = final_step(self.estimator)
        members = np.ravel(final.estimators_)
        classes = {label: i for i, label in enumerate(final.classes_.tolist())}

        def count(X):
            X = transform(X)
            result = np.zeros((X.shape[0], len(classes)))
            rows = np.arange(len(result))
            for member in members:
                voted = member.predict(X)
                if np.array_equal(member.classes_, final.classes_):
                    index = np.searchsorted(final.classes_, voted)
                else:  # scikit-learn's forests train their trees on class numbers
                    index = voted.astype(np.intp)
                result[rows, index] += 1.0
            return result / len(members)

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
        final, transform = final_step(self.estimator)
        leaves = in_chunks(self.X, rows, lambda X: final.apply(transform(X)))
        return leaves.astype(np.intp)

    @cached_property
    def leaf_counts(self):
        """Label counts by class in each node of a single tree, (n_nodes, n_classes).

        They are `tree_.counts` if the tree has them, otherwise labels are counted.
        """
        final, _ = final_step(self.estimator)
        if self.index is not None and getattr(final, "is_categorical_", 0) is None:
            # no categorical columns (None; 0: not a tree of this package), so all rows
            # are in leaves: only unknown categories would stop at inner nodes
            return final.tree_.leaf_counts()
        counts = getattr(final.tree_, "counts", None)
        if counts is not None:
            return np.asarray(counts)
        result = np.zeros((final.tree_.node_count, self.n_classes))
        if not self.n_labeled:
            return result
        leaves = self._leaves_of(self.labeled)
        np.add.at(result, (leaves, self.codes[self.labeled]), 1.0)
        return result

    @cached_property
    def leaf_sizes(self):
        """Number of candidates in each node of a single tree, (n_nodes,)."""
        if self.index is not None:
            return self.index.counts()
        return np.bincount(self.leaf_ids, minlength=len(self.leaf_counts))

    @cached_property
    def density(self):
        """Mean squared distance of each candidate to its ten nearest rows of the pool.

        Small values indicate dense regions.
        """
        return self.density_of(10)

    def density_of(self, n_neighbors: int, of: str = "all") -> NDArray[np.float32]:
        """`density` with another number of nearest rows, or among unlabeled rows.

        Parameters
        ----------
        n_neighbors : int
            Number of nearest rows.
        of : {"all", "unlabeled"}, default="all"
            Rows among which the nearest are found.

        Returns
        -------
        ndarray of shape (n_candidates,), float32
            Mean squared distances.
        """
        labeled, chosen = None, ()
        if of == "unlabeled":
            labeled, chosen, self.follows_labels = self.labeled, self._chosen, True
        density = self._pool.embedding.density(n_neighbors, labeled, chosen)
        return density[self.candidates]

    @cached_property
    def dist_to_labeled(self):
        """Squared distance of each candidate to the nearest labeled row.

        Infinite without a labeled row.
        """
        nearest = self._pool.embedding.nearest_labeled(self.labeled)
        return nearest[self.candidates]

    def with_labeled(self, place: int) -> Self:
        """Copy of the context in which a candidate counts as labeled for distances.

        Used to select the rows of a batch far from each other.

        Parameters
        ----------
        place : int
            Index among the candidates.

        Returns
        -------
        QueryContext
            The copy.
        """
        result = copy(self)
        result._chosen = *self._chosen, self.candidates[place]
        new = self.squared_distances(self.candidates[place])
        vars(result)["dist_to_labeled"] = np.minimum(self.dist_to_labeled, new)
        return result

    @property
    def points(self) -> NDArray[Any]:
        """Coordinates of all rows of the pool, by which distances are computed."""
        return self._pool.embedding.points

    def squared_distances(self, row: int) -> NDArray[np.float32]:
        """Squared distances of the candidates to a row of the pool.

        Parameters
        ----------
        row : int
            Index into the pool.

        Returns
        -------
        ndarray of shape (n_candidates,), float32
            Squared distances.
        """
        return self._pool.embedding.squared_distances(row, self.candidates)

    def take(self, rows: ArrayLike) -> None:
        """Take rows of the pool.

        Parameters
        ----------
        rows : array-like of int
            Indices into the pool.

        Returns
        -------
        array-like, sparse or frame
            The selected rows.
        """
        return take(self.X, rows)


MAX_EXACT_ROWS = 20000  # maximum pool size for exact neighbor search
N_SAMPLED_ROWS = 5000  # reference rows of larger pools
N_DIMENSIONS = 16  # of the coordinates of sparse rows
CELLS = 1 << 24  # distances that are computed at once
LARGE_VALUE = np.float32(1e18)  # differences of larger values could overflow
MAX_INDICATORS = 30  # categories of a column that become coordinates
MIN_MEAN_TOKENS = 3  # average number of words in a text column


class Embedding:
    """Coordinates of the rows of a pool, and distances between rows.

    Coordinates are computed once per pool, by `transform` if it is passed. Otherwise,
    numeric columns are standardized, with missing values at the mean; columns of
    strings or categories become indicators; texts become principal components of their
    TF-IDF. Neighbors are searched by `neighbors`, which works like scikit-learn's
    ``NearestNeighbors``. None: exact search up to 20,000 rows, otherwise among 5,000
    random rows.
    """

    def __init__(self, X, transform=None, neighbors=None, seed=0):
        self.points = np.ascontiguousarray(
            _coordinates(X) if transform is None else transform(X), dtype=np.float32
        )
        if self.points.ndim != 2 or len(self.points) != n_rows_of(X):
            raise ValueError(
                "embedding must return coordinates of shape (n_rows, n_dimensions). "
                f"Got shape {self.points.shape} for {n_rows_of(X)} rows."
            )
        self.neighbors = neighbors
        self.seed = seed
        self._density = {}
        # by number of neighbors, and whether rows of a batch count as labeled: labeled
        # rows, and the nearest unlabeled rows of each row with their squared distances,
        # itself included
        self._unlabeled = {}
        # squared distance of each row to the nearest labeled row, and the labeled rows
        self._nearest = None, np.empty(0, dtype=np.intp)

    def squared_distances(self, row, rows=None):
        """Squared distances of `rows` (None: all) to one row."""
        points = self.points if rows is None else self.points[rows]
        result = np.zeros(len(points), dtype=np.float32)
        for j in range(points.shape[1]):
            difference = points[:, j] - self.points[row, j]
            result += difference * difference
        return result

    def nearest_labeled(self, labeled):
        """Squared distance of each row to the nearest labeled row.

        The result is cached and updated by new rows: a minimum does not depend on the
        order.
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

    def density(self, k=10, labeled=None, chosen=()):
        """Mean squared distance of each row to its `k` nearest neighbors.

        With `labeled` rows, and rows `chosen` to be labeled, the neighbors of the other
        rows are unlabeled. They are cached: a new label only changes those of the rows
        that it was near to.
        """
        if labeled is not None:
            return self._density_of_unlabeled(k, labeled, chosen)
        if k not in self._density:
            everywhere = np.ones(len(self.points), dtype=bool)
            rows = np.arange(len(self.points))
            _, squared = self._nearest_among(everywhere, rows, k)
            self._density[k] = squared[:, 1:].mean(axis=1)
        return self._density[k]

    def _density_of_unlabeled(self, k, labeled, chosen):
        excluded = np.concatenate([labeled, chosen]).astype(np.intp)
        is_unlabeled = np.ones(len(self.points), dtype=bool)
        is_unlabeled[excluded] = False
        rows = np.flatnonzero(is_unlabeled)
        # of an earlier row of the batch, or of an earlier query
        for key in ((k, True), (k, False))[not len(chosen) :]:
            known, nearest, squared = self._unlabeled.get(key, ([0], None, None))
            # False if labels were withdrawn, or there are fewer rows than neighbors
            if nearest is not None and len(rows) > k and not is_unlabeled[known].any():
                is_new = ~is_unlabeled
                is_new[known] = False
                rows = rows[is_new[nearest[rows]].any(axis=1)]
                break
        else:
            width = max(min(k + 1, len(self._reference)), 2)
            nearest = np.zeros((len(is_unlabeled), width), dtype=np.int32)
            squared = np.zeros(nearest.shape, dtype=np.float32)
        if len(rows):
            nearest_rows = self._nearest_among(is_unlabeled, rows, k)
            width = nearest_rows[0].shape[1]
            nearest, squared = nearest[:, :width].copy(), squared[:, :width].copy()
            nearest[rows], squared[rows] = nearest_rows
        self._unlabeled[k, bool(len(chosen))] = excluded, nearest, squared
        return squared[:, 1:].mean(axis=1)

    @cached_property
    def _search(self):
        return clone(self.neighbors, safe=False).fit(self.points)

    @cached_property
    def _reference(self):
        # Rows among which neighbors are searched.
        n = len(self.points)
        if self.neighbors is not None or n <= MAX_EXACT_ROWS:
            return np.arange(n)
        rng = np.random.default_rng(self.seed)
        return np.sort(rng.choice(n, N_SAMPLED_ROWS, replace=False))

    def _nearest_among(self, is_allowed, rows, k):
        """The k + 1 nearest allowed rows of each of `rows`, and squared distances.

        The first is the row itself or its substitute in the sample. If it is the only
        one, it comes twice.
        """
        reference = self._reference[is_allowed[self._reference]]
        k = min(k, len(reference) - 1)
        if k < 1:
            nearest = np.repeat(rows[:, None], 2, axis=1)
            return nearest, np.zeros(nearest.shape, dtype=np.float32)
        if self.neighbors is not None:
            return self._search_until_enough(is_allowed, rows, k)
        points = self.points[reference]
        lengths = np.einsum("ij,ij->i", points, points)
        nearest = np.empty((len(rows), k + 1), dtype=np.int32)
        squared = np.empty(nearest.shape, dtype=np.float32)
        cells = max(len(reference), (k + 1) * points.shape[1])
        for part in gen_batches(len(rows), max(1, CELLS // cells)):
            block = self.points[rows[part]]
            ranked = lengths - 2.0 * (block @ points.T)
            # faster than argpartition
            last = np.partition(ranked, k, axis=1)[:, k, None]
            row, column = np.divmod(np.flatnonzero(ranked <= last), len(points))
            if len(row) > nearest[part].size:  # several are equal to the last one
                column = column[np.lexsort((ranked[row, column], row))]
            first = np.searchsorted(row, np.arange(len(block)))
            nearest_rows = reference[column[first[:, None] + np.arange(k + 1)]]
            # exactly, so that distances do not depend on the rows of the block
            difference = self.points[nearest_rows] - block[:, None]
            squared[part] = np.einsum("ijk,ijk->ij", difference, difference)
            nearest[part] = nearest_rows
        squared.sort(axis=1)
        return nearest, squared

    def _search_until_enough(self, is_allowed, rows, k):
        # Requests more neighbors until enough of them are allowed.
        nearest = np.empty((len(rows), k + 1), dtype=np.int32)
        squared = np.empty(nearest.shape, dtype=np.float32)
        left, n_requested = np.arange(len(rows)), k + 1
        while len(left):
            distances, nearest_rows = map(
                np.asarray,
                self._search.kneighbors(
                    self.points[rows[left]], n_neighbors=n_requested
                ),
            )
            allowed = is_allowed[nearest_rows]
            enough = (allowed.sum(axis=1) > k) | (n_requested == len(self.points))
            first = np.argsort(~allowed[enough], axis=1, kind="stable")[:, : k + 1]
            nearest[left[enough]] = np.take_along_axis(
                nearest_rows[enough], first, axis=1
            )
            distances = np.take_along_axis(distances[enough], first, axis=1)
            squared[left[enough]] = distances * distances
            left, n_requested = left[~enough], min(2 * n_requested, len(self.points))
        return nearest, squared


def _coordinates(X):
    if issparse(X):
        from sklearn.decomposition import TruncatedSVD

        X = X.tocsr()
        largest = abs(X).max() if X.nnz else 0.0
        if (
            LARGE_VALUE < largest < np.inf
        ):  # one scale for all columns, as zeros stay zeros
            X = X / largest
        size = min(N_DIMENSIONS, X.shape[1] - 1)
        if size < 1:
            return X.toarray()
        with np.errstate(all="ignore"):  # explained variance, if all rows are equal
            return TruncatedSVD(size, random_state=0).fit_transform(X)
    if hasattr(X, "columns"):
        columns = [_column(X, j) for j in range(X.shape[1])]
    else:
        X = np.asarray(X)
        if X.ndim == 1:
            return _of_texts(X.tolist())
        if X.dtype.kind in "biuf":
            return _standardized(X.reshape(len(X), -1))
        columns = list(X.T)
    numbers, categorical_texts, parts = [], [], []
    for column in columns:
        try:
            numbers.append(_as_float32(column))
        except (TypeError, ValueError):
            texts = [str(value) for value in column]
            # texts have many words and many distinct values
            n_tokens = sum(len(text.split()) for text in texts)
            if (
                n_tokens >= MIN_MEAN_TOKENS * len(texts)
                and len(set(texts)) > MAX_INDICATORS
            ):
                parts.append(_of_texts(texts))
            else:
                categorical_texts.append(texts)
    if numbers:
        parts.append(_standardized(np.column_stack(numbers)))
    if categorical_texts:
        encoder = OneHotEncoder(
            max_categories=MAX_INDICATORS, sparse_output=False, dtype=np.float32
        )
        # divided by sqrt(2), so that the distance of two categories is 1
        table = np.array(categorical_texts, dtype=object).T
        parts.append(encoder.fit_transform(table) / np.sqrt(2.0))
    return np.hstack(parts)


def _of_texts(texts):
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [text if isinstance(text, str) else "" for text in texts]
    try:
        return _coordinates(TfidfVectorizer(dtype=np.float32).fit_transform(texts))
    except ValueError:  # empty vocabulary
        return np.zeros((len(texts), 1))


def _column(X, j):
    column = _safe_indexing(X, j, axis=1)
    if str(getattr(column, "dtype", None)) == "category":
        column = column.astype(str)  # even if categories are numbers
    return np.asarray(column)


def _as_float32(X):
    with np.errstate(over="ignore"):  # overflow gives infinite values
        return np.array(X, dtype=np.float32)


def _standardized(X):
    X = _as_float32(X)
    X[~np.isfinite(X)] = np.nan
    X[:, np.isnan(X).all(axis=0)] = 0.0  # columns without a mean
    largest = np.maximum(np.nanmax(X, axis=0), -np.nanmin(X, axis=0))
    X[:, largest > LARGE_VALUE] /= LARGE_VALUE
    with np.errstate(all="ignore"):  # overflowing sums and deviations near 0
        scaled = StandardScaler(copy=False).fit_transform(X)
    return np.nan_to_num(scaled, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
