# Rows of a node in the order of their ranks.
#
# A sorted key is (rank - least) << 32 | tag. A tag is the number of the row in the node,
# or all that a walk asks of it (_tagged_rows.pxd).

from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport int32_t, intp_t, uint32_t, uint64_t

cdef class RankSort:
    cdef readonly intp_t n_most
    cdef Arena arena
    cdef uint64_t* keys         # [n_most] sorted
    cdef uint64_t* other        # [n_most] scratch
    cdef int32_t least          # of all keys
    cdef uint32_t* entries      # [n_most] (row << 1) | new, new = another rank than before
    cdef int32_t* ranks         # [n_most] in this order

    # Sort rows 0, 1, ... of these ranks; equal ones stay in their order.
    cdef void sort(self, const int32_t* ranks, intp_t n) noexcept nogil
    # The same, for keys alone that have the tags of these rows.
    cdef void sort_tagged(
        self, const int32_t* ranks, const uint64_t* rows, intp_t n
    ) noexcept nogil
    cdef void _sort_by_comparing(
        self, const int32_t* ranks, const uint64_t* rows, intp_t n
    ) noexcept nogil
    cdef void _sort_by_digits(
        self, intp_t n, intp_t shift, intp_t n_bits
    ) noexcept nogil
    cdef void _write(self, intp_t n) noexcept nogil
