from skconftree.bounds._contract cimport SplitEvidence
from skconftree.tree.nodes._node_table cimport NodeTable
from skconftree.tree.nodes._routing cimport Branching, Node
from skconftree.utils._inline cimport ROUNDING
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, intp_t

# Tree: nodes with tests of single features.
#
# `nodes` and `branching` have an element a node, see `_routing.pxd`; a leaf has one
# too, by which a row stays there.

# Ordinals that a test takes once it has met a category that it had no room for: there
# will be more of them.
cdef inline intp_t capacity_for_code(intp_t code) noexcept nogil:
    return 2 * code + 2


cdef class Tree(NodeTable):
    cdef intp_t n_ordinals              # used; 0 if no test is nominal
    cdef intp_t ordinal_capacity
    cdef Node* nodes                    # [capacity]
    cdef Branching* branching           # [capacity]
    cdef int16_t* ordinals              # [ordinal_capacity]

    cdef void forget(self) noexcept nogil
    cdef void reserve_ordinals(self, intp_t room) except *
    cdef void split(
        self, intp_t node, intp_t feature, float64_t threshold, bint missing_left,
        bint any_missing, const int16_t* ordinals, intp_t n_codes, intp_t unknown,
        const SplitEvidence* evidence,
    ) noexcept nogil
    cdef void admit(self, intp_t node, intp_t code) except *
    cdef inline void lead(self, intp_t node, intp_t code) noexcept nogil:
        # From now on a category that has an ordinal belongs to the child of those not
        # known.
        self.ordinals[self.branching[node].first + code] = (
            self.branching[node].missing_left
        )

    cdef intp_t child(self, intp_t node, const float32_t* row) noexcept nogil


# LeafCost: what a node costs as a leaf, for who grows trees and does not know how they
# are pruned. A tree costs the sum over its leaves.
#
# A cost is not negative, and a function of the class counts alone. These are as a bound
# sees them: proportions with the class weights, on the scale of the rows behind them.

cdef inline bint as_cheap(float64_t leaf, float64_t below) noexcept nogil:
    # Whether a node costs no more as a leaf than the tree below does. Of the trees that
    # cost least this gives the smallest; rounding decides nothing.
    return leaf <= below * (1.0 + ROUNDING)


cdef class LeafCost:
    cdef float64_t of(self, const float64_t* counts, intp_t n_classes) noexcept nogil
