"""Test-then-train over a whole stream."""

from itertools import chain
from numbers import Integral

import numpy as np
from sklearn.utils import check_scalar

from ._evaluator import PrequentialEvaluator, checked_rows

REPORT_EVERY = 1000  # rows between two records, unless the user says otherwise
SCORES = (
    "accuracy",
    "kappa",
    "f1",
    "kappa_temporal",
    "kappa_majority",
    "no_change_accuracy",
    "majority_accuracy",
)


def iter_prequential(
    estimator,
    X,
    y=None,
    *,
    classes=None,
    sample_weight=None,
    chunk_size=1000,
    report_every=REPORT_EVERY,
    pos_label=None,
    verbose=0,
):
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
    verbose : int, default=0
        Print a line for every record.

    Returns
    -------
    generator of PrequentialRecord
        Yields one after each `report_every` rows and one at the end of the stream. The
        estimator has then learnt ``n_rows`` rows of it, neither more nor less, and may
        be looked at.

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
    run, chunks = _start(estimator, X, y, classes, sample_weight, chunk_size, pos_label)
    return _records(run, chunks, int(chunk_size), int(report_every), verbose)


def _start(estimator, X, y, classes, sample_weight, chunk_size, pos_label):
    """Check the arguments; give the run and its chunks."""
    check_scalar(chunk_size, "chunk_size", Integral, min_val=1)
    if y is None:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight needs y; an iterable yields (X, y, sample_weight)."
            )
        if hasattr(X, "shape") or not hasattr(X, "__iter__"):
            raise ValueError(
                "y is missing: without it X must be an iterable of tuples (X, y). Got "
                f"{type(X).__name__} instead."
            )
        chunks = X
    else:
        X, y, sample_weight = checked_rows(X, y, sample_weight)
        if classes is None and not hasattr(estimator, "classes_"):
            classes = np.unique(y)
        if hasattr(X, "tocsr"):
            X = X.tocsr()  # other sparse formats cannot be cut by rows
        chunks = [(X, y, sample_weight)]
    run = PrequentialEvaluator(estimator, classes=classes, pos_label=pos_label)
    return run, chunks


def _records(run, chunks, chunk_size, report_every, verbose):
    for chunk in chunks:
        X, y, weight = checked_rows(*_unpacked(chunk))
        start = 0
        while start < len(y):
            due = report_every - run.n_rows_ % report_every
            stop = min(start + chunk_size, start + due, len(y))
            run._learn(
                _rows(X, start, stop),
                y[start:stop],
                None if weight is None else weight[start:stop],
            )
            start = stop
            if run.n_rows_ % report_every == 0:
                yield _report(run, verbose)
    if run.n_rows_ % report_every:
        yield _report(run, verbose)


def _unpacked(chunk):
    if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
        raise ValueError(
            "Each chunk of the stream must be a tuple (X, y) or (X, y, sample_weight). "
            f"Got {type(chunk).__name__} instead."
        )
    X, y, *weight = chunk
    return X, y, weight[0] if weight else None


def _rows(X, start, stop):
    if start == 0 and stop == (X.shape[0] if hasattr(X, "shape") else len(X)):
        return X
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def _report(run, verbose):
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
    estimator,
    X,
    y=None,
    *,
    scoring="accuracy",
    classes=None,
    sample_weight=None,
    chunk_size=1000,
    pos_label=None,
    verbose=0,
):
    """Score of an estimator that is tested on each row of a stream, then learns it.

    Parameters
    ----------
    estimator : classifier with `partial_fit_predict`, or `partial_fit` and `predict`
        It is trained in place.
    X : array-like of shape (n_samples, n_features), or iterable of chunks
        As in :func:`iter_prequential`.
    y : array-like of shape (n_samples,), default=None
        Labels; None if `X` is an iterable of chunks.
    scoring : {"accuracy", "kappa", "f1", "kappa_temporal", "kappa_majority", \
            "no_change_accuracy", "majority_accuracy"} or list of them, \
            default="accuracy"
        Which figures of :class:`PrequentialRecord`.
    classes : array-like of shape (n_classes,), default=None
        All labels that may come. None takes those of `y`, or those that the estimator
        was fitted with.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for the estimator and in the score.
    chunk_size : int, default=1000
        Most rows that the estimator is given at a time.
    pos_label : label, default=None
        The class of ``"f1"``. None takes the second of two classes.
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
    names = [scoring] if isinstance(scoring, str) else list(scoring)
    for name in names:
        if name not in SCORES:
            raise ValueError(
                f"scoring must be one of {list(SCORES)} or a list of them. Got "
                f"{name!r} instead."
            )
    run, chunks = _start(estimator, X, y, classes, sample_weight, chunk_size, pos_label)
    if "f1" in names and run.pos_label_ is None:
        raise ValueError(
            f"pos_label must say which of the {len(run.classes_)} classes 'f1' is of."
        )
    records = _records(run, chunks, int(chunk_size), REPORT_EVERY, verbose)
    *_, last = chain([None], records)
    if last is None or not last.n_tested:
        raise ValueError(
            "No row of the stream was tested. An estimator without partial_fit_predict "
            "that is not fitted yet only learns the first chunk, so chunk_size must be "
            "smaller than the stream."
        )
    found = {name: getattr(last, name) for name in names}
    return found[scoring] if isinstance(scoring, str) else found
