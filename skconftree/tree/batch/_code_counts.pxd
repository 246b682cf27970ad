# Codes of a node's rows, counted by class or brought into order.

from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, intp_t, label_t, uint8_t, uint32_t,
)

cdef enum:
    SORT_LIMIT = 16384      # rows of a node that are sorted; of more, codes are counted


ctypedef fused code_t:
    uint8_t
    label_t


cdef inline bint counts_codes(
    ExaminedNode node, float64_t n_walked, intp_t n_levels
) noexcept nogil:
    # Whether the codes of a node are counted. Else its rows, of which `n_walked` would be
    # visited, are sorted; sums of phi then depend on the order of rows of one code.
    # Best-first growth from parts has no rows of any node, so best-first growth in memory
    # counts in every node, too: the trees are the same to the last bit.
    return (
        2 * n_walked >= n_levels * node.n_classes or n_walked >= SORT_LIMIT
        or node.has_pool or node.settings.max_leaves != NO_LIMIT
    )


# Class weights of each code in out [n_codes, width]. Rows have a count, or a weight, or
# neither. Whole numbers are tallied as integers, which add up several times faster;
# tally has the size of out.
cdef void count_codes(
    const code_t* codes, intp_t n, const label_t* y, const int32_t* count,
    const float64_t* weight, intp_t n_codes, intp_t width, int32_t* tally,
    float64_t* out,
) noexcept nogil

# The codes next to a cut, of rows that have a label: the largest that is at most `place`,
# of which there is one, and the smallest above it.
cdef void code_neighbours(
    const uint8_t* codes, intp_t n, uint8_t place, intp_t* below, intp_t* above
) noexcept nogil

# The node's rows as entries, (row << 1) | new, in the order of their codes, and these
# codes; n is below 2^16, and there are at most MAX_LEVELS codes.
cdef void sort_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes,
    uint32_t* entries,
) noexcept nogil
