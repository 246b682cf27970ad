"""The rows of a growing leaf, one feature at a time."""

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from skconftree.tree._settings cimport NO_LIMIT, GrowthSettings
from skconftree.tree.leaves._contract cimport BinTable, only_fresh
from skconftree.tree.leaves._leaf_store cimport (
    first_above, is_beyond, line_of, next_beyond, reserve_positions, sort_pool,
)
from skconftree.tree.leaves._rows cimport index_of, policy_of
from skconftree.tree.split._node cimport ExaminedNode, RootStats
from skconftree.tree.split._scan cimport ValueCounts, drawn_between
from skconftree.tree.split._split cimport Children
from skconftree.utils._draws cimport mix
from skconftree.utils._inline cimport midpoint
from skconftree.utils._memory cimport release_all, take_array
from skconftree.utils._sorting cimport presort


cdef class LeafSource(Source):
    """The rows of a growing leaf.

    `pool` has the unlabelled rows, or is None; `root_box` the limits of the
    features, if the weight of a leaf is its volume, else None.
    """

    def __init__(
        self, GrowthSettings settings, RootStats root, const float32_t[:, ::1] pool,
        const float64_t[:, ::1] root_box,
    ):
        super().__init__(ExaminedNode(settings, root))
        self.node.cuts_only = False     # a value may be missing
        cdef intp_t n_features = root.n_features
        cdef intp_t n_classes = root.n_classes
        cdef intp_t n_bins = settings.max_bins
        self.right_is_rest = True
        self.whole = True
        self.sketches = True
        self.pool = pool
        self.stores_positions = settings.max_bytes == NO_LIMIT
        self.root_box = root_box
        self.arena = Arena()
        self.features = <int32_t*> self.arena.take(n_features, sizeof(int32_t))
        self.table = <float64_t*> self.arena.take(
            n_bins * (n_classes + 1), sizeof(float64_t)
        )
        self.edges = <float32_t*> self.arena.take(n_bins, sizeof(float32_t))
        self.missing_counts = <float64_t*> self.arena.take_zeros(
            n_classes + 1, sizeof(float64_t)
        )

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef int enter(self, Leaf* leaf, intp_t depth) except -1 nogil:
        cdef NodeRecord* record = &self.record
        cdef bint separate = only_fresh(leaf, self.policy)
        cdef intp_t f
        self.leaf = leaf
        self.own = policy_of(leaf, self.policy)
        self.ready = -1
        self.tabulated = (
            not leaf.memory.keeps_rows or leaf.memory.counts_rows
            or self.policy.fixed_cuts
        )
        # every one has its share of the evidence
        self.every_cut = self.policy.fixed_cuts
        if leaf.memory.keeps_rows and not leaf.memory.counts_rows:
            self._reserve(leaf.n_rows)
            _gather_rows(self)
        if leaf.n_pool > 0 and not leaf.pool_sorted:
            self._reserve(leaf.n_pool)
            sort_pool(leaf, self.policy, self.pool, self.column, self.keys, self.order)
        self.places = NULL
        if leaf.n_pool > 0 and self.stores_positions and not self.tabulated:
            reserve_positions(leaf, self.policy)
            self.places = leaf.places
        record.id = leaf.node
        record.depth = depth
        record.start = 0
        record.end = <intp_t> (leaf.n_fresh if separate else leaf.n_held) + 1
        record.pool = leaf.n_fresh if separate else leaf.n_held
        if self.node.by_volume:
            record.box = leaf.box
            record.pool = leaf.box[2 * self.node.n_features]
        elif self.node.has_pool:
            record.pool += leaf.n_pool
        for f in range(self.own.n_features):
            self.features[f] = <int32_t> f
            if leaf.drawn != NULL:
                self.features[f] = leaf.drawn.features[f]
        record.features = self.features
        record.n_features = self.own.n_features
        self.counts = leaf.fresh if separate else leaf.held
        # what a histogram took over is fractions of counts
        self.node.integral = self.whole and (
            leaf.memory.keeps_rows or leaf.memory.counts_rows and (
                self.policy.separate or leaf.n_held == leaf.n_fresh
            )
        )
        self.node.filters = True
        return 0

    cdef void begin(self) noexcept nogil:
        self.node.facts.n_fresh = self.leaf.n_fresh
        # Rows that the parent's attempts have examined are examined again, unless only
        # those since the leaf's creation are evidence. The trees of a forest make up for
        # an early split.
        self.node.facts.attempt = self.leaf.attempt + (
            not self.policy.one_bayes
            and (self.policy.hands_over or not self.policy.separate)
        )
        # features and cuts are drawn anew at every attempt, sets of categories are not
        self.node.visit_key = mix(
            self.node.seed ^ mix(<uint64_t> self.leaf.node)
            ^ <uint64_t> (self.leaf.attempt - 1)
        )
        self.node.draw_key = mix(self.node.key ^ <uint64_t> self.leaf.attempt)

    cdef int _reserve(self, intp_t n) except -1 nogil:
        # Room to sort so many rows.
        cdef Blocks* blocks = &self.blocks
        if n > self.room:
            self.room = 0
            release_all(blocks)
            self.column = <float32_t*> take_array(blocks, 2 * n, sizeof(float32_t))
            self.order = <uint32_t*> take_array(blocks, 2 * n, sizeof(uint32_t))
            self.keys = <uint64_t*> take_array(blocks, 4 * n, sizeof(uint64_t))
            self.room = 2 * n
        return 0

    cdef void _sort(self, intp_t feature) noexcept nogil:
        cdef intp_t stride = self.own.n_features
        cdef intp_t place = index_of(self.leaf, feature)
        cdef float64_t w
        cdef intp_t i
        self.n_labelled_seen = self.n_rows
        for i in range(self.n_rows):
            self.column[i] = self.x[i * stride + place]
            if self.column[i] != self.column[i]:
                self.n_labelled_seen -= 1
                w = 1.0 if self.row_weight == NULL else self.row_weight[i]
                self.missing_counts[self.y[i]] += w
                self.n_missing += w
        self.n_seen = self.n_labelled_seen + self.n_pool_seen
        presort(self.column, self.n_rows, self.keys, self.keys + self.room, self.order)

    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t c
        _prepare(self, feature)
        if not (self.n_missing > 0.0 or self.missing_counts[K] > 0.0):
            return False
        memcpy(values.missing, self.missing_counts, (K + 1) * sizeof(float64_t))
        values.n_missing = self.n_missing
        for c in range(K):
            values.seen[c] = self.node.counts[c] - self.missing_counts[c]
        values.n_seen = self.node.n - self.n_missing
        values.pool_seen = (
            self.node.record.pool - self.n_missing - self.missing_counts[K]
        )
        values.seen[K] = values.pool_seen - values.n_seen
        return True

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        if not self.tabulated:
            if self.n_rows == 0 or self.n_seen == 0:
                return 0
            if self.node.has_pool:
                return _walk_with_pool(self, feature, scan)
            return scan.walk_sorted(
                self.order, self.n_seen, self.y, NULL, self.row_weight,
                self.node.counts,
            )
        if self.policy.fixed_cuts:
            return _walk_every_cut(self, scan)
        if self.node.has_pool:
            return scan.walk_histogram_with_pool(self.table, self.n_bins, self.edges)
        return scan.walk_histogram(self.table, self.n_bins, self.node.counts)

    cdef intp_t sketch(self, intp_t feature, float32_t* left) noexcept nogil:
        if (
            self.leaf.memory.sketch == NULL or self.policy.missing
            or self.policy.n_nominal > 0 or self.policy.fixed_cuts
        ):
            return -1
        return self.leaf.memory.sketch(
            self.leaf, self.own, index_of(self.leaf, feature), self.node.n, left
        )

    cdef intp_t everything(self, intp_t feature) noexcept nogil:
        _prepare(self, feature)
        return self.n_bins - 1 if self.tabulated else self.n_seen

    cdef intp_t draw(
        self, intp_t feature, float64_t u, float64_t* threshold
    ) noexcept nogil:
        # Between the extreme values of rows, among the cuts of a table.
        cdef intp_t place = 0
        cdef float64_t low = INFINITY
        cdef float64_t high = -INFINITY
        _prepare(self, feature)
        if self.tabulated:
            if self.n_bins < 2:
                return -1
            place = <intp_t> (u * (self.n_bins - 1))
            threshold[0] = self.edges[place]
            return place
        if self.n_labelled_seen > 0:
            low = self.column[self.order[0] >> 1]
            high = self.column[self.order[self.n_labelled_seen - 1] >> 1]
        if self.n_pool_seen > 0:
            low = min(low, <float64_t> self.pool[self.line[0], feature])
            high = max(
                high, <float64_t> self.pool[self.line[self.n_pool_seen - 1], feature]
            )
        if not low < high:
            return -1
        threshold[0] = drawn_between(low, high, u)
        while (
            place < self.n_labelled_seen
            and self.column[self.order[place] >> 1] <= threshold[0]
        ):
            place += 1
        return place + first_above(
            self.pool, self.line, 0, self.n_pool_seen, feature, threshold[0], False
        )

    cdef float64_t threshold(self, intp_t feature, intp_t place) noexcept nogil:
        cdef intp_t n_left
        _prepare(self, feature)
        if self.tabulated:
            return self.edges[place]
        n_left = _n_labelled(self, feature, place)
        return midpoint(
            self.column[self.order[n_left - 1] >> 1],
            self.column[self.order[n_left] >> 1],
        )

    cdef bint count_sides(
        self, intp_t feature, intp_t place, Children* children, ValueCounts* values
    ) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t width = K + self.node.has_pool
        cdef intp_t below = 0
        cdef intp_t i, b, c, row, n_left, until, _
        cdef float64_t w
        _prepare(self, feature)
        if self.tabulated:
            for b in range(place + 1):
                for c in range(width):
                    children.pool[0] += self.table[b * width + c]
                    if c < K:
                        children.counts[c] += self.table[b * width + c]
        else:
            n_left = _n_labelled(self, feature, place)
            for i in range(n_left):
                row = self.order[i] >> 1
                w = 1.0 if self.row_weight == NULL else self.row_weight[row]
                if not self.whole:      # sums round, as a walk over all rows would
                    until = first_above(
                        self.pool, self.line, below, self.n_pool_seen, feature,
                        self.column[row], True,
                    )
                    for _ in range(below, until):
                        children.pool[0] += 1.0
                    below = until
                children.pool[0] += w
                children.counts[self.y[row]] += w
            for _ in range(below, place - n_left):
                children.pool[0] += 1.0
        values.rows_missing = 0
        values.labelled_missing = 0
        return self.count_values(feature, values)

    cdef intp_t count_categories(
        self, intp_t feature, float64_t* counts
    ) noexcept nogil:
        # Other categories are those that no labelled row of the tree has had.
        cdef Leaf* leaf = self.leaf
        cdef intp_t K = self.node.n_classes
        cdef intp_t n_codes = self.policy.n_codes[feature]
        cdef intp_t i, code
        memset(counts, 0, (n_codes + 1) * (K + 1) * sizeof(float64_t))
        leaf.memory.count_categories(
            leaf, self.own, index_of(leaf, feature), n_codes, counts, K + 1
        )
        if self.pool is not None:
            for i in range(leaf.n_pool):
                code = <intp_t> self.pool[leaf.pool[i], feature]
                if not 0 <= code < n_codes:
                    code = n_codes
                counts[code * (K + 1) + K] += 1.0
        return n_codes + 1


