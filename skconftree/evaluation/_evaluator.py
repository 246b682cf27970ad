"""Prequential evaluation step by step: updates, reports and state.

Prequential evaluation tests a model on each row, then trains it on the row. A *run* is
a `PrequentialEvaluator`. A row is *tested* if it is predicted before its label is
learned. A *record* has the metrics so far; its *window* consists of the rows since the
previous record. The code of a class is its index in `classes_`. The *no-change*
baseline predicts the last label. Methods decorated by `learns` or `reads` take the lock
of the evaluator for writing or reading.
"""

from __future__ import annotations

import copy
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..tables._dictionaries import DictConverter, dictionaries_in
from ..tables._labels import exact_labels, find_labels
from ..utils._available import absence_error
from ..utils._codec import NO_DEFAULT, is_count, with_version, without_version
from ..utils._lock import Lockable, learns, reads
from ..utils._types import Estimator, LabelsLike, RowsLike
from ._metrics import (
    Baselines,
    Predictions,
    Tally,  # of the metrics: sums of weights of tested rows
    cohen_kappa,
    need_proba,
    resolved_scorers,
    spread,  # moves columns of classes to their new indices
)


def slice_rows(X, start, stop):
    """Return rows `start` to `stop`; X itself if these are all rows."""
    if start == 0 and stop == (X.shape[0] if hasattr(X, "shape") else len(X)):
        return X
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def take_rows(X, positions):
    """Return the rows at `positions`, at least one."""
    positions = np.asarray(positions)
    first, last = int(positions[0]), int(positions[-1])
    if last - first == len(positions) - 1 and (np.diff(positions) == 1).all():
        return slice_rows(X, first, last + 1)
    if hasattr(X, "iloc"):
        return X.iloc[positions]
    if hasattr(X, "take") and not hasattr(X, "dtype"):
        return X.take(positions)  # a pyarrow table
    return X[positions] if hasattr(X, "shape") else [X[i] for i in positions]


# Each row arrives at a time, and its label some time later. A row is learned when its
# label arrives: after all rows that arrive no later than the label have been predicted,
# and before later rows. Labels of the same time are learned in the order of their rows.
# So a row without delay is learned right after it is predicted, and a row with a delay
# of k rows after the k-th following row.
#
# A row that waits for its label has an entry; `positions` are indices of entries.

NEVER = np.inf  # arrival time of labels that never arrive
ENTRY_FIELDS = (  # of a row that waits for its label
    ("row", np.intp),  # number of the row in the stream
    ("due", np.float64),  # time of its label
    ("true", np.intp),  # class of its label
    ("predicted", np.intp),  # -1: not predicted
    ("no_change", np.intp),  # prediction of the no-change baseline
    ("majority", np.intp),  # prediction of the majority-class baseline
    ("weight", np.float64),  # NaN without a weight
)


class Waiting:
    """Rows that wait for their labels, in the order of the stream.

    `entries`, one per row, has the fields of ENTRY_FIELDS, and class probabilities if a
    metric needs them. `pieces` are the tables that contain the rows: pairs of the
    number in the stream of a table's first row, and the table.
    """

    def __init__(self, n_classes):
        proba = ("proba", np.float64, (n_classes,))
        self.entries = np.empty(0, dtype=[*ENTRY_FIELDS, proba])
        self.pieces = []

    def __len__(self):
        return len(self.entries)

    def _with(self, entries, pieces):
        new = object.__new__(type(self))
        new.entries, new.pieces = entries, pieces
        return new

    def without(self, positions):
        """Return a copy without some entries, and without tables that are not used."""
        entries = np.delete(self.entries, positions)
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        used = np.unique(np.searchsorted(starts, entries["row"], side="right") - 1)
        return self._with(entries, [self.pieces[i] for i in used])

    def with_classes(self, at, n):
        """Return a copy for n classes, which include the previous ones.

        `at` are the indices of the previous classes among them, followed by -1. n is 0
        without class probabilities.
        """
        old = self.entries
        entries = np.zeros(len(old), dtype=Waiting(n).entries.dtype)
        for name, _ in ENTRY_FIELDS:
            is_class = name in ("true", "predicted", "no_change", "majority")
            entries[name] = at[old[name]] if is_class else old[name]
        if n:
            entries["proba"] = spread(old["proba"], at[:-1], n)
        return self._with(entries, self.pieces)

    def extended(self, X, first, row, due, true, weight):
        """Return a copy with entries for rows of X, which are not predicted yet.

        `first` is the number of the first row of X in the stream, `row` has the numbers
        of the rows to add.
        """
        added = np.zeros(len(row), dtype=self.entries.dtype)
        added["row"], added["due"], added["true"] = row, due, true
        for name in ("predicted", "no_change", "majority"):
            added[name] = -1
        added["weight"] = np.nan if weight is None else weight
        pieces = [*self.pieces, (first, X)] if len(row) else self.pieces
        return self._with(np.concatenate([self.entries, added]), pieces)

    def rows(self, positions):
        """Yield the rows of some entries, in that order, with their positions.

        Each element has consecutive rows of one table, because tables are not joined.
        """
        if len(positions) == 1:  # the most frequent case
            number = int(self.entries["row"][positions[0]])
            piece = bisect_right(self.pieces, number, key=itemgetter(0)) - 1
            first, X = self.pieces[piece]
            yield slice_rows(X, number - first, number - first + 1), positions
            return
        starts = np.array([first for first, _ in self.pieces], dtype=np.intp)
        numbers = self.entries["row"][positions]
        piece = np.searchsorted(starts, numbers, side="right") - 1
        ends = [*(np.flatnonzero(np.diff(piece)) + 1), len(positions)]
        begin = 0
        for end in ends:
            first, X = self.pieces[piece[begin]]
            yield take_rows(X, numbers[begin:end] - first), positions[begin:end]
            begin = end


