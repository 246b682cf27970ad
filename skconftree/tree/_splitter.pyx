"""The best test of a node, and whether its bound allows it."""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, fmin, log, log1p
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from skconftree.tree._columns cimport MAX_LEVELS
from skconftree.tree._scan cimport BLOCK, midpoint

cdef enum:
    RUN_LIMIT = 1 << 14         # longest run sorted on the fly
    SHORT_RUN = 24              # insertion sort up to here
    PHI_LIMIT = 1 << 20         # entries of a table of phi

cdef float64_t TIE = 1e-10
cdef float64_t EPSILON = np.finfo(np.float64).eps     # scikit-learn's, for impurities


cdef inline uint64_t _mix(uint64_t x) noexcept nogil:
    # splitmix64: a stateless generator, so that draws depend on their key alone
    x += <uint64_t> 0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


def _tabulate_phi(Score score, intp_t size):
    cdef float64_t[::1] table = np.empty(size)
    cdef intp_t i
    for i in range(size):
        table[i] = score.phi(i)
    return table


cdef class Splitter(Scan):
    """Finds the best test of a node and asks the bound about it.

    Parameters
    ----------
    columns : Columns
    criterion : Criterion
    bound : Bound or None
    options : dict
        Growth parameters under the names of the attributes they set.
    class_weight : ndarray of shape (n_classes,), float64, or None
    """

    def __init__(
        self, Columns columns, Criterion criterion, Bound bound, dict options,
        const float64_t[::1] class_weight,
    ):
        super().__init__(criterion.n_classes)
        cdef intp_t K = criterion.n_classes
        cdef intp_t d = columns.n_features
        self.columns = columns
        self.criterion = criterion
        self.bound = bound
        self.kind = PLAIN if bound is None else RACE
        if isinstance(bound, IntervalBound):
            self.kind = INTERVAL
            self.interval = bound
        elif isinstance(bound, EvidenceBound):
            self.kind = EVIDENCE
            self.evidence = bound
        self.max_features = options["max_features"]
        self.random_cuts = options["random_cuts"]
        self.has_pool = options["has_pool"]
        self.by_volume = options["by_volume"]
        self.integral = options["integral"]
        self.min_weight = options["min_weight"]
        self.min_seen_weight = options["min_seen_weight"]
        self.min_impurity_decrease = options["min_impurity_decrease"]
        self.total_weight = options["total_weight"]
        self.seed = options["seed"]
        self.time = options["time"]
        if class_weight is not None:
            self.class_weight = &class_weight[0]
        self.filters = (
            columns.weight != NULL or self.min_weight > 1.0
            or self.min_seen_weight > 0.0
        )
        self._owners = [class_weight]

        self.out = <float64_t*> malloc(BLOCK * sizeof(float64_t))
        self.children = <float64_t*> calloc(2 * K, sizeof(float64_t))
        self.scaled = <float64_t*> calloc(4 * K, sizeof(float64_t))
        self.best_score = <float64_t*> malloc(d * sizeof(float64_t))
        self.best_cut = <intp_t*> malloc(d * sizeof(intp_t))
        self.n_tests = <float64_t*> malloc(d * sizeof(float64_t))
        self.log_evidence = <float64_t*> malloc(d * sizeof(float64_t))
        self.visited = <int32_t*> malloc(d * sizeof(int32_t))
        self.profile = <float64_t*> malloc(
            MAX_LEVELS * (K + 1) * sizeof(float64_t)
        )
        self.tally = <int32_t*> malloc(MAX_LEVELS * (K + 1) * sizeof(int32_t))
        self.run = <uint32_t*> malloc(RUN_LIMIT * sizeof(uint32_t))
        self.keys = <uint32_t*> malloc(RUN_LIMIT * sizeof(uint32_t))
        if (
            self.out == NULL or self.children == NULL or self.scaled == NULL
            or self.best_score == NULL or self.best_cut == NULL
            or self.n_tests == NULL or self.log_evidence == NULL
            or self.visited == NULL or self.profile == NULL or self.tally == NULL
            or self.run == NULL or self.keys == NULL
        ):
            raise MemoryError()

        if self.interval is not None or self.evidence is not None:
            self.bound_score = bound.score
        self.phi_size = min(columns.n_rows + 1, PHI_LIMIT)
        if columns.weight == NULL and class_weight is None and not self.has_pool:
            self.criterion_phi = self._additive_phi(criterion)
            self.bound_phi = self._additive_phi(self.bound_score)

    cdef const float64_t* _additive_phi(self, Score score):
        cdef float64_t[::1] table
        if score is None or not score.additive or self.n_classes == 2:
            return NULL
        table = _tabulate_phi(score, self.phi_size)
        self._owners.append(table)
        return &table[0]

    def __dealloc__(self):
        free(self.out)
        free(self.children)
        free(self.scaled)
        free(self.best_score)
        free(self.best_cut)
        free(self.n_tests)
        free(self.log_evidence)
        free(self.visited)
        free(self.profile)
        free(self.tally)
        free(self.run)
        free(self.keys)

    # -- the node -----------------------------------------------------------------

    cdef void find(
        self, NodeRecord* node, const float64_t* counts, Split* split
    ) noexcept nogil:
        # The split of the node, or feature = -1. Drops features found to be
        # constant from node.features.
        cdef float64_t n_tests = 0.0
        cdef intp_t j, feature
        self._begin(node, counts)
        split.feature = -1
        self._visit_features()
        for j in range(self.n_visited):
            n_tests += self.n_tests[self.visited[j]]
        if n_tests == 0.0:
            return
        self.facts.n_tests = n_tests
        split.evidence.n_tests = n_tests
        split.evidence.rival_score = INFINITY
        split.evidence.rival_feature = -1
        split.evidence.child_limit = NAN
        split.evidence.radius = NAN
        split.evidence.confidence = NAN
        split.evidence.parent_limit = (
            self.criterion.node(self.seen.counts, self.seen.n) / self.seen.n
        )
        if self.kind == PLAIN:
            self._choose(split)
        elif self.kind == INTERVAL:
            self.interval.node_begin(&self.facts)
            self._challenge(split)
        else:
            if self.kind == EVIDENCE:
                self._sum_evidence()
            self._choose(split)
            self.bound.node_begin(&self.facts)
        if split.feature < 0:
            return
        self.count_children(split.feature, split.cut)
        if self.kind == EVIDENCE or self.kind == INTERVAL:
            # these compare the best test with no split, on a scale of their own
            split.evidence.rival_score = split.evidence.parent_limit
            split.evidence.rival_feature = -1
            self._to_seen(self.children, self.scaled)
            self._to_seen(self.children + self.n_classes, self.scaled + self.n_classes)
            split.evidence.score = (
                self.criterion.outcomes(self.scaled, 2) / self.seen.n
            )
        if self.kind != PLAIN:
            self._to_bound(self.children, self.scaled)
            self._to_bound(self.children + self.n_classes, self.scaled + self.n_classes)
            if not self.bound.decide(&self.facts, self.scaled, 2, &split.evidence):
                split.feature = -1
                return
        self._set_improvement(split)
        if split.improvement + EPSILON < self.min_impurity_decrease:
            split.feature = -1
            return
        split.threshold = self._threshold(split.feature, split.cut)

    cdef void _begin(self, NodeRecord* node, const float64_t* counts) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t c
        self.node = node
        self.counts = counts
        self.n = 0.0
        for c in range(K):
            self.n += counts[c]
        self.seen.n_classes = K
        self.seen.counts = counts
        self.seen.n = self.n
        self.seen.integral = self.integral
        self.facts.n_classes = K
        self.facts.counts = counts
        self.facts.n = self.n
        self.facts.n_fresh = self.n
        self.facts.pool = node.pool
        self.facts.time = self.time
        self.facts.n_attributes = self.columns.n_features
        self.facts.attempt = 1
        self.facts.depth = node.depth
        self.facts.integral = self.integral
        if self.class_weight != NULL:
            self._to_seen(counts, self.scaled + 2 * K)
            self.seen.counts = self.scaled + 2 * K
            self.seen.n = 0.0
            for c in range(K):
                self.seen.n += self.seen.counts[c]
            self.seen.integral = False
            self._to_bound(counts, self.scaled + 3 * K)
            self.facts.counts = self.scaled + 3 * K
            self.facts.integral = False
        self.criterion.begin(&self.seen)
        if self.bound_score is not None:
            self.bound_score.begin(&self.facts)
        self.tie = TIE * (self.n if self.kind == EVIDENCE else self.seen.n)

    cdef void _visit_features(self) noexcept nogil:
        # Scan the features, or a random sample of max_features that are not
        # constant and, together, have at least one test.
        cdef NodeRecord* node = self.node
        cdef uint64_t key = _mix(self.seed ^ _mix(node.id))
        cdef int32_t* features = node.features
        cdef bint sampling = self.max_features < self.columns.n_features
        cdef intp_t remaining = node.n_features
        cdef intp_t kept = 0
        cdef intp_t n_varying = 0
        cdef float64_t n_tests = 0.0
        cdef intp_t j, k
        cdef int32_t feature
        self.n_visited = 0
        self.by_bound = self.kind == INTERVAL or self.kind == EVIDENCE
        self.reducer = SUM_EVIDENCE if self.kind == EVIDENCE else KEEP_BEST
        for j in range(node.n_features):
            if sampling:
                if n_varying >= self.max_features and n_tests > 0.0:
                    features[kept] = features[j]
                    kept += 1
                    continue
                key = _mix(key)
                k = j + <intp_t> (key % <uint64_t> remaining)
                feature = features[k]
                features[k] = features[j]
            else:
                feature = features[j]
            remaining -= 1
            if self._scan(feature) == 0:
                continue
            n_varying += 1
            n_tests += self.n_tests[feature]
            self.visited[self.n_visited] = feature
            self.n_visited += 1
            features[kept] = feature
            kept += 1
        node.n_features = kept
        if sampling:
            _sort_ascending(self.visited, self.n_visited)

    cdef intp_t _scan(self, int32_t feature) noexcept nogil:
        # Walk one feature; returns 0 if it is constant in the node.
        cdef Column* column = &self.columns.columns[feature]
        cdef intp_t start = self.node.start
        cdef intp_t n = self.node.end - start
        cdef const float64_t* weight = self.columns.weight
        self.feature = feature
        self.best_score[feature] = INFINITY
        self.best_cut[feature] = -1
        self.n_tests[feature] = 0.0
        self.log_evidence[feature] = -INFINITY
        self.run_codes = NULL
        self.phi = self.bound_phi if self.by_bound else self.criterion_phi
        self.additive = (
            self.phi != NULL and self.n < self.phi_size and self.reducer != CHALLENGE
        )
        if self.random_cuts:
            return self._scan_random_cut(feature)
        if column.order != NULL:
            if self.has_pool:
                return self.walk_run_with_pool(
                    column.order + start, n, self.columns.y, weight,
                    self.columns.x + feature, self.columns.n_features,
                )
            return self.walk_run(
                column.order + start, n, self.columns.y, weight, self.counts
            )
        if 2 * n < column.n_levels * self.n_classes and n < RUN_LIMIT and (
            not self.has_pool
        ):
            self._sort_codes(column.codes + start, n, column.n_levels)
            self.run_codes = column.codes + start
            weight = self.columns.node_weight
            if weight != NULL:
                weight += start
            return self.walk_run(
                self.run, n, self.columns.node_y + start, weight, self.counts
            )
        self._fill_profile(column.codes + start, n, column.n_levels)
        if self.has_pool:
            return self.walk_profile_with_pool(
                self.profile, column.n_levels, column.levels
            )
        return self.walk_profile(self.profile, column.n_levels, self.counts)

    cdef void _fill_profile(
        self, const uint8_t* codes, intp_t n, intp_t n_levels
    ) noexcept nogil:
        # Class counts per level; one more column for rows without label. Whole
        # numbers are tallied as integers, which add up several times faster.
        cdef intp_t width = self.n_classes + self.has_pool
        cdef const label_t* y = self.columns.node_y + self.node.start
        cdef const float64_t* weight = self.columns.node_weight
        cdef intp_t i
        if weight == NULL:
            memset(self.tally, 0, n_levels * width * sizeof(int32_t))
            for i in range(n):
                self.tally[codes[i] * width + y[i]] += 1
            for i in range(n_levels * width):
                self.profile[i] = self.tally[i]
        else:
            weight += self.node.start
            memset(self.profile, 0, n_levels * width * sizeof(float64_t))
            for i in range(n):
                self.profile[codes[i] * width + y[i]] += weight[i]

    cdef void _sort_codes(
        self, const uint8_t* codes, intp_t n, intp_t n_levels
    ) noexcept nogil:
        # Entries of a run, (row of the node << 1) | new, in order of the codes.
        cdef intp_t bucket[MAX_LEVELS]
        cdef uint32_t* run = self.run
        cdef uint32_t* keys = self.keys
        cdef uint32_t key
        cdef intp_t i, j, total, count
        if n <= SHORT_RUN:
            for i in range(n):
                key = (<uint32_t> codes[i] << 16) | <uint32_t> i
                j = i
                while j > 0 and keys[j - 1] > key:
                    keys[j] = keys[j - 1]
                    j -= 1
                keys[j] = key
        else:
            memset(bucket, 0, n_levels * sizeof(intp_t))
            for i in range(n):
                bucket[codes[i]] += 1
            total = 0
            for i in range(n_levels):
                count = bucket[i]
                bucket[i] = total
                total += count
            for i in range(n):
                keys[bucket[codes[i]]] = (<uint32_t> codes[i] << 16) | <uint32_t> i
                bucket[codes[i]] += 1
        run[0] = (keys[0] & 0xFFFF) << 1
        for i in range(1, n):
            run[i] = ((keys[i] & 0xFFFF) << 1) | <uint32_t> (
                (keys[i] >> 16) != (keys[i - 1] >> 16)
            )

    # -- random cuts --------------------------------------------------------------

    cdef intp_t _scan_random_cut(self, intp_t feature) noexcept nogil:
        # One test: a cut drawn between the extreme values that labelled rows have.
        cdef intp_t K = self.n_classes
        cdef intp_t cut, c
        cdef float32_t low, high
        self._labelled_range(feature, &low, &high)
        if low >= high:
            return 0
        self.additive = False
        cut = self._cut_at(feature, self._random_threshold(feature, low, high))
        self.count_children(feature, cut)
        self.n_left[0] = 0.0
        for c in range(K):
            self.left[c] = self.children[c]
            self.n_left[0] += self.children[c]
        self.pool_left[0] = self.child_pool[0]
        self.position[0] = cut
        self.take(1)
        return 1

    cdef float64_t _random_threshold(
        self, intp_t feature, float32_t low, float32_t high
    ) noexcept nogil:
        cdef uint64_t key = _mix(_mix(self.seed ^ _mix(self.node.id)) ^ <uint64_t> feature)
        cdef float64_t u = <float64_t> (key >> 11) / 9007199254740992.0     # 2^53
        cdef float64_t threshold = low + u * (<float64_t> high - low)
        return low if threshold >= high else threshold

    cdef void _labelled_range(
        self, intp_t feature, float32_t* low, float32_t* high
    ) noexcept nogil:
        cdef Column* column = &self.columns.columns[feature]
        cdef intp_t first = self.node.start
        cdef intp_t last = self.node.end - 1
        cdef intp_t K = self.n_classes
        cdef intp_t i
        cdef uint8_t smallest, largest
        if column.order != NULL:
            while self.columns.y[column.order[first] >> 1] == K:
                first += 1
            while self.columns.y[column.order[last] >> 1] == K:
                last -= 1
            low[0] = self.columns.value(column.order[first] >> 1, feature)
            high[0] = self.columns.value(column.order[last] >> 1, feature)
            return
        smallest = MAX_LEVELS - 1
        largest = 0
        for i in range(first, last + 1):
            if self.columns.node_y[i] < K:
                smallest = min(smallest, column.codes[i])
                largest = max(largest, column.codes[i])
        low[0] = column.levels[smallest]
        high[0] = column.levels[largest]

    cdef intp_t _cut_at(self, intp_t feature, float64_t threshold) noexcept nogil:
        # The cut of the rows with value <= threshold.
        cdef Column* column = &self.columns.columns[feature]
        cdef intp_t low = 0
        cdef intp_t high, middle
        if column.order == NULL:
            while low + 1 < column.n_levels and column.levels[low + 1] <= threshold:
                low += 1
            return low
        high = self.node.end - self.node.start
        while low < high:
            middle = (low + high) // 2
            if self.columns.value(
                column.order[self.node.start + middle] >> 1, feature
            ) <= threshold:
                low = middle + 1
            else:
                high = middle
        return low

    # -- blocks of tests ----------------------------------------------------------

    cdef void take(self, intp_t size) noexcept nogil:
        cdef intp_t i
        if self.run_codes != NULL:
            for i in range(size):
                self.position[i] = self.run_codes[self.run[self.position[i] - 1] >> 1]
        if self.filters:
            size = self._drop_small_children(size)
        if size == 0:
            return
        if self.by_volume:
            for i in range(size):
                self.pool_left[i] = self._left_volume(self.feature, self.position[i])
        self.tests.size = size
        self.tests.left = self.left
        self.tests.n_left = self.n_left
        self.tests.pool_left = self.pool_left if self.has_pool else self.n_left
        self.tests.phi_left = self.phi_left if self.additive else NULL
        self.tests.phi_right = self.phi_right if self.additive else NULL
        if self.by_bound:
            if self.class_weight == NULL:
                self.bound_score.block(&self.tests, self.out)
            else:
                self._score_reweighted(size)
        else:
            if self.class_weight != NULL:
                for i in range(size):
                    self.n_left[i] = self._to_seen(
                        self.left + i * self.n_classes, self.left + i * self.n_classes
                    )
            self.criterion.block(&self.tests, self.out)
        if self.reducer == CHALLENGE:
            self._challenge_with(size)
            return
        self._keep_best(size)
        self.n_tests[self.feature] += size
        if self.reducer == SUM_EVIDENCE:
            self._add_evidence(size)

    cdef intp_t _drop_small_children(self, intp_t size) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t kept = 0
        cdef intp_t i, c
        cdef float64_t seen
        for i in range(size):
            if (
                self.n_left[i] < self.min_weight
                or self.n - self.n_left[i] < self.min_weight
            ):
                continue
            if self.min_seen_weight > 0.0:
                seen = self._seen_weight(self.left + i * K, self.n_left[i])
                if (
                    seen < self.min_seen_weight
                    or self.seen.n - seen < self.min_seen_weight
                ):
                    continue
            for c in range(K):
                self.left[kept * K + c] = self.left[i * K + c]
            self.n_left[kept] = self.n_left[i]
            self.pool_left[kept] = self.pool_left[i]
            self.phi_left[kept] = self.phi_left[i]
            self.phi_right[kept] = self.phi_right[i]
            self.position[kept] = self.position[i]
            kept += 1
        return kept

    cdef inline float64_t _seen_weight(
        self, const float64_t* counts, float64_t n
    ) noexcept nogil:
        # Sum of reweighted counts. Additive walks have no counts, nor class weights.
        cdef float64_t seen = 0.0
        cdef intp_t c
        if self.class_weight == NULL:
            return n
        for c in range(self.n_classes):
            seen += counts[c] * self.class_weight[c]
        return seen

    cdef void _score_reweighted(self, intp_t size) noexcept nogil:
        # Each child is scaled to its own weight, so the right one is not the rest
        # and no block formula holds. Intervals then go without a floor.
        cdef intp_t i
        for i in range(size):
            if self.kind == INTERVAL:
                self.out[i] = -INFINITY
            else:
                self._scale_children(i)
                self.out[i] = self.bound_score.outcomes(self.scaled, 2)

    cdef void _scale_children(self, intp_t i) noexcept nogil:
        # Both children of test i of the block on the bound's scale.
        cdef intp_t K = self.n_classes
        cdef float64_t* left = self.left + i * K
        cdef intp_t c
        for c in range(K):
            self.scaled[K + c] = self.counts[c] - left[c]
        self._to_bound(left, self.scaled)
        self._to_bound(self.scaled + K, self.scaled + K)

    cdef void _keep_best(self, intp_t size) noexcept nogil:
        cdef float64_t best = self.best_score[self.feature]
        cdef intp_t found = -1
        cdef intp_t i
        for i in range(size):
            if self.out[i] < best - self.tie:
                best = self.out[i]
                found = i
        if found >= 0:
            self.best_score[self.feature] = best
            self.best_cut[self.feature] = self.position[found]

    cdef void _add_evidence(self, intp_t size) noexcept nogil:
        # log-sum-exp of the block, then of what came before and the block
        cdef float64_t smallest = self.out[0]
        cdef float64_t total = 0.0
        cdef intp_t i
        for i in range(1, size):
            smallest = fmin(smallest, self.out[i])
        for i in range(size):
            total += exp(smallest - self.out[i])
        self.log_evidence[self.feature] = _log_add(
            self.log_evidence[self.feature], log(total) - smallest
        )

    # -- decisions ----------------------------------------------------------------

    cdef void _choose(self, Split* split) noexcept nogil:
        # The best test of all features, and the best of any other feature.
        cdef float64_t best = INFINITY
        cdef float64_t rival = INFINITY
        cdef intp_t rival_feature = -1
        cdef intp_t j, feature
        for j in range(self.n_visited):
            feature = self.visited[j]
            if self.best_score[feature] < best - self.tie:
                rival = best
                rival_feature = split.feature
                best = self.best_score[feature]
                split.feature = feature
            elif self.best_score[feature] < rival - self.tie:
                rival = self.best_score[feature]
                rival_feature = feature
        if split.feature >= 0:
            split.cut = self.best_cut[split.feature]
        if not self.by_bound:
            split.evidence.score = best / self.seen.n
            split.evidence.rival_score = rival / self.seen.n
            split.evidence.rival_feature = rival_feature

    cdef void _sum_evidence(self) noexcept nogil:
        # Average over features, then over the tests of a feature.
        cdef float64_t total = -INFINITY
        cdef intp_t n_features = 0
        cdef intp_t j, feature
        for j in range(self.n_visited):
            feature = self.visited[j]
            if self.n_tests[feature] > 0.0:
                n_features += 1
                total = _log_add(
                    total, self.log_evidence[feature] - log(self.n_tests[feature])
                )
        self.evidence.log_evidence = total - log(<float64_t> n_features)
        if not self.evidence.chooses:
            self.by_bound = False
            self.reducer = KEEP_BEST
            for j in range(self.n_visited):
                self._scan(self.visited[j])

    cdef void _challenge(self, Split* split) noexcept nogil:
        # The test with the smallest cost below the parent's limit. A feature whose
        # smallest floor is above the incumbent cannot hold it, so features come in
        # the order of their floors, each with its most promising test first.
        cdef float64_t floor
        cdef intp_t j, feature
        self.tie = TIE * self.facts.pool
        self.incumbent = self.interval.limit
        self.incumbent_feature = -1
        self.incumbent_cut = -1
        self.reducer = CHALLENGE
        while True:
            feature = -1
            floor = INFINITY
            for j in range(self.n_visited):
                if self.best_score[self.visited[j]] < floor:
                    feature = self.visited[j]
                    floor = self.best_score[feature]
            if feature < 0 or floor > self.incumbent + self.tie:
                break
            self.count_children(feature, self.best_cut[feature])
            self._to_bound(self.children, self.scaled)
            self._to_bound(
                self.children + self.n_classes, self.scaled + self.n_classes
            )
            self._offer(
                feature, self.best_cut[feature], self.child_pool[0], self.child_pool[1]
            )
            self._scan(feature)     # forgets its floor
        split.feature = self.incumbent_feature
        split.cut = self.incumbent_cut
        split.evidence.child_limit = self.incumbent / self.facts.pool

    cdef void _challenge_with(self, intp_t size) noexcept nogil:
        cdef float64_t pool_left
        cdef intp_t i
        for i in range(size):
            if self.out[i] <= self.incumbent + self.tie:
                self._scale_children(i)
                pool_left = self.tests.pool_left[i]
                self._offer(
                    self.feature, self.position[i], pool_left,
                    self.node.pool - pool_left,
                )

    cdef void _offer(
        self, intp_t feature, intp_t cut, float64_t pool_left, float64_t pool_right
    ) noexcept nogil:
        # Replace the incumbent if the test whose children are in `scaled` is better.
        cdef intp_t K = self.n_classes
        cdef float64_t* left = self.scaled
        cdef float64_t* right = self.scaled + K
        cdef float64_t ceiling = self.incumbent + self.tie
        cdef float64_t n_left = 0.0
        cdef float64_t n_right = 0.0
        cdef float64_t floor_right, cost
        cdef bint better
        cdef intp_t c
        for c in range(K):
            n_left += left[c]
            n_right += right[c]
        floor_right = self.interval.sharp_floor(right, n_right, pool_right, 2)
        if floor_right + self.interval.sharp_floor(left, n_left, pool_left, 2) > ceiling:
            return
        cost = self.interval.cost(left, n_left, pool_left, 2)
        if cost + floor_right > ceiling:
            return
        cost += self.interval.cost(right, n_right, pool_right, 2)
        if self.incumbent_feature < 0:
            better = cost < self.incumbent
        else:
            better = cost < self.incumbent - self.tie or (
                cost <= ceiling
                and (
                    feature < self.incumbent_feature
                    or (feature == self.incumbent_feature and cut < self.incumbent_cut)
                )
            )
        if better:
            self.incumbent = cost
            self.incumbent_feature = feature
            self.incumbent_cut = cut

    cdef void _set_improvement(self, Split* split) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef float64_t n_left = self._to_seen(self.children, self.scaled)
        cdef float64_t n_right = self._to_seen(self.children + K, self.scaled + K)
        cdef float64_t below = self.criterion.unit * (
            self.criterion.node(self.scaled, n_left)
            + self.criterion.node(self.scaled + K, n_right)
        )
        cdef float64_t above = self.criterion.unit * self.criterion.node(
            self.seen.counts, self.seen.n
        )
        split.improvement = (above - below) / self.total_weight

    # -- a chosen test ------------------------------------------------------------

    cdef void count_children(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef Column* column = &self.columns.columns[feature]
        cdef const float64_t* weight = self.columns.weight
        cdef intp_t start = self.node.start
        cdef intp_t end = self.node.end
        cdef intp_t i, row, side
        cdef float64_t w
        memset(self.children, 0, 2 * K * sizeof(float64_t))
        self.child_pool[0] = 0.0
        self.child_pool[1] = 0.0
        self.n_left_rows = 0
        for i in range(start, end):
            if column.order != NULL:
                row = column.order[i] >> 1
                side = i >= start + cut
            else:
                row = self.columns.rows[i]
                side = column.codes[i] > cut
            w = 1.0 if weight == NULL else weight[row]
            self.n_left_rows += 1 - side
            self.child_pool[side] += w
            if self.columns.y[row] < K:
                self.children[side * K + self.columns.y[row]] += w
        if self.by_volume:
            self.child_pool[0] = self._left_volume(feature, cut)
            self.child_pool[1] = self.node.pool - self.child_pool[0]

    cdef float64_t _threshold(self, intp_t feature, intp_t cut) noexcept nogil:
        # Midpoint of the labelled values on either side of the cut.
        cdef Column* column = &self.columns.columns[feature]
        cdef intp_t K = self.n_classes
        cdef intp_t below = self.node.start + cut - 1
        cdef intp_t above = below + 1
        cdef intp_t i
        cdef intp_t low = -1
        cdef intp_t high = MAX_LEVELS
        cdef float32_t first, last
        if self.random_cuts:
            self._labelled_range(feature, &first, &last)
            return self._random_threshold(feature, first, last)
        if column.order != NULL:
            while self.columns.y[column.order[below] >> 1] == K:
                below -= 1
            while self.columns.y[column.order[above] >> 1] == K:
                above += 1
            return midpoint(
                self.columns.value(column.order[below] >> 1, feature),
                self.columns.value(column.order[above] >> 1, feature),
            )
        for i in range(self.node.start, self.node.end):
            if self.columns.node_y[i] < K:
                if column.codes[i] <= cut:
                    low = max(low, <intp_t> column.codes[i])
                else:
                    high = min(high, <intp_t> column.codes[i])
        return midpoint(column.levels[low], column.levels[high])

    cdef float64_t _left_volume(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef const float64_t* limits = self.node.box + 2 * feature
        return self.node.pool * (
            (self._threshold(feature, cut) - limits[0]) / (limits[1] - limits[0])
        )

    # -- scales of class counts ---------------------------------------------------

    cdef float64_t _to_seen(
        self, const float64_t* counts, float64_t* seen
    ) noexcept nogil:
        # What the criterion sees; returns its sum. May work in place.
        cdef float64_t n = 0.0
        cdef intp_t c
        for c in range(self.n_classes):
            seen[c] = counts[c]
            if self.class_weight != NULL:
                seen[c] *= self.class_weight[c]
            n += seen[c]
        return n

    cdef void _to_bound(
        self, const float64_t* counts, float64_t* scaled
    ) noexcept nogil:
        # What the bound sees: the same proportions, the weight as it is.
        cdef float64_t n = 0.0
        cdef float64_t seen
        cdef intp_t c
        for c in range(self.n_classes):
            n += counts[c]
        seen = self._to_seen(counts, scaled)
        if self.class_weight != NULL and seen > 0.0:
            for c in range(self.n_classes):
                scaled[c] *= n / seen


cdef float64_t _log_add(float64_t a, float64_t b) noexcept nogil:
    if a < b:
        a, b = b, a
    if b == -INFINITY:
        return a
    return a + log1p(exp(b - a))


cdef void _sort_ascending(int32_t* values, intp_t n) noexcept nogil:
    cdef intp_t i, j
    cdef int32_t value
    for i in range(1, n):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
