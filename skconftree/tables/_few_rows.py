"""A few rows of known columns, read value by value.

To look at a frame or a list through NumPy and scikit-learn takes a hundred times as
long as a row takes to be predicted. What is not as plain as it is here is left to them.
"""

import numpy as np

from ..utils import is_missing
from ._features import MISSING, UNKNOWN
from ._frames import kind_of, library_of
from ._records import Records

FEW = 8
NUMBERS = {bool, int, float, np.bool_, np.float64, np.float32, np.int64, np.int32}


def read_few(X, n_features, names, features, *, learns):
    """Read a list of rows, or a frame whose columns have the known names.

    Rows that are to be learnt must not have a new category.
    """
    rows = _rows_of(X, n_features, names)
    if rows is None:
        return None
    dictionaries = [None] * n_features if features is None else features.dictionaries
    read = _known_number if learns else _number
    try:
        coded = [list(map(read, row, dictionaries)) for row in rows]
        with np.errstate(over="ignore"):  # infinite, which is an error elsewhere
            return np.array(coded, dtype=np.float32)
    except (TypeError, OverflowError):
        return None


def _rows_of(X, n_features, names):
    if type(X) is list:
        if names is None and 0 < len(X) <= FEW:
            if all(type(row) is list and len(row) == n_features for row in X):
                return X
        return None
    if type(X) is Records:
        return X.values if len(X) <= FEW and X.of_names(names) else None
    library = None if names is None else library_of(X)
    if library is None or not 0 < X.shape[0] <= FEW:
        return None
    if list(library.names(X)) != names.tolist():
        return None
    return library.rows(X)


def _number(value, dictionary):
    if dictionary is None:
        if type(value) in NUMBERS:
            return value
        if value is None:
            return np.nan
        raise TypeError
    if dictionary.given_up:
        return 0.0
    if is_missing(value):
        return dictionary.codes.get(MISSING, UNKNOWN)
    if kind_of(value) != dictionary.kind:
        raise TypeError
    return dictionary.codes.get(value, UNKNOWN)


def _known_number(value, dictionary):
    code = _number(value, dictionary)
    if code == UNKNOWN and dictionary is not None:
        raise TypeError
    return code
