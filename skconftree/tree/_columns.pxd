# Columns: the training rows, arranged so that a node is the same range
# [start, end) of every array.
#
# A feature with at most MAX_LEVELS distinct values is CODED: one byte a row,
# the rank of the value, in node order. A node profiles it in one pass.
#
# A nominal feature is CODED too, its codes being those of its categories, on two
# bytes if there are more than MAX_LEVELS. One more code, the largest, stands for
# what rows without label have and no labelled row.
#
# Any other feature is SORTED: the rows of each node in ascending order of the
# value, presorted once and kept sorted by stable partition, so no node sorts
# again. An entry is (row << 1) | new, where new says that the value differs
# from the entry's predecessor in the same node; at the first entry of a node
# it means nothing.
#
# A column of a sparse table may be FOLDED: only its rows other than zero are kept,
# see _sparse_columns.pxd. For what few nodes or bounds ask, unfold() makes an
# ordinary column of it, of one node at a time.
#
# NaN is the largest value: the last level, or the last entries of a node.
#
# Invariant: after partition() of [start, end) at mid the ranges [start, mid) and
# [mid, end) hold the two children in every array, each in the order it had.
#
# The cut of a numeric test is the number of rows that go left, in ascending order
# of the value, if the feature is SORTED; the largest code that goes left, if it is
# CODED. A bit above it says that missing values go left as well.

from skconftree.tree._sparse_columns cimport FULL, SparseColumn, SparseColumns
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, intp_t, label_t, uint8_t, uint32_t,
)

cdef struct Column:
    uint8_t* codes          # [n_rows] in node order; NULL if SORTED or wide
    label_t* wide           # [n_rows] the same on two bytes, or NULL
    float32_t* levels       # [n_levels] ascending; NULL if nominal
    const float32_t* values     # row i at i * stride; of sparse tables see value()
    intp_t n_levels
    uint32_t* order         # [n_rows] entries, sorted within each node; NULL if CODED
    bint has_missing        # NaN among the values of a numeric feature
    bint nominal


cdef class Columns:
    cdef readonly intp_t n_rows
    cdef readonly intp_t n_features
    cdef readonly intp_t n_coded

    cdef intp_t stride              # from a value of a column to that of the next row
    cdef const label_t* y           # [n_rows] class; n_classes = a row without label
    cdef const float64_t* weight    # [n_rows], or NULL if all are 1
    cdef Column* columns            # [n_features]; read column(f) if it may be folded

    cdef SparseColumns sparse       # None if X is dense
    cdef SparseColumn* folded       # its columns, or NULL
    cdef Column unfolded            # of a node, and the feature it is, or -1
    cdef intp_t unfolded_feature
    cdef uint8_t* unfolded_codes    # [n_rows] its arrays
    cdef uint32_t* unfolded_order
    cdef float32_t* unfolded_values

    # In node order, kept only if a feature is coded.
    cdef uint32_t* rows             # [n_rows]
    cdef label_t* node_y            # [n_rows]
    cdef float64_t* node_weight     # [n_rows], or NULL

    cdef uint8_t* goes_left         # [n_rows] by row: the side of the split in progress
    cdef uint8_t* sides             # [n_rows] the same in node order, scratch
    cdef label_t* branch            # [n_rows] by row: the child, if there are more
    cdef label_t* branches          # [n_rows] the same in node order, scratch
    cdef float64_t* scratch         # [n_rows + 1] right halves on their way
    cdef object _owners             # keeps a dense X, y and weight alive

    cdef inline bint is_folded(self, intp_t feature) noexcept nogil:
        return self.folded != NULL and self.folded[feature].form != FULL

    cdef inline Column* column(self, intp_t feature) noexcept nogil:
        # A folded one has been unfolded in the node.
        if self.is_folded(feature):
            return &self.unfolded
        return &self.columns[feature]

    cdef inline float32_t value(self, intp_t row, intp_t feature) noexcept nogil:
        if self.folded != NULL:
            return self.sparse.table.value(row, feature)
        return self.columns[feature].values[row * self.stride]

    cdef bint _allocate(self) noexcept nogil
    cdef bint _arrange(
        self, const float32_t* x, const int32_t* n_categories
    ) noexcept nogil
    cdef bint _arrange_sparse(self) noexcept nogil
    cdef bint _add_full(self, intp_t feature) noexcept nogil
    cdef void unfold(
        self, intp_t feature, intp_t start, intp_t end, bint with_values
    ) noexcept nogil
    cdef bint _start_node_order(self) noexcept nogil
    cdef bint _add(
        self, intp_t feature, float32_t* values, void* keys
    ) noexcept nogil
    cdef bint _add_nominal(
        self, intp_t feature, const float32_t* values, intp_t n_categories
    ) noexcept nogil
    cdef intp_t n_present(
        self, intp_t feature, intp_t start, intp_t end
    ) noexcept nogil
    cdef void mark(
        self, intp_t feature, intp_t cut, bint missing_left, intp_t start, intp_t end
    ) noexcept nogil
    cdef void mark_categories(
        self, intp_t feature, const int16_t* ordinals, intp_t n_ordinals,
        intp_t others, bint multiway, intp_t start, intp_t end,
    ) noexcept nogil
    cdef void partition(
        self, intp_t feature, const int32_t* features, intp_t n_features,
        intp_t start, intp_t end,
    ) noexcept nogil
    cdef void partition_multiway(
        self, const int32_t* features, intp_t n_features, intp_t start, intp_t end,
        const intp_t* starts, intp_t n_outcomes, intp_t* at,
    ) noexcept nogil
