"""The nodes of a tree whose rows lie in parts."""

import numpy as np

from libc.string cimport memset

from skconftree.tables._encoded_table cimport floor_of
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._sparse_rows cimport Segment
from skconftree.tree.split._node cimport ExaminedNode, NodeRecord, RootFacts
from skconftree.tree.split._scan cimport REPEATS, Scan
from skconftree.tree.split._source cimport ValueCounts, add_up, drawn_between
from skconftree.tree.split._split cimport Children
from skconftree.utils._midpoint cimport midpoint


cdef class PartedSource(RowSource):
    """The nodes of a tree whose rows lie in parts; `heads` are their columns."""

    def __init__(
        self, nodes, NodeRows heads not None, GrowthSettings settings, RootFacts root
    ):
        super().__init__(ExaminedNode(settings, root))
        cdef intp_t n_codes = 0
        cdef intp_t widest = 2
        cdef intp_t f
        self.nodes = nodes
        self.waiting = []
        self.heads = heads
        self.n_rows = nodes.n_rows
        self.longest_walk = REPEATS * self.n_rows
        self.complete = True
        self.arena = Arena()
        self.first = <intp_t*> self.arena.take(root.n_features, sizeof(intp_t))
        for f in range(root.n_features):
            self.first[f] = n_codes
            n_codes += heads.columns[f].n_levels
            widest = max(widest, heads.columns[f].n_levels)
            if heads.columns[f].has_missing:
                self.complete = False
                self.node.cuts_only = False
        self.histogram = <float64_t*> self.arena.take(
            widest * (root.n_classes + 1), sizeof(float64_t)
        )
        self.width = root.n_classes + <bint> nodes.repeated
        self.rows_at = root.n_classes if nodes.repeated else -1
        self._hold(np.zeros((n_codes, self.width), dtype=np.int64))

    def _hold(self, const int64_t[:, ::1] counts):
        self.held = counts
        self.cells = &counts[0, 0]

    # -- the parts ------------------------------------------------------------------

    cdef void enter(
        self, intp_t node, const Segment* segments, intp_t n_segments
    ) noexcept nogil:
        with gil:
            try:
                counts, weight = self.nodes.counts(node)
                self._hold(counts)
                self.distinct = -1.0 if weight is None else weight
            except BaseException as error:
                self.error = error

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        with gil:
            try:
                self.waiting.append((record.id, split.feature, self.outcomes_of(split), []))
            except BaseException as error:
                self.error = error

    cdef int want(self, intp_t outcome, intp_t node, intp_t n_rows) except -1:
        cdef list children = self.waiting[len(self.waiting) - 1][3]
        children.append((outcome, node, n_rows))
        return 0

    cdef int divide_parts(self, intp_t limit) except -1:
        if self.waiting:
            questions, self.waiting = self.waiting, []
            self.nodes.divide(questions, limit)
        return 0

    cdef int check_parts(self) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0

    cdef outcomes_of(self, const Split* split):
        cdef const Column* column = &self.heads.columns[split.feature]
        cdef const Children* children = &split.children
        cdef intp_t code
        outcomes = np.zeros(column.n_levels, dtype=np.uint16)
        for code in range(column.n_levels):
            if children.ordinals == NULL:
                outcomes[code] = code > split.cut.place
            elif code < children.n_codes and children.ordinals[code] >= 0:
                outcomes[code] = children.ordinals[code]
            else:
                outcomes[code] = children.unknown
        if column.has_missing:
            outcomes[column.n_levels - 1] = not children.missing_left
        return outcomes

    # -- the node -------------------------------------------------------------------

    cdef void begin(self) noexcept nogil:
        if self.rows_at >= 0:
            self.node.n_repeated = self.node.n

    cdef float64_t weight_without_repeats(self) noexcept nogil:
        if self.distinct >= 0.0:
            return self.distinct
        return <float64_t> (self.node.record.end - self.node.record.start)

    cdef inline int64_t n_rows_of(self, const int64_t* cell) noexcept nogil:
        cdef int64_t n = 0
        cdef intp_t c
        if self.rows_at >= 0:
            return cell[self.rows_at]
        for c in range(self.node.n_classes):
            n += cell[c]
        return n

    cdef void fill(
        self, intp_t feature, intp_t width, float64_t* out
    ) noexcept nogil:
        # Class weights of each code, [codes, width]; no row is without label.
        cdef intp_t K = self.node.n_classes
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t _b, c
        for _b in range(self.heads.columns[feature].n_levels):
            for c in range(K):
                out[c] = <float64_t> cell[c]
            if width > K:
                out[K] = 0.0
            out += width
            cell += self.width

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        cdef const Column* column = &self.heads.columns[feature]
        cdef intp_t n_levels = column.n_levels - column.has_missing
        if not column.has_missing:      # count_values() has filled the histogram
            self.fill(
                feature, self.node.n_classes + self.node.has_pool, self.histogram
            )
        if self.node.has_pool:
            return scan.walk_histogram_with_pool(
                self.histogram, n_levels, column.levels
            )
        return scan.walk_histogram(self.histogram, n_levels, self.node.counts)

    cdef bint count_values(
        self, intp_t feature, ValueCounts* values
    ) noexcept nogil:
        cdef const Column* column = &self.heads.columns[feature]
        cdef intp_t K = self.node.n_classes
        cdef intp_t width = K + self.node.has_pool
        cdef float64_t* counts
        cdef intp_t b, c
        if not column.has_missing:
            return False
        memset(values.seen, 0, (K + 1) * sizeof(float64_t))
        memset(values.missing, 0, (K + 1) * sizeof(float64_t))
        self.fill(feature, width, self.histogram)
        for b in range(column.n_levels):
            counts = values.seen if b < column.n_levels - 1 else values.missing
            for c in range(width):
                counts[c] += self.histogram[b * width + c]
        add_up(values, K)
        return True

    cdef intp_t everything(self, intp_t feature) noexcept nogil:
        cdef const Column* column = &self.heads.columns[feature]
        return column.n_levels - 1 - column.has_missing

    cdef void _labelled_range(
        self, intp_t feature, intp_t* low, intp_t* high
    ) noexcept nogil:
        # The smallest and the largest code of a value.
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        low[0] = 0
        high[0] = self.everything(feature)
        while low[0] < high[0] and self.n_rows_of(cell + low[0] * self.width) == 0:
            low[0] += 1
        while high[0] > low[0] and self.n_rows_of(cell + high[0] * self.width) == 0:
            high[0] -= 1

    cdef intp_t draw(
        self, intp_t feature, float64_t u, float64_t* threshold
    ) noexcept nogil:
        cdef const Column* column = &self.heads.columns[feature]
        cdef intp_t low, high
        cdef intp_t place = 0
        self._labelled_range(feature, &low, &high)
        if not column.levels[low] < column.levels[high]:
            return -1
        threshold[0] = drawn_between(column.levels[low], column.levels[high], u)
        # NaN is not at most the threshold
        while (
            place + 1 < column.n_levels and column.levels[place + 1] <= threshold[0]
        ):
            place += 1
        return place

    cdef float64_t threshold(self, intp_t feature, intp_t place) noexcept nogil:
        cdef const Column* column = &self.heads.columns[feature]
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t low = place
        cdef intp_t high = place + 1
        while low > 0 and self.n_rows_of(cell + low * self.width) == 0:
            low -= 1
        while (
            high < self.everything(feature)
            and self.n_rows_of(cell + high * self.width) == 0
        ):
            high += 1
        return midpoint(column.levels[low], floor_of(column, high))

    cdef bint count_sides(
        self, intp_t feature, intp_t place, Children* children, ValueCounts* values
    ) noexcept nogil:
        cdef const Column* column = &self.heads.columns[feature]
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t K = self.node.n_classes
        cdef intp_t code, side, c
        if column.has_missing:
            memset(values.missing, 0, (K + 1) * sizeof(float64_t))
            values.rows_missing = 0
            values.labelled_missing = 0
        for code in range(column.n_levels):
            if column.has_missing and code == column.n_levels - 1:
                values.rows_missing = <intp_t> self.n_rows_of(cell)
                values.labelled_missing = values.rows_missing
                for c in range(K):
                    values.missing[c] += <float64_t> cell[c]
            else:
                side = code > place
                children.rows[side] += <intp_t> self.n_rows_of(cell)
                for c in range(K):
                    children.counts[side * K + c] += <float64_t> cell[c]
                    children.pool[side] += <float64_t> cell[c]
            cell += self.width
        for side in range(2):
            children.n_labelled[side] = children.rows[side]
        if not column.has_missing:
            return False
        values.n_missing = 0.0
        for c in range(K):
            values.n_missing += values.missing[c]
        return True

    cdef intp_t count_categories(
        self, intp_t feature, float64_t* counts
    ) noexcept nogil:
        self.fill(feature, self.node.n_classes + 1, counts)
        return self.heads.columns[feature].n_levels

    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil:
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t n, z, code
        for code in range(self.heads.columns[feature].n_levels):
            n = <intp_t> self.n_rows_of(cell)
            z = children.ordinals[code] if n > 0 else 0
            if z < 0:
                z = children.unknown
            children.rows[z] += n
            children.n_labelled[z] += n
            cell += self.width
