from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, int32_t, intp_t, uint32_t

# Routing: the path of a row through a tree.
#
# A leaf points to itself and has an infinite threshold: further steps do not move a row
# in a leaf, so the rows of a group take each step together without checks.
#
# `branching` has the direction of missing values, and the branches of nominal splits, whose
# categories are stored as integer codes. A tree of numeric splits does not need it to route
# rows without missing values. For a nominal split, `child_of_code` has the child of each
# category (0 is the first child). It is -1 if no training row of the node had the category: a
# row with this category stays at the node. `finite` means that no value of the rows is missing.

cdef struct Node:
    float64_t threshold     # x <= threshold goes left; infinity at a leaf
    int32_t feature         # -2 at a leaf
    int32_t left            # first child; its own id at a leaf


cdef enum:
    NUMERIC = -1            # values of Branching.first
    MISSING_SEEN = -2
    MAX_CODES = 32767       # categories of a feature: n_codes has 16 bits
    LANES = 8       # rows of a group, which are routed together: their cache misses overlap


cdef enum:
    REMOVED = -2       # as the parent of a removed node


cdef struct Branching:      # without padding, whose undefined bytes would be in pickles
    int32_t first           # nominal split: index of its first element in child_of_code; other
                            # nodes: MISSING_SEEN if the direction of missing values was learned
                            # from rows that miss the value, else NUMERIC
    int16_t n_codes         # number of its elements in child_of_code
    int16_t missing_left    # whether a numeric split sends missing values to the left;
                            # at a nominal split, the child that training sends new categories to


cdef inline intp_t child_of(
    const Node* nodes, const Branching* branchings, const int16_t* child_of_code,
    intp_t node, const float32_t* row,
) noexcept nogil:
    # The child of an internal node that a row goes to; the node itself if the row's
    # category is unknown.
    cdef const Node* split = nodes + node
    cdef const Branching* branching = branchings + node
    cdef float32_t value = row[split.feature]
    cdef int16_t ordinal
    if branching.first >= 0:
        if not (value >= 0.0 and value < branching.n_codes):
            return node
        ordinal = child_of_code[branching.first + <intp_t> value]
        return node if ordinal < 0 else split.left + ordinal
    if value != value:
        return split.left + (not branching.missing_left)
    return split.left + (value > split.threshold)


# The final node of each of n rows of d values.
cdef void route(
    const Node* nodes, const float32_t* x, intp_t n, intp_t d, intp_t* out
) noexcept nogil    # no value is missing, no split nominal
cdef void route_any(
    const Node* nodes, const Branching* branchings, const int16_t* child_of_code,
    const float32_t* x, intp_t n, intp_t d, intp_t* out,
) noexcept nogil


# Packed nodes: fast routing of many rows.
#
# A packed node has 8 bytes, half of a Node. Values and thresholds are mapped to unsigned integers
# in the same order (`ordered_bits` of utils/_sorting.pxd), so that a step is an integer comparison
# and an addition, without a branch. Rows are in groups of PACKED_LANES; the values of a column are
# contiguous within a group, and the column part of `child_and_column` is an offset into the group.
#
# If values may be missing, each feature has two columns: a missing value is above all
# others in the first column and below them in the second. A split reads the column in
# which missing values go to its side.
#
# A leaf points to itself, and no value exceeds its limit.

cdef struct PackedNode:
    uint32_t limit      # a value above it goes right
    uint32_t child_and_column  # first child << COLUMN_BITS | column * PACKED_LANES


cdef enum:
    PACKED_LANES = 16              # rows of a group
    COLUMN_BITS = 12
    MAX_COLUMNS = 256              # (1 << COLUMN_BITS) / PACKED_LANES
    MAX_PACKED = 1048576           # nodes: 1 << (32 - COLUMN_BITS)


# Number of rows, rounded up to complete groups.
cdef inline intp_t padded(intp_t n) noexcept nogil:
    return (n + PACKED_LANES - 1) // PACKED_LANES * PACKED_LANES


# Number of columns for d features.
cdef inline intp_t packed_columns(intp_t d, bint finite) noexcept nogil:
    return d if finite else 2 * d


# Pack n nodes without nominal splits.
cdef void pack_nodes(
    const Node* nodes, const Branching* branching, intp_t n, bint finite, PackedNode* out,
) noexcept nogil
# Pack n rows of d values, padded to padded(n) rows.
cdef void pack_rows(
    const float32_t* x, intp_t n, intp_t d, bint finite, uint32_t* out
) noexcept nogil
# The final node of each of padded(n) rows. The first `n_unchecked` steps are taken without
# a check; few rows should reach a leaf earlier. `active`, scratch, has padded(n) elements.
cdef void route_packed(
    const PackedNode* nodes, const uint32_t* rows, intp_t n, intp_t n_columns,
    intp_t n_unchecked, uint32_t* active, uint32_t* out,
) noexcept nogil
