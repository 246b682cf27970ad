from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport float32_t, int32_t, intp_t, uint64_t, uint8_t

# NodeRanges: which row of a table lies in which node of a tree.
#
# One permutation of the rows' numbers, in which a node owns a range: first the rows that
# lie in the node itself (all rows of a leaf; of an internal node those whose category is
# not known there), then the ranges of its children. The rows that lie in a node are in
# ascending order, whatever way the tree has come to be as it is: what is drawn from
# them depends on the tree and the rows alone.
#
# A row that has been taken keeps its place and goes on following the tree, but is not
# counted, listed or drawn.

cdef class NodeRanges:
    cdef readonly intp_t n_rows
    cdef const float32_t[:, ::1] X      # None if the table is sparse
    cdef object stored                  # the sparse table, in CSR format
    cdef bint finite
    cdef Tree tree                      # as it was last followed; None before
    cdef intp_t n_nodes                 # of the tree, then
    cdef intp_t n_edits
    cdef bint recoded                   # categories have got codes since then
    cdef dict _arrays
    cdef int32_t[::1] order             # [n_rows] the permutation
    cdef uint8_t[::1] taken             # [n_rows] by row; 2 while rows are drawn
    cdef int32_t[::1] first             # [room] of a node: where its range begins,
    cdef int32_t[::1] size              # [room] how many rows lie in it,
    cdef int32_t[::1] n_taken           # [room] and how many of them are taken
    cdef uint8_t[::1] touched           # [room] its rows are others than before

    cdef int follow(self, Tree tree) except -1
    cdef int _go_on(self, Tree tree) except -1
    cdef int _begin(self, Tree tree) except -1
    cdef int _reserve(self, intp_t n_nodes) except -1
    cdef int _settle(self, intp_t top) except -1
    cdef bint _moves(self, Tree tree, intp_t node) noexcept nogil
    cdef int _find(
        self, intp_t top, const int32_t* rows, intp_t n, int32_t* out
    ) except -1
    cdef intp_t _node_of(self, intp_t row) except -1
    cdef intp_t _checked(self, intp_t node) except -1
    cdef void _draw(
        self, intp_t node, uint64_t key, intp_t n_live, int32_t* out, intp_t k
    ) noexcept nogil