cdef void _gather_rows(LeafSource self) noexcept nogil:
    # Point at the rows that count.
    cdef Leaf* leaf = self.leaf
    cdef intp_t first = leaf.n_inherited if only_fresh(leaf, self.policy) else 0
    self.n_rows = leaf.n_rows - first
    self.x = leaf.x + first * self.own.n_features
    self.y = leaf.y + first
    self.row_weight = NULL if leaf.weight == NULL else leaf.weight + first


cdef void _prepare(LeafSource self, intp_t feature) noexcept nogil:
    if self.ready == feature:
        return
    self.ready = feature
    self.n_missing = 0.0
    self.n_pool_seen = 0
    memset(self.missing_counts, 0, (self.node.n_classes + 1) * sizeof(float64_t))
    if self.leaf.n_pool > 0:
        self.line = line_of(self.leaf, self.policy, feature)
        self.n_pool_seen = first_above(
            self.pool, self.line, 0, self.leaf.n_pool, feature, INFINITY, False
        )
        self.missing_counts[self.node.n_classes] = (
            <float64_t> (self.leaf.n_pool - self.n_pool_seen)
        )
    if not self.tabulated:
        self._sort(feature)
    else:
        _tabulate(self, feature)
        _count_pool(self, feature)


cdef void _tabulate(LeafSource self, intp_t feature) noexcept nogil:
    cdef BinTable table
    table.width = self.node.n_classes + self.node.has_pool
    table.n_bins = 0
    table.edges = self.edges
    table.counts = self.table
    table.missing = self.missing_counts
    table.n_missing = 0.0
    self.leaf.memory.tabulate(
        self.leaf, self.own, index_of(self.leaf, feature), &table
    )
    self.n_bins = table.n_bins
    self.n_missing = table.n_missing


