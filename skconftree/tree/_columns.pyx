"""Rank codes and presorted rows: what a batch node is scanned from."""

from scipy.sparse import issparse

cimport cython
from libc.math cimport isnan
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from skconftree.tree._encoding cimport MAX_LEVELS, encode
from skconftree.tree._missing cimport missing_left_bit
from skconftree.tree._sparse_table cimport SparseTable
from skconftree.utils._sorting cimport make_nan_canonical, presort
from skconftree.utils._typedefs cimport uint64_t


cdef enum:
    MAX_BLOCK = 16          # columns transposed at a time: a cache line of X,
    BLOCK_BYTES = 33554432  # and no more than this in all


ctypedef fused element_t:
    uint8_t
    label_t
    uint32_t
    float64_t


cdef void _partition(
    element_t* values, intp_t n, const uint8_t* sides, element_t* scratch
) noexcept nogil:
    # Stable and without branches: every element is written to both sides, the side
    # it belongs to moves on. values[left] is never ahead of values[i].
    cdef intp_t left = 0
    cdef intp_t right = 0
    cdef intp_t i
    cdef element_t value
    for i in range(n):
        value = values[i]
        values[left] = value
        scratch[right] = value
        left += sides[i]
        right += 1 - sides[i]
    memcpy(values + left, scratch, right * sizeof(element_t))


