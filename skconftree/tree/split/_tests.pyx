"""The tests of a node's attributes."""

from libc.math cimport INFINITY
from libc.string cimport memset

from skconftree.tree.split._node cimport NodeRecord
from skconftree.utils._box cimport share_below
from skconftree.utils._draws cimport mix, unit


cdef class NodeTests(Scan):
    """The tests of a node's attributes, of any source, which it shows to a reader."""

    def __init__(self, Source source not None, TestReader reader not None):
        super().__init__(source.node.n_classes)
        cdef intp_t K = self.n_classes
        cdef const int32_t[::1] n_categories = source.node.root.n_categories
        cdef int32_t most = 0
        cdef intp_t f
        self.node = source.node
        self.source = source
        self.reader = reader
        self.sets = CategorySets(self.node)
        self.random_cuts = self.node.settings.random_cuts
        self.values.seen = <float64_t*> self.arrays.take_zeros(
            K + 1, sizeof(float64_t)
        )
        self.values.missing = <float64_t*> self.arrays.take_zeros(
            K + 1, sizeof(float64_t)
        )
        self._reserve_children(2)
        if n_categories is not None:
            self.n_categories = &n_categories[0]
            for f in range(self.node.n_features):
                most = max(most, n_categories[f])
            self.reserve_categories(most + 1)     # and the unknown

    cdef int reserve_categories(self, intp_t room) except -1:
        # Arrays for features with this many categories; forgets what they hold.
        self.sets.reserve(room)
        if self.sets.multiway:
            self._reserve_children(room)
        return 0

    cdef int _reserve_children(self, intp_t room) except -1:
        cdef Children* children = &self.children
        cdef intp_t K = self.n_classes
        if room <= self.child_room:
            return 0
        children.counts = <float64_t*> self.arrays.resize(
            children.counts, room * K, sizeof(float64_t)
        )
        children.scaled = <float64_t*> self.arrays.resize(
            children.scaled, room * K, sizeof(float64_t)
        )
        children.pool = <float64_t*> self.arrays.resize(
            children.pool, room, sizeof(float64_t)
        )
        children.rows = <intp_t*> self.arrays.resize(
            children.rows, room, sizeof(intp_t)
        )
        children.n_labelled = <intp_t*> self.arrays.resize(
            children.n_labelled, room, sizeof(intp_t)
        )
        self.child_room = room
        return 0

    # -- all tests of one attribute -----------------------------------------------

    cdef intp_t walk(self, intp_t feature, bint additive) noexcept nogil:
        self.feature = feature
        self.additive = additive
        self.missing = NONE
        self.missing_left = False
        self.places = NULL
        self.nominal = self.is_nominal(feature)
        self.prunes = self.reader.prunes and not (
            self.node.filters or self.node.by_volume
        )
        if self.nominal:
            return self._walk_sets(feature)
        if self.random_cuts:
            return self._walk_drawn(feature)
        if self.source.complete:
            return self.source.walk(feature, self)
        return self._walk_values(feature)

    cdef intp_t _walk_values(self, intp_t feature) noexcept nogil:
        cdef intp_t found
        if not self.source.count_values(feature, &self.values):
            return self.source.walk(feature, self)
        if not self.values.n_missing > 0.0:
            if self.values.missing[self.n_classes] > 0.0:
                self.missing = UNLABELLED
            return self.source.walk(feature, self)
        if not self.values.n_seen > 0.0:
            return 0
        self.additive = False
        found = self.source.walk(feature, self)
        self._take_presence(feature)
        self.missing = LEFT
        self.missing_left = True
        return found + 1 + self.source.walk(feature, self)

    cdef void _take_presence(self, intp_t feature) noexcept nogil:
        # The test whether there is a value: rows without one go right.
        cdef intp_t c
        for c in range(self.n_classes):
            self.left[c] = self.values.seen[c]
        self.n_left[0] = self.values.n_seen
        self.pool_left[0] = self.values.pool_seen
        self.place[0] = self.source.everything(feature)
        self.places = NULL
        self.take(1)

    cdef intp_t _walk_drawn(self, intp_t feature) noexcept nogil:
        cdef uint64_t key = self._draw_key(feature)
        cdef float64_t threshold
        cdef bint any_missing
        cdef Cut cut
        any_missing = (
            self.source.count_values(feature, &self.values)
            and self.values.n_missing > 0.0
        )
        if any_missing and not self.values.n_seen > 0.0:
            return 0
        cut.place = self.source.draw(feature, unit(key), &threshold)
        cut.missing_left = any_missing and cut.place >= 0 and mix(key) & 1
        if cut.place < 0:
            # a constant: what is left to ask is whether there is a value
            if not any_missing:
                return 0
            cut.place = self.source.everything(feature)
        self._count_sides(feature, cut)
        self._take_children(cut)
        return 1

    cdef intp_t _walk_sets(self, intp_t feature) noexcept nogil:
        cdef Cut cut
        self.additive = False
        self.sets.begin(self.source.count_categories(feature, self.sets.counts))
        if self.sets.n_present < 2:
            return 0
        if self.sets.skips_scattered and self.sets.is_scattered():
            return 1
        if not self.sets.has_one_test():
            return self.sets.walk(self)
        cut.place = 0
        cut.missing_left = False
        self.sets.divide(feature, 0, &self.children)
        if not self.sets.multiway:
            self._take_children(cut)
        elif not self._has_small_child():
            self.reader.read_children(&self.children)
        return 1

    cdef void _take_children(self, Cut cut) noexcept nogil:
        # The one test that an attribute has, if it parts anything.
        cdef intp_t c
        self.additive = False
        self.n_left[0] = 0.0
        for c in range(self.n_classes):
            self.left[c] = self.children.counts[c]
            self.n_left[0] += self.children.counts[c]
        if self.n_left[0] == 0.0 or self.n_left[0] == self.node.n:
            return
        self.pool_left[0] = self.children.pool[0]
        self.place[0] = cut.place
        self.missing_left = cut.missing_left
        self.take(1)

    cdef uint64_t _draw_key(self, intp_t feature) noexcept nogil:
        return mix(self.node.draw_key ^ <uint64_t> feature)

    # -- blocks of tests ----------------------------------------------------------

    cdef void take(self, intp_t size) noexcept nogil:
        cdef Cut cut
        cdef intp_t i
        if self.places != NULL:
            for i in range(size):
                self.place[i] = self.places[self.place[i] - 1]
        if self.missing != NONE:
            self._add_missing(size)
        if self.node.filters:
            size = self._drop_small_children(size)
        if size == 0:
            return
        if self.node.by_volume and not self.nominal:
            cut.missing_left = self.missing_left
            for i in range(size):
                cut.place = self.place[i]
                self.pool_left[i] = self._left_volume(self.feature, cut)
        self._show(size)
        self.reader.read(self)

    cdef void measure(self, intp_t size, float64_t* scores) noexcept nogil:
        self._show(size)
        self.tests.nested = False
        self.reader.measure(self, scores)

    cdef void leave_out(self, intp_t n) noexcept nogil:
        self.reader.leave_out(n)

    cdef void _show(self, intp_t size) noexcept nogil:
        self.tests.size = size
        self.tests.nested = not self.nominal
        self.tests.left = self.left
        self.tests.n_left = self.n_left
        self.tests.pool_left = self.pool_left if self.node.has_pool else self.n_left
        self.tests.phi_left = self.phi_left if self.additive else NULL
        self.tests.phi_right = self.phi_right if self.additive else NULL

    cdef void _add_missing(self, intp_t size) noexcept nogil:
        # Send the rows without a value to the left outcome of tests without them.
        cdef intp_t K = self.n_classes
        cdef const float64_t* counts = self.values.missing
        cdef float64_t n = self.values.n_missing
        cdef intp_t i, c
        if self.missing == UNLABELLED:
            for i in range(size):
                if self.n_left[i] > self.node.n - self.n_left[i]:
                    self.pool_left[i] += counts[K]
            return
        for i in range(size):
            for c in range(K):
                self.left[i * K + c] += counts[c]
            self.n_left[i] += n
            self.pool_left[i] += n + counts[K]

    cdef intp_t _drop_small_children(self, intp_t size) noexcept nogil:
        cdef float64_t least = self.node.min_weight
        cdef float64_t least_seen = self.node.min_seen_weight
        cdef float64_t n = self.node.n
        cdef intp_t K = self.n_classes
        cdef intp_t kept = 0
        cdef intp_t i, c
        cdef float64_t seen
        for i in range(size):
            if self.n_left[i] < least or n - self.n_left[i] < least:
                continue
            if least_seen > 0.0:
                seen = self.node.seen_weight(self.left + i * K, self.n_left[i])
                if seen < least_seen or self.node.seen.n - seen < least_seen:
                    continue
            for c in range(K):
                self.left[kept * K + c] = self.left[i * K + c]
            self.n_left[kept] = self.n_left[i]
            self.pool_left[kept] = self.pool_left[i]
            self.phi_left[kept] = self.phi_left[i]
            self.phi_right[kept] = self.phi_right[i]
            self.place[kept] = self.place[i]
            kept += 1
        return kept

    cdef bint _has_small_child(self) noexcept nogil:
        cdef intp_t z
        if not self.node.filters:
            return False
        for z in range(self.children.n_outcomes):
            if self.node.is_small(self.children.counts + z * self.n_classes):
                return True
        return False

    # -- one test -----------------------------------------------------------------

    cdef void count_children(self, intp_t feature, Cut cut) noexcept nogil:
        cdef Children* children = &self.children
        if not self.is_nominal(feature):
            self._count_sides(feature, cut)
            return
        self.sets.begin(self.source.count_categories(feature, self.sets.counts))
        self.sets.divide(feature, cut.place, children)
        memset(children.rows, 0, children.n_outcomes * sizeof(intp_t))
        memset(children.n_labelled, 0, children.n_outcomes * sizeof(intp_t))
        self.source.count_branches(feature, children)

    cdef void _count_sides(self, intp_t feature, Cut cut) noexcept nogil:
        cdef Children* children = &self.children
        cdef intp_t K = self.n_classes
        cdef bint any_missing
        cdef intp_t side, c
        children.n_outcomes = 2
        children.ordinals = NULL
        children.n_codes = 0
        children.unknown = 0
        memset(children.counts, 0, 2 * K * sizeof(float64_t))
        for side in range(2):
            children.pool[side] = 0.0
            children.rows[side] = 0
            children.n_labelled[side] = 0
        any_missing = self.source.count_sides(
            feature, cut.place, children, &self.values
        )
        children.missing_seen = any_missing and self.values.n_missing > 0.0
        self._send_missing(any_missing, cut)
        if self.source.right_is_rest:
            for c in range(K):
                children.counts[K + c] = max(
                    self.node.counts[c] - children.counts[c], 0.0
                )
        if self.node.by_volume:
            children.pool[0] = self._left_volume(feature, cut)
        if self.node.by_volume or self.source.right_is_rest:
            children.pool[1] = self.node.record.pool - children.pool[0]

    cdef void _send_missing(self, bint any_missing, Cut cut) noexcept nogil:
        # Rows without a value go where the test says; where no labelled row of the node
        # misses it, that is the larger child.
        cdef Children* children = &self.children
        cdef intp_t K = self.n_classes
        cdef float64_t n_left = 0.0
        cdef float64_t n_right = 0.0
        cdef intp_t side, c
        children.missing_left = cut.missing_left
        if not children.missing_seen:
            for c in range(K):
                n_left += children.counts[c]
                n_right += children.counts[K + c]
            if self.source.right_is_rest:
                n_right = self.node.n - n_left
            children.missing_left = n_left > n_right
        if not any_missing:
            return
        side = 0 if children.missing_left else 1
        for c in range(K):
            children.counts[side * K + c] += self.values.missing[c]
        for c in range(K + 1):
            children.pool[side] += self.values.missing[c]
        children.rows[side] += self.values.rows_missing
        children.n_labelled[side] += self.values.labelled_missing

    cdef float64_t threshold(self, intp_t feature, Cut cut) noexcept nogil:
        cdef float64_t threshold
        if not cut.missing_left and cut.place == self.source.everything(feature):
            return INFINITY
        if not self.random_cuts:
            return self.source.threshold(feature, cut.place)
        self.source.draw(feature, unit(self._draw_key(feature)), &threshold)
        return threshold

    cdef float64_t _left_volume(self, intp_t feature, Cut cut) noexcept nogil:
        cdef NodeRecord* record = self.node.record
        return record.pool * share_below(
            record.box, feature, self.threshold(feature, cut)
        )
