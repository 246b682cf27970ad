from skconftree.tables._sparse_columns cimport FULL, SparseColumns
from skconftree.utils._memory cimport Arena
from skconftree.utils._sorting cimport MAX_LEVELS, encode
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint16_t, uint32_t, uint64_t,
    uint8_t,
)

# EncodedTable: the features of a table, encoded for the growth of trees, without labels,
# weights or nodes. It is read-only after construction, so trees and threads can share it.
#
# A feature with at most MAX_LEVELS = 256 distinct values (levels) is CODED: one byte per row,
# the rank of the value. If bins are requested, so is any feature with more values than bins: the
# code is the index of a bin; the smallest value of a bin is its lower edge, and the largest
# one is its level.
#
# A nominal (categorical) feature is CODED, too: its codes are those of the categories, on two
# bytes if there are more than MAX_LEVELS. One more code, the largest, is for categories that no
# labeled row has.
#
# Any other feature is SORTED: the rows in ascending order of the value. An entry, one per row,
# is (row << 1) | new, where new = 1 if the value differs from that of the previous entry; it
# is undefined at the first entry.
#
# A column of a sparse table may be SPARSE: only its nonzero rows are stored, see
# _sparse_columns.pxd. It is FULL if all its rows are stored here.
#
# NaN is the largest value: the last level, or the last entries.
#
# A single tree may take over the arrays instead of copying them. The table is then consumed:
# it raises an error if it is used again.

cdef struct Column:
    uint8_t* codes          # [n_rows]; NULL if SORTED or of two bytes
    label_t* codes16        # [n_rows] the same on two bytes, or NULL
    const float32_t* levels     # [n_levels] ascending; NULL if nominal
    const float32_t* lower_edges    # [n_levels] of bins; NULL if each code is one value
    const float32_t* values     # row i is at i * stride; can be NULL if X is sparse
    intp_t n_levels
    uint32_t* order         # [n_rows] entries; NULL if CODED
    bint has_missing        # NaN among the values of a numeric feature
    bint nominal


# The smallest value of a code of a numeric column.
cdef inline float32_t lower_edge_of(const Column* column, intp_t code) noexcept nogil:
    return column.levels[code] if column.lower_edges == NULL else column.lower_edges[code]


cdef class EncodedTable:
    cdef readonly intp_t n_rows
    cdef readonly intp_t n_features
    cdef readonly intp_t n_coded        # features with codes for all rows
    cdef readonly bint consumed
    cdef intp_t max_bins            # of a feature; 0: no bins
    cdef const float64_t[::1] weight    # of rows, for bins of equal weight

    cdef Arena arena
    cdef Column* columns            # [n_features]; empty if the column is sparse
    cdef intp_t stride              # distance between the values of consecutive rows
    cdef SparseColumns sparse       # None if X is dense
    cdef object _owners             # keeps the arrays of X, or external codes, alive
    cdef list parts                 # tables that own the memory of encoded columns, or None

    cdef inline bint is_sparse(self, intp_t feature) noexcept nogil:
        return self.sparse is not None and self.sparse.columns[feature].form != FULL

    cdef inline float64_t _weight_of(self, intp_t row) noexcept nogil:
        return 1.0 if self.weight is None else self.weight[row]

    # Encode the features from `first` to before `last` of a dense table x, [n_rows,
    # n_features]. Arrays of `scratch` are freed after the call.
    cdef int _encode(
        self, const float32_t* x, const int32_t* n_categories, Arena scratch,
        intp_t first, intp_t last,
    ) except -1 nogil
    # A table with the same `columns`, of which one thread encodes some.
    cdef EncodedTable _part(self)
    cdef int _encode_sparse(self) except -1 nogil
    # Encode a numeric column. `keys` is scratch memory for sorting; `codes` points to an
    # unused array of n_rows bytes, or to NULL.
    cdef int _add(
        self, intp_t feature, float32_t* values, uint8_t** codes, void* keys
    ) except -1 nogil
    cdef int _add_bins(
        self, Column* column, const float32_t* values, const float32_t* values_of_codes,
        uint8_t* codes, void* keys,
    ) except -1 nogil
    cdef intp_t _sort_into_bins(
        self, const float32_t* values, uint8_t* codes, void* keys, float32_t* lower_edges,
        float32_t* levels,
    ) except -1 nogil
    cdef int _add_nominal(
        self, intp_t feature, const float32_t* values, intp_t n_categories
    ) except -1 nogil
    # Encode a FULL column, which was just read from a sparse table.
    cdef int _add_full(self, intp_t feature) except -1 nogil