@cython.overflowcheck(False)     # -side is a mask
cdef void _partition_order(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil:
    # As _partition; an entry is new in its child if it or any entry dropped since
    # the child's last one was new.
    cdef intp_t left = 0
    cdef intp_t right = 0
    cdef uint32_t new_left = 0
    cdef uint32_t new_right = 0
    cdef uint32_t entry, row, side
    cdef intp_t i
    for i in range(n):
        entry = entries[i]
        row = entry >> 1
        side = goes_left[row]
        new_left |= entry & 1
        new_right |= entry & 1
        row <<= 1
        entries[left] = row | new_left
        scratch[right] = row | new_right
        left += side
        right += 1 - side
        new_left &= side - 1
        new_right &= -side
    memcpy(entries + left, scratch, right * sizeof(uint32_t))


cdef void _scatter(
    element_t* values, intp_t n, const label_t* branches, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, element_t* scratch,
) noexcept nogil:
    # As _partition, for any number of children.
    cdef intp_t i
    memcpy(at, starts, n_outcomes * sizeof(intp_t))
    for i in range(n):
        scratch[at[branches[i]]] = values[i]
        at[branches[i]] += 1
    memcpy(values, scratch, n * sizeof(element_t))


cdef void _scatter_order(
    uint32_t* entries, intp_t n, const label_t* branch, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, uint32_t* scratch,
) noexcept nogil:
    # As _partition_order; at has room for two numbers a child.
    cdef intp_t i, z
    cdef uint32_t row
    cdef intp_t n_values = 0
    cdef intp_t* last = at + n_outcomes     # number of the value of the last entry
    memcpy(at, starts, n_outcomes * sizeof(intp_t))
    for z in range(n_outcomes):
        last[z] = -1
    for i in range(n):
        n_values += entries[i] & 1
        row = entries[i] >> 1
        z = branch[row]
        scratch[at[z]] = (row << 1) | <uint32_t> (last[z] != n_values)
        last[z] = n_values
        at[z] += 1
    memcpy(entries, scratch, n * sizeof(uint32_t))


cdef class Columns:
    """Training rows as rank codes and presorted rows.

    Parameters
    ----------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
        A sparse one is CSR or CSC, has no NaN, and each place once and in order.
    y : ndarray of shape (n_rows,), uint16
        Class of each row; the number of classes marks a row without label.
    weight : ndarray of shape (n_rows,), float64, or None
    n_categories : ndarray of shape (n_features,), int32, or None
        0 for a numeric feature; else its values are codes below this number, or -1.
    multiway : bool
        Whether nodes may have more than two children.
    """

    def __dealloc__(self):
        cdef intp_t f
        if self.columns != NULL:
            for f in range(self.n_features):
                free(self.columns[f].codes)
                free(self.columns[f].wide)
                free(self.columns[f].levels)
                free(self.columns[f].order)
        free(self.columns)
        free(self.unfolded_codes)
        free(self.unfolded_order)
        free(self.unfolded_values)
        free(self.rows)
        free(self.node_y)
        free(self.node_weight)
        free(self.goes_left)
        free(self.sides)
        free(self.branch)
        free(self.branches)
        free(self.scratch)

    def __init__(
        self,
        X,
        const label_t[::1] y not None,
        const float64_t[::1] weight,
        const int32_t[::1] n_categories,
        bint multiway=False,
    ):
        self.n_rows = X.shape[0]
        self.n_features = X.shape[1]
        if self.n_rows >= 1 << 31:
            raise ValueError(
                f"X has {self.n_rows} rows; the index type holds fewer than {1 << 31}."
            )
        self.y = &y[0]
        if weight is not None:
            self.weight = &weight[0]
        cdef const float32_t[:, ::1] dense = None
        cdef const int32_t* categories = NULL
        cdef bint done
        if n_categories is not None:
            categories = &n_categories[0]
        if multiway:
            self.branch = <label_t*> malloc(self.n_rows * sizeof(label_t))
            self.branches = <label_t*> malloc(self.n_rows * sizeof(label_t))
            if self.branch == NULL or self.branches == NULL:
                raise MemoryError()
        if issparse(X):
            self.stride = 1
            self.sparse = SparseColumns(SparseTable(X))
            with nogil:
                done = self._allocate() and self._arrange_sparse()
        else:
            self.stride = self.n_features
            dense = X
            with nogil:
                done = self._allocate() and self._arrange(&dense[0, 0], categories)
        self._owners = (dense, y, weight)
        if not done or (
            (self.n_coded > 0 or self.folded != NULL) and not self._start_node_order()
        ):
            raise MemoryError()

    cdef bint _allocate(self) noexcept nogil:
        cdef intp_t n = self.n_rows
        self.columns = <Column*> calloc(self.n_features, sizeof(Column))
        self.goes_left = <uint8_t*> malloc(n * sizeof(uint8_t))
        self.sides = <uint8_t*> malloc(n * sizeof(uint8_t))
        self.scratch = <float64_t*> malloc((n + 1) * sizeof(float64_t))
        return (
            self.columns != NULL and self.goes_left != NULL and self.sides != NULL
            and self.scratch != NULL
        )

    cdef bint _arrange(
        self, const float32_t* x, const int32_t* n_categories
    ) noexcept nogil:
        # Columns are transposed in blocks, so that X is read few times.
        cdef intp_t n = self.n_rows
        cdef intp_t d = self.n_features
        cdef intp_t block = BLOCK_BYTES // (4 * n)
        if block > d:
            block = d
        if block > MAX_BLOCK:
            block = MAX_BLOCK
        if block < 1:
            block = 1
        cdef float32_t* values = <float32_t*> malloc(block * n * sizeof(float32_t))
        cdef void* keys = malloc(2 * n * sizeof(uint64_t))
        cdef bint done = values != NULL and keys != NULL
        cdef intp_t first, f, i, width
        cdef const float32_t* row
        if done:
            first = 0
            while first < d:
                width = min(block, d - first)
                for i in range(n):
                    row = x + i * d + first
                    for f in range(width):
                        values[f * n + i] = row[f]
                for f in range(width):
                    self.columns[first + f].values = x + first + f
                    if n_categories != NULL and n_categories[first + f] > 0:
                        done = done and self._add_nominal(
                            first + f, values + f * n, n_categories[first + f]
                        )
                    else:
                        done = done and self._add(first + f, values + f * n, keys)
                first += block
        free(values)
        free(keys)
        return done

    cdef bint _arrange_sparse(self) noexcept nogil:
        cdef intp_t n = self.n_rows
        cdef intp_t f
        self.unfolded_feature = -1
        self.unfolded_codes = <uint8_t*> malloc(n * sizeof(uint8_t))
        self.unfolded_order = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.unfolded_values = <float32_t*> malloc(n * sizeof(float32_t))
        if (
            self.unfolded_codes == NULL or self.unfolded_order == NULL
            or self.unfolded_values == NULL or not self.sparse.begin_reading()
        ):
            return False
        self.folded = self.sparse.columns
        for f in range(self.n_features):
            if not self.sparse.read(f):
                return False
            if self.folded[f].form == FULL and not self._add_full(f):
                return False
        self.sparse.end_reading()
        return True

    cdef bint _add_full(self, intp_t feature) noexcept nogil:
        # The column just read from a sparse table, as one byte a row.
        cdef intp_t n = self.n_rows
        cdef SparseColumn* folded = &self.folded[feature]
        cdef const uint32_t* entries = self.sparse.entries + self.sparse.n_entries
        cdef Column* column = &self.columns[feature]
        cdef intp_t i
        column.n_levels = folded.n_levels
        column.codes = <uint8_t*> malloc(n * sizeof(uint8_t))
        column.levels = <float32_t*> malloc(column.n_levels * sizeof(float32_t))
        if column.codes == NULL or column.levels == NULL:
            return False
        self.n_coded += 1
        memcpy(
            column.levels, self.sparse.read_levels, column.n_levels * sizeof(float32_t)
        )
        memset(column.codes, folded.zero, n)
        for i in range(self.sparse.n_read):
            column.codes[entries[i] >> 1] = self.sparse.read_codes[i]
        return True

    cdef void unfold(
        self, intp_t feature, intp_t start, intp_t end, bint with_values
    ) noexcept nogil:
        # Make the node's part of a folded column, as if it had not been folded.
        cdef SparseColumn* folded = &self.folded[feature]
        cdef Column* column = &self.unfolded
        cdef intp_t n = end - start
        self.unfolded_feature = feature
        column.n_levels = folded.n_levels
        column.levels = self.sparse.levels + folded.levels
        if folded.n_levels > 0:
            column.codes = self.unfolded_codes
            column.order = NULL
            self.sparse.unfold_codes(
                feature, self.rows + start, n, column.codes + start
            )
            return
        column.codes = NULL
        column.order = self.unfolded_order
        column.values = self.unfolded_values
        self.sparse.unfold_order(feature, self.rows + start, n, column.order + start)
        if with_values:
            self.sparse.unfold_values(
                feature, self.rows + start, n, self.unfolded_values
            )

    cdef bint _start_node_order(self) noexcept nogil:
        cdef intp_t n = self.n_rows
        cdef intp_t i
        self.rows = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.node_y = <label_t*> malloc(n * sizeof(label_t))
        if self.rows == NULL or self.node_y == NULL:
            return False
        for i in range(n):
            self.rows[i] = <uint32_t> i
        memcpy(self.node_y, self.y, n * sizeof(label_t))
        if self.weight != NULL:
            self.node_weight = <float64_t*> malloc(n * sizeof(float64_t))
            if self.node_weight == NULL:
                return False
            memcpy(self.node_weight, self.weight, n * sizeof(float64_t))
        return True

    cdef bint _add(
        self, intp_t feature, float32_t* values, void* keys
    ) noexcept nogil:
        cdef intp_t n = self.n_rows
        cdef Column* column = &self.columns[feature]
        column.has_missing = make_nan_canonical(values, n)
        column.codes = <uint8_t*> malloc(n * sizeof(uint8_t))
        column.levels = <float32_t*> malloc(MAX_LEVELS * sizeof(float32_t))
        if column.codes == NULL or column.levels == NULL:
            return False
        column.n_levels = encode(values, n, column.codes, column.levels)
        if column.n_levels > 0:
            self.n_coded += 1
            return True
        free(column.codes)
        free(column.levels)
        column.codes = NULL
        column.levels = NULL
        column.order = <uint32_t*> malloc(n * sizeof(uint32_t))
        if column.order == NULL:
            return False
        presort(values, n, <uint64_t*> keys, <uint64_t*> keys + n, column.order)
        return True

    cdef bint _add_nominal(
        self, intp_t feature, const float32_t* values, intp_t n_categories
    ) noexcept nogil:
        cdef Column* column = &self.columns[feature]
        cdef intp_t n = self.n_rows
        cdef intp_t i
        self.n_coded += 1
        column.nominal = True
        column.n_levels = n_categories + 1
        if column.n_levels <= MAX_LEVELS:
            column.codes = <uint8_t*> malloc(n * sizeof(uint8_t))
            if column.codes == NULL:
                return False
            for i in range(n):
                column.codes[i] = <uint8_t> (
                    n_categories if values[i] < 0.0 else <intp_t> values[i]
                )
        else:
            column.wide = <label_t*> malloc(n * sizeof(label_t))
            if column.wide == NULL:
                return False
            for i in range(n):
                column.wide[i] = <label_t> (
                    n_categories if values[i] < 0.0 else <intp_t> values[i]
                )
        return True

    cdef intp_t n_present(
        self, intp_t feature, intp_t start, intp_t end
    ) noexcept nogil:
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
        self, intp_t feature, intp_t cut, bint missing_left, intp_t start, intp_t end
    ) noexcept nogil:
        # Note in goes_left where each row of the node goes.
        cdef Column* column = &self.columns[feature]
        cdef intp_t present
        cdef intp_t missing = MAX_LEVELS
        cdef intp_t i
        cut &= missing_left_bit() - 1
        if self.is_folded(feature):
            self.sparse.mark(
                feature, cut, self.rows + start, end - start, self.goes_left
            )
            return
        if column.order != NULL:
            present = self.n_present(feature, start, end)
            for i in range(start, start + cut):
                self.goes_left[column.order[i] >> 1] = 1
            for i in range(start + cut, start + present):
                self.goes_left[column.order[i] >> 1] = 0
            for i in range(start + present, end):
                self.goes_left[column.order[i] >> 1] = missing_left
            return
        for i in range(start, end):
            self.goes_left[self.rows[i]] = column.codes[i] <= cut
        if column.has_missing:
            missing = column.n_levels - 1
            for i in range(start, end):
                if column.codes[i] == missing:
                    self.goes_left[self.rows[i]] = missing_left

    cdef void mark_categories(
        self, intp_t feature, const int16_t* ordinals, intp_t n_ordinals,
        intp_t others, bint multiway, intp_t start, intp_t end,
    ) noexcept nogil:
        # The same for a set of categories, or a branch for each in `branch`. Rows
        # with other categories go to the child `others`.
        cdef Column* column = &self.columns[feature]
        cdef intp_t i, code, z
        for i in range(start, end):
            code = column.codes[i] if column.codes != NULL else column.wide[i]
            z = others
            if code < n_ordinals and ordinals[code] >= 0:
                z = ordinals[code]
            if multiway:
                self.branch[self.rows[i]] = <label_t> z
            else:
                self.goes_left[self.rows[i]] = z == 0

    cdef void partition(
        self, intp_t feature, const int32_t* features, intp_t n_features,
        intp_t start, intp_t end,
    ) noexcept nogil:
        # Restore the invariant below a split whose rows have been marked. Only the
        # listed features are needed by the children. The split feature, if sorted
        # without missing values, already lies as it should.
        cdef intp_t n = end - start
        cdef intp_t j, i, f
        cdef Column* column
        cdef bint by_rows = False
        for j in range(n_features):
            f = features[j]
            column = &self.columns[f]
            if self.is_folded(f):
                by_rows = True
                self.sparse.partition(f, self.goes_left, self.scratch)
            elif column.order == NULL:
                by_rows = True
            elif f != feature or column.has_missing:
                _partition_order(
                    column.order + start, n, self.goes_left, <uint32_t*> self.scratch
                )
        if not by_rows:
            return
        for i in range(n):
            self.sides[i] = self.goes_left[self.rows[start + i]]
        for j in range(n_features):
            column = &self.columns[features[j]]
            if self.is_folded(features[j]):
                continue
            if column.codes != NULL:
                _partition(
                    column.codes + start, n, self.sides, <uint8_t*> self.scratch
                )
            elif column.wide != NULL:
                _partition(
                    column.wide + start, n, self.sides, <label_t*> self.scratch
                )
        _partition(self.rows + start, n, self.sides, <uint32_t*> self.scratch)
        _partition(self.node_y + start, n, self.sides, <label_t*> self.scratch)
        if self.node_weight != NULL:
            _partition(self.node_weight + start, n, self.sides, self.scratch)

    cdef void partition_multiway(
        self, const int32_t* features, intp_t n_features, intp_t start, intp_t end,
        const intp_t* starts, intp_t n_outcomes, intp_t* at,
    ) noexcept nogil:
        # The same for children that begin at `starts`, counted from the node's start.
        cdef intp_t n = end - start
        cdef intp_t j, i
        cdef Column* column
        for i in range(n):
            self.branches[i] = self.branch[self.rows[start + i]]
        for j in range(n_features):
            column = &self.columns[features[j]]
            if column.order != NULL:
                _scatter_order(
                    column.order + start, n, self.branch, starts, n_outcomes, at,
                    <uint32_t*> self.scratch,
                )
            elif column.codes != NULL:
                _scatter(
                    column.codes + start, n, self.branches, starts, n_outcomes, at,
                    <uint8_t*> self.scratch,
                )
            else:
                _scatter(
                    column.wide + start, n, self.branches, starts, n_outcomes, at,
                    <label_t*> self.scratch,
                )
        _scatter(
            self.rows + start, n, self.branches, starts, n_outcomes, at,
            <uint32_t*> self.scratch,
        )
        _scatter(
            self.node_y + start, n, self.branches, starts, n_outcomes, at,
            <label_t*> self.scratch,
        )
        if self.node_weight != NULL:
            _scatter(
                self.node_weight + start, n, self.branches, starts, n_outcomes, at,
                self.scratch,
            )
