"""Rows given as dictionaries, and fast validation of small tables.

No data frame is created: for one dictionary, that takes 100 times as long as training a
tree with the row.
"""

import numpy as np

from .._compat import get_feature_names
from ..utils._codec import is_missing
from ._features import MISSING, UNKNOWN
from ._frames import kind_of, library_of


class DictRows:
    """Table of rows that were given as dictionaries: names, dtypes and values.

    The dtype of a column is "float64", "str", or "category" if the user declared it as
    nominal. `numbers` is an array of float64, or None if a column is nominal; then
    `values` has the values of each row, with None for missing categories.
    `feature_names` is None if the model has no column names.
    """

    __slots__ = ("columns", "dtypes", "feature_names", "numbers", "shape", "values")

    def __init__(self, columns, feature_names, dtypes, numbers, values):
        self.columns = columns
        self.feature_names = feature_names
        self.dtypes = dtypes
        self.numbers = numbers
        self.values = values
        self.shape = (len(values) if numbers is None else len(numbers), len(columns))

    def __len__(self):
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        out = np.array(self.values, object) if self.numbers is None else self.numbers
        return out if dtype is None else out.astype(dtype)

    def __getitem__(self, rows):
        return self.take(range(len(self))[rows])

    def take(self, indices):
        """Return the rows of these indices."""
        numbers, values = self.numbers, None
        if numbers is None:
            values = [self.values[index] for index in indices]
        else:
            numbers = numbers[np.asarray(indices, dtype=np.intp)]
        return DictRows(self.columns, self.feature_names, self.dtypes, numbers, values)

    def of_names(self, names):
        """Whether these are the column names of a model."""
        mine = self.feature_names
        if mine is None or names is None:
            return mine is names
        return mine is names or mine.tolist() == names.tolist()


def names_of(X):
    """Return the names of the columns of a table, None if not all are strings."""
    return X.feature_names if type(X) is DictRows else get_feature_names(X)


# Validation by NumPy and scikit-learn takes 100 times as long as the prediction of a
# row. These functions read small plain tables, and return None for all others.
#
# Each nominal column has a `CategoryMap` from its categories to codes. Its `kind` is
# the type that they share, for example "text". A column with too many categories is
# `ignored`: all its values have the code 0. A `library` is the class that reads the
# frames of pandas, polars or pyarrow.

MAX_ROWS = 8  # largest number of rows that `read_few` reads
NUMBERS = {bool, int, float, np.bool_, np.float64, np.float32, np.int64, np.int32}


def read_few(X, n_features, names, features, *, learns):
    """Read a short list of rows, or a short frame with the known column names.

    `names` are the column names, and `features` the `CategoryMap` of each column; both
    can be None. `learns` is whether the rows are for training. If they then have a new
    category, the result is None, because the category needs a new code.
    """
    rows = _rows_of(X, n_features, names)
    if rows is None:
        return None
    category_maps = [None] * n_features if features is None else features.category_maps
    read = _known_number if learns else _number
    try:
        coded = [list(map(read, row, category_maps)) for row in rows]
        with np.errstate(over="ignore"):  # infinite, which is an error elsewhere
            return np.array(coded, dtype=np.float32)
    except (TypeError, OverflowError):
        return None


def _rows_of(X, n_features, names):
    if type(X) is list:
        if names is None and 0 < len(X) <= MAX_ROWS:
            if all(type(row) is list and len(row) == n_features for row in X):
                return X
        return None
    if type(X) is DictRows:
        return X.values if len(X) <= MAX_ROWS and X.of_names(names) else None
    library = None if names is None else library_of(X)
    if library is None or not 0 < X.shape[0] <= MAX_ROWS:
        return None
    if list(library.names(X)) != names.tolist():
        return None
    return library.rows(X)


def _number(value, category_map):
    if category_map is None:
        if type(value) in NUMBERS:
            return value
        if value is None:
            return np.nan
        raise TypeError
    if category_map.ignored:
        return 0.0
    if is_missing(value):
        return category_map.codes.get(MISSING, UNKNOWN)
    if kind_of(value) != category_map.kind:
        raise TypeError
    return category_map.codes.get(value, UNKNOWN)


def _known_number(value, category_map):
    # As `_number`, but a TypeError for a new category.
    code = _number(value, category_map)
    if code == UNKNOWN and category_map is not None:
        raise TypeError
    return code
