"""Rows of a node in the order of their ranks."""

from libc.string cimport memset

from skconftree.utils._bits cimport highest_bit
from skconftree.utils._sorting cimport counts_to_places, insert_keys

cdef enum:
    SHORT = 40              # rows up to which each is compared with all others
    SPARE_BITS = 3          # buckets per row, of which rows share few
    DIGIT_BITS = 11
    SHIFTS_A_ROW = 4        # of an insertion sort; more are not worth it


cdef class RankSort:
    """Sorts rows, `n_most` at the most, by their ranks."""

    def __init__(self, intp_t n_most):
        self.n_most = n_most
        self.arena = Arena()
        self.entries = <uint32_t*> self.arena.take(n_most, sizeof(uint32_t))
        self.ranks = <int32_t*> self.arena.take(n_most, sizeof(int32_t))
        self.keys = <uint64_t*> self.arena.take(n_most, sizeof(uint64_t))
        self.other = <uint64_t*> self.arena.take(n_most, sizeof(uint64_t))

    cdef void sort(self, const int32_t* ranks, intp_t n) noexcept nogil:
        self.sort_tagged(ranks, NULL, n)
        self._write(n)

    cdef void sort_tagged(
        self, const int32_t* ranks, const uint64_t* rows, intp_t n
    ) noexcept nogil:
        # Without rows, they are tagged with their numbers.
        cdef int32_t least = ranks[0]
        cdef int32_t most = ranks[0]
        cdef uint64_t* keys = self.keys
        cdef intp_t n_bits = 0
        cdef intp_t leading
        cdef intp_t i
        self.least = 0
        if n <= SHORT:
            self._sort_by_comparing(ranks, rows, n)
            return
        for i in range(n):
            least = ranks[i] if ranks[i] < least else least
            most = ranks[i] if ranks[i] > most else most
        self.least = least
        if most > least:
            n_bits = highest_bit(most - least) + 1
        for i in range(n):
            keys[i] = (<uint64_t> (ranks[i] - least) << 32) | _tag(rows, i)
        # Ranks are spread evenly, unless features go together: their leading bits leave
        # little to be done
        leading = min(n_bits, highest_bit(n) + SPARE_BITS)
        self._sort_by_digits(n, 32 + n_bits - leading, leading)
        if leading < n_bits and not insert_keys(self.keys, n, SHIFTS_A_ROW * n):
            self._sort_by_digits(n, 32, n_bits)

    cdef void _sort_by_comparing(
        self, const int32_t* ranks, const uint64_t* rows, intp_t n
    ) noexcept nogil:
        # Without branches: a row comes behind as many as have a smaller rank, or the
        # same and are before it.
        cdef int32_t place
        cdef int32_t rank
        cdef intp_t i, j
        for i in range(n):
            rank = ranks[i]
            place = 0
            for j in range(i):
                place += ranks[j] <= rank
            for j in range(i + 1, n):
                place += ranks[j] < rank
            self.keys[place] = (<uint64_t> rank << 32) | _tag(rows, i)

    cdef void _sort_by_digits(
        self, intp_t n, intp_t shift, intp_t n_bits
    ) noexcept nogil:
        # By the bits from `shift` on. No bit is the same as one that is never set.
        cdef intp_t n_passes = max((n_bits + DIGIT_BITS - 1) // DIGIT_BITS, 1)
        cdef intp_t digit_bits
        cdef intp_t radix
        cdef uint64_t mask
        cdef uint32_t buckets[3 << DIGIT_BITS]
        cdef uint64_t* keys = self.keys
        cdef uint64_t* other = self.other
        cdef uint32_t* bucket
        cdef uint64_t key
        cdef intp_t i, k
        if n_bits > 6 and n_passes == 1:
            n_passes = 2
        digit_bits = (n_bits + n_passes - 1) // n_passes
        radix = <intp_t> 1 << digit_bits
        mask = radix - 1
        memset(buckets, 0, n_passes * radix * sizeof(uint32_t))
        bucket = buckets + radix
        if n_passes == 2:       # nearly always
            for i in range(n):
                key = keys[i] >> shift
                buckets[key & mask] += 1
                bucket[(key >> digit_bits) & mask] += 1
        else:
            for i in range(n):
                key = keys[i] >> shift
                for k in range(n_passes):
                    buckets[k * radix + <intp_t> (key & mask)] += 1
                    key >>= digit_bits
        for k in range(n_passes):
            bucket = buckets + k * radix
            counts_to_places(bucket, radix)
            for i in range(n):
                key = keys[i]
                other[bucket[(key >> shift) & mask]] = key
                bucket[(key >> shift) & mask] += 1
            shift += digit_bits
            keys, other = other, keys
        self.keys = keys
        self.other = other

    cdef void _write(self, intp_t n) noexcept nogil:
        # The entries and ranks of keys that are tagged with rows.
        cdef const uint64_t* keys = self.keys
        cdef uint64_t before = keys[0] >> 32
        cdef uint64_t rank
        cdef intp_t i
        for i in range(n):
            rank = keys[i] >> 32
            self.entries[i] = (<uint32_t> keys[i] << 1) | <uint32_t> (rank != before)
            self.ranks[i] = <int32_t> rank + self.least
            before = rank


cdef inline uint64_t _tag(const uint64_t* rows, intp_t i) noexcept nogil:
    return <uint64_t> i if rows == NULL else rows[i] >> 32
