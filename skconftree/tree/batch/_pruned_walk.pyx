"""The tests that can be the best of many rows of two classes."""

from libc.math cimport INFINITY
from libc.string cimport memset

from skconftree.tree.batch._tagged_rows cimport class_of, count_of
from skconftree.tree.split._scan cimport BLOCK
from skconftree.tree.split._selection cimport tie_of
from skconftree.utils._bits cimport highest_bit
from skconftree.utils._typedefs cimport uint32_t

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
        if _weight(self.left[n_scored - 1]) == weight:
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
            _write(scan, size, sums + run)
            _write(scan, size + 1, sums + <uint32_t> run)
            _write(scan, size + 2, sums + (run >> 32 << 32))
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
                weight += _weight(self.tally[r])
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
            _write(scan, size, sums)
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
                _write(scan, size, self.left[i])
                scan.place[size] = self.places[i]
                size += 1
                if size == BLOCK:
                    scan.take(size)
                    n_emitted += size
                    size = 0
        if size > 0:
            scan.take(size)
        return n_emitted + size


cdef inline void _write(Scan scan, intp_t i, uint64_t left) noexcept nogil:
    # The counts on the left of a test.
    scan.left[2 * i] = <int32_t> <uint32_t> left
    scan.left[2 * i + 1] = <int32_t> (left >> 32)
    scan.n_left[i] = _weight(left)


cdef inline float64_t _weight(uint64_t counts) noexcept nogil:
    return <int32_t> (<uint32_t> counts + <uint32_t> (counts >> 32))


cdef inline float64_t _smaller(float64_t a, float64_t b) noexcept nogil:
    return a if a < b else b    # b where a is not a number
