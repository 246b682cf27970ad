# RowCodes: the rank of each value of a table among those of its feature, found by row.
#
# What an EncodedTable has in the order of the values, or feature by feature, lies here
# row by row: a few rows of a node touch as many places of the memory, whatever features
# are asked for. It is made once and then only read, by any number of trees and threads.
#
# The code of a coded or nominal feature is that of the table. That of a sorted one is the
# number of its smaller distinct values; so NaN has the largest.

from skconftree.tables._encoded_table cimport Column, EncodedTable
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport int32_t, intp_t, uint8_t, uint16_t, uint64_t


cdef struct CodeColumn:
    intp_t offset           # of the feature in the bytes of a row
    intp_t width            # of a code: 1, 2 or 4 bytes
    intp_t n_codes          # all are smaller


cdef class RowCodes:
    cdef readonly EncodedTable table
    cdef readonly intp_t row_bytes
    cdef Arena arena
    cdef CodeColumn* columns        # [n_features]
    cdef uint8_t* bytes             # [n_rows, row_bytes]

    cdef inline int32_t code(self, intp_t row, intp_t feature) noexcept nogil:
        cdef const CodeColumn* column = &self.columns[feature]
        cdef const uint8_t* place = self.bytes + row * self.row_bytes + column.offset
        if column.width == 1:
            return place[0]
        if column.width == 2:
            return (<const uint16_t*> place)[0]
        return (<const int32_t*> place)[0]

    cdef int _make(self) except -1 nogil
    cdef void _measure(self, const Column* column, CodeColumn* to) noexcept nogil
    cdef void _rank(self, const Column* column, int32_t* codes) noexcept nogil
    cdef void _lay_out(self) noexcept nogil
    # Codes of n rows, whose numbers are the low halves of these words.
    cdef void look_up(
        self, intp_t feature, const uint64_t* rows, intp_t n, int32_t* codes
    ) noexcept nogil
