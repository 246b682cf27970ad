"""The best test of a growing leaf."""

from libc.math cimport INFINITY, fmin
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from skconftree.bounds._contract cimport Bound
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.split._criterion cimport Criterion
from skconftree.tree.leaves._histogram cimport bin_of, n_value_bins
from skconftree.tree.leaves._leaf cimport GAUSSIAN, HISTOGRAM, ROWS
from skconftree.tree.split._missing cimport LEFT, NONE, UNLABELLED, missing_left_bit
from skconftree.tree.leaves._moments cimport (
    Moments, normal_share, range_of_moments, weight_known,
)
from skconftree.tree.split._node cimport NodeScan, RootFacts
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._midpoint cimport midpoint
from skconftree.utils._sorting cimport presort

cdef enum:
    NORMAL_CUTS = 10    # of a feature kept as moments


cdef class LeafSplitter(Splitter):
    """Finds the best test of a leaf that grows row by row.

    Parameters
    ----------
    settings : GrowthSettings
    root : RootFacts
    criterion : Criterion
    bound : Bound or None
    pool : ndarray of shape (n_pool, n_features), float32, or None
        Rows without label.
    root_box : ndarray of shape (n_features, 2), float64, or None
        Limits of the features, if the weight of a leaf is its volume.
    """

    def __init__(
        self, GrowthSettings settings, RootFacts root, Criterion criterion, Bound bound,
        const float32_t[:, ::1] pool, const float64_t[:, ::1] root_box,
    ):
        cdef intp_t n_features = root.n_features
        cdef intp_t n_bins = max(settings.max_bins, <intp_t> NORMAL_CUTS + 1)
        cdef intp_t f
        super().__init__(settings, root, criterion, bound)
        self.whole = True
        self.pool = pool
        self.root_box = root_box
        self.features = <int32_t*> malloc(n_features * sizeof(int32_t))
        self.table = <float64_t*> malloc(
            n_bins * (self.n_classes + 1) * sizeof(float64_t)
        )
        self.edges = <float32_t*> malloc(n_bins * sizeof(float32_t))
        self.missing_counts = <float64_t*> calloc(
            self.n_classes + 1, sizeof(float64_t)
        )
        if (
            self.features == NULL or self.table == NULL or self.edges == NULL
            or self.missing_counts == NULL
        ):
            raise MemoryError()
        for f in range(n_features):
            self.features[f] = <int32_t> f

    def __dealloc__(self):
        free(self.features)
        free(self.table)
        free(self.missing_counts)
        free(self.edges)
        free(self.labels)
        free(self.weights)
        free(self.column)
        free(self.order)
        free(self.keys)

    cdef bint examine(
        self, Leaf* leaf, intp_t depth, float64_t time, float64_t total_weight,
        Split* split,
    ) noexcept nogil:
        # The split of a leaf, or feature = -1. False if memory cannot be had.
        cdef NodeRecord* record = &self.record
        cdef bint separate = self.policy.separate
        cdef intp_t f
        self.leaf = leaf
        self.ready = -1
        self.tabulated = leaf.memory != ROWS or self.policy.fixed_cuts
        split.feature = -1
        if leaf.memory == ROWS and not self._gather_rows():
            return False
        record.id = leaf.node
        record.depth = depth
        record.start = 0
        record.end = <intp_t> (leaf.n_fresh if separate else leaf.n_held) + 1
        record.pool = leaf.n_fresh if separate else leaf.n_held
        if self.by_volume:
            record.box = leaf.box
            record.pool = self._volume()
            if record.pool == 0.0:
                return True     # outside the box: nothing to gain
        elif self.has_pool:
            record.pool += leaf.n_pool
        for f in range(self.n_features):
            self.features[f] = <int32_t> f
        record.features = self.features
        record.n_features = self.n_features
        self.integral = self.whole and (
            leaf.memory == ROWS
            or leaf.memory == HISTOGRAM and (separate or leaf.n_held == leaf.n_fresh)
        )
        self.filters = True
        self.time = time
        self.total_weight = total_weight
        self.find(record, leaf.fresh if separate else leaf.held, split)
        return True

    cdef void begin(self, NodeRecord* node, const float64_t* counts) noexcept nogil:
        NodeScan.begin(self, node, counts)
        self.facts.n_fresh = self.leaf.n_fresh
        self.facts.attempt = self.leaf.attempt

    cdef bint _gather_rows(self) noexcept nogil:
        # Point at the rows that count; copy their labels only if rows without label
        # join them.
        cdef Leaf* leaf = self.leaf
        cdef intp_t first = leaf.n_inherited if self.policy.separate else 0
        cdef intp_t n_pool = leaf.n_pool if self.pool is not None else 0
        cdef intp_t n = leaf.n_rows - first + n_pool
        cdef intp_t i
        if n > self.room:
            free(self.labels)
            free(self.weights)
            free(self.column)
            free(self.order)
            free(self.keys)
            self.room = 2 * n
            self.labels = <label_t*> malloc(self.room * sizeof(label_t))
            self.weights = <float64_t*> malloc(self.room * sizeof(float64_t))
            self.column = <float32_t*> malloc(self.room * sizeof(float32_t))
            self.order = <uint32_t*> malloc(self.room * sizeof(uint32_t))
            self.keys = <uint64_t*> malloc(2 * self.room * sizeof(uint64_t))
            if (
                self.labels == NULL or self.weights == NULL or self.column == NULL
                or self.order == NULL or self.keys == NULL
            ):
                self.room = 0
                return False
        self.n_labelled_rows = leaf.n_rows - first
        self.n_rows = n
        self.x = leaf.x + first * self.n_features
        self.y = leaf.y + first
        self.row_weight = NULL if leaf.weight == NULL else leaf.weight + first
        if n_pool > 0:
            memcpy(self.labels, self.y, self.n_labelled_rows * sizeof(label_t))
            for i in range(self.n_labelled_rows, n):
                self.labels[i] = <label_t> self.n_classes
            self.y = self.labels
            if self.row_weight != NULL:
                memcpy(
                    self.weights, self.row_weight,
                    self.n_labelled_rows * sizeof(float64_t),
                )
                for i in range(self.n_labelled_rows, n):
                    self.weights[i] = 1.0
                self.row_weight = self.weights
        return True

    cdef float64_t _volume(self) noexcept nogil:
        # Of the leaf's box, as a part of the root's.
        cdef float64_t volume = 1.0
        cdef float64_t width
        cdef intp_t f
        for f in range(self.n_features):
            width = self.root_box[f, 1] - self.root_box[f, 0]
            if width > 0.0:
                volume *= (self.leaf.box[2 * f + 1] - self.leaf.box[2 * f]) / width
        return volume

    # -- the rows or counts of one feature ----------------------------------------

    cdef inline float32_t _value(self, intp_t row, intp_t feature) noexcept nogil:
        if row < self.n_labelled_rows:
            return self.x[row * self.n_features + feature]
        return self.pool[self.leaf.pool[row - self.n_labelled_rows], feature]

    cdef void _prepare(self, intp_t feature) noexcept nogil:
        if self.ready == feature:
            return
        self.ready = feature
        self.n_missing = 0.0
        memset(self.missing_counts, 0, (self.n_classes + 1) * sizeof(float64_t))
        if not self.tabulated:
            self._sort(feature)
        elif self.leaf.memory == GAUSSIAN:
            self._count_moments(feature)
        else:
            self._count_bins(feature)
        if self.tabulated and self.has_pool:
            self._count_pool(feature)

    cdef void _sort(self, intp_t feature) noexcept nogil:
        cdef float64_t w
        cdef intp_t i
        self.n_seen = self.n_rows
        for i in range(self.n_rows):
            self.column[i] = self._value(i, feature)
            if self.column[i] != self.column[i]:
                self.n_seen -= 1
                w = 1.0 if self.row_weight == NULL else self.row_weight[i]
                self.missing_counts[self.y[i]] += w
                if self.y[i] < self.n_classes:
                    self.n_missing += w
        presort(
            self.column, self.n_rows, self.keys, self.keys + self.room, self.order
        )

    cdef void _count_bins(self, intp_t feature) noexcept nogil:
        cdef Leaf* leaf = self.leaf
        cdef intp_t K = self.n_classes
        cdef intp_t width = K + self.has_pool
        cdef const float64_t* histogram = leaf.histogram
        cdef intp_t first, b, c, i
        cdef float32_t x
        cdef float64_t w
        self.n_bins = 0
        if leaf.bins.first == NULL:
            return      # its cuts are not set yet
        first = leaf.bins.first[feature]
        self.n_bins = n_value_bins(&leaf.bins, feature)
        memcpy(self.edges, leaf.bins.edges + first, self.n_bins * sizeof(float32_t))
        memset(self.table, 0, self.n_bins * width * sizeof(float64_t))
        if leaf.memory == ROWS:
            for i in range(self.n_labelled_rows):
                x = self._value(i, feature)
                w = 1.0 if self.row_weight == NULL else self.row_weight[i]
                if x == x:
                    b = bin_of(self.edges, self.n_bins, x)
                    self.table[b * width + self.y[i]] += w
                else:
                    self.missing_counts[self.y[i]] += w
                    self.n_missing += w
            return
        if self.policy.separate and leaf.fresh_histogram != NULL:
            histogram = leaf.fresh_histogram
        for b in range(self.n_bins):
            for c in range(K):
                self.table[b * width + c] = histogram[(first + b) * K + c]
        if leaf.bins.missing:
            for c in range(K):
                self.missing_counts[c] = histogram[(first + self.n_bins) * K + c]
                self.n_missing += self.missing_counts[c]

    cdef void _count_moments(self, intp_t feature) noexcept nogil:
        # Cuts equally far from each other between the extreme values, and how much
        # of each class a normal distribution puts between them.
        cdef Leaf* leaf = self.leaf
        cdef intp_t d = self.n_features
        cdef intp_t width = self.n_classes + self.has_pool
        cdef const Moments* moments = &leaf.moments
        cdef float64_t low, high, below, upto, known
        cdef intp_t b, c
        if self.policy.separate and leaf.fresh_moments.blocks != NULL:
            moments = &leaf.fresh_moments
        self.n_bins = 0
        low = high = 0.0
        if not self.policy.fixed_cuts:
            range_of_moments(moments, d, self.n_classes, feature, &low, &high)
        elif leaf.span == NULL:
            return      # its cuts are not set yet
        else:
            low = leaf.span[2 * feature]
            high = leaf.span[2 * feature + 1]
        # a constant has no cuts, but may be missing
        self.n_bins = NORMAL_CUTS + 1 if low < high else 1
        for b in range(self.n_bins - 1):
            self.edges[b] = <float32_t> (low + (high - low) * (b + 1) / self.n_bins)
        self.edges[self.n_bins - 1] = INFINITY
        memset(self.table, 0, self.n_bins * width * sizeof(float64_t))
        for c in range(self.n_classes):
            if moments.blocks[c] == NULL:
                continue
            known = weight_known(moments, c, feature)
            if known != moments.n[c]:
                # the rest of the class, as every count of the node is a sum of both
                self.missing_counts[c] = self.counts[c] - fmin(known, self.counts[c])
                self.n_missing += self.missing_counts[c]
                if not known > 0.0:
                    continue
            below = 0.0
            for b in range(self.n_bins):
                upto = 1.0
                if b < self.n_bins - 1:
                    upto = normal_share(moments, d, c, feature, self.edges[b])
                self.table[b * width + c] = known * (upto - below)
                below = upto

    cdef void _count_pool(self, intp_t feature) noexcept nogil:
        cdef intp_t width = self.n_classes + 1
        cdef intp_t i, b
        cdef float32_t x
        if self.pool is None or self.n_bins == 0:
            return
        for i in range(self.leaf.n_pool):
            x = self.pool[self.leaf.pool[i], feature]
            if x == x:
                b = bin_of(self.edges, self.n_bins, x)
                self.table[b * width + self.n_classes] += 1.0
            else:
                self.missing_counts[self.n_classes] += 1.0

    # -- walks --------------------------------------------------------------------

    cdef intp_t walk(self, intp_t feature) noexcept nogil:
        self.feature = feature
        self.missing = NONE
        if self.nominal:
            self._fill_categories(feature)
            return self.walk_categories(feature, self._n_codes(feature) + 1)
        self._prepare(feature)
        if self.random_cuts:
            return self._walk_random_cut(feature)
        if self.n_missing > 0.0:
            return self._walk_with_missing(feature)
        if self.missing_counts[self.n_classes] > 0.0:
            self.missing = UNLABELLED
        return self._walk_values(feature)

    cdef intp_t _walk_values(self, intp_t feature) noexcept nogil:
        # The tests of the rows that have a value.
        cdef intp_t n_tests
        if not self.tabulated:
            if self.n_labelled_rows == 0 or self.n_seen == 0:
                return 0
            if self.has_pool:
                return self.walk_sorted_with_pool(
                    self.order, self.n_seen, self.y, NULL, self.row_weight, self.column,
                    1,
                )
            return self.walk_sorted(
                self.order, self.n_seen, self.y, NULL, self.row_weight, self.counts
            )
        if self.policy.fixed_cuts:
            n_tests = self._walk_every_cut()
            # every cut has its share of the evidence, whatever it parts
            self.n_tests[self.slot] = n_tests
            return n_tests
        if self.has_pool:
            return self.walk_histogram_with_pool(self.table, self.n_bins, self.edges)
        return self.walk_histogram(self.table, self.n_bins, self.counts)

    cdef intp_t _walk_with_missing(self, intp_t feature) noexcept nogil:
        # Rows without a value first go right, then alone, then left.
        cdef intp_t K = self.n_classes
        cdef float64_t missing_pool = self.missing_counts[K]
        cdef float64_t n_tests
        cdef intp_t found, c
        if self.n - self.n_missing <= 0.0:
            return 0
        self.additive = False
        found = self._walk_values(feature)
        n_tests = self.n_tests[self.slot]
        for c in range(K):
            self.left[c] = self.counts[c] - self.missing_counts[c]
        self.n_left[0] = self.n - self.n_missing
        self.pool_left[0] = self.node.pool - self.n_missing - missing_pool
        self.position[0] = self._everything()
        self.take(1)
        self.missing = LEFT
        found += 1 + self._walk_values(feature)
        if self.policy.fixed_cuts:
            self.n_tests[self.slot] = 2.0 * n_tests + 1.0
        return found

    cdef inline intp_t _everything(self) noexcept nogil:
        # The cut that has every value on its left.
        return self.n_bins - 1 if self.tabulated else self.n_seen

    cdef void take(self, intp_t size) noexcept nogil:
        if self.missing != NONE:
            self._add_missing(size)
        NodeScan.take(self, size)

    cdef void _add_missing(self, intp_t size) noexcept nogil:
        # Send the rows without a value to the left outcome of tests without them.
        cdef intp_t K = self.n_classes
        cdef const float64_t* counts = self.missing_counts
        cdef intp_t i, c
        for i in range(size):
            if self.missing == UNLABELLED:
                if self.n_left[i] > self.n - self.n_left[i]:
                    self.pool_left[i] += counts[K]
                continue
            for c in range(K):
                self.left[i * K + c] += counts[c]
            self.n_left[i] += self.n_missing
            self.pool_left[i] += self.n_missing + counts[K]
            self.position[i] |= missing_left_bit()

    # -- categories ---------------------------------------------------------------

    cdef inline intp_t _n_codes(self, intp_t feature) noexcept nogil:
        return self.policy.n_codes[feature]

    cdef void _fill_categories(self, intp_t feature) noexcept nogil:
        # Class weights of each category; the last column has no label, the last row is
        # of categories that no labelled row of the tree has had.
        cdef Leaf* leaf = self.leaf
        cdef intp_t K = self.n_classes
        cdef intp_t n_codes = self._n_codes(feature)
        cdef const float64_t* histogram = leaf.histogram
        cdef intp_t i, c, code, first
        memset(self.categories, 0, (n_codes + 1) * (K + 1) * sizeof(float64_t))
        if leaf.memory == ROWS:
            for i in range(self.n_labelled_rows):
                code = <intp_t> self._value(i, feature)
                self.categories[code * (K + 1) + self.y[i]] += (
                    1.0 if self.row_weight == NULL else self.row_weight[i]
                )
        else:
            if self.policy.separate and leaf.fresh_histogram != NULL:
                histogram = leaf.fresh_histogram
            first = leaf.bins.first[feature]
            for code in range(min(n_codes, leaf.bins.first[feature + 1] - first)):
                for c in range(K):
                    self.categories[code * (K + 1) + c] = histogram[
                        (first + code) * K + c
                    ]
        if self.pool is not None:
            for i in range(leaf.n_pool):
                code = <intp_t> self.pool[leaf.pool[i], feature]
                if not 0 <= code < n_codes:
                    code = n_codes
                self.categories[code * (K + 1) + K] += 1.0

    # -- special walks ------------------------------------------------------------

    cdef intp_t _walk_every_cut(self) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t width = K + self.has_pool
        cdef float64_t* running = self.running
        cdef float64_t n_left = 0.0
        cdef float64_t pool_left = 0.0
        cdef intp_t b, c
        memset(running, 0, K * sizeof(float64_t))
        for b in range(self.n_bins - 1):
            for c in range(K):
                running[c] += self.table[b * width + c]
                n_left += self.table[b * width + c]
            pool_left = pool_left + self.table[b * width + K] if self.has_pool else 0.0
            memcpy(self.left + self.size * K, running, K * sizeof(float64_t))
            self.pool_left[self.size] = n_left + pool_left
            self._emit(n_left, b)
        return self._finish()

    cdef uint64_t _random_key(self, intp_t feature) noexcept nogil:
        cdef uint64_t key = mix(self.seed ^ mix(self.leaf.node))
        return mix(mix(key ^ <uint64_t> self.leaf.attempt) ^ <uint64_t> feature)

    cdef float64_t _draw(self, intp_t feature) noexcept nogil:
        # In [0, 1), keyed by node, attempt and feature.
        return unit(self._random_key(feature))

    cdef intp_t _walk_random_cut(self, intp_t feature) noexcept nogil:
        # One test: between the extreme values of rows, among the cuts of a table, and
        # a side drawn for the rows without a value.
        cdef intp_t K = self.n_classes
        cdef intp_t cut, c
        self.additive = False
        if not self.tabulated:
            cut = 0
            if self.n_seen > 1 and self.order[0] >> 1 != self.order[self.n_seen - 1] >> 1:
                while cut < self.n_seen and self.column[self.order[cut] >> 1] <= (
                    self._drawn_threshold()
                ):
                    cut += 1
            if cut == 0:
                cut = self.n_seen
        elif self.n_bins > 1:
            cut = <intp_t> (self._draw(feature) * (self.n_bins - 1))
        else:
            cut = self.n_bins - 1
        if cut == self._everything():
            # a constant: what is left is whether there is a value
            if self.n_missing == 0.0 or not self.n > self.n_missing:
                return 0
        elif self.n_missing > 0.0 and mix(self._random_key(feature)) & 1:
            cut |= missing_left_bit()
        self.count_children(feature, cut)
        self.n_left[0] = 0.0
        for c in range(K):
            self.left[c] = self.children[c]
            self.n_left[0] += self.children[c]
        if self.n_left[0] == 0.0 or self.n_left[0] == self.n:
            return 1        # it varies, but this cut parts nothing
        self.pool_left[0] = self.child_pool[0]
        self.position[0] = cut
        self.take(1)
        return 1

    cdef float64_t _drawn_threshold(self) noexcept nogil:
        cdef float64_t low = self.column[self.order[0] >> 1]
        cdef float64_t high = self.column[self.order[self.n_seen - 1] >> 1]
        cdef float64_t threshold = low + self._draw(self.ready) * (high - low)
        return low if threshold >= high else threshold

    # -- a chosen test ------------------------------------------------------------

    cdef void count_children(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef intp_t width = K + self.has_pool
        cdef intp_t boundary = cut & (missing_left_bit() - 1)
        cdef float64_t* children = self.children
        cdef intp_t i, b, c, row
        cdef float64_t w
        cdef float64_t n_left = 0.0
        if self.n_categories != NULL and self.n_categories[feature] > 0:
            self._fill_categories(feature)
            self.divide_categories(feature, cut, self._n_codes(feature) + 1)
            return
        self._prepare(feature)
        self.n_outcomes = 2
        memset(children, 0, 2 * K * sizeof(float64_t))
        self.child_pool[0] = 0.0
        if self.tabulated:
            for b in range(boundary + 1):
                for c in range(width):
                    self.child_pool[0] += self.table[b * width + c]
                    if c < K:
                        children[c] += self.table[b * width + c]
        else:
            for i in range(boundary):
                row = self.order[i] >> 1
                w = 1.0 if self.row_weight == NULL else self.row_weight[row]
                self.child_pool[0] += w
                if self.y[row] < K:
                    children[self.y[row]] += w
        self.missing_seen = self.n_missing > 0.0
        self.missing_left = cut & missing_left_bit() != 0
        for c in range(K):
            n_left += children[c]
        if not self.missing_seen:
            self.missing_left = n_left > self.n - n_left
        if self.missing_left:
            for c in range(K):
                children[c] += self.missing_counts[c]
            for c in range(K + 1):
                self.child_pool[0] += self.missing_counts[c]
        for c in range(K):
            children[K + c] = max(self.counts[c] - children[c], 0.0)
        if self.by_volume:
            self.child_pool[0] = self.left_volume(feature, cut)
        self.child_pool[1] = self.node.pool - self.child_pool[0]

    cdef float64_t threshold(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef intp_t below = (cut & (missing_left_bit() - 1)) - 1
        cdef intp_t above = below + 1
        self._prepare(feature)
        if self.n_missing > 0.0 and cut == self._everything():
            return INFINITY     # is there a value?
        if self.tabulated:
            return self.edges[above]
        if self.random_cuts:
            return self._drawn_threshold()
        while self.y[self.order[below] >> 1] == self.n_classes:
            below -= 1
        while self.y[self.order[above] >> 1] == self.n_classes:
            above += 1
        return midpoint(
            self.column[self.order[below] >> 1], self.column[self.order[above] >> 1]
        )

    cdef float64_t left_volume(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef const float64_t* limits = self.leaf.box + 2 * feature
        cdef float64_t part = self.threshold(feature, cut)
        if not limits[0] < limits[1] or part == INFINITY:
            return 0.5 * self.node.pool     # a missing value has no place in the box
        part = (part - limits[0]) / (limits[1] - limits[0])
        return self.node.pool * min(max(part, 0.0), 1.0)
