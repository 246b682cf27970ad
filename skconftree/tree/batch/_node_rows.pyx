"""The rows of a sample of an encoded table, in node order: a node is a range of every array.

In a sparse column, a node is a segment of its entries instead, see `_sparse_rows.pxd`.

A feature is coded if each row has a code, the rank of its value among the distinct values
(levels) or bins. It is sorted if its rows are stored in ascending order of the value, as
entries (row << 1) | new, where new = 1 if the value differs from that of the previous entry.
A column has the codes (`codes16`: of two bytes) or the entries (`order`). To mark rows is to set
the child that each one goes to. Trial splits are made by look-ahead, and discarded. See
_node_rows.pxd.
"""

from libc.math cimport isnan
from libc.string cimport memcpy, memset

from skconftree.tables._encoded_table cimport MAX_LEVELS       # largest number of codes of a byte
from skconftree.tables._sparse_columns cimport CODED
from skconftree.tree.batch._partition cimport (
    copy_entries, mark_distinct, partition_sorted, partition_values, scatter_entries,
    scatter_values,
)   # scatter: partition into any number of children
from skconftree.utils._sorting cimport ordered_bits, value_of_bits   # integers that sort as floats

cdef class NodeRows:
    """The working copy of a sample for one worker (thread).

    `y` is the class of each row of the table; n_classes is an unlabeled row. `count` are
    integer weights, whose sum is below 2^31; `weight` are other weights. Rows of count 0
    are absent. `multiway` allows more than two children. With `consumes`, the arrays of the
    table are used instead of copies, if all rows are present.
    """

    def __init__(
        self, EncodedTable table not None, const label_t[::1] y not None,
        const int32_t[::1] count=None, const float64_t[::1] weight=None, bint multiway=False,
        bint consumes=False,
    ):
        table.begin_use(consumes)       # raises an error if its arrays are already in use
        self.table = table
        self.n_features = table.n_features
        self.stride = table.stride      # distance of two values of a column
        self.arena = Arena()
        self.y = &y[0]
        if count is not None:
            self.count = &count[0]
        if weight is not None:
            self.weight = &weight[0]
        self._owners = (y, count, weight)
        cdef bint repeated
        with nogil:
            self.goes_left = <uint8_t*> self.arena.take(table.n_rows, sizeof(uint8_t))
            self.n_rows = _mark_present(self, &repeated)
        if not repeated:
            self.count = NULL
        if table.sparse is not None:
            self.sparse = SparseRows(table.sparse, self.n_rows)
        with nogil:
            self._begin(multiway, consumes)

    cdef int _begin(self, bint multiway, bint consumes) except -1 nogil:
        cdef intp_t n = self.n_rows
        cdef intp_t f
        self.sides = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        if multiway:
            self.branch = <label_t*> self.arena.take(self.table.n_rows, sizeof(label_t))
            self.branches = <label_t*> self.arena.take(n, sizeof(label_t))
        cdef bint all_present = n == self.table.n_rows
        if not all_present or self.table.n_coded > 0 or self.sparse is not None:
            _start_node_order(self)
        if consumes and all_present:
            self.columns = self.table.columns
            if self.sparse is not None:
                self.sparse.take_over()     # use the arrays of the table
        else:
            _copy(self)
        if self.sparse is not None:
            self.sparse_columns = self.sparse.columns
        for f in range(self.n_features):
            if not self.is_sparse(f) and self.columns[f].order != NULL:
                # the first entry has new = 0 if all values are distinct, else 1
                mark_distinct(self.columns[f].order, n)
        return 0

    cdef int _copy_codes(self, Column* column, const Column* original) except -1 nogil:
        cdef intp_t n = self.n_rows
        cdef intp_t n_levels = 0
        cdef uint8_t rank[MAX_LEVELS]
        cdef uint8_t* codes = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        cdef float32_t* levels
        cdef float32_t* lower_edges = NULL      # smallest value of each bin
        cdef intp_t i
        column.codes = codes
        if n == self.table.n_rows:
            memcpy(codes, original.codes, n)
            return 0
        memset(rank, 0, MAX_LEVELS)
        for i in range(n):
            codes[i] = original.codes[self.ids[i]]
            rank[codes[i]] = 1
        if column.nominal:
            return 0
        # has_missing: the last level is NaN
        column.has_missing = original.has_missing and rank[original.n_levels - 1]
        levels = <float32_t*> self.arena.take(original.n_levels, sizeof(float32_t))
        if original.lower_edges != NULL:
            lower_edges = <float32_t*> self.arena.take(original.n_levels, sizeof(float32_t))
        for i in range(original.n_levels):
            if rank[i]:
                levels[n_levels] = original.levels[i]
                if lower_edges != NULL:
                    lower_edges[n_levels] = original.lower_edges[i]
                rank[i] = <uint8_t> n_levels
                n_levels += 1
        column.levels = levels
        column.lower_edges = lower_edges
        column.n_levels = n_levels
        if n_levels < original.n_levels:
            for i in range(n):
                codes[i] = rank[codes[i]]
        return 0

    cdef int _rank(
        self, Column* column, intp_t n_levels, const uint32_t* positions
    ) except -1 nogil:
        # Convert sorted entries into codes; positions[row] is the index of a row.
        cdef float32_t* levels = <float32_t*> self.arena.take(n_levels, sizeof(float32_t))
        cdef intp_t code = 0, i, row
        column.codes = <uint8_t*> self.arena.take(self.n_rows, sizeof(uint8_t))
        for i in range(self.n_rows):
            row = column.order[i] >> 1
            if i > 0:
                code += column.order[i] & 1
            column.codes[positions[row]] = <uint8_t> code
            # -0.0 becomes 0.0
            levels[code] = value_of_bits(ordered_bits(column.values[row * self.stride]))
        column.n_levels = n_levels
        column.levels = levels
        self.arena.release(column.order)
        column.order = NULL
        return 0

    cdef intp_t n_present(self, intp_t feature, intp_t start, intp_t end) noexcept nogil:
        # Rows of a node that have a value of a sorted feature: the first entries.
        cdef Column* column = self.column(feature)
        cdef const uint32_t* order = column.order
        cdef intp_t low = start
        cdef intp_t high = end
        cdef intp_t middle
        if not column.has_missing:
            return end - start
        while low < high:
            middle = (low + high) // 2
            if isnan(self.value(order[middle] >> 1, feature)):
                high = middle
            else:
                low = middle + 1
        return low - start

    cdef void mark(
        self, intp_t feature, intp_t position, bint missing_left, intp_t start, intp_t end
    ) noexcept nogil:
        # Set `goes_left` of each row of the node. `position`: number of rows with a
        # value that go left (sorted), or the largest code that does (coded).
        cdef Column* column = &self.columns[feature]
        cdef intp_t present
        cdef intp_t missing = MAX_LEVELS
        cdef intp_t i
        if self.is_sparse(feature):
            self.sparse.mark(feature, position, self.ids + start, end - start, self.goes_left)
            return
        if column.order != NULL:
            present = self.n_present(feature, start, end)
            for i in range(start, start + position):
                self.goes_left[column.order[i] >> 1] = 1
            for i in range(start + position, start + present):
                self.goes_left[column.order[i] >> 1] = 0
            for i in range(start + present, end):
                self.goes_left[column.order[i] >> 1] = missing_left
            return
        for i in range(start, end):
            self.goes_left[self.ids[i]] = column.codes[i] <= position
        if column.has_missing:
            missing = column.n_levels - 1
            for i in range(start, end):
                if column.codes[i] == missing:
                    self.goes_left[self.ids[i]] = missing_left

    cdef void mark_categories(
        self, intp_t feature, const int16_t* child_of_code, intp_t n_mapped_codes,
        intp_t unknown, bint multiway, intp_t start, intp_t end,
    ) noexcept nogil:
        # The same for a set of categories, or, with a branch for each, set `branch`. Rows with
        # other categories go to the child `unknown`.
        cdef Column* column = &self.columns[feature]
        cdef intp_t i, code, z
        for i in range(start, end):
            code = column.codes[i] if column.codes != NULL else column.codes16[i]
            z = unknown
            if code < n_mapped_codes and child_of_code[code] >= 0:
                z = child_of_code[code]
            if multiway:
                self.branch[self.ids[i]] = <label_t> z
            else:
                self.goes_left[self.ids[i]] = z == 0

    cdef void partition(
        self, intp_t feature, const int32_t* features, intp_t n_features,
        intp_t start, intp_t end, void* scratch,
    ) noexcept nogil:
        # Divide the arrays of a node after its rows have been marked. The children need the
        # listed features only. `scratch` has 8 bytes for each row, and 8 more.
        cdef bint by_rows = self.set_sides(features, n_features, start, end)
        cdef intp_t j
        for j in range(n_features):
            self.partition_column(features[j], feature, start, end, scratch)
        if by_rows:
            self.partition_rows(start, end, scratch)

    cdef bint set_sides(
        self, const int32_t* features, intp_t n_features, intp_t start, intp_t end
    ) noexcept nogil:
        # Set the sides in node order; False if no feature needs them.
        cdef uint8_t* sides = self.sides + start
        cdef const uint32_t* ids = self.ids + start
        cdef bint by_rows = False
        cdef intp_t j, i
        for j in range(n_features):
            by_rows |= (self.is_sparse(features[j]) or self.columns[features[j]].order == NULL)
        if by_rows:
            for i in range(end - start):
                sides[i] = self.goes_left[ids[i]]
        return by_rows

    cdef void partition_column(
        self, intp_t f, intp_t feature, intp_t start, intp_t end, void* scratch
    ) noexcept nogil:
        # If the split feature is sorted and has no missing values, its entries are already
        # divided.
        cdef Column* column = &self.columns[f]
        cdef const uint8_t* sides = self.sides + start
        cdef intp_t n = end - start
        if self.is_sparse(f):
            self.sparse.partition(f, self.goes_left, scratch)
        elif column.order != NULL:
            if f != feature or column.has_missing:
                partition_sorted(column.order + start, n, self.goes_left, <uint32_t*> scratch)
        elif column.codes != NULL:
            partition_values(column.codes + start, n, sides, <uint8_t*> scratch)
        else:
            partition_values(column.codes16 + start, n, sides, <label_t*> scratch)

    cdef void partition_rows(self, intp_t start, intp_t end, void* scratch) noexcept nogil:
        cdef const uint8_t* sides = self.sides + start
        cdef intp_t n = end - start
        partition_values(self.ids + start, n, sides, <uint32_t*> scratch)
        partition_values(self.node_y + start, n, sides, <label_t*> scratch)
        if self.node_weight != NULL:
            partition_values(self.node_weight + start, n, sides, <float64_t*> scratch)
        if self.node_count != NULL:
            partition_values(<uint32_t*> self.node_count + start, n, sides, <uint32_t*> scratch)

    cdef void partition_multiway(
        self, const int32_t* features, intp_t n_features, intp_t start, intp_t end,
        const intp_t* starts, intp_t n_outcomes, intp_t* at, void* scratch,
    ) noexcept nogil:
        # The same for children that begin at `starts`, relative to the node's start. `at`:
        # scratch for an index per child.
        cdef intp_t n = end - start
        cdef label_t* branches = self.branches + start
        cdef intp_t j, i
        cdef Column* column
        for i in range(n):
            branches[i] = self.branch[self.ids[start + i]]
        for j in range(n_features):
            column = &self.columns[features[j]]
            if column.order != NULL:
                scatter_entries(
                    column.order + start, n, self.branch, starts, n_outcomes, at,
                    <uint32_t*> scratch,
                )
            elif column.codes != NULL:
                scatter_values(
                    column.codes + start, n, branches, starts, n_outcomes, at, <uint8_t*> scratch,
                )
            else:
                scatter_values(
                    column.codes16 + start, n, branches, starts, n_outcomes, at,
                    <label_t*> scratch,
                )
        scatter_values(self.ids + start, n, branches, starts, n_outcomes, at, <uint32_t*> scratch)
        scatter_values(
            self.node_y + start, n, branches, starts, n_outcomes, at, <label_t*> scratch,
        )
        if self.node_weight != NULL:
            scatter_values(
                self.node_weight + start, n, branches, starts, n_outcomes, at,
                <float64_t*> scratch,
            )
        if self.node_count != NULL:
            scatter_values(
                <uint32_t*> self.node_count + start, n, branches, starts,
                n_outcomes, at, <uint32_t*> scratch,
            )


