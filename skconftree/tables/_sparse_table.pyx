"""Columns of a sparse table, whichever way it is stored."""

import numpy as np

cdef enum:
    N_BLOCKS = 12           # passes over a CSR table, if no column is large
    SMALL_BLOCK = 65536     # stored values that are worth a pass


cdef class SparseTable:
    """A CSR or CSC table, to be read by column, which stays alive with this object.

    Every place is stored at most once, and the places of a line are in order.
    """

    def __init__(self, X):
        cdef const int32_t[::1] starts = None
        cdef const int64_t[::1] wide_starts = None
        cdef const int32_t[::1] places
        cdef const float32_t[::1] values
        cdef bint ascending
        self.n_rows, self.n_features = X.shape
        self.scratch = Arena()
        self.by_column = X.format == "csc"
        self.n_lines = self.n_features if self.by_column else self.n_rows
        if X.indptr.dtype == np.int32:
            starts = X.indptr
            self.starts = &starts[0]
        else:
            wide_starts = X.indptr.astype(np.int64, copy=False)
            self.wide_starts = &wide_starts[0]
        places = X.indices.astype(np.int32, copy=False)
        values = X.data
        self.n_stored = self.start(self.n_lines)
        if self.n_stored > 0:
            self.places = &places[0]
            self.values = &values[0]
        self._owners = (starts, wide_starts, places, values)
        with nogil:
            ascending = self._is_ascending()
        if not ascending:
            raise ValueError(
                "X stores a place of the table more than once, or not in order, though "
                "its flags deny it."
            )

    cdef bint _is_ascending(self) noexcept nogil:
        cdef intp_t line, i
        for line in range(self.n_lines):
            for i in range(self.start(line) + 1, self.start(line + 1)):
                if self.places[i] <= self.places[i - 1]:
                    return False
        return True

    cdef int begin_reading(self) except -1 nogil:
        cdef intp_t i
        self.block_end = 0
        if self.by_column:
            return 0
        self.sizes = <intp_t*> self.scratch.take_zeros(self.n_features, sizeof(intp_t))
        self.at = <intp_t*> self.scratch.take(self.n_features, sizeof(intp_t))
        for i in range(self.n_stored):
            self.sizes[self.places[i]] += 1
        self.block_limit = self.n_stored // N_BLOCKS
        if self.block_limit < SMALL_BLOCK:
            self.block_limit = SMALL_BLOCK
        return 0

    cdef int read(
        self, intp_t feature, const int32_t** rows, const float32_t** values,
        intp_t* size,
    ) except -1 nogil:
        # The stored values of one column, in the order of their rows; valid until
        # the next call.
        cdef intp_t first
        if self.by_column:
            first = self.start(feature)
            size[0] = self.start(feature + 1) - first
            rows[0] = self.places + first
            values[0] = self.values + first
            return 0
        if feature == self.block_end:
            self._gather(feature)
        size[0] = self.sizes[feature]
        rows[0] = self.block_rows + (self.at[feature] - size[0])
        values[0] = self.block_values + (self.at[feature] - size[0])
        return 0

    cdef int _gather(self, intp_t first) except -1 nogil:
        # Transpose the next columns.
        cdef intp_t n = 0
        cdef intp_t f = first
        cdef intp_t row, i, stop, to
        while f < self.n_features and (
            f == first or n + self.sizes[f] <= self.block_limit
        ):
            self.at[f] = n
            n += self.sizes[f]
            f += 1
        self.block_end = f
        if n > self.block_room or self.block_rows == NULL:
            self.scratch.give_back(self.block_rows)
            self.scratch.give_back(self.block_values)
            self.block_rows = NULL
            self.block_values = NULL
            self.block_room = n
            self.block_rows = <int32_t*> self.scratch.take(n, sizeof(int32_t))
            self.block_values = <float32_t*> self.scratch.take(n, sizeof(float32_t))
        for row in range(self.n_rows):
            i = self.find(row, first)
            stop = self.start(row + 1)
            while i < stop and self.places[i] < self.block_end:
                to = self.at[self.places[i]]
                self.block_rows[to] = <int32_t> row
                self.block_values[to] = self.values[i]
                self.at[self.places[i]] = to + 1
                i += 1
        return 0

    cdef int end_reading(self) except -1:
        self.scratch = None
        return 0
