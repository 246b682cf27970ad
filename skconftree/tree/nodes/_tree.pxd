# Tree: the grown tree as plain arrays.
#
# Node ids are append-only: a leaf that splits keeps its id as an internal node,
# and its children get the next ids, left first. So right = left + 1, and a node
# needs one child index.
#
# The arrays belong to NumPy and are replaced when they are full. Those of a tree that
# is finished are handed out as they are; of a tree that grows copies are, so that
# nobody sees them change. Nobody can write to what is handed out, as routing believes
# what it finds; only who holds the lock to learn writes to the arrays.

from skconftree.bounds._contract cimport SplitEvidence
from skconftree.tree.nodes._routing cimport Branching, Node
from skconftree.utils._lock cimport ModelLock
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
    cdef intp_t n_admitted              # categories that came after the split

    # Of a tree that grows row by row.
    cdef ModelLock lock                 # None if it is finished
    cdef object criterion               # gives impurities
    cdef bint stale                     # it has learnt since somebody looked
    cdef dict _snapshot                 # what they saw
    cdef tuple _snapshot_size

    cdef Node* nodes                    # [capacity]
    cdef int32_t* parent                # -1 at the root
    cdef int32_t* depth
    cdef intp_t* n_node_samples         # rows, whatever their weight
    cdef float64_t* counts              # [capacity, n_classes]
    cdef float64_t* impurity
    cdef SplitEvidence* evidence
    cdef Branching* branching
    cdef int16_t* ordinals              # [ordinal_room]

    cdef void grows(self, object criterion, ModelLock lock) except *
    cdef int _read(self) except -1
    cdef void _leave(self) noexcept
    cdef dict _still(self)
    cdef object _show(self, name)
    cdef void _take_snapshot(self) except *
    cdef object counts_of_leaves(self)
    cdef intp_t bytes_of_nodes(self) except -1
    cdef void add_counts(self, intp_t top, float64_t* counts) noexcept nogil
    cdef object _binary(self, dict shown, object child)
    cdef object _proportions(self, dict shown)

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

    cdef void send_unknown(self, intp_t node, intp_t child) noexcept nogil
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
