"""A node of a batch tree, walked feature by feature."""

cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from skconftree.tree._columns cimport MAX_LEVELS
from skconftree.tree._scan cimport midpoint

cdef enum:
    RUN_LIMIT = 16384       # longest run sorted on the fly
    SHORT_RUN = 24              # insertion sort up to here


@cython.overflowcheck(False)     # it wraps by design
cdef uint64_t mix(uint64_t x) noexcept nogil:
    # splitmix64: a stateless generator, so that draws depend on their key alone
    x += <uint64_t> 0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef class NodeScan(Scan):
    """Walks the features of a node; base class of the splitter.

    Parameters
    ----------
    columns : Columns
    n_classes : int
    options : dict
        Growth parameters under the names of the attributes they set.
    class_weight : ndarray of shape (n_classes,), float64, or None
    """

    def __init__(
        self, Columns columns, intp_t n_classes, dict options,
        const float64_t[::1] class_weight,
    ):
        super().__init__(n_classes)
        cdef intp_t K = n_classes
        self.columns = columns
        self.random_cuts = options["random_cuts"]
        self.has_pool = options["has_pool"]
        self.by_volume = options["by_volume"]
        self.integral = options["integral"]
        self.min_weight = options["min_weight"]
        self.min_seen_weight = options["min_seen_weight"]
        self.seed = options["seed"]
        self.time = options["time"]
        self._class_weight = class_weight
        if class_weight is not None:
            self.class_weight = &class_weight[0]
        self.filters = (
            columns.weight != NULL or self.min_weight > 1.0
            or self.min_seen_weight > 0.0
        )
        self.children = <float64_t*> calloc(2 * K, sizeof(float64_t))
        self.scaled = <float64_t*> calloc(4 * K, sizeof(float64_t))
        self.profile = <float64_t*> malloc(
            MAX_LEVELS * (K + 1) * sizeof(float64_t)
        )
        self.tally = <int32_t*> malloc(MAX_LEVELS * (K + 1) * sizeof(int32_t))
        self.run = <uint32_t*> malloc(RUN_LIMIT * sizeof(uint32_t))
        self.keys = <uint32_t*> malloc(RUN_LIMIT * sizeof(uint32_t))
        if (
            self.children == NULL or self.scaled == NULL or self.profile == NULL
            or self.tally == NULL or self.run == NULL or self.keys == NULL
        ):
            raise MemoryError()

    def __dealloc__(self):
        free(self.children)
        free(self.scaled)
        free(self.profile)
        free(self.tally)
        free(self.run)
        free(self.keys)

    cdef void begin(self, NodeRecord* node, const float64_t* counts) noexcept nogil:
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
            self.to_seen(counts, self.scaled + 2 * K)
            self.seen.counts = self.scaled + 2 * K
            self.seen.n = 0.0
            for c in range(K):
                self.seen.n += self.seen.counts[c]
            self.seen.integral = False
            self.to_bound(counts, self.scaled + 3 * K)
            self.facts.counts = self.scaled + 3 * K
            self.facts.integral = False

    # -- walks -------------------------------------------------------------------

    cdef intp_t walk(self, intp_t feature) noexcept nogil:
        # Walk one feature; returns 0 if it is constant in the node.
        cdef Column* column = &self.columns.columns[feature]
        cdef intp_t start = self.node.start
        cdef intp_t n = self.node.end - start
        cdef const float64_t* weight = self.columns.weight
        self.feature = feature
        self.run_codes = NULL
        if self.random_cuts:
            return self._walk_random_cut(feature)
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
                self.pool_left[i] = self.left_volume(self.feature, self.position[i])
        self.tests.size = size
        self.tests.left = self.left
        self.tests.n_left = self.n_left
        self.tests.pool_left = self.pool_left if self.has_pool else self.n_left
        self.tests.phi_left = self.phi_left if self.additive else NULL
        self.tests.phi_right = self.phi_right if self.additive else NULL
        self.reduce(size)

    cdef void reduce(self, intp_t size) noexcept nogil:
        # `tests` holds the next `size` tests of the feature; position holds their cuts.
        pass

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

    # -- random cuts --------------------------------------------------------------

    cdef intp_t _walk_random_cut(self, intp_t feature) noexcept nogil:
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
        cdef uint64_t key = mix(mix(self.seed ^ mix(self.node.id)) ^ <uint64_t> feature)
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
        self.n_labelled[0] = 0
        self.n_labelled[1] = 0
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
                self.n_labelled[side] += 1
        if self.by_volume:
            self.child_pool[0] = self.left_volume(feature, cut)
            self.child_pool[1] = self.node.pool - self.child_pool[0]

    cdef float64_t threshold(self, intp_t feature, intp_t cut) noexcept nogil:
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

    cdef float64_t left_volume(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef const float64_t* limits = self.node.box + 2 * feature
        return self.node.pool * (
            (self.threshold(feature, cut) - limits[0]) / (limits[1] - limits[0])
        )

    # -- scales of class counts ---------------------------------------------------

    cdef float64_t to_seen(
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

    cdef void to_bound(
        self, const float64_t* counts, float64_t* scaled
    ) noexcept nogil:
        # What the bound sees: the same proportions, the weight as it is.
        cdef float64_t n = 0.0
        cdef float64_t seen
        cdef intp_t c
        for c in range(self.n_classes):
            n += counts[c]
        seen = self.to_seen(counts, scaled)
        if self.class_weight != NULL and seen > 0.0:
            for c in range(self.n_classes):
                scaled[c] *= n / seen
