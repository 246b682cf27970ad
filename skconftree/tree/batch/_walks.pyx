"""Walks over the rows of a node that emit candidate splits."""

from libc.math cimport INFINITY
from libc.string cimport memset

from skconftree.tables._encoded_table cimport MAX_LEVELS
from skconftree.tree.split._scan cimport BLOCK
from skconftree.tree.split._selection cimport tie_of
from skconftree.utils._inline cimport highest_bit, lowest_bit
from skconftree.utils._sorting cimport counts_to_places, insert_keys
from skconftree.utils._typedefs cimport int64_t

cdef inline int32_t _weight(uint64_t key) noexcept nogil:
    return <int32_t> ((key >> 16) & 0xFFFF)


cdef intp_t walk_two_class_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least
) noexcept nogil:
    # Every step writes a test; it stays if the next key has another rank.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* place = scan.place
    cdef intp_t n_tests = 0
    cdef intp_t p = 1
    cdef intp_t size
    cdef uint64_t key = keys[0]
    cdef int32_t rank = <int32_t> (key >> 32)
    cdef int32_t weight = _weight(key)
    cdef int32_t ones = weight * <int32_t> (key & 0xFFFF)
    cdef int32_t block_end, after, w
    while p < n:
        # weights ascend by 1 at least: a block has no more than BLOCK tests
        block_end = (weight - 1) // BLOCK * BLOCK
        size = 0
        while p < n and weight - block_end <= BLOCK:
            key = keys[p]
            left[2 * size] = weight - ones
            left[2 * size + 1] = ones
            n_left[size] = weight
            place[size] = rank + least
            after = <int32_t> (key >> 32)
            size += after != rank
            rank = after
            w = _weight(key)
            weight += w
            ones += w * <int32_t> (key & 0xFFFF)
            p += 1
        if size > 0:
            scan.take(size)
            n_tests += size
    return n_tests


cdef intp_t walk_square_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least, const float64_t* total
) noexcept nogil:
    # With l and t a class's counts on the left and in all, (t - l)^2 = t^2 - 2 t l + l^2:
    # a row changes one l.
    cdef intp_t K = scan.n_classes
    cdef int64_t* left = scan.counted
    cdef int64_t* whole = scan.counted + K
    cdef float64_t* phi_left = scan.phi_left
    cdef float64_t* phi_right = scan.phi_right
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* place = scan.place
    cdef int64_t squares = 0        # of l,
    cdef int64_t right = 0          # and of t - l, summed over the classes
    cdef int64_t weight = 0
    cdef int64_t l, w
    cdef intp_t n_tests = 0
    cdef intp_t size = 0
    cdef intp_t p, c
    cdef uint64_t key = keys[0]
    cdef int32_t rank, after
    for c in range(K):
        left[c] = 0
        whole[c] = 2 * <int64_t> total[c]
        right += <int64_t> total[c] * <int64_t> total[c]
    rank = <int32_t> (key >> 32)
    for p in range(1, n):
        c = key & 0xFFFF
        w = _weight(key)
        l = left[c]
        left[c] = l + w
        weight += w
        l = w * (2 * l + w)
        squares += l
        right += l - w * whole[c]
        key = keys[p]
        phi_left[size] = squares
        phi_right[size] = right
        n_left[size] = weight
        place[size] = rank + least
        after = <int32_t> (key >> 32)
        size += after != rank
        rank = after
        if size == BLOCK:
            scan.take(BLOCK)
            n_tests += BLOCK
            size = 0
    if size > 0:
        scan.take(size)
    return n_tests + size


