# Tree: the grown tree as plain arrays.
#
# Node ids are append-only: a leaf that splits keeps its id as an internal node,
# and its children get the next ids, left first. So right = left + 1, and a node
# needs one child index.
#
# The arrays belong to NumPy and are replaced when they are full. A view handed
# out earlier stays valid as a snapshot, and nobody can write to it: routing believes
# what it finds.

from skconftree.bounds._contract cimport SplitEvidence
from skconftree.tree._criterion cimport Criterion
from skconftree.tree._routing cimport Branching, Node
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, intp_t,
)


cdef class Tree:
    cdef readonly intp_t n_features
    cdef readonly intp_t n_classes
    cdef readonly intp_t node_count
    cdef readonly intp_t max_depth
    cdef readonly object class_weight   # ndarray (n_classes,): counts -> values
    cdef intp_t capacity
    cdef intp_t n_ordinals              # used; 0 if no test is nominal
    cdef intp_t ordinal_room
    cdef dict _arrays
    cdef dict _shown                    # views of them for readers
    cdef object _value                  # cache of `value`
    cdef bint stale                     # counts of leaves have changed
    cdef Criterion criterion            # of a tree that grows row by row, else None

    cdef Node* nodes                    # [capacity]
    cdef int32_t* parent                # -1 at the root
    cdef int32_t* depth
    cdef intp_t* n_node_samples         # rows, whatever their weight
    cdef float64_t* counts              # [capacity, n_classes]
    cdef float64_t* impurity
    cdef SplitEvidence* evidence
    cdef Branching* branching
    cdef int16_t* ordinals              # [ordinal_room]

    cdef void reserve(self, intp_t capacity) except *
    cdef void reserve_ordinals(self, intp_t room) except *
    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil
    cdef void split(
        self, intp_t node, intp_t feature, float64_t threshold,
        const SplitEvidence* evidence,
    ) noexcept nogil
    cdef void split_nominal(
        self, intp_t node, intp_t feature, const int16_t* ordinals, intp_t n_codes,
        intp_t n_children, const SplitEvidence* evidence,
    ) noexcept nogil
    cdef void _clear_branching(self, intp_t node) noexcept nogil
    cdef void admit(self, intp_t node, intp_t code) except *
    cdef inline void lead(self, intp_t node, intp_t code) noexcept nogil:
        # From now on a category that has an ordinal belongs to the child of those not
        # known.
        self.ordinals[self.branching[node].first + code] = (
            self.branching[node].missing_left
        )

    cdef void send_strays(self, intp_t node, intp_t child) noexcept nogil
    cdef void send_missing(self, intp_t node, bint left, bint seen) noexcept nogil
    cdef inline intp_t next_below(self, intp_t top, intp_t node) noexcept nogil:
        # The node after this one below `top`, parents before their children and the
        # first child first; -1 after the last one. Trees may be too deep to recurse.
        cdef intp_t above
        if self.nodes[node].feature >= 0:
            return self.nodes[node].left
        while node != top:
            above = self.parent[node]
            if node + 1 < self.nodes[above].left + self.branching[above].n_children:
                return node + 1
            node = above
        return -1

    cdef intp_t child(self, intp_t node, const float32_t* row) noexcept nogil
    cdef _hold(self, dict arrays)
