# Packed nodes: routing of many rows through a tree, where memory and instructions count.
#
# A packed node has 8 bytes, half of a Node. Values and thresholds are integers in the
# order of the floats (ordered_bits), so that a step is a comparison and an addition of
# integers, without a branch. Rows lie in groups of LANES, all their values of one column
# side by side: the column's part of `way` is an offset into the group.
#
# Where values may be missing, a row has two columns a feature: in the first one a
# missing value is above all others, in the second one below them. A test reads the one
# that sends it the right way.
#
# A leaf points to itself, and no value is above its limit.

from skconftree.tree.nodes._routing cimport Branching, Node
from skconftree.utils._typedefs cimport float32_t, intp_t, uint32_t


cdef struct PackedNode:
    uint32_t limit      # a value above it goes right
    uint32_t way        # first child << COLUMN_BITS | column * LANES


cdef enum:
    LANES = 16                      # rows routed in step: their cache misses overlap
    COLUMN_BITS = 12
    MOST_COLUMNS = 256              # 1 << COLUMN_BITS, in lanes
    MOST_PACKED = 1048576           # nodes: 1 << (32 - COLUMN_BITS)


# Rows that are given memory: their number, filled up to whole groups.
cdef inline intp_t padded(intp_t n) noexcept nogil:
    return (n + LANES - 1) // LANES * LANES


# The columns of d features.
cdef inline intp_t packed_columns(intp_t d, bint finite) noexcept nogil:
    return d if finite else 2 * d


# n nodes, no test of which is nominal.
cdef void pack_nodes(
    const Node* nodes, const Branching* branching, intp_t n, bint finite,
    PackedNode* out,
) noexcept nogil
# n rows of d values, as padded(n) rows.
cdef void pack_rows(
    const float32_t* x, intp_t n, intp_t d, bint finite, uint32_t* out
) noexcept nogil
# The node at which each of padded(n) rows ends up. None is expected to arrive in fewer
# than `sure` steps, which are taken without looking. `open` has room for the rows.
cdef void route_packed(
    const PackedNode* nodes, const uint32_t* rows, intp_t n, intp_t n_columns,
    intp_t sure, uint32_t* open, uint32_t* out,
) noexcept nogil
