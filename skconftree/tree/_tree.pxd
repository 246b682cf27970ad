# Tree: the grown tree as plain arrays.
#
# Node ids are append-only: a leaf that splits keeps its id as an internal node,
# and its children get the next ids, left first. So right = left + 1, and a node
# needs one child index.
#
# A leaf points to itself with threshold = infinity: a row that has arrived stays
# where it is, and rows can be routed in step without asking who has arrived.
#
# What a plain tree never reads lies in `branching`: where a missing value goes,
# and the branches of a nominal test. The ordinals of that test say for each
# category of its feature which child its rows go to, 0 being the first one; -1 if
# no training row of the node had it, and then a row stays where it is.
#
# The arrays belong to NumPy and are replaced when they are full. A view handed
# out earlier stays valid as a snapshot.

from skconftree.bounds._contract cimport SplitEvidence
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, intp_t,
)


cdef struct Node:
    float64_t threshold     # x <= threshold goes left; infinity at a leaf
    int32_t feature         # -2 at a leaf
    int32_t left            # first child; its own id at a leaf


cdef struct Branching:  # without padding, whose bytes would show in pickles
    int32_t first           # of the node's ordinals; -1 unless the test is nominal
    int32_t n_codes         # how many there are
    int32_t n_children      # 0 at a leaf
    int16_t missing_left    # where a numeric test sends missing values; the child
                            # with which categories not known grow on otherwise
    int16_t missing_seen    # learnt from rows with missing values


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
    cdef void send_strays(self, intp_t node, intp_t child) noexcept nogil
    cdef void send_missing(self, intp_t node, bint left, bint seen) noexcept nogil
    cdef intp_t child(
        self, intp_t node, const float32_t* row
    ) noexcept nogil
    cdef _hold(self, dict arrays)
    cdef void _route(self, const float32_t* x, intp_t n, intp_t* out) noexcept nogil
    cdef void _route_any(
        self, const float32_t* x, intp_t n, intp_t* out
    ) noexcept nogil
