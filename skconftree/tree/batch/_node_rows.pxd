from skconftree.tables._encoded_table cimport Column, EncodedTable
from skconftree.tables._sparse_columns cimport FULL, SparseColumn
from skconftree.tree.batch._sparse_rows cimport Segment, SparseRows
from skconftree.tree.split._node cimport NodeRecord
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, intp_t, label_t, uint32_t, uint64_t, uint8_t,
)

# NodeRows: the working copy of one worker (thread): the rows of a sample of an encoded table
# (tables/_encoded_table.pxd), arranged so that a node is the same range [start, end) of every
# array.
#
# A sample is defined by integer counts of the rows; rows are never copied, and a row with
# count 0 is absent. Rows keep their numbers in the table, which index y, count, weight and
# goes_left. The following arrays are in node order, that is, sorted by node:
#   codes of CODED features: a node counts them in one pass;
#   entries of SORTED features, (row << 1) | new, sorted within each node: they are sorted
#   once, and stable partition keeps them sorted. `new` means that the value differs from
#   the previous entry (_partition.pxd). At the first entry of a node it is 1 unless all values
#   are known to be distinct;
#   and, if a feature is coded or sparse, the rows themselves, labels and weights.
#
# A feature is CODED if each row has a code, the rank of its value among the distinct values
# (levels) or bins of the feature; it is SORTED if its rows are stored in the order of the
# value. A column of a sparse table is FULL if all its rows are stored. The result is the same
# as if the rows of the sample had been encoded separately: levels without rows are dropped, and
# a sorted feature with few values left is coded.
#
# Invariant: after partition() of [start, end) between two children at mid, the ranges [start,
# mid) and [mid, end) of every array are the two children, each in its previous order.
#
# The position of a cut is the number of rows that go left, in ascending order of the value,
# if the feature is SORTED; it is the largest code that goes left if the feature is CODED.

cdef class NodeRows:
    cdef readonly EncodedTable table
    cdef readonly intp_t n_rows     # of the sample, without repeats
    cdef readonly intp_t n_features
    cdef Arena arena

    # By row of the table.
    cdef const label_t* y           # class; n_classes = a row without label
    cdef const int32_t* count       # integer weight, and
    cdef const float64_t* weight    # any weight; both are NULL if all are 1
    cdef intp_t stride              # distance from a value of a column to that of the next row

    # In node order.
    cdef Column* columns            # [n_features]; read column(f) if it may be sparse
    cdef SparseRows sparse          # rows of the sparse columns; None if X is dense
    cdef SparseColumn* sparse_columns  # its columns, or NULL
    cdef uint32_t* ids              # [n_rows] the rows
    cdef label_t* node_y            # [n_rows]
    cdef int32_t* node_count        # [n_rows], or NULL
    cdef float64_t* node_weight     # [n_rows], or NULL

    cdef uint8_t* goes_left         # by row: the side of the split in progress
    cdef uint8_t* sides             # [n_rows] the same in node order, scratch
    cdef label_t* branch            # by row: the child, if there are more
    cdef label_t* branches          # [n_rows] the same in node order, scratch
    cdef object _owners             # keeps labels and weights alive, or all arrays

    cdef inline bint is_sparse(self, intp_t feature) noexcept nogil:
        return self.sparse_columns != NULL and self.sparse_columns[feature].form != FULL

    cdef inline Column* column(self, intp_t feature) noexcept nogil:
        # Of a sparse column, densify() has created the dense one of the node.
        if self.is_sparse(feature):
            return &self.sparse.dense
        return &self.columns[feature]

    cdef inline float32_t value(self, intp_t row, intp_t feature) noexcept nogil:
        if self.sparse_columns != NULL:
            return self.sparse.table.value(row, feature)
        return self.columns[feature].values[row * self.stride]

    # Set all fields. `multiway`: splits may have more than two children; `consumes`: use the
    # arrays of the table instead of copies.
    cdef int _begin(self, bint multiway, bint consumes) except -1 nogil
    # Copy the codes of the rows of the sample; levels without rows are dropped.
    cdef int _copy_codes(self, Column* column, const Column* original) except -1 nogil
    # Convert a SORTED column with few levels into a CODED one. positions[row]: index of a row.
    cdef int _rank(
        self, Column* column, intp_t n_levels, const uint32_t* positions
    ) except -1 nogil
    # Number of rows of the node [start, end) that have a value of a SORTED feature.
    cdef intp_t n_present(self, intp_t feature, intp_t start, intp_t end) noexcept nogil
    # Set `goes_left` (or `branch` if `multiway`) of each row of the node [start, end), by the
    # position of a cut, or by the child of each category; other categories go to `unknown`.
    cdef void mark(
        self, intp_t feature, intp_t position, bint missing_left, intp_t start, intp_t end
    ) noexcept nogil
    cdef void mark_categories(
        self, intp_t feature, const int16_t* child_of_code, intp_t n_mapped_codes,
        intp_t unknown, bint multiway, intp_t start, intp_t end,
    ) noexcept nogil
    # Divide all arrays of a node whose rows have been marked by a split on `feature`; the other
    # features that its children need are listed. `scratch` has 8 bytes for each row, and 8 more.
    cdef void partition(
        self, intp_t feature, const int32_t* features, intp_t n_features,
        intp_t start, intp_t end, void* scratch,
    ) noexcept nogil
    # The steps of partition(): set `sides` (or return False if all of these features are SORTED
    # and dense: then neither sides nor rows are needed), divide the column of f, divide the rows.
    cdef bint set_sides(
        self, const int32_t* features, intp_t n_features, intp_t start, intp_t end
    ) noexcept nogil
    cdef void partition_column(
        self, intp_t f, intp_t feature, intp_t start, intp_t end, void* scratch
    ) noexcept nogil
    cdef void partition_rows(self, intp_t start, intp_t end, void* scratch) noexcept nogil
    # The same as partition() for n_outcomes children, which begin at `starts` (relative to the
    # start of the node). `at` is scratch of this size.
    cdef void partition_multiway(
        self, const int32_t* features, intp_t n_features, intp_t start, intp_t end,
        const intp_t* starts, intp_t n_outcomes, intp_t* at, void* scratch,
    ) noexcept nogil


# StoredOrder: the order of the rows of one node before trial splits, which look-ahead makes and
# discards to estimate their costs.
#
# RowSource.divide() (_table_source.pxd), which divides a node between its children, moves rows
# within the range of their node only, and entries of sparse columns within the segments of the
# node (its ranges of entries). These parts of the arrays are copied and restored. The first node
# is the largest one; its memory is reused for the others.

cdef class StoredOrder:
    cdef NodeRows rows
    cdef Arena arena                # owns the arrays
    cdef uint8_t* copies            # of the arrays, one after the other
    cdef intp_t capacity
    cdef int32_t* features          # [n_features] dense features that are not constant in
    cdef intp_t n_features          # the node
    cdef Segment* segments          # [n_segments] of its sparse columns
    cdef intp_t n_segments
    cdef intp_t start               # the node
    cdef intp_t end

    cdef int store(self, const NodeRecord* record) except -1 nogil
    cdef void restore(self) noexcept nogil
