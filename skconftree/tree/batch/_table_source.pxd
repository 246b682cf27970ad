# A source gives the split search the rows of a node, one feature at a time. A walk over
# a feature reads the values in ascending order and emits the candidate splits: it
# passes them to a Scan in blocks. A cut is a candidate threshold. The pool of a node is
# its unlabeled rows. A column is coded if each row has a code, the rank of its value
# among the distinct values (levels) or bins; the histogram has the class weights by
# code. Otherwise it is sorted: its entries are the rows in the order of the value
# (tables/_encoded_table.pxd). A row of integer weight w is repeated w times. Look-ahead
# (_lookahead.pyx) makes and discards trial splits. An Arena owns arrays. K is the
# number of classes.

from skconftree.tables._encoded_table cimport Column
from skconftree.tree.batch._node_rows cimport StoredOrder, NodeRows
from skconftree.tree.batch._packed_rows cimport CodeTally
from skconftree.tree.batch._sparse_rows cimport Segment
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._scan cimport (
    BLOCK, Scan, Source, ValueCounts, clear_values, sum_of, sum_values,
)
from skconftree.tree.split._split cimport Children, Split
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint32_t, uint8_t

cdef inline void add_value(
    float64_t* sums, intp_t K, const float64_t* counts, float64_t x
) noexcept nogil:
    # Add rows of the same value x to [3, n_classes] sums of weights, values and squares.
    # `counts` are their class weights.
    cdef intp_t c
    for c in range(K):
        sums[c] += counts[c]
        sums[K + c] += counts[c] * x
        sums[2 * K + c] += counts[c] * (x * x)


# RowSource: a source whose rows a builder divides among the children of a node, so that
# a node is a range [start, end) of them. Each storage format of rows is a subclass.

cdef enum ChildRows:
    IS_CONSTANT        # the feature is constant in the child
    IN_RANGE           # its rows are in the range of the child
    IN_SEGMENT         # the column is sparse: the child stores its range of entries


cdef class RowSource(Source):
    cdef readonly intp_t n_rows     # of the sample
    cdef bint has_segments          # the table is sparse: rows_of_child() may return
                                    # IN_SEGMENT or IS_CONSTANT

    # Begin a node. The builder has stored the segments of its sparse columns, the ranges of their
    # entries (_sparse_rows.pxd).
    cdef void enter(self, intp_t node, const Segment* segments, intp_t n_segments) noexcept nogil
    # Divide the rows of the node entered last. The rows of its children begin at `starts`,
    # relative to its own start.
    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil
    # Store the order of a node's rows, and restore it after later calls of divide(). One node
    # at a time. Only look-ahead requires it.
    cdef int store_order(self, const NodeRecord* record) except -1 nogil
    cdef void restore_order(self) noexcept nogil
    # For draw() of Source, which returns a random cut: the extreme values of labeled
    # rows, which are equal if no cut separates them, and the position of the cut with
    # the values <= threshold on the left.
    cdef void labeled_range(self, intp_t feature, float32_t* low, float32_t* high) noexcept nogil
    cdef intp_t index_of(self, intp_t feature, float64_t threshold) noexcept nogil
    # Where the rows of a feature are stored for a child, the index `outcome`, after divide().
    cdef ChildRows rows_of_child(
        self, intp_t feature, intp_t outcome, Segment* segment
    ) noexcept nogil

    cdef inline bint is_exact(self, Scan scan) noexcept nogil:
        # Whether candidates and blocks do not depend on the order of the rows. An additive scan
        # emits sums of a function of the class counts, exact for squares; others emit counts. With
        # two classes, blocks of sorted rows have BLOCK rows, otherwise BLOCK candidates.
        return (scan.squares or not scan.additive) and (
            self.node.n_classes > 2 or self.node.n_repeated <= BLOCK
        )

    # Walk over a coded feature by its histogram, [codes, n_classes], with one more column for
    # unlabeled rows if the node has any. The last code may be that of a missing value.
    cdef inline intp_t walk_levels(
        self, const Column* column, const float64_t* histogram, Scan scan
    ) noexcept nogil:
        cdef intp_t n_levels = column.n_levels - column.has_missing
        if self.node.has_pool:
            return scan.walk_histogram_with_pool(histogram, n_levels, column.levels)
        return scan.walk_histogram(histogram, n_levels, self.node.counts)

    cdef inline void add_levels(
        self, const Column* column, const float64_t* histogram, float64_t* sums
    ) noexcept nogil:
        # sum_by_class() (Source, _scan.pxd) of a coded feature, from its histogram, [codes,
        # n_classes].
        cdef intp_t K = self.node.n_classes
        cdef intp_t first = 0, b
        while sum_of(histogram + first * K, K) == 0.0:
            first += 1
        for b in range(first, column.n_levels - column.has_missing):
            add_value(
                sums, K, histogram + b * K,
                <float64_t> column.levels[b] - column.levels[first],
            )

    cdef inline void sum_levels(
        self, const Column* column, const float64_t* histogram, ValueCounts* values
    ) noexcept nogil:
        # Sum the histogram of a feature with missing values over values, and over missing.
        cdef intp_t width = self.node.n_classes + self.node.has_pool
        cdef float64_t* counts
        cdef intp_t b, c
        clear_values(values, self.node.n_classes)
        for b in range(column.n_levels):
            counts = values.present if b < column.n_levels - 1 else values.missing
            for c in range(width):
                counts[c] += histogram[b * width + c]
        sum_values(values, self.node.n_classes)


cdef inline intp_t index_of_level(const Column* column, float64_t threshold) noexcept nogil:
    # The largest code of a value <= threshold, at least 0. NaN is never <= threshold.
    cdef intp_t position = 0
    while position + 1 < column.n_levels and column.levels[position + 1] <= threshold:
        position += 1
    return position


# TableSource: the rows of a node of a table, stored by NodeRows. The position of a cut is the
# largest code on the left, or the number of sorted rows.

cdef class TableSource(RowSource):
    cdef readonly NodeRows rows
    cdef StoredOrder stored_order   # of a node before look-ahead grows trees below it
    cdef CodeTally packed           # counts by code, all classes in one integer; for
                                    # nodes of labeled rows with integer weights
    cdef Arena arena                # owns the arrays

    # One feature.
    cdef float64_t* histogram       # [MAX_LEVELS, n_classes + 1]
    cdef int32_t* tally             # the same as integers, for integer weights
    cdef uint32_t* sorted_rows      # [SORT_LIMIT (_packed_rows.pxd)] entries of a small node
    cdef int32_t* sorted_codes      # [SORT_LIMIT] their codes
    cdef intp_t n_present           # rows with a value, if the feature is sorted
    cdef intp_t* at                 # [2, branches of a multiway split] next index to write
    cdef void* scratch              # [n_rows + 1] 8 bytes each: rows being moved

    # The node.
    cdef float64_t n_walked         # rows, each counted as often as its integer weight;
                                    # at most REPEATS (_scan.pxd) times their number
    cdef float64_t unlabeled        # weight of the unlabeled rows; for sparse tables only

    # Divide the rows of a node between two children; their sides have been marked.
    cdef void partition(self, const NodeRecord* record, intp_t feature) noexcept nogil
    # Whether a feature is sorted, has no missing value, and all rows are labeled and weigh 1.
    cdef bint _is_plain(self, intp_t feature) noexcept nogil
    # Walk over the first n rows of a sorted column.
    cdef intp_t _walk_order(self, const Column* column, intp_t n, Scan scan) noexcept nogil
