# Checks of arrays that are used as they are.

from skconftree.utils._typedefs cimport float32_t

# Whether a table holds only numbers.

cdef enum:
    FINITE = 0
    MISSING = 1     # NaN, but no infinity
    INFINITE = 2


cpdef int finiteness(const float32_t[:, ::1] X)
