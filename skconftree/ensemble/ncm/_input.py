"""What users give to NCM estimators: numbers without gaps, and classes at any time."""

import numpy as np
from scipy.sparse import issparse

from ...tables._features import nominal_columns
from ...tables._reading import is_finite, read_more, read_rows, read_table
from ...tree.nodes._node_state import MAX_CLASSES
from ...utils import check_labels, exact_labels, unique_classes


def read_numbers(estimator, X):
    """Turn rows that are to be predicted into a matrix of finite numbers.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like or frame of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_features), float32, C-contiguous
    """
    _refuse_other_tables(estimator, X)
    X, finite = read_rows(estimator, X, None)
    _refuse_nan(estimator, finite)
    return X


def read_training_rows(estimator, X, y, *, reset):
    """Turn rows that are to be learnt into finite numbers and labels.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_` if `reset`.
    X : array-like or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    reset : bool
        Whether these are the first rows.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float32, C-contiguous
    y : ndarray of shape (n_rows,)
    """
    _refuse_other_tables(estimator, X)
    if reset:
        X, labels, _ = read_table(
            estimator, X, exact_labels(y), categorical_features=None
        )
    else:
        X, labels, _, _ = read_more(estimator, X, exact_labels(y), None)
    _refuse_nan(estimator, is_finite(X, estimator))
    check_labels(labels, y)
    return X, labels


def _refuse_other_tables(estimator, X):
    name = type(estimator).__name__
    if issparse(X):
        raise TypeError(
            f"Sparse data was passed for X, but dense data is required by {name}: "
            "class means have no zeros to leave out. Use X.toarray()."
        )
    nominal = nominal_columns(X, "from_dtype")
    if nominal is not None:
        columns = [one for one, held in zip(X.columns, nominal, strict=True) if held]
        raise ValueError(
            f"{name} needs numbers, got columns of categories: {columns!r}. Encode "
            "them first, for example with sklearn.preprocessing.OneHotEncoder."
        )


def _refuse_nan(estimator, finite):
    if not finite:
        name = type(estimator).__name__
        raise ValueError(
            f"Input X contains NaN. {name} does not accept missing values encoded as "
            "NaN natively: a row without a value has no distance from a class mean. "
            "Impute them first, for example with sklearn.impute.SimpleImputer."
        )


def merge_classes(known, labels):
    """Classes so far and those of further labels, in ascending order.

    Parameters
    ----------
    known : ndarray of shape (n_known,) or None
        None: there are none so far.
    labels : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        If the labels are of another kind than the classes, or there are too many.
    """
    found = unique_classes(labels)
    if known is not None:
        if _kind(known) != _kind(found):
            raise ValueError(
                f"y must contain labels of the kind of the classes so far, {known!r}. "
                f"Got {found!r}."
            )
        both = np.concatenate([known, found])
        whole = known.dtype.kind in "iu" and found.dtype.kind in "iu"
        if whole and both.dtype.kind == "f":
            raise ValueError(
                f"No type of whole numbers holds the labels {found!r} together with "
                f"the classes so far, {known!r}."
            )
        found = np.unique(both)
    if len(found) > MAX_CLASSES:
        raise ValueError(f"A tree has at most {MAX_CLASSES} classes, got {len(found)}.")
    return found


def _kind(labels):
    kind = labels.dtype.kind
    return "number" if kind in "iuf" else "text" if kind in "OUT" else kind
