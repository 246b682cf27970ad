"""Base class of `ActiveLearner` and `ModelEvaluator`: a pool and its labels.

Updates are atomic (`../_transaction.py`): methods decorated by `reads_consistent` first
complete or revert an interrupted update. The *pool* is the table of unlabeled and
labeled rows. An *audit* draws rows at random to estimate the error rate. A *journal* is
a file of JSON lines to which each label is written. To *replay* labels is to compute
the state of the learner from them again. `learns` marks methods that change the
learner, `_codes` are class indices of rows (-1: unlabeled), and `_coder` converts
labels to them. `_in_query` is True after a query that was interrupted. `DocLinkMixin`
links the HTML representation to the documentation, and `VersionedState` stores the
version of the package in pickles.
"""

from __future__ import annotations

import copy
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ...utils._codec import VersionedState, canonical
from ...utils._doc_links import DocLinkMixin
from ...utils._lock import learns
from ...utils._types import LabelsLike, TableLike
from ...utils._warnings import warn
from .._labels import LabelCodes, indexable_table, n_rows_of
from .._transaction import reads_consistent
from ._query import QueryMixin
from ._teach import Answer, Batch, LearningMixin, Pool

# attributes that are modified in place
MUTABLE = (
    *("_codes", "_skipped", "_order", "_weights", "_answers", "_pool"),
    "_decisions",
)
# attributes that are not part of the state
CACHES = ("_index", "_kept", "_forest", "_memory", "_interrupted", "_in_query")


