"""Rank codes and presorted rows of a table's features."""

import hashlib

import numpy as np
from scipy.sparse import issparse

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.math cimport isnan
from libc.string cimport memcpy, memset

from skconftree.tables._encoding cimport MAX_LEVELS, encode
from skconftree.tables._equal_bins cimport (
    BIN_ROOM, bin_levels, bin_of, bin_spread,
)
from skconftree.tables._sparse_columns cimport CODED, SparseColumn
from skconftree.tables._sparse_table cimport SparseTable
from skconftree.utils._sorting cimport (
    make_nan_canonical, ordered_bits, presort, value_of_bits,
)
from skconftree.utils._typedefs cimport uint64_t


cdef enum:
    MAX_BLOCK = 16          # columns transposed at a time: a cache line of X,
    BLOCK_BYTES = 33554432  # and no more than this in all


cdef class EncodedTable:
    """The features of a table as rank codes and presorted rows.

    X, dense or a sparse CSR or CSC without NaN, and with each place once and in order,
    stays alive with this object. `n_categories` is 0 for a numeric feature; else its
    values are codes below this number, or -1. Numeric features of a dense X are cut
    into at most `max_bins` bins of about equal `weight`, unless it is 0. Columns of a
    dense X are shared out among a `team`, if there is one.
    """

    def __init__(
        self, X, const int32_t[::1] n_categories=None, *, intp_t max_bins=0,
        const float64_t[::1] weight=None, team=None,
    ):
        if not 0 <= max_bins < MAX_LEVELS:
            raise ValueError(
                f"max_bins must be from 0 to {MAX_LEVELS - 1}. Got {max_bins}."
            )
        self.max_bins = max_bins
        self.weight = weight
        self.n_rows = X.shape[0]
        self.n_features = X.shape[1]
        if self.n_rows >= 1 << 31:
            raise ValueError(
                f"X has {self.n_rows} rows; the index type holds fewer than {1 << 31}."
            )
        cdef const float32_t[:, ::1] dense = None
        cdef const int32_t* categories = NULL
        cdef Arena scratch
        if n_categories is not None:
            categories = &n_categories[0]
        self.arena = Arena()
        self.columns = <Column*> self.arena.take_zeros(self.n_features, sizeof(Column))
        if issparse(X):
            self.stride = 1
            self.sparse = SparseColumns(SparseTable(X))
            with nogil:
                self._encode_sparse()
            self.sparse.end_reading()
        else:
            self.stride = self.n_features
            dense = X
            self._owners = dense
            if team is not None:
                self._share_out(dense, n_categories, team)
                return
            scratch = Arena()
            with nogil:
                self._encode(
                    &dense[0, 0], categories, scratch, 0, self.n_features
                )

    def _share_out(
        self, const float32_t[:, ::1] X, const int32_t[::1] n_categories, team
    ):
        # Each part is a table of the same columns, which keeps the memory of those that
        # it encodes. They are about as large as two threads or more can share.
        cdef intp_t n_parts = min(self.n_features, 2 * <intp_t> team.n_threads)
        cdef intp_t d = self.n_features
        self.parts = [self._part() for _ in range(n_parts)]

        def encode(thread, intp_t k):
            cdef EncodedTable part = self.parts[k]
            cdef const int32_t* categories = NULL
            cdef Arena scratch = Arena()
            if n_categories is not None:
                categories = &n_categories[0]
            with nogil:
                part._encode(
                    &X[0, 0], categories, scratch, k * d // n_parts,
                    (k + 1) * d // n_parts,
                )

        team.run(encode, n_parts)
        for one in self.parts:
            self.n_coded += one.n_coded

    cdef EncodedTable _part(self):
        cdef EncodedTable part = EncodedTable.__new__(EncodedTable)
        part.n_rows = self.n_rows
        part.n_features = self.n_features
        part.max_bins = self.max_bins
        part.weight = self.weight
        part.stride = self.stride
        part.arena = Arena()
        part.columns = self.columns
        return part

    @staticmethod
    def of_codes(intp_t n_rows, columns):
        """A table of columns that have been encoded elsewhere, see `CodedColumn`.

        It keeps their arrays, which a tree that takes the table over changes.
        """
        cdef EncodedTable table = EncodedTable.__new__(EncodedTable)
        cdef Column* column
        cdef uint8_t[::1] codes
        cdef label_t[::1] wide
        cdef const float32_t[::1] values
        cdef intp_t f
        table.n_rows = n_rows
        table.n_features = table.n_coded = len(columns)
        table.stride = 1
        table.arena = Arena()
        table.columns = <Column*> table.arena.take_zeros(
            table.n_features, sizeof(Column)
        )
        table._owners = columns
        for f in range(table.n_features):
            column = &table.columns[f]
            found = columns[f]
            if len(found.codes) != n_rows:
                raise ValueError("codes must have an entry for each row.")
            if found.codes.dtype == np.uint8:
                codes = found.codes
                column.codes = &codes[0]
            else:
                wide = found.codes
                column.wide = &wide[0]
            column.n_levels = found.n_levels
            column.nominal = found.levels is None
            if column.nominal:
                continue
            column.has_missing = found.has_missing
            values = found.levels
            column.levels = &values[0]
            if found.floors is not None:
                values = found.floors
                column.floors = &values[0]
        return table

    @property
    def n_bytes(self):
        """Bytes of memory, those of X and of codes made elsewhere apart."""
        cdef intp_t n_bytes = self.arena.n_bytes
        if self.sparse is not None:
            n_bytes += self.sparse.arena.n_bytes
        for part in self.parts or ():
            n_bytes += part.n_bytes
        return n_bytes

    def digest(self):
        """Hash all that has been encoded; who shares a table leaves it as it is."""
        cdef Column* column
        cdef SparseColumns sparse = self.sparse
        cdef intp_t n = self.n_rows
        found = hashlib.sha256()

        for f in range(self.n_features):
            column = &self.columns[f]
            found.update(
                _bytes(column.codes, n)
                + _bytes(column.wide, n * sizeof(label_t))
                + _bytes(column.order, n * sizeof(uint32_t))
                + _bytes(column.levels, column.n_levels * sizeof(float32_t))
                + _bytes(column.floors, column.n_levels * sizeof(float32_t))
            )
        if sparse is not None:
            found.update(
                _bytes(sparse.columns, self.n_features * sizeof(SparseColumn))
                + _bytes(sparse.entries, sparse.n_entries * sizeof(uint32_t))
                + _bytes(sparse.levels, sparse.n_levels * sizeof(float32_t))
            )
            for f in range(self.n_features):
                if sparse.columns[f].form == CODED:
                    found.update(_bytes(
                        sparse.codes + sparse.columns[f].begin,
                        sparse.columns[f].end - sparse.columns[f].begin,
                    ))
        return found.hexdigest()

    def claim(self, bint spends):
        """Begin to use the table, for the last time if its arrays are taken over."""
        if self.spent:
            raise RuntimeError(
                "This table has been spent: a tree took its arrays over instead of "
                "copying them. Encode the rows again, or share the table among trees "
                "that copy from it."
            )
        if spends:
            self.spent = True

    cdef int _encode(
        self, const float32_t* x, const int32_t* n_categories, Arena scratch,
        intp_t first, intp_t last,
    ) except -1 nogil:
        # Columns are transposed in blocks, so that X is read few times.
        cdef intp_t n = self.n_rows
        cdef intp_t d = self.n_features
        cdef intp_t block = BLOCK_BYTES // (4 * n)
        if block > last - first:
            block = last - first
        if block > MAX_BLOCK:
            block = MAX_BLOCK
        if block < 1:
            block = 1
        cdef float32_t* values = <float32_t*> scratch.take(block * n, sizeof(float32_t))
        cdef intp_t n_words = 2 * n + (BIN_ROOM if self.max_bins > 0 else 0)
        cdef void* keys = scratch.take(n_words, sizeof(uint64_t))
        cdef uint8_t* codes = NULL
        cdef intp_t f, i, width
        cdef const float32_t* row
        while first < last:
            width = min(block, last - first)
            for i in range(n):
                row = x + i * d + first
                for f in range(width):
                    values[f * n + i] = row[f]
            for f in range(width):
                self.columns[first + f].values = x + first + f
                if n_categories != NULL and n_categories[first + f] > 0:
                    self._add_nominal(
                        first + f, values + f * n, n_categories[first + f]
                    )
                else:
                    self._add(first + f, values + f * n, &codes, keys)
            first += block
        self.arena.give_back(codes)
        return 0

    cdef int _add(
        self, intp_t feature, float32_t* values, uint8_t** codes, void* keys
    ) except -1 nogil:
        # `codes` are an array that no column uses yet, or NULL.
        cdef intp_t n = self.n_rows
        cdef Column* column = &self.columns[feature]
        cdef float32_t levels[MAX_LEVELS]
        cdef float32_t* kept
        column.has_missing = make_nan_canonical(values, n)
        if codes[0] == NULL:
            codes[0] = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        column.n_levels = encode(values, n, codes[0], levels)
        if self.max_bins > 0 and (
            column.n_levels == 0
            or column.n_levels - column.has_missing > self.max_bins
        ):
            self._add_bins(column, values, levels, codes[0], keys)
            codes[0] = NULL
            return 0
        if column.n_levels > 0:
            kept = <float32_t*> self.arena.take(column.n_levels, sizeof(float32_t))
            memcpy(kept, levels, column.n_levels * sizeof(float32_t))
            column.levels = kept
            column.codes = codes[0]
            codes[0] = NULL
            self.n_coded += 1
            return 0
        column.order = <uint32_t*> self.arena.take(n, sizeof(uint32_t))
        presort(values, n, <uint64_t*> keys, <uint64_t*> keys + n, column.order)
        return 0

    cdef int _add_bins(
        self, Column* column, const float32_t* values, const float32_t* found,
        uint8_t* codes, void* keys,
    ) except -1 nogil:
        # `found` are the levels of a column of few values.
        cdef intp_t n = self.n_rows
        cdef intp_t n_bins = 0
        cdef intp_t room = self.max_bins + 1
        cdef float32_t* levels = <float32_t*> self.arena.take(room, sizeof(float32_t))
        cdef float32_t* floors = <float32_t*> self.arena.take(room, sizeof(float32_t))
        if self.weight is None and column.n_levels > 0:
            n_bins = bin_levels(
                found, column.n_levels, column.has_missing, n, self.max_bins, codes,
                floors, levels,
            )
        elif self.weight is None and not column.has_missing:
            n_bins = bin_spread(
                values, n, self.max_bins, <uint64_t*> keys, codes, floors, levels
            )
        if n_bins == 0:
            n_bins = self._sort_into_bins(values, codes, keys, floors, levels)
        column.codes = codes
        column.n_levels = n_bins
        column.levels = levels
        column.floors = floors
        self.n_coded += 1
        return 0

    cdef intp_t _sort_into_bins(
        self, const float32_t* values, uint8_t* codes, void* keys, float32_t* floors,
        float32_t* levels,
    ) except -1 nogil:
        cdef intp_t n = self.n_rows
        cdef uint32_t* order = <uint32_t*> self.arena.take(n, sizeof(uint32_t))
        cdef float64_t total = 0.0
        cdef float64_t below = 0.0
        cdef float64_t here
        cdef float32_t value
        cdef intp_t n_present = n
        cdef intp_t n_bins = 0
        cdef intp_t last = -1
        cdef intp_t i, j, k, bin_
        presort(values, n, <uint64_t*> keys, <uint64_t*> keys + n, order)
        while n_present > 0 and isnan(values[order[n_present - 1] >> 1]):
            n_present -= 1
        for i in range(n_present):
            total += self._weight_of(order[i] >> 1)
        i = 0
        while i < n_present:
            here = self._weight_of(order[i] >> 1)
            j = i + 1
            while j < n_present and not order[j] & 1:
                here += self._weight_of(order[j] >> 1)
                j += 1
            bin_ = bin_of(below, here, total, self.max_bins)
            value = value_of_bits(ordered_bits(values[order[i] >> 1]))
            if bin_ > last:
                floors[n_bins] = value
                n_bins += 1
                last = bin_
            levels[n_bins - 1] = value
            for k in range(i, j):
                codes[order[k] >> 1] = <uint8_t> (n_bins - 1)
            below += here
            i = j
        if n_present < n:
            levels[n_bins] = values[order[n_present] >> 1]
            floors[n_bins] = levels[n_bins]
            for k in range(n_present, n):
                codes[order[k] >> 1] = <uint8_t> n_bins
            n_bins += 1
        self.arena.give_back(order)
        return n_bins

    cdef int _add_nominal(
        self, intp_t feature, const float32_t* values, intp_t n_categories
    ) except -1 nogil:
        cdef Column* column = &self.columns[feature]
        cdef intp_t n = self.n_rows
        cdef intp_t i
        self.n_coded += 1
        column.nominal = True
        column.n_levels = n_categories + 1
        if column.n_levels <= MAX_LEVELS:
            column.codes = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
            for i in range(n):
                column.codes[i] = <uint8_t> (
                    n_categories if values[i] < 0.0 else <intp_t> values[i]
                )
        else:
            column.wide = <label_t*> self.arena.take(n, sizeof(label_t))
            for i in range(n):
                column.wide[i] = <label_t> (
                    n_categories if values[i] < 0.0 else <intp_t> values[i]
                )
        return 0

    cdef int _encode_sparse(self) except -1 nogil:
        cdef intp_t f
        self.sparse.begin_reading()
        for f in range(self.n_features):
            self.sparse.read(f)
            if not self.is_sparse(f):
                self._add_full(f)
        return 0

    cdef int _add_full(self, intp_t feature) except -1 nogil:
        # The column just read from a sparse table, as one byte a row.
        cdef intp_t n = self.n_rows
        cdef SparseColumn* sparse = &self.sparse.columns[feature]
        cdef const uint32_t* entries = self.sparse.entries + self.sparse.n_entries
        cdef Column* column = &self.columns[feature]
        cdef float32_t* levels
        cdef intp_t i
        column.n_levels = sparse.n_levels
        column.codes = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        levels = <float32_t*> self.arena.take(column.n_levels, sizeof(float32_t))
        column.levels = levels
        self.n_coded += 1
        memcpy(levels, self.sparse.read_levels, column.n_levels * sizeof(float32_t))
        memset(column.codes, sparse.zero, n)
        for i in range(self.sparse.n_read):
            column.codes[entries[i] >> 1] = self.sparse.read_codes[i]
        return 0


cdef bytes _bytes(const void* array, intp_t n_bytes):
    if array == NULL:
        return b""
    return PyBytes_FromStringAndSize(<const char*> array, n_bytes)
