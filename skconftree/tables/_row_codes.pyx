"""Rank codes of a table, row by row."""

import numpy as np

from skconftree.utils._typedefs cimport uint32_t

cdef enum:
    BLOCK = 8       # features written at a time: no row is touched too often


ctypedef fused code_t:
    uint8_t
    uint16_t
    int32_t


cdef class RowCodes:
    """The rank of each value of a dense table among those of its feature, found by row.

    The table is left as it is.
    """

    def __init__(self, EncodedTable table not None):
        if table.sparse is not None:
            raise ValueError("The codes of a sparse table are not found by row.")
        table.claim(False)
        self.table = table
        self.arena = Arena()
        with nogil:
            self._make()

    @property
    def n_bytes(self):
        """Bytes of memory, those of the table apart."""
        return self.arena.n_bytes

    def codes(self, intp_t feature):
        """Codes of all rows."""
        found = np.empty(self.table.n_rows, dtype=np.int32)
        cdef int32_t[::1] out = found
        cdef intp_t i
        for i in range(self.table.n_rows):
            out[i] = self.code(i, feature)
        return found

    cdef int _make(self) except -1 nogil:
        cdef intp_t n = self.table.n_rows
        cdef intp_t d = self.table.n_features
        cdef intp_t block = min(d, BLOCK)
        cdef int32_t* codes
        cdef CodeColumn* column
        cdef intp_t f, first, k, i, width
        cdef uint8_t* row
        self.columns = <CodeColumn*> self.arena.take(d, sizeof(CodeColumn))
        codes = <int32_t*> self.arena.take(block * n, sizeof(int32_t))
        for f in range(d):
            self._measure(&self.table.columns[f], &self.columns[f])
        self._lay_out()
        self.bytes = <uint8_t*> self.arena.take(n * self.row_bytes, sizeof(uint8_t))
        first = 0
        while first < d:
            width = min(block, d - first)
            for k in range(width):
                self._rank(&self.table.columns[first + k], codes + k * n)
            for k in range(width):
                column = &self.columns[first + k]
                row = self.bytes + column.offset
                if column.width == 1:
                    for i in range(n):
                        row[i * self.row_bytes] = <uint8_t> codes[k * n + i]
                elif column.width == 2:
                    for i in range(n):
                        (<uint16_t*> (row + i * self.row_bytes))[0] = (
                            <uint16_t> codes[k * n + i]
                        )
                else:
                    for i in range(n):
                        (<int32_t*> (row + i * self.row_bytes))[0] = codes[k * n + i]
            first += block
        self.arena.give_back(codes)
        return 0

    cdef void _measure(self, const Column* column, CodeColumn* to) noexcept nogil:
        cdef intp_t i
        to.n_codes = column.n_levels
        if column.order != NULL:
            to.n_codes = 1
            for i in range(1, self.table.n_rows):
                to.n_codes += column.order[i] & 1
        to.width = 4
        if to.n_codes <= 1 << 8:
            to.width = 1
        elif to.n_codes <= 1 << 16:
            to.width = 2

    cdef void _lay_out(self) noexcept nogil:
        # Wide codes first: each lies at a multiple of its width.
        cdef intp_t offset = 0
        cdef intp_t widest = 1
        cdef intp_t width = 4
        cdef intp_t f
        while width > 0:
            for f in range(self.table.n_features):
                if self.columns[f].width == width:
                    self.columns[f].offset = offset
                    offset += width
                    widest = max(widest, width)
            width //= 2
        self.row_bytes = (offset + widest - 1) // widest * widest

    cdef void _rank(self, const Column* column, int32_t* codes) noexcept nogil:
        cdef intp_t n = self.table.n_rows
        cdef int32_t rank = 0
        cdef intp_t i
        if column.codes != NULL:
            for i in range(n):
                codes[i] = column.codes[i]
        elif column.wide != NULL:
            for i in range(n):
                codes[i] = column.wide[i]
        else:
            codes[column.order[0] >> 1] = 0
            for i in range(1, n):
                rank += column.order[i] & 1
                codes[column.order[i] >> 1] = rank

    cdef void look_up(
        self, intp_t feature, const uint64_t* rows, intp_t n, int32_t* codes
    ) noexcept nogil:
        cdef const CodeColumn* column = &self.columns[feature]
        cdef const uint8_t* start = self.bytes + column.offset
        if column.width == 1:
            _look_up(start, self.row_bytes, rows, n, codes)
        elif column.width == 2:
            _look_up(<const uint16_t*> start, self.row_bytes // 2, rows, n, codes)
        else:
            _look_up(<const int32_t*> start, self.row_bytes // 4, rows, n, codes)


cdef void _look_up(
    const code_t* column, intp_t stride, const uint64_t* rows, intp_t n,
    int32_t* codes,
) noexcept nogil:
    cdef intp_t i
    for i in range(n):
        codes[i] = column[<intp_t> <uint32_t> rows[i] * stride]
