"""Tables that users give, as matrices of numbers and codes of categories."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, check_X_y
from sklearn.utils.validation import validate_data

from ..utils._finite import finiteness
from ._features import MAX_CATEGORIES, Features, nominal_columns
from ._frames import Table, library_of, refuse_dates, refuse_sparse
from ._sparse import read_sparse
from ._strays import warn_of_strays

FINITE, _, INFINITE = range(3)


def read_table(estimator, X, y, *, reset=True, **options):
    """Turn what a user gives to `fit` into arrays.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X : array-like, sparse or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    reset : bool, default=True
        False compares with what the first call found.
    categorical_features : None, "from_dtype" or array-like
    in_order : bool
        Give categories their codes in the order of the rows, not sorted.
    stacklevel : int
        Of warnings, from the caller's place.

    Returns
    -------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,)
    features : Features or None
        None if no column is nominal. It waits for `Features.settled`.
    """
    nominal = nominal_columns(X, options["categorical_features"])
    if issparse(X):
        if nominal is not None:
            raise ValueError(
                "categorical_features must be None or 'from_dtype' with sparse X, got "
                f"{options['categorical_features']!r}: nominal columns need a dense "
                "table."
            )
        return *read_sparse(estimator, X, y, reset=reset), None
    if nominal is None:
        rows = _plain_table(estimator, X, y) if reset else None
        if rows is None:
            rows, y = read_numeric(estimator, X, y, reset=reset)
        is_finite(rows, estimator)
        return rows, y, None
    table = Table.of(estimator, X, reset)
    matrix, features = Features.blank(nominal).learn(
        table, in_order=options["in_order"]
    )
    is_finite(matrix, estimator)
    if isinstance(options["categorical_features"], str):
        warn_of_strays(
            table, matrix, features, MAX_CATEGORIES, options["stacklevel"] + 1
        )
    matrix, y = check_X_y(
        matrix, y, dtype=np.float32, order="C", ensure_all_finite=False
    )
    return matrix, y, features


def read_first(estimator, X, y, categorical_features, *, stacklevel):
    """Turn the first rows of a stream into arrays.

    Parameters
    ----------
    estimator, X, y, categorical_features, stacklevel
        As for `read_table`.

    Returns
    -------
    X, y, features, finite
        As of `read_more`.
    """
    X, y, features = read_table(
        estimator,
        X,
        y,
        categorical_features=categorical_features,
        in_order=True,
        stacklevel=stacklevel + 1,
    )
    return X, y, features, is_finite(X, estimator)


def read_more(estimator, X, y, features):
    """Turn further rows into arrays, for an estimator that goes on learning.

    Parameters
    ----------
    estimator : estimator
        It has seen rows.
    X : array-like, sparse or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    features : Features or None
        What was found so far.

    Returns
    -------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,)
    features : Features or None
        With new categories behind the others, in the order of the rows. Unless it is
        the same as before, it waits for `settle`.
    finite : bool
        Whether there is no NaN.
    """
    if features is None:
        rows, finite = _plain_rows(estimator, X)
        if rows is not None and type(y) is np.ndarray and y.shape == (len(rows),):
            return rows, y, None, finite
        if issparse(X):
            return *read_sparse(estimator, X, y), None, True
        rows, y = read_numeric(estimator, X, y, reset=False)
        return rows, y, None, is_finite(rows, estimator)
    table = Table.of(estimator, X, reset=False)
    rows, features = features.learn(table, in_order=True)
    rows, y = check_X_y(rows, y, dtype=np.float32, order="C", ensure_all_finite=False)
    return rows, y, features, is_finite(rows, estimator)


def read_numeric(estimator, X, *y, reset):
    """Turn rows without nominal columns into a matrix, as scikit-learn does.

    Parameters
    ----------
    estimator : estimator
    X : array-like or frame of shape (n_rows, n_features)
    *y : array-like of shape (n_rows,)
        Labels, if any.
    reset : bool
        Whether the estimator gets `n_features_in_` and `feature_names_in_`.

    Returns
    -------
    X : ndarray, C-contiguous, of shape (n_rows, n_features), float32
        What is too large for it is infinite, which is an error where it is looked for.
    y : ndarray of shape (n_rows,)
        Only if labels are given.
    """
    refuse_dates(X)
    try:
        with np.errstate(over="ignore"):
            return validate_data(
                estimator,
                X,
                *y,
                reset=reset,
                dtype=np.float32,
                order="C",
                ensure_all_finite=False,
            )
    except (TypeError, ValueError, OverflowError) as error:
        library = library_of(X)
        if library is not None:
            table = library(X)
            for j in range(table.shape[1]):
                table.numbers(j)  # an error of its own, with the name of the column
            refuse_sparse(X)
        if isinstance(error, OverflowError):
            raise ValueError(
                "X holds a number that is too large for float32."
            ) from error
        if library is None and str(error).startswith("could not convert string to"):
            raise ValueError(
                f"X holds strings ({error}). Name the columns of categories in "
                "categorical_features, or give a frame, where the dtype tells."
            ) from error
        raise


def _plain_table(estimator, X, y):
    # As `_plain_rows`, for the first rows: a small tree grows faster than they are
    # checked. Their labels are whole numbers.
    if (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "fd"
        and X.size > 0
        and type(y) is np.ndarray
        and y.shape == X.shape[:1]
        and y.dtype.kind in "biu"
    ):
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X, dtype=np.float32)
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        return rows
    return None


def _plain_rows(estimator, X):
    # Streams of single rows would spend most of their time in scikit-learn's checks.
    # What passes this one passes those; anything else gets their verdict.
    if (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "fd"
        and len(X) > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    ):
        try:
            rows = np.ascontiguousarray(X, dtype=np.float32)
        except RuntimeWarning:  # too large for float32, where warnings are errors
            return None, None
        found = finiteness(rows)
        if found != INFINITE:
            return rows, found == FINITE
    return None, None


def read_rows(estimator, X, features):
    """Turn rows to be predicted into a matrix.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, sparse or frame of shape (n_rows, n_features)
    features : Features or None
        What `read_table` found.

    Returns
    -------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    finite : bool
        Whether there is no NaN.
    """
    if features is None:
        rows, finite = _plain_rows(estimator, X)
        if rows is not None:
            return rows, finite
        if issparse(X):
            return read_sparse(estimator, X), True
        X = read_numeric(estimator, X, reset=False)
    else:
        X = features.encode(Table.of(estimator, X, reset=False))
    return X, is_finite(X, estimator)


def settle(rows, features, known, weight):
    """Forget the categories of further rows that are not learnt.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features), float32
        Gets the codes that the other rows alone would have got.
    features : Features
        What reading the rows gave.
    known : Features or None
        What was known before.
    weight : ndarray of shape (n_rows,), float64, or None
        0 where a row is not learnt.

    Returns
    -------
    Features
    """
    learnt = None if weight is None or weight.all() else weight > 0.0
    return features.settled(rows, known, learnt)


def read_with_pool(estimator, X, X_pool, rows, features, known, weight):
    """Turn rows without label into arrays, which come before the rows of a stream.

    Their categories get the first codes: these must not depend on how much of the
    stream came with them.

    Parameters
    ----------
    estimator : estimator
        It has read `X`.
    X, X_pool : array-like, sparse or frame
    rows, features
        What reading `X` gave.
    known : Features or None
        What was known before.
    weight : ndarray of shape (n_rows,), float64, or None
        0 where a row is not learnt.

    Returns
    -------
    rows : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    X_pool : ndarray of shape (n_pool, n_features), float32, C-contiguous
    features : Features or None
    """
    if features is None:
        X_pool, _ = read_rows(estimator, X_pool, None)
        if issparse(X_pool):
            X_pool = X_pool.toarray(order="C")  # leaves look rows up
        return rows, X_pool, None
    if known is None:
        known = Features.blank(features.is_categorical)
    X_pool, features = known.learn(Table.of(estimator, X_pool, reset=False))
    is_finite(X_pool, estimator)
    known = features.settled(X_pool, known)
    rows, features = known.learn(Table.of(estimator, X, reset=False))
    return rows, X_pool, settle(rows, features, known, weight)


def is_finite(X, estimator):
    """Whether no value is NaN; infinity is an error. Sparse X has been checked."""
    if issparse(X):
        return True
    found = finiteness(X)
    if found == INFINITE:
        name = type(estimator).__name__
        with np.errstate(invalid="ignore"):  # of infinities of both signs
            assert_all_finite(X, allow_nan=True, estimator_name=name, input_name="X")
    return found == FINITE
