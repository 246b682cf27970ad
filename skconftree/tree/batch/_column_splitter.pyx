"""The best test of a node of a table."""

from libc.math cimport INFINITY, fmin
from libc.string cimport memset

from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.split._missing cimport LEFT, NONE, UNLABELLED, missing_left_bit
from skconftree.tree.split._node cimport NodeScan, RootFacts
from skconftree.tree.batch._code_counts cimport count_codes, sort_codes
from skconftree.tree.split._scan cimport REPEATS, weight_of
from skconftree.tables._sparse_columns cimport CODED, SparseColumn
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._midpoint cimport midpoint

cdef enum:
    SORT_LIMIT = 16384       # rows of a node sorted on the fly


cdef class ColumnSplitter(Splitter):
    """Finds the best test of a node of a table.

    Parameters
    ----------
    rows : NodeRows
    settings : GrowthSettings
    root : RootFacts
    criterion : Criterion
    bound : Bound or None
    """

    def __init__(
        self, NodeRows rows, GrowthSettings settings, RootFacts root,
        Criterion criterion, Bound bound,
    ):
        cdef intp_t K = root.n_classes
        cdef intp_t f
        # more repeats are not walked one by one
        root.largest_count = min(root.largest_count, REPEATS * rows.n_rows)
        super().__init__(settings, root, criterion, bound)
        cdef intp_t n_levels = max(<intp_t> MAX_LEVELS, self.category_room + 1)
        self.rows = rows
        for f in range(rows.n_features):
            if rows.sparse is None and rows.columns[f].has_missing:
                self.cuts_only = False
        self.arena = Arena()
        self.histogram = <float64_t*> self.arena.take(
            MAX_LEVELS * (K + 1), sizeof(float64_t)
        )
        self.tally = <int32_t*> self.arena.take(n_levels * (K + 1), sizeof(int32_t))
        self.missing_counts = <float64_t*> self.arena.take_zeros(
            K + 1, sizeof(float64_t)
        )
        self.seen_counts = <float64_t*> self.arena.take_zeros(K + 1, sizeof(float64_t))
        self.sorted_rows = <uint32_t*> self.arena.take(SORT_LIMIT, sizeof(uint32_t))
        self.keys = <uint32_t*> self.arena.take(SORT_LIMIT, sizeof(uint32_t))

    cdef intp_t walk(self, intp_t feature) noexcept nogil:
        # Walk one feature; returns 0 if it is constant in the node.
        self.feature = feature
        self.sorted_codes = NULL
        self.missing = NONE
        if self.nominal:
            self._count_codes(
                &self.rows.columns[feature], self.n_classes + 1, self.categories
            )
            return self.walk_categories(
                feature, self.rows.columns[feature].n_levels
            )
        if self.rows.is_sparse(feature):
            if self.rows.sparse.n_stored(feature) == 0:
                return 0
            if self._is_counted_sparse(feature):
                return self._walk_sparse(feature)
        if self.random_cuts:
            return self._walk_random_cut(feature)
        if self._column(feature).has_missing:
            return self._walk_with_missing(feature)
        return self._walk_values(feature)

    cdef intp_t _walk_values(self, intp_t feature) noexcept nogil:
        cdef Column* column = self._column(feature)
        cdef intp_t start = self.node.start
        cdef intp_t n = self.node.end - start
        cdef const int32_t* count = self.rows.node_count
        cdef const float64_t* weight = self.rows.node_weight
        if column.order != NULL:
            return self._walk_order(column, n)
        if not self._counts_codes(column.n_levels):
            sort_codes(
                column.codes + start, n, column.n_levels, self.keys, self.sorted_rows
            )
            self.sorted_codes = column.codes + start
            return self.walk_sorted(
                self.sorted_rows, n, self.rows.node_y + start,
                count + start if count != NULL else NULL,
                weight + start if weight != NULL else NULL, self.counts,
            )
        self._count_codes(column, self.n_classes + self.has_pool, self.histogram)
        if self.has_pool:
            return self.walk_histogram_with_pool(
                self.histogram, column.n_levels, column.levels
            )
        return self.walk_histogram(self.histogram, column.n_levels, self.counts)

    cdef intp_t _walk_order(self, const Column* column, intp_t n) noexcept nogil:
        # The first n rows of the node, in the order of their values.
        if self.has_pool:
            return self.walk_sorted_with_pool(
                column.order + self.node.start, n, self.rows.y, self.rows.count,
                self.rows.weight, column.values, self.rows.stride,
            )
        return self.walk_sorted(
            column.order + self.node.start, n, self.rows.y, self.rows.count,
            self.rows.weight, self.counts,
        )

    # -- columns of sparse tables ---------------------------------------------------

    cdef void begin(self, NodeRecord* node, const float64_t* counts) noexcept nogil:
        # Sparse columns have entered the node.
        cdef const int32_t* count = self.rows.node_count
        cdef const float64_t* weight = self.rows.node_weight
        cdef intp_t i
        NodeScan.begin(self, node, counts)
        if count != NULL:
            self.n_repeated = self.n
        self.n_walked = fmin(
            self.n_repeated, <float64_t> REPEATS * (node.end - node.start)
        )
        if self.rows.sparse is None:
            return
        self.rows.sparse.dense_feature = -1
        self.unlabelled = 0.0
        if self.has_pool:
            for i in range(node.start, node.end):
                if self.rows.node_y[i] == self.n_classes:
                    self.unlabelled += weight_of(count, weight, i)

    cdef inline Column* _column(self, intp_t feature) noexcept nogil:
        if self.rows.sparse_columns == NULL:
            return &self.rows.columns[feature]
        if self.rows.is_sparse(feature) and (
            self.rows.sparse.dense_feature != feature
        ):
            self.rows.densify(
                feature, self.node.start, self.node.end, self.has_pool
            )
        return self.rows.column(feature)

    cdef bint _is_counted_sparse(self, intp_t feature) noexcept nogil:
        # Whether the entries of a sparse column tell all that a walk over all rows
        # of the node would, to the last bit. Sums of fractions depend on their order,
        # and so do sums of phi over sorted rows.
        cdef intp_t n_levels = self.rows.sparse_columns[feature].n_levels
        if self.random_cuts or not self.integral:
            return False
        if n_levels == 0:
            return not self.additive and not self.has_pool
        return self._counts_codes(n_levels)

    cdef inline bint _counts_codes(self, intp_t n_levels) noexcept nogil:
        # Whether codes are counted, not sorted.
        return (
            2 * self.n_walked >= n_levels * self.n_classes
            or self.n_walked >= SORT_LIMIT or self.has_pool
        )

    cdef intp_t _walk_sparse(self, intp_t feature) noexcept nogil:
        cdef SparseColumn* column = &self.rows.sparse_columns[feature]
        cdef const uint32_t* entries = self.rows.sparse.segment(feature)
        cdef const float32_t* levels = self.rows.sparse.levels + column.levels
        cdef intp_t n = self.rows.sparse.n_stored(feature)
        cdef intp_t i, c
        cdef float64_t* zero = self.histogram
        if column.n_levels > 0:
            self._fill_sparse_histogram(feature)
            if self.has_pool:
                return self.walk_histogram_with_pool(
                    self.histogram, column.n_levels, levels
                )
            return self.walk_histogram(self.histogram, column.n_levels, self.counts)
        for c in range(self.n_classes):
            zero[c] = self.counts[c]
        for i in range(n):
            zero[self.rows.y[entries[i] >> 1]] -= weight_of(
                self.rows.count, self.rows.weight, entries[i] >> 1
            )
        return self.walk_sorted_with_gap(
            entries, n, self.rows.sparse.n_below(feature),
            self.node.end - self.node.start - n, zero, self.rows.y,
            self.rows.count, self.rows.weight,
        )

    cdef void _fill_sparse_histogram(self, intp_t feature) noexcept nogil:
        # As _count_codes; what is not stored has the rest of the node's counts.
        cdef SparseColumn* column = &self.rows.sparse_columns[feature]
        cdef const uint32_t* entries = self.rows.sparse.segment(feature)
        cdef const uint8_t* codes = self.rows.sparse.codes + column.begin
        cdef intp_t n = self.rows.sparse.n_stored(feature)
        cdef const label_t* y = self.rows.y
        cdef const int32_t* count = self.rows.count
        cdef const float64_t* weight = self.rows.weight
        cdef intp_t width = self.n_classes + self.has_pool
        cdef intp_t size = column.n_levels * width
        cdef float64_t* zero = self.histogram + column.zero * width
        cdef int32_t* tally = self.tally
        cdef intp_t i, c, row
        cdef intp_t code = 1 - column.zero
        cdef float64_t rest
        if weight != NULL:
            memset(self.histogram, 0, size * sizeof(float64_t))
            for i in range(n):
                if column.form == CODED:
                    code = codes[i]
                self.histogram[code * width + y[entries[i] >> 1]] += (
                    weight[entries[i] >> 1]
                )
        else:
            memset(tally, 0, size * sizeof(int32_t))
            if count != NULL:
                for i in range(n):
                    if column.form == CODED:
                        code = codes[i]
                    row = entries[i] >> 1
                    tally[code * width + y[row]] += count[row]
            elif column.form == CODED:
                for i in range(n):
                    tally[codes[i] * width + y[entries[i] >> 1]] += 1
            else:
                tally += code * width
                for i in range(n):
                    tally[y[entries[i] >> 1]] += 1
            for i in range(size):
                self.histogram[i] = self.tally[i]
        for c in range(width):
            rest = self.counts[c] if c < self.n_classes else self.unlabelled
            for i in range(column.n_levels):
                rest -= self.histogram[i * width + c]
            zero[c] = rest

    # -- missing values -----------------------------------------------------------

    cdef intp_t _walk_with_missing(self, intp_t feature) noexcept nogil:
        cdef Column* column = self._column(feature)
        cdef intp_t K = self.n_classes
        cdef intp_t n_tests, c
        cdef float64_t n_missing = 0.0
        cdef float64_t n_seen = 0.0
        self._count_missing(feature)
        for c in range(K):
            n_missing += self.missing_counts[c]
            n_seen += self.seen_counts[c]
        if n_seen == 0.0:
            return 0
        if n_missing == 0.0:
            self.missing = UNLABELLED
            if self.missing_counts[K] == 0.0:
                self.missing = NONE
            return self._walk_seen(feature)
        self.additive = False
        n_tests = self._walk_seen(feature)
        for c in range(K):
            self.left[c] = self.seen_counts[c]
        self.n_left[0] = n_seen
        self.pool_left[0] = n_seen + self.seen_counts[K]
        self.position[0] = self.n_seen if column.order != NULL else column.n_levels - 2
        self.take(1)
        self.missing = LEFT
        return n_tests + 1 + self._walk_seen(feature)

    cdef intp_t _walk_seen(self, intp_t feature) noexcept nogil:
        # The tests of the rows that have a value.
        cdef Column* column = self._column(feature)
        if column.order == NULL:
            if self.has_pool:
                return self.walk_histogram_with_pool(
                    self.histogram, column.n_levels - 1, column.levels
                )
            return self.walk_histogram(self.histogram, column.n_levels - 1, self.counts)
        return self._walk_order(column, self.n_seen)

    cdef void _count_missing(self, intp_t feature) noexcept nogil:
        # Counts of the rows with and without a value; fills the histogram if CODED.
        cdef Column* column = self._column(feature)
        cdef intp_t K = self.n_classes
        cdef intp_t start = self.node.start
        cdef intp_t n = self.node.end - start
        cdef intp_t width = K + self.has_pool
        cdef const float64_t* level
        cdef float64_t* counts
        cdef intp_t i, b, c, row
        memset(self.missing_counts, 0, (K + 1) * sizeof(float64_t))
        memset(self.seen_counts, 0, (K + 1) * sizeof(float64_t))
        if column.order == NULL:
            self._count_codes(column, width, self.histogram)
            for b in range(column.n_levels):
                level = self.histogram + b * width
                counts = self.seen_counts
                if b == column.n_levels - 1:
                    counts = self.missing_counts
                for c in range(width):
                    counts[c] += level[c]
            return
        self.n_seen = self.rows.n_present(feature, start, self.node.end)
        for i in range(n):
            row = column.order[start + i] >> 1
            counts = self.seen_counts if i < self.n_seen else self.missing_counts
            counts[self.rows.y[row]] += weight_of(
                self.rows.count, self.rows.weight, row
            )

    cdef void _add_missing(self, intp_t size) noexcept nogil:
        # Send the rows without a value to the left outcome of tests without them.
        cdef intp_t K = self.n_classes
        cdef float64_t* counts = self.missing_counts
        cdef float64_t n = 0.0
        cdef intp_t i, c
        if self.missing == UNLABELLED:
            for i in range(size):
                if self.n_left[i] > self.n - self.n_left[i]:
                    self.pool_left[i] += counts[K]
            return
        for c in range(K):
            n += counts[c]
        for i in range(size):
            for c in range(K):
                self.left[i * K + c] += counts[c]
            self.n_left[i] += n
            self.pool_left[i] += n + counts[K]
            self.position[i] |= missing_left_bit()

    cdef intp_t _missing_code(self, intp_t feature) noexcept nogil:
        cdef Column* column = self._column(feature)
        return column.n_levels - 1 if column.has_missing else <intp_t> MAX_LEVELS

    cdef bint _asks_presence(self, intp_t feature, intp_t cut) noexcept nogil:
        # Whether all rows with a value go left, and the others right.
        cdef Column* column = self._column(feature)
        if not column.has_missing or cut & missing_left_bit():
            return False
        if column.order == NULL:
            return cut == column.n_levels - 2
        return cut == self.rows.n_present(feature, self.node.start, self.node.end)

    # -- histograms and sorted rows --------------------------------------------------------

    cdef void _count_codes(
        self, const Column* column, intp_t width, float64_t* out
    ) noexcept nogil:
        # Class weights of each code in the node.
        cdef intp_t start = self.node.start
        cdef intp_t n = self.node.end - start
        cdef const label_t* y = self.rows.node_y + start
        cdef const int32_t* count = self.rows.node_count
        cdef const float64_t* weight = self.rows.node_weight
        if count != NULL:
            count += start
        if weight != NULL:
            weight += start
        if column.wide != NULL:
            count_codes(
                column.wide + start, n, y, count, weight, column.n_levels, width,
                self.tally, out,
            )
        else:
            count_codes(
                column.codes + start, n, y, count, weight, column.n_levels, width,
                self.tally, out,
            )

    cdef void take(self, intp_t size) noexcept nogil:
        # Sorted codes count positions in rows; a cut is a code.
        cdef intp_t i
        if self.sorted_codes != NULL:
            for i in range(size):
                self.position[i] = self.sorted_codes[self.sorted_rows[self.position[i] - 1] >> 1]
        if self.missing != NONE:
            self._add_missing(size)
        NodeScan.take(self, size)

    # -- random cuts --------------------------------------------------------------

    cdef intp_t _walk_random_cut(self, intp_t feature) noexcept nogil:
        # One test: a cut drawn between the extreme values that labelled rows have,
        # and a side drawn for the rows without a value.
        cdef Column* column = self._column(feature)
        cdef intp_t K = self.n_classes
        cdef float64_t n_missing = 0.0
        cdef float64_t n_seen = 0.0
        cdef intp_t cut, c
        cdef float32_t low, high
        if column.has_missing:
            self._count_missing(feature)
            for c in range(K):
                n_missing += self.missing_counts[c]
                n_seen += self.seen_counts[c]
            if n_seen == 0.0:
                return 0
        self._labelled_range(feature, &low, &high)
        if low >= high:
            if n_missing == 0.0:
                return 0
            cut = self.n_seen if column.order != NULL else column.n_levels - 2
        else:
            cut = self._cut_at(feature, self._random_threshold(feature, low, high))
            if n_missing > 0.0 and mix(self._random_key(feature)) & 1:
                cut |= missing_left_bit()
        self.additive = False
        self.count_children(feature, cut)
        self.n_left[0] = 0.0
        for c in range(K):
            self.left[c] = self.children[c]
            self.n_left[0] += self.children[c]
        self.pool_left[0] = self.child_pool[0]
        self.position[0] = cut
        self.take(1)
        return 1

    cdef uint64_t _random_key(self, intp_t feature) noexcept nogil:
        return mix(mix(self.seed ^ mix(self.node.id)) ^ <uint64_t> feature)

    cdef float64_t _random_threshold(
        self, intp_t feature, float32_t low, float32_t high
    ) noexcept nogil:
        cdef float64_t u = unit(self._random_key(feature))
        cdef float64_t threshold = low + u * (<float64_t> high - low)
        return low if threshold >= high else threshold

    cdef void _labelled_range(
        self, intp_t feature, float32_t* low, float32_t* high
    ) noexcept nogil:
        cdef Column* column = self._column(feature)
        cdef intp_t first = self.node.start
        cdef intp_t last = first + self.rows.n_present(
            feature, first, self.node.end
        ) - 1 if column.order != NULL else self.node.end - 1
        cdef intp_t missing = self._missing_code(feature)
        cdef intp_t K = self.n_classes
        cdef intp_t i
        cdef uint8_t smallest, largest
        if column.order != NULL:
            while self.rows.y[column.order[first] >> 1] == K:
                first += 1
            while self.rows.y[column.order[last] >> 1] == K:
                last -= 1
            low[0] = self.rows.value(column.order[first] >> 1, feature)
            high[0] = self.rows.value(column.order[last] >> 1, feature)
            return
        smallest = MAX_LEVELS - 1
        largest = 0
        for i in range(first, last + 1):
            if self.rows.node_y[i] < K and column.codes[i] != missing:
                smallest = min(smallest, column.codes[i])
                largest = max(largest, column.codes[i])
        low[0] = column.levels[smallest]
        high[0] = column.levels[largest]

    cdef intp_t _cut_at(self, intp_t feature, float64_t threshold) noexcept nogil:
        # The cut of the rows with value <= threshold.
        cdef Column* column = self._column(feature)
        cdef intp_t low = 0
        cdef intp_t high, middle
        if column.order == NULL:
            # no level is missing and at most the threshold: NaN is not
            while low + 1 < column.n_levels and column.levels[low + 1] <= threshold:
                low += 1
            return low
        high = self.rows.n_present(feature, self.node.start, self.node.end)
        while low < high:
            middle = (low + high) // 2
            if self.rows.value(
                column.order[self.node.start + middle] >> 1, feature
            ) <= threshold:
                low = middle + 1
            else:
                high = middle
        return low

    # -- a chosen test ------------------------------------------------------------

    cdef void count_children(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef intp_t K = self.n_classes
        cdef Column* column = self._column(feature)
        cdef const int32_t* count = self.rows.count
        cdef const float64_t* weight = self.rows.weight
        cdef intp_t start = self.node.start
        cdef intp_t end = self.node.end
        cdef intp_t boundary = cut & (missing_left_bit() - 1)
        cdef intp_t missing = self._missing_code(feature)
        cdef intp_t n_missing = 0
        cdef intp_t n_labelled_missing = 0
        cdef intp_t present = end
        cdef intp_t i, row, side, c
        cdef float64_t w
        cdef float64_t n_left = 0.0
        cdef float64_t n_right = 0.0
        if column.nominal:
            self._count_categories(feature, cut)
            return
        self.n_outcomes = 2
        memset(self.children, 0, 2 * K * sizeof(float64_t))
        for side in range(2):
            self.child_pool[side] = 0.0
            self.child_rows[side] = 0
            self.n_labelled[side] = 0
        if column.has_missing:
            memset(self.missing_counts, 0, (K + 1) * sizeof(float64_t))
            if column.order != NULL:
                present = start + self.rows.n_present(feature, start, end)
        for i in range(start, end):
            if column.order != NULL:
                row = column.order[i] >> 1
                side = i >= start + boundary
            else:
                row = self.rows.ids[i]
                side = column.codes[i] > boundary
            w = weight_of(count, weight, row)
            if column.has_missing and (
                i >= present if column.order != NULL else column.codes[i] == missing
            ):
                self.missing_counts[self.rows.y[row]] += w
                n_missing += 1
                n_labelled_missing += self.rows.y[row] < K
                continue
            self.child_rows[side] += 1
            self.child_pool[side] += w
            if self.rows.y[row] < K:
                self.children[side * K + self.rows.y[row]] += w
                self.n_labelled[side] += 1
        self.missing_seen = n_labelled_missing > 0
        if self.missing_seen:
            self.missing_left = cut & missing_left_bit() != 0
        else:
            for c in range(K):
                n_left += self.children[c]
                n_right += self.children[K + c]
            self.missing_left = n_left > n_right
        if n_missing > 0:
            side = 0 if self.missing_left else 1
            self.child_rows[side] += n_missing
            self.n_labelled[side] += n_labelled_missing
            for c in range(K):
                self.children[side * K + c] += self.missing_counts[c]
            for c in range(K + 1):
                self.child_pool[side] += self.missing_counts[c]
        if self.by_volume:
            self.child_pool[0] = self.left_volume(feature, cut)
            self.child_pool[1] = self.node.pool - self.child_pool[0]

    cdef void _count_categories(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef Column* column = self._column(feature)
        cdef intp_t i, z, code
        self._count_codes(column, self.n_classes + 1, self.categories)
        self.divide_categories(feature, cut, column.n_levels)
        memset(self.child_rows, 0, self.n_outcomes * sizeof(intp_t))
        memset(self.n_labelled, 0, self.n_outcomes * sizeof(intp_t))
        for i in range(self.node.start, self.node.end):
            code = column.codes[i] if column.codes != NULL else column.wide[i]
            z = self.ordinals[code]
            if z < 0:
                z = self.unknown_child
            self.child_rows[z] += 1
            self.n_labelled[z] += self.rows.node_y[i] < self.n_classes

    cdef float64_t threshold(self, intp_t feature, intp_t cut) noexcept nogil:
        # Midpoint of the labelled values on either side of the cut.
        cdef Column* column = self._column(feature)
        cdef intp_t K = self.n_classes
        cdef intp_t boundary = cut & (missing_left_bit() - 1)
        cdef intp_t below = self.node.start + boundary - 1
        cdef intp_t above = below + 1
        cdef intp_t missing = self._missing_code(feature)
        cdef intp_t i
        cdef intp_t low = -1
        cdef intp_t high = MAX_LEVELS
        cdef float32_t first, last
        if self._asks_presence(feature, cut):
            return INFINITY
        if self.random_cuts:
            self._labelled_range(feature, &first, &last)
            return self._random_threshold(feature, first, last)
        if column.order != NULL:
            while self.rows.y[column.order[below] >> 1] == K:
                below -= 1
            while self.rows.y[column.order[above] >> 1] == K:
                above += 1
            return midpoint(
                self.rows.value(column.order[below] >> 1, feature),
                self.rows.value(column.order[above] >> 1, feature),
            )
        for i in range(self.node.start, self.node.end):
            if self.rows.node_y[i] < K and column.codes[i] != missing:
                if column.codes[i] <= boundary:
                    low = max(low, <intp_t> column.codes[i])
                else:
                    high = min(high, <intp_t> column.codes[i])
        return midpoint(column.levels[low], column.levels[high])

    cdef float64_t left_volume(self, intp_t feature, intp_t cut) noexcept nogil:
        cdef const float64_t* limits = self.node.box + 2 * feature
        if self._asks_presence(feature, cut):
            return self.node.pool / 2.0     # a missing value has no place in the box
        return self.node.pool * (
            (self.threshold(feature, cut) - limits[0]) / (limits[1] - limits[0])
        )
