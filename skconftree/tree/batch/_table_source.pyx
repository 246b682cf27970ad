"""Sources of the rows of a node: the base class, and that of an encoded table."""

# A source gives the split search the rows of a node, one feature at a time. A walk over a
# feature reads the values in ascending order and passes ("emits") to the Scan each candidate
# split: the class counts on its left or, if the criterion is additive, sums over classes of
# phi. An additive criterion is computed from such sums of a function of the class count,
# for example phi(n) = n log n.
#
# Columns of an encoded table:
#   coded       a number per row, `codes` (of two bytes: `codes16`): the index of a category
#               or of the value in `levels`. The last code may be that of missing values. A
#               code may also be a bin, with its largest value (level) and its smallest one.
#   sorted      `order`, an entry per row in ascending order of the value: row << 1 | new,
#               where new means that the value differs from the previous one.
#   sparse      only entries of nonzero rows, with codes (CODED), without because there is
#               one nonzero value, or sorted (n_levels = 0). Those of a node are its segment.
#
# The position of a cut is the largest code that goes left or, if the feature is sorted, the
# number of rows. The pool is the unlabeled rows, whose label is n_classes (K). Rows are
# weighted by integers, `count`, or by `weight`; both are NULL if all weights are 1.
# `ids`, `node_y`, `node_count` and `node_weight` are in node order: a node is a range. MAX_LEVELS
# is the number of codes that fit into a byte.

from libc.math cimport ceil, fmax, fmin
from libc.string cimport memset

from skconftree.tree.split._scan cimport sum_of
from skconftree.tables._encoded_table cimport MAX_LEVELS, lower_edge_of
from skconftree.tables._sparse_columns cimport CODED, SparseColumn
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._packed_rows cimport (
    SORT_LIMIT, code_neighbors, count_codes, counts_codes, sort_codes,
)
from skconftree.tree.split._node cimport ExaminedNode, RootStats
from skconftree.tree.split._scan cimport REPEATS, random_threshold, labeled_neighbors, weight_of
from skconftree.utils._inline cimport midpoint     # the threshold between two values
from skconftree.utils._typedefs cimport label_t

cdef class RowSource(Source):
    """Source of rows that a tree builder divides among the children of a node."""

    cdef void enter(self, intp_t node, const Segment* segments, intp_t n_segments) noexcept nogil:
        pass

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        pass

    cdef int store_order(self, const NodeRecord* record) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} does not support look-ahead.")

    cdef void restore_order(self) noexcept nogil:
        pass

    cdef intp_t draw(self, intp_t feature, float64_t u, float64_t* threshold) noexcept nogil:
        # A random cut (candidate threshold); u is uniform in [0, 1).
        cdef float32_t low, high
        self.labeled_range(feature, &low, &high)
        if not low < high:
            return -1
        threshold[0] = random_threshold(low, high, u)
        return self.index_of(feature, threshold[0])

    cdef void labeled_range(self, intp_t feature, float32_t* low, float32_t* high) noexcept nogil:
        low[0] = high[0] = 0.0

    cdef intp_t index_of(self, intp_t feature, float64_t threshold) noexcept nogil:
        return 0

    cdef ChildRows rows_of_child(
        self, intp_t feature, intp_t outcome, Segment* segment
    ) noexcept nogil:
        # Where the rows of a child are stored: in its range of the arrays. Of a sparse feature:
        # IN_SEGMENT, or nowhere if it IS_CONSTANT in the child.
        return IN_RANGE


