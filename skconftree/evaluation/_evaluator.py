"""A prequential evaluation: its steps, its report and its state."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..tables._labels import exact_labels, find_labels
from ..utils._available import absence_error
from ..utils._codec import NO_DEFAULT, is_count, with_version, without_version
from ..utils._lock import Lockable, learns, reads
from ..utils._types import Estimator, LabelsLike, TableLike
from ._delayed_labels import NEVER, DelayedStep, Waiting, timed
from ._metrics import (
    Baselines,
    Predictions,
    Tally,
    cohen_kappa,
    need_proba,
    resolved_scorers,
)

MAX_WEIGHT = 1e300  # of all rows of a run: figures are finite

SETTINGS = {"estimator": NO_DEFAULT, "delay": 0}
PARTS = {
    "_total": Tally,
    "_window": Tally,
    "_baselines": Baselines,
    "_predictions": Predictions,
    "_waiting": Waiting,
}


def write_parts(state):
    """A state whose parts are arrays and plain values: no object but estimators."""
    parts = {name: state.get(name) for name in PARTS}
    return state | {
        name: vars(part) for name, part in parts.items() if type(part) is PARTS[name]
    }


def read_parts(state):
    """A state with the objects of which `write_parts` has written what they hold."""
    made = dict(state)
    for name, kind in PARTS.items():
        if isinstance(state.get(name), dict):
            made[name] = kind.__new__(kind)
            vars(made[name]).update(state[name])
    return made


@dataclass(frozen=True, slots=True)
class PrequentialRecord:
    """How an estimator does on a stream, up to one row of it.

    Figures called ``window_...`` are those of the rows since the record before this
    one, all others those of the whole stream. Where weights are given, every row counts
    with its weight. A figure that is not defined is NaN: any of a stream without a
    tested row, kappa where chance alone is always right, F1 where no class was named.

    Parameters
    ----------
    n_rows : int
        Rows learnt.
    n_tested : int
        Rows that were predicted before they were learnt.
    accuracy, window_accuracy : float
        Share of the tested rows whose prediction was right.
    balanced_accuracy, window_balanced_accuracy : float
        Mean of the shares of each class that were right, over the classes that came.
    geometric_mean, window_geometric_mean : float
        Geometric mean of these shares: 0 if a class is never found.
    kappa, window_kappa : float
        Cohen's kappa: what is gained over chance with the same shares of classes.
    f1, window_f1 : float
        F1 of the class `pos_label`; 0 where it is neither predicted nor present.
    no_change_accuracy, window_no_change_accuracy : float
        Accuracy of predicting for each row the label that came last: without a delay
        that of the row before it.
    majority_accuracy, window_majority_accuracy : float
        Accuracy of predicting the class that was most frequent among the labels before.
    n_leaves : int or None
        Leaves of the model, if it has `get_n_leaves`.
    n_bytes : int or None
        Bytes that the model holds, if it has `n_bytes_`.
    cpu_seconds : float
        CPU time that the estimator has used, predictions included.
    n_waiting : int
        Rows that were predicted and whose labels have not come yet.
    window_scores : dict of str to float
        What `scoring` asks for, of the rows since the record before this one.

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

    Iris is sorted by class. Whoever repeats the label before does better:

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
        """Accuracy gained over `no_change_accuracy`, as a share of what could be."""
        return cohen_kappa(self.accuracy, self.no_change_accuracy)

    @property
    def window_kappa_temporal(self) -> float:
        """The same since the record before this one."""
        return cohen_kappa(self.window_accuracy, self.window_no_change_accuracy)

    @property
    def kappa_majority(self) -> float:
        """Accuracy gained over `majority_accuracy`, as a share of what could be."""
        return cohen_kappa(self.accuracy, self.majority_accuracy)


