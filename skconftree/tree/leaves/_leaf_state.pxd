# Leaves as bytes: for pickles. What is read is checked before it is believed.

from skconftree.tree.leaves._leaf cimport Leaf, Policy
from skconftree.utils._typedefs cimport intp_t


cdef class StateWriter:
    cdef readonly bytearray data
    cdef put(self, const void* values, intp_t n_bytes)


cdef class StateReader:
    cdef const unsigned char[::1] data
    cdef intp_t position
    cdef take(self, void* values, intp_t n_bytes)
    cdef void* take_new(self, intp_t n_bytes) except NULL


cdef write_leaf(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef Leaf* read_leaf(
    StateReader reader, const Policy* policy, intp_t node, intp_t n_pool
) except NULL
