"""Packed class counts of a node's rows by their code."""

from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.tree.batch._tagged_rows cimport (
    MARKED_ROWS, mark_present, packed_bits,
)
from skconftree.tree.batch._tally_walks cimport (
    walk_packed_tally, walk_phi_tally, walk_two_class_tally,
)


cdef class CodeTally:
    """Class counts of the rows of a node by their code."""

    def __init__(self, intp_t n_classes):
        self.n_classes = n_classes
        self.arena = Arena()
        self.counts = <uint64_t*> self.arena.take_zeros(MAX_LEVELS, sizeof(uint64_t))
        self.present = <uint64_t*> self.arena.take_zeros(
            MAX_LEVELS // 64, sizeof(uint64_t)
        )
        self.one = <uint64_t*> self.arena.take_zeros(n_classes, sizeof(uint64_t))

    cdef void begin(self, float64_t n) noexcept nogil:
        cdef intp_t bits = packed_bits(self.n_classes, n)
        cdef intp_t c
        if bits > 0 and bits != self.bits:
            for c in range(self.n_classes):
                self.one[c] = <uint64_t> 1 << (c * bits)
        self.bits = bits

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

    cdef intp_t walk(
        self, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil:
        if scan.additive and not scan.squares:
            return walk_phi_tally(
                scan, self.counts, self.present, n_levels, self.bits, total
            )
        if self.n_classes == 2:
            return walk_two_class_tally(scan, self.counts, self.present, n_levels)
        return walk_packed_tally(
            scan, self.counts, self.present, n_levels, self.bits, total
        )
