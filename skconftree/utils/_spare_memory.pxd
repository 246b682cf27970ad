# Spare memory: kept back, and never touched, so that rows can be learnt up to the next
# boundary when there is no other left.
#
# Where memory cannot be had, give_way() lets go of it, and what failed is tried again:
# every step of learning a row either happens or leaves all as it was. At the next
# boundary, and before the first row of a call, set_aside() asks for it anew; whoever
# cannot have it learns nothing further. All models of a process share it.
#
# What grows row by row takes its arrays here, and so never sees the first failure. A
# second one, which more spare memory would have prevented, is a MemoryError.

from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport intp_t

cdef enum:
    SPARE_BYTES = 4194304       # besides what the sizes of a model ask for
    KEPT_BYTES = 33554432       # more than that is only kept during a call

cdef int set_aside(intp_t n_bytes) except -1
cdef int give_way() except -1
cdef void let_go_of_much() noexcept

# An array of n items of so many bytes each, such an array of zeros, and one that is made
# longer (on failure it stays as it was).
cdef void* take_array(Blocks* blocks, intp_t n, size_t size) except NULL nogil
cdef void* take_zeros(Blocks* blocks, intp_t n, size_t size) except NULL nogil
cdef void* resize_array(Blocks* blocks, void* array, intp_t n, size_t size) except NULL nogil
