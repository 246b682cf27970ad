"""Rows that have been read, and the shortest way to them.

Scikit-learn's checks of one row take a hundred times as long as a tree takes to predict
it, and its few checks here would take as long if Python ran them.
"""

import numpy as np

from skconftree.utils._finite cimport FINITE, INFINITE, finiteness
from skconftree.utils._typedefs cimport intp_t

cdef object ARRAY = np.ndarray
cdef object FLOAT32 = np.dtype(np.float32)


cdef class Rows:
    """Rows of a known schema: float32, in C order or sparse.

    `finite`: there is no NaN; infinity is an error.
    """

    cdef readonly object X
    cdef readonly bint finite
    cdef readonly object schema

    def __init__(self, X, bint finite, schema):
        self.X, self.finite, self.schema = X, finite, schema

    def __iter__(self):
        return iter((self.X, self.finite, self.schema))


def read_plain(X, intp_t n_features, schema):
    """Further rows of a plain array; None, for others to look at, of anything else."""
    cdef int found
    cdef Rows rows
    if type(X) is not ARRAY or X.ndim != 2:
        return None
    n_rows, n_columns = X.shape
    if n_rows == 0 or n_columns != n_features:
        return None
    try:
        if X.dtype is not FLOAT32 or not X.flags.c_contiguous:
            if X.dtype.char not in "fd":
                return None
            X = np.ascontiguousarray(X, dtype=FLOAT32)
        found = finiteness(X)
    except RuntimeWarning:  # too large for float32, where warnings are errors
        return None
    if found == INFINITE:
        return None
    rows = Rows.__new__(Rows)
    rows.X, rows.finite, rows.schema = X, found == FINITE, schema
    return rows
