"""Tests of nominal features: sets of categories, or a branch for every one."""

from libc.math cimport ldexp, log, sqrt
from libc.stdlib cimport calloc, free, qsort
from libc.string cimport memset

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.split._node cimport RootFacts
from skconftree.utils._draws cimport mix

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


cdef class NominalScan(NodeScan):
    """Base class of what tests sets of categories.

    Parameters
    ----------
    settings : GrowthSettings
    root : RootFacts
    """

    def __init__(self, GrowthSettings settings, RootFacts root):
        super().__init__(settings, root)
        cdef int32_t most = 0
        cdef intp_t f
        self.multiway = settings.multiway
        self.random_cuts = settings.random_cuts
        self.axis = <float64_t*> calloc(2 * root.n_classes, sizeof(float64_t))
        if self.axis == NULL:
            raise MemoryError()
        if root.n_categories is not None:
            self.cuts_only = False
            self._n_categories = root.n_categories
            self.n_categories = &self._n_categories[0]
            for f in range(root.n_features):
                most = max(most, self.n_categories[f])
            self.reserve_categories(most + 1)     # and the unknown

    def __dealloc__(self):
        free(self.axis)
        self._free_categories()

    cdef void _free_categories(self) noexcept:
        free(self.categories)
        free(self.present)
        free(self.ranked)
        free(self.ordinals)

    cdef void reserve_categories(self, intp_t room) except *:
        # Arrays for features with this many categories; forgets what they hold.
        if room <= self.category_room:
            return
        self._free_categories()
        self.category_room = 0
        self.categories = <float64_t*> calloc(
            room * (self.n_classes + 1), sizeof(float64_t)
        )
        self.present = <int32_t*> calloc(room, sizeof(int32_t))
        self.ranked = <Ranked*> calloc(room, sizeof(Ranked))
        self.ordinals = <int16_t*> calloc(room, sizeof(int16_t))
        if (
            self.categories == NULL or self.present == NULL or self.ranked == NULL
            or self.ordinals == NULL
        ):
            raise MemoryError()
        self.category_room = room
        if self.multiway:
            self.reserve_outcomes(room)

    cdef intp_t walk_categories(self, intp_t feature, intp_t n_codes) noexcept nogil:
        # Emit the tests of a feature whose counts are filled; returns 0 if it is
        # constant in the node.
        cdef Search search
        self.additive = False
        self._find_present(n_codes)
        if self.n_present < 2:
            return 0
        if self.skips_scattered and 2.0 * self.alone > self.n:
            return 1
        search = self._search()
        if self.multiway or search == DRAWN:
            self.divide_categories(feature, 0, n_codes)
            if self.multiway:
                if not self._has_small_child():
                    self.reduce_multiway()
            else:
                self._emit_drawn()
            return 1
        if search == SUBSETS:
            return self._walk_subsets()
        self.n_implied = ldexp(1.0, <int> min(self.n_present - 1, LARGEST_POWER)) - 1.0
        self.log_implied = log(self.n_implied)
        if self.n_present - 1 > LARGEST_POWER:
            self.log_implied = (self.n_present - 1) * LOG_2
        return self._walk_orderings()

    cdef void reduce_multiway(self) noexcept nogil:
        # `children` holds the branches of the one test of a multiway feature.
        pass

    cdef Search _search(self) noexcept nogil:
        if self.random_cuts:
            return DRAWN
        if self.concave and self.n_classes == 2:
            return PREFIXES
        return SUBSETS if self.n_present <= ENUMERABLE else ORDERINGS

    cdef void _find_present(self, intp_t n_codes) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef const float64_t* row
        cdef float64_t n
        cdef intp_t code, c
        self.n_present = 0
        self.alone = 0.0
        self.unknown = 0.0
        for code in range(n_codes):
            row = self.categories + code * (K + 1)
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

    # -- candidates ---------------------------------------------------------------

    cdef intp_t _walk_subsets(self) noexcept nogil:
        cdef intp_t m = self.n_present
        cdef intp_t last = (<intp_t> 1) << (m - 1)
        cdef intp_t bits, place, n_in_set
        for bits in range(1, last):
            self._clear_set()
            n_in_set = 0
            for place in range(m - 1):
                if (bits >> place) & 1:
                    self._add_category(place)
                    n_in_set += 1
            self._emit_set(n_in_set, bits)
        return self._finish()

    cdef intp_t _walk_orderings(self) noexcept nogil:
        cdef intp_t m = self.n_present
        cdef intp_t ordering, length
        for ordering in range(self._n_orderings()):
            if not self._rank(ordering):
                continue
            self._clear_set()
            for length in range(1, m):
                self._add_category(self.ranked[length - 1].place)
                self._emit_set(length, ordering * m + length)
        return self._finish()

    cdef void _emit_drawn(self) noexcept nogil:
        cdef intp_t c
        self.n_left[0] = 0.0
        for c in range(self.n_classes):
            self.left[c] = self.children[c]
            self.n_left[0] += self.children[c]
        self.pool_left[0] = self.child_pool[0]
        self.position[0] = 0
        self.take(1)

    cdef void _clear_set(self) noexcept nogil:
        memset(self.running, 0, self.n_classes * sizeof(float64_t))
        self.set_weight = 0.0
        self.set_pool = 0.0

    cdef inline void _add_category(self, intp_t place) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef const float64_t* row = self.categories + self.present[place] * (K + 1)
        cdef intp_t c
        for c in range(K):
            self.running[c] += row[c]
            self.set_weight += row[c]
        self.set_pool += row[K]

    cdef inline void _emit_set(self, intp_t n_in_set, intp_t cut) noexcept nogil:
        # The test whose left outcome holds the categories added.
        cdef intp_t c
        cdef float64_t* left = self.left + self.size * self.n_classes
        for c in range(self.n_classes):
            left[c] = self.running[c]
        if self.by_volume:
            self.pool_left[self.size] = self.node.pool * (
                <float64_t> n_in_set / self.n_present
            )
        else:
            self.pool_left[self.size] = self.set_weight + self.set_pool
            if self.set_weight > self.n - self.set_weight:
                self.pool_left[self.size] += self.unknown
        self._emit(self.set_weight, cut)

    cdef intp_t _n_orderings(self) noexcept nogil:
        return 1 if self.n_classes == 2 else self.n_classes + 1

    cdef bint _rank(self, intp_t ordering) noexcept nogil:
        # Put the categories into the order of one share; False if nothing has it.
        cdef intp_t K = self.n_classes
        cdef intp_t c = 1 if K == 2 else ordering
        cdef const float64_t* row
        cdef intp_t place
        if c == K:
            self._principal_shares()
        elif self.counts[c] <= 0.0:
            return False
        else:
            for place in range(self.n_present):
                row = self.categories + self.present[place] * (K + 1)
                self.ranked[place].share = self._share(row, c)
        for place in range(self.n_present):
            self.ranked[place].place = <int32_t> place
        qsort(self.ranked, self.n_present, sizeof(Ranked), _compare_ranked)
        return True

    cdef inline float64_t _weight(self, const float64_t* row) noexcept nogil:
        # Of a category, as the criterion sees it.
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            n += row[c] if self.class_weight == NULL else row[c] * self.class_weight[c]
        return n

    cdef inline float64_t _share(self, const float64_t* row, intp_t c) noexcept nogil:
        cdef float64_t count = row[c]
        if self.class_weight != NULL:
            count *= self.class_weight[c]
        return count / self._weight(row)

    cdef void _principal_shares(self) noexcept nogil:
        # Projections of the class shares on their first principal component, by the
        # power method from the deviation that weighs most.
        cdef intp_t K = self.n_classes
        cdef float64_t* axis = self.axis
        cdef float64_t* moved = self.axis + K
        cdef const float64_t* row
        cdef float64_t n, square, length, deviation
        cdef float64_t most = -1.0
        cdef intp_t start = 0
        cdef intp_t place, c
        for place in range(self.n_present):
            row = self.categories + self.present[place] * (K + 1)
            n = self._weight(row)
            square = 0.0
            for c in range(K):
                deviation = self._share(row, c) - self.seen.counts[c] / self.seen.n
                square += deviation * deviation
            if n * square > most:
                most = n * square
                start = place
        row = self.categories + self.present[start] * (K + 1)
        for c in range(K):
            axis[c] = self._share(row, c) - self.seen.counts[c] / self.seen.n
        for _ in range(ITERATIONS):
            memset(moved, 0, K * sizeof(float64_t))
            for place in range(self.n_present):
                row = self.categories + self.present[place] * (K + 1)
                n = self._weight(row) * self._projection(row)
                for c in range(K):
                    deviation = self._share(row, c) - self.seen.counts[c] / self.seen.n
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
            row = self.categories + self.present[place] * (K + 1)
            self.ranked[place].share = self._projection(row)

    cdef float64_t _projection(self, const float64_t* row) noexcept nogil:
        cdef float64_t sum_ = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            sum_ += self.axis[c] * (
                self._share(row, c) - self.seen.counts[c] / self.seen.n
            )
        return sum_

    # -- a chosen test ------------------------------------------------------------

    cdef void divide_categories(
        self, intp_t feature, intp_t cut, intp_t n_codes
    ) noexcept nogil:
        # Set the ordinals and all that is said of the children but their rows, from
        # those counts.
        cdef intp_t K = self.n_classes
        cdef intp_t m, place, code, z, c
        cdef const float64_t* row
        cdef float64_t n, largest
        self._find_present(n_codes)
        m = self.n_present
        for code in range(n_codes):
            self.ordinals[code] = -1
        for place in range(m):
            self.ordinals[self.present[place]] = <int16_t> place if self.multiway else 1
        self.n_outcomes = m if self.multiway else 2
        if not self.multiway:
            self._send_left(feature, cut)

        memset(self.children, 0, self.n_outcomes * K * sizeof(float64_t))
        memset(self.child_pool, 0, self.n_outcomes * sizeof(float64_t))
        for place in range(m):
            z = self.ordinals[self.present[place]]
            row = self.categories + self.present[place] * (K + 1)
            for c in range(K):
                self.children[z * K + c] += row[c]
                self.child_pool[z] += row[c]
            self.child_pool[z] += row[K]
        largest = -1.0
        for z in range(self.n_outcomes):
            n = 0.0
            for c in range(K):
                n += self.children[z * K + c]
            if n >= largest:
                largest = n
                self.unknown_child = z
        self.child_pool[self.unknown_child] += self.unknown
        if self.by_volume:
            for z in range(self.n_outcomes):
                self.child_pool[z] = 0.0
            for place in range(m):
                z = self.ordinals[self.present[place]]
                self.child_pool[z] += self.node.pool / m

    cdef void _send_left(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef intp_t m = self.n_present
        cdef Search search = self._search()
        cdef uint64_t key
        cdef intp_t n_left = 0
        cdef intp_t place
        if search == SUBSETS:
            for place in range(m):
                if (cut >> place) & 1:
                    self.ordinals[self.present[place]] = 0
        elif search == DRAWN:
            key = mix(mix(self.seed ^ mix(self.node.id)) ^ <uint64_t> feature)
            for place in range(m):
                if mix(key ^ <uint64_t> self.present[place]) & 1:
                    self.ordinals[self.present[place]] = 0
                    n_left += 1
            if n_left == 0 or n_left == m:
                self.ordinals[self.present[0]] = 0 if n_left == 0 else 1
        else:
            self._rank(cut // m)
            for place in range(cut % m):
                self.ordinals[self.present[self.ranked[place].place]] = 0

    cdef bint _has_small_child(self) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef float64_t n
        cdef intp_t z, c
        if not self.filters:
            return False
        for z in range(self.n_outcomes):
            n = 0.0
            for c in range(K):
                n += self.children[z * K + c]
            if n < self.min_weight or (
                self.min_seen_weight > 0.0
                and self._seen_weight(self.children + z * K, n) < self.min_seen_weight
            ):
                return True
        return False