cdef intp_t _mark_present(NodeRows node_rows, bint* repeated) noexcept nogil:
    # Set goes_left to 1 for rows that are present; `repeated`: some counts are above 1.
    cdef const int32_t* count = node_rows.count
    cdef const float64_t* weight = node_rows.weight
    cdef uint8_t* present = node_rows.goes_left
    cdef intp_t n = node_rows.table.n_rows
    cdef int32_t largest = 0
    cdef intp_t n_present = 0, i
    for i in range(n):
        present[i] = 1
        if count != NULL:
            present[i] = count[i] > 0
            largest = max(largest, count[i])
        elif weight != NULL:
            present[i] = weight[i] > 0.0
        n_present += present[i]
    repeated[0] = largest > 1
    return n_present


cdef int _copy(NodeRows node_rows) except -1 nogil:
    # Copy the columns of the rows of the sample.
    cdef Column* columns = node_rows.table.columns
    cdef Column* column
    cdef intp_t n = node_rows.n_rows
    cdef intp_t f, i
    cdef uint32_t* positions = NULL
    node_rows.columns = <Column*> node_rows.arena.take(node_rows.n_features, sizeof(Column))
    memcpy(node_rows.columns, columns, node_rows.n_features * sizeof(Column))
    for f in range(node_rows.n_features):
        column = &node_rows.columns[f]
        if column.order != NULL:
            _copy_order(node_rows, f, &columns[f], &positions)
        elif column.codes != NULL:
            node_rows._copy_codes(column, &columns[f])
        elif column.codes16 != NULL:
            column.codes16 = <label_t*> node_rows.arena.take(n, sizeof(label_t))
            for i in range(n):
                column.codes16[i] = columns[f].codes16[node_rows.ids[i]]
    if node_rows.sparse is not None:
        node_rows.sparse.copy(
            NULL if n == node_rows.table.n_rows else node_rows.goes_left, node_rows.ids
        )
    node_rows.arena.release(positions)
    return 0


