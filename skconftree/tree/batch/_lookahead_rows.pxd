# KeptOrder: how the rows of one node lay before its tests were tried.
#
# divide() moves rows within the range of their node only, and entries of sparse columns
# within the segments of the node, so what lies there, in every array that it may move,
# is all there is to keep. Memory for it is taken when the first node is kept, the largest
# one, and serves the others.

from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.batch._sparse_rows cimport Segment
from skconftree.tree.split._node cimport NodeRecord
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport int32_t, intp_t, uint8_t


cdef class KeptOrder:
    cdef NodeRows rows
    cdef Arena arena
    cdef uint8_t* copies            # of the arrays, one behind the other
    cdef intp_t room
    cdef int32_t* features          # [n_features] those that vary in the node and are
    cdef intp_t n_features          # not sparse
    cdef Segment* segments          # [n_segments] of its sparse columns
    cdef intp_t n_segments
    cdef intp_t start               # the node
    cdef intp_t end

    cdef int keep(self, const NodeRecord* record) except -1 nogil
    cdef void put_back(self) noexcept nogil
    cdef void _list_features(self, const NodeRecord* record) noexcept nogil
    cdef intp_t _move(self, bint back, bint counts_only) noexcept nogil
    cdef intp_t _move_array(
        self, void* array, size_t size, intp_t start, intp_t end, intp_t at, bint back,
        bint counts_only,
    ) noexcept nogil
