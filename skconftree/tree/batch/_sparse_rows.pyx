"""Sparse columns, which store only nonzero values, divided by node.

An entry of a column is a stored row; those of a node are a segment of the entries. Levels are
the distinct values of a column, and codes their ranks. A column is SORTED (entries in the
order of the value), CODED (entries with codes), or PAIR (one nonzero value). Column.zero is the
code of zero or, if SORTED, whether there are negative values. See _sparse_rows.pxd.
"""

from libc.string cimport memcpy, memset

from skconftree.tables._encoded_table cimport MAX_LEVELS       # largest number of codes
from skconftree.tables._sparse_columns cimport CODED, PAIR, SORTED
from skconftree.tree.batch._partition cimport (
    copy_entries, partition_codes, partition_entries, partition_rows,
)
from skconftree.utils._typedefs cimport uint16_t


cdef class SparseRows:
    """Working copy of the sparse columns of a sample."""

    def __init__(self, SparseColumns source, intp_t n_rows):
        cdef intp_t n = source.table.n_rows
        self.source = source
        self.table = source.table
        self.n_rows = n_rows
        self.arena = Arena()
        self.by_row = <uint8_t*> self.arena.take_zeros(n, sizeof(uint8_t))
        self.dense_feature = -1
        self.dense_codes = <uint8_t*> self.arena.take(n_rows, sizeof(uint8_t))
        self.dense_order = <uint32_t*> self.arena.take(n_rows, sizeof(uint32_t))
        self.dense_values = <float32_t*> self.arena.take(n, sizeof(float32_t))

    cdef int take_over(self) except -1 nogil:
        # Use the arrays of the source instead of copying them.
        self.columns = self.source.columns
        self.entries = self.source.entries
        self.codes = self.source.codes
        self.levels = self.source.levels
        return 0

    cdef int copy(self, const uint8_t* present, const uint32_t* rows) except -1 nogil:
        # Copy the entries of the rows that are present, `rows`. present = NULL: all rows.
        cdef intp_t n_features = self.source.table.n_features
        cdef intp_t capacity = self.source.n_entries + 1
        cdef SparseColumn* column
        cdef const SparseColumn* original
        cdef float32_t* levels
        cdef intp_t n_entries = 0
        cdef intp_t n_levels = self.source.n_levels
        cdef intp_t f, n, i, n_values
        self.columns = <SparseColumn*> self.arena.take(n_features, sizeof(SparseColumn))
        self.entries = <uint32_t*> self.arena.take(capacity, sizeof(uint32_t))
        self.codes = <uint8_t*> self.arena.take(capacity, sizeof(uint8_t))
        self.levels = self.source.levels
        memcpy(self.columns, self.source.columns, n_features * sizeof(SparseColumn))
        if present == NULL:
            memcpy(self.entries, self.source.entries, (capacity - 1) * sizeof(uint32_t))
            memcpy(self.codes, self.source.codes, capacity - 1)
            return 0
        # the unused part of this array is never written to
        capacity += n_levels + n_features
        levels = <float32_t*> self.arena.take(capacity, sizeof(float32_t))
        memcpy(levels, self.source.levels, n_levels * sizeof(float32_t))
        for f in range(n_features):
            column = &self.columns[f]
            original = &self.source.columns[f]
            column.begin = <uint32_t> n_entries
            if column.form == CODED:
                n = self._copy_codes(column, original, present, levels)
            else:
                n = copy_entries(
                    self.source.entries + original.begin,
                    original.end - original.begin, present, self.entries + n_entries,
                )
            column.end = <uint32_t> (n_entries + n)
            if column.form == SORTED:
                n_values = 1 + (n > 0)      # with zero
                for i in range(1, n):
                    n_values += self.entries[n_entries + i] & 1
                if n_values <= MAX_LEVELS:
                    column.levels = <uint32_t> n_levels
                    self._rank(f, n_values, rows, levels + n_levels)
                    n_levels += n_values
            n_entries += n
        self.levels = <float32_t*> self.arena.resize(levels, n_levels + 1, sizeof(float32_t))
        self.entries = <uint32_t*> self.arena.resize(self.entries, n_entries + 1, sizeof(uint32_t))
        self.codes = <uint8_t*> self.arena.resize(self.codes, n_entries + 1, sizeof(uint8_t))
        return 0

    cdef intp_t _rank(
        self, intp_t feature, intp_t n_levels, const uint32_t* rows, float32_t* levels
    ) noexcept nogil:
        # Convert a sorted column with few values in the sample into a coded one.
        cdef SparseColumn* column = &self.columns[feature]
        cdef uint32_t* entries = self.entries + column.begin
        cdef uint8_t* codes = self.codes + column.begin
        cdef intp_t n = column.end - column.begin
        cdef intp_t code = -1, k = 0, zero = 0
        cdef float32_t value
        cdef intp_t i
        for i in range(n):
            if i == 0 or entries[i] & 1:
                value = self.table.value(entries[i] >> 1, feature)
                code += 1
                if value > 0.0 and code == zero:
                    code += 1
                if value < 0.0:
                    zero = code + 1
                levels[code] = value
            codes[i] = <uint8_t> code
        levels[zero] = 0.0
        # by_row[row] = code ^ zero marks the rows with an entry; they are then sorted by row
        for i in range(n):
            self.by_row[entries[i] >> 1] = codes[i] ^ <uint8_t> zero
        for i in range(self.n_rows):
            if self.by_row[rows[i]]:
                entries[k] = rows[i] << 1
                codes[k] = self.by_row[rows[i]] ^ <uint8_t> zero
                self.by_row[rows[i]] = 0
                k += 1
        column.form = CODED
        column.n_levels = <uint16_t> n_levels
        column.zero = <uint8_t> zero
        return k

    cdef intp_t _copy_codes(
        self, SparseColumn* column, const SparseColumn* original,
        const uint8_t* present, float32_t* levels,
    ) noexcept nogil:
        # Entries and codes of rows that are present. Levels without rows are dropped, except
        # zero.
        cdef const uint32_t* entries = self.source.entries + original.begin
        cdef const uint8_t* codes = self.source.codes + original.begin
        cdef uint32_t* to = self.entries + column.begin
        cdef uint8_t* to_codes = self.codes + column.begin
        cdef intp_t size = original.end - original.begin
        cdef uint8_t rank[MAX_LEVELS]
        cdef intp_t n_levels = 0, n = 0, i
        memset(rank, 0, MAX_LEVELS)
        rank[original.zero] = 1
        for i in range(size):
            to[n] = entries[i]
            to_codes[n] = codes[i]
            if present[entries[i] >> 1]:
                rank[codes[i]] = 1
                n += 1
        for i in range(original.n_levels):
            if rank[i]:
                levels[column.levels + n_levels] = self.source.levels[original.levels + i]
                rank[i] = <uint8_t> n_levels
                n_levels += 1
        column.n_levels = <uint16_t> n_levels
        column.zero = rank[original.zero]
        if n_levels < original.n_levels:
            for i in range(n):
                to_codes[i] = rank[to_codes[i]]
        return n

    cdef void enter(self, intp_t node, const Segment* segments, intp_t n_segments) noexcept nogil:
        # Begin a node. The root has complete columns and no list of segments.
        if node == 0:
            self.visit = 0
        else:
            self.enter_segments(segments, n_segments)

    cdef void enter_segments(self, const Segment* segments, intp_t n_segments) noexcept nogil:
        cdef SparseColumn* column
        cdef intp_t i
        # a column has entries in the node if its `visit` is set to the same number
        self.n_visits += 1
        self.visit = self.n_visits
        for i in range(n_segments):
            column = &self.columns[segments[i].feature]
            column.visit = self.visit
            column.begin = segments[i].begin
            column.end = segments[i].end

    cdef intp_t n_below(self, intp_t feature) noexcept nogil:
        # Entries of the node, of a sorted column, with values below zero.
        cdef const uint32_t* entries = self.segment(feature)
        cdef intp_t low = 0
        cdef intp_t high = self.n_stored(feature)
        cdef intp_t middle
        if not self.columns[feature].zero:
            return 0
        while low < high:
            middle = (low + high) // 2
            if self.table.value(entries[middle] >> 1, feature) < 0.0:
                low = middle + 1
            else:
                high = middle
        return low

    cdef void mark(
        self, intp_t feature, intp_t position, const uint32_t* rows, intp_t n, uint8_t* goes_left,
    ) noexcept nogil:
        # Set the side of each of the n rows of the node, `rows`.
        cdef SparseColumn* column = &self.columns[feature]
        cdef intp_t n_stored = self.n_stored(feature)
        cdef const uint32_t* entries = self.segment(feature)
        cdef const uint8_t* codes = self.codes + column.begin
        cdef bint zero_left = column.zero <= position
        cdef intp_t i
        if column.form == SORTED:
            # zeros are after the entries below them
            zero_left = position > self.n_below(feature)
            if zero_left:
                position -= n - n_stored
        for i in range(n):
            goes_left[rows[i]] = zero_left
        for i in range(n_stored):
            if column.form == PAIR:
                # `zero` is the code of the value 0, 0 or 1; the other value has the other code
                goes_left[entries[i] >> 1] = 1 - column.zero <= position
            elif column.form == CODED:
                goes_left[entries[i] >> 1] = codes[i] <= position
            else:
                goes_left[entries[i] >> 1] = i < position

    cdef void partition(
        self, intp_t feature, const uint8_t* goes_left, void* scratch
    ) noexcept nogil:
        # Divide the segment of the node; scratch has 8 bytes per row.
        cdef SparseColumn* column = &self.columns[feature]
        cdef intp_t n = self.n_stored(feature)
        cdef uint32_t* row_scratch = <uint32_t*> scratch
        cdef intp_t n_left = 0
        if n == 0:
            pass    # a column without entries in the node does not change
        elif column.form == CODED:
            n_left = partition_codes(
                self.segment(feature), self.codes + column.begin, n,
                goes_left, row_scratch, <uint8_t*> (row_scratch + n),
            )
        elif column.form == PAIR:
            n_left = partition_rows(self.segment(feature), n, goes_left, row_scratch)
        else:
            n_left = partition_entries(self.segment(feature), n, goes_left, row_scratch)
        column.middle = column.begin + <uint32_t> n_left  # start of the right child's segment

    cdef void densify(
        self, intp_t feature, const uint32_t* rows, intp_t start, intp_t end, bint with_values,
    ) noexcept nogil:
        # Set `dense` to the column of the node with rows[start:end].
        cdef SparseColumn* sparse = &self.columns[feature]
        cdef Column* column = &self.dense
        cdef intp_t n = end - start
        self.dense_feature = feature
        column.n_levels = sparse.n_levels
        column.levels = self.levels + sparse.levels
        column.codes = NULL
        column.order = NULL
        column.values = NULL
        if sparse.n_levels > 0:
            column.codes = self.dense_codes
            _densify_codes(self, feature, rows + start, n, column.codes + start)
            return
        column.order = self.dense_order
        column.values = self.dense_values
        _densify_order(self, feature, rows + start, n, column.order + start)
        if with_values:
            _densify_values(self, feature, rows + start, n)