cdef class TableSource(RowSource):
    """The rows of a node of a table."""

    def __init__(self, NodeRows rows not None, GrowthSettings settings, RootStats root):
        super().__init__(ExaminedNode(settings, root))
        cdef intp_t K = root.n_classes
        cdef intp_t n_levels = MAX_LEVELS
        cdef intp_t f, n_sorted
        self.rows = rows
        self.stored_order = StoredOrder(rows)
        self.n_rows = rows.n_rows
        self.has_segments = rows.sparse is not None
        # A row of count k stands for k repeats. `longest_walk` is the largest number of rows, with
        # repeats, of a walk. With more than REPEATS (4) on average, those of a row are added.
        self.longest_walk = REPEATS * rows.n_rows
        self.complete = True    # no numeric value is missing
        for f in range(rows.n_features):
            if not rows.is_sparse(f):
                n_levels = max(n_levels, rows.columns[f].n_levels)
                if rows.columns[f].has_missing:
                    self.complete = False
                    if rows.sparse is None:
                        self.node.only_thresholds = False   # missing values add candidates
        self.arena = Arena()
        self.packed = CodeTally(K)
        self.histogram = <float64_t*> self.arena.take(MAX_LEVELS * (K + 1), sizeof(float64_t))
        self.tally = <int32_t*> self.arena.take(n_levels * (K + 1), sizeof(int32_t))
        # scratch of divide(): next index to write of each child
        self.at = <intp_t*> self.arena.take(2 * n_levels, sizeof(intp_t))
        self.scratch = self.arena.take(rows.n_rows + 1, sizeof(float64_t))
        n_sorted = min(rows.n_rows, <intp_t> SORT_LIMIT)
        self.sorted_rows = <uint32_t*> self.arena.take(n_sorted, sizeof(uint32_t))
        self.sorted_codes = <int32_t*> self.arena.take(n_sorted, sizeof(int32_t))

    cdef void begin(self) noexcept nogil:
        # The sparse columns have been set to the segments of the node, see enter().
        cdef const int32_t* count = self.rows.node_count
        cdef const float64_t* weight = self.rows.node_weight
        cdef intp_t start = self.node.record.start
        cdef intp_t end = self.node.record.end
        cdef intp_t i
        if count != NULL:
            self.node.n_repeated = self.node.n      # rows, with repeats
        # rows that a walk over them visits, with repeats
        self.n_walked = fmin(self.node.n_repeated, <float64_t> REPEATS * (end - start))
        if weight == NULL and not self.node.has_pool:
            self.packed.begin(self.node.n)
        if self.rows.sparse is None:
            return
        self.rows.sparse.dense_feature = -1  # no sparse column has been densified yet
        self.unlabeled = 0.0
        if self.node.has_pool:
            for i in range(start, end):
                if self.rows.node_y[i] == self.node.n_classes:
                    self.unlabeled += weight_of(count, weight, i)

    cdef float64_t weight_without_repeats(self) noexcept nogil:
        # The weight of the node as evidence, if repeated rows do not count: `distinct` is
        # that of each row. In the order of a feature that the node may split on: if all
        # features are sorted, ids are not updated.
        cdef const float64_t* distinct = &self.node.root.distinct[0]
        cdef intp_t feature = self.node.record.features[0]
        cdef const uint32_t* order = NULL
        cdef float64_t weight = 0.0
        cdef intp_t i
        if not self.rows.is_sparse(feature):
            order = self.rows.columns[feature].order
        for i in range(self.node.record.start, self.node.record.end):
            weight += distinct[order[i] >> 1 if order != NULL else self.rows.ids[i]]
        return weight

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        cdef Column* column
        if self.rows.is_sparse(feature):
            if self.rows.sparse.n_stored(feature) == 0:
                return 0
            if _is_counted_sparse(self, feature, scan.additive):
                return _walk_sparse(self, feature, scan)
        column = _column(self, feature)
        if column.order != NULL:
            # rows without a value come last
            return self._walk_order(
                column,
                self.n_present if column.has_missing
                else self.node.record.end - self.node.record.start, scan,
            )
        if column.has_missing:      # count_values() has filled the histogram
            return self.walk_levels(column, self.histogram, scan)
        return _walk_codes(self, column, scan)

    cdef void sum_by_class(self, intp_t feature, float64_t* sums) noexcept nogil:
        # Add weights, values minus the smallest one, and their squares to sums [3, n_classes].
        cdef intp_t K = self.node.n_classes
        cdef intp_t start = self.node.record.start
        cdef intp_t end = self.node.record.end
        cdef Column* column = _column(self, feature)
        cdef float64_t* counts = self.histogram     # of the rows with the same value
        cdef float64_t value, last = 0.0, first = 0.0
        cdef intp_t i, row
        if column.order == NULL:
            _count_codes(self, column, K, self.histogram)
            self.add_levels(column, self.histogram, sums)
            return
        if self._is_plain(feature):
            _sum_plain(self, column, counts, sums)
            return
        memset(counts, 0, K * sizeof(float64_t))
        for i in range(start, start + self.rows.n_present(feature, start, end)):
            row = column.order[i] >> 1
            value = self.rows.value(row, feature)
            if i == start:
                first = last = value
            if value != last:
                add_value(sums, K, counts, last - first)
                memset(counts, 0, K * sizeof(float64_t))
                last = value
            counts[self.rows.y[row]] += weight_of(self.rows.count, self.rows.weight, row)
        add_value(sums, K, counts, last - first)

    cdef bint sum_roughly(
        self, const int32_t* features, intp_t n, float64_t* sums
    ) noexcept nogil:
        # The same sums for n sorted features up to rounding: [2, K, d] values and squares, then
        # smallest values. Row by row for all columns of X, whose values are next to each other.
        cdef intp_t K = self.node.n_classes
        cdef intp_t d = self.rows.n_features
        cdef intp_t start = self.node.record.start
        cdef const uint32_t* order = self.rows.columns[features[0]].order
        cdef const float32_t* x
        cdef float64_t* smallest = sums + 2 * K * d
        cdef float64_t* values
        cdef float64_t* squares
        cdef float64_t value
        cdef intp_t i, f
        if 2 * n < d:
            return False    # sum_by_class() is faster
        memset(sums, 0, (2 * K + 1) * d * sizeof(float64_t))
        for i in range(n):
            f = features[i]
            smallest[f] = self.rows.value(self.rows.columns[f].order[start] >> 1, f)
        for i in range(start, self.node.record.end):
            x = self.rows.columns[0].values + <intp_t> (order[i] >> 1) * self.rows.stride
            values = sums + self.rows.y[order[i] >> 1] * d
            squares = values + K * d
            for f in range(d):
                value = <float64_t> x[f] - smallest[f]
                values[f] += value
                squares[f] += value * value
        return True

    cdef bint _is_plain(self, intp_t feature) noexcept nogil:
        # Whether a feature is sorted, has no missing value, and all rows are labeled and weigh 1.
        return (
            self.rows.sparse_columns == NULL and self.rows.columns[feature].order != NULL
            and not self.rows.columns[feature].has_missing and not self.node.has_pool
            and self.rows.count == NULL and self.rows.weight == NULL
        )

    cdef intp_t count_cuts(self, intp_t feature, intp_t* n_admissible) noexcept nogil:
        cdef intp_t n = self.node.record.end - self.node.record.start
        cdef intp_t least = <intp_t> ceil(fmax(self.node.min_weight, self.node.min_reweighted))
        cdef const uint32_t* entries
        cdef uint32_t n_cuts = 0, n_small = 0
        cdef intp_t p
        # -1: walk() has to count them. n_admissible: cuts without a child that is too small, also
        # after reweighting by class (min_reweighted).
        if not self._is_plain(feature) or self.node.class_weight != NULL:
            return -1
        entries = self.rows.columns[feature].order + self.node.record.start
        # the first entry of a node has new = 0 only if all values are known to be distinct
        if not entries[0] & 1:
            n_admissible[0] = max(n + 1 - 2 * max(least, <intp_t> 1), <intp_t> 0)
            return n - 1
        for p in range(1, n):
            n_cuts += entries[p] & 1
        # the cuts with fewer than `least` rows on the left, or on the right
        for p in range(1, min(least, n)):
            n_small += entries[p] & 1
        for p in range(max(n - least + 1, least, 1), n):
            n_small += entries[p] & 1
        n_admissible[0] = n_cuts - n_small
        return n_cuts

    cdef intp_t _walk_order(self, const Column* column, intp_t n, Scan scan) noexcept nogil:
        # The first n rows of the node, in the order of their values.
        cdef const uint32_t* entries = column.order + self.node.record.start
        if self.node.has_pool:
            return scan.walk_sorted_with_pool(
                entries, n, self.rows.y, self.rows.count, self.rows.weight,
                column.values, self.rows.stride,
            )
        return scan.walk_sorted(
            entries, n, self.rows.y, self.rows.count, self.rows.weight, self.node.counts,
        )

    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil:
        # Class counts of the rows with and without a value. Fills the histogram (class weights
        # by code) of a coded feature.
        cdef intp_t K = self.node.n_classes
        cdef intp_t start = self.node.record.start
        cdef intp_t end = self.node.record.end
        cdef float64_t* counts
        cdef Column* column
        cdef intp_t i, row
        if self.rows.is_sparse(feature) or not self.rows.columns[feature].has_missing:
            return False    # sparse features have no missing values
        column = &self.rows.columns[feature]
        if column.order == NULL:
            _count_codes(self, column, K + self.node.has_pool, self.histogram)
            self.sum_levels(column, self.histogram, values)
            return True
        clear_values(values, K)
        self.n_present = self.rows.n_present(feature, start, end)
        for i in range(start, end):
            row = column.order[i] >> 1
            counts = values.present if i < start + self.n_present else values.missing
            counts[self.rows.y[row]] += weight_of(self.rows.count, self.rows.weight, row)
        sum_values(values, K)
        return True

    cdef intp_t end_position(self, intp_t feature) noexcept nogil:
        cdef Column* column = &self.rows.columns[feature]
        cdef intp_t start = self.node.record.start
        cdef intp_t end = self.node.record.end
        cdef intp_t n_levels
        if self.rows.is_sparse(feature):
            n_levels = self.rows.sparse_columns[feature].n_levels
            return n_levels - 1 if n_levels > 0 else end - start
        if column.order == NULL:
            return column.n_levels - 1 - column.has_missing
        return self.rows.n_present(feature, start, end)

    cdef void labeled_range(self, intp_t feature, float32_t* low, float32_t* high) noexcept nogil:
        cdef Column* column
        cdef intp_t first = self.node.record.start
        cdef intp_t last = self.node.record.end - 1
        cdef intp_t K = self.node.n_classes
        cdef intp_t i, missing
        cdef uint8_t smallest, largest
        low[0] = high[0] = 0.0
        if self.rows.is_sparse(feature) and self.rows.sparse.n_stored(feature) == 0:
            return
        column = _column(self, feature)
        missing = _missing_code(self, column)
        if column.order != NULL:
            last = first + self.rows.n_present(feature, first, last + 1) - 1
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

    cdef intp_t index_of(self, intp_t feature, float64_t threshold) noexcept nogil:
        cdef Column* column = _column(self, feature)
        cdef intp_t start = self.node.record.start
        cdef intp_t low = 0, high, middle
        if column.order == NULL:
            return index_of_level(column, threshold)
        high = self.rows.n_present(feature, start, self.node.record.end)
        while low < high:
            middle = (low + high) // 2
            if self.rows.value(column.order[start + middle] >> 1, feature) <= threshold:
                low = middle + 1
            else:
                high = middle
        return low

    cdef float64_t threshold(self, intp_t feature, intp_t position) noexcept nogil:
        # Midpoint of the labeled values on either side of the cut.
        cdef Column* column = _column(self, feature)
        cdef intp_t K = self.node.n_classes
        cdef intp_t start = self.node.record.start
        cdef intp_t missing = _missing_code(self, column)
        cdef intp_t low = -1
        cdef intp_t high = MAX_LEVELS
        cdef intp_t i
        if column.order != NULL:
            labeled_neighbors(column.order + start, self.rows.y, K, position, &low, &high)
            return midpoint(self.rows.value(low, feature), self.rows.value(high, feature))
        # the code of missing values is the largest, so that it is never next to the cut
        if not self.node.has_pool:
            code_neighbors(
                column.codes + start, self.node.record.end - start, <uint8_t> position,
                &low, &high,
            )
            return midpoint(column.levels[low], lower_edge_of(column, high))
        for i in range(start, self.node.record.end):
            if self.rows.node_y[i] < K and column.codes[i] != missing:
                if column.codes[i] <= position:
                    low = max(low, <intp_t> column.codes[i])
                else:
                    high = min(high, <intp_t> column.codes[i])
        return midpoint(column.levels[low], lower_edge_of(column, high))

    cdef bint count_sides(
        self, intp_t feature, intp_t position, Children* children, ValueCounts* values
    ) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef Column* column = _column(self, feature)
        cdef const int32_t* count = self.rows.count
        cdef const float64_t* weight = self.rows.weight
        cdef intp_t start = self.node.record.start
        cdef intp_t end = self.node.record.end
        cdef intp_t missing = _missing_code(self, column)
        cdef intp_t present = end
        cdef intp_t i, row, side
        cdef float64_t w
        if (column.codes != NULL and not column.has_missing and count == NULL and weight == NULL):
            _count_coded_sides(self, column.codes, position, children)
            return False
        if self._is_plain(feature):
            for i in range(start, end):
                side = i >= start + position
                children.counts[side * K + self.rows.y[column.order[i] >> 1]] += 1.0
            for side in range(2):
                children.rows[side] = position if side == 0 else end - start - position
                children.n_labeled[side] = children.rows[side]
                children.pool[side] = <float64_t> children.rows[side]   # weight; all are labeled
            return False
        if column.has_missing:
            memset(values.missing, 0, (K + 1) * sizeof(float64_t))
            values.rows_missing = 0
            values.labeled_missing = 0
            if column.order != NULL:
                present = start + self.rows.n_present(feature, start, end)
        for i in range(start, end):
            if column.order != NULL:
                row = column.order[i] >> 1
                side = i >= start + position
            else:
                row = self.rows.ids[i]
                side = column.codes[i] > position
            w = weight_of(count, weight, row)
            if column.has_missing and (
                i >= present if column.order != NULL else column.codes[i] == missing
            ):
                values.missing[self.rows.y[row]] += w
                values.rows_missing += 1
                values.labeled_missing += self.rows.y[row] < K
                continue
            children.rows[side] += 1
            children.pool[side] += w    # weight of labeled and unlabeled rows
            if self.rows.y[row] < K:
                children.counts[side * K + self.rows.y[row]] += w
                children.n_labeled[side] += 1
        if not column.has_missing:
            return False
        values.n_missing = sum_of(values.missing, K)
        return True

    cdef intp_t count_categories(self, intp_t feature, float64_t* counts) noexcept nogil:
        cdef Column* column = &self.rows.columns[feature]
        _count_codes(self, column, self.node.n_classes + 1, counts)
        return column.n_levels

    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil:
        cdef Column* column = &self.rows.columns[feature]
        cdef intp_t i, z, code
        for i in range(self.node.record.start, self.node.record.end):
            code = column.codes[i] if column.codes != NULL else column.codes16[i]
            z = children.child_of_code[code]
            if z < 0:
                z = children.unknown
            children.rows[z] += 1
            children.n_labeled[z] += self.rows.node_y[i] < self.node.n_classes

    cdef void enter(self, intp_t node, const Segment* segments, intp_t n_segments) noexcept nogil:
        if self.has_segments:
            self.rows.sparse.enter(node, segments, n_segments)

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        cdef const Children* children = &split.children
        # `branch` has the child of each row; NULL if all splits are binary
        cdef bint multiway = self.rows.branch != NULL and children.child_of_code != NULL
        # Mark each row with its side. `unknown` is the child of the categories without
        # labeled rows, which are not in child_of_code.
        if children.child_of_code != NULL:
            self.rows.mark_categories(
                split.feature, children.child_of_code, children.n_codes, children.unknown,
                multiway, record.start, record.end,
            )
        else:
            self.rows.mark(
                split.feature, split.cut.position, children.missing_left, record.start, record.end,
            )
        if multiway:
            self.rows.partition_multiway(
                record.features, record.n_features, record.start, record.end, starts,
                children.n_outcomes, self.at, self.scratch,
            )
        else:
            self.partition(record, split.feature)

    cdef void partition(self, const NodeRecord* record, intp_t feature) noexcept nogil:
        self.rows.partition(
            feature, record.features, record.n_features, record.start, record.end, self.scratch,
        )

    cdef int store_order(self, const NodeRecord* record) except -1 nogil:
        # Before trial splits of look-ahead, which restore_order() reverts.
        return self.stored_order.store(record)

    cdef void restore_order(self) noexcept nogil:
        self.stored_order.restore()

    cdef ChildRows rows_of_child(
        self, intp_t feature, intp_t outcome, Segment* segment
    ) noexcept nogil:
        if not self.rows.is_sparse(feature):
            return IN_RANGE
        if self.rows.sparse.child_segment(feature, outcome, segment):
            return IN_SEGMENT
        return IS_CONSTANT


