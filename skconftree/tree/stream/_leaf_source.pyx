"""The rows of a leaf of a tree trained row by row, one feature at a time.

A leaf stores rows, or class counts of bins (here a table), or moments. Evidence is the rows, or
counts, that the split rule (bound) uses. A cut is a candidate threshold; its position is the last
bin, or the number of rows, on its left. A walk passes the candidate splits of a feature to a
Scan, in ascending order; a sketch is a fast approximation of their class counts. The pool is the
unlabeled rows. A policy has the settings that the leaves share. LeafSource implements the methods
of Source (split/_scan.pxd), from which the split search gets the rows. See _leaf_source.pxd.

An element of `order` is 2 * row, plus 1 if the value differs from that of the row before.
`row_list` has the unlabeled rows of the leaf in the order of a feature. In a range of it,
first_above() finds the first value above another, or equal to it if its last argument is True.
next_beyond() does so, too, and is fast if it is about `step` elements away; is_beyond() is whether
a position is that of the first value above a cut.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from skconftree.tree._settings cimport NO_LIMIT, GrowthSettings
from skconftree.tree.leaves._contract cimport BinTable, uses_fresh_only
from skconftree.tree.leaves._leaf_store cimport (
    first_above, is_beyond, pool_list_of, next_beyond, reserve_positions, sort_pool,
)
from skconftree.tree.leaves._rows cimport index_of, policy_of
from skconftree.tree.split._node cimport ExaminedNode, RootStats
from skconftree.tree.split._scan cimport ValueCounts, random_threshold
from skconftree.tree.split._split cimport Children
from skconftree.utils._draws cimport mix
from skconftree.utils._inline cimport midpoint
from skconftree.utils._memory cimport release_all, take_array
from skconftree.utils._sorting cimport presort


cdef class LeafSource(Source):
    """The rows of a leaf.

    `pool` has the unlabeled rows, or is None; `root_box` has the limits of the
    features if the weight of a leaf is its volume, else None.
    """

    def __init__(
        self, GrowthSettings settings, RootStats root, const float32_t[:, ::1] pool,
        const float64_t[:, ::1] root_box,
    ):
        super().__init__(ExaminedNode(settings, root))
        self.node.only_thresholds = False     # a split may depend on missing values
        cdef intp_t n_features = root.n_features
        cdef intp_t n_classes = root.n_classes
        cdef intp_t n_bins = settings.max_bins
        # the right side of a cut has the node's counts minus those of the left side
        self.right_is_rest = True
        self.all_integer = True
        self.sketches = True        # sketch() is supported
        self.pool = pool
        self.stores_positions = settings.max_bytes == NO_LIMIT
        self.root_box = root_box
        self.arena = Arena()
        self.features = <int32_t*> self.arena.take(n_features, sizeof(int32_t))
        self.table = <float64_t*> self.arena.take(n_bins * (n_classes + 1), sizeof(float64_t))
        self.edges = <float32_t*> self.arena.take(n_bins, sizeof(float32_t))
        self.missing_counts = <float64_t*> self.arena.take_zeros(n_classes + 1, sizeof(float64_t))

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef int enter(self, Leaf* leaf, intp_t depth) except -1 nogil:
        cdef NodeRecord* record = &self.record
        # `separate`: only the fresh rows, since the leaf's creation, are evidence
        cdef bint separate = uses_fresh_only(leaf, self.policy)
        cdef intp_t f
        self.leaf = leaf
        self.leaf_policy = policy_of(leaf, self.policy)
        self.prepared_feature = -1
        self.uses_table = (
            not leaf.memory.stores_rows or leaf.memory.counts_bins
            or self.policy.fixed_cuts
        )
        # a bound with fixed cuts averages evidence over all of them, even those without rows
        self.every_cut = self.policy.fixed_cuts
        if leaf.memory.stores_rows and not leaf.memory.counts_bins:
            self._reserve(leaf.n_rows)
            _gather_rows(self)
        if leaf.n_pool > 0 and not leaf.pool_sorted:
            self._reserve(leaf.n_pool)
            sort_pool(leaf, self.policy, self.pool, self.column, self.keys, self.order)
        self.cut_positions = NULL
        if leaf.n_pool > 0 and self.stores_positions and not self.uses_table:
            reserve_positions(leaf, self.policy)
            self.cut_positions = leaf.cut_positions
        record.id = leaf.node
        record.depth = depth
        # end - start stands for the number of rows: a leaf may store only their weight
        record.start = 0
        record.end = <intp_t> (leaf.n_fresh if separate else leaf.n_total) + 1
        # weight with unlabeled rows or, if `by_volume`, volume of the leaf in feature space
        record.pool = leaf.n_fresh if separate else leaf.n_total
        if self.node.by_volume:
            record.box = leaf.box
            record.pool = leaf.box[2 * self.node.n_features]
        elif self.node.has_pool:
            record.pool += leaf.n_pool
        for f in range(self.leaf_policy.n_features):
            self.features[f] = <int32_t> f
            if leaf.subset != NULL:
                self.features[f] = leaf.subset.features[f]
        record.features = self.features
        record.n_features = self.leaf_policy.n_features
        self.counts = leaf.fresh if separate else leaf.total
        # whether all counts are integers; inherited histograms have fractional counts
        self.node.integral = self.all_integer and (
            leaf.memory.stores_rows or leaf.memory.counts_bins and (
                self.policy.separate or leaf.n_total == leaf.n_fresh
            )
        )
        self.node.has_min_weight = True     # a child may be too small: this must be checked
        return 0

    cdef void begin(self) noexcept nogil:
        # Called before the split search at the leaf.
        self.node.stats.n_fresh = self.leaf.n_fresh
        # Unless evidence is limited to rows since the leaf's creation, its rows were
        # also examined at its parent, so its first attempt counts as the second. The
        # trees of a forest (`single_bayes`) skip this, because early splits have little effect on
        # their average.
        self.node.stats.attempt = self.leaf.attempt + (
            not self.policy.single_bayes
            and (self.policy.inherited_is_evidence or not self.policy.separate)
        )
        # seeds of the order of features, and of thresholds: each attempt draws others, but the
        # same sets of categories, whose seed is `key`
        self.node.visit_key = mix(
            self.node.seed ^ mix(<uint64_t> self.leaf.node)
            ^ <uint64_t> (self.leaf.attempt - 1)
        )
        self.node.draw_key = mix(self.node.key ^ <uint64_t> self.leaf.attempt)

    cdef int _reserve(self, intp_t n) except -1 nogil:
        # Allocate memory to sort n rows.
        cdef Blocks* blocks = &self.blocks
        if n > self.capacity:
            self.capacity = 0
            release_all(blocks)
            self.column = <float32_t*> take_array(blocks, 2 * n, sizeof(float32_t))
            self.order = <uint32_t*> take_array(blocks, 2 * n, sizeof(uint32_t))
            self.keys = <uint64_t*> take_array(blocks, 4 * n, sizeof(uint64_t))
            self.capacity = 2 * n
        return 0

    cdef void _sort(self, intp_t feature) noexcept nogil:
        # Sort the labeled rows by a feature, and count those without a value.
        cdef intp_t stride = self.leaf_policy.n_features
        cdef intp_t position = index_of(self.leaf, feature)
        cdef float64_t w
        cdef intp_t i
        self.n_labeled_present = self.n_rows
        for i in range(self.n_rows):
            self.column[i] = self.x[i * stride + position]
            if self.column[i] != self.column[i]:
                self.n_labeled_present -= 1
                w = 1.0 if self.row_weight == NULL else self.row_weight[i]
                self.missing_counts[self.y[i]] += w
                self.n_missing += w
        self.n_present = self.n_labeled_present + self.n_pool_present
        presort(self.column, self.n_rows, self.keys, self.keys + self.capacity, self.order)

    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil:
        # Count the rows with and without a value; returns whether a value is missing. Element K of
        # the counts is that of the unlabeled rows.
        cdef intp_t K = self.node.n_classes
        cdef intp_t c
        _prepare(self, feature)
        if not (self.n_missing > 0.0 or self.missing_counts[K] > 0.0):
            return False
        memcpy(values.missing, self.missing_counts, (K + 1) * sizeof(float64_t))
        values.n_missing = self.n_missing
        for c in range(K):
            values.present[c] = self.node.counts[c] - self.missing_counts[c]
        values.n_present = self.node.n - self.n_missing
        values.pool_present = (self.node.record.pool - self.n_missing - self.missing_counts[K])
        values.present[K] = values.pool_present - values.n_present
        return True

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        if not self.uses_table:
            if self.n_rows == 0 or self.n_present == 0:
                return 0
            if self.node.has_pool:
                return _walk_with_pool(self, feature, scan)
            # NULL: there are no numbers of repetitions of the rows
            return scan.walk_sorted(
                self.order, self.n_present, self.y, NULL, self.row_weight, self.node.counts,
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
            return -1       # there is no sketch
        return self.leaf.memory.sketch(
            self.leaf, self.leaf_policy, index_of(self.leaf, feature), self.node.n, left
        )

    cdef intp_t end_position(self, intp_t feature) noexcept nogil:
        # The position at which all rows with a value are on the left.
        _prepare(self, feature)
        return self.n_bins - 1 if self.uses_table else self.n_present

    cdef intp_t draw(self, intp_t feature, float64_t u, float64_t* threshold) noexcept nogil:
        # Draw a threshold uniformly between the extreme values, or a random cut of a table, with
        # the uniform random number u. Returns its position; -1 if the feature is constant.
        cdef intp_t position = 0
        cdef float64_t low = INFINITY
        cdef float64_t high = -INFINITY
        _prepare(self, feature)
        if self.uses_table:
            if self.n_bins < 2:
                return -1
            position = <intp_t> (u * (self.n_bins - 1))
            threshold[0] = self.edges[position]
            return position
        if self.n_labeled_present > 0:
            low = self.column[self.order[0] >> 1]
            high = self.column[self.order[self.n_labeled_present - 1] >> 1]
        if self.n_pool_present > 0:
            low = min(low, <float64_t> self.pool[self.row_list[0], feature])
            high = max(
                high, <float64_t> self.pool[self.row_list[self.n_pool_present - 1], feature]
            )
        if not low < high:
            return -1
        threshold[0] = random_threshold(low, high, u)
        while (
            position < self.n_labeled_present
            and self.column[self.order[position] >> 1] <= threshold[0]
        ):
            position += 1
        return position + first_above(
            self.pool, self.row_list, 0, self.n_pool_present, feature, threshold[0], False
        )

    cdef float64_t threshold(self, intp_t feature, intp_t position) noexcept nogil:
        cdef intp_t n_left
        _prepare(self, feature)
        if self.uses_table:
            return self.edges[position]
        n_left = _n_labeled(self, feature, position)
        return midpoint(
            self.column[self.order[n_left - 1] >> 1], self.column[self.order[n_left] >> 1],
        )

    cdef bint count_sides(
        self, intp_t feature, intp_t position, Children* children, ValueCounts* values
    ) noexcept nogil:
        # Count the rows on the left of a cut, and those with and without a value. `children.pool`
        # is the weight including the unlabeled rows.
        cdef intp_t K = self.node.n_classes
        cdef intp_t width = K + self.node.has_pool
        cdef intp_t below = 0
        cdef intp_t i, b, c, row, n_left, until, _
        cdef float64_t w
        _prepare(self, feature)
        if self.uses_table:
            for b in range(position + 1):
                for c in range(width):
                    children.pool[0] += self.table[b * width + c]
                    if c < K:
                        children.counts[c] += self.table[b * width + c]
        else:
            n_left = _n_labeled(self, feature, position)
            for i in range(n_left):
                row = self.order[i] >> 1
                w = 1.0 if self.row_weight == NULL else self.row_weight[row]
                if not self.all_integer:      # add in the same order as walk(): sums round
                    until = first_above(
                        self.pool, self.row_list, below, self.n_pool_present, feature,
                        self.column[row], True,
                    )
                    for _ in range(below, until):
                        children.pool[0] += 1.0
                    below = until
                children.pool[0] += w
                children.counts[self.y[row]] += w
            for _ in range(below, position - n_left):
                children.pool[0] += 1.0
        values.rows_missing = 0         # numbers of rows, which only tables need
        values.labeled_missing = 0
        return self.count_values(feature, values)

    cdef intp_t count_categories(self, intp_t feature, float64_t* counts) noexcept nogil:
        # Count the rows of each category by class, and the unlabeled rows. Categories without
        # labeled rows in the tree share the last code. Returns the number of codes.
        cdef Leaf* leaf = self.leaf
        cdef intp_t K = self.node.n_classes
        cdef intp_t n_codes = self.policy.n_codes[feature]
        cdef intp_t i, code
        memset(counts, 0, (n_codes + 1) * (K + 1) * sizeof(float64_t))
        leaf.memory.count_categories(
            leaf, self.leaf_policy, index_of(leaf, feature), n_codes, counts, K + 1
        )
        if self.pool is not None:
            for i in range(leaf.n_pool):
                code = <intp_t> self.pool[leaf.pool[i], feature]
                if not 0 <= code < n_codes:
                    code = n_codes
                counts[code * (K + 1) + K] += 1.0
        return n_codes + 1


cdef void _gather_rows(LeafSource source) noexcept nogil:
    # Set x, y and row_weight to the rows that are evidence.
    cdef Leaf* leaf = source.leaf
    cdef intp_t first = leaf.n_inherited if uses_fresh_only(leaf, source.policy) else 0
    source.n_rows = leaf.n_rows - first
    source.x = leaf.x + first * source.leaf_policy.n_features
    source.y = leaf.y + first
    source.row_weight = NULL if leaf.weight == NULL else leaf.weight + first


cdef void _prepare(LeafSource source, intp_t feature) noexcept nogil:
    # Sort or tabulate the rows by a feature, unless this was the last one.
    if source.prepared_feature == feature:
        return
    source.prepared_feature = feature
    source.n_missing = 0.0
    source.n_pool_present = 0
    memset(source.missing_counts, 0, (source.node.n_classes + 1) * sizeof(float64_t))
    if source.leaf.n_pool > 0:
        source.row_list = pool_list_of(source.leaf, source.policy, feature)
        source.n_pool_present = first_above(
            source.pool, source.row_list, 0, source.leaf.n_pool, feature, INFINITY, False
        )
        source.missing_counts[source.node.n_classes] = (
            <float64_t> (source.leaf.n_pool - source.n_pool_present)
        )
    if not source.uses_table:
        source._sort(feature)
    else:
        _tabulate(source, feature)
        _count_pool(source, feature)


cdef void _tabulate(LeafSource source, intp_t feature) noexcept nogil:
    cdef BinTable table
    table.width = source.node.n_classes + source.node.has_pool
    table.n_bins = 0
    table.edges = source.edges
    table.counts = source.table
    table.missing = source.missing_counts
    table.n_missing = 0.0
    source.leaf.memory.tabulate(
        source.leaf, source.leaf_policy, index_of(source.leaf, feature), &table
    )
    source.n_bins = table.n_bins
    source.n_missing = table.n_missing


cdef void _count_pool(LeafSource source, intp_t feature) noexcept nogil:
    # Add the unlabeled rows to the table.
    cdef intp_t width = source.node.n_classes + 1
    cdef intp_t below = 0
    cdef intp_t until, b
    if source.n_bins == 0:    # no candidate split of any kind
        source.missing_counts[source.node.n_classes] = 0.0
    for b in range(source.n_bins):
        if source.n_pool_present == 0:
            break
        until = source.n_pool_present
        if b < source.n_bins - 1:
            until = first_above(
                source.pool, source.row_list, below, until, feature, source.edges[b], False
            )
        source.table[b * width + source.node.n_classes] += until - below
        below = until


cdef intp_t _walk_every_cut(LeafSource source, Scan scan) noexcept nogil:
    # Pass all cuts of the table to the scan, even those without rows between them. emit() adds a
    # candidate, whose counts have been written at index scan.size; finish() returns their number.
    # `pool_left` is the weight on the left, including unlabeled rows.
    cdef intp_t K = source.node.n_classes
    cdef bint has_pool = source.node.has_pool
    cdef intp_t width = K + has_pool
    cdef float64_t* running = scan.running
    cdef float64_t n_left = 0.0
    cdef float64_t pool_left = 0.0
    cdef intp_t b, c
    memset(running, 0, K * sizeof(float64_t))
    for b in range(source.n_bins - 1):
        for c in range(K):
            running[c] += source.table[b * width + c]
            n_left += source.table[b * width + c]
        pool_left = pool_left + source.table[b * width + K] if has_pool else 0.0
        memcpy(scan.left + scan.size * K, running, K * sizeof(float64_t))
        scan.pool_left[scan.size] = n_left + pool_left
        scan.emit(n_left, b)
    return scan.finish()


cdef intp_t _walk_with_pool(LeafSource source, intp_t feature, Scan scan) noexcept nogil:
    # Unlabeled rows go left if their value is at most the midpoint between the neighboring
    # labeled values. Weights are added in the same order as in a walk over all rows.
    cdef intp_t K = source.node.n_classes
    cdef float64_t* running = scan.running
    cdef float64_t w, cut
    cdef float64_t n_left = 0.0
    cdef intp_t below = 0       # unlabeled rows below the last labeled value
    cdef intp_t last = -1
    cdef intp_t until = 0       # unlabeled rows on the left of the cut
    # unlabeled rows per labeled row: how far the next cut is expected in the list
    cdef intp_t step = max(source.n_pool_present // max(source.n_labeled_present, 1), 1)
    cdef intp_t n_lists = source.policy.pool.n_lists - 1
    cdef int32_t* cut_positions = NULL
    cdef intp_t p, row, position
    # per labeled row and numeric feature (lists 1, 2, ...; list 0 is not sorted): where the cut
    # above the row was in the list at the last attempt
    if source.cut_positions != NULL:
        cut_positions = source.cut_positions + source.policy.pool_list[feature] - 1
    memset(running, 0, K * sizeof(float64_t))
    for p in range(source.n_labeled_present):
        row = source.order[p] >> 1
        if last >= 0 and source.column[row] != source.column[last]:
            cut = midpoint(source.column[last], source.column[row])
            if source.row_weight != NULL:     # sums of integers do not depend on the order
                below = first_above(
                    source.pool, source.row_list, until, source.n_pool_present, feature,
                    source.column[last], True,
                )
                until = below
            position = -1 if cut_positions == NULL else cut_positions[last * n_lists]
            if is_beyond(
                source.pool, source.row_list, until, source.n_pool_present, feature, cut, position
            ):
                until = position
            else:
                until = next_beyond(
                    source.pool, source.row_list, until, source.n_pool_present, feature, cut, step,
                )
                if cut_positions != NULL:
                    cut_positions[last * n_lists] = <int32_t> until
            memcpy(scan.left + scan.size * K, running, K * sizeof(float64_t))
            scan.pool_left[scan.size] = (n_left + <float64_t> below + <float64_t> (until - below))
            scan.emit(n_left, p + until)
        w = 1.0 if source.row_weight == NULL else source.row_weight[row]
        running[source.y[row]] += w
        n_left += w
        last = row
    return scan.finish()


cdef intp_t _n_labeled(LeafSource source, intp_t feature, intp_t position) noexcept nogil:
    # Number of labeled rows on the left of a cut. Among rows of the same value, labeled rows
    # come first.
    cdef intp_t low = 0
    cdef intp_t high = source.n_labeled_present
    cdef intp_t middle
    if source.n_pool_present == 0:
        return position
    while low < high:
        middle = low + ((high - low) >> 1)
        if middle + first_above(
            source.pool, source.row_list, 0, source.n_pool_present, feature,
            source.column[source.order[middle] >> 1], True,
        ) < position:
            low = middle + 1
        else:
            high = middle
    return low
