"""Rows out of dictionaries: what a frame would hold, without the frame.

To make a frame of one dictionary takes a hundred times as long as a tree takes to learn
the row.
"""

import numpy as np

from .._compat import get_feature_names


class Records:
    """Rows of known columns: names, dtypes and values.

    The dtype of a column is "float64", "str", or "category" if the user declared that
    it holds categories. `numbers` is an array of float64, or None if a column is
    nominal; then `values` has the values of each row, None where a category is
    missing. `feature_names` is None if the columns are to have no names.
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
        held = np.array(self.values, object) if self.numbers is None else self.numbers
        return held if dtype is None else held.astype(dtype)

    def __getitem__(self, rows):
        return self.take(range(len(self))[rows])

    def take(self, places):
        """Rows at some places."""
        numbers, values = self.numbers, None
        if numbers is None:
            values = [self.values[place] for place in places]
        else:
            numbers = numbers[np.asarray(places, dtype=np.intp)]
        return Records(self.columns, self.feature_names, self.dtypes, numbers, values)

    def of_names(self, names):
        """Whether these are the names that the columns of a model have."""
        mine = self.feature_names
        if mine is None or names is None:
            return mine is names
        return mine is names or mine.tolist() == names.tolist()


def names_of(X):
    """Names of the columns of a table, None if there are none that are text."""
    return X.feature_names if type(X) is Records else get_feature_names(X)