cdef int _copy_order(
    NodeRows node_rows, intp_t feature, const Column* original, uint32_t** positions
) except -1 nogil:
    # A column with few values left is coded, as if the sample were the table.
    cdef Column* column = &node_rows.columns[feature]
    cdef intp_t n = node_rows.n_rows
    cdef intp_t n_levels = 1, i
    column.order = <uint32_t*> node_rows.arena.take(n + 1, sizeof(uint32_t))
    if n == node_rows.table.n_rows:
        memcpy(column.order, original.order, n * sizeof(uint32_t))
        return 0
    copy_entries(original.order, node_rows.table.n_rows, node_rows.goes_left, column.order)
    column.has_missing = original.has_missing and isnan(
        original.values[<intp_t> (column.order[n - 1] >> 1) * node_rows.stride]
    )
    for i in range(1, n):
        n_levels += column.order[i] & 1
    if n_levels > MAX_LEVELS:
        return 0
    if positions[0] == NULL:
        positions[0] = <uint32_t*> node_rows.arena.take(node_rows.table.n_rows, sizeof(uint32_t))
        for i in range(n):
            positions[0][node_rows.ids[i]] = <uint32_t> i
    node_rows._rank(column, n_levels, positions[0])
    return 0


cdef int _start_node_order(NodeRows node_rows) except -1 nogil:
    # Set the rows, labels and weights of the root.
    cdef intp_t n = node_rows.n_rows
    cdef intp_t k = 0, i
    node_rows.ids = <uint32_t*> node_rows.arena.take(n, sizeof(uint32_t))
    node_rows.node_y = <label_t*> node_rows.arena.take(n, sizeof(label_t))
    for i in range(node_rows.table.n_rows):
        if node_rows.goes_left[i]:
            node_rows.ids[k] = <uint32_t> i
            node_rows.node_y[k] = node_rows.y[i]
            k += 1
    if node_rows.count != NULL:
        node_rows.node_count = <int32_t*> node_rows.arena.take(n, sizeof(int32_t))
        for i in range(n):
            node_rows.node_count[i] = node_rows.count[node_rows.ids[i]]
    if node_rows.weight != NULL:
        node_rows.node_weight = <float64_t*> node_rows.arena.take(n, sizeof(float64_t))
        for i in range(n):
            node_rows.node_weight[i] = node_rows.weight[node_rows.ids[i]]
    return 0