class PrequentialEvaluator(Lockable):
    """Test an estimator on rows, then let it learn them, and keep the score.

    This is the loop body of :func:`iter_prequential`, for streams that come row by row
    or piece by piece from somewhere else. A run can be pickled between two calls, model
    and figures together, and goes on as if nothing had happened.

    An estimator with `partial_fit_predict` (the trees of this package) is tested on
    every row right before it learns that row, however many come at a time. Any other
    classifier with `partial_fit` first predicts all rows of a call, then learns them
    all; if it is not fitted yet, the rows of the first call are learnt only, not
    tested.

    Figures change all together or not at all. If a call ends early (Ctrl-C, no memory),
    `n_rows_`, with `n_waiting_` and `n_unlabelled_` if labels come late, leads to the
    row to go on with: rows count as far as the `n_rows_seen_` of
    the estimator says that it has learnt them, as that of the models of this package
    does. They count as learnt, and as tested only if all of them had been predicted
    before. Of another estimator nobody knows what it has learnt, and the figures are
    those before the call.

    Any number of threads may share a run: a call of `update` or `report` keeps the
    others waiting. Pickles and copies are those of a run between two calls.

    Parameters
    ----------
    estimator : classifier with `partial_fit_predict`, or `partial_fit` and `predict`
        It is trained in place.
    classes : array-like of shape (n_classes,), default=None
        All labels of the stream. None takes those the estimator has been fitted
        with.
    pos_label : label, default=None
        The class whose F1 is reported. None takes the second of two classes; with any
        other number of classes F1 is then NaN.
    scoring : str, callable or list of them, default=None
        What else is reported, see :func:`iter_prequential`.
    delay : int or float, default=0
        How long a label takes: as many further rows, or that time if `update` is told
        when rows come. `update` may be given other delays.

    Attributes
    ----------
    estimator : object
        The estimator given.
    classes_ : ndarray of shape (n_classes,)
        Labels in ascending order.
    pos_label_ : label or None
        The class whose F1 is reported.
    n_rows_ : int
        Rows learnt in this run.
    n_tested_ : int
        Those of them that were predicted first.
    n_waiting_ : int
        Rows predicted whose labels have not come yet.
    n_unlabelled_ : int
        Rows predicted whose labels never come.
    cpu_seconds_ : float
        CPU time used by the estimator.

    Raises
    ------
    TypeError
        If the estimator cannot learn from a stream.
    ValueError
        If the classes are not known, or not those of the estimator.

    See Also
    --------
    iter_prequential : The same over arrays, or over an iterable of pieces.

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
            hint = "Pass its model: it gets dictionaries as tables."
            raise TypeError(
                "estimator must have partial_fit_predict, or partial_fit and predict. "
                f"Got {estimator!r} instead: {absent} "
                f"{hint if hasattr(estimator, 'model') else ''}".rstrip()
            ) from absent
        self.estimator = estimator
        self.classes_ = resolve_classes(estimator, classes, "estimator")
        if pos_label is None and len(self.classes_) == 2:
            pos_label = self.classes_.tolist()[1]
        self.pos_label_ = pos_label
        self._positive = self._resolve_positive(pos_label)
        timed(None, delay, 1, 0, 0.0)
        self.delay = delay
        self._scorers = resolved_scorers(scoring)
        self._asks_proba = need_proba(self._scorers, self.classes_)
        if self._asks_proba and not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"scoring needs predict_proba, which {type(estimator).__name__} does "
                "not have."
            )
        self.n_rows_ = 0
        self.n_tested_ = 0
        self.n_unlabelled_ = 0
        self.cpu_seconds_ = 0.0
        self._total = Tally(len(self.classes_))
        self._window = Tally(len(self.classes_))
        self._baselines = Baselines(len(self.classes_))
        self._predictions = Predictions()
        self._waiting = Waiting(len(self.classes_) if self._asks_proba else 0)
        self._by_time = False  # whether rows say when they come
        self._last_time = -NEVER

    def __repr__(self):
        classes = self.classes_.tolist()
        return f"{type(self).__name__}({self.estimator!r}, classes={classes})"

    @property
    def n_waiting_(self) -> int:
        """Rows predicted whose labels have not come yet."""
        return len(self._waiting)

    @property
    def _n_come(self):
        return self.n_rows_ + self.n_waiting_ + self.n_unlabelled_

    @property
    def _per_row(self):
        return hasattr(self.estimator, "partial_fit_predict")

    @reads
    def __getstate__(self):
        # The estimator and its figures are written one after the other: of one moment.
        return with_version(write_parts(copy.deepcopy(super().__getstate__())))

    def __setstate__(self, state):
        state = without_version(state, SETTINGS, type(self).__name__)
        vars(self).update(read_parts(state))

    @learns
    def update(
        self,
        X: TableLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        *,
        delay: float | ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> NDArray[Any] | None:
        """Predict rows, and learn those whose labels come meanwhile.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels. That of a row whose label never comes is not looked at.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the estimator and in the figures.
        delay : float or array-like of shape (n_samples,), default=None
            How long the label of each row takes, see :func:`iter_prequential`. None
            takes the `delay` of the run.
        time : array-like of shape (n_samples,), default=None
            When the rows come. In a run either all rows say so, or none does.

        Returns
        -------
        ndarray of shape (n_samples,) or None
            Predicted labels, each made when its row came; None for a row that came
            before there was a model, or if there is no other.

        Raises
        ------
        ValueError
            If the rows are not valid, or a label is not among the classes. The figures
            are then those before the call; so is the estimator, if it keeps the rule
            that an error in the input is found before the first row is learnt.
        """
        return self._learn(*checked_rows(X, y, sample_weight), delay, time)

    @learns
    def finish(self) -> None:
        """Let all labels come that are on their way: those at the end of a stream."""
        if self.n_waiting_:
            self._check_there()
            self._step(DelayedStep(self), np.array([NEVER]), last_is_over=True)

    def _check_there(self):
        if self.estimator is None:
            raise ValueError(
                "This run has been kept without its estimator. Set the attribute "
                "'estimator' to the one it was of."
            )

    def _learn(self, X, y, weight, delay=None, time=None):
        """Do `update` with what `checked_rows` gives."""
        self._check_there()
        if not len(y):
            return None
        if (time is not None) != self._by_time and self._n_come:
            raise ValueError("time must be given for all rows of a run, or for none.")
        if weight is not None:
            self._check_accepts("sample_weight")
            with np.errstate(over="ignore"):
                total = self._baselines.counts.sum() + weight.sum()
                total += np.nansum(self._waiting.entries["weight"])
            if not total <= MAX_WEIGHT:
                raise ValueError(
                    f"sample_weight must sum to at most {MAX_WEIGHT:g} in a run."
                )
        delay = self.delay if delay is None else delay
        if time is None and not np.any(delay) and not self.n_waiting_:
            if not (self._asks_proba and self._per_row) or self._tells_proba():
                return self._learn_at_once(X, y, weight)
        return self._learn_late(X, y, weight, delay, time)

    def _learn_late(self, X, y, weight, delay, when):
        n, first = len(y), self._n_come
        time, due = timed(when, delay, n, first, self._last_time)
        comes = due < NEVER
        step = DelayedStep(self, X, n, first, comes)
        step.expect(due, self._encode(y[comes], np.flatnonzero(comes)), weight)
        if hasattr(self.estimator, "classes_"):
            self.estimator.predict(X)  # what is wrong is said before the first row
        self._by_time = when is not None
        self._step(step, time, last_is_over=when is None)
        if not (step.told >= 0).any():
            return None
        predictions = self.classes_.take(step.told)
        if (step.told < 0).any():
            predictions = predictions.astype(object)
            predictions[step.told < 0] = None
        return predictions

    def _step(self, step, when, *, last_is_over):
        start, window = time.process_time(), self._window
        try:
            step.go(when, last_is_over)
            step.count(start)
        except BaseException:
            if self._window is window:
                step.count(start)
            raise
        finally:
            if step.n_asked:
                self._last_time = float(when[step.n_asked - 1])

    def _learn_at_once(self, X, y, weight):
        true = self._encode(y)
        given = {} if weight is None else {"sample_weight": weight}
        fitted = hasattr(self.estimator, "classes_")
        if not fitted:
            given["classes"] = self.classes_
        n_rows, seen = self.n_rows_, self._n_rows_seen()
        start = time.process_time()
        predicted = proba = None
        try:
            if self._per_row:
                predicted, proba = self._meet(X, y, given)
            else:
                if fitted:
                    predicted, proba = self._ask(X)
                self.estimator.partial_fit(X, y, **given)
            self._count_at_once(true, predicted, weight, start, proba)
        except BaseException:
            if self.n_rows_ == n_rows:
                n = self._n_learned(seen, weight, len(y))
                parts = [
                    None if part is None else part[:n]
                    for part in (true, predicted, weight)
                ]
                proba = None if proba is None else proba[:n]
                self._count_at_once(*parts, start, proba)
            raise
        return None if predicted is None else self.classes_.take(predicted)

    def _meet(self, X, y, given):
        """As `_ask`, and let the estimator learn each row after it was asked."""
        if not self._asks_proba:
            told = self.estimator.partial_fit_predict(X, y, **given)
            return self._encode(np.asarray(told)), None
        proba = self.estimator.partial_fit_predict(X, y, **given, return_proba=True)
        return proba.argmax(axis=1), proba

    def _can_meet(self):
        """Whether it can do so, and has met no row before."""
        return (
            self._per_row
            and not hasattr(self.estimator, "classes_")
            and (not self._asks_proba or self._tells_proba())
        )

    def _ask(self, X):
        """Classes that the estimator predicts, and probabilities if they are needed."""
        predicted = self._encode(np.asarray(self.estimator.predict(X)))
        proba = self.estimator.predict_proba(X) if self._asks_proba else None
        return predicted, proba

    def _tells_proba(self):
        method = self.estimator.partial_fit_predict
        return "return_proba" in signature(method).parameters

    def _n_rows_seen(self):
        # None if the estimator does not count them.
        seen = getattr(self.estimator, "n_rows_seen_", 0)
        return seen if is_count(seen) else None

    def _n_learned(self, seen, weight, n_rows):
        # How many rows of a call that has failed the estimator has learnt.
        now = self._n_rows_seen()
        if None in (seen, now) or now <= seen:
            return 0
        # rows of weight 0 are not learnt
        rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
        return n_rows if now - seen >= len(rows) else int(rows[now - seen - 1]) + 1

    def _count_at_once(self, true, predicted, weight, start, proba):
        if not len(true):
            return
        baselines, tested = self._baselines.copy(), None
        no_change, majority = baselines.learn(true, weight)
        if predicted is not None:
            tested = (true, predicted, no_change, majority), weight, proba
        self._count(start, len(true), baselines, tested)

    def _count(self, start, n_learned, baselines, tested, **more):
        """Count rows, some of them tested (classes, weight, probabilities), at once."""
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
            **more,
        )

    @learns
    def report(self) -> PrequentialRecord:
        """Give the figures so far and begin a new window.

        Returns
        -------
        PrequentialRecord
        """
        total = self._total.copy()
        total.merge(self._window)
        window = self._window.figures(self._positive)
        n_bytes, n_leaves = getattr(self.estimator, "n_bytes_", None), None
        if hasattr(self.estimator, "classes_"):
            if hasattr(self.estimator, "get_n_leaves"):
                n_leaves = int(self.estimator.get_n_leaves())
        record = PrequentialRecord(
            n_rows=self.n_rows_,
            n_tested=self.n_tested_,
            **total.figures(self._positive),
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
        place = np.flatnonzero(self.classes_ == pos_label)
        if not len(place):
            raise ValueError(
                f"pos_label must be one of the classes {_shown(self.classes_)}. Got "
                f"{pos_label!r} instead."
            )
        return int(place[0])

    def _encode(self, y, rows=None):
        """Turn labels into class indices; `rows`: their places in a call."""
        classes = self.classes_
        if classes.dtype.kind in "biuf" and y.dtype.kind in "biuf":
            place, unknown = find_labels(classes, y)
        else:
            index = {label: i for i, label in enumerate(classes.tolist())}
            place = np.array([index.get(label, -1) for label in y.tolist()], np.intp)
            unknown = place < 0
        if unknown.any():
            place = int(unknown.argmax())
            row = self._n_come + (place if rows is None else int(rows[place]))
            raise ValueError(
                f"Row {row} of the stream (the first is row 0) has the "
                f"label {y[place : place + 1].tolist()[0]!r}, which is not one of the "
                f"classes {_shown(classes)}."
            )
        return place

    def _check_accepts(self, name):
        method = "partial_fit_predict" if self._per_row else "partial_fit"
        parameters = signature(getattr(self.estimator, method)).parameters
        if name not in parameters and all(
            one.kind is not one.VAR_KEYWORD for one in parameters.values()
        ):
            raise TypeError(
                f"{type(self.estimator).__name__}.{method} does not support {name}."
            )


def checked_rows(X, y, weight):
    """Check that labels and weights belong to the rows, and make arrays of them."""
    y = column_or_1d(exact_labels(y), warn=True)
    if weight is not None:
        try:
            weight = column_or_1d(weight, dtype=np.float64)
        except OverflowError as error:
            raise ValueError(
                "sample_weight holds a number that is too large for float64."
            ) from error
        if not np.isfinite(weight).all() or (weight < 0.0).any():
            raise ValueError("sample_weight must be finite and not negative.")
    check_consistent_length(X, y, weight)
    return X, y, weight


def resolve_classes(estimator, classes, noun):
    """Labels of a stream, in ascending order; messages call the model by a noun."""
    known = getattr(estimator, "classes_", None)
    if classes is None:
        if known is None:
            raise ValueError(
                f"classes must list all labels of the stream, as the {noun} is not "
                "fitted yet."
            )
        return np.unique(known)
    classes = np.unique(column_or_1d(exact_labels(classes)))
    # Twice, as many labels that come once each are warned about.
    check_classification_targets(np.tile(classes, 2))
    if known is not None and not np.array_equal(classes, np.unique(known)):
        raise ValueError(
            f"classes must be those of the fitted {noun}, {_shown(known)}. Got "
            f"{_shown(classes)} instead."
        )
    return classes


def _shown(classes, most=10):
    shown = [repr(one) for one in np.asarray(classes)[:most].tolist()]
    return f"[{', '.join(shown)}{', ...' if len(classes) > most else ''}]"