class PoolLearner(
    QueryMixin,
    LearningMixin,
    DocLinkMixin,
    MetaEstimatorMixin,
    VersionedState,
    BaseEstimator,
):
    """Base class of learners with a pool, its labels, and queries of further labels.

    Derived classes set `_strategy` in `_check_parameters`, and have the parameters
    `estimator`, `classes`, `missing_label` and `random_state`. The class attributes
    below are the defaults of :class:`ActiveLearner`, for classes without these
    parameters.
    """

    batch_size = 1
    refit = "auto"
    tie_break = "auto"
    embedding = neighbors = None
    prefit = False

    _index = None, None  # a tree, and the index of the pool's rows in it
    _forest = None, None  # a forest, and its index
    _kept = None  # cache of strategies for that tree
    _memory = None  # cache of strategies for earlier queries
    _decisions = None  # of a person or a function for stopping rules
    _growth = ()  # batches and rows before rows were appended to the pool of a journal
    _suggestions = None  # `Suggestions` of a cheap annotator

    @learns
    def fit(self, X: TableLike, y: LabelsLike | None = None) -> Self:
        """Set the pool, and learn its initial labels.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            The pool. It is referenced, not copied.
        y : array-like of shape (n_rows,), default=None
            Labels; `missing_label`, None or NaN for unlabeled rows. None: no row is
            labeled.

        Returns
        -------
        ActiveLearner or ModelEvaluator
            The fitted learner.
        """
        other = self._shadow_copy()  # whose attributes this one takes over in one step
        other._begin(X, y)
        self._take_over(other)
        return self

    def _begin(self, X, y):
        self._check_parameters()
        X = indexable_table(X)
        validate_data(self, X, skip_check_array=True)
        n = n_rows_of(X)
        if y is None:
            y = np.full(n, None)
        coder = LabelCodes(self.missing_label, self.classes)
        known, labels = coder.read(y)
        if len(known) and not known.any() and np.asarray(y).dtype.kind == "f":
            raise ValueError(
                "Input y contains NaN only. Omit y to begin without labels."
            )
        if len(known) != n:
            raise ValueError(
                f"X and y must have the same length. Got {n} and {len(known)}."
            )
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._pool = Pool(X, self.embedding, self.neighbors, self._seed)
        self._coder = coder
        self._start = Batch(np.flatnonzero(known), known[known], labels, weight=None)
        self._decisions, self._growth = {}, ()
        self._suggestions = None
        self._replay([], _queried_rows=None, _memory={}, _in_query=False)

    _shows_predictions = True  # whether people see them in a session

    def _labels_to_choose(self):
        return self.classes_.tolist()

    def _fixed_predictions(self):
        return None  # the classifier depends on the labels

    @property
    @reads_consistent
    def classes_(self) -> NDArray[Any]:
        """Labels seen so far."""
        check_is_fitted(self, "_codes")
        return self._coder.classes

    @property
    @reads_consistent
    def y_(self) -> NDArray[Any]:
        """Labels of the pool's rows."""
        check_is_fitted(self, "_codes")
        return self._coder.decode(self._codes)

    @property
    @reads_consistent
    def n_labeled_(self) -> int:
        """Number of labeled rows."""
        check_is_fitted(self, "_codes")
        return len(self._order)

    @property
    @reads_consistent
    def history_(self) -> list[Answer]:
        """Labels that were taught, in order."""
        check_is_fitted(self, "_codes")
        history = []
        for batch in self._answers:
            weight = np.ones(len(batch.rows)) if batch.weight is None else batch.weight
            pairs = zip(batch.pairs(self.missing_label), weight.tolist(), strict=True)
            history += [Answer(*pair, w) for pair, w in pairs]
        return history

    @property
    @reads_consistent
    def audit_(self) -> tuple[int, int]:
        """Number of wrong predictions in audits, and number of audited rows."""
        check_is_fitted(self, "_codes")
        return self._audit()

    def _audit(self):
        audits = self._audits()
        return sum(wrong for wrong, _ in audits), sum(n for _, n in audits)

    def _audits(self):
        # Number of wrong predictions and of rows of each audit (`n_wrong` is None for
        # other batches; `known` is the mask of the rows that have a label).
        return [
            (batch.n_wrong, int(batch.known.sum()))
            for batch in self._answers
            if batch.n_wrong is not None
        ]

    def _fitted(self, X=None):
        check_is_fitted(self, "_codes")
        if not hasattr(self, "estimator_"):
            raise ValueError(
                "This ActiveLearner has no labels yet. Select rows with query() and "
                "pass their labels to teach()."
            )
        if isinstance(self.estimator_, DummyClassifier):
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.estimator_

    @reads_consistent
    def _predict(self, X):
        return self._fitted(X).predict(X)

    @reads_consistent
    def _predict_proba(self, X):
        model = self._fitted(X)
        proba = model.predict_proba(X)
        seen = getattr(model, "classes_", None)
        if seen is None or len(seen) == len(self.classes_):
            return proba
        class_codes = self._coder.encode(np.asarray(seen))
        if class_codes is None:  # a prefit model has other classes
            return proba
        expanded = np.zeros((len(proba), len(self.classes_)))
        expanded[:, class_codes] = proba
        return expanded

    @learns
    def teach(
        self,
        rows: int | ArrayLike,
        labels: object,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn labels of rows of the pool.

        Parameters
        ----------
        rows : int or array-like of shape (k,)
            Indices into the pool.
        labels : object or array-like of shape (k,)
            Labels of the rows; `missing_label`, None or NaN skips a row.
        sample_weight : array-like of shape (k,), default=None
            Weights of the rows, for example the reliability of the annotator.

        Returns
        -------
        ActiveLearner or ModelEvaluator
            The updated learner.

        Raises
        ------
        ValueError
            If a row is not in the pool or already labeled, or a label is not in
            `classes`. The learner is then unchanged.
        """
        if not hasattr(self, "_codes"):
            check_is_fitted(self, "_codes")
        self._recover()
        batch = self._read_batch(rows, labels, sample_weight)
        queried = batch.rows if self._queried_rows is None else self._queried_rows
        others = sorted(set(batch.rows.tolist()) - set(queried.tolist()))
        if others:
            warn(
                f"Row {others[0]} was not queried, but its label is learned. Pass the "
                "labels of the rows that query() returned, in their order."
            )
        self._learn(batch)
        return self

    def _read_batch(self, rows, labels, weight):
        scalar = np.ndim(rows) == 0
        rows = np.atleast_1d(np.asarray(rows))
        n = self._pool.n_rows
        if rows.size == 0:
            rows = rows.astype(np.intp)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"rows must be integer indices into the pool. Got {rows!r} instead."
            )
        rows = rows.astype(np.intp)
        outside = (rows < 0) | (rows >= n)
        if outside.any():
            raise ValueError(
                f"rows must be indices into the pool of {n} rows, from 0 to {n - 1}. "
                f"Got {rows[outside][0]} instead."
            )
        if len(np.unique(rows)) != len(rows):
            raise ValueError(f"rows must not contain duplicates. Got {rows}.")
        is_labeled = self._codes[rows] >= 0
        if is_labeled.any():
            raise ValueError(
                f"Row {rows[is_labeled][0]} is already labeled. Call undo() to "
                "withdraw the label."
            )
        known, new_labels = self._coder.read([labels] if scalar else labels, "labels")
        if len(known) != len(rows):
            raise ValueError(
                f"labels has {len(known)} entries for {len(rows)} rows. Pass one label "
                "per row."
            )
        if weight is not None:
            weight = np.atleast_1d(np.asarray(weight, dtype=np.float64))
            is_valid = np.isfinite(weight) & (weight > 0.0)
            if weight.shape != rows.shape or not is_valid.all():
                raise ValueError(
                    "sample_weight must be a positive finite number for each row. Got "
                    f"{weight}."
                )
        return Batch(rows, known, new_labels, weight)

    @learns
    def undo(self, n: int = 1) -> Self:
        """Revert the last calls of `teach`.

        Parameters
        ----------
        n : int, default=1
            Number of calls to revert.

        Returns
        -------
        ActiveLearner or ModelEvaluator
            The learner in the state before these calls.
        """
        check_is_fitted(self, "_codes")
        if not isinstance(n, Integral) or not 1 <= n <= len(self._answers):
            raise ValueError(
                f"n must be an integer from 1 to the {len(self._answers)} calls of "
                f"teach so far. Got {n!r} instead."
            )
        retained = self._answers[: len(self._answers) - n]
        # replay the retained batches; the keywords are attributes to set
        self._relearn(retained, _queried_rows=None, _memory={}, _in_query=False)
        return self

    @reads_consistent
    def __getstate__(self):
        # pending queries and caches are not part of the state
        state = super().__getstate__() | {"_queried_rows": None}
        # copy what later calls of teach modify in place
        state |= {name: copy.copy(state[name]) for name in MUTABLE if name in state}
        if self.refit is False and hasattr(self, "estimator_"):
            state["estimator_"] = copy.deepcopy(self.estimator_)
        # equal states have equal pickles
        return canonical({k: v for k, v in state.items() if k not in CACHES})

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_codes")