cdef class StoredOrder:
    """The order of the rows of one node before trial splits."""

    def __init__(self, NodeRows rows not None):
        self.rows = rows
        self.arena = Arena()

    cdef int store(self, const NodeRecord* record) except -1 nogil:
        cdef intp_t n_bytes
        if self.features == NULL:
            self.features = <int32_t*> self.arena.take(self.rows.n_features, sizeof(int32_t))
        if self.segments == NULL and self.rows.sparse is not None:
            self.segments = <Segment*> self.arena.take(self.rows.n_features, sizeof(Segment))
        self.start = record.start
        self.end = record.end
        _list_features(self, record)
        n_bytes = _copy_node(self, False, True)     # counts them only
        if n_bytes > self.capacity:
            self.arena.release(self.copies)
            self.copies = NULL
            self.capacity = 0
            self.copies = <uint8_t*> self.arena.take(n_bytes, sizeof(uint8_t))
            self.capacity = n_bytes
        _copy_node(self, False, False)
        return 0

    cdef void restore(self) noexcept nogil:
        _copy_node(self, True, False)
        if self.rows.sparse is not None:
            self.rows.sparse.enter_segments(self.segments, self.n_segments)


cdef void _list_features(StoredOrder stored, const NodeRecord* record) noexcept nogil:
    # Set the dense features of the node, and the segments of its sparse columns.
    cdef SparseColumn* column
    cdef intp_t j, f
    stored.n_features = 0
    stored.n_segments = 0
    for j in range(record.n_features):
        f = record.features[j]
        if not stored.rows.is_sparse(f):
            stored.features[stored.n_features] = <int32_t> f
            stored.n_features += 1
        elif stored.rows.sparse.n_stored(f) > 0:
            column = &stored.rows.sparse.columns[f]
            stored.segments[stored.n_segments].feature = <int32_t> f
            stored.segments[stored.n_segments].begin = column.begin
            stored.segments[stored.n_segments].end = column.end
            stored.n_segments += 1


