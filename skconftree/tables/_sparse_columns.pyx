"""Sparse tables by column: only nonzero values are stored.

The form of a column is FULL (one byte per row), PAIR (the rows of its only nonzero value),
CODED (nonzero rows and rank codes of their values) or SORTED (nonzero rows in the order of
the value). Levels are its distinct values. An entry is a stored row, (row << 1) | new, where
new = 1 if the column is SORTED and the value differs from that of the previous entry.
`_sparse_columns.pxd` describes them further.
"""

import numpy as np
from libc.string cimport memcpy, memset

from skconftree.utils._sorting cimport MAX_LEVELS, encode, presort

cdef class SparseTable:
    """A CSC table, which must stay alive with this object.

    The rows of a column must be ascending, without duplicates.
    """

    def __init__(self, X):
        cdef const int32_t[::1] starts = None
        cdef const int64_t[::1] wide_starts = None
        cdef const int32_t[::1] rows
        cdef const float32_t[::1] values
        cdef bint ascending
        self.n_rows, self.n_features = X.shape
        if X.indptr.dtype == np.int32:
            starts = X.indptr
            self.starts = &starts[0]
        else:
            wide_starts = X.indptr.astype(np.int64, copy=False)
            self.wide_starts = &wide_starts[0]
        rows = X.indices.astype(np.int32, copy=False)
        values = X.data
        self.n_stored = self.start(self.n_features)
        if self.n_stored > 0:
            self.rows = &rows[0]
            self.values = &values[0]
        self._owners = (starts, wide_starts, rows, values)
        with nogil:
            ascending = self._is_ascending()
        if not ascending:
            raise ValueError(
                "X has duplicate or unsorted entries, although its flags say otherwise. "
                "Call X.sum_duplicates() after resetting X.has_canonical_format."
            )

    cdef bint _is_ascending(self) noexcept nogil:
        cdef intp_t f, i
        for f in range(self.n_features):
            for i in range(self.start(f) + 1, self.start(f + 1)):
                if self.rows[i] <= self.rows[i - 1]:
                    return False
        return True


cdef enum:
    PAIR_BYTES = 4      # size of an entry of a PAIR column
    CODED_BYTES = 5     # size of an entry of a CODED column, with its code