cdef void _sum_plain(
    TableSource source, const Column* column, float64_t* counts, float64_t* sums
) noexcept nogil:
    # sum_by_class() of a feature for which _is_plain(); few of its rows have equal values.
    cdef intp_t K = source.node.n_classes
    cdef intp_t n = source.node.record.end - source.node.record.start
    cdef intp_t stride = source.rows.stride
    cdef const uint32_t* entries = column.order + source.node.record.start
    cdef const float32_t* values = column.values
    cdef const label_t* y = source.rows.y
    cdef float64_t first = values[<intp_t> (entries[0] >> 1) * stride]
    cdef float64_t x
    cdef intp_t i = 0, row, c
    while i < n:
        row = entries[i] >> 1
        x = <float64_t> values[row * stride] - first
        c = y[row]
        i += 1
        if i == n or entries[i] & 1:    # no other row has this value
            sums[c] += 1.0
            sums[K + c] += x
            sums[2 * K + c] += x * x
            continue
        memset(counts, 0, K * sizeof(float64_t))
        counts[c] = 1.0
        while i < n and not entries[i] & 1:
            counts[y[entries[i] >> 1]] += 1.0
            i += 1
        add_value(sums, K, counts, x)


cdef inline Column* _column(TableSource source, intp_t feature) noexcept nogil:
    # The column of a feature; if it is sparse, an ordinary column is created for the node.
    if source.rows.sparse_columns == NULL:
        return &source.rows.columns[feature]
    if source.rows.is_sparse(feature) and (source.rows.sparse.dense_feature != feature):
        source.rows.sparse.densify(
            feature, source.rows.ids, source.node.record.start, source.node.record.end,
            source.node.has_pool,
        )
    return source.rows.column(feature)