cdef void _count_pool(LeafSource self, intp_t feature) noexcept nogil:
    cdef intp_t width = self.node.n_classes + 1
    cdef intp_t below = 0
    cdef intp_t until, b
    if self.n_bins == 0:    # no test of any kind
        self.missing_counts[self.node.n_classes] = 0.0
    for b in range(self.n_bins):
        if self.n_pool_seen == 0:
            break
        until = self.n_pool_seen
        if b < self.n_bins - 1:
            until = first_above(
                self.pool, self.line, below, until, feature, self.edges[b], False
            )
        self.table[b * width + self.node.n_classes] += until - below
        below = until


cdef intp_t _walk_every_cut(LeafSource self, Scan scan) noexcept nogil:
    cdef intp_t K = self.node.n_classes
    cdef bint has_pool = self.node.has_pool
    cdef intp_t width = K + has_pool
    cdef float64_t* running = scan.running
    cdef float64_t n_left = 0.0
    cdef float64_t pool_left = 0.0
    cdef intp_t b, c
    memset(running, 0, K * sizeof(float64_t))
    for b in range(self.n_bins - 1):
        for c in range(K):
            running[c] += self.table[b * width + c]
            n_left += self.table[b * width + c]
        pool_left = pool_left + self.table[b * width + K] if has_pool else 0.0
        memcpy(scan.left + scan.size * K, running, K * sizeof(float64_t))
        scan.pool_left[scan.size] = n_left + pool_left
        scan.emit(n_left, b)
    return scan.finish()


