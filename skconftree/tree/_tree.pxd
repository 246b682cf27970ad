# Tree: the grown tree as plain arrays.
#
# Node ids are append-only: a leaf that splits keeps its id as an internal node,
# and its children get the next two ids, left first. So right = left + 1, and a
# node needs one child index.
#
# A leaf points to itself with threshold = infinity: a row that has arrived stays
# where it is, and rows can be routed in step without asking who has arrived.
#
# The arrays belong to NumPy and are replaced when they are full. A view handed
# out earlier stays valid as a snapshot.

from skconftree.bounds._contract cimport SplitEvidence
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t


cdef struct Node:
    float64_t threshold     # x <= threshold goes left; infinity at a leaf
    int32_t feature         # -2 at a leaf
    int32_t left            # its own id at a leaf


cdef class Tree:
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef readonly intp_t node_count
    cdef readonly intp_t max_depth
    cdef readonly object class_weight   # ndarray (n_classes,): counts -> values
    cdef intp_t capacity
    cdef dict _arrays
    cdef object _value                  # cache of `value`
    cdef public bint stale              # counts of leaves have changed
    cdef public object criterion        # of a tree that grows row by row, else None

    cdef Node* nodes                    # [capacity]
    cdef int32_t* parent                # -1 at the root
    cdef int32_t* depth
    cdef intp_t* n_node_samples         # rows, whatever their weight
    cdef float64_t* counts              # [capacity, n_classes]
    cdef float64_t* impurity
    cdef SplitEvidence* evidence

    cdef void reserve(self, intp_t capacity) except *
    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil
    cdef void split(
        self, intp_t node, intp_t feature, float64_t threshold,
        const SplitEvidence* evidence,
    ) noexcept nogil
    cdef _hold(self, dict arrays)
    cdef void _route(self, const float32_t* x, intp_t n, intp_t* out) noexcept nogil
