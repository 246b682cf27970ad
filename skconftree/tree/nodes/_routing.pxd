from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, intp_t, uint32_t,
)

# Routing: which way rows go.
#
# A leaf points to itself with threshold = infinity: a row that has arrived stays
# where it is, and rows can be routed in step without asking who has arrived.
#
# What a plain tree never reads lies in `branching`: where a missing value goes,
# and the branches of a nominal test. The ordinals of that test say for each
# category of its feature which child its rows go to, 0 being the first one; -1 if
# no training row of the node had it, and then a row stays where it is.

cdef struct Node:
    float64_t threshold     # x <= threshold goes left; infinity at a leaf
    int32_t feature         # -2 at a leaf
    int32_t left            # first child; its own id at a leaf


cdef enum:
    NUMERIC = -1
    MISSING_SEEN = -2
    MAX_CODES = 32767
    LANES = 8       # rows routed in step: their cache misses overlap


cdef enum:
    DEAD = -2       # as the parent of a row that is no node any more


cdef struct Branching:  # without padding, whose bytes would show in pickles
    int32_t first           # of the node's ordinals; below 0 unless the test is nominal:
                            # MISSING_SEEN if where missing values go was learnt from
                            # rows with some, else NUMERIC
    int16_t n_codes         # how many there are
    int16_t missing_left    # where a numeric test sends missing values; the child
                            # with which categories not known grow on otherwise


cdef inline intp_t child_of(
    const Node* nodes, const Branching* branchings, const int16_t* ordinals,
    intp_t node, const float32_t* row,
) noexcept nogil:
    # Where a row goes from an internal node; the node itself if its category is not
    # known there.
    cdef const Node* test = nodes + node
    cdef const Branching* branching = branchings + node
    cdef float32_t value = row[test.feature]
    cdef int16_t ordinal
    if branching.first >= 0:
        if not (value >= 0.0 and value < branching.n_codes):
            return node
        ordinal = ordinals[branching.first + <intp_t> value]
        return node if ordinal < 0 else test.left + ordinal
    if value != value:
        return test.left + (not branching.missing_left)
    return test.left + (value > test.threshold)


# The node at which each of n rows of d values ends up.
cdef void route(
    const Node* nodes, const float32_t* x, intp_t n, intp_t d, intp_t* out
) noexcept nogil    # no value is missing, no test nominal
cdef void route_any(
    const Node* nodes, const Branching* branchings, const int16_t* ordinals,
    const float32_t* x, intp_t n, intp_t d, intp_t* out,
) noexcept nogil


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

cdef struct PackedNode:
    uint32_t limit      # a value above it goes right
    uint32_t way        # first child << COLUMN_BITS | column * PACKED_LANES


cdef enum:
    PACKED_LANES = 16                      # rows routed in step: their cache misses overlap
    COLUMN_BITS = 12
    MAX_COLUMNS = 256              # 1 << COLUMN_BITS, in lanes
    MAX_PACKED = 1048576           # nodes: 1 << (32 - COLUMN_BITS)


# Rows that are given memory: their number, filled up to whole groups.
cdef inline intp_t padded(intp_t n) noexcept nogil:
    return (n + PACKED_LANES - 1) // PACKED_LANES * PACKED_LANES


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