cdef intp_t _copy_node(StoredOrder stored, bint restores, bint counts_only) noexcept nogil:
    # Copy the arrays of the node, or restore them from the copies, or only count the bytes.
    cdef intp_t start = stored.start
    cdef intp_t end = stored.end
    cdef Column* column
    cdef Segment* segment
    cdef intp_t at = 0, j
    for j in range(stored.n_features):
        column = &stored.rows.columns[stored.features[j]]
        at = _copy_array(
            stored, column.order, sizeof(uint32_t), start, end, at, restores, counts_only
        )
        at = _copy_array(
            stored, column.codes, sizeof(uint8_t), start, end, at, restores, counts_only
        )
        at = _copy_array(
            stored, column.codes16, sizeof(label_t), start, end, at, restores, counts_only
        )
    for j in range(stored.n_segments):
        segment = &stored.segments[j]
        at = _copy_array(
            stored, stored.rows.sparse.entries, sizeof(uint32_t), segment.begin, segment.end,
            at, restores, counts_only,
        )
        # CODED: the nonzero rows have codes beside their entries
        if stored.rows.sparse.columns[segment.feature].form == CODED:
            at = _copy_array(
                stored, stored.rows.sparse.codes, sizeof(uint8_t), segment.begin, segment.end,
                at, restores, counts_only,
            )
    at = _copy_array(
        stored, stored.rows.ids, sizeof(uint32_t), start, end, at, restores, counts_only
    )
    at = _copy_array(
        stored, stored.rows.node_y, sizeof(label_t), start, end, at, restores, counts_only
    )
    at = _copy_array(
        stored, stored.rows.node_count, sizeof(int32_t), start, end, at, restores, counts_only
    )
    return _copy_array(
        stored, stored.rows.node_weight, sizeof(float64_t), start, end, at, restores, counts_only
    )


cdef intp_t _copy_array(
    StoredOrder stored, void* array, size_t size, intp_t start, intp_t end, intp_t at,
    bint restores, bint counts_only,
) noexcept nogil:
    # Returns the offset after the copy. Offsets are not aligned: only bytes are copied.
    cdef size_t n_bytes = (end - start) * size
    cdef uint8_t* here
    if array == NULL:
        return at
    if not counts_only:
        here = <uint8_t*> array + start * size
        if restores:
            memcpy(here, stored.copies + at, n_bytes)
        else:
            memcpy(stored.copies + at, here, n_bytes)
    return at + <intp_t> n_bytes
