# LeafStore: the memories of the leaves of a growing tree, by node.
#
# A node has a leaf in the store if, and only if, it is a leaf of the tree; nobody else
# allocates or releases one that has got its place here. What the leaves have in
# common, the categories seen so far included, is the store's `policy`: it does not
# move, so that others may point to it.

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t


cdef class LeafStore:
    cdef Blocks blocks                  # leaves with their boxes, their pools, and `at`
    cdef Policy policy
    cdef Leaf** at                      # [room] by node; NULL at internal nodes
    cdef intp_t room
    cdef intp_t n_leaves
    cdef intp_t kept_rows               # beside counts, of all leaves
    cdef int32_t[::1] _nominal          # nominal features
    cdef int32_t[::1] _n_codes          # [n_features] categories seen, -1 if numeric
    cdef int32_t[::1] _pool_line        # [n_features]

    cdef int reserve(self, intp_t n_nodes) except -1 nogil
    cdef void replace(
        self, Leaf* leaf, Leaf** children, intp_t first, intp_t n_children
    ) noexcept nogil
    cdef void _share_rows(self) noexcept nogil
    cdef intp_t make_forget(self, intp_t node) noexcept nogil
    cdef void observe(self, const float32_t* x, bint finite) noexcept nogil
    cdef intp_t bytes_of_leaves(self) noexcept nogil
    cdef intp_t n_forgetful(self) noexcept nogil
    cdef intp_t most_rows(self) noexcept nogil
    cdef void graft(
        self, intp_t node, Tree tree, LeafStore other, intp_t n_before
    ) noexcept nogil
    cdef void trade(self, LeafStore other) noexcept nogil
    cdef bytes write(self)
    cdef read(self, bytes data, Tree tree, bint with_boxes)
