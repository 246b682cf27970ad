"""Prequential (test-then-train) evaluation of a whole stream.

A row is *tested* if it is predicted before its label is learned. A *run* is a
`PrequentialEvaluator`, which evaluates a stream chunk by chunk. A *record* has the
metrics so far. "No change" predicts the last label, and "majority" the most frequent
label so far: these are the baselines of "temporal" and "majority" kappa.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar

from ..tables._dictionaries import DictConverter
from ..utils._types import Estimator, LabelsLike, TableLike
from ._evaluator import PrequentialEvaluator, arrival_times, checked_rows, slice_rows
from ._metrics import STREAM_METRICS, Predictions, resolved_scorers

if TYPE_CHECKING:
    from ._evaluator import PrequentialRecord

REPORT_EVERY = 1000  # rows between two records, by default
SCORES = (  # metrics of a record that `prequential_score` can return
    "accuracy",
    "balanced_accuracy",
    "geometric_mean",
    "kappa",
    "f1",
    "kappa_temporal",
    "kappa_majority",
    "no_change_accuracy",
    "majority_accuracy",
)


def iter_prequential(
    estimator: Estimator,
    X: TableLike | Iterable[Any],
    y: LabelsLike | None = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    chunk_size: int = 1000,
    report_every: int = REPORT_EVERY,
    pos_label: Any = None,
    scoring: str | Callable[..., Any] | Sequence[Any] | None = None,
    delay: float | ArrayLike = 0,
    time: ArrayLike | None = None,
    verbose: int = 0,
) -> Iterator[PrequentialRecord]:
    """Prequential evaluation: test an estimator on each row, then train it on the row.

    Each row is used for testing before it is used for training, so that no data need
    to be held out and the metrics are unbiased at any time. Two baselines are reported:
    repeating the last label (`no_change_accuracy`) is accurate on streams with
    autocorrelated labels, such as prices and sensors, and predicting the most frequent
    class (`majority_accuracy`) on streams with a frequent class. A useful model is
    better than both.

    Parameters
    ----------
    estimator : classifier with `partial_fit_predict`, or `partial_fit` and `predict`
        It is trained in place from its current state; pass a copy made by
        :func:`sklearn.base.clone` to keep it unchanged. With `partial_fit_predict`
        (the trees of this package), each row is predicted after learning all previous
        rows, in compiled code, and the result does not depend on `chunk_size`. Other
        classifiers predict a chunk, then learn it; if they are not fitted, the first
        chunk is only learned, not tested.
    X : array-like of shape (n_samples, n_features), or iterable of chunks
        The stream. Without `y` an iterable, such as a generator, of tuples ``(X, y)``
        or ``(X, y, sample_weight)`` of any lengths, which is read incrementally. It may
        also yield single rows whose `X` is a dictionary, like the streams of river;
        they are joined to chunks, and the first chunk determines which columns are
        categorical.
    y : array-like of shape (n_samples,), default=None
        Labels.
    classes : array-like of shape (n_classes,), default=None
        All labels that may come. None takes those of `y`, or those that the estimator
        was fitted with. If `X` is an iterable and a tree or forest is not fitted, each
        label becomes a class when it first arrives.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for the estimator and in the metrics.
    chunk_size : int, default=1000
        Maximum number of rows that are passed to the estimator at a time. Larger chunks
        of an iterable are divided; smaller ones are not joined.
    report_every : int, default=1000
        Number of rows between records. Smaller values give more records. A chunk ends
        when a record is due.
    pos_label : label, default=None
        The class whose F1 is reported. None takes the second of two classes; with any
        other number of classes F1 is then NaN.
    scoring : str, callable or list of them, default=None
        Further metrics, reported in `window_scores`: ``"log_loss"``, ``"roc_auc"`` (of
        `pos_label`; with a number of classes other than two, the mean over all
        classes), or any scorer of scikit-learn that only uses predictions, by name or
        made by :func:`sklearn.metrics.make_scorer`. Predictions are stored until they
        are reported. With metrics of probabilities, forests and `OASISClassifier`, a
        linear classifier, are called once per row, which is slower.
    delay : int, float or array-like of shape (n_samples,), default=0
        Delay of labels: a number of rows, or in units of `time`. A row is predicted
        when it arrives, and learned and counted when its label arrives. All pending
        labels arrive at the end of the stream. NaN and infinity mark labels that never
        arrive: the row is predicted, but neither learned nor counted. An array requires
        `y`. An unfitted estimator predicts no row before the first label arrives.
    time : array-like of shape (n_samples,), default=None
        Arrival times of the rows, as non-decreasing numbers or dates. `delay` is then
        in the same units, or a time span. All rows of one time are predicted before a
        label that is due at this time is learned. None: one row per unit of time.
    verbose : int, default=0
        Whether to print a line for each record.

    Returns
    -------
    generator of PrequentialRecord
        Yields a record after each `report_every` rows, and one at the end of the
        stream. The estimator has then learned exactly ``n_rows`` rows of it.

    Raises
    ------
    TypeError
        If the estimator cannot learn from a stream.
    ValueError
        If an argument or a chunk is invalid; arguments are checked before the first
        row. If the source or a chunk raises an error, the estimator has learned the
        rows of all previous chunks and remains usable.

    See Also
    --------
    prequential_score : The final metrics only.
    PrequentialEvaluator : The same, with one call per chunk.

    References
    ----------
    Gama, Sebastiao and Rodrigues, "On evaluating stream learning algorithms", 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDClassifier
    >>> from skconftree.evaluation import iter_prequential
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 4))
    >>> y = np.where(X[:, 0] + X[:, 1] > 1, "high", "low")
    >>> model = SGDClassifier(random_state=0)
    >>> for record in iter_prequential(model, X, y, pos_label="high", chunk_size=100):
    ...     print(record.n_rows, round(record.accuracy, 2), round(record.f1, 2))
    1000 0.94 0.85
    2000 0.95 0.89
    3000 0.96 0.91
    >>> round(record.majority_accuracy, 2), round(record.no_change_accuracy, 2)
    (0.76, 0.62)
    """
    check_scalar(report_every, "report_every", Integral, min_val=1)
    stream = Stream(X, y, sample_weight, delay, time)
    run, chunks = _start(estimator, stream, classes, chunk_size, pos_label, scoring)
    return _records(run, chunks, int(chunk_size), int(report_every), verbose)


class Stream(NamedTuple):
    """Arguments that describe a stream or a chunk; `y` is None for an iterable."""

    X: object
    y: object
    weight: object = None
    delay: object = None
    time: object = None


def _start(estimator, stream, classes, chunk_size, pos_label, scoring):
    """Validate the arguments; return the evaluator and an iterable of chunks."""
    check_scalar(chunk_size, "chunk_size", Integral, min_val=1)
    X, y, weight, delay, time = stream
    if y is None:
        if weight is not None:
            raise ValueError(
                "sample_weight needs y; an iterable yields (X, y, sample_weight)."
            )
        if hasattr(X, "shape") or not hasattr(X, "__iter__"):
            raise ValueError(
                "y is missing: without it X must be an iterable of tuples (X, y). Got "
                f"{type(X).__name__} instead."
            )
        if time is not None or np.ndim(delay):
            raise ValueError(
                "time and an array of delays need y. Pass X and y as arrays."
            )
        chunks = X
    else:
        X, y, weight = checked_rows(X, y, weight)
        delays, at = np.asarray(delay), None if time is None else np.asarray(time)
        _, due = arrival_times(at, delays, len(y), first=0, before=-np.inf)
        if classes is None and not hasattr(estimator, "classes_"):
            classes = np.unique(y[np.isfinite(due)])
        if hasattr(X, "tocsr"):
            X = X.tocsr()  # other sparse formats cannot be sliced by rows
        chunks = [Stream(X, y, weight, delays if delays.ndim else None, at)]
        delay = 0 if delays.ndim else delay
    run = PrequentialEvaluator(
        estimator, classes=classes, pos_label=pos_label, scoring=scoring, delay=delay
    )
    return run, chunks


def _records(run, chunks, chunk_size, report_every, verbose, stored=None):
    # Yields the records. `stored`, unless None, is a list to which the predictions are
    # appended: an evaluator deletes those of earlier records.
    n_arrived = 0
    for stream in _joined_rows(run.estimator, chunks, chunk_size, report_every):
        X, *columns = stream
        start, n = 0, len(stream.y)
        while start < n:
            due = report_every - n_arrived % report_every  # rows until the next record
            stop = min(start + chunk_size, start + due, n)
            sliced = [None if col is None else col[start:stop] for col in columns]
            # as `run.update`, for rows that have been validated
            run._learn(slice_rows(X, start, stop), *sliced)
            n_arrived += stop - start
            start = stop
            if n_arrived % report_every == 0:
                yield _report(run, verbose, stored)
    if n_arrived % report_every or run.n_waiting_:
        run.finish()
        yield _report(run, verbose, stored)


def _joined_rows(estimator, chunks, chunk_size, report_every):
    # Yields chunks. Single rows (dictionaries) are joined to chunks, which end when a
    # record is due; the reader converts them to a table.
    n_arrived, rows, reader = 0, [], None

    def pop_chunk():
        X, y, weight = zip(*rows, strict=True)
        rows.clear()
        if set(weight) == {None}:
            weight = None
        else:
            weight = [1.0 if w is None else w for w in weight]
        _, y, weight = checked_rows(X, y, weight)
        return Stream(reader.table(X), y, weight)

    try:
        for chunk in chunks:
            if _is_row(chunk):
                reader = DictConverter(estimator) if reader is None else reader
                rows.append(chunk if len(chunk) == 3 else (*chunk, None))
                n_arrived += 1
                if len(rows) == chunk_size or n_arrived % report_every == 0:
                    yield pop_chunk()
                continue
            if rows:
                yield pop_chunk()
            stream = chunk if isinstance(chunk, Stream) else _checked(chunk)
            n_arrived += len(stream.y)
            yield stream
    finally:  # learn the rows before an error of the source
        if rows:
            yield pop_chunk()


def _is_row(chunk):
    # Whether a chunk is a single row: a dictionary, its label, optionally its weight.
    return (
        isinstance(chunk, tuple)
        and len(chunk) in (2, 3)
        and isinstance(chunk[0], Mapping)
    )


def _checked(chunk):
    if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
        raise ValueError(
            "Each chunk of the stream must be a tuple (X, y) or (X, y, sample_weight). "
            f"Got {type(chunk).__name__} instead."
        )
    X, y, *weight = chunk
    if np.ndim(y) == 0:
        raise ValueError(
            "Each chunk of the stream must have rows and their labels; a single row "
            f"must be a dictionary. Got {type(X).__name__} of {y!r}."
        )
    return Stream(*checked_rows(X, y, weight[0] if weight else None))


def _report(run, verbose, stored):
    if stored is not None:
        stored += run._predictions.pieces
    record = run.report()
    if verbose:
        print(
            f"{record.n_rows} rows: accuracy {record.accuracy:.4f} "
            f"(since the last line {record.window_accuracy:.4f}; "
            f"previous label {record.no_change_accuracy:.4f}, "
            f"most frequent label {record.majority_accuracy:.4f})"
            + ("" if record.n_leaves is None else f", {record.n_leaves} leaves")
            + f", {record.cpu_seconds:.2f} CPU s",
            flush=True,
        )
    return record


def prequential_score(
    estimator: Estimator,
    X: TableLike | Iterable[Any],
    y: LabelsLike | None = None,
    *,
    scoring: str | Callable[..., Any] | Sequence[Any] = "accuracy",
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    chunk_size: int = 1000,
    pos_label: Any = None,
    delay: float | ArrayLike = 0,
    time: ArrayLike | None = None,
    verbose: int = 0,
) -> float | dict[str, float]:
    """Prequential score: test an estimator on each row, then train it on the row.

    Parameters
    ----------
    estimator : classifier with `partial_fit_predict`, or `partial_fit` and `predict`
        It is trained in place.
    X : array-like of shape (n_samples, n_features), or iterable of chunks
        As in :func:`iter_prequential`.
    y : array-like of shape (n_samples,), default=None
        Labels; None if `X` is an iterable.
    scoring : str, callable or list of them, default="accuracy"
        Metrics of :class:`PrequentialRecord`: ``"accuracy"``, ``"balanced_accuracy"``,
        ``"geometric_mean"``, ``"kappa"``, ``"f1"``, ``"kappa_temporal"``,
        ``"kappa_majority"``, ``"no_change_accuracy"``, ``"majority_accuracy"``. Or
        ``"log_loss"``, ``"roc_auc"``, and scorers of scikit-learn as in
        :func:`iter_prequential`, computed over all tested rows.
    classes : array-like of shape (n_classes,), default=None
        All labels that may come. None takes those of `y`, or those that the estimator
        was fitted with. If `X` is an iterable and a tree or forest is not fitted, each
        label becomes a class when it first arrives.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for the estimator and in the score.
    chunk_size : int, default=1000
        Maximum number of rows that are passed to the estimator at a time.
    pos_label : label, default=None
        The class of ``"f1"`` and ``"roc_auc"``. None takes the second of two classes.
    delay : int, float or array-like of shape (n_samples,), default=0
        Delay of labels, as in :func:`iter_prequential`.
    time : array-like of shape (n_samples,), default=None
        Arrival times of the rows, as in :func:`iter_prequential`.
    verbose : int, default=0
        Whether to print a line after every 1000 rows.

    Returns
    -------
    float or dict of str to float
        The score over all tested rows; a dict if `scoring` is a list.

    Raises
    ------
    TypeError
        If the estimator cannot learn from a stream.
    ValueError
        If an argument or a chunk is not valid, or if no row was tested: an estimator
        without `partial_fit_predict` that is not fitted yet only learns the first
        chunk.

    See Also
    --------
    iter_prequential : Metrics along the stream.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.utils import shuffle
    >>> from skconftree.evaluation import prequential_score
    >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
    >>> round(prequential_score(GaussianNB(), X, y, chunk_size=10), 3)
    0.943
    >>> scores = ["kappa", "majority_accuracy"]
    >>> prequential_score(GaussianNB(), X, y, scoring=scores, chunk_size=10)
    {'kappa': 0.914..., 'majority_accuracy': 0.285...}
    """
    is_single = isinstance(scoring, str) or callable(scoring)
    names = [scoring] if is_single else list(scoring)
    others = [name for name in names if callable(name) or name not in SCORES]
    scorers = _checked_scorers(others)
    stream = Stream(X, y, sample_weight, delay, time)
    run, chunks = _start(estimator, stream, classes, chunk_size, pos_label, others)
    if "f1" in names and run.pos_label_ is None:
        raise ValueError(
            "scoring='f1' needs pos_label, as there are "
            f"{len(run.classes_) or 'no declared'} classes. "
            "Pass the class whose F1 is computed."
        )
    stored = []
    records = _records(run, chunks, int(chunk_size), REPORT_EVERY, verbose, stored)
    *_, last = chain([None], records)
    if last is None or not last.n_tested:
        raise ValueError(
            "No row of the stream was tested. An estimator without partial_fit_predict "
            "that is not fitted yet only learns the first chunk, so chunk_size must be "
            "smaller than the stream."
        )
    scores = {
        name: getattr(last, name)
        for name in names
        if not callable(name) and name in SCORES
    }
    # `_positive` is the index of the class `pos_label`
    scores |= Predictions(stored).scores(scorers, run.classes_, run._positive)
    return next(iter(scores.values())) if is_single else scores


def _checked_scorers(names):
    scorers = {}
    for name in names:
        try:
            scorers |= resolved_scorers(name)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"scoring must be one of {[*SCORES, *STREAM_METRICS]}, a scorer of "
                f"scikit-learn, or a list of them. Got {name!r} instead."
            ) from error
    return scorers