# Bins of about equal weight. They depend only on sums of weights, not on the order of rows.

# Bin of a value among `max_bins` bins of equal weight: that of the middle of its rows,
# where `below` is the weight of smaller values and `here` that of the value.
cdef inline intp_t bin_of(
    float64_t below, float64_t here, float64_t total, intp_t max_bins
) noexcept nogil:
    return min(<intp_t> ((below + here / 2.0) / total * max_bins), max_bins - 1)


# Bins for the values of `n_levels` codes, of which the last is NaN if `has_missing`.
# Codes are replaced by those of bins; returns the number of bins.
cdef intp_t bin_levels(
    const float32_t* values, intp_t n_levels, bint has_missing, intp_t n,
    intp_t max_bins, uint8_t* codes, float32_t* lower_edges, float32_t* levels,
) noexcept nogil

# The same for a column without NaN whose values are distributed so evenly that only a few
# rows have to be sorted; otherwise returns 0. Rows are first counted in cells, intervals of
# equal width. `scratch` has 2 n + BIN_SCRATCH_CELLS elements.
cdef enum:
    BIN_SCRATCH_CELLS = 81928   # 8-byte elements for up to 65,537 cells of 10 bytes

cdef intp_t bin_spread(
    const float32_t* values, intp_t n, intp_t max_bins, uint64_t* scratch,
    uint8_t* codes, float32_t* lower_edges, float32_t* levels,
) noexcept nogil


# RowCodes: the rank of each value of a table within its feature, stored by row.
#
# An EncodedTable is stored by feature. RowCodes has the same codes by row, so that the
# number of cache misses for a few rows does not depend on the features. It is read-only
# after construction, so trees and threads can share it.
#
# The code of a coded or nominal feature is that of the table. The code of a sorted feature
# is the number of smaller distinct values, so NaN has the largest.

cdef struct CodeColumn:
    intp_t offset           # of the feature in the bytes of a row
    intp_t width            # of a code: 1, 2 or 4 bytes
    intp_t n_codes          # upper limit of the codes


cdef class RowCodes:
    cdef readonly EncodedTable table
    cdef readonly intp_t row_bytes  # size of the codes of a row
    cdef Arena arena
    cdef CodeColumn* columns        # [n_features]
    cdef uint8_t* bytes             # [n_rows, row_bytes]

    cdef inline int32_t code(self, intp_t row, intp_t feature) noexcept nogil:
        cdef const CodeColumn* column = &self.columns[feature]
        cdef const uint8_t* entry = self.bytes + row * self.row_bytes + column.offset
        if column.width == 1:
            return entry[0]
        if column.width == 2:
            return (<const uint16_t*> entry)[0]
        return (<const int32_t*> entry)[0]

    cdef int _make(self) except -1 nogil
    # Set the number of codes and their width.
    cdef void _measure(self, const Column* column, CodeColumn* to) noexcept nogil
    # Write the codes of a column, [n_rows].
    cdef void _rank(self, const Column* column, int32_t* codes) noexcept nogil
    # Set the offsets of all columns in the bytes of a row.
    cdef void _lay_out(self) noexcept nogil
    # Codes of n rows, whose indices are the lower 32 bits of `rows`.
    cdef void lookup(
        self, intp_t feature, const uint64_t* rows, intp_t n, int32_t* codes
    ) noexcept nogil
