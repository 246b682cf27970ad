"""Test-then-train over a whole stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar

from ..utils._types import Estimator, LabelsLike, TableLike
from ._delayed_labels import part, timed
from ._evaluator import PrequentialEvaluator, checked_rows
from ._metrics import OWN, Predictions, resolved_scorers
from ._one_by_one import Dictionaries, is_row

if TYPE_CHECKING:
    from ._evaluator import PrequentialRecord

REPORT_EVERY = 1000  # rows between two records, unless the user says otherwise
SCORES = (
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
    """Test an estimator on each row of a stream, then let it learn the row.

    Every row is first a test and then a training row, so no data are set aside and the
    figures are honest at any time. What the model is compared with comes along: a
    stream whose labels depend on those before them, as prices and sensors do, is
    predicted well by repeating the last label (`no_change_accuracy`), and one with a
    frequent class by naming it (`majority_accuracy`). A model that does not beat both
    has learnt nothing.

    Parameters
    ----------
    estimator : classifier with `partial_fit_predict`, or `partial_fit` and `predict`
        It is trained in place, from the state it is in; use
        :func:`sklearn.base.clone` to keep it as it is. With `partial_fit_predict`
        (the trees of this package) every row is predicted by all rows before it, in
        compiled code, and `chunk_size` does not change the result. Any other classifier
        predicts a chunk, then learns it; if it is not fitted yet, the first
        chunk is learnt only and not tested.
    X : array-like of shape (n_samples, n_features), or iterable of chunks
        The stream. Without `y` an iterable, such as a generator, of tuples ``(X, y)``
        or ``(X, y, sample_weight)`` of any lengths, which is read as the run goes on.
        Also of single rows whose `X` is a dictionary, as streams of river are; they are
        joined to chunks, and the first chunk tells which columns are categories.
    y : array-like of shape (n_samples,), default=None
        Labels.
    classes : array-like of shape (n_classes,), default=None
        All labels that may come. None takes those of `y`, or those that the estimator
        was fitted with.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for the estimator and in the figures.
    chunk_size : int, default=1000
        Most rows that the estimator is given at a time. Chunks of an iterable are cut
        to it, never joined.
    report_every : int, default=1000
        Rows from one record to the next. A chunk ends where a record is due.
    pos_label : label, default=None
        The class whose F1 is reported. None takes the second of two classes; with any
        other number of classes F1 is then NaN.
    scoring : str, callable or list of them, default=None
        What else is reported, in `window_scores`: ``"log_loss"``, ``"roc_auc"`` (of
        `pos_label`; with other than two classes the mean over all classes) or any
        scorer of scikit-learn that needs predictions alone, by name or as
        :func:`sklearn.metrics.make_scorer` makes it. Predictions are kept until they
        are reported. A forest and OASIS tell probabilities in calls of one row.
    delay : int, float or array-like of shape (n_samples,), default=0
        How long a label takes: as many further rows, or in units of `time`. The row is
        predicted when it comes, and learnt and counted when its label does; at the end
        of the stream all that are on their way come. NaN and infinity are labels that
        never come: such a row is predicted, and neither learnt nor counted. An array
        needs `y`. An estimator that is not fitted yet predicts no row before the first
        label has come.
    time : array-like of shape (n_samples,), default=None
        When rows come, as numbers or dates, never earlier than the row before; `delay`
        is then in these units, or spans of time. Rows of one time are all predicted
        before a label that is due at this time is learnt. None: one row at a time.
    verbose : int, default=0
        Print a line for every record.

    Returns
    -------
    generator of PrequentialRecord
        Yields one after each `report_every` rows that have come, and one at the end of
        the stream. The estimator has then learnt ``n_rows`` rows of it, neither more
        nor less, and may be looked at.

    Raises
    ------
    TypeError
        If the estimator cannot learn from a stream.
    ValueError
        If an argument is not valid, or a chunk is not; what is wrong with the
        arguments is said before the first row. When the source or a chunk raises, the
        estimator has learnt the rows of all chunks before, and remains usable.

    See Also
    --------
    prequential_score : The last figures only.
    PrequentialEvaluator : The same, one call a chunk.

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
    """A stream as it is given, or a piece of it; `y` is None for an iterable."""

    X: object
    y: object
    weight: object = None
    delay: object = None
    time: object = None


def _start(estimator, stream, classes, chunk_size, pos_label, scoring):
    """Check the arguments; give the run and its chunks."""
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
            raise ValueError("time and an array of delays need y.")
        chunks = X
    else:
        X, y, weight = checked_rows(X, y, weight)
        delays, at = np.asarray(delay), None if time is None else np.asarray(time)
        _, due = timed(at, delays, len(y), 0, -np.inf)
        if classes is None and not hasattr(estimator, "classes_"):
            classes = np.unique(y[np.isfinite(due)])
        if hasattr(X, "tocsr"):
            X = X.tocsr()  # other sparse formats cannot be cut by rows
        chunks = [Stream(X, y, weight, delays if delays.ndim else None, at)]
        delay = 0 if delays.ndim else delay
    run = PrequentialEvaluator(
        estimator, classes=classes, pos_label=pos_label, scoring=scoring, delay=delay
    )
    return run, chunks