cdef inline bint _is_counted_sparse(
    TableSource source, intp_t feature, bint additive
) noexcept nogil:
    # Whether a walk over the entries of a sparse column emits, to the last bit, the same as a
    # walk over all rows of the node. Sums of fractions depend on their order, and so do sums
    # of phi over sorted rows. If `integral`, all weights are integers.
    cdef intp_t n_levels = source.rows.sparse_columns[feature].n_levels
    if not source.node.integral:
        return False
    if n_levels == 0:
        return not additive and not source.node.has_pool
    # otherwise rows are sorted by code
    return counts_codes(source.node, source.n_walked, n_levels)


cdef inline intp_t _walk_sparse(TableSource source, intp_t feature, Scan scan) noexcept nogil:
    cdef SparseColumn* column = &source.rows.sparse_columns[feature]
    cdef const uint32_t* entries = source.rows.sparse.segment(feature)
    cdef const float32_t* levels = source.rows.sparse.levels + column.levels
    cdef intp_t n = source.rows.sparse.n_stored(feature)
    cdef intp_t i, c
    cdef float64_t* zero = source.histogram
    if column.n_levels > 0:
        _fill_sparse_histogram(source, feature)
        if source.node.has_pool:
            return scan.walk_histogram_with_pool(source.histogram, column.n_levels, levels)
        return scan.walk_histogram(source.histogram, column.n_levels, source.node.counts)
    for c in range(source.node.n_classes):
        zero[c] = source.node.counts[c]
    for i in range(n):
        zero[source.rows.y[entries[i] >> 1]] -= weight_of(
            source.rows.count, source.rows.weight, entries[i] >> 1
        )
    # the rows without an entry, whose value 0 is between negative and positive values
    return scan.walk_sorted_with_gap(
        entries, n, source.rows.sparse.n_below(feature),
        source.node.record.end - source.node.record.start - n, zero, source.rows.y,
        source.rows.count, source.rows.weight,
    )


