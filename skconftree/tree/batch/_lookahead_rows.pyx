"""How the rows of a node lay before its tests were tried."""

from libc.string cimport memcpy

from skconftree.tables._encoded_table cimport Column
from skconftree.tables._sparse_columns cimport CODED, SparseColumn
from skconftree.utils._typedefs cimport float64_t, label_t, uint32_t


cdef class KeptOrder:
    """How the rows of one node lay before its tests were tried."""

    def __init__(self, NodeRows rows not None):
        self.rows = rows
        self.arena = Arena()

    cdef int keep(self, const NodeRecord* record) except -1 nogil:
        cdef intp_t n_bytes
        if self.features == NULL:
            self.features = <int32_t*> self.arena.take(
                self.rows.n_features, sizeof(int32_t)
            )
        if self.segments == NULL and self.rows.sparse is not None:
            self.segments = <Segment*> self.arena.take(
                self.rows.n_features, sizeof(Segment)
            )
        self.start = record.start
        self.end = record.end
        self._list_features(record)
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
        if self.rows.sparse is not None:
            self.rows.sparse.enter_segments(self.segments, self.n_segments)

    cdef void _list_features(self, const NodeRecord* record) noexcept nogil:
        cdef SparseColumn* column
        cdef intp_t j, f
        self.n_features = 0
        self.n_segments = 0
        for j in range(record.n_features):
            f = record.features[j]
            if not self.rows.is_sparse(f):
                self.features[self.n_features] = <int32_t> f
                self.n_features += 1
            elif self.rows.sparse.n_stored(f) > 0:
                column = &self.rows.sparse.columns[f]
                self.segments[self.n_segments].feature = <int32_t> f
                self.segments[self.n_segments].begin = column.begin
                self.segments[self.n_segments].end = column.end
                self.n_segments += 1

    cdef intp_t _move(self, bint back, bint counts_only) noexcept nogil:
        # Copy the arrays of the node, or their copies back; or only count the bytes.
        cdef intp_t start = self.start
        cdef intp_t end = self.end
        cdef Column* column
        cdef Segment* segment
        cdef intp_t at = 0
        cdef intp_t j
        for j in range(self.n_features):
            column = &self.rows.columns[self.features[j]]
            at = self._move_array(
                column.order, sizeof(uint32_t), start, end, at, back, counts_only
            )
            at = self._move_array(
                column.codes, sizeof(uint8_t), start, end, at, back, counts_only
            )
            at = self._move_array(
                column.wide, sizeof(label_t), start, end, at, back, counts_only
            )
        for j in range(self.n_segments):
            segment = &self.segments[j]
            at = self._move_array(
                self.rows.sparse.entries, sizeof(uint32_t), segment.begin, segment.end,
                at, back, counts_only,
            )
            if self.rows.sparse.columns[segment.feature].form == CODED:
                at = self._move_array(
                    self.rows.sparse.codes, sizeof(uint8_t), segment.begin, segment.end,
                    at, back, counts_only,
                )
        at = self._move_array(
            self.rows.ids, sizeof(uint32_t), start, end, at, back, counts_only
        )
        at = self._move_array(
            self.rows.node_y, sizeof(label_t), start, end, at, back, counts_only
        )
        at = self._move_array(
            self.rows.node_count, sizeof(int32_t), start, end, at, back, counts_only
        )
        return self._move_array(
            self.rows.node_weight, sizeof(float64_t), start, end, at, back, counts_only
        )

    cdef intp_t _move_array(
        self, void* array, size_t size, intp_t start, intp_t end, intp_t at, bint back,
        bint counts_only,
    ) noexcept nogil:
        # Returns the place behind the copy. Places are multiples of nothing: bytes are
        # all that is done with them.
        cdef size_t n_bytes = (end - start) * size
        cdef uint8_t* here
        if array == NULL:
            return at
        if not counts_only:
            here = <uint8_t*> array + start * size
            if back:
                memcpy(here, self.copies + at, n_bytes)
            else:
                memcpy(self.copies + at, here, n_bytes)
        return at + <intp_t> n_bytes