def _records(run, chunks, chunk_size, report_every, verbose, kept=None):
    # `kept` gets the predictions that a record forgets.
    n_come = 0
    for stream in _unpacked(run.estimator, chunks, chunk_size, report_every):
        X, *columns = stream
        start, n = 0, len(stream.y)
        while start < n:
            due = report_every - n_come % report_every
            stop = min(start + chunk_size, start + due, n)
            some = [None if one is None else one[start:stop] for one in columns]
            run._learn(part(X, start, stop), *some)
            n_come += stop - start
            start = stop
            if n_come % report_every == 0:
                yield _report(run, verbose, kept)
    if n_come % report_every or run.n_waiting_:
        run.finish()
        yield _report(run, verbose, kept)


def _unpacked(estimator, chunks, chunk_size, report_every):
    # Rows that come alone are joined, up to where a record is due.
    n_come, rows, read = 0, [], None

    def joined():
        X, y, weight = zip(*rows, strict=True)
        rows.clear()
        if set(weight) == {None}:
            weight = None
        else:
            weight = [1.0 if one is None else one for one in weight]
        _, y, weight = checked_rows(X, y, weight)
        return Stream(read.table(X), y, weight)

    try:
        for chunk in chunks:
            if is_row(chunk):
                read = Dictionaries(estimator) if read is None else read
                rows.append(chunk if len(chunk) == 3 else (*chunk, None))
                n_come += 1
                if len(rows) == chunk_size or n_come % report_every == 0:
                    yield joined()
                continue
            if rows:
                yield joined()
            stream = chunk if isinstance(chunk, Stream) else _checked(chunk)
            n_come += len(stream.y)
            yield stream
    finally:  # what came before an error of the source is learnt
        if rows:
            yield joined()


def _checked(chunk):
    if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
        raise ValueError(
            "Each chunk of the stream must be a tuple (X, y) or (X, y, sample_weight). "
            f"Got {type(chunk).__name__} instead."
        )
    X, y, *weight = chunk
    if np.ndim(y) == 0:
        raise ValueError(
            "Each chunk of the stream must have rows and their labels; a row that "
            f"comes alone must be a dictionary. Got {type(X).__name__} of {y!r}."
        )
    return Stream(*checked_rows(X, y, weight[0] if weight else None))


def _report(run, verbose, kept):
    if kept is not None:
        kept += run._predictions.pieces
    record = run.report()
    if verbose:
        print(
            f"{record.n_rows} rows: accuracy {record.accuracy:.4f} "
            f"(since the last line {record.window_accuracy:.4f}; "
            f"no change {record.no_change_accuracy:.4f}, "
            f"majority {record.majority_accuracy:.4f})"
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
    """Score of an estimator that is tested on each row of a stream, then learns it.

    Parameters
    ----------
    estimator : classifier with `partial_fit_predict`, or `partial_fit` and `predict`
        It is trained in place.
    X : array-like of shape (n_samples, n_features), or iterable of chunks
        As in :func:`iter_prequential`.
    y : array-like of shape (n_samples,), default=None
        Labels; None if `X` is an iterable.
    scoring : str, callable or list of them, default="accuracy"
        Figures of :class:`PrequentialRecord`: ``"accuracy"``, ``"balanced_accuracy"``,
        ``"geometric_mean"``, ``"kappa"``, ``"f1"``, ``"kappa_temporal"``,
        ``"kappa_majority"``, ``"no_change_accuracy"``, ``"majority_accuracy"``. Or
        ``"log_loss"``, ``"roc_auc"``, and the scorers of scikit-learn that
        :func:`iter_prequential` knows, of all tested rows.
    classes : array-like of shape (n_classes,), default=None
        All labels that may come. None takes those of `y`, or those that the estimator
        was fitted with.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for the estimator and in the score.
    chunk_size : int, default=1000
        Most rows that the estimator is given at a time.
    pos_label : label, default=None
        The class of ``"f1"`` and ``"roc_auc"``. None takes the second of two classes.
    delay : int, float or array-like of shape (n_samples,), default=0
        How long a label takes, as in :func:`iter_prequential`.
    time : array-like of shape (n_samples,), default=None
        When rows come, as in :func:`iter_prequential`.
    verbose : int, default=0
        Print a line after every 1000 rows.

    Returns
    -------
    float or dict of str to float
        The figure over all tested rows; a dict if `scoring` is a list.

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
    iter_prequential : Figures along the stream.

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
    alone = isinstance(scoring, str) or callable(scoring)
    names = [scoring] if alone else list(scoring)
    others = [name for name in names if callable(name) or name not in SCORES]
    scorers = _checked_scorers(others)
    stream = Stream(X, y, sample_weight, delay, time)
    run, chunks = _start(estimator, stream, classes, chunk_size, pos_label, others)
    if "f1" in names and run.pos_label_ is None:
        raise ValueError(
            f"pos_label must say which of the {len(run.classes_)} classes 'f1' is of."
        )
    kept = []
    records = _records(run, chunks, int(chunk_size), REPORT_EVERY, verbose, kept)
    *_, last = chain([None], records)
    if last is None or not last.n_tested:
        raise ValueError(
            "No row of the stream was tested. An estimator without partial_fit_predict "
            "that is not fitted yet only learns the first chunk, so chunk_size must be "
            "smaller than the stream."
        )
    found = {
        name: getattr(last, name)
        for name in names
        if not callable(name) and name in SCORES
    }
    found |= Predictions(kept).scores(scorers, run.classes_, run._positive)
    return next(iter(found.values())) if alone else found


def _checked_scorers(names):
    scorers = {}
    for name in names:
        try:
            scorers |= resolved_scorers(name)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"scoring must be one of {[*SCORES, *OWN]}, a scorer of scikit-learn, "
                f"or a list of them. Got {name!r} instead."
            ) from error
    return scorers
