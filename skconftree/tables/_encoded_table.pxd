# EncodedTable: what a table's features hold, arranged for growing trees: no label, no
# weight, no node. It is made once, without the GIL, and then only read, so that any
# number of trees and threads share it.
#
# A feature with at most MAX_LEVELS distinct values is CODED: one byte a row, the rank
# of the value. If bins are asked for, so is any feature with more values than bins: the
# code is that of a bin, whose smallest value is its floor and whose largest its level.
#
# A nominal feature is CODED too, its codes being those of its categories, on two
# bytes if there are more than MAX_LEVELS. One more code, the largest, stands for
# what rows without label have and no labelled row.
#
# Any other feature is SORTED: the rows in ascending order of the value. An entry is
# (row << 1) | new, where new says that the value differs from the entry's predecessor;
# at the first entry it means nothing.
#
# A column of a sparse table may be SPARSE: only its rows other than zero are kept,
# see _sparse_columns.pxd.
#
# NaN is the largest value: the last level, or the last entries.
#
# A single tree may take the arrays over, to save the copy. The table is SPENT then,
# and says so if it is used again.

from skconftree.tables._sparse_columns cimport FULL, SparseColumns
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint8_t, uint32_t,
)

cdef struct Column:
    uint8_t* codes          # [n_rows]; NULL if SORTED or wide
    label_t* wide           # [n_rows] the same on two bytes, or NULL
    const float32_t* levels     # [n_levels] ascending; NULL if nominal
    const float32_t* floors     # [n_levels] of bins; NULL if a code is one value
    const float32_t* values     # row i at i * stride; of sparse tables see value()
    intp_t n_levels
    uint32_t* order         # [n_rows] entries; NULL if CODED
    bint has_missing        # NaN among the values of a numeric feature
    bint nominal


# The smallest value of a code of a numeric column that is coded.
cdef inline float32_t floor_of(const Column* column, intp_t code) noexcept nogil:
    return column.levels[code] if column.floors == NULL else column.floors[code]


cdef class EncodedTable:
    cdef readonly intp_t n_rows
    cdef readonly intp_t n_features
    cdef readonly intp_t n_coded        # features with codes for all rows
    cdef readonly bint spent
    cdef intp_t max_bins            # of a feature; 0: every value by itself
    cdef const float64_t[::1] weight    # of rows, by which bins are equally large

    cdef Arena arena
    cdef Column* columns            # [n_features]; nothing in it if the column is sparse
    cdef intp_t stride              # from a value of a column to that of the next row
    cdef SparseColumns sparse       # None if X is dense
    cdef object _owners             # keeps a dense X alive, or codes made elsewhere
    cdef list parts                 # whose memory others have encoded columns in; or None

    cdef inline bint is_sparse(self, intp_t feature) noexcept nogil:
        return self.sparse is not None and self.sparse.columns[feature].form != FULL

    cdef inline float64_t _weight_of(self, intp_t row) noexcept nogil:
        return 1.0 if self.weight is None else self.weight[row]

    cdef int _encode(
        self, const float32_t* x, const int32_t* n_categories, Arena scratch,
        intp_t first, intp_t last,
    ) except -1 nogil
    cdef EncodedTable _part(self)
    cdef int _encode_sparse(self) except -1 nogil
    cdef int _add(
        self, intp_t feature, float32_t* values, uint8_t** codes, void* keys
    ) except -1 nogil
    cdef int _add_bins(
        self, Column* column, const float32_t* values, const float32_t* found,
        uint8_t* codes, void* keys,
    ) except -1 nogil
    cdef intp_t _sort_into_bins(
        self, const float32_t* values, uint8_t* codes, void* keys, float32_t* floors,
        float32_t* levels,
    ) except -1 nogil
    cdef int _add_nominal(
        self, intp_t feature, const float32_t* values, intp_t n_categories
    ) except -1 nogil
    cdef int _add_full(self, intp_t feature) except -1 nogil