cdef void _densify_codes(
    SparseRows sparse_rows, intp_t feature, const uint32_t* rows, intp_t n, uint8_t* codes
) noexcept nogil:
    # The code of each of the node's rows.
    cdef SparseColumn* column = &sparse_rows.columns[feature]
    cdef intp_t n_stored = sparse_rows.n_stored(feature)
    cdef const uint32_t* entries = sparse_rows.segment(feature)
    cdef const uint8_t* stored = sparse_rows.codes + column.begin
    cdef uint8_t zero = column.zero
    cdef uint8_t other = 1
    cdef intp_t i
    for i in range(n_stored):
        if column.form == CODED:
            other = stored[i] ^ zero
        sparse_rows.by_row[entries[i] >> 1] = other
    for i in range(n):
        codes[i] = sparse_rows.by_row[rows[i]] ^ zero
    for i in range(n_stored):
        sparse_rows.by_row[entries[i] >> 1] = 0


cdef void _densify_order(
    SparseRows sparse_rows, intp_t feature, const uint32_t* rows, intp_t n, uint32_t* order
) noexcept nogil:
    # Entries of all the node's rows in ascending order of the value.
    cdef intp_t n_stored = sparse_rows.n_stored(feature)
    cdef const uint32_t* entries = sparse_rows.segment(feature)
    cdef intp_t n_below = sparse_rows.n_below(feature)
    cdef intp_t n_zero = n - n_stored
    cdef intp_t p = n_below
    cdef intp_t i
    memcpy(order, entries, n_below * sizeof(uint32_t))
    memcpy(order + n_below + n_zero, entries + n_below, (n_stored - n_below) * sizeof(uint32_t))
    if n_zero == 0:
        return
    for i in range(n_stored):
        sparse_rows.by_row[entries[i] >> 1] = 1
    for i in range(n):
        if sparse_rows.by_row[rows[i]] == 0:
            order[p] = rows[i] << 1
            p += 1
    for i in range(n_stored):
        sparse_rows.by_row[entries[i] >> 1] = 0
    order[n_below] |= 1
    if n_below < n_stored:
        order[p] |= 1


cdef void _densify_values(
    SparseRows sparse_rows, intp_t feature, const uint32_t* rows, intp_t n
) noexcept nogil:
    # The value of each of the node's rows, by row.
    cdef const uint32_t* entries = sparse_rows.segment(feature)
    cdef intp_t i
    for i in range(n):
        sparse_rows.dense_values[rows[i]] = 0.0
    for i in range(sparse_rows.n_stored(feature)):
        sparse_rows.dense_values[entries[i] >> 1] = sparse_rows.table.value(
            entries[i] >> 1, feature
        )