def arrival_times(time, delay, n, first, before):
    """Return the arrival times of rows and of their labels, as float64.

    `first` is the number of the first row in the stream, and `before` the arrival time
    of the row before it.
    """
    if time is None:
        time = np.arange(first, first + n, dtype=np.float64)
    else:
        time = _as_float(time, "time", n)
        if not np.isfinite(time).all():
            raise ValueError("time must be finite. Got NaN or infinite values.")
        steps = np.diff(time, prepend=before)
        if (steps < 0.0).any():
            row = int((steps < 0.0).argmax())
            raise ValueError(
                f"time must not decrease, but it does at row {first + row} of the "
                "stream (the first is row 0)."
            )
    delay = _as_float(delay, "delay", n)
    if (delay < 0.0).any():
        row = int((delay < 0.0).argmax())
        raise ValueError(
            f"delay must not be negative. Got {delay[row]:g} at row {first + row} of "
            "the stream (the first is row 0)."
        )
    return time, time + np.where(np.isnan(delay), NEVER, delay)


def _as_float(values, name, n):
    # Convert to float64; dates and time spans become microseconds.
    passed, values = values, np.asarray(values)
    if values.dtype.kind in "mM":
        unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
        missing = np.isnat(values)
        values = values.astype(unit).astype(np.int64).astype(np.float64)
        values[missing] = np.nan
    if values.dtype.kind not in "biuf" or values.ndim > 1:
        raise ValueError(
            f"{name} must be a number, a date or a time span, or a 1d array of them. "
            f"Got {passed!r} instead."
        )
    if values.ndim == 1 and len(values) != n:
        raise ValueError(
            f"{name} must have one entry for each of {n} rows. Got {len(values)}."
        )
    return np.broadcast_to(values.astype(np.float64), (n,))


def schedule(waiting, time, last_is_over):
    """Yield when to learn which waiting rows, as pairs (n_rows, positions).

    The entries at `positions` are learned after `n_rows` rows of a call were predicted.
    `time` has the arrival times of these rows. Labels that arrive at the last of these
    times wait, because further rows may have the same time, unless `last_is_over`.
    """
    due = waiting.entries["due"]
    order = np.lexsort((waiting.entries["row"], due))
    after = np.searchsorted(time, due[order], side="right")
    arrives = after < len(time)
    if last_is_over and len(time):
        arrives |= due[order] <= time[-1]
    order, after = order[arrives], after[arrives]
    ends = [*(np.flatnonzero(np.diff(after)) + 1), len(after)]
    begin = 0
    for end in ends:
        if end > begin:
            yield int(after[begin]), order[begin:end]
        begin = end


