from skconftree.tables._encoded_table cimport RowCodes
from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._scan cimport Scan
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, intp_t, label_t, uint16_t, uint32_t, uint64_t, uint8_t,
)

# Rows of a node, each in one word with all that a count or a walk asks of it:
#
#   tag << 32 | row,    tag = count << 16 | class
#
# What a pass over the rows of a node reads lies side by side, beside the codes of one
# feature, which are found by row (tables/_encoded_table.pxd).
#
# Class counts are packed: `bits` wide each, all classes in one 64-bit number, to which
# a row is added at once. 0 bits: there are too many classes, or too large counts.

cdef enum:
    MAX_TAGGED = 0xFFFF    # a tag has no room for larger counts
    MARKED_ROWS = 192       # of more rows codes are looked for in the tally


ctypedef fused code_t:
    uint8_t
    uint16_t
    int32_t


cdef struct Parted:
    intp_t n_left           # rows
    uint64_t right          # packed class counts of the others
    uint32_t below          # the first rows with the values next to the cut, if there
    uint32_t above          # are such values; that below is not asked for where codes
    uint32_t code_above     # have a byte


cdef inline uint64_t tagged(intp_t row, intp_t y, intp_t count) noexcept nogil:
    return (<uint64_t> count << 48) | (<uint64_t> y << 32) | <uint64_t> row


cdef inline uint32_t row_of(uint64_t row) noexcept nogil:
    return <uint32_t> row


cdef inline intp_t class_of(uint64_t row) noexcept nogil:
    return <intp_t> ((row >> 32) & 0xFFFF)


cdef inline int32_t count_of(uint64_t row) noexcept nogil:
    return <int32_t> (row >> 48)


# Add rows to the packed tally of their codes, all below 256, and note in `present` which
# codes have rows; both are zeros. The codes are those of a `column` by row, `stride` apart,
# or lie in the order of the rows.
cdef void tally_packed(
    const uint8_t* column, intp_t stride, const int32_t* codes, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil

# Copy the rows whose code is at most `cut` to the front of `parted`, in their order, and
# the others to its end, in the opposite order.
cdef void part_rows(
    const code_t* column, intp_t stride, const uint64_t* rows, intp_t n, int32_t cut,
    intp_t bits, uint64_t* parted, Parted* result,
) noexcept nogil
# The rows back, either part in its order.
cdef void take_parted(
    const uint64_t* parted, intp_t n, intp_t n_left, uint64_t* rows
) noexcept nogil


# Codes of a node's rows, counted by class or brought into order.

cdef enum:
    SORT_LIMIT = 16384      # rows of a node that are sorted; of more, codes are counted


ctypedef fused counted_code_t:
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
    const counted_code_t* codes, intp_t n, const label_t* y, const int32_t* count,
    const float64_t* weight, intp_t n_codes, intp_t width, int32_t* tally,
    float64_t* out,
) noexcept nogil

# The codes next to a cut, of rows that have a label: the largest that is at most `place`,
# of which there is one, and the smallest above it.
cdef void code_neighbours(
    const uint8_t* codes, intp_t n, uint8_t position, intp_t* below, intp_t* above
) noexcept nogil

# The node's rows as entries, (row << 1) | new, in the order of their codes, and these
# codes; n is below 2^16, and there are at most MAX_LEVELS codes.
cdef void sort_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes,
    uint32_t* entries,
) noexcept nogil

# The walk over a tally of [codes, n_classes] whose counts are not packed: tests as
# Scan.walk_histogram has them, scored by sums of squares if the criterion is additive.
# The tally and `present` are zeros afterwards.
cdef intp_t walk_plain_tally(
    Scan scan, int32_t* tally, uint64_t* present, intp_t n_levels, const float64_t* total
) noexcept nogil


# CodeTally: class counts of the rows of a node by their code, packed as
# above, and the walk over them. Whole counts are exact in any order: no row is sorted.
#
# Columns of which it is known that they will be walked are counted at once: the codes of a
# row lie side by side. What is then not walked is forgotten at the next node.

cdef enum:
    MAX_COLUMNS = 8    # at once: their counts stay in the first-level cache


cdef class CodeTally:
    cdef intp_t n_classes
    cdef intp_t bits            # of a class in this node; 0: counts cannot be packed
    cdef Arena arena
    # One column alone, and those that are counted at once.
    cdef uint64_t* counts       # [1 + MAX_COLUMNS, MAX_LEVELS], and
    cdef uint64_t* present      # [1 + MAX_COLUMNS, MAX_LEVELS] bits: which have rows;
                                # zeros once they have been walked
    cdef int32_t waiting[MAX_COLUMNS]      # their features; -1 = walked
    cdef intp_t n_waiting
    cdef uint64_t* packed_one   # [n_classes] a row of a class, packed

    # Go to a node whose rows weigh `n`, a whole number.
    cdef void begin(self, float64_t n) noexcept nogil
    # Count rows that lie in the order of their codes, labels, and counts, if any.
    cdef void add(
        self, const uint8_t* codes, const label_t* y, const int32_t* count, intp_t n
    ) noexcept nogil
    # Count tagged rows by their codes of at most MAX_COLUMNS features, of one byte each.
    cdef void add_columns(
        self, RowCodes row_codes, const int32_t* features, intp_t n_features,
        const uint64_t* rows, intp_t n
    ) noexcept nogil
    # The number of tests of a column counted alone, as Scan.walk_histogram has them.
    cdef intp_t walk(
        self, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil
    # The same of one that was counted beside others; -1: it was not, or has been walked.
    cdef intp_t walk_waiting(
        self, intp_t feature, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil
    cdef void _forget(self) noexcept nogil
