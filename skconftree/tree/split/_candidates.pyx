"""Candidate splits of a node: thresholds, and sets of categories.

A source reads the rows of a node. A walk over a feature reads its values in ascending order, or
its categories, and emits the candidate splits: it writes the class counts of the left outcome
(child) into the arrays of a Scan, which are passed to a reader in blocks. A cut is how a split
divides the values of its feature; its position is an integer. Categories are stored as integer
codes. The pool of a node is its weight with unlabeled rows, or its volume; a box is the limits of
a node in feature space. A candidate is additive if sums over the classes of phi, a function of one
count, are emitted instead of counts. Random draws are hashes of keys (`mix`), so that they do not
depend on the order of the nodes. See _candidates.pxd.
"""

from libc.math cimport INFINITY, ldexp, log, sqrt
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memmove, memset

from skconftree.bounds._contract cimport NodeStats
from skconftree.criteria._score cimport sum_of
from skconftree.tree.split._node cimport NodeRecord
from skconftree.utils._box cimport share_below  # share of the volume below a threshold
from skconftree.utils._draws cimport mix, unit  # hash, and random number in [0, 1), of a key

cdef enum:
    LARGEST_POWER = 1000    # of 2; sums of larger powers may overflow
    ITERATIONS = 20         # of the power method for the first principal component, which need
                            # not be exact

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
        self.axis = <float64_t*> self.arena.take_zeros(2 * node.n_classes, sizeof(float64_t))

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
        self.child_of_code = <int16_t*> self.arena.resize(
            self.child_of_code, capacity, sizeof(int16_t)
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
        self.singleton_weight = 0.0
        self.unknown = 0.0
        self.n_implied = 0.0
        for code in range(n_codes):
            row = self.counts + code * (K + 1)
            n = sum_of(row, K)
            if n > 0.0:
                self.present[self.n_present] = <int32_t> code
                self.n_present += 1
                if n <= 1.0:        # many of them: the feature has a high cardinality
                    self.singleton_weight += n
            else:
                self.unknown += row[K]  # only unlabeled rows have the category

    cdef intp_t walk(self, Scan scan) noexcept nogil:
        if _search(self) == SUBSETS:
            return _walk_subsets(self, scan)
        # the candidates emitted represent all sets of categories, so that many are counted
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

    cdef void divide(self, intp_t feature, intp_t position, Children* children) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t m = self.n_present
        cdef intp_t i, z, c
        cdef const float64_t* row
        cdef float64_t n, largest
        for i in range(self.n_codes):
            self.child_of_code[i] = -1
        for i in range(m):
            self.child_of_code[self.present[i]] = <int16_t> i if self.multiway else 1
        if not self.multiway:
            _map_codes(self, feature, position)
        children.n_outcomes = m if self.multiway else 2
        children.child_of_code = self.child_of_code
        children.n_codes = self.n_codes - 1     # without the unknown category
        children.missing_seen = False
        children.missing_left = False

        memset(children.counts, 0, children.n_outcomes * K * sizeof(float64_t))
        memset(children.pool, 0, children.n_outcomes * sizeof(float64_t))
        for i in range(m):
            z = self.child_of_code[self.present[i]]
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
                children.unknown = z    # categories not seen in the node go to this child
        children.pool[children.unknown] += self.unknown
        if self.node.by_volume:     # the pool is a volume, divided equally among the categories
            for z in range(children.n_outcomes):
                children.pool[z] = 0.0
            for i in range(m):
                z = self.child_of_code[self.present[i]]
                children.pool[z] += self.node.record.pool / m


cdef Search _search(CategorySets sets) noexcept nogil:
    # Which sets of categories are emitted: a random one (DRAWN); the first categories in the order
    # of a class share (PREFIXES), or in several orders (ORDERINGS); or all (SUBSETS).
    if sets.random_cuts:
        return DRAWN
    # with two classes and a concave criterion, a prefix is the best of all sets
    if sets.concave and sets.node.n_classes == 2:
        return PREFIXES
    # ENUMERABLE: largest number of categories with which all sets are tried
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
    # Emit the candidate whose left outcome has the categories added so far.
    cdef intp_t K = sets.node.n_classes
    cdef float64_t* pool_left = scan.pool_left + scan.size
    memcpy(scan.left + scan.size * K, scan.running, K * sizeof(float64_t))
    if sets.node.by_volume:
        pool_left[0] = sets.node.record.pool * (<float64_t> n_in_set / sets.n_present)
    else:
        pool_left[0] = sets.set_weight + sets.set_unlabeled
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
    sets.set_unlabeled += row[K]


cdef void _clear_set(CategorySets sets, Scan scan) noexcept nogil:
    memset(scan.running, 0, sets.node.n_classes * sizeof(float64_t))
    sets.set_weight = 0.0
    sets.set_unlabeled = 0.0


cdef inline float64_t _weight(CategorySets sets, const float64_t* row) noexcept nogil:
    # The weight of a category on the scale of the criterion (ExaminedNode, _node.pxd).
    cdef const float64_t* weight = sets.node.class_weight
    cdef float64_t n = 0.0
    cdef intp_t c
    for c in range(sets.node.n_classes):
        n += row[c] if weight == NULL else row[c] * weight[c]
    return n


cdef inline float64_t _share(CategorySets sets, const float64_t* row, intp_t c) noexcept nogil:
    cdef float64_t count = row[c]
    if sets.node.class_weight != NULL:
        count *= sets.node.class_weight[c]
    return count / _weight(sets, row)


cdef void _principal_shares(CategorySets sets) noexcept nogil:
    # Projections of the class shares of the categories on their first principal component. It is
    # computed by the power method, from the category with the largest weighted deviation on.
    cdef intp_t K = sets.node.n_classes
    cdef float64_t* axis = sets.axis
    cdef float64_t* product = sets.axis + K
    cdef const NodeStats* node_counts = &sets.node.reweighted   # with class weights
    cdef const float64_t* row
    cdef float64_t n, square, length, deviation, largest = -1.0
    cdef intp_t start = 0, position, c
    for position in range(sets.n_present):
        row = sets.counts + sets.present[position] * (K + 1)
        n = _weight(sets, row)
        square = 0.0
        for c in range(K):
            deviation = _share(sets, row, c) - node_counts.counts[c] / node_counts.n
            square += deviation * deviation
        if n * square > largest:
            largest = n * square
            start = position
    row = sets.counts + sets.present[start] * (K + 1)
    for c in range(K):
        axis[c] = _share(sets, row, c) - node_counts.counts[c] / node_counts.n
    for _ in range(ITERATIONS):
        memset(product, 0, K * sizeof(float64_t))
        for position in range(sets.n_present):
            row = sets.counts + sets.present[position] * (K + 1)
            n = _weight(sets, row) * _projection(sets, row)
            for c in range(K):
                deviation = _share(sets, row, c) - node_counts.counts[c] / node_counts.n
                product[c] += n * deviation
        length = 0.0
        for c in range(K):
            length += product[c] * product[c]
        length = sqrt(length)
        if not length > 0.0:
            break
        for c in range(K):
            axis[c] = product[c] / length
    for position in range(sets.n_present):
        row = sets.counts + sets.present[position] * (K + 1)
        sets.ranked[position].share = _projection(sets, row)


cdef float64_t _projection(CategorySets sets, const float64_t* row) noexcept nogil:
    cdef const NodeStats* node_counts = &sets.node.reweighted
    cdef float64_t sum_ = 0.0
    cdef intp_t c
    for c in range(sets.node.n_classes):
        sum_ += sets.axis[c] * (_share(sets, row, c) - node_counts.counts[c] / node_counts.n)
    return sum_


cdef void _map_codes(CategorySets sets, intp_t feature, intp_t position) noexcept nogil:
    # Set child_of_code to 0 (left) for the set of categories of a candidate.
    cdef intp_t m = sets.n_present
    cdef Search search = _search(sets)
    cdef uint64_t key
    cdef intp_t n_left = 0, i
    if search == SUBSETS:
        for i in range(m):
            if (position >> i) & 1:
                sets.child_of_code[sets.present[i]] = 0
    elif search == DRAWN:
        key = mix(sets.node.key ^ <uint64_t> feature)
        for i in range(m):
            if mix(key ^ <uint64_t> sets.present[i]) & 1:
                sets.child_of_code[sets.present[i]] = 0
                n_left += 1
        if n_left == 0 or n_left == m:
            sets.child_of_code[sets.present[0]] = 0 if n_left == 0 else 1
    else:
        sets._rank(position // m)
        for i in range(position % m):
            sets.child_of_code[sets.present[sets.ranked[i].position]] = 0


cdef class CandidateSplits(Scan):
    """The candidate splits of the features of a node, passed to a reader in blocks."""

    def __init__(self, Source source not None, CandidateReader reader not None):
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
        self.values.present = <float64_t*> self.arrays.take_zeros(K + 1, sizeof(float64_t))
        self.values.missing = <float64_t*> self.arrays.take_zeros(K + 1, sizeof(float64_t))
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
        # what process_block() adds for rows without a value: nothing (they go right), their counts
        # on the left (LEFT), or their weight, if all are unlabeled, to the larger child
        self.missing = NONE
        self.missing_left = False
        self.positions = NULL
        self.nominal = self.is_nominal(feature)
        # monotonicity constraint of the feature: 0 (none), 1 (increasing) or -1 (decreasing)
        self.sign = 0 if self.node.signs == NULL else self.node.signs[feature]
        self.excludes = self.sign != 0      # some candidates are counted, but not selected
        # whether the walk may skip candidates that cannot be the best: it calls measure() for
        # scores that decide this, and leave_out() to count the skipped candidates
        self.prunes = self.reader.prunes and not (
            self.node.has_min_weight or self.node.by_volume or self.excludes
        )
        if self.nominal:
            return _walk_sets(self, feature)
        if self.random_cuts:
            return _walk_random(self, feature)
        if self.source.complete:  # no value is missing
            return self.source.walk(feature, self)
        return _walk_thresholds(self, feature)

    cdef void process_block(self, intp_t size) noexcept nogil:
        cdef Cut cut
        cdef intp_t i
        if self.positions != NULL:      # the position of the cut after each row of the walk
            for i in range(size):
                self.position[i] = self.positions[self.position[i] - 1]
        if self.missing != NONE:
            _add_missing(self, size)
        if self.node.has_min_weight:
            size = _drop_small_children(self, size)
        if size == 0:
            return
        if self.excludes:
            _exclude(self, size)
        if self.node.by_volume and not self.nominal:
            cut.missing_left = self.missing_left
            for i in range(size):
                cut.position = self.position[i]
                self.pool_left[i] = _left_volume(self, self.feature, cut)
        self._fill_block(size)
        self.reader.read(self)

    cdef void measure(self, intp_t size, float64_t* scores) noexcept nogil:
        self._fill_block(size)
        self.block.nested = False
        self.reader.measure(self, scores)

    cdef void leave_out(self, intp_t n) noexcept nogil:
        self.reader.leave_out(n)

    cdef void _fill_block(self, intp_t size) noexcept nogil:
        self.block.size = size
        self.block.nested = not self.nominal    # each left outcome contains the one before
        self.block.left = self.left
        self.block.n_left = self.n_left
        self.block.pool_left = self.pool_left if self.node.has_pool else self.n_left
        self.block.phi_left = self.phi_left if self.additive else NULL
        self.block.phi_right = self.phi_right if self.additive else NULL

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
        # The candidate "is the value missing?" has all values on the left: its position is
        # end_position().
        if not cut.missing_left and cut.position == self.source.end_position(feature):
            return INFINITY
        if not self.random_cuts:
            return self.source.threshold(feature, cut.position)
        self.source.draw(feature, unit(_draw_key(self, feature)), &threshold)
        return threshold


cdef int _reserve_children(CandidateSplits candidates, intp_t capacity) except -1:
    cdef Children* children = &candidates.children
    cdef intp_t K = candidates.n_classes
    if capacity <= candidates.child_capacity:
        return 0
    children.counts = <float64_t*> candidates.arrays.resize(
        children.counts, capacity * K, sizeof(float64_t)
    )
    children.scaled = <float64_t*> candidates.arrays.resize(
        children.scaled, capacity * K, sizeof(float64_t)
    )
    children.pool = <float64_t*> candidates.arrays.resize(
        children.pool, capacity, sizeof(float64_t)
    )
    children.rows = <intp_t*> candidates.arrays.resize(children.rows, capacity, sizeof(intp_t))
    children.n_labeled = <intp_t*> candidates.arrays.resize(
        children.n_labeled, capacity, sizeof(intp_t)
    )
    candidates.child_capacity = capacity
    return 0


cdef intp_t _walk_thresholds(CandidateSplits candidates, intp_t feature) noexcept nogil:
    cdef intp_t n_candidates
    if not candidates.source.count_values(feature, &candidates.values):
        return candidates.source.walk(feature, candidates)
    if not candidates.values.n_missing > 0.0:
        if candidates.values.missing[candidates.n_classes] > 0.0:
            candidates.missing = UNLABELED  # they go to the larger child
        return candidates.source.walk(feature, candidates)
    if not candidates.values.n_present > 0.0:
        return 0
    candidates.additive = False
    n_candidates = candidates.source.walk(feature, candidates)
    _emit_is_missing(candidates, feature)
    candidates.missing = LEFT
    candidates.missing_left = True
    return n_candidates + 1 + candidates.source.walk(feature, candidates)


cdef intp_t _walk_random(CandidateSplits candidates, intp_t feature) noexcept nogil:
    cdef uint64_t key = _draw_key(candidates, feature)
    cdef float64_t threshold
    cdef bint any_missing
    cdef Cut cut
    any_missing = (
        candidates.source.count_values(feature, &candidates.values)
        and candidates.values.n_missing > 0.0
    )
    if any_missing and not candidates.values.n_present > 0.0:
        return 0
    cut.position = candidates.source.draw(feature, unit(key), &threshold)
    cut.missing_left = any_missing and cut.position >= 0 and mix(key) & 1
    if cut.position < 0:
        # a constant feature: its only candidate is "is the value missing?"
        if not any_missing:
            return 0
        cut.position = candidates.source.end_position(feature)
    _count_sides(candidates, feature, cut)
    _emit_children(candidates, cut)
    return 1


cdef intp_t _walk_sets(CandidateSplits candidates, intp_t feature) noexcept nogil:
    cdef Cut cut
    candidates.additive = False
    candidates.sets.begin(candidates.source.count_categories(feature, candidates.sets.counts))
    if candidates.sets.n_present < 2:
        return 0
    if candidates.sets.skips_high_cardinality and candidates.sets.has_high_cardinality():
        return 1        # without candidates, but not constant
    if not candidates.sets.has_single_candidate():  # neither multiway nor random
        return candidates.sets.walk(candidates)
    cut.position = 0
    cut.missing_left = False
    candidates.sets.divide(feature, 0, &candidates.children)
    if not candidates.sets.multiway:
        _emit_children(candidates, cut)
    elif not _has_small_child(candidates):
        candidates.reader.read_children(&candidates.children)
    return 1


cdef void _emit_is_missing(CandidateSplits candidates, intp_t feature) noexcept nogil:
    # Emit the candidate "is the value missing?": rows without a value go right.
    cdef intp_t c
    for c in range(candidates.n_classes):
        candidates.left[c] = candidates.values.present[c]
    candidates.n_left[0] = candidates.values.n_present
    candidates.pool_left[0] = candidates.values.pool_present
    candidates.position[0] = candidates.source.end_position(feature)
    candidates.positions = NULL
    candidates.process_block(1)


cdef void _emit_children(CandidateSplits candidates, Cut cut) noexcept nogil:
    # Emit the only candidate of a feature, if it separates any rows.
    cdef intp_t c
    candidates.additive = False
    candidates.n_left[0] = 0.0
    for c in range(candidates.n_classes):
        candidates.left[c] = candidates.children.counts[c]
        candidates.n_left[0] += candidates.children.counts[c]
    if candidates.n_left[0] == 0.0 or candidates.n_left[0] == candidates.node.n:
        return
    candidates.pool_left[0] = candidates.children.pool[0]
    candidates.position[0] = cut.position
    candidates.missing_left = cut.missing_left
    candidates.process_block(1)


cdef void _add_missing(CandidateSplits candidates, intp_t size) noexcept nogil:
    # Add the rows without a value to the left outcomes, which were counted without them.
    cdef intp_t K = candidates.n_classes
    cdef const float64_t* counts = candidates.values.missing
    cdef float64_t n = candidates.values.n_missing
    cdef intp_t i, c
    if candidates.missing == UNLABELED:
        for i in range(size):
            if candidates.n_left[i] > candidates.node.n - candidates.n_left[i]:
                candidates.pool_left[i] += counts[K]
        return
    for i in range(size):
        for c in range(K):
            candidates.left[i * K + c] += counts[c]
        candidates.n_left[i] += n
        candidates.pool_left[i] += n + counts[K]


cdef intp_t _drop_small_children(CandidateSplits candidates, intp_t size) noexcept nogil:
    # Remove the candidates of a block with a child below a smallest weight; return the number
    # of the others.
    cdef float64_t min_weight = candidates.node.min_weight
    cdef float64_t min_reweighted = candidates.node.min_reweighted  # with class weights
    cdef float64_t n = candidates.node.n
    cdef intp_t K = candidates.n_classes
    cdef intp_t n_retained = 0, i, c
    cdef float64_t weight
    if not candidates.nominal and min_reweighted <= 0.0:    # `n_left` ascends
        while size > 0 and n - candidates.n_left[size - 1] < min_weight:
            size -= 1
        while n_retained < size and candidates.n_left[n_retained] < min_weight:
            n_retained += 1
        if n_retained == 0 or n_retained == size:
            return size - n_retained
        size -= n_retained
        _drop_first(candidates.left, n_retained * K, size * K)
        _drop_first(candidates.n_left, n_retained, size)
        _drop_first(candidates.pool_left, n_retained, size)
        _drop_first(candidates.phi_left, n_retained, size)
        _drop_first(candidates.phi_right, n_retained, size)
        memmove(candidates.position, candidates.position + n_retained, size * sizeof(intp_t))
        return size
    for i in range(size):
        if candidates.n_left[i] < min_weight or n - candidates.n_left[i] < min_weight:
            continue
        if min_reweighted > 0.0:
            weight = candidates.node.sum_reweighted(candidates.left + i * K, candidates.n_left[i])
            if weight < min_reweighted or candidates.node.reweighted.n - weight < min_reweighted:
                continue
        for c in range(K):
            candidates.left[n_retained * K + c] = candidates.left[i * K + c]
        candidates.n_left[n_retained] = candidates.n_left[i]
        candidates.pool_left[n_retained] = candidates.pool_left[i]
        candidates.phi_left[n_retained] = candidates.phi_left[i]
        candidates.phi_right[n_retained] = candidates.phi_right[i]
        candidates.position[n_retained] = candidates.position[i]
        n_retained += 1
    return n_retained


cdef inline void _drop_first(float64_t* values, intp_t n, intp_t n_rest) noexcept nogil:
    memmove(values, values + n, n_rest * sizeof(float64_t))


cdef void _exclude(CandidateSplits candidates, intp_t size) noexcept nogil:
    # Mark the candidates that violate the monotonicity constraint of the feature.
    cdef const float64_t* counts = candidates.node.counts
    cdef float64_t low = candidates.node.record.low  # limits of p and q, set by splits above
    cdef float64_t high = candidates.node.record.high
    cdef intp_t end = -1
    cdef const float64_t* left
    cdef float64_t p, q         # probability of the second class in the left and right child
    cdef intp_t i
    if not candidates.missing_left:
        end = candidates.source.end_position(candidates.feature)
    for i in range(size):
        left = candidates.left + 2 * i
        p = candidates.node.probability(left[0], left[1])
        q = candidates.node.probability(counts[0] - left[0], counts[1] - left[1])
        candidates.excluded[i] = candidates.position[i] != end and (
            candidates.sign * (p - q) > 0.0
            or p < low or p > high or q < low or q > high
        )


cdef bint _has_small_child(CandidateSplits candidates) noexcept nogil:
    cdef intp_t z
    if not candidates.node.has_min_weight:
        return False
    for z in range(candidates.children.n_outcomes):
        if candidates.node.is_small(candidates.children.counts + z * candidates.n_classes):
            return True
    return False


cdef uint64_t _draw_key(CandidateSplits candidates, intp_t feature) noexcept nogil:
    return mix(candidates.node.draw_key ^ <uint64_t> feature)


cdef void _count_sides(CandidateSplits candidates, intp_t feature, Cut cut) noexcept nogil:
    # Set the children of a split of a numeric feature.
    cdef Children* children = &candidates.children
    cdef intp_t K = candidates.n_classes
    cdef bint any_missing
    cdef intp_t side, c
    children.n_outcomes = 2
    children.child_of_code = NULL
    children.n_codes = 0
    children.unknown = 0
    memset(children.counts, 0, 2 * K * sizeof(float64_t))
    for side in range(2):
        children.pool[side] = 0.0
        children.rows[side] = 0
        children.n_labeled[side] = 0
    any_missing = candidates.source.count_sides(
        feature, cut.position, children, &candidates.values
    )
    # whether a labeled row misses the value; `any_missing`: whether any row does
    children.missing_seen = any_missing and candidates.values.n_missing > 0.0
    _count_missing(candidates, any_missing, cut)
    if candidates.source.right_is_rest:     # only the left side has been counted
        for c in range(K):
            children.counts[K + c] = max(candidates.node.counts[c] - children.counts[c], 0.0)
    if candidates.node.by_volume:
        children.pool[0] = _left_volume(candidates, feature, cut)
    if candidates.node.by_volume or candidates.source.right_is_rest:
        children.pool[1] = candidates.node.record.pool - children.pool[0]


cdef void _count_missing(CandidateSplits candidates, bint any_missing, Cut cut) noexcept nogil:
    # Add the rows without a value to a side: the side that the cut has for them or, if no
    # labeled row of the node misses the value, the larger child.
    cdef Children* children = &candidates.children
    cdef intp_t K = candidates.n_classes
    cdef float64_t n_left, n_right
    cdef intp_t side, c
    children.missing_left = cut.missing_left
    if not children.missing_seen:
        n_left = sum_of(children.counts, K)
        n_right = sum_of(children.counts + K, K)
        if candidates.source.right_is_rest:
            n_right = candidates.node.n - n_left
        children.missing_left = n_left > n_right
    if not any_missing:
        return
    side = 0 if children.missing_left else 1
    for c in range(K):
        children.counts[side * K + c] += candidates.values.missing[c]
    for c in range(K + 1):
        children.pool[side] += candidates.values.missing[c]
    children.rows[side] += candidates.values.rows_missing
    children.n_labeled[side] += candidates.values.labeled_missing


cdef float64_t _left_volume(CandidateSplits candidates, intp_t feature, Cut cut) noexcept nogil:
    # Volume of the box of the left child.
    cdef NodeRecord* record = candidates.node.record
    return record.pool * share_below(record.box, feature, candidates.threshold(feature, cut))
