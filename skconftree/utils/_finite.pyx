"""A look at every value of a table for NaN and infinity."""

from libc.string cimport memcpy

from skconftree.utils._typedefs cimport int32_t, intp_t

cdef enum:
    INFINITY_BITS = 0x7F800000      # of a float32 without its sign; NaN has more


cpdef int finiteness(const float32_t[:, ::1] X):
    """Say whether a table holds NaN or infinity.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32

    Returns
    -------
    int
        0 if all values are finite, 2 if any is infinite, else 1.
    """
    cdef intp_t n = X.shape[0] * X.shape[1]
    cdef const float32_t* x
    cdef int32_t largest = 0
    cdef int32_t bits
    cdef intp_t i
    if n == 0:
        return FINITE
    x = &X[0, 0]
    with nogil:
        # integers, as their maximum is one vector instruction
        for i in range(n):
            memcpy(&bits, x + i, 4)
            bits &= 0x7FFFFFFF
            largest = bits if bits > largest else largest
        if largest > INFINITY_BITS:
            largest = 0
            for i in range(n):
                memcpy(&bits, x + i, 4)
                bits &= 0x7FFFFFFF
                if bits == INFINITY_BITS:
                    largest = bits
                    break
            return INFINITE if largest == INFINITY_BITS else MISSING
    return INFINITE if largest == INFINITY_BITS else FINITE