cdef intp_t _walk_with_pool(LeafSource self, intp_t feature, Scan scan) noexcept nogil:
    # Unlabelled rows lie on the side of the midpoint between the labelled values
    # around them. What they weigh is added as a walk over all rows would add it.
    cdef intp_t K = self.node.n_classes
    cdef float64_t* running = scan.running
    cdef float64_t w, cut
    cdef float64_t n_left = 0.0
    cdef intp_t below = 0       # unlabelled rows below the last labelled value
    cdef intp_t last = -1
    cdef intp_t until = 0
    cdef intp_t step = max(self.n_pool_seen // max(self.n_labelled_seen, 1), 1)
    cdef intp_t n_lines = self.policy.pool.n_lines - 1
    cdef int32_t* places = NULL
    cdef intp_t p, row, place
    if self.places != NULL:
        places = self.places + self.policy.pool_line[feature] - 1
    memset(running, 0, K * sizeof(float64_t))
    for p in range(self.n_labelled_seen):
        row = self.order[p] >> 1
        if last >= 0 and self.column[row] != self.column[last]:
            cut = midpoint(self.column[last], self.column[row])
            if self.row_weight != NULL:     # whole numbers add up in any order
                below = first_above(
                    self.pool, self.line, until, self.n_pool_seen, feature,
                    self.column[last], True,
                )
                until = below
            place = -1 if places == NULL else places[last * n_lines]
            if is_beyond(
                self.pool, self.line, until, self.n_pool_seen, feature, cut, place
            ):
                until = place
            else:
                until = next_beyond(
                    self.pool, self.line, until, self.n_pool_seen, feature, cut,
                    step,
                )
                if places != NULL:
                    places[last * n_lines] = <int32_t> until
            memcpy(scan.left + scan.size * K, running, K * sizeof(float64_t))
            scan.pool_left[scan.size] = (
                n_left + <float64_t> below + <float64_t> (until - below)
            )
            scan.emit(n_left, p + until)
        w = 1.0 if self.row_weight == NULL else self.row_weight[row]
        running[self.y[row]] += w
        n_left += w
        last = row
    return scan.finish()


cdef intp_t _n_labelled(LeafSource self, intp_t feature, intp_t place) noexcept nogil:
    # Labelled rows among those on the left. Of equal values they come first.
    cdef intp_t low = 0
    cdef intp_t high = self.n_labelled_seen
    cdef intp_t middle
    if self.n_pool_seen == 0:
        return place
    while low < high:
        middle = low + ((high - low) >> 1)
        if middle + first_above(
            self.pool, self.line, 0, self.n_pool_seen, feature,
            self.column[self.order[middle] >> 1], True,
        ) < place:
            low = middle + 1
        else:
            high = middle
    return low
