"""Another source of rows than the package's: row ids alone are divided.

The codes of a table, which never move, are looked up by row. Numbers with few values,
all rows labeled, all weights 1. This is as much as a second way to keep rows takes.
"""

from skconftree.tables._encoded_table cimport EncodedTable
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._table_source cimport RowSource
from skconftree.tree.split._node cimport ExaminedNode, NodeRecord, RootStats
from skconftree.tree.split._scan cimport Scan
from skconftree.tree.split._scan cimport ValueCounts, random_threshold
from skconftree.tree.split._split cimport Children, Split
from skconftree.utils._inline cimport midpoint
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, intp_t, label_t, uint32_t


cdef class IdSource(RowSource):
    cdef EncodedTable table
    cdef const label_t[::1] y
    cdef Arena arena
    cdef uint32_t* ids
    cdef uint32_t* spare
    cdef float64_t* histogram

    def __init__(
        self, EncodedTable table, const label_t[::1] y, GrowthSettings settings,
        RootStats root,
    ):
        super().__init__(ExaminedNode(settings, root))
        cdef intp_t i
        self.table = table
        self.y = y
        self.n_rows = table.n_rows
        self.arena = Arena()
        self.ids = <uint32_t*> self.arena.take(self.n_rows, sizeof(uint32_t))
        self.spare = <uint32_t*> self.arena.take(self.n_rows, sizeof(uint32_t))
        self.histogram = <float64_t*> self.arena.take(
            256 * root.n_classes, sizeof(float64_t)
        )
        for i in range(self.n_rows):
            self.ids[i] = <uint32_t> i

    cdef intp_t code(self, intp_t i, intp_t feature) noexcept nogil:
        return self.table.columns[feature].codes[self.ids[i]]

    cdef bint count_values(
        self, intp_t feature, ValueCounts* values
    ) noexcept nogil:
        return False

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        cdef intp_t K = self.node.n_classes
        cdef intp_t n_levels = self.table.columns[feature].n_levels
        cdef intp_t i
        for i in range(n_levels * K):
            self.histogram[i] = 0.0
        for i in range(self.node.record.start, self.node.record.end):
            self.histogram[self.code(i, feature) * K + self.y[self.ids[i]]] += 1.0
        return scan.walk_histogram(self.histogram, n_levels, self.node.counts)

    cdef intp_t end_position(self, intp_t feature) noexcept nogil:
        return self.table.columns[feature].n_levels - 1

    cdef void neighbors(
        self, intp_t feature, intp_t position, intp_t* below, intp_t* above
    ) noexcept nogil:
        cdef intp_t i, code
        below[0] = -1
        above[0] = 256
        for i in range(self.node.record.start, self.node.record.end):
            code = self.code(i, feature)
            if code <= position:
                below[0] = max(below[0], code)
            else:
                above[0] = min(above[0], code)

    cdef float64_t threshold(self, intp_t feature, intp_t position) noexcept nogil:
        cdef intp_t below, above
        self.neighbors(feature, position, &below, &above)
        return midpoint(
            self.table.columns[feature].levels[below],
            self.table.columns[feature].levels[above],
        )

    cdef intp_t draw(
        self, intp_t feature, float64_t u, float64_t* threshold
    ) noexcept nogil:
        cdef intp_t low, high, lowest, highest, position
        self.neighbors(feature, -1, &low, &lowest)
        self.neighbors(feature, 256, &highest, &high)
        if lowest == highest:
            return -1
        threshold[0] = random_threshold(
            self.table.columns[feature].levels[lowest],
            self.table.columns[feature].levels[highest], u,
        )
        position = lowest
        while self.table.columns[feature].levels[position + 1] <= threshold[0]:
            position += 1
        return position

    cdef bint count_sides(
        self, intp_t feature, intp_t position, Children* children, ValueCounts* values
    ) noexcept nogil:
        cdef intp_t i, side
        for i in range(self.node.record.start, self.node.record.end):
            side = self.code(i, feature) > position
            children.rows[side] += 1
            children.n_labeled[side] += 1
            children.pool[side] += 1.0
            children.counts[side * self.node.n_classes + self.y[self.ids[i]]] += 1.0
        return False

    cdef intp_t count_categories(
        self, intp_t feature, float64_t* counts
    ) noexcept nogil:
        return 0

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        cdef intp_t left = record.start
        cdef intp_t right = record.start + starts[1]
        cdef intp_t i
        for i in range(record.start, record.end):
            if self.code(i, split.feature) <= split.cut.position:
                self.spare[left] = self.ids[i]
                left += 1
            else:
                self.spare[right] = self.ids[i]
                right += 1
        for i in range(record.start, record.end):
            self.ids[i] = self.spare[i]
