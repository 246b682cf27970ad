# Rows of a node in the order of their ranks.

from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport int32_t, intp_t, uint32_t, uint64_t


cdef class RankSort:
    cdef readonly intp_t n_most
    cdef Arena arena
    cdef uint32_t* entries      # [n_most] (row << 1) | new, new = another rank than before
    cdef int32_t* ranks         # [n_most] in this order
    cdef uint64_t* keys         # [n_most] scratch
    cdef uint64_t* other        # [n_most]

    # Sort rows 0, 1, ... of these ranks; equal ones stay in their order.
    cdef void sort(self, const int32_t* ranks, intp_t n) noexcept nogil
    cdef void _sort_by_comparing(self, const int32_t* ranks, intp_t n) noexcept nogil
    cdef void _sort_by_digits(
        self, const int32_t* ranks, intp_t n, int32_t least, intp_t shift, intp_t n_bits
    ) noexcept nogil
    cdef bint _finish(self, intp_t n) noexcept nogil
    cdef void _write(self, intp_t n, int32_t least) noexcept nogil
