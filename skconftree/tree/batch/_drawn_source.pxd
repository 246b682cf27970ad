# DrawnSource: the rows of a node of a table of which few features are asked for.
#
# A TableSource divides every feature of a node among its children, so that each finds
# its rows side by side. Where a node looks at a few drawn features, most of that is
# never read. Here the rows alone are divided, with their labels and counts, and what is
# asked of a feature is looked up in RowCodes: counted, or sorted on the spot. The tree
# is the same to the last bit.
#
# It knows dense tables, no rows without label, and weights that are whole counts. A
# sample in which a sorted feature has so few values that a table of that sample would
# have codes instead is not for it.
#
# The place of a cut is the largest code that goes left.

from skconftree.tables._encoded_table cimport Column, EncodedTable
from skconftree.tables._row_codes cimport RowCodes
from skconftree.tree.batch._rank_sort cimport RankSort
from skconftree.tree.batch._row_source cimport RowSource
from skconftree.tree.split._scan cimport Scan
from skconftree.tree.split._source cimport ValueCounts
from skconftree.tree.split._split cimport Children
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint8_t, uint32_t, uint64_t,
)


cdef struct DrawnColumn:
    # A feature, as a table of the sample would have it.
    bint coded              # few values; else codes are ranks among those of all rows
    bint has_missing
    intp_t n_levels         # values, if it is coded
    int32_t missing        # the code of rows without a value; no code is so large if
                            # there are none


cdef class DrawnSource(RowSource):
    cdef EncodedTable table
    cdef RowCodes row_codes
    cdef RankSort order
    cdef Arena arena
    cdef readonly bint fits
    cdef DrawnColumn* columns       # [n_features]

    # In node order.
    cdef uint32_t* ids              # [n_rows] the rows, ascending in a node
    cdef label_t* y                 # [n_rows]
    cdef int32_t* count             # [n_rows], or NULL if all are 1
    cdef bint tagged                # all of them have room in a tag
    cdef uint32_t* spare            # [n_rows] rows on their way

    # The node, from its start.
    cdef intp_t looked_up           # the feature whose codes these are; -1 = none
    cdef int32_t* codes            # [n_rows]
    cdef intp_t sided               # the feature whose cut these sides are of; -1 = none
    cdef intp_t sided_place
    cdef uint8_t* sides             # [n_rows] 0 left, 1 right, 2 no value
    cdef intp_t side_rows[3]
    cdef int32_t* side_counts       # [3, n_classes]
    cdef intp_t below               # rows with the values next to the cut
    cdef intp_t above
    cdef label_t* branches          # [n_rows] the child, if there may be more
    cdef intp_t* at                 # [branches of a multiway test] scratch
    cdef float64_t n_walked         # as of TableSource

    # The rows of a walk: those that have a value.
    cdef intp_t n_seen
    cdef const int32_t* walked_codes
    cdef const label_t* walked_y
    cdef const int32_t* walked_count
    cdef int32_t* seen_codes       # [n_rows] if some have none
    cdef label_t* seen_y
    cdef int32_t* seen_count
    cdef int32_t* tally             # [MAX_LEVELS, n_classes] zeros between walks
    cdef uint64_t* present          # [MAX_LEVELS] bits: what is in the tally
    cdef float64_t* histogram       # [MAX_LEVELS, n_classes]

    cdef int _begin(
        self, const label_t* y, const int32_t* count, bint multiway
    ) except -1 nogil
    cdef void _describe(
        self, intp_t feature, const int32_t* count, uint8_t* found
    ) noexcept nogil
    cdef intp_t _count_levels(
        self, const Column* column, uint8_t* found
    ) noexcept nogil
    cdef bint _has_many_values(
        self, const Column* column, const int32_t* count
    ) noexcept nogil
    cdef bint _misses_some(
        self, const Column* column, const int32_t* count
    ) noexcept nogil
    cdef void _look_up(self, intp_t feature) noexcept nogil
    cdef float32_t _value(self, intp_t feature, intp_t i) noexcept nogil
    cdef float32_t _floor(self, intp_t feature, intp_t i) noexcept nogil
    cdef void _count_codes(self) noexcept nogil
    cdef intp_t _walk_tally(self, intp_t feature, Scan scan) noexcept nogil
    cdef intp_t _walk_histogram(self, intp_t feature, Scan scan) noexcept nogil
    cdef intp_t _walk_order(self, Scan scan) noexcept nogil
    cdef intp_t _place_of(self, intp_t feature, float64_t threshold) noexcept nogil
    cdef void _set_sides(self, intp_t feature, intp_t place) noexcept nogil
    cdef intp_t _row_of(self, intp_t feature, int32_t code) noexcept nogil
    cdef void _part(self, intp_t start, intp_t n) noexcept nogil
    cdef void _scatter(
        self, intp_t start, intp_t n, const intp_t* starts, intp_t n_outcomes
    ) noexcept nogil
