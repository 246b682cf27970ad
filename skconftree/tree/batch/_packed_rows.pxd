from skconftree.tables._encoded_table cimport RowCodes
from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._scan cimport Scan
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, intp_t, label_t, uint16_t, uint32_t, uint64_t, uint8_t,
)

# Tagged rows: each row of a node as one 64-bit integer with its class and count:
#
#   tag << 32 | row,    tag = count << 16 | class
#
# The count of a row is how often it occurs in the sample. The code of a value is its rank or
# bin in the feature; a level is the value, or the largest one, of a code. A tally is an array of
# the class counts of each code in a node; a bit set `present` marks the codes with rows. A pass
# over the rows of a node reads them in sequence, and only the codes of one feature by row
# (tables/_encoded_table.pxd). MAX_LEVELS, 256, is the number of codes that fit into one byte.
#
# A walk visits the values of a feature in ascending order and emits the candidate splits
# between them: it passes their class counts to the score (the compiled split criterion). If the
# criterion is additive, it passes sums over classes of phi(count) instead; phi is the score's
# function of one count. A cut is the largest code that goes left. An Arena owns arrays.
#
# Packed class counts: the counts of all classes in one 64-bit integer, `bits` wide each, so
# that a row is added by one addition. 0 bits: too many classes, or too large counts.

cdef enum:
    MAX_TAGGED = 0xFFFF     # largest count of a tag
    MARKED_ROWS = 192       # with more rows, `present` is computed from the tally at the end


ctypedef fused code_t:
    uint8_t
    uint16_t
    int32_t


cdef struct Division:
    intp_t n_left           # rows
    uint64_t right          # packed class counts of the other rows
    uint32_t below          # the first row with the largest value on the left, not set if
                            # codes are bytes, and
    uint32_t above          # with the smallest value on the right, if there are any,
    uint32_t code_above     # and its code


cdef inline uint64_t tagged(intp_t row, intp_t y, intp_t count) noexcept nogil:
    return (<uint64_t> count << 48) | (<uint64_t> y << 32) | <uint64_t> row


cdef inline uint32_t row_of(uint64_t row) noexcept nogil:
    return <uint32_t> row


cdef inline intp_t class_of(uint64_t row) noexcept nogil:
    return <intp_t> ((row >> 32) & 0xFFFF)


cdef inline int32_t count_of(uint64_t row) noexcept nogil:
    return <int32_t> (row >> 48)


# Add rows to the packed tally of their codes, all below 256, and set the bits of codes with
# rows in `present`; both must be zero. The codes are in `column` by row of the table,
# `stride` apart, or in `codes`, in the order of `rows`.
cdef void tally_packed(
    const uint8_t* column, intp_t stride, const int32_t* codes, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil

# Copy the rows whose code is at most `cut` to the front of `divided`, in the same order, and
# the others to its end, in reverse order. bits: width of packed counts.
cdef void divide_rows(
    const code_t* column, intp_t stride, const uint64_t* rows, intp_t n, int32_t cut,
    intp_t bits, uint64_t* divided, Division* result,
) noexcept nogil
# Copy the rows back, those of each side in their original order.
cdef void restore_divided(
    const uint64_t* divided, intp_t n, intp_t n_left, uint64_t* rows
) noexcept nogil


# Codes of a node's rows, counted by class or sorted.

cdef enum:
    SORT_LIMIT = 16384      # rows of a node that are sorted; with more, codes are counted


ctypedef fused counted_code_t:
    uint8_t
    label_t


cdef inline bint counts_codes(
    ExaminedNode node, float64_t n_walked, intp_t n_levels
) noexcept nogil:
    # Whether the codes of a node are counted. Otherwise its rows are sorted, and `n_walked` rows
    # are visited; sums of phi then depend on the order of rows with the same code. Best-first
    # growth on parts of a table (skconftree.large) has no rows, so best-first growth in memory
    # always counts too: the trees are the same to the last bit. Codes are also counted if
    # there is a pool: unlabeled rows that contribute to the weight of nodes.
    return (
        2 * n_walked >= n_levels * node.n_classes or n_walked >= SORT_LIMIT
        or node.has_pool or node.settings.max_leaves != NO_LIMIT
    )


# Class weights of each code in out [n_codes, width], where the width is n_classes, with one more
# column if there are unlabeled rows. Rows have a count, or a weight, or neither. Counts are added
# as integers, which is several times faster; tally, scratch, has the size of out.
cdef void count_codes(
    const counted_code_t* codes, intp_t n, const label_t* y, const int32_t* count,
    const float64_t* weight, intp_t n_codes, intp_t width, int32_t* tally, float64_t* out,
) noexcept nogil

# The codes of labeled rows next to a cut: the largest one that is at most `position`, which
# has to exist, and the smallest one above it.
cdef void code_neighbors(
    const uint8_t* codes, intp_t n, uint8_t position, intp_t* below, intp_t* above
) noexcept nogil

# Sort the node's rows by code: entries, (row << 1) | new, and their codes; new = 1 if the
# code differs from the previous one. n is below 2^16, and there are at most MAX_LEVELS (256)
# codes.
cdef void sort_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes, uint32_t* entries,
) noexcept nogil

# The walk over a tally of [codes, n_classes] whose counts are not packed. It emits the same
# as Scan.walk_histogram, with sums of squares if the criterion is additive. The tally and
# `present` are zero afterwards.
cdef intp_t walk_unpacked_tally(
    Scan scan, int32_t* tally, uint64_t* present, intp_t n_levels, const float64_t* total
) noexcept nogil


# CodeTally: packed class counts of the rows of a node by their code, and the walk over them.
# Integer counts are exact in any order, so rows are not sorted.
#
# Columns that will be walked are counted together, because the codes of a row are adjacent in
# memory. Counts that are not walked are discarded at the next node.

cdef enum:
    MAX_COLUMNS = 8    # counted together: their counts fit into the first-level cache


cdef class CodeTally:
    cdef intp_t n_classes
    cdef intp_t bits            # per class in this node; 0: counts cannot be packed
    cdef Arena arena
    # One column alone, then those that are counted together.
    cdef uint64_t* counts       # [1 + MAX_COLUMNS, MAX_LEVELS], and
    cdef uint64_t* present      # [1 + MAX_COLUMNS, MAX_LEVELS] bits: which have rows;
                                # zero after the walk
    cdef int32_t counted_features[MAX_COLUMNS]  # their features; -1 = walked
    cdef intp_t n_counted
    cdef uint64_t* packed_row   # [n_classes] packed counts of one row of the class

    # Begin a node whose rows have the weight `n`, an integer.
    cdef void begin(self, float64_t n) noexcept nogil
    # Count rows by code; codes, labels and counts (if any) have the same order.
    cdef void add(
        self, const uint8_t* codes, const label_t* y, const int32_t* count, intp_t n
    ) noexcept nogil
    # Count tagged rows by their codes of at most MAX_COLUMNS features, of one byte each.
    cdef void add_columns(
        self, RowCodes row_codes, const int32_t* features, intp_t n_features,
        const uint64_t* rows, intp_t n
    ) noexcept nogil
    # Walk over a column counted alone. It emits the same as Scan.walk_histogram.
    cdef intp_t walk(self, Scan scan, intp_t n_levels, const float64_t* total) noexcept nogil
    # The same for a column counted together with others; -1 if there is no such column.
    cdef intp_t walk_counted(
        self, intp_t feature, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil
    cdef void _clear(self) noexcept nogil
