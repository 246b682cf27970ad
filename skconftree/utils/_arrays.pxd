# Checks of arrays that are used without a copy.

from skconftree.utils._typedefs cimport float32_t

cdef enum:          # results of `finiteness`
    FINITE = 0
    MISSING = 1     # NaN, but no infinity
    INFINITE = 2


# Whether all values of X are finite: one of the results above.
cpdef int finiteness(const float32_t[:, ::1] X)