cdef void _fill_sparse_histogram(TableSource source, intp_t feature) noexcept nogil:
    # As _count_codes; rows without an entry are the rest of the node's counts.
    cdef SparseColumn* column = &source.rows.sparse_columns[feature]
    cdef const uint32_t* entries = source.rows.sparse.segment(feature)
    cdef const uint8_t* codes = source.rows.sparse.codes + column.begin
    cdef intp_t n = source.rows.sparse.n_stored(feature)
    cdef const label_t* y = source.rows.y
    cdef const int32_t* count = source.rows.count
    cdef const float64_t* weight = source.rows.weight
    cdef intp_t width = source.node.n_classes + source.node.has_pool
    cdef intp_t size = column.n_levels * width
    cdef float64_t* zero = source.histogram + column.zero * width  # column.zero: the code of 0
    cdef int32_t* tally = source.tally
    cdef intp_t i, c, row
    cdef intp_t code = 1 - column.zero      # of the only nonzero value, unless CODED
    cdef float64_t rest
    if weight != NULL:
        memset(source.histogram, 0, size * sizeof(float64_t))
        for i in range(n):
            if column.form == CODED:
                code = codes[i]
            source.histogram[code * width + y[entries[i] >> 1]] += (weight[entries[i] >> 1])
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
            source.histogram[i] = source.tally[i]
    for c in range(width):
        rest = source.node.counts[c] if c < source.node.n_classes else source.unlabeled
        for i in range(column.n_levels):
            rest -= source.histogram[i * width + c]
        zero[c] = rest


