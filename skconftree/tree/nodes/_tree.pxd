from skconftree.bounds._contract cimport SplitEvidence
from skconftree.tree.nodes._node_table cimport NodeTable
from skconftree.tree.nodes._routing cimport Branching, Node
from skconftree.utils._inline cimport ROUNDING
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, intp_t

# Tree: nodes with splits on single features. A nominal split maps the integer codes of
# categories to children.
#
# `nodes` has the feature, threshold and first child of each node, `branching` where it
# sends missing values and categories (`missing_left` of a nominal split is the child of
# unknown categories), see `_routing.pxd`. The evidence of a split is the statistics by which the
# split rule accepted it, see bounds/_contract.pxd.

# Number of codes to allocate for a split that gets this code: more categories are likely.
cdef inline intp_t capacity_for_code(intp_t code) noexcept nogil:
    return 2 * code + 2


cdef class Tree(NodeTable):
    cdef intp_t n_mapped_codes          # 0 if no split is nominal
    cdef intp_t mapped_code_capacity
    cdef Node* nodes                    # [capacity]
    cdef Branching* branching           # [capacity]
    cdef int16_t* child_of_code         # [mapped_code_capacity]

    cdef void clear(self) noexcept nogil
    cdef void reserve_mapped_codes(self, intp_t capacity) except *
    # Set the split of a leaf. `any_missing`: training rows of the node have missing values;
    # `child_of_code`: child of each category, NULL if numeric; `unknown`: child of others.
    cdef void split(
        self, intp_t node, intp_t feature, float64_t threshold, bint missing_left,
        bint any_missing, const int16_t* child_of_code, intp_t n_codes, intp_t unknown,
        const SplitEvidence* evidence,
    ) noexcept nogil
    # As map_code(), for a code that may be out of range.
    cdef void add_category(self, intp_t node, intp_t code) except *
    cdef inline void map_code(self, intp_t node, intp_t code) noexcept nogil:
        # Assign a category whose code is in range to the child of unknown categories.
        self.child_of_code[self.branching[node].first + code] = (self.branching[node].missing_left)

    # The child that a row goes to; the node itself if the row's category is unknown.
    cdef intp_t child(self, intp_t node, const float32_t* row) noexcept nogil


# LeafCost: cost of a node as a leaf, such as an upper limit of its errors. Growth with look-ahead
# (batch/_lookahead.pyx) chooses a split by the cost of the tree grown below it, the sum over
# its leaves.
#
# A cost is a function of class counts and is not negative. With class weights, the counts have
# the weighted proportions, scaled to the number of rows.

cdef inline bint as_cheap(float64_t leaf, float64_t below) noexcept nogil:
    # Whether the cost of a node as a leaf is at most that of the tree below it. Within a tolerance
    # for rounding, the smaller tree is preferred.
    return leaf <= below * (1.0 + ROUNDING)


cdef class LeafCost:
    cdef float64_t of(self, const float64_t* counts, intp_t n_classes) noexcept nogil  # the cost
