# Rows of a node, each in one word with all that a count or a walk asks of it:
#
#   tag << 32 | row,    tag = count << 16 | class
#
# What a pass over the rows of a node reads lies side by side, beside the codes of one
# feature, which are found by row (tables/_row_codes.pxd).
#
# Class counts are packed: `bits` wide each, all classes in one 64-bit number, to which
# a row is added at once. 0 bits: there are too many classes, or too large counts.

from skconftree.utils._typedefs cimport (
    int32_t, intp_t, label_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

cdef enum:
    MOST_TAGGED = 0xFFFF    # a tag has no room for larger counts
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


cdef inline uint32_t row_of(uint64_t word) noexcept nogil:
    return <uint32_t> word


cdef inline intp_t class_of(uint64_t word) noexcept nogil:
    return <intp_t> ((word >> 32) & 0xFFFF)


cdef inline int32_t count_of(uint64_t word) noexcept nogil:
    return <int32_t> (word >> 48)


# How many bits a class may take, if no count is above `most`.
cdef intp_t packed_bits(intp_t n_classes, double most) noexcept nogil

# Note in `present` which of 256 codes have counts.
cdef void mark_present(const uint64_t* tally, uint64_t* present) noexcept nogil

# Add rows to the packed tally of their codes, all below 256, and note in `present` which
# codes have rows; both are zeros. The codes are those of a `column` by row, `stride` apart,
# or lie in the order of the rows.
cdef void tally_packed(
    const uint8_t* column, intp_t stride, const int32_t* codes, const uint64_t* rows,
    intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil

# The same of several columns at once, whose codes lie at these offsets from that of a row
# and whose tallies, of 256 codes each, follow each other.
cdef void tally_packed_columns(
    const uint8_t* codes, intp_t stride, const intp_t* offsets, intp_t n_columns,
    const uint64_t* rows, intp_t n, intp_t bits, uint64_t* tally, uint64_t* present,
) noexcept nogil

# The same, each class by itself: the tally is [256, n_classes].
cdef void tally_plain(
    const uint8_t* column, intp_t stride, const int32_t* codes, const uint64_t* rows,
    intp_t n, intp_t n_classes, int32_t* tally, uint64_t* present,
) noexcept nogil

# Copy the rows whose code is at most `cut` to the front of `parted`, in their order, and
# the others to its end, in the opposite order.
cdef void part_rows(
    const code_t* column, intp_t stride, const uint64_t* rows, intp_t n, int32_t cut,
    intp_t bits, uint64_t* parted, Parted* found,
) noexcept nogil
# The rows back, either part in its order.
cdef void take_parted(
    const uint64_t* parted, intp_t n, intp_t n_left, uint64_t* rows
) noexcept nogil
