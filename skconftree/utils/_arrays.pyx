"""Checks of arrays that are used without a copy."""

from libc.math cimport isfinite, isinf, isnan

from skconftree.utils._typedefs cimport intp_t

cdef enum:
    LANES = 16      # number of partial sums: a lane is an element of a vector register


cpdef int finiteness(const float32_t[:, ::1] X):
    """Return 0 if all values of `X` are finite, 2 if any is infinite, otherwise 1."""
    cdef intp_t n = X.shape[0] * X.shape[1]
    cdef int result = FINITE
    cdef const float32_t* x
    cdef intp_t i
    if n == 0:
        return FINITE
    x = &X[0, 0]
    with nogil:
        if not isfinite(_sum(x, n)):
            for i in range(n):
                if isinf(x[i]):
                    result = INFINITE
                    break
                elif isnan(x[i]):
                    result = MISSING
    return result


cdef float32_t _sum(const float32_t* x, intp_t n) noexcept nogil:
    # Finite only if all values are. Compilers vectorize the independent partial sums.
    cdef float32_t parts[LANES]
    cdef float32_t total = 0.0
    cdef intp_t i = 0
    cdef intp_t lane
    for lane in range(LANES):
        parts[lane] = 0.0
    while i + LANES <= n:
        for lane in range(LANES):
            parts[lane] += x[i + lane]
        i += LANES
    while i < n:
        total += x[i]
        i += 1
    for lane in range(LANES):
        total += parts[lane]
    return total
