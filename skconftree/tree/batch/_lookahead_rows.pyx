"""How the rows of a node lay before its tests were tried."""

from libc.string cimport memcpy

from skconftree.tables._encoded_table cimport Column
from skconftree.utils._typedefs cimport float64_t, label_t, uint32_t


cdef class KeptOrder:
    """How the rows of one node lay before its tests were tried.

    Parameters
    ----------
    rows : NodeRows
        Of a dense table.
    """

    def __init__(self, NodeRows rows not None):
        self.rows = rows
        self.arena = Arena()

    cdef int keep(self, const NodeRecord* record) except -1 nogil:
        cdef intp_t n_bytes
        if self.features == NULL:
            self.features = <int32_t*> self.arena.take(
                self.rows.n_features, sizeof(int32_t)
            )
        self.start = record.start
        self.end = record.end
        self.n_features = record.n_features
        memcpy(self.features, record.features, record.n_features * sizeof(int32_t))
        n_bytes = self._move(False, True)
        if n_bytes > self.room:
            self.arena.give_back(self.copies)
            self.copies = NULL
            self.room = 0
            self.copies = <uint8_t*> self.arena.take(n_bytes, sizeof(uint8_t))
            self.room = n_bytes
        self._move(False, False)
        return 0

    cdef void put_back(self) noexcept nogil:
        self._move(True, False)

    cdef intp_t _move(self, bint back, bint counts_only) noexcept nogil:
        # Copy the arrays of the node, or their copies back; or only count the bytes.
        cdef Column* column
        cdef intp_t at = 0
        cdef intp_t j
        for j in range(self.n_features):
            column = &self.rows.columns[self.features[j]]
            at = self._move_array(
                column.order, sizeof(uint32_t), at, back, counts_only
            )
            at = self._move_array(column.codes, sizeof(uint8_t), at, back, counts_only)
            at = self._move_array(column.wide, sizeof(label_t), at, back, counts_only)
        at = self._move_array(self.rows.ids, sizeof(uint32_t), at, back, counts_only)
        at = self._move_array(self.rows.node_y, sizeof(label_t), at, back, counts_only)
        at = self._move_array(
            self.rows.node_count, sizeof(int32_t), at, back, counts_only
        )
        return self._move_array(
            self.rows.node_weight, sizeof(float64_t), at, back, counts_only
        )

    cdef intp_t _move_array(
        self, void* array, size_t size, intp_t at, bint back, bint counts_only
    ) noexcept nogil:
        # Returns the place behind the copy. Places are multiples of nothing: bytes are
        # all that is done with them.
        cdef size_t n_bytes = (self.end - self.start) * size
        cdef uint8_t* here
        if array == NULL:
            return at
        if not counts_only:
            here = <uint8_t*> array + self.start * size
            if back:
                memcpy(here, self.copies + at, n_bytes)
            else:
                memcpy(self.copies + at, here, n_bytes)
        return at + <intp_t> n_bytes