cdef intp_t _walk_codes(TableSource source, const Column* column, Scan scan) noexcept nogil:
    # Rows are counted by code, all classes in one integer if they fit (`packed`). In a node
    # with few rows per code, and fewer than SORT_LIMIT, they are sorted by code instead,
    # unless the result would not depend on their order (is_exact).
    cdef intp_t start = source.node.record.start
    cdef intp_t n = source.node.record.end - start
    cdef const int32_t* count = source.rows.node_count
    cdef const float64_t* weight = source.rows.node_weight
    cdef bint counts = counts_codes(source.node, source.n_walked, column.n_levels)
    if source.packed.bits > 0 and (counts or source.is_exact(scan)):
        source.packed.add(
            column.codes + start, source.rows.node_y + start,
            count + start if count != NULL else NULL, n,
        )
        return source.packed.walk(scan, column.n_levels, source.node.counts)
    if counts:
        _count_codes(
            source, column, source.node.n_classes + source.node.has_pool, source.histogram
        )
        return source.walk_levels(column, source.histogram, scan)
    sort_codes(column.codes + start, n, column.n_levels, source.sorted_codes, source.sorted_rows)
    scan.positions = source.sorted_codes        # position of the cut after each row
    return scan.walk_sorted(
        source.sorted_rows, n, source.rows.node_y + start,
        count + start if count != NULL else NULL,
        weight + start if weight != NULL else NULL, source.node.counts,
    )


