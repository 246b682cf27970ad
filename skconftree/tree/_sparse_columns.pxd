# SparseColumns: columns of which only the values other than zero are kept.
#
# A column is stored in one of four forms, the one that takes the least memory:
#   FULL    elsewhere: as one byte a row, see _columns.pxd
#   PAIR    zero and one other value, or zero alone: the rows that have the other
#   CODED   at most MAX_LEVELS values: these rows, and the rank codes of what they have
#   SORTED  more: these rows in ascending order of the value, which is looked up in
#           the table itself
# An entry is (row << 1) | new, as in presorted columns; new is 0 unless SORTED.
#
# Invariant: the entries of a node are one segment [begin, end) of its column, in the
# order of the rows, or of the values if SORTED. partition() at a node makes of it those
# of its children, [begin, middle) and [middle, end). A column knows the segment of the
# node that was entered last; one that this node did not list has no entry there. Who
# keeps a node for later keeps its segments.

from skconftree.tree._sparse_table cimport SparseTable
from skconftree.utils._typedefs cimport (
    float32_t, int32_t, intp_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

cdef enum Form:
    FULL
    PAIR
    CODED
    SORTED


cdef struct Segment:
    int32_t feature
    uint32_t begin
    uint32_t end


cdef struct SparseColumn:     # small, as a table may have a million
    uint32_t begin          # the segment of `node` in the entries of all columns
    uint32_t middle
    uint32_t end
    int32_t node
    uint32_t levels         # first of its levels
    uint16_t n_levels       # 0 if SORTED
    uint8_t zero            # code of zero; whether values are negative, if SORTED
    uint8_t form


cdef class SparseColumns:
    cdef SparseTable table
    cdef intp_t n_features
    cdef SparseColumn* columns      # [n_features]
    cdef uint32_t* entries
    cdef uint8_t* codes             # of the entries of CODED columns
    cdef float32_t* levels          # ascending within a column
    cdef int32_t node               # entered last
    cdef uint8_t* by_row            # [n_rows] zero between calls

    # The column that is being read.
    cdef intp_t n_entries           # used so far
    cdef intp_t n_levels
    cdef intp_t pair_levels         # first of those of the last PAIR
    cdef intp_t level_room
    cdef intp_t n_read              # values other than zero of the column: entries
    cdef float32_t* read_values     # from n_entries on, these values, their codes
    cdef uint8_t* read_codes        # and its levels
    cdef float32_t* read_levels
    cdef void* keys                 # scratch of presort(): [n_rows] of 8, 8, 4 bytes

    cdef inline intp_t n_stored(self, intp_t feature) noexcept nogil:
        # Entries of the node entered.
        cdef SparseColumn* column = &self.columns[feature]
        if column.node != self.node:
            return 0
        return <intp_t> column.end - <intp_t> column.begin

    cdef inline uint32_t* segment(self, intp_t feature) noexcept nogil:
        return self.entries + self.columns[feature].begin

    cdef inline bint child_segment(
        self, intp_t feature, intp_t outcome, Segment* segment
    ) noexcept nogil:
        # That of the first or the second child, after partition(); whether it holds
        # anything.
        cdef SparseColumn* column = &self.columns[feature]
        if column.node != self.node:
            return False
        segment.feature = <int32_t> feature
        segment.begin = column.begin if outcome == 0 else column.middle
        segment.end = column.middle if outcome == 0 else column.end
        return segment.begin < segment.end

    cdef bint begin_reading(self) noexcept nogil
    cdef bint read(self, intp_t feature) noexcept nogil
    cdef bint _keep_levels(self, SparseColumn* column) noexcept nogil
    cdef void _sort(self, SparseColumn* column) noexcept nogil
    cdef void end_reading(self) noexcept nogil
    cdef void _free_scratch(self) noexcept nogil
    cdef void enter(
        self, intp_t node, const Segment* segments, intp_t n_segments
    ) noexcept nogil
    cdef intp_t n_below(self, intp_t feature) noexcept nogil
    cdef void mark(
        self, intp_t feature, intp_t cut, const uint32_t* rows, intp_t n,
        uint8_t* goes_left,
    ) noexcept nogil
    cdef void partition(
        self, intp_t feature, const uint8_t* goes_left, void* scratch
    ) noexcept nogil
    cdef void unfold_codes(
        self, intp_t feature, const uint32_t* rows, intp_t n, uint8_t* codes
    ) noexcept nogil
    cdef void unfold_order(
        self, intp_t feature, const uint32_t* rows, intp_t n, uint32_t* order
    ) noexcept nogil
    cdef void unfold_values(
        self, intp_t feature, const uint32_t* rows, intp_t n, float32_t* values
    ) noexcept nogil
