"""The best test of a node of a table."""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skconftree.tree._columns cimport MAX_LEVELS
from skconftree.tree._node cimport mix
from skconftree.tree._scan cimport midpoint

cdef enum:
    RUN_LIMIT = 16384       # longest run sorted on the fly
    SHORT_RUN = 24              # insertion sort up to here


cdef class ColumnSplitter(Splitter):
    """Finds the best test of a node of a table, walking its training columns.

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
        cdef intp_t K = criterion.n_classes
        super().__init__(columns.n_features, criterion, bound, options, class_weight)
        self.columns = columns
        self.random_cuts = options["random_cuts"]
        self.profile = <float64_t*> malloc(
            MAX_LEVELS * (K + 1) * sizeof(float64_t)
        )
        self.tally = <int32_t*> malloc(MAX_LEVELS * (K + 1) * sizeof(int32_t))
        self.run = <uint32_t*> malloc(RUN_LIMIT * sizeof(uint32_t))
        self.keys = <uint32_t*> malloc(RUN_LIMIT * sizeof(uint32_t))
        if (
            self.profile == NULL or self.tally == NULL or self.run == NULL
            or self.keys == NULL
        ):
            raise MemoryError()

    def __dealloc__(self):
        free(self.profile)
        free(self.tally)
        free(self.run)
        free(self.keys)

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
        # A run of codes counts positions in rows; a cut is a code.
        cdef intp_t i
        if self.run_codes != NULL:
            for i in range(size):
                self.position[i] = self.run_codes[self.run[self.position[i] - 1] >> 1]
        NodeScan.take(self, size)

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
