"""Tests of nominal features: sets of categories, or a branch for every one."""

from libc.math cimport ldexp, log, sqrt
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from skconftree.bounds._contract cimport NodeFacts
from skconftree.utils._draws cimport mix
from skconftree.utils._typedefs cimport uint64_t

cdef enum:
    LARGEST_POWER = 1000    # sums of 2 to larger ones may be no float
    ITERATIONS = 20         # of the power method: an ordering need not be exact

cdef float64_t LOG_2 = log(2.0)


cdef int _compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* left = <const Ranked*> a
    cdef const Ranked* right = <const Ranked*> b
    if left.share != right.share:
        return 1 if left.share > right.share else -1
    return left.place - right.place


cdef class CategorySets:
    """The tests of a nominal feature of a node."""

    def __init__(self, ExaminedNode node not None):
        self.node = node
        self.multiway = node.settings.multiway
        self.random_cuts = node.settings.random_cuts
        self.arena = Arena()
        self.axis = <float64_t*> self.arena.take_zeros(
            2 * node.n_classes, sizeof(float64_t)
        )

    cdef int reserve(self, intp_t room) except -1:
        # Arrays for features with this many categories; forgets what they hold.
        cdef intp_t width = self.node.n_classes + 1
        if room <= self.room:
            return 0
        self.counts = <float64_t*> self.arena.resize(
            self.counts, room * width, sizeof(float64_t)
        )
        self.present = <int32_t*> self.arena.resize(self.present, room, sizeof(int32_t))
        self.ranked = <Ranked*> self.arena.resize(self.ranked, room, sizeof(Ranked))
        self.ordinals = <int16_t*> self.arena.resize(
            self.ordinals, room, sizeof(int16_t)
        )
        self.room = room
        return 0

    cdef void begin(self, intp_t n_codes) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef const float64_t* row
        cdef float64_t n
        cdef intp_t code, c
        self.n_codes = n_codes
        self.n_present = 0
        self.alone = 0.0
        self.unknown = 0.0
        self.n_implied = 0.0
        for code in range(n_codes):
            row = self.counts + code * (K + 1)
            n = 0.0
            for c in range(K):
                n += row[c]
            if n > 0.0:
                self.present[self.n_present] = <int32_t> code
                self.n_present += 1
                if n <= 1.0:
                    self.alone += n
            else:
                self.unknown += row[K]

    cdef intp_t walk(self, Scan scan) noexcept nogil:
        if self._search() == SUBSETS:
            return self._walk_subsets(scan)
        self.n_implied = ldexp(1.0, <int> min(self.n_present - 1, LARGEST_POWER)) - 1.0
        self.log_implied = log(self.n_implied)
        if self.n_present - 1 > LARGEST_POWER:
            self.log_implied = (self.n_present - 1) * LOG_2
        return self._walk_orderings(scan)

    cdef Search _search(self) noexcept nogil:
        if self.random_cuts:
            return DRAWN
        if self.concave and self.node.n_classes == 2:
            return PREFIXES
        return SUBSETS if self.n_present <= ENUMERABLE else ORDERINGS

    # -- candidates ---------------------------------------------------------------

    cdef intp_t _walk_subsets(self, Scan scan) noexcept nogil:
        cdef intp_t m = self.n_present
        cdef intp_t last = (<intp_t> 1) << (m - 1)
        cdef intp_t bits, place, n_in_set
        for bits in range(1, last):
            self._clear_set(scan)
            n_in_set = 0
            for place in range(m - 1):
                if (bits >> place) & 1:
                    self._add_category(scan, place)
                    n_in_set += 1
            self._emit_set(scan, n_in_set, bits)
        return scan.finish()

    cdef intp_t _walk_orderings(self, Scan scan) noexcept nogil:
        cdef intp_t m = self.n_present
        cdef intp_t ordering, length
        for ordering in range(self._n_orderings()):
            if not self._rank(ordering):
                continue
            self._clear_set(scan)
            for length in range(1, m):
                self._add_category(scan, self.ranked[length - 1].place)
                self._emit_set(scan, length, ordering * m + length)
        return scan.finish()

    cdef void _clear_set(self, Scan scan) noexcept nogil:
        memset(scan.running, 0, self.node.n_classes * sizeof(float64_t))
        self.set_weight = 0.0
        self.set_pool = 0.0

    cdef inline void _add_category(self, Scan scan, intp_t i) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef const float64_t* row = self.counts + self.present[i] * (K + 1)
        cdef intp_t c
        for c in range(K):
            scan.running[c] += row[c]
            self.set_weight += row[c]
        self.set_pool += row[K]

    cdef inline void _emit_set(
        self, Scan scan, intp_t n_in_set, intp_t place
    ) noexcept nogil:
        # The test whose left outcome holds the categories added.
        cdef intp_t K = self.node.n_classes
        cdef float64_t* pool_left = scan.pool_left + scan.size
        memcpy(scan.left + scan.size * K, scan.running, K * sizeof(float64_t))
        if self.node.by_volume:
            pool_left[0] = self.node.record.pool * (
                <float64_t> n_in_set / self.n_present
            )
        else:
            pool_left[0] = self.set_weight + self.set_pool
            if self.set_weight > self.node.n - self.set_weight:
                pool_left[0] += self.unknown
        scan.emit(self.set_weight, place)

    cdef intp_t _n_orderings(self) noexcept nogil:
        return 1 if self.node.n_classes == 2 else self.node.n_classes + 1

    cdef bint _rank(self, intp_t ordering) noexcept nogil:
        # Put the categories into the order of one share; False if nothing has it.
        cdef intp_t K = self.node.n_classes
        cdef intp_t c = 1 if K == 2 else ordering
        cdef const float64_t* row
        cdef intp_t place
        if c == K:
            self._principal_shares()
        elif self.node.counts[c] <= 0.0:
            return False
        else:
            for place in range(self.n_present):
                row = self.counts + self.present[place] * (K + 1)
                self.ranked[place].share = self._share(row, c)
        for place in range(self.n_present):
            self.ranked[place].place = <int32_t> place
        qsort(self.ranked, self.n_present, sizeof(Ranked), _compare_ranked)
        return True

    cdef inline float64_t _weight(self, const float64_t* row) noexcept nogil:
        # Of a category, as the criterion sees it.
        cdef const float64_t* weight = self.node.class_weight
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.node.n_classes):
            n += row[c] if weight == NULL else row[c] * weight[c]
        return n

    cdef inline float64_t _share(self, const float64_t* row, intp_t c) noexcept nogil:
        cdef float64_t count = row[c]
        if self.node.class_weight != NULL:
            count *= self.node.class_weight[c]
        return count / self._weight(row)

    cdef void _principal_shares(self) noexcept nogil:
        # Projections of the class shares on their first principal component, by the
        # power method from the deviation that weighs most.
        cdef intp_t K = self.node.n_classes
        cdef float64_t* axis = self.axis
        cdef float64_t* moved = self.axis + K
        cdef const NodeFacts* seen = &self.node.seen
        cdef const float64_t* row
        cdef float64_t n, square, length, deviation
        cdef float64_t most = -1.0
        cdef intp_t start = 0
        cdef intp_t place, c
        for place in range(self.n_present):
            row = self.counts + self.present[place] * (K + 1)
            n = self._weight(row)
            square = 0.0
            for c in range(K):
                deviation = self._share(row, c) - seen.counts[c] / seen.n
                square += deviation * deviation
            if n * square > most:
                most = n * square
                start = place
        row = self.counts + self.present[start] * (K + 1)
        for c in range(K):
            axis[c] = self._share(row, c) - seen.counts[c] / seen.n
        for _ in range(ITERATIONS):
            memset(moved, 0, K * sizeof(float64_t))
            for place in range(self.n_present):
                row = self.counts + self.present[place] * (K + 1)
                n = self._weight(row) * self._projection(row)
                for c in range(K):
                    deviation = self._share(row, c) - seen.counts[c] / seen.n
                    moved[c] += n * deviation
            length = 0.0
            for c in range(K):
                length += moved[c] * moved[c]
            length = sqrt(length)
            if not length > 0.0:
                break
            for c in range(K):
                axis[c] = moved[c] / length
        for place in range(self.n_present):
            row = self.counts + self.present[place] * (K + 1)
            self.ranked[place].share = self._projection(row)

    cdef float64_t _projection(self, const float64_t* row) noexcept nogil:
        cdef const NodeFacts* seen = &self.node.seen
        cdef float64_t sum_ = 0.0
        cdef intp_t c
        for c in range(self.node.n_classes):
            sum_ += self.axis[c] * (self._share(row, c) - seen.counts[c] / seen.n)
        return sum_

    # -- a chosen test ------------------------------------------------------------

    cdef void divide(
        self, intp_t feature, intp_t place, Children* children
    ) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t m = self.n_present
        cdef intp_t i, z, c
        cdef const float64_t* row
        cdef float64_t n, largest
        for i in range(self.n_codes):
            self.ordinals[i] = -1
        for i in range(m):
            self.ordinals[self.present[i]] = <int16_t> i if self.multiway else 1
        if not self.multiway:
            self._send_left(feature, place)
        children.n_outcomes = m if self.multiway else 2
        children.ordinals = self.ordinals
        children.n_codes = self.n_codes - 1     # without the unknown
        children.missing_seen = False
        children.missing_left = False

        memset(children.counts, 0, children.n_outcomes * K * sizeof(float64_t))
        memset(children.pool, 0, children.n_outcomes * sizeof(float64_t))
        for i in range(m):
            z = self.ordinals[self.present[i]]
            row = self.counts + self.present[i] * (K + 1)
            for c in range(K):
                children.counts[z * K + c] += row[c]
                children.pool[z] += row[c]
            children.pool[z] += row[K]
        largest = -1.0
        for z in range(children.n_outcomes):
            n = 0.0
            for c in range(K):
                n += children.counts[z * K + c]
            if n >= largest:
                largest = n
                children.unknown = z
        children.pool[children.unknown] += self.unknown
        if self.node.by_volume:
            for z in range(children.n_outcomes):
                children.pool[z] = 0.0
            for i in range(m):
                z = self.ordinals[self.present[i]]
                children.pool[z] += self.node.record.pool / m

    cdef void _send_left(self, intp_t feature, intp_t place) noexcept nogil:
        cdef intp_t m = self.n_present
        cdef Search search = self._search()
        cdef uint64_t key
        cdef intp_t n_left = 0
        cdef intp_t i
        if search == SUBSETS:
            for i in range(m):
                if (place >> i) & 1:
                    self.ordinals[self.present[i]] = 0
        elif search == DRAWN:
            key = mix(self.node.key ^ <uint64_t> feature)
            for i in range(m):
                if mix(key ^ <uint64_t> self.present[i]) & 1:
                    self.ordinals[self.present[i]] = 0
                    n_left += 1
            if n_left == 0 or n_left == m:
                self.ordinals[self.present[0]] = 0 if n_left == 0 else 1
        else:
            self._rank(place // m)
            for i in range(place % m):
                self.ordinals[self.present[self.ranked[i].place]] = 0
