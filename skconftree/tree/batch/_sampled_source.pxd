from skconftree.tables._encoded_table cimport Column, EncodedTable, RowCodes, floor_of
from skconftree.tree.batch._packed_rows cimport MOST_COLUMNS, CodeTally, Parted
from skconftree.tree.batch._table_source cimport RowSource
from skconftree.tree.batch._walks cimport PrunedWalk, RankSort
from skconftree.tree.split._scan cimport Scan, ValueCounts
from skconftree.tree.split._split cimport Children
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint64_t, uint8_t,
)

# What a table of the rows of a sample would say of its columns.

cdef enum:
    NO_CODE = 0x7FFFFFFF


cdef struct DrawnColumn:
    bint coded              # few values; else codes are ranks among those of all rows
    bint has_missing
    intp_t n_levels         # values, if it is coded
    int32_t missing         # the code of rows without a value; no code is so large if
                            # there are none


# Set all of `column`. `rows` are those of the sample, tagged, and `count` is by row of the
# table; `n_codes` are those of the feature; found has room for MAX_LEVELS. False if the
# feature is sorted and the sample has so few of its values that it would be coded.
cdef bint describe_column(
    EncodedTable table, intp_t feature, intp_t n_codes, const uint64_t* rows, intp_t n,
    const int32_t* count, uint8_t* found, DrawnColumn* column,
) noexcept nogil


# The value of a row that has this code, and the smallest that such a code stands for.
cdef inline float32_t value_of(
    EncodedTable table, intp_t feature, intp_t row, int32_t code
) noexcept nogil:
    cdef const Column* column = &table.columns[feature]
    if column.levels != NULL:
        return column.levels[code]
    return column.values[row * table.stride]


cdef inline float32_t smallest_of(
    EncodedTable table, intp_t feature, intp_t row, int32_t code
) noexcept nogil:
    cdef const Column* column = &table.columns[feature]
    if column.levels != NULL:
        return floor_of(column, code)
    return column.values[row * table.stride]


# DrawnSource: the rows of a node of a table of which few features are asked for.
#
# A TableSource divides every feature of a node among its children, so that each finds
# its rows side by side. Where a node looks at a few drawn features, most of that is
# never read. Here the rows alone are divided, each a word with its label and count, and
# what is asked of a feature is looked up in RowCodes: counted, or sorted on the spot. The
# tree is the same to the last bit.
#
# It knows dense tables, no rows without label, and weights that are whole counts. A
# sample in which a row counts more often than a word has room for, or a sorted feature
# has so few values that a table of that sample would have codes instead, is not for it.
#
# Histograms of parents do not help those of children: a child would need the parent's of
# the features that it draws, thus those of all features.
#
# The place of a cut is the largest code that goes left.

cdef class DrawnSource(RowSource):
    cdef EncodedTable table
    cdef RowCodes row_codes
    cdef RankSort order
    cdef PrunedWalk pruned      # of two classes
    cdef Arena arena
    cdef readonly bint fits
    cdef DrawnColumn* columns       # [n_features]

    # In node order.
    cdef uint64_t* rows             # [n_rows] tagged, ascending in a node
    cdef bint repeated              # some count more than once
    cdef uint64_t* spare            # [n_rows] rows on their way

    # The node, from its start.
    cdef int32_t coming[MOST_COLUMNS]   # features that will be walked and may be counted
    cdef intp_t n_coming                # at once
    cdef intp_t looked_up           # the feature whose codes these are; -1 = none
    cdef int32_t* codes             # [n_rows]
    cdef intp_t sided               # the feature whose cut the rows are parted by in
    cdef intp_t sided_place         # `spare`, or, if some have no value, have sides;
    cdef Parted parted              # -1 = none
    cdef uint8_t* sides             # [n_rows] 0 left, 1 right, 2 no value
    cdef intp_t side_rows[3]
    cdef int32_t* side_counts       # [3, n_classes]
    cdef label_t* branches          # [n_rows] the child, if there may be more
    cdef intp_t* at                 # [branches of a multiway test] scratch
    cdef float64_t n_walked         # as of TableSource

    # The rows of a walk: those that have a value.
    cdef intp_t n_seen
    cdef const uint64_t* walked_rows
    cdef int32_t* seen_codes        # [n_rows], and
    cdef uint64_t* seen_rows        # [n_rows] if some have none
    cdef label_t* plain_y           # [n_rows] of walks that take no tags
    cdef int32_t* plain_count
    cdef CodeTally packed           # their counts, if these can be packed;
    cdef int32_t* plain_tally       # [MAX_LEVELS, n_classes] if not: zeros between walks
    cdef uint64_t* present          # [MAX_LEVELS] bits: what is in the tally
    cdef float64_t* histogram       # [MAX_LEVELS, n_classes]

    cdef int _begin(
        self, const label_t* y, const int32_t* count, bint multiway
    ) except -1 nogil
    cdef void _look_up(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_tally(self, intp_t feature, Scan scan) noexcept nogil
    cdef bint _counts_all(self, Scan scan) noexcept nogil
    cdef void _tally_plain(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_histogram(self, intp_t feature, Scan scan) noexcept nogil
    cdef const int32_t* _walked_codes(self, intp_t feature) noexcept nogil
    cdef intp_t _walk_order(self, intp_t feature, Scan scan) noexcept nogil
    cdef intp_t _place_of(self, intp_t feature, float64_t threshold) noexcept nogil
    cdef void _set_sides(self, intp_t feature, intp_t place) noexcept nogil
    cdef void _part(self, intp_t feature, int32_t cut) noexcept nogil
    cdef void _mark_sides(self, intp_t feature, int32_t cut) noexcept nogil
    cdef void _prefetch_value(self, intp_t feature, intp_t row) noexcept nogil