# -- Walks over the rows of a node as tallies of their codes -----------------------
cdef intp_t walk_two_class_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels
) noexcept nogil:
    # Every step writes a test, also that behind the last level, for which there is room.
    cdef float64_t* left = scan.left
    cdef float64_t* n_left = scan.n_left
    cdef intp_t* place = scan.place
    cdef uint64_t sums = 0
    cdef intp_t size = 0
    cdef intp_t k, b
    cdef int32_t zeros, ones
    cdef uint64_t bits
    for k in range((n_levels + 63) // 64):
        bits = present[k]
        present[k] = 0
        while bits != 0:
            b = 64 * k + lowest_bit(bits)
            bits &= bits - 1
            sums += tally[b]
            tally[b] = 0
            zeros = <int32_t> <uint32_t> sums
            ones = <int32_t> (sums >> 32)
            left[2 * size] = zeros
            left[2 * size + 1] = ones
            n_left[size] = zeros + ones
            place[size] = b
            size += 1
    size -= 1
    if size > 0:
        scan.take(size)
    return size


cdef struct Sums:
    # With l and t a class's counts on the left and in all, (t - l)^2 = t^2 - 2 t l + l^2:
    # what is added to a class changes one l.
    int64_t left            # of l^2,
    int64_t right           # and of (t - l)^2, over the classes
    int64_t weight


cdef inline void _begin(Scan scan, const float64_t* total, Sums* sums) noexcept nogil:
    cdef int64_t* whole = scan.counted + scan.n_classes
    cdef intp_t c
    sums.left = 0
    sums.right = 0
    sums.weight = 0
    for c in range(scan.n_classes):
        scan.counted[c] = 0
        whole[c] = 2 * <int64_t> total[c]
        sums.right += <int64_t> total[c] * <int64_t> total[c]


cdef inline void _add(Scan scan, intp_t c, int64_t w, Sums* sums) noexcept nogil:
    cdef int64_t l = scan.counted[c]
    scan.counted[c] = l + w
    sums.weight += w
    l = w * (2 * l + w)
    sums.left += l
    sums.right += l - w * scan.counted[scan.n_classes + c]


cdef inline void _write_sums(
    Scan scan, intp_t size, intp_t last, const Sums* sums
) noexcept nogil:
    # The test behind a level, of those before it.
    cdef intp_t K = scan.n_classes
    cdef intp_t c
    if scan.additive:
        scan.phi_left[size] = sums.left
        scan.phi_right[size] = sums.right
    else:
        for c in range(K):
            scan.left[size * K + c] = scan.counted[c]
    scan.n_left[size] = sums.weight
    scan.place[size] = last


cdef inline intp_t _add_up(
    uint64_t* tally, uint64_t* present, intp_t n_levels, uint64_t* sums, intp_t* place
) noexcept nogil:
    # Packed counts of the levels that have rows, up to and with each, and these levels;
    # how many there are.
    cdef uint64_t total = 0
    cdef intp_t size = 0
    cdef intp_t k, b
    cdef uint64_t marks
    for k in range((n_levels + 63) // 64):
        marks = present[k]
        present[k] = 0
        while marks != 0:
            b = 64 * k + lowest_bit(marks)
            marks &= marks - 1
            total += tally[b]
            tally[b] = 0
            sums[size] = total
            place[size] = b
            size += 1
    return size


cdef intp_t walk_packed_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil:
    # Many levels at a time, class by class.
    cdef intp_t K = scan.n_classes
    cdef float64_t* left = scan.left
    cdef float64_t* phi_left = scan.phi_left
    cdef float64_t* phi_right = scan.phi_right
    cdef float64_t* n_left = scan.n_left
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef float64_t constant = 0.0
    cdef uint64_t sums[MAX_LEVELS]
    cdef intp_t size = _add_up(tally, present, n_levels, sums, scan.place) - 1
    cdef float64_t l, whole
    cdef intp_t i, c
    if size <= 0:       # behind the last level there is no test
        return 0
    for c in range(K):
        constant += total[c] * total[c]
    for i in range(size):
        n_left[i] = 0.0
        phi_left[i] = 0.0
        phi_right[i] = constant
    for c in range(K):
        whole = 2.0 * total[c]
        if scan.additive:
            for i in range(size):
                l = <float64_t> <int32_t> (sums[i] & mask)
                sums[i] >>= bits
                n_left[i] += l
                phi_left[i] += l * l
                phi_right[i] += l * (l - whole)
        else:
            for i in range(size):
                l = <float64_t> <int32_t> (sums[i] & mask)
                sums[i] >>= bits
                n_left[i] += l
                left[i * K + c] = l
    scan.take(size)
    return size


cdef intp_t walk_phi_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil:
    # A class that a level has not got adds 0. Every step writes a test, as above.
    cdef intp_t K = scan.n_classes
    cdef const float64_t* phi = scan.phi
    cdef int64_t* left = scan.counted
    cdef int64_t* rest = scan.counted + K
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef float64_t phi_left = 0.0
    cdef float64_t phi_right = 0.0
    cdef int64_t weight = 0
    cdef intp_t size = 0
    cdef intp_t k, b, c
    cdef uint64_t marks, packed
    cdef int64_t l, r, w
    for c in range(K):
        left[c] = 0
        rest[c] = <int64_t> total[c]
        phi_left += phi[0]
        phi_right += phi[rest[c]]
    for k in range((n_levels + 63) // 64):
        marks = present[k]
        present[k] = 0
        while marks != 0:
            b = 64 * k + lowest_bit(marks)
            marks &= marks - 1
            packed = tally[b]
            tally[b] = 0
            for c in range(K):
                w = <int64_t> (packed & mask)
                packed >>= bits
                l = left[c]
                r = rest[c]
                phi_left += phi[l + w] - phi[l]
                phi_right += phi[r - w] - phi[r]
                left[c] = l + w
                rest[c] = r - w
                weight += w
            scan.phi_left[size] = phi_left
            scan.phi_right[size] = phi_right
            scan.n_left[size] = weight
            scan.place[size] = b
            size += 1
    size -= 1
    if size > 0:
        scan.take(size)
    return size


cdef intp_t walk_plain_tally(
    Scan scan, int32_t* tally, uint64_t* present, intp_t n_levels,
    const float64_t* total,
) noexcept nogil:
    cdef intp_t K = scan.n_classes
    cdef Sums sums
    cdef intp_t size = 0
    cdef intp_t last = -1
    cdef intp_t k, b, c
    cdef uint64_t left_over
    _begin(scan, total, &sums)
    for k in range((n_levels + 63) // 64):
        left_over = present[k]
        present[k] = 0
        while left_over != 0:
            b = 64 * k + lowest_bit(left_over)
            left_over &= left_over - 1
            if last >= 0:
                _write_sums(scan, size, last, &sums)
                size += 1
            last = b
            for c in range(K):
                _add(scan, c, tally[b * K + c], &sums)
                tally[b * K + c] = 0
    if size > 0:
        scan.take(size)
    return size


# -- Rows of a node in the order of their ranks ------------------------------------
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


# -- The tests that can be the best of many rows of two classes --------------------
cdef enum:
    RUN_BITS = 3            # 8 to 16 rows a run, if ranks are spread evenly
    CORNERS = 3             # of a run, beside that of the run before
    MARGIN = 64             # ties, far more than scores are wrong by
    WINDOW = 4


cdef class PrunedWalk:
    """The tests that can be the best, of at most so many rows and ranks."""

    def __init__(self, intp_t n_rows, intp_t n_codes):
        cdef intp_t room = n_rows + 1
        self.arena = Arena()
        self.tally = <uint64_t*> self.arena.take_zeros(MOST_RUNS, sizeof(uint64_t))
        self.before = <uint64_t*> self.arena.take(MOST_RUNS, sizeof(uint64_t))
        self.lows = <float64_t*> self.arena.take(MOST_RUNS, sizeof(float64_t))
        self.marked = <uint8_t*> self.arena.take_zeros(MOST_RUNS, sizeof(uint8_t))
        self.seen = <uint64_t*> self.arena.take_zeros(
            (n_codes + 63) // 64, sizeof(uint64_t)
        )
        self.codes = <int32_t*> self.arena.take(room, sizeof(int32_t))
        self.rows = <uint64_t*> self.arena.take(room, sizeof(uint64_t))
        self.left = <uint64_t*> self.arena.take(room, sizeof(uint64_t))
        self.places = <int32_t*> self.arena.take(room, sizeof(int32_t))
        self.scores = <float64_t*> self.arena.take(room, sizeof(float64_t))

    cdef intp_t walk(
        self, Scan scan, RankSort order, const int32_t* codes, const uint64_t* rows,
        intp_t n, intp_t n_codes, float64_t weight,
    ) noexcept nogil:
        cdef float64_t tie = tie_of(weight)
        cdef intp_t shift = max(highest_bit(n_codes) - highest_bit(n) + RUN_BITS, 0)
        cdef intp_t n_marked = 0
        cdef intp_t n_tests, n_scored, n_runs, i
        cdef float64_t best
        while n_codes > <intp_t> MOST_RUNS << shift:
            shift += 1
        n_runs = ((n_codes - 1) >> shift) + 1
        n_tests = self._count_runs(codes, rows, n, n_codes, shift) - 1
        best = self._bound_runs(scan, n_runs)
        if n_tests == 0:
            return 0
        if self._mark_runs(n_runs, best + MARGIN * tie) > 0.5 * weight:
            return -1
        for i in range(n):
            self.codes[n_marked] = codes[i]
            self.rows[n_marked] = rows[i]
            n_marked += self.marked[codes[i] >> shift]
        order.sort_tagged(self.codes, self.rows, n_marked)
        n_scored = self._score_tests(scan, order, n_marked, shift)
        if _left_weight(self.left[n_scored - 1]) == weight:
            n_scored -= 1       # all rows on the left
        i = self._emit_best(scan, n_scored, tie)
        if i < 0:
            return -1
        scan.leave_out(n_tests - i)
        return n_tests

    cdef intp_t _count_runs(
        self, const int32_t* codes, const uint64_t* rows, intp_t n, intp_t n_codes,
        intp_t shift,
    ) noexcept nogil:
        # The number of distinct ranks.
        cdef uint64_t* tally = self.tally
        cdef uint64_t* seen = self.seen
        cdef intp_t n_distinct = 0
        cdef uint64_t word
        cdef int32_t code
        cdef intp_t i
        for i in range(n):
            code = codes[i]
            tally[code >> shift] += (
                <uint64_t> count_of(rows[i]) << (class_of(rows[i]) << 5)
            )
            word = seen[code >> 6]
            n_distinct += not (word >> (code & 63)) & 1
            seen[code >> 6] = word | <uint64_t> 1 << (code & 63)
        memset(seen, 0, (n_codes + 63) // 64 * sizeof(uint64_t))
        return n_distinct

    cdef float64_t _bound_runs(self, Scan scan, intp_t n_runs) noexcept nogil:
        # The best score of a cut between two runs. An outcome without rows has no score,
        # or that of no split, which is the worst.
        cdef float64_t scores[BLOCK]
        cdef intp_t runs[BLOCK]
        cdef uint64_t sums = 0
        cdef uint64_t run
        cdef float64_t best = INFINITY
        cdef float64_t edge = INFINITY
        cdef float64_t low
        cdef intp_t size = 0
        cdef intp_t r, i
        for r in range(n_runs + 1):
            if size > 0 and (r == n_runs or size + CORNERS > BLOCK):
                scan.measure(size, scores)
                i = 0
                while i < size:
                    low = _smaller(edge, _smaller(scores[i], INFINITY))
                    edge = scores[i]
                    best = _smaller(edge, best)
                    low = _smaller(scores[i + 1], low)
                    self.lows[runs[i]] = _smaller(scores[i + 2], low)
                    i += CORNERS
                size = 0
            if r == n_runs or self.tally[r] == 0:
                continue
            run = self.tally[r]
            runs[size] = r
            self.before[r] = sums
            _write_left(scan, size, sums + run)
            _write_left(scan, size + 1, sums + <uint32_t> run)
            _write_left(scan, size + 2, sums + (run >> 32 << 32))
            sums += run
            size += CORNERS
        return best

    cdef float64_t _mark_runs(self, intp_t n_runs, float64_t most) noexcept nogil:
        # The weight of those that may have a test of this score.
        cdef float64_t weight = 0.0
        cdef intp_t r
        for r in range(n_runs):
            self.marked[r] = self.tally[r] != 0 and self.lows[r] <= most
            if self.marked[r]:
                weight += _left_weight(self.tally[r])
            self.tally[r] = 0
        return weight

    cdef intp_t _score_tests(
        self, Scan scan, RankSort order, intp_t n, intp_t shift
    ) noexcept nogil:
        # Those behind each rank of the rows that are sorted; their number.
        cdef const uint64_t* keys = order.keys
        cdef uint64_t sums = 0
        cdef uint64_t key
        cdef intp_t run = -1
        cdef intp_t done = 0
        cdef intp_t size = 0
        cdef intp_t p
        cdef int32_t rank
        for p in range(n):
            key = keys[p]
            rank = <int32_t> (key >> 32) + order.least
            if rank >> shift != run:
                run = rank >> shift
                sums = self.before[run]
            sums += ((key >> 16) & 0xFFFF) << ((key & 1) << 5)
            _write_left(scan, size, sums)
            self.left[done + size] = sums
            self.places[done + size] = rank
            size += p + 1 == n or keys[p + 1] >> 32 != key >> 32
            if size == BLOCK or p + 1 == n:
                scan.measure(size, self.scores + done)
                done += size
                size = 0
        return done

    cdef intp_t _emit_best(self, Scan scan, intp_t n, float64_t tie) noexcept nogil:
        # The number of tests emitted.
        cdef const float64_t* scores = self.scores
        cdef float64_t least = INFINITY
        cdef intp_t n_emitted = 0
        cdef intp_t size = 0
        cdef intp_t i
        for i in range(n):
            least = scores[i] if scores[i] < least else least
        for i in range(n):
            if least + 2.0 * tie < scores[i] <= least + WINDOW * tie:
                return -1
        for i in range(n):
            if scores[i] <= least + 2.0 * tie:
                _write_left(scan, size, self.left[i])
                scan.place[size] = self.places[i]
                size += 1
                if size == BLOCK:
                    scan.take(size)
                    n_emitted += size
                    size = 0
        if size > 0:
            scan.take(size)
        return n_emitted + size


cdef inline void _write_left(Scan scan, intp_t i, uint64_t left) noexcept nogil:
    # The counts on the left of a test.
    scan.left[2 * i] = <int32_t> <uint32_t> left
    scan.left[2 * i + 1] = <int32_t> (left >> 32)
    scan.n_left[i] = _left_weight(left)


cdef inline float64_t _left_weight(uint64_t counts) noexcept nogil:
    return <int32_t> (<uint32_t> counts + <uint32_t> (counts >> 32))


cdef inline float64_t _smaller(float64_t a, float64_t b) noexcept nogil:
    return a if a < b else b    # b where a is not a number