cdef class SparseColumns:
    """Columns of a sparse table, read in ascending order."""

    def __init__(self, SparseTable table):
        if table.n_stored >= 4294967296:    # 2^32
            raise ValueError(
                f"X stores {table.n_stored} values; sparse tables hold fewer than 2^32."
            )
        self.table = table
        self.arena = Arena()
        self.scratch = Arena()

    cdef int begin_reading(self) except -1 nogil:
        # Unused parts of these arrays are released later, and never touched.
        cdef intp_t n = self.table.n_rows
        cdef intp_t size = self.table.n_stored + 1
        self.level_capacity = self.table.n_features + MAX_LEVELS
        self.columns = <SparseColumn*> self.arena.take_zeros(
            self.table.n_features, sizeof(SparseColumn)
        )
        self.entries = <uint32_t*> self.arena.take(size, sizeof(uint32_t))
        self.codes = <uint8_t*> self.arena.take(size, sizeof(uint8_t))
        self.levels = <float32_t*> self.arena.take(self.level_capacity, sizeof(float32_t))
        self.read_values = <float32_t*> self.scratch.take(n + 1, sizeof(float32_t))
        self.read_codes = <uint8_t*> self.scratch.take(n + 1, sizeof(uint8_t))
        self.read_levels = <float32_t*> self.scratch.take(MAX_LEVELS, sizeof(float32_t))
        self.keys = self.scratch.take(n, 2 * sizeof(uint64_t) + sizeof(uint32_t))
        return 0

    cdef int read(self, intp_t feature) except -1 nogil:
        # Read the next column and choose its form. A FULL column is only left in the
        # scratch arrays. Stored zeros are ignored.
        cdef SparseColumn* column = &self.columns[feature]
        cdef uint32_t* entries = self.entries + self.n_entries
        cdef intp_t n = self.table.n_rows
        cdef intp_t n_levels = 0
        cdef intp_t k = 0
        cdef bint same = True
        cdef const float32_t* values = self.table.values
        cdef intp_t i
        for i in range(self.table.start(feature), self.table.start(feature + 1)):
            if values[i] != 0.0:
                self.read_values[k] = values[i]
                same = same and values[i] == self.read_values[0]
                entries[k] = <uint32_t> self.table.rows[i] << 1
                k += 1
        self.n_read = k
        self.read_values[k] = 0.0
        if same and k < n:
            column.form = PAIR
            n_levels = 1 + (k > 0)
            column.zero = k > 0 and self.read_values[0] < 0.0
            self.read_levels[column.zero] = 0.0
            if k > 0:
                self.read_levels[1 - column.zero] = self.read_values[0]
                memset(self.read_codes, 1 - column.zero, k)
        else:
            n_levels = encode(      # 0 if there are more than MAX_LEVELS values
                self.read_values, min(k + 1, n), self.read_codes, self.read_levels
            )
            column.form = CODED if n_levels > 0 else SORTED
            column.zero = self.read_codes[k] if k < n and n_levels > 0 else 0
        column.n_levels = <uint16_t> n_levels
        if n_levels > 0 and n <= k * (
            PAIR_BYTES if column.form == PAIR else CODED_BYTES
        ):
            column.form = FULL
            return 0
        column.begin = <uint32_t> self.n_entries
        column.end = <uint32_t> (self.n_entries + k)
        if column.form == SORTED:
            self._sort(column)
        else:
            self._store_levels(column)
        if column.form == CODED:
            memcpy(self.codes + self.n_entries, self.read_codes, k)
        self.n_entries += k
        return 0

    cdef int _store_levels(self, SparseColumn* column) except -1 nogil:
        cdef intp_t needed = self.n_levels + column.n_levels
        cdef const float32_t* last
        if column.form == PAIR:
            # indicator columns have the same two values again and again
            last = self.levels + self.pair_levels
            if (
                column.n_levels == 2 and self.pair_levels + 2 <= self.n_levels
                and last[0] == self.read_levels[0] and last[1] == self.read_levels[1]
            ):
                column.levels = <uint32_t> self.pair_levels
                return 0
            self.pair_levels = self.n_levels
        if needed > self.level_capacity:
            self.level_capacity = needed + needed // 4
            self.levels = <float32_t*> self.arena.resize(
                self.levels, self.level_capacity, sizeof(float32_t)
            )
        column.levels = <uint32_t> self.n_levels
        memcpy(
            self.levels + self.n_levels, self.read_levels,
            column.n_levels * sizeof(float32_t),
        )
        self.n_levels = needed
        return 0

    cdef void _sort(self, SparseColumn* column) noexcept nogil:
        # Sort the entries of the current column by value.
        cdef intp_t n = self.table.n_rows
        cdef intp_t k = self.n_read
        cdef uint32_t* entries = self.entries + column.begin
        cdef uint64_t* keys = <uint64_t*> self.keys
        cdef uint32_t* order = <uint32_t*> (keys + 2 * n)
        cdef intp_t i
        presort(self.read_values, k, keys, keys + n, order)
        # `zero` is the code of the value 0; if SORTED, whether there are negative values
        column.zero = self.read_values[order[0] >> 1] < 0.0
        for i in range(k):
            order[i] = entries[order[i] >> 1] | (order[i] & 1)
        memcpy(entries, order, k * sizeof(uint32_t))

    cdef int end_reading(self) except -1:
        self.entries = <uint32_t*> self.arena.resize(
            self.entries, self.n_entries + 1, sizeof(uint32_t)
        )
        self.codes = <uint8_t*> self.arena.resize(
            self.codes, self.n_entries + 1, sizeof(uint8_t)
        )
        self.scratch = None
        return 0