class DelayedStep:
    """One update of an evaluator with delayed labels; it can be interrupted.

    It predicts the rows of a call, and learns the rows whose labels arrive. `first` is
    the number of the first row of X in the stream. `arrives` is a mask of the rows
    whose labels ever arrive. Results are stored in the step; `commit` updates
    the evaluator `run` with them.
    """

    def __init__(self, run, X=None, n=0, first=0, arrives=None):
        self.run, self.X, self.first = run, X, first
        self.arrives = np.zeros(0, dtype=bool) if arrives is None else arrives
        self.n_before = len(run._waiting)
        ends = self.n_before + np.cumsum(self.arrives)
        # index of the entry of each row of X, or of the next row that has an entry
        self.starts = [self.n_before, *ends.tolist()]
        self.n_predicted = 0
        self.learned = []  # positions of learned rows, in the order of learning
        self.baselines = run._baselines.copy()
        self.rows = run._waiting
        self.predictions = np.full(n, -1, dtype=np.intp)
        self.unweighted = False  # no row has a weight
        # positions of the rows that are being learned, and the number of rows that the
        # estimator had learned before
        self._in_progress = None

    def add_rows(self, due, true, weight):
        """Add the rows of the call to the waiting rows, if their labels arrive."""
        arrives = self.arrives
        weight = None if weight is None else weight[arrives]
        numbers = self.first + np.flatnonzero(arrives)
        self.rows = self.rows.extended(
            self.X, self.first, numbers, due[arrives], true, weight
        )

    def execute(self, time, last_is_over):
        """Predict and learn rows in the order of `schedule`."""
        self.unweighted = bool(np.isnan(self.rows.entries["weight"]).all())
        plan = schedule(self.rows, time, last_is_over)
        if not self.run._per_row:  # without `partial_fit_predict`
            positions = [due for _, due in plan]
            if positions:
                plan = [(len(self.predictions), np.concatenate(positions))]
        for stop, positions in plan:
            if not self._predict_and_learn(stop, positions):
                self._predict(stop)
                self._learn(positions)
        self._predict(len(self.predictions))

    def _predict_and_learn(self, stop, positions):
        # Predict and learn the first row in one call, if its label has no delay. An
        # estimator with `partial_fit_predict` can predict although it is not fitted.
        run, start = self.run, stop - 1
        if self.n_predicted == stop or not run._can_predict_and_learn():
            return False
        entries = self._entries(start, stop)
        if positions.tolist() != [entries.start]:
            return False
        self._predict(start)
        self._predict_baselines(start, stop)
        arguments = run._arguments(self._weight(positions))
        self._in_progress = positions, run._n_rows_seen()
        X, true = slice_rows(self.X, start, stop), self.rows.entries["true"][positions]
        predictions, proba = run._predict_and_learn(
            X, run.classes_.take(true), arguments
        )
        run._notify(predictions, proba)
        self.predictions[start] = self.rows.entries["predicted"][entries.start] = (
            predictions[0]
        )
        if run._needs_proba:
            self.rows.entries["proba"][entries] = proba
        self._record_learned(positions)
        return True

    def _entries(self, start, stop):
        # Positions of rows `start` to `stop` of X.
        return slice(self.starts[start], self.starts[stop])

    def _predict(self, stop):
        # Predict the rows of X before `stop` that are not predicted yet.
        start, run = self.n_predicted, self.run
        if start == stop:
            return
        entries, rows = self._entries(start, stop), slice(start, stop)
        if hasattr(run.estimator, "classes_"):
            predictions, proba = run._predict(slice_rows(self.X, start, stop))
            self.predictions[rows] = predictions
            self.rows.entries["predicted"][entries] = predictions[self.arrives[rows]]
            run._notify(predictions, proba)
            if run._needs_proba:
                self.rows.entries["proba"][entries] = proba[self.arrives[rows]]
        else:
            run._notify(np.full(stop - start, -1), np.zeros((stop - start, 1)))
        self._predict_baselines(start, stop)

    def _predict_baselines(self, start, stop):
        entries = self.rows.entries[self._entries(start, stop)]
        entries["no_change"], entries["majority"] = self.baselines.predict()
        self.n_predicted = stop

    def _learn(self, positions):
        run = self.run
        for X, part in self.rows.rows(positions):
            labels = run.classes_.take(self.rows.entries["true"][part])
            arguments = run._arguments(self._weight(part))
            self._in_progress = part, run._n_rows_seen()
            run.estimator.partial_fit(X, labels, **arguments)
            self._record_learned(part)

    def _record_learned(self, positions):
        self.learned.append(positions)
        self._in_progress = None
        self.baselines.update(
            self.rows.entries["true"][positions], self._weight(positions)
        )

    def _weight(self, positions):
        if self.unweighted:
            return None
        weight = self.rows.entries["weight"][positions]
        has_weight = ~np.isnan(weight)
        return np.where(has_weight, weight, 1.0) if has_weight.any() else None

    def commit(self, start):
        """Update the evaluator with the completed rows in one assignment.

        `start` is the CPU time, in seconds, at which the update began.
        """
        run, learned = self.run, self.learned
        # rows may have been added to `learned` right before an interruption
        if self._in_progress is not None and (
            not learned or learned[-1] is not self._in_progress[0]
        ):
            positions, seen = self._in_progress
            n = run._n_learned(seen, self._weight(positions), len(positions))
            learned = [*learned, positions[:n]]
        learned = np.concatenate([np.zeros(0, np.intp), *learned])
        done, weight = self.rows.entries[learned], self._weight(learned)
        baselines = run._baselines.copy()
        baselines.update(done["true"], weight)
        tested = done["predicted"] >= 0
        names = ("true", "predicted", "no_change", "majority")
        parts = [done[name][tested] for name in names]
        weight = None if weight is None else weight[tested]
        proba = done["proba"][tested] if run._needs_proba else None
        unpredicted = np.arange(self.starts[self.n_predicted], len(self.rows))
        arrives = self.arrives[: self.n_predicted]
        run._commit(
            start,
            len(learned),
            baselines,
            (parts, weight, proba),
            n_unlabeled_=run.n_unlabeled_ + int(np.count_nonzero(~arrives)),
            _waiting=self.rows.without(np.union1d(learned, unpredicted)),
        )


MAX_WEIGHT = 1e300  # of all rows of a run, so that metrics are finite

# Defaults of parameters that pickles of older versions do not have; NO_DEFAULT: none.
SETTINGS = {"estimator": NO_DEFAULT, "delay": 0}
# Attributes that are extended for new classes, by their method `with_classes`.
PER_CLASS = ("_total", "_window", "_baselines", "_predictions")
CLASS_DEPENDENT = ("classes_", "_positive", "_waiting", *PER_CLASS)
STATE_CLASSES = {  # attributes that are pickled as dictionaries of their attributes
    "_total": Tally,
    "_window": Tally,
    "_baselines": Baselines,
    "_predictions": Predictions,
    "_waiting": Waiting,
    "_dictionaries": DictConverter,
}


def write_parts(state):
    """Convert the objects of a state to dictionaries of arrays and numbers."""
    parts = {name: state.get(name) for name in STATE_CLASSES}
    return state | {
        name: vars(part)
        for name, part in parts.items()
        if type(part) is STATE_CLASSES[name]
    }