cdef void _count_codes(
    TableSource source, const Column* column, intp_t width, float64_t* out
) noexcept nogil:
    # Class weights of each code in the node.
    cdef intp_t start = source.node.record.start
    cdef intp_t n = source.node.record.end - start
    cdef const label_t* y = source.rows.node_y + start
    cdef const int32_t* count = source.rows.node_count
    cdef const float64_t* weight = source.rows.node_weight
    if count != NULL:
        count += start
    if weight != NULL:
        weight += start
    if column.codes16 != NULL:
        count_codes(
            column.codes16 + start, n, y, count, weight, column.n_levels, width, source.tally, out,
        )
    else:
        count_codes(
            column.codes + start, n, y, count, weight, column.n_levels, width, source.tally, out,
        )


cdef void _count_coded_sides(
    TableSource source, const uint8_t* codes, intp_t position, Children* children
) noexcept nogil:
    # As count_sides, for a feature without missing values and rows of weight 1.
    cdef const label_t* y = source.rows.node_y
    cdef intp_t K = source.node.n_classes
    cdef intp_t width = K + 1
    cdef int32_t* tally = source.tally
    cdef intp_t i, side, c
    memset(tally, 0, 2 * width * sizeof(int32_t))
    for i in range(source.node.record.start, source.node.record.end):
        tally[(codes[i] > position) * width + y[i]] += 1
    for side in range(2):
        for c in range(K):
            children.counts[side * K + c] = tally[c]
            children.n_labeled[side] += tally[c]
        children.rows[side] = children.n_labeled[side] + tally[K]
        children.pool[side] = <float64_t> children.rows[side]
        tally += width


cdef intp_t _missing_code(TableSource source, const Column* column) noexcept nogil:
    return column.n_levels - 1 if column.has_missing else <intp_t> MAX_LEVELS
