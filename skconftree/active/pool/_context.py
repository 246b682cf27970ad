"""What a strategy may ask about a pool: each answer is made once a query."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...utils._types import Estimator, Floats, Indices
from .._estimators import final_step
from .._rows import in_chunks, take


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
        if is_tree and final is not self.estimator:
            return self._proba_and_leaves(final, seen)
        return in_chunks(self.X, self.candidates, self.estimator.predict_proba)

    def _proba_and_leaves(self, final, seen):
        # What comes before a tree takes longer than the tree: once for both.
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
