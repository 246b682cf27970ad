"""Packed class counts of a node's rows by their code."""

from libc.string cimport memset

from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.tree.batch._tagged_rows cimport (
    MARKED_ROWS, mark_present, packed_bits, tally_packed_columns,
)
from skconftree.tree.batch._tally_walks cimport (
    walk_packed_tally, walk_phi_tally, walk_two_class_tally,
)

cdef enum:
    PRESENT_WORDS = 4   # a bit for each of MAX_LEVELS codes


cdef class CodeTally:
    """Class counts of the rows of a node by their code."""

    def __init__(self, intp_t n_classes):
        self.n_classes = n_classes
        self.arena = Arena()
        self.counts = <uint64_t*> self.arena.take_zeros(
            (1 + MOST_COLUMNS) * MAX_LEVELS, sizeof(uint64_t)
        )
        self.present = <uint64_t*> self.arena.take_zeros(
            (1 + MOST_COLUMNS) * PRESENT_WORDS, sizeof(uint64_t)
        )
        self.one = <uint64_t*> self.arena.take_zeros(n_classes, sizeof(uint64_t))

    cdef void begin(self, float64_t n) noexcept nogil:
        cdef intp_t bits = packed_bits(self.n_classes, n)
        cdef intp_t c
        if bits > 0 and bits != self.bits:
            for c in range(self.n_classes):
                self.one[c] = <uint64_t> 1 << (c * bits)
        self.bits = bits
        self._forget()

    cdef void add(
        self, const uint8_t* codes, const label_t* y, const int32_t* count, intp_t n
    ) noexcept nogil:
        cdef uint64_t* counts = self.counts
        cdef uint64_t* present = self.present
        cdef const uint64_t* one = self.one
        cdef intp_t i
        if count != NULL:
            for i in range(n):
                counts[codes[i]] += <uint64_t> count[i] * one[y[i]]
        else:
            for i in range(n):
                counts[codes[i]] += one[y[i]]
        if n > MARKED_ROWS:
            mark_present(counts, present)
            return
        for i in range(n):
            present[codes[i] >> 6] |= <uint64_t> 1 << (codes[i] & 63)

    cdef void add_columns(
        self, RowCodes row_codes, const int32_t* features, intp_t n_features,
        const uint64_t* rows, intp_t n
    ) noexcept nogil:
        cdef intp_t offsets[MOST_COLUMNS]
        cdef intp_t k
        self._forget()
        for k in range(n_features):
            self.waiting[k] = features[k]
            offsets[k] = row_codes.columns[features[k]].offset
        self.n_waiting = n_features
        tally_packed_columns(
            row_codes.bytes, row_codes.row_bytes, offsets, n_features, rows, n,
            self.bits, self.counts + MAX_LEVELS, self.present + PRESENT_WORDS,
        )

    cdef void _forget(self) noexcept nogil:
        cdef intp_t k
        for k in range(self.n_waiting):
            if self.waiting[k] >= 0:
                memset(
                    self.counts + (k + 1) * MAX_LEVELS, 0,
                    MAX_LEVELS * sizeof(uint64_t),
                )
                memset(
                    self.present + (k + 1) * PRESENT_WORDS, 0,
                    PRESENT_WORDS * sizeof(uint64_t),
                )
        self.n_waiting = 0

    cdef intp_t walk(
        self, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil:
        return self._walk(0, scan, n_levels, total)

    cdef intp_t walk_waiting(
        self, intp_t feature, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil:
        cdef intp_t k
        for k in range(self.n_waiting):
            if self.waiting[k] == feature:
                self.waiting[k] = -1
                return self._walk(k + 1, scan, n_levels, total)
        return -1

    cdef intp_t _walk(
        self, intp_t place, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil:
        cdef uint64_t* counts = self.counts + place * MAX_LEVELS
        cdef uint64_t* present = self.present + place * PRESENT_WORDS
        if scan.additive and not scan.squares:
            return walk_phi_tally(scan, counts, present, n_levels, self.bits, total)
        if self.n_classes == 2:
            return walk_two_class_tally(scan, counts, present, n_levels)
        return walk_packed_tally(scan, counts, present, n_levels, self.bits, total)
