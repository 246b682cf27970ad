"""Candidate splits of a node: thresholds, and sets of categories."""

from libc.math cimport INFINITY, ldexp, log, sqrt
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from skconftree.bounds._contract cimport NodeStats
from skconftree.criteria._score cimport sum_of
from skconftree.tree.split._node cimport NodeRecord
from skconftree.utils._box cimport share_below
from skconftree.utils._draws cimport mix, unit

cdef enum:
    LARGEST_POWER = 1000    # sums of larger powers of 2 may overflow
    ITERATIONS = 20         # of the power method: an ordering need not be exact

cdef float64_t LOG_2 = log(2.0)


cdef int _compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* left = <const Ranked*> a
    cdef const Ranked* right = <const Ranked*> b
    if left.share != right.share:
        return 1 if left.share > right.share else -1
    return left.position - right.position


cdef class CategorySets:
    """The candidate splits of a nominal feature of a node."""

    def __init__(self, ExaminedNode node not None):
        self.node = node
        self.multiway = node.settings.multiway
        self.random_cuts = node.settings.random_cuts
        self.arena = Arena()
        self.axis = <float64_t*> self.arena.take_zeros(
            2 * node.n_classes, sizeof(float64_t)
        )

    cdef int reserve(self, intp_t capacity) except -1:
        # Arrays for features with this many categories; their contents are lost.
        cdef intp_t width = self.node.n_classes + 1
        if capacity <= self.capacity:
            return 0
        self.counts = <float64_t*> self.arena.resize(
            self.counts, capacity * width, sizeof(float64_t)
        )
        self.present = <int32_t*> self.arena.resize(self.present, capacity, sizeof(int32_t))
        self.ranked = <Ranked*> self.arena.resize(self.ranked, capacity, sizeof(Ranked))
        self.ordinals = <int16_t*> self.arena.resize(
            self.ordinals, capacity, sizeof(int16_t)
        )
        self.capacity = capacity
        return 0

    cdef void begin(self, intp_t n_codes) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef const float64_t* row
        cdef float64_t n
        cdef intp_t code
        self.n_codes = n_codes
        self.n_present = 0
        self.alone = 0.0
        self.unknown = 0.0
        self.n_implied = 0.0
        for code in range(n_codes):
            row = self.counts + code * (K + 1)
            n = sum_of(row, K)
            if n > 0.0:
                self.present[self.n_present] = <int32_t> code
                self.n_present += 1
                if n <= 1.0:
                    self.alone += n
            else:
                self.unknown += row[K]

    cdef intp_t walk(self, Scan scan) noexcept nogil:
        if _search(self) == SUBSETS:
            return _walk_subsets(self, scan)
        self.n_implied = ldexp(1.0, <int> min(self.n_present - 1, LARGEST_POWER)) - 1.0
        self.log_implied = log(self.n_implied)
        if self.n_present - 1 > LARGEST_POWER:
            self.log_implied = (self.n_present - 1) * LOG_2
        return _walk_orderings(self, scan)

    cdef bint _rank(self, intp_t ordering) noexcept nogil:
        # Sort the categories by the share of a class; False if the class has no rows.
        cdef intp_t K = self.node.n_classes
        cdef intp_t c = 1 if K == 2 else ordering
        cdef const float64_t* row
        cdef intp_t position
        if c == K:
            _principal_shares(self)
        elif self.node.counts[c] <= 0.0:
            return False
        else:
            for position in range(self.n_present):
                row = self.counts + self.present[position] * (K + 1)
                self.ranked[position].share = _share(self, row, c)
        for position in range(self.n_present):
            self.ranked[position].position = <int32_t> position
        qsort(self.ranked, self.n_present, sizeof(Ranked), _compare_ranked)
        return True

    cdef void divide(
        self, intp_t feature, intp_t position, Children* children
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
            _send_left(self, feature, position)
        children.n_outcomes = m if self.multiway else 2
        children.ordinals = self.ordinals
        children.n_codes = self.n_codes - 1     # without the unknown category
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
            n = sum_of(children.counts + z * K, K)
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


cdef Search _search(CategorySets sets) noexcept nogil:
    if sets.random_cuts:
        return DRAWN
    if sets.concave and sets.node.n_classes == 2:
        return PREFIXES
    return SUBSETS if sets.n_present <= ENUMERABLE else ORDERINGS


cdef intp_t _walk_subsets(CategorySets sets, Scan scan) noexcept nogil:
    cdef intp_t m = sets.n_present
    cdef intp_t last = (<intp_t> 1) << (m - 1)
    cdef intp_t bits, position, n_in_set
    for bits in range(1, last):
        _clear_set(sets, scan)
        n_in_set = 0
        for position in range(m - 1):
            if (bits >> position) & 1:
                _add_category(sets, scan, position)
                n_in_set += 1
        _emit_set(sets, scan, n_in_set, bits)
    return scan.finish()


cdef intp_t _walk_orderings(CategorySets sets, Scan scan) noexcept nogil:
    cdef intp_t m = sets.n_present
    cdef intp_t ordering, length
    for ordering in range(1 if sets.node.n_classes == 2 else sets.node.n_classes + 1):
        if not sets._rank(ordering):
            continue
        _clear_set(sets, scan)
        for length in range(1, m):
            _add_category(sets, scan, sets.ranked[length - 1].position)
            _emit_set(sets, scan, length, ordering * m + length)
    return scan.finish()


cdef inline void _emit_set(
    CategorySets sets, Scan scan, intp_t n_in_set, intp_t position
) noexcept nogil:
    # Emit the candidate whose left outcome holds the categories added.
    cdef intp_t K = sets.node.n_classes
    cdef float64_t* pool_left = scan.pool_left + scan.size
    memcpy(scan.left + scan.size * K, scan.running, K * sizeof(float64_t))
    if sets.node.by_volume:
        pool_left[0] = sets.node.record.pool * (
            <float64_t> n_in_set / sets.n_present
        )
    else:
        pool_left[0] = sets.set_weight + sets.set_pool
        if sets.set_weight > sets.node.n - sets.set_weight:
            pool_left[0] += sets.unknown
    scan.emit(sets.set_weight, position)


cdef inline void _add_category(CategorySets sets, Scan scan, intp_t i) noexcept nogil:
    cdef intp_t K = sets.node.n_classes
    cdef const float64_t* row = sets.counts + sets.present[i] * (K + 1)
    cdef intp_t c
    for c in range(K):
        scan.running[c] += row[c]
        sets.set_weight += row[c]
    sets.set_pool += row[K]


cdef void _clear_set(CategorySets sets, Scan scan) noexcept nogil:
    memset(scan.running, 0, sets.node.n_classes * sizeof(float64_t))
    sets.set_weight = 0.0
    sets.set_pool = 0.0


cdef inline float64_t _weight(CategorySets sets, const float64_t* row) noexcept nogil:
    # Of a category, on the scale of the criterion.
    cdef const float64_t* weight = sets.node.class_weight
    cdef float64_t n = 0.0
    cdef intp_t c
    for c in range(sets.node.n_classes):
        n += row[c] if weight == NULL else row[c] * weight[c]
    return n


cdef inline float64_t _share(
    CategorySets sets, const float64_t* row, intp_t c
) noexcept nogil:
    cdef float64_t count = row[c]
    if sets.node.class_weight != NULL:
        count *= sets.node.class_weight[c]
    return count / _weight(sets, row)


cdef void _principal_shares(CategorySets sets) noexcept nogil:
    # Projections of the class shares on their first principal component, by the power
    # method, starting with the deviation of largest weight.
    cdef intp_t K = sets.node.n_classes
    cdef float64_t* axis = sets.axis
    cdef float64_t* moved = sets.axis + K
    cdef const NodeStats* seen = &sets.node.seen
    cdef const float64_t* row
    cdef float64_t n, square, length, deviation, most = -1.0
    cdef intp_t start = 0, position, c
    for position in range(sets.n_present):
        row = sets.counts + sets.present[position] * (K + 1)
        n = _weight(sets, row)
        square = 0.0
        for c in range(K):
            deviation = _share(sets, row, c) - seen.counts[c] / seen.n
            square += deviation * deviation
        if n * square > most:
            most = n * square
            start = position
    row = sets.counts + sets.present[start] * (K + 1)
    for c in range(K):
        axis[c] = _share(sets, row, c) - seen.counts[c] / seen.n
    for _ in range(ITERATIONS):
        memset(moved, 0, K * sizeof(float64_t))
        for position in range(sets.n_present):
            row = sets.counts + sets.present[position] * (K + 1)
            n = _weight(sets, row) * _projection(sets, row)
            for c in range(K):
                deviation = _share(sets, row, c) - seen.counts[c] / seen.n
                moved[c] += n * deviation
        length = 0.0
        for c in range(K):
            length += moved[c] * moved[c]
        length = sqrt(length)
        if not length > 0.0:
            break
        for c in range(K):
            axis[c] = moved[c] / length
    for position in range(sets.n_present):
        row = sets.counts + sets.present[position] * (K + 1)
        sets.ranked[position].share = _projection(sets, row)


cdef float64_t _projection(CategorySets sets, const float64_t* row) noexcept nogil:
    cdef const NodeStats* seen = &sets.node.seen
    cdef float64_t sum_ = 0.0
    cdef intp_t c
    for c in range(sets.node.n_classes):
        sum_ += sets.axis[c] * (_share(sets, row, c) - seen.counts[c] / seen.n)
    return sum_


cdef void _send_left(CategorySets sets, intp_t feature, intp_t position) noexcept nogil:
    cdef intp_t m = sets.n_present
    cdef Search search = _search(sets)
    cdef uint64_t key
    cdef intp_t n_left = 0, i
    if search == SUBSETS:
        for i in range(m):
            if (position >> i) & 1:
                sets.ordinals[sets.present[i]] = 0
    elif search == DRAWN:
        key = mix(sets.node.key ^ <uint64_t> feature)
        for i in range(m):
            if mix(key ^ <uint64_t> sets.present[i]) & 1:
                sets.ordinals[sets.present[i]] = 0
                n_left += 1
        if n_left == 0 or n_left == m:
            sets.ordinals[sets.present[0]] = 0 if n_left == 0 else 1
    else:
        sets._rank(position // m)
        for i in range(position % m):
            sets.ordinals[sets.present[sets.ranked[i].position]] = 0


cdef class NodeTests(Scan):
    """The candidate splits of the features of a node, passed to a reader in blocks."""

    def __init__(self, Source source not None, TestReader reader not None):
        super().__init__(source.node.n_classes)
        cdef intp_t K = self.n_classes
        cdef const int32_t[::1] n_categories = source.node.root.n_categories
        cdef int32_t largest = 0
        cdef intp_t f
        self.node = source.node
        self.source = source
        self.reader = reader
        self.sets = CategorySets(self.node)
        self.random_cuts = self.node.settings.random_cuts
        self.values.seen = <float64_t*> self.arrays.take_zeros(K + 1, sizeof(float64_t))
        self.values.missing = <float64_t*> self.arrays.take_zeros(
            K + 1, sizeof(float64_t)
        )
        _reserve_children(self, 2)
        if n_categories is not None:
            self.n_categories = &n_categories[0]
            for f in range(self.node.n_features):
                largest = max(largest, n_categories[f])
            self.reserve_categories(largest + 1)     # and the unknown category

    cdef int reserve_categories(self, intp_t capacity) except -1:
        # Arrays for features with this many categories; their contents are lost.
        self.sets.reserve(capacity)
        if self.sets.multiway:
            _reserve_children(self, capacity)
        return 0

    cdef intp_t walk(self, intp_t feature, bint additive) noexcept nogil:
        self.feature = feature
        self.additive = additive
        self.missing = NONE
        self.missing_left = False
        self.positions = NULL
        self.nominal = self.is_nominal(feature)
        self.prunes = self.reader.prunes and not (
            self.node.filters or self.node.by_volume
        )
        if self.nominal:
            return _walk_sets(self, feature)
        if self.random_cuts:
            return _walk_drawn(self, feature)
        if self.source.complete:
            return self.source.walk(feature, self)
        return _walk_values(self, feature)

    cdef void take(self, intp_t size) noexcept nogil:
        cdef Cut cut
        cdef intp_t i
        if self.positions != NULL:
            for i in range(size):
                self.position[i] = self.positions[self.position[i] - 1]
        if self.missing != NONE:
            _add_missing(self, size)
        if self.node.filters:
            size = _drop_small_children(self, size)
        if size == 0:
            return
        if self.node.by_volume and not self.nominal:
            cut.missing_left = self.missing_left
            for i in range(size):
                cut.position = self.position[i]
                self.pool_left[i] = _left_volume(self, self.feature, cut)
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

    cdef void count_children(self, intp_t feature, Cut cut) noexcept nogil:
        cdef Children* children = &self.children
        if not self.is_nominal(feature):
            _count_sides(self, feature, cut)
            return
        self.sets.begin(self.source.count_categories(feature, self.sets.counts))
        self.sets.divide(feature, cut.position, children)
        memset(children.rows, 0, children.n_outcomes * sizeof(intp_t))
        memset(children.n_labeled, 0, children.n_outcomes * sizeof(intp_t))
        self.source.count_branches(feature, children)

    cdef float64_t threshold(self, intp_t feature, Cut cut) noexcept nogil:
        cdef float64_t threshold
        if not cut.missing_left and cut.position == self.source.end_position(feature):
            return INFINITY
        if not self.random_cuts:
            return self.source.threshold(feature, cut.position)
        self.source.draw(feature, unit(_draw_key(self, feature)), &threshold)
        return threshold


cdef int _reserve_children(NodeTests node_tests, intp_t capacity) except -1:
    cdef Children* children = &node_tests.children
    cdef intp_t K = node_tests.n_classes
    if capacity <= node_tests.child_capacity:
        return 0
    children.counts = <float64_t*> node_tests.arrays.resize(
        children.counts, capacity * K, sizeof(float64_t)
    )
    children.scaled = <float64_t*> node_tests.arrays.resize(
        children.scaled, capacity * K, sizeof(float64_t)
    )
    children.pool = <float64_t*> node_tests.arrays.resize(
        children.pool, capacity, sizeof(float64_t)
    )
    children.rows = <intp_t*> node_tests.arrays.resize(
        children.rows, capacity, sizeof(intp_t)
    )
    children.n_labeled = <intp_t*> node_tests.arrays.resize(
        children.n_labeled, capacity, sizeof(intp_t)
    )
    node_tests.child_capacity = capacity
    return 0


cdef intp_t _walk_values(NodeTests node_tests, intp_t feature) noexcept nogil:
    cdef intp_t n_tests
    if not node_tests.source.count_values(feature, &node_tests.values):
        return node_tests.source.walk(feature, node_tests)
    if not node_tests.values.n_missing > 0.0:
        if node_tests.values.missing[node_tests.n_classes] > 0.0:
            node_tests.missing = UNLABELED
        return node_tests.source.walk(feature, node_tests)
    if not node_tests.values.n_seen > 0.0:
        return 0
    node_tests.additive = False
    n_tests = node_tests.source.walk(feature, node_tests)
    _take_presence(node_tests, feature)
    node_tests.missing = LEFT
    node_tests.missing_left = True
    return n_tests + 1 + node_tests.source.walk(feature, node_tests)


cdef intp_t _walk_drawn(NodeTests node_tests, intp_t feature) noexcept nogil:
    cdef uint64_t key = _draw_key(node_tests, feature)
    cdef float64_t threshold
    cdef bint any_missing
    cdef Cut cut
    any_missing = (
        node_tests.source.count_values(feature, &node_tests.values)
        and node_tests.values.n_missing > 0.0
    )
    if any_missing and not node_tests.values.n_seen > 0.0:
        return 0
    cut.position = node_tests.source.draw(feature, unit(key), &threshold)
    cut.missing_left = any_missing and cut.position >= 0 and mix(key) & 1
    if cut.position < 0:
        # a constant: the only candidate is whether the value is missing
        if not any_missing:
            return 0
        cut.position = node_tests.source.end_position(feature)
    _count_sides(node_tests, feature, cut)
    _take_children(node_tests, cut)
    return 1


cdef intp_t _walk_sets(NodeTests node_tests, intp_t feature) noexcept nogil:
    cdef Cut cut
    node_tests.additive = False
    node_tests.sets.begin(node_tests.source.count_categories(feature, node_tests.sets.counts))
    if node_tests.sets.n_present < 2:
        return 0
    if node_tests.sets.skips_scattered and node_tests.sets.is_scattered():
        return 1
    if not node_tests.sets.has_single_test():
        return node_tests.sets.walk(node_tests)
    cut.position = 0
    cut.missing_left = False
    node_tests.sets.divide(feature, 0, &node_tests.children)
    if not node_tests.sets.multiway:
        _take_children(node_tests, cut)
    elif not _has_small_child(node_tests):
        node_tests.reader.read_children(&node_tests.children)
    return 1


cdef void _take_presence(NodeTests node_tests, intp_t feature) noexcept nogil:
    # The candidate "is the value missing?": rows without a value go right.
    cdef intp_t c
    for c in range(node_tests.n_classes):
        node_tests.left[c] = node_tests.values.seen[c]
    node_tests.n_left[0] = node_tests.values.n_seen
    node_tests.pool_left[0] = node_tests.values.pool_seen
    node_tests.position[0] = node_tests.source.end_position(feature)
    node_tests.positions = NULL
    node_tests.take(1)


cdef void _take_children(NodeTests node_tests, Cut cut) noexcept nogil:
    # The only candidate of a feature, if it separates any rows.
    cdef intp_t c
    node_tests.additive = False
    node_tests.n_left[0] = 0.0
    for c in range(node_tests.n_classes):
        node_tests.left[c] = node_tests.children.counts[c]
        node_tests.n_left[0] += node_tests.children.counts[c]
    if node_tests.n_left[0] == 0.0 or node_tests.n_left[0] == node_tests.node.n:
        return
    node_tests.pool_left[0] = node_tests.children.pool[0]
    node_tests.position[0] = cut.position
    node_tests.missing_left = cut.missing_left
    node_tests.take(1)


cdef void _add_missing(NodeTests node_tests, intp_t size) noexcept nogil:
    # Add the rows without a value to the left outcome of candidates counted without them.
    cdef intp_t K = node_tests.n_classes
    cdef const float64_t* counts = node_tests.values.missing
    cdef float64_t n = node_tests.values.n_missing
    cdef intp_t i, c
    if node_tests.missing == UNLABELED:
        for i in range(size):
            if node_tests.n_left[i] > node_tests.node.n - node_tests.n_left[i]:
                node_tests.pool_left[i] += counts[K]
        return
    for i in range(size):
        for c in range(K):
            node_tests.left[i * K + c] += counts[c]
        node_tests.n_left[i] += n
        node_tests.pool_left[i] += n + counts[K]


cdef intp_t _drop_small_children(NodeTests node_tests, intp_t size) noexcept nogil:
    cdef float64_t least = node_tests.node.min_weight
    cdef float64_t least_seen = node_tests.node.min_seen_weight
    cdef float64_t n = node_tests.node.n
    cdef intp_t K = node_tests.n_classes
    cdef intp_t n_retained = 0, i, c
    cdef float64_t seen
    for i in range(size):
        if node_tests.n_left[i] < least or n - node_tests.n_left[i] < least:
            continue
        if least_seen > 0.0:
            seen = node_tests.node.seen_weight(node_tests.left + i * K, node_tests.n_left[i])
            if seen < least_seen or node_tests.node.seen.n - seen < least_seen:
                continue
        for c in range(K):
            node_tests.left[n_retained * K + c] = node_tests.left[i * K + c]
        node_tests.n_left[n_retained] = node_tests.n_left[i]
        node_tests.pool_left[n_retained] = node_tests.pool_left[i]
        node_tests.phi_left[n_retained] = node_tests.phi_left[i]
        node_tests.phi_right[n_retained] = node_tests.phi_right[i]
        node_tests.position[n_retained] = node_tests.position[i]
        n_retained += 1
    return n_retained


cdef bint _has_small_child(NodeTests node_tests) noexcept nogil:
    cdef intp_t z
    if not node_tests.node.filters:
        return False
    for z in range(node_tests.children.n_outcomes):
        if node_tests.node.is_small(node_tests.children.counts + z * node_tests.n_classes):
            return True
    return False


cdef uint64_t _draw_key(NodeTests node_tests, intp_t feature) noexcept nogil:
    return mix(node_tests.node.draw_key ^ <uint64_t> feature)


cdef void _count_sides(NodeTests node_tests, intp_t feature, Cut cut) noexcept nogil:
    cdef Children* children = &node_tests.children
    cdef intp_t K = node_tests.n_classes
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
        children.n_labeled[side] = 0
    any_missing = node_tests.source.count_sides(
        feature, cut.position, children, &node_tests.values
    )
    children.missing_seen = any_missing and node_tests.values.n_missing > 0.0
    _send_missing(node_tests, any_missing, cut)
    if node_tests.source.right_is_rest:
        for c in range(K):
            children.counts[K + c] = max(
                node_tests.node.counts[c] - children.counts[c], 0.0
            )
    if node_tests.node.by_volume:
        children.pool[0] = _left_volume(node_tests, feature, cut)
    if node_tests.node.by_volume or node_tests.source.right_is_rest:
        children.pool[1] = node_tests.node.record.pool - children.pool[0]


cdef void _send_missing(NodeTests node_tests, bint any_missing, Cut cut) noexcept nogil:
    # Rows without a value go to the side of the cut. If no labeled row of the node misses
    # the value, they go to the larger child.
    cdef Children* children = &node_tests.children
    cdef intp_t K = node_tests.n_classes
    cdef float64_t n_left, n_right
    cdef intp_t side, c
    children.missing_left = cut.missing_left
    if not children.missing_seen:
        n_left = sum_of(children.counts, K)
        n_right = sum_of(children.counts + K, K)
        if node_tests.source.right_is_rest:
            n_right = node_tests.node.n - n_left
        children.missing_left = n_left > n_right
    if not any_missing:
        return
    side = 0 if children.missing_left else 1
    for c in range(K):
        children.counts[side * K + c] += node_tests.values.missing[c]
    for c in range(K + 1):
        children.pool[side] += node_tests.values.missing[c]
    children.rows[side] += node_tests.values.rows_missing
    children.n_labeled[side] += node_tests.values.labeled_missing


cdef float64_t _left_volume(NodeTests node_tests, intp_t feature, Cut cut) noexcept nogil:
    cdef NodeRecord* record = node_tests.node.record
    return record.pool * share_below(
        record.box, feature, node_tests.threshold(feature, cut)
    )
