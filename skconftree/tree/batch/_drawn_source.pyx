"""The rows of a node of a table of which few features are asked for."""

from libc.math cimport fmin, isnan
from libc.string cimport memset

from skconftree.tables._encoded_table cimport floor_of
from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._code_counts cimport SORT_LIMIT
from skconftree.tree.batch._key_walks cimport walk_square_keys, walk_two_class_keys
from skconftree.tree.batch._partition cimport partition_values, scatter_values
from skconftree.tree.batch._rank_sort cimport MOST_TAGGED
from skconftree.tree.split._node cimport ExaminedNode, NodeRecord, RootFacts
from skconftree.tree.split._scan cimport BLOCK, REPEATS
from skconftree.tree.split._source cimport drawn_between
from skconftree.tree.split._split cimport Split
from skconftree.utils._midpoint cimport midpoint
from skconftree.utils._prefetch cimport prefetch

cdef int32_t NO_CODE = 0x7FFFFFFF


cdef class DrawnSource(RowSource):
    """The rows of a node of a table of which few features are asked for.

    Weights `count`, whose sum is below 2^31, are whole; rows of weight 0 are absent.
    `fits`: whether the sample is one for this source.
    """

    def __init__(
        self, RowCodes row_codes not None, const label_t[::1] y not None,
        const int32_t[::1] count, GrowthSettings settings, RootFacts root,
    ):
        super().__init__(ExaminedNode(settings, root))
        self.row_codes = row_codes
        self.table = row_codes.table
        self.arena = Arena()
        cdef const int32_t* counts = NULL
        if count is not None:
            counts = &count[0]
        with nogil:
            self._begin(&y[0], counts, settings.multiway)
        self.longest_walk = REPEATS * self.n_rows
        if self.fits:
            self.order = RankSort(self.n_rows)

    cdef int _begin(
        self, const label_t* y, const int32_t* count, bint multiway
    ) except -1 nogil:
        cdef intp_t n_table = self.table.n_rows
        cdef intp_t d = self.table.n_features
        cdef intp_t K = self.node.n_classes
        cdef intp_t n_codes = 2
        cdef int32_t most = 1
        cdef intp_t n = 0
        cdef intp_t i, f
        cdef uint8_t* found
        if count == NULL:
            n = n_table
        else:
            for i in range(n_table):
                n += count[i] > 0
                most = max(most, count[i])
        self.n_rows = n
        self.tagged = most <= MOST_TAGGED
        self.ids = <uint32_t*> self.arena.take(n, sizeof(uint32_t))
        n = 0
        for i in range(n_table):
            if count == NULL or count[i] > 0:
                self.ids[n] = <uint32_t> i
                n += 1
        self.columns = <DrawnColumn*> self.arena.take(d, sizeof(DrawnColumn))
        found = <uint8_t*> self.arena.take(MAX_LEVELS, sizeof(uint8_t))
        self.fits = True
        for f in range(d):
            self._describe(f, count, found)
            n_codes = max(n_codes, self.table.columns[f].n_levels)
        if not self.fits:
            return 0
        self.y = <label_t*> self.arena.take(n, sizeof(label_t))
        self.seen_y = <label_t*> self.arena.take(n, sizeof(label_t))
        for i in range(n):
            self.y[i] = y[self.ids[i]]
        if most > 1:
            self.count = <int32_t*> self.arena.take(n, sizeof(int32_t))
            self.seen_count = <int32_t*> self.arena.take(n, sizeof(int32_t))
            for i in range(n):
                self.count[i] = count[self.ids[i]]
        self.sides = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        self.spare = <uint32_t*> self.arena.take(n, sizeof(uint32_t))
        self.codes = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.seen_codes = <int32_t*> self.arena.take(n, sizeof(int32_t))
        self.tally = <int32_t*> self.arena.take_zeros(MAX_LEVELS * K, sizeof(int32_t))
        self.present = <uint64_t*> self.arena.take_zeros(
            MAX_LEVELS // 64, sizeof(uint64_t)
        )
        self.histogram = <float64_t*> self.arena.take(
            MAX_LEVELS * K, sizeof(float64_t)
        )
        self.side_counts = <int32_t*> self.arena.take(3 * K, sizeof(int32_t))
        if multiway:
            self.branches = <label_t*> self.arena.take(n, sizeof(label_t))
            self.at = <intp_t*> self.arena.take(n_codes, sizeof(intp_t))
        return 0

    # -- the sample ---------------------------------------------------------------

    cdef void _describe(
        self, intp_t feature, const int32_t* count, uint8_t* found
    ) noexcept nogil:
        # What a table of the sample's rows would have.
        cdef const Column* original = &self.table.columns[feature]
        cdef DrawnColumn* column = &self.columns[feature]
        column.coded = original.order == NULL
        column.n_levels = original.n_levels
        column.has_missing = original.has_missing
        column.missing = NO_CODE
        if original.has_missing:
            column.missing = <int32_t> (
                self.row_codes.columns[feature].n_codes - 1
            )
        if original.nominal or self.n_rows == self.table.n_rows:
            return
        if column.coded:
            column.n_levels = self._count_levels(original, found)
            if original.has_missing:
                column.has_missing = found[original.n_levels - 1]
        else:
            self.fits = self.fits and self._has_many_values(original, count)
            if original.has_missing:
                column.has_missing = self._misses_some(original, count)

    cdef intp_t _count_levels(
        self, const Column* column, uint8_t* found
    ) noexcept nogil:
        cdef intp_t n_levels = 0
        cdef intp_t i
        memset(found, 0, MAX_LEVELS)
        for i in range(self.n_rows):
            n_levels += not found[column.codes[self.ids[i]]]
            found[column.codes[self.ids[i]]] = 1
            if n_levels == column.n_levels:
                break
        return n_levels

    cdef bint _has_many_values(
        self, const Column* column, const int32_t* count
    ) noexcept nogil:
        # More than MAX_LEVELS.
        cdef intp_t n_levels = 0
        cdef bint new = True
        cdef intp_t i
        for i in range(self.table.n_rows):
            new = new or column.order[i] & 1
            if new and count[column.order[i] >> 1] > 0:
                n_levels += 1
                new = False
                if n_levels > MAX_LEVELS:
                    return True
        return False

    cdef bint _misses_some(
        self, const Column* column, const int32_t* count
    ) noexcept nogil:
        # Whether a row of the sample has no value of a sorted feature: the last entries.
        cdef intp_t i = self.table.n_rows - 1
        cdef intp_t row
        while i >= 0:
            row = column.order[i] >> 1
            if not isnan(column.values[row * self.table.stride]):
                return False
            if count[row] > 0:
                return True
            i -= 1
        return False

    # -- the node -----------------------------------------------------------------

    cdef void begin(self) noexcept nogil:
        self.looked_up = -1
        self.sided = -1
        if self.count != NULL:
            self.node.n_repeated = self.node.n
        self.n_walked = fmin(
            self.node.n_repeated,
            <float64_t> REPEATS * (self.node.record.end - self.node.record.start),
        )

    cdef float64_t weight_without_repeats(self) noexcept nogil:
        cdef const float64_t* distinct = &self.node.root.distinct[0]
        cdef float64_t weight = 0.0
        cdef intp_t i
        for i in range(self.node.record.start, self.node.record.end):
            weight += distinct[self.ids[i]]
        return weight

    cdef inline void _look_up(self, intp_t feature) noexcept nogil:
        cdef intp_t start = self.node.record.start
        if self.looked_up == feature:
            return
        self.looked_up = feature
        self.row_codes.look_up(
            feature, self.ids + start, self.node.record.end - start, self.codes
        )

    cdef float32_t _value(self, intp_t feature, intp_t i) noexcept nogil:
        # Of a row of the node, whose codes have been looked up.
        cdef const Column* column = &self.table.columns[feature]
        if column.levels != NULL:
            return column.levels[self.codes[i]]
        return column.values[
            <intp_t> self.ids[self.node.record.start + i] * self.table.stride
        ]

    cdef float32_t _floor(self, intp_t feature, intp_t i) noexcept nogil:
        # The smallest value that such a code stands for.
        cdef const Column* column = &self.table.columns[feature]
        if column.levels != NULL:
            return floor_of(column, self.codes[i])
        return self._value(feature, i)

    # -- walks --------------------------------------------------------------------

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        # Codes that are counted or sorted give the same tests. Where sums depend on
        # the order of the rows, or on where a block ends, it is that of TableSource.
        cdef const DrawnColumn* column = &self.columns[feature]
        cdef intp_t K = self.node.n_classes
        cdef bint counts
        if not column.has_missing:
            self._look_up(feature)
            self.walked_codes = self.codes
            self.walked_y = self.y + self.node.record.start
            self.walked_count = NULL
            if self.count != NULL:
                self.walked_count = self.count + self.node.record.start
            self.n_seen = self.node.record.end - self.node.record.start
        if not column.coded:
            return self._walk_order(scan)
        counts = (
            2 * self.n_walked >= column.n_levels * K or self.n_walked >= SORT_LIMIT
            or column.has_missing
        )
        if (scan.squares or not scan.additive) and (
            counts or K > 2 or self.node.n_repeated <= BLOCK
        ):
            return self._walk_tally(feature, scan)
        if counts:
            return self._walk_histogram(feature, scan)
        return self._walk_order(scan)

    cdef void _count_codes(self) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef const int32_t* codes = self.walked_codes
        cdef const label_t* y = self.walked_y
        cdef const int32_t* count = self.walked_count
        cdef intp_t i
        if count != NULL:
            for i in range(self.n_seen):
                self.tally[codes[i] * K + y[i]] += count[i]
        else:
            for i in range(self.n_seen):
                self.tally[codes[i] * K + y[i]] += 1

    cdef intp_t _walk_tally(self, intp_t feature, Scan scan) noexcept nogil:
        cdef const int32_t* codes = self.walked_codes
        cdef uint64_t* present = self.present
        cdef intp_t i
        self._count_codes()
        for i in range(self.n_seen):
            present[codes[i] >> 6] |= <uint64_t> 1 << (codes[i] & 63)
        return scan.walk_tally(
            self.tally, present, self.table.columns[feature].n_levels,
            self.node.counts,
        )

    cdef intp_t _walk_histogram(self, intp_t feature, Scan scan) noexcept nogil:
        cdef intp_t n_levels = self.table.columns[feature].n_levels
        cdef intp_t size = n_levels * self.node.n_classes
        cdef intp_t i
        self._count_codes()
        for i in range(size):
            self.histogram[i] = self.tally[i]
        memset(self.tally, 0, size * sizeof(int32_t))
        return scan.walk_histogram(self.histogram, n_levels, self.node.counts)

    cdef intp_t _walk_order(self, Scan scan) noexcept nogil:
        cdef bint two_classes = self.node.n_classes == 2
        if self.tagged and (
            two_classes or scan.additive and scan.squares and (
                self.walked_count == NULL
                or self.node.n_repeated <= REPEATS * self.n_seen
            )
        ):
            self.order.sort_tagged(
                self.walked_codes, self.walked_y, self.walked_count, self.n_seen
            )
            if two_classes:
                return walk_two_class_keys(
                    scan, self.order.keys, self.n_seen, self.order.least
                )
            return walk_square_keys(
                scan, self.order.keys, self.n_seen, self.order.least,
                self.node.counts,
            )
        self.order.sort(self.walked_codes, self.n_seen)
        scan.places = self.order.ranks
        return scan.walk_sorted(
            self.order.entries, self.n_seen, self.walked_y, self.walked_count, NULL,
            self.node.counts,
        )

    # -- missing values -----------------------------------------------------------

    cdef bint count_values(
        self, intp_t feature, ValueCounts* values
    ) noexcept nogil:
        # Puts aside the rows that have a value, which are to be walked.
        cdef intp_t K = self.node.n_classes
        cdef intp_t start = self.node.record.start
        cdef int32_t missing = self.columns[feature].missing
        cdef intp_t n_seen = 0
        cdef intp_t i, c
        cdef int32_t w = 1
        if not self.columns[feature].has_missing:
            return False
        self._look_up(feature)
        memset(values.seen, 0, (K + 1) * sizeof(float64_t))
        memset(values.missing, 0, (K + 1) * sizeof(float64_t))
        for i in range(start, self.node.record.end):
            if self.count != NULL:
                w = self.count[i]
            if self.codes[i - start] == missing:
                values.missing[self.y[i]] += w
                continue
            values.seen[self.y[i]] += w
            self.seen_codes[n_seen] = self.codes[i - start]
            self.seen_y[n_seen] = self.y[i]
            if self.count != NULL:
                self.seen_count[n_seen] = w
            n_seen += 1
        self.n_seen = n_seen
        self.walked_codes = self.seen_codes
        self.walked_y = self.seen_y
        self.walked_count = self.seen_count
        values.n_seen = 0.0
        values.n_missing = 0.0
        for c in range(K):
            values.n_seen += values.seen[c]
            values.n_missing += values.missing[c]
        values.pool_seen = values.n_seen
        return True

    cdef intp_t everything(self, intp_t feature) noexcept nogil:
        return self.row_codes.columns[feature].n_codes - 1 - (
            self.table.columns[feature].has_missing
        )

    # -- random cuts --------------------------------------------------------------

    cdef intp_t draw(
        self, intp_t feature, float64_t u, float64_t* threshold
    ) noexcept nogil:
        # Between the extreme values.
        cdef intp_t n = self.node.record.end - self.node.record.start
        cdef int32_t missing = self.columns[feature].missing
        cdef intp_t least = -1
        cdef intp_t most = -1
        cdef intp_t i
        self._look_up(feature)
        for i in range(n):
            if self.codes[i] == missing:
                continue
            if least < 0 or self.codes[i] < self.codes[least]:
                least = i
            if most < 0 or self.codes[i] > self.codes[most]:
                most = i
        if not self.codes[least] < self.codes[most]:
            return -1
        threshold[0] = drawn_between(
            self._value(feature, least), self._value(feature, most), u
        )
        return self._place_of(feature, threshold[0])

    cdef intp_t _place_of(self, intp_t feature, float64_t threshold) noexcept nogil:
        # The largest code of a value <= threshold: the lowest value of a node is one.
        cdef const Column* column = &self.table.columns[feature]
        cdef intp_t low = 0
        cdef intp_t high, middle
        if column.order == NULL:
            while low + 1 < column.n_levels and column.levels[low + 1] <= threshold:
                low += 1
            return low
        high = self.table.n_rows
        while low < high:
            middle = (low + high) // 2
            # NaN is not
            if column.values[
                <intp_t> (column.order[middle] >> 1) * self.table.stride
            ] <= threshold:
                low = middle + 1
            else:
                high = middle
        return self.row_codes.code(column.order[low - 1] >> 1, feature)

    # -- one test -----------------------------------------------------------------

    cdef float64_t threshold(self, intp_t feature, intp_t place) noexcept nogil:
        if self.sided != feature or self.sided_place != place:
            self._set_sides(feature, place)
        return midpoint(
            self._value(feature, self.below), self._floor(feature, self.above)
        )

    cdef void _set_sides(self, intp_t feature, intp_t place) noexcept nogil:
        # Count the rows on either side of a cut, and the third ones that have no value.
        cdef intp_t K = self.node.n_classes
        cdef intp_t start = self.node.record.start
        cdef intp_t n = self.node.record.end - start
        cdef int32_t missing = self.columns[feature].missing
        cdef const int32_t* codes = self.codes
        cdef const label_t* y = self.y + start
        cdef int32_t* counts = self.side_counts
        cdef uint8_t* sides = self.sides
        cdef int32_t below = -1
        cdef int32_t above = NO_CODE
        cdef int32_t cut = <int32_t> place
        cdef intp_t n_right = 0
        cdef intp_t n_missing = 0
        cdef int32_t code, low, high
        cdef uint8_t side
        cdef intp_t i
        self._look_up(feature)
        self.sided = feature
        self.sided_place = place
        # without branches: nobody knows which side is next
        for i in range(n):
            code = codes[i]
            side = code > cut
            low = -1 if side else code
            high = code if side else NO_CODE
            sides[i] = side
            n_right += side
            below = low if low > below else below
            above = high if high < above else above
        if missing != NO_CODE:      # it is the largest code
            above = NO_CODE
            for i in range(n):
                code = codes[i]
                sides[i] += code == missing
                n_missing += code == missing
                if cut < code < above and code != missing:
                    above = code
        self.side_rows[0] = n - n_right
        self.side_rows[1] = n_right - n_missing
        self.side_rows[2] = n_missing
        memset(counts, 0, 3 * K * sizeof(int32_t))
        if self.count != NULL:
            for i in range(n):
                counts[sides[i] * K + y[i]] += self.count[start + i]
        else:
            for i in range(n):
                counts[sides[i] * K + y[i]] += 1
        if below >= 0:
            self.below = self._row_of(feature, below)
        if above != NO_CODE:
            self.above = self._row_of(feature, above)

    cdef intp_t _row_of(self, intp_t feature, int32_t code) noexcept nogil:
        # The first row of the node with a code; its value will be asked for.
        cdef const Column* column = &self.table.columns[feature]
        cdef intp_t i = 0
        while self.codes[i] != code:
            i += 1
        if column.levels == NULL:
            prefetch(
                column.values
                + <intp_t> self.ids[self.node.record.start + i] * self.table.stride
            )
        return i

    cdef bint count_sides(
        self, intp_t feature, intp_t place, Children* children, ValueCounts* values
    ) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t side, c
        self._set_sides(feature, place)
        for side in range(2):
            children.rows[side] += self.side_rows[side]
            children.n_labelled[side] += self.side_rows[side]
            for c in range(K):
                children.counts[side * K + c] += self.side_counts[side * K + c]
                children.pool[side] += self.side_counts[side * K + c]
        if not self.columns[feature].has_missing:
            return False
        values.n_missing = 0.0
        for c in range(K):
            values.missing[c] = self.side_counts[2 * K + c]
            values.n_missing += values.missing[c]
        values.missing[K] = 0.0
        values.rows_missing = self.side_rows[2]
        values.labelled_missing = self.side_rows[2]
        return True

    # -- nominal features ---------------------------------------------------------

    cdef intp_t count_categories(
        self, intp_t feature, float64_t* counts
    ) noexcept nogil:
        cdef intp_t width = self.node.n_classes + 1
        cdef intp_t start = self.node.record.start
        cdef intp_t n_levels = self.table.columns[feature].n_levels
        cdef intp_t i
        cdef int32_t w = 1
        self._look_up(feature)
        memset(counts, 0, n_levels * width * sizeof(float64_t))
        for i in range(start, self.node.record.end):
            if self.count != NULL:
                w = self.count[i]
            counts[self.codes[i - start] * width + self.y[i]] += w
        return n_levels

    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil:
        cdef intp_t n = self.node.record.end - self.node.record.start
        cdef intp_t i, z
        self._look_up(feature)
        for i in range(n):
            z = children.ordinals[self.codes[i]]
            if z < 0:
                z = children.unknown
            children.rows[z] += 1
            children.n_labelled[z] += 1

    # -- what a builder asks ------------------------------------------------------

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        cdef const Children* children = &split.children
        cdef intp_t n = record.end - record.start
        cdef bint multiway = self.branches != NULL and children.ordinals != NULL
        cdef uint8_t went_left = <uint8_t> children.missing_left
        cdef intp_t i, z
        if children.ordinals != NULL:
            self._look_up(split.feature)
            for i in range(n):
                z = children.unknown
                if self.codes[i] < children.n_codes and (
                    children.ordinals[self.codes[i]] >= 0
                ):
                    z = children.ordinals[self.codes[i]]
                if multiway:
                    self.branches[i] = <label_t> z
                else:
                    self.sides[i] = z == 0
        else:
            if self.sided != split.feature or self.sided_place != split.cut.place:
                self._set_sides(split.feature, split.cut.place)
            for i in range(n):
                self.sides[i] = (self.sides[i] == 0) | (self.sides[i] >> 1 & went_left)
        if multiway:
            self._scatter(record.start, n, starts, children.n_outcomes)
        else:
            self._part(record.start, n)
        self.looked_up = -1
        self.sided = -1

    cdef void _part(self, intp_t start, intp_t n) noexcept nogil:
        partition_values(self.ids + start, n, self.sides, self.spare)
        partition_values(self.y + start, n, self.sides, <label_t*> self.spare)
        if self.count != NULL:
            partition_values(
                <uint32_t*> self.count + start, n, self.sides, self.spare
            )

    cdef void _scatter(
        self, intp_t start, intp_t n, const intp_t* starts, intp_t n_outcomes
    ) noexcept nogil:
        scatter_values(
            self.ids + start, n, self.branches, starts, n_outcomes, self.at,
            self.spare,
        )
        scatter_values(
            self.y + start, n, self.branches, starts, n_outcomes, self.at,
            <label_t*> self.spare,
        )
        if self.count != NULL:
            scatter_values(
                <uint32_t*> self.count + start, n, self.branches, starts, n_outcomes,
                self.at, self.spare,
            )
