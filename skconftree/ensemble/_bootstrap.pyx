"""Draws of a forest's rows, keyed by what the rows hold rather than by their places."""

import numpy as np

cimport cython
from libc.string cimport memcpy

from skconftree.utils._draws cimport mix, unit
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, intp_t, label_t, uint32_t, uint64_t,
)

cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15
cdef uint64_t CHECK = <uint64_t> 0xD1B54A32D192ED03     # key of the second hash


cdef inline uint64_t value_key(intp_t feature, float32_t value) noexcept nogil:
    # Of a value other than zero; no two have the same. All NaN are one.
    cdef uint32_t bits
    if value != value:
        bits = 0x7FC00000
    else:
        memcpy(&bits, &value, sizeof(bits))
    return mix((<uint64_t> feature << 32) | bits)


@cython.overflowcheck(False)     # hashes wrap
def hash_dense(const float32_t[:, ::1] X not None, const label_t[::1] y not None):
    """Two hashes of each row's values and label.

    Zeros leave no trace, so that a sparse table has the hashes of the dense one.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,), uint16

    Returns
    -------
    ndarray of shape (2, n_rows), uint64
    """
    cdef intp_t n = X.shape[0]
    cdef intp_t d = X.shape[1]
    hashes = np.empty((2, n), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    cdef uint64_t key, first, second
    cdef intp_t i, f
    with nogil:
        for i in range(n):
            first = mix(y[i])
            second = first
            for f in range(d):
                if X[i, f] != 0.0:
                    key = value_key(f, X[i, f])
                    first += key
                    second ^= key * CHECK
            out[0, i] = mix(first)
            out[1, i] = mix(second)
    return hashes


@cython.overflowcheck(False)     # hashes wrap
def hash_sparse(
    const intp_t[::1] indptr not None, const intp_t[::1] indices not None,
    const float32_t[::1] data not None, const label_t[::1] y not None,
):
    """The same of the rows of a sparse table.

    Parameters
    ----------
    indptr, indices, data : ndarray
        Of a CSR table in which each place is stored once.
    y : ndarray of shape (n_rows,), uint16

    Returns
    -------
    ndarray of shape (2, n_rows), uint64
    """
    cdef intp_t n = y.shape[0]
    hashes = np.empty((2, n), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    cdef uint64_t key, first, second
    cdef intp_t i, k
    with nogil:
        for i in range(n):
            first = mix(y[i])
            second = first
            for k in range(indptr[i], indptr[i + 1]):
                if data[k] != 0.0:
                    key = value_key(indices[k], data[k])
                    first += key
                    second ^= key * CHECK
            out[0, i] = mix(first)
            out[1, i] = mix(second)
    return hashes


def tree_seed(uint64_t seed, uint64_t tree):
    """Seed of one tree.

    Parameters
    ----------
    seed : int
        Of the forest.
    tree : int
        Index of the tree.

    Returns
    -------
    int
        In [0, 2**31 - 1).
    """
    return <intp_t> (unit(mix(mix(seed) ^ mix(tree + 1))) * 2147483647.0)


@cython.overflowcheck(False)     # keys wrap
def draw_counts(
    const float64_t[::1] ends not None, intp_t n_draws, uint64_t seed, uint64_t tree
):
    """How often each group of rows is in the sample of a tree.

    Draw j of tree t is a number below the total weight, keyed by (seed, t, j).

    Parameters
    ----------
    ends : ndarray of shape (n_groups,), float64
        Sums of the weights up to and with each group, ascending.
    n_draws : int
        Below 2**31.
    seed : int
        Of the forest.
    tree : int
        Index of the tree.

    Returns
    -------
    ndarray of shape (n_groups,), uint32
    """
    cdef intp_t n = ends.shape[0]
    counts = np.zeros(n, dtype=np.uint32)
    cdef uint32_t[::1] out = counts
    cdef float64_t total = ends[n - 1]
    # Where the search begins: a draw in part k of n equal ones is in group guide[k] or
    # behind it.
    guide_array = np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] guide = guide_array
    cdef float64_t step = total / n
    cdef uint64_t key = mix(mix(seed) + mix(~tree))
    cdef float64_t share, place
    cdef intp_t j, g
    with nogil:
        g = 0
        for j in range(n):
            while g > 0 and ends[g - 1] > j * step:
                g -= 1
            while g < n - 1 and ends[g] <= j * step:
                g += 1
            guide[j] = <uint32_t> g
        for j in range(n_draws):
            share = unit(mix(key + <uint64_t> j * GOLDEN))
            place = share * total
            g = guide[<intp_t> (share * n)]
            while g > 0 and ends[g - 1] > place:
                g -= 1
            while g < n - 1 and ends[g] <= place:
                g += 1
            out[g] += 1
    return counts
