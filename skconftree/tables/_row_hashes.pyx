"""Hashes of rows, and fast validation of rows."""

cimport cython
import numpy as np
from libc.string cimport memcpy

from skconftree.utils._arrays cimport FINITE, INFINITE, finiteness
from skconftree.utils._draws cimport mix
from skconftree.utils._typedefs cimport float32_t, intp_t, label_t, uint32_t, uint64_t

cdef uint64_t SECOND_KEY = <uint64_t> 0xD1B54A32D192ED03    # makes the second hash differ


cdef inline uint64_t value_key(intp_t feature, float32_t value) noexcept nogil:
    # Hash of a nonzero value of a feature. All NaN are equal.
    cdef uint32_t bits
    if value != value:
        bits = 0x7FC00000
    else:
        memcpy(&bits, &value, sizeof(bits))
    return mix((<uint64_t> feature << 32) | bits)


@cython.overflowcheck(False)     # hashes are sums modulo 2^64
cdef inline void add_value(
    uint64_t* first, uint64_t* second, intp_t feature, float32_t value
) noexcept nogil:
    # Zeros do not change the hashes. The order of the features does not matter.
    cdef uint64_t key
    if value != 0.0:
        key = value_key(feature, value)
        first[0] += key
        second[0] ^= key * SECOND_KEY


def hash_dense(const float32_t[:, ::1] X not None, const label_t[::1] y not None):
    """Return two hashes of each row's values and label, of shape (2, n_rows).

    Zeros do not change the hashes, so sparse and dense tables have the same ones.
    """
    cdef intp_t n = X.shape[0]
    cdef intp_t d = X.shape[1]
    hashes = np.empty((2, n), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    cdef uint64_t first, second
    cdef intp_t i, f
    with nogil:
        for i in range(n):
            first = mix(y[i])
            second = first
            for f in range(d):
                add_value(&first, &second, f, X[i, f])
            out[0, i] = mix(first)
            out[1, i] = mix(second)
    return hashes


def hash_sparse(
    const intp_t[::1] indptr not None, const intp_t[::1] indices not None,
    const float32_t[::1] data not None, const label_t[::1] y not None,
):
    """Return the hashes of `hash_dense` for a CSR table without duplicate entries."""
    cdef intp_t n = y.shape[0]
    hashes = np.empty((2, n), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    cdef uint64_t first, second
    cdef intp_t i, k
    with nogil:
        for i in range(n):
            first = mix(y[i])
            second = first
            for k in range(indptr[i], indptr[i + 1]):
                add_value(&first, &second, indices[k], data[k])
            out[0, i] = mix(first)
            out[1, i] = mix(second)
    return hashes


# -- Validated rows, and a fast path to them ---------------------------------------
#
# scikit-learn's validation of one row takes 100 times as long as its prediction. The few
# checks here would be as slow in pure Python.
cdef object ARRAY = np.ndarray
cdef object FLOAT32 = np.dtype(np.float32)


cdef class Rows:
    """Rows with a known schema (number and types of columns): float32, C-contiguous or sparse.

    `finite` means that there is no NaN; infinity is an error.
    """

    cdef readonly object X
    cdef readonly bint finite
    cdef readonly object schema

    def __init__(self, X, bint finite, schema):
        self.X, self.finite, self.schema = X, finite, schema

    def __iter__(self):
        return iter((self.X, self.finite, self.schema))


def read_plain(X, intp_t n_features, schema):
    """Make `Rows` of a NumPy array, or return None if X needs scikit-learn's validation."""
    cdef int status
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
        status = finiteness(X)
    except RuntimeWarning:  # too large for float32, if warnings are errors
        return None
    if status == INFINITE:
        return None
    rows = Rows.__new__(Rows)
    rows.X, rows.finite, rows.schema = X, status == FINITE, schema
    return rows