def read_parts(state):
    """Restore the objects of a state that `write_parts` has converted."""
    restored = dict(state)
    for name, kind in STATE_CLASSES.items():
        if isinstance(state.get(name), dict):
            restored[name] = kind.__new__(kind)
            vars(restored[name]).update(state[name])
    return restored


@dataclass(frozen=True, slots=True)
class PrequentialRecord:
    """Metrics of an estimator on a stream, up to a row.

    Metrics called ``window_...`` are computed over the rows since the previous record,
    all others over the whole stream. With weights, each row counts with its weight.
    Undefined metrics are NaN: all metrics if no row was tested, kappa if chance
    agreement is 1, and F1 without a positive class.

    Parameters
    ----------
    n_rows : int
        Number of rows learned.
    n_tested : int
        Number of rows that were predicted before they were learned.
    accuracy, window_accuracy : float
        Share of correct predictions.
    balanced_accuracy, window_balanced_accuracy : float
        Mean recall over the classes that occurred.
    geometric_mean, window_geometric_mean : float
        Geometric mean of the recalls: 0 if the recall of a class is 0.
    kappa, window_kappa : float
        Cohen's kappa: accuracy relative to chance agreement.
    f1, window_f1 : float
        F1 of the class `pos_label`; 0 if it is neither predicted nor present.
    no_change_accuracy, window_no_change_accuracy : float
        Accuracy of the no-change baseline, which predicts the last label.
    majority_accuracy, window_majority_accuracy : float
        Accuracy of the majority-class baseline, which predicts the most frequent of the
        previous labels.
    n_leaves : int or None
        Number of leaves of the model, if it has `get_n_leaves`.
    n_bytes : int or None
        Memory of the model in bytes, if it has `n_bytes_`.
    cpu_seconds : float
        CPU time of the estimator, including predictions.
    n_waiting : int
        Number of rows that were predicted and whose labels have not arrived.
    window_scores : dict of str to float
        Scores of `scoring` over the rows since the previous record.

    See Also
    --------
    iter_prequential : Yields records along a stream.

    References
    ----------
    Bifet, Read, Zliobaite, Pfahringer and Holmes, "Pitfalls in benchmarking data stream
    classification and how to avoid them", 2013 (the two baselines, `kappa_temporal`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import Perceptron
    >>> from skconftree.evaluation import iter_prequential
    >>> X, y = load_iris(return_X_y=True)
    >>> *_, last = iter_prequential(Perceptron(), X, y, chunk_size=10)
    >>> last.n_rows, last.n_tested, round(last.accuracy, 3), last.n_leaves
    (150, 140, 0.857, None)

    Iris is sorted by class, so that repeating the last label is more accurate:

    >>> round(last.no_change_accuracy, 3), round(last.kappa_temporal, 1)
    (0.986, -9.0)
    """

    n_rows: int
    n_tested: int
    accuracy: float
    window_accuracy: float
    balanced_accuracy: float
    window_balanced_accuracy: float
    geometric_mean: float
    window_geometric_mean: float
    kappa: float
    window_kappa: float
    f1: float
    window_f1: float
    no_change_accuracy: float
    window_no_change_accuracy: float
    majority_accuracy: float
    window_majority_accuracy: float
    n_leaves: int | None
    n_bytes: int | None
    cpu_seconds: float
    n_waiting: int
    window_scores: dict

    @property
    def kappa_temporal(self) -> float:
        """Kappa of `accuracy` relative to `no_change_accuracy`."""
        return cohen_kappa(self.accuracy, self.no_change_accuracy)

    @property
    def window_kappa_temporal(self) -> float:
        """`kappa_temporal` since the previous record."""
        return cohen_kappa(self.window_accuracy, self.window_no_change_accuracy)

    @property
    def kappa_majority(self) -> float:
        """Kappa of `accuracy` relative to `majority_accuracy`."""
        return cohen_kappa(self.accuracy, self.majority_accuracy)


