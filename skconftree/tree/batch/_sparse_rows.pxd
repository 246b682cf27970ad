# SparseRows: the sparse columns of a sample of a sparse table, divided as the tree grows.
#
# Invariant: the entries of a node are one segment [begin, end) of its column, in the
# order of the rows, or of the values if SORTED. partition() divides it into the
# segments of the children, [begin, middle) and [middle, end); mark() sets the child of
# each row before that. A FrontierNode (_builder.pxd), a leaf that may still split,
# stores its segments. enter() writes them into the columns, with the number of the
# call, `visit`: a column with another number has no entries in the node.
#
# The form of a column is PAIR (the rows of its only nonzero value), CODED (nonzero rows and
# rank codes of their values), SORTED (nonzero rows in the order of the value) or FULL (all
# rows, stored elsewhere). A stored row is an entry, (row << 1) | new, where new = 1 if the
# column is SORTED and the value differs from that of the previous entry. Levels are the
# distinct values of a column. See tables/_sparse_columns.pxd.
#
# For rare cases, densify() creates an ordinary column from a sparse one, for one node at a
# time.

from skconftree.tables._encoded_table cimport Column
from skconftree.tables._sparse_columns cimport SparseColumn, SparseColumns, SparseTable
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, int32_t, intp_t, uint32_t, uint8_t


cdef struct Segment:        # the entries of a node in a column
    int32_t feature
    uint32_t begin
    uint32_t end


cdef class SparseRows:
    cdef SparseTable table
    cdef SparseColumns source       # owns the arrays if these are used, not copied
    cdef Arena arena                # owns the arrays that are copied
    cdef intp_t n_rows              # of the sample
    cdef SparseColumn* columns      # [n_features]
    cdef uint32_t* entries
    cdef uint8_t* codes             # of the entries of CODED columns
    cdef const float32_t* levels    # ascending within a column
    cdef int32_t visit              # number of the last call of enter(); 0 at the root
    cdef int32_t n_visits
    cdef uint8_t* by_row            # [n_rows of the table] scratch, zero between calls

    cdef Column dense               # result of densify()
    cdef intp_t dense_feature       # its feature, or -1
    cdef uint8_t* dense_codes       # [n_rows] its arrays
    cdef uint32_t* dense_order
    cdef float32_t* dense_values    # [n_rows of the table]

    cdef inline intp_t n_stored(self, intp_t feature) noexcept nogil:
        # Number of entries of the node entered last.
        cdef SparseColumn* column = &self.columns[feature]
        if column.visit != self.visit:
            return 0
        return <intp_t> column.end - <intp_t> column.begin

    cdef inline uint32_t* segment(self, intp_t feature) noexcept nogil:
        return self.entries + self.columns[feature].begin

    cdef inline bint child_segment(
        self, intp_t feature, intp_t outcome, Segment* segment
    ) noexcept nogil:
        # The segment of the first or the second child, after partition(); whether it has
        # entries.
        cdef SparseColumn* column = &self.columns[feature]
        if column.visit != self.visit:
            return False
        segment.feature = <int32_t> feature
        segment.begin = column.begin if outcome == 0 else column.middle
        segment.end = column.middle if outcome == 0 else column.end
        return segment.begin < segment.end

    # Use the arrays of the source, or copy the entries of the rows of the sample: `rows`, those
    # with present[row] = 1, or all if `present` is NULL.
    cdef int take_over(self) except -1 nogil
    cdef int copy(self, const uint8_t* present, const uint32_t* rows) except -1 nogil
    # Steps of copy(), which return the number of entries: copy a CODED column, whose levels
    # without rows are dropped; convert a SORTED column with few levels into a CODED one.
    cdef intp_t _copy_codes(
        self, SparseColumn* column, const SparseColumn* original,
        const uint8_t* present, float32_t* levels,
    ) noexcept nogil
    cdef intp_t _rank(
        self, intp_t feature, intp_t n_levels, const uint32_t* rows, float32_t* levels
    ) noexcept nogil
    # Begin a node with these segments.
    cdef void enter(self, intp_t node, const Segment* segments, intp_t n_segments) noexcept nogil
    cdef void enter_segments(self, const Segment* segments, intp_t n_segments) noexcept nogil
    # Number of entries of the node, in a SORTED column, with values below zero.
    cdef intp_t n_below(self, intp_t feature) noexcept nogil
    # Set `goes_left` of each of the n rows of the node. `position`: number of rows that
    # go left (SORTED), or the largest code that does.
    cdef void mark(
        self, intp_t feature, intp_t position, const uint32_t* rows, intp_t n, uint8_t* goes_left,
    ) noexcept nogil
    # Divide the segment of the node between two children. `scratch` has 8 bytes per row.
    cdef void partition(
        self, intp_t feature, const uint8_t* goes_left, void* scratch
    ) noexcept nogil
    # Set `dense` to the column of the node with rows[start:end]. `with_values`: needs values.
    cdef void densify(
        self, intp_t feature, const uint32_t* rows, intp_t start, intp_t end, bint with_values,
    ) noexcept nogil