class PrequentialEvaluator(Lockable):
    """Prequential (test-then-train) evaluation of an estimator, one call per chunk.

    This is the loop body of :func:`iter_prequential`, for streams that arrive row by
    row or chunk by chunk. An evaluation can be pickled between two calls, with the
    model and the metrics, and continued later.

    An estimator with `partial_fit_predict` (the trees of this package) is tested on
    each row right before it learns the row, independent of the size of calls. Other
    classifiers with `partial_fit` first predict all rows of a call, then learn them; if
    they are not fitted, the rows of the first call are only learned, not tested.

    Metrics are updated atomically. If a call is interrupted (Ctrl-C, out of memory),
    `n_rows_`, with `n_waiting_` and `n_unlabeled_` for delayed labels, determines the
    row to continue with. Rows count as learned according to `n_rows_seen_` of the
    estimator, which the models of this package have, and as tested if all rows of the
    call were predicted before. Without `n_rows_seen_`, the metrics are those before the
    call.

    Threads may share an evaluation; calls are executed one after the other. Pickles and
    copies are made between two calls.

    Parameters
    ----------
    estimator : classifier with `partial_fit_predict`, or `partial_fit` and `predict`
        It is trained in place.
    classes : array-like of shape (n_classes,), default=None
        All labels of the stream. None takes the classes of the fitted estimator. If it
        is not fitted, each label becomes a class of it, and of the metrics, when it
        first arrives; only `ConfidenceTreeClassifier` and `ConfidenceForestClassifier`
        support this.
    pos_label : label, default=None
        The class whose F1 is reported. None takes the second of two `classes`; with any
        other number of classes F1 is then NaN.
    scoring : str, callable or list of them, default=None
        Further metrics, see :func:`iter_prequential`.
    delay : int or float, default=0
        Delay of labels: a number of rows, or a time if `update` is called with `time`.
        `update` may override it.

    Attributes
    ----------
    estimator : object
        The estimator passed to the constructor.
    classes_ : ndarray of shape (n_classes,)
        Labels in ascending order.
    pos_label_ : label or None
        The class whose F1 is reported.
    n_rows_ : int
        Number of rows learned in this evaluation.
    n_tested_ : int
        Number of these rows that were predicted first.
    n_waiting_ : int
        Number of predicted rows whose labels have not arrived.
    n_unlabeled_ : int
        Number of predicted rows whose labels never arrive.
    cpu_seconds_ : float
        CPU time of the estimator.

    Raises
    ------
    TypeError
        If the estimator cannot learn from a stream.
    ValueError
        If the classes are not known, or not those of the estimator.

    See Also
    --------
    iter_prequential : The same over arrays, or over an iterable of chunks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.evaluation import PrequentialEvaluator
    >>> X, y = load_iris(return_X_y=True)
    >>> run = PrequentialEvaluator(GaussianNB(), classes=[0, 1, 2])
    >>> run.update(X[::2], y[::2])
    >>> run.update(X[1::2], y[1::2])[:3]
    array([0, 0, 0])
    >>> record = run.report()
    >>> record.n_rows, record.n_tested, round(record.accuracy, 2)
    (150, 75, 0.96)
    """

    _adds_classes = False  # whether labels become classes when they arrive
    _listener = None  # function that is called with all predictions, see `_notify`

    def __init__(
        self,
        estimator: Estimator,
        *,
        classes: ArrayLike | None = None,
        pos_label: Any = None,
        scoring: str | Callable[..., Any] | Sequence[Any] | None = None,
        delay: float = 0,
    ) -> None:
        per_row = hasattr(estimator, "partial_fit_predict")
        absent = None if per_row else absence_error(estimator, "partial_fit", "predict")
        if absent is not None:
            hint = "Pass its attribute `model`, which accepts dictionaries as tables."
            raise TypeError(
                "estimator must have partial_fit_predict, or partial_fit and predict. "
                f"Got {estimator!r} instead: {absent} "
                f"{hint if hasattr(estimator, 'model') else ''}".rstrip()
            ) from absent
        self.estimator = estimator
        self._adds_classes = classes is None and adds_classes(estimator)
        self.classes_ = np.zeros(0)
        if not self._adds_classes:
            self.classes_ = resolve_classes(estimator, classes, "estimator")
        if pos_label is None and len(self.classes_) == 2:
            pos_label = self.classes_.tolist()[1]
        self.pos_label_ = pos_label
        self._positive = self._resolve_positive(pos_label)  # its index in the classes
        arrival_times(None, delay, 1, 0, 0.0)  # raises an error if `delay` is invalid
        self.delay = delay
        self._scorers = resolved_scorers(scoring)
        classes = np.arange(2) if self._adds_classes else self.classes_
        self._needs_proba = need_proba(self._scorers, classes)
        if self._needs_proba and not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"scoring needs predict_proba, which {type(estimator).__name__} does "
                "not have."
            )
        self.n_rows_ = 0
        self.n_tested_ = 0
        self.n_unlabeled_ = 0
        self.cpu_seconds_ = 0.0
        self._total = Tally(len(self.classes_))
        self._window = Tally(len(self.classes_))
        first = -1 if self._adds_classes else 0  # prediction before the first label
        self._baselines = Baselines(len(self.classes_), first)
        self._predictions = Predictions()
        self._waiting = Waiting(len(self.classes_) if self._needs_proba else 0)
        self._dictionaries = None  # columns, if rows are dictionaries
        self._by_time = False  # whether arrival times were passed
        self._last_time = -NEVER

    def __repr__(self):
        classes = self.classes_.tolist()
        return f"{type(self).__name__}({self.estimator!r}, classes={classes})"

    @property
    def n_waiting_(self) -> int:
        """Number of predicted rows whose labels have not arrived."""
        return len(self._waiting)

    @property
    def _computes_proba(self):
        return self._needs_proba or self._listener is not None

    def _notify(self, codes, proba):
        # Pass the listener the codes of the predicted classes of the next rows (-1: not
        # predicted), and the class probabilities.
        if self._listener is not None:
            self._listener(codes, proba)

    @property
    def _n_arrived(self):
        return self.n_rows_ + self.n_waiting_ + self.n_unlabeled_

    @property
    def _per_row(self):
        # Whether the estimator predicts each row right before it learns the row.
        return hasattr(self.estimator, "partial_fit_predict")

    @reads
    def __getstate__(self):
        # A deep copy under the lock: the estimator and its metrics are consistent.
        state = dict(super().__getstate__())
        state.pop("_listener", None)
        return with_version(write_parts(copy.deepcopy(state)))

    def __setstate__(self, state):
        state = without_version(state, SETTINGS, type(self).__name__)
        vars(self).update(read_parts(state))

    @learns
    def update(
        self,
        X: RowsLike,
        y: LabelsLike | Any,
        sample_weight: ArrayLike | None = None,
        *,
        delay: float | ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> NDArray[Any] | Any | None:
        """Predict rows, and learn those whose labels have arrived.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), dict or list of dict
            Rows in the order of their arrival. The keys of dictionaries are columns.
            The first call, or the fitted estimator, determines which columns there are
            and which of them are categorical, as in :class:`OneByOne`.
        y : array-like of shape (n_samples,), or a label if X is one dictionary
            Labels. Labels that never arrive are ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the estimator and in the metrics.
        delay : float or array-like of shape (n_samples,), default=None
            Delay of the label of each row, see :func:`iter_prequential`. None takes the
            `delay` of the evaluator.
        time : array-like of shape (n_samples,), default=None
            Arrival times of the rows, either in all calls or in none.

        Returns
        -------
        ndarray of shape (n_samples,), label or None
            Labels predicted when the rows arrived, a single one if X is one dictionary;
            None for rows that arrived before there was a model. None without
            predictions.

        Raises
        ------
        ValueError
            If the rows are invalid, or a label is not in `classes_` and cannot be
            added. The metrics are then unchanged, and so is the estimator if it
            validates its input before it learns the first row.
        """
        rows = dictionaries_in(X)  # a list of them, None if X is a table
        if rows is None:
            return self._learn(*checked_rows(X, y, sample_weight), delay, time)
        is_single = rows[0] is X
        if is_single:
            y = exact_labels([y])  # prevents that conversion to an array rounds labels
            sample_weight, time = (
                None if value is None else [value] for value in (sample_weight, time)
            )
        _, y, weight = checked_rows(rows, y, sample_weight)
        # a failed first call does not determine the columns
        dictionaries = copy.copy(self._dictionaries) or DictConverter(self.estimator)
        table = dictionaries.table(rows)
        try:
            predicted = self._learn(table, y, weight, delay, time)
        finally:
            if self._n_arrived:
                self._dictionaries = dictionaries
        return (
            predicted if predicted is None or not is_single else predicted.tolist()[0]
        )

    @learns
    def finish(self) -> None:
        """Learn all pending labels, at the end of a stream."""
        if self.n_waiting_:
            self._check_has_estimator()
            # all labels arrive up to a last time, which is infinite
            self._step(DelayedStep(self), np.array([NEVER]), last_is_over=True)

    def _check_has_estimator(self):
        if self.estimator is None:
            raise ValueError(
                "This evaluator was stored without its estimator. Set the attribute "
                "'estimator' to the estimator."
            )

    def _learn(self, X, y, weight, delay=None, time=None):
        """Do the same as `update` with rows that `checked_rows` has validated."""
        self._check_has_estimator()
        if not len(y):
            return None
        if (time is not None) != self._by_time and self._n_arrived:
            raise ValueError(
                "time must be passed in all calls of update, or in none. The calls "
                f"before had {'a' if self._by_time else 'no'} time."
            )
        if weight is not None:
            self._check_accepts("sample_weight")
            with np.errstate(over="ignore"):
                total = self._baselines.counts.sum() + weight.sum()
                total += np.nansum(self._waiting.entries["weight"])
            if not total <= MAX_WEIGHT:
                raise ValueError(
                    f"sample_weight must sum to at most {MAX_WEIGHT:g} over all calls. "
                    f"Got {total:g}. Divide all weights by a constant."
                )
        delay = self.delay if delay is None else delay
        is_delayed = time is not None or np.any(delay) or self.n_waiting_
        needs_rows = self._computes_proba and self._per_row
        before = {name: vars(self)[name] for name in CLASS_DEPENDENT}
        n_before = self.n_rows_, self._n_arrived
        try:
            if is_delayed or (needs_rows and not self._returns_proba()):
                return self._learn_delayed(X, y, weight, delay, time)
            return self._learn_undelayed(X, y, weight)
        except BaseException:
            if (self.n_rows_, self._n_arrived) == n_before:
                vars(self).update(before)  # without new classes
            raise

    def _learn_delayed(self, X, y, weight, delay, when):
        n, first = len(y), self._n_arrived
        time, due = arrival_times(when, delay, n, first, self._last_time)
        arrives = due < NEVER
        true = self._encode_new(y[arrives], np.flatnonzero(arrives))
        step = DelayedStep(self, X, n, first, arrives)
        step.add_rows(due, true, weight)
        if hasattr(self.estimator, "classes_"):
            self.estimator.predict(X)  # raises errors before the first row is learned
        self._by_time = when is not None
        self._step(step, time, last_is_over=when is None)
        if not (step.predictions >= 0).any():
            return None
        predictions = self.classes_.take(step.predictions)
        if (step.predictions < 0).any():
            predictions = predictions.astype(object)
            predictions[step.predictions < 0] = None
        return predictions

    def _step(self, step, when, *, last_is_over):
        # Execute a step and commit its results, also those before an error. `when` and
        # `last_is_over` are the arguments of `schedule`.
        start, window = time.process_time(), self._window
        try:
            step.execute(when, last_is_over)
            step.commit(start)
        except BaseException:
            if self._window is window:  # nothing is committed yet
                step.commit(start)
            raise
        finally:
            if step.n_predicted:
                self._last_time = float(when[step.n_predicted - 1])

    def _learn_undelayed(self, X, y, weight):
        true, arguments = self._encode_new(y), self._arguments(weight)
        fitted = hasattr(self.estimator, "classes_")
        n_rows, seen = self.n_rows_, self._n_rows_seen()
        start = time.process_time()
        predicted = proba = None
        try:
            if self._per_row:
                predicted, proba = self._predict_and_learn(X, y, arguments)
            else:
                if fitted:
                    predicted, proba = self._predict(X)
                self.estimator.partial_fit(X, y, **arguments)
            self._commit_undelayed(true, predicted, weight, start, proba)
            self._notify(predicted, proba)
        except BaseException:
            if self.n_rows_ == n_rows:
                n = self._n_learned(seen, weight, len(y))
                parts = [
                    None if part is None else part[:n]
                    for part in (true, predicted, weight)
                ]
                proba = None if proba is None else proba[:n]
                self._commit_undelayed(*parts, start, proba)
            raise
        return None if predicted is None else self.classes_.take(predicted)

    def _predict_and_learn(self, X, y, arguments):
        """Predict each row before it is learned; return the same as `_predict`."""
        if not self._computes_proba:
            predicted = self.estimator.partial_fit_predict(X, y, **arguments)
            return self._encode(np.asarray(predicted)), None
        proba = self.estimator.partial_fit_predict(X, y, **arguments, return_proba=True)
        proba = self._aligned(proba)
        return proba.argmax(axis=1), proba

    def _can_predict_and_learn(self):
        """Whether the estimator can predict and learn in one call, and is unfitted."""
        return (
            self._per_row
            and not hasattr(self.estimator, "classes_")
            and (not self._computes_proba or self._returns_proba())
        )

    def _predict(self, X):
        """Return class indices, and probabilities if a metric needs them, else None."""
        predicted = self._encode(np.asarray(self.estimator.predict(X)))
        if not self._computes_proba:
            return predicted, None
        return predicted, self._aligned(self.estimator.predict_proba(X))

    def _aligned(self, proba):
        # Add columns of zeros for classes that the model does not know yet, because
        # their labels are delayed.
        n = len(self.classes_)
        if proba.shape[1] == n:
            return proba
        return spread(proba, np.searchsorted(self.classes_, self.estimator.classes_), n)

    def _arguments(self, weight):
        # Keyword arguments of `partial_fit` besides rows and labels.
        arguments = {} if weight is None else {"sample_weight": weight}
        if self._adds_classes:
            arguments["new_classes"] = "add"
        elif not hasattr(self.estimator, "classes_"):
            arguments["classes"] = self.classes_
        return arguments

    def _returns_proba(self):
        method = self.estimator.partial_fit_predict
        return "return_proba" in signature(method).parameters

    def _n_rows_seen(self):
        # Number of rows that the estimator has learned; None if it does not count them.
        seen = getattr(self.estimator, "n_rows_seen_", 0)
        return seen if is_count(seen) else None

    def _n_learned(self, seen, weight, n_rows):
        # Number of rows that the estimator has learned in a failed call; `seen` is the
        # number of rows before the call.
        now = self._n_rows_seen()
        if None in (seen, now) or now <= seen:
            return 0
        # rows of weight 0 are not learned
        rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
        return n_rows if now - seen >= len(rows) else int(rows[now - seen - 1]) + 1

    def _commit_undelayed(self, true, predicted, weight, start, proba):
        if not len(true):
            return
        baselines, tested = self._baselines.copy(), None
        no_change, majority = baselines.predict_and_update(true, weight)
        if predicted is not None:
            tested = (true, predicted, no_change, majority), weight, proba
        self._commit(start, len(true), baselines, tested)

    def _commit(self, start, n_learned, baselines, tested, **attributes):
        """Update the metrics and further attributes in one assignment.

        `tested`, unless None, has three elements for the tested rows: the class codes
        that are arguments of `Tally.add`, the weights, and the class probabilities.
        `start` is the CPU time at which the update began.
        """
        window, predictions, n_tested = self._window.copy(), self._predictions, 0
        if tested is not None:
            parts, weight, proba = tested
            window.add(*parts, weight)
            n_tested = len(parts[0])
            if self._scorers and n_tested:
                predictions = predictions.add(*parts[:2], proba, weight)
        vars(self).update(
            n_rows_=self.n_rows_ + n_learned,
            n_tested_=self.n_tested_ + n_tested,
            cpu_seconds_=self.cpu_seconds_ + time.process_time() - start,
            _window=window,
            _baselines=baselines,
            _predictions=predictions,
            **attributes,
        )

    @learns
    def report(self) -> PrequentialRecord:
        """Return the metrics so far and start a new window.

        Returns
        -------
        PrequentialRecord
            Metrics of the window and of the whole stream.
        """
        total = self._total.copy()
        total.merge(self._window)
        window = self._window.metrics(self._positive)
        n_bytes, n_leaves = getattr(self.estimator, "n_bytes_", None), None
        if hasattr(self.estimator, "classes_"):
            if hasattr(self.estimator, "get_n_leaves"):
                n_leaves = int(self.estimator.get_n_leaves())
        record = PrequentialRecord(
            n_rows=self.n_rows_,
            n_tested=self.n_tested_,
            **total.metrics(self._positive),
            **{f"window_{name}": value for name, value in window.items()},
            n_leaves=n_leaves,
            n_bytes=None if n_bytes is None else int(n_bytes),
            cpu_seconds=self.cpu_seconds_,
            n_waiting=self.n_waiting_,
            window_scores=self._predictions.scores(
                self._scorers, self.classes_, self._positive
            ),
        )
        vars(self).update(
            _total=total, _window=Tally(len(self.classes_)), _predictions=Predictions()
        )
        return record

    def _resolve_positive(self, pos_label):
        if pos_label is None:
            return None
        matches = np.flatnonzero(self.classes_ == pos_label)
        if not len(matches) and self._adds_classes:
            return None
        if not len(matches):
            raise ValueError(
                f"pos_label must be one of the classes {_shown(self.classes_)}. Got "
                f"{pos_label!r} instead."
            )
        return int(matches[0])

    def _encode_new(self, y, rows=None):
        """Encode labels of the stream, which may become classes."""
        if not self._adds_classes:
            return self._encode(y, rows)
        # an estimator that was also trained elsewhere may have further classes
        known = getattr(self.estimator, "classes_", self.classes_)
        if not set(self.classes_.tolist()).issuperset([*y.tolist(), *known.tolist()]):
            before, labels = self.classes_, np.unique(y)
            for others in (before, known):
                labels = np.union1d(others, labels) if len(others) else labels
            self.classes_, n = labels, len(labels)
            self._positive = self._resolve_positive(self.pos_label_)
            at = np.append(np.searchsorted(labels, before), -1)
            for name in PER_CLASS:
                setattr(self, name, vars(self)[name].with_classes(at, n))
            self._waiting = self._waiting.with_classes(
                at, n if self._needs_proba else 0
            )
        return self._encode(y, rows)

    def _encode(self, y, rows=None):
        """Encode labels as class indices; `rows`: their row numbers in a call."""
        classes = self.classes_
        if classes.dtype.kind in "biuf" and y.dtype.kind in "biuf":
            codes, unknown = find_labels(classes, y)
        else:
            index = {label: i for i, label in enumerate(classes.tolist())}
            codes = np.array([index.get(label, -1) for label in y.tolist()], np.intp)
            unknown = codes < 0
        if unknown.any():
            i = int(unknown.argmax())
            row = self._n_arrived + (i if rows is None else int(rows[i]))
            raise ValueError(
                f"Row {row} of the stream (the first is row 0) has the label "
                f"{y[i : i + 1].tolist()[0]!r}, which is not one of the classes "
                f"{_shown(classes)}."
            )
        return codes

    def _check_accepts(self, name):
        method = "partial_fit_predict" if self._per_row else "partial_fit"
        parameters = signature(getattr(self.estimator, method)).parameters
        if name not in parameters and all(
            parameter.kind is not parameter.VAR_KEYWORD
            for parameter in parameters.values()
        ):
            raise TypeError(
                f"{type(self.estimator).__name__}.{method} does not support {name}."
            )


def checked_rows(X, y, weight):
    """Validate labels and weights of rows, and convert them to arrays."""
    y = column_or_1d(exact_labels(y), warn=True)  # without rounding any label
    if weight is not None:
        try:
            weight = column_or_1d(weight, dtype=np.float64)
        except OverflowError as error:
            raise ValueError(
                "sample_weight contains a number that is too large for float64."
            ) from error
        if not np.isfinite(weight).all() or (weight < 0.0).any():
            raise ValueError(
                "sample_weight must be finite and not negative. Got values from "
                f"{weight.min()} to {weight.max()}."
            )
    check_consistent_length(X, y, weight)
    return X, y, weight


def adds_classes(estimator):
    """Whether labels become classes of this estimator: unfitted trees and forests."""
    # `len` stands for any function without the parameter `new_classes`
    names = signature(getattr(estimator, "partial_fit_predict", len)).parameters
    return "new_classes" in names and not hasattr(estimator, "classes_")


def resolve_classes(estimator, classes, noun):
    """Return the classes of a stream in ascending order.

    `noun` is the word for the estimator in error messages.
    """
    known = getattr(estimator, "classes_", None)
    if classes is None:
        if known is None:
            raise ValueError(
                f"classes must list all labels of the stream, as the {noun} is not "
                "fitted yet."
            )
        return np.unique(known)
    classes = np.unique(column_or_1d(exact_labels(classes)))
    if not len(classes):
        raise ValueError(
            "classes must not be empty. Pass all labels of the stream, or None."
        )
    # Each class twice, to avoid a warning about many unique labels.
    check_classification_targets(np.tile(classes, 2))
    if known is not None and not np.array_equal(classes, np.unique(known)):
        raise ValueError(
            f"classes must be those of the fitted {noun}, {_shown(known)}. Got "
            f"{_shown(classes)} instead."
        )
    return classes


def _shown(classes, max_shown=10):
    shown = [repr(label) for label in np.asarray(classes)[:max_shown].tolist()]
    return f"[{', '.join(shown)}{', ...' if len(classes) > max_shown else ''}]"
