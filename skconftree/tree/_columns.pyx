"""Rank codes and presorted rows: what a batch node is scanned from."""

import numpy as np
from scipy.sparse import issparse

cimport cython
from libc.math cimport isnan
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memset


cdef enum:
    HASH_SLOTS = 1024       # a power of two, at least twice MAX_LEVELS
    RADIX_BITS = 11
    RADIX = 2048            # 2 ** RADIX_BITS
    SMALL_RADIX = 1500      # rows from which wide digits pay
    SHORT = 24              # rows up to which insertion does
    MAX_BLOCK = 16          # columns transposed at a time: a cache line of X,
    BLOCK_BYTES = 33554432  # and no more than this in all


cdef inline uint32_t _ordered_bits(float32_t value) noexcept nogil:
    # Unsigned integers in the order of the floats; -0.0 equals 0.0, and NaN is last
    # once canonical.
    cdef float32_t canonical = value + <float32_t> 0.0
    cdef uint32_t bits
    memcpy(&bits, &canonical, 4)
    if bits >> 31:
        return ~bits
    return bits | <uint32_t> 0x80000000


cdef inline float32_t _value_of_bits(uint32_t ordered) noexcept nogil:
    cdef uint32_t bits
    cdef float32_t value
    if ordered >> 31:
        bits = ordered & <uint32_t> 0x7FFFFFFF
    else:
        bits = ~ordered
    memcpy(&value, &bits, 4)
    return value


cdef bint make_nan_canonical(float32_t* values, intp_t n) noexcept nogil:
    # Give all NaN the same bits, without a sign; whether there is any.
    cdef intp_t i
    cdef int32_t found = 0
    cdef uint32_t bits = 0x7FFFFFFF
    for i in range(n):
        found |= values[i] != values[i]
    if found:
        for i in range(n):
            if values[i] != values[i]:
                memcpy(values + i, &bits, 4)
    return found


cdef int _compare_bits(const void* a, const void* b) noexcept nogil:
    cdef uint32_t left = (<const uint32_t*> a)[0]
    cdef uint32_t right = (<const uint32_t*> b)[0]
    return (left > right) - (left < right)


@cython.overflowcheck(False)     # the hash wraps
cdef intp_t _encode(
    const float32_t* column, intp_t n, uint8_t* codes, float32_t* levels
) noexcept nogil:
    # Rank codes of a column; the number of levels, or 0 if there are too many.
    cdef uint32_t keys[HASH_SLOTS]
    cdef int32_t found[HASH_SLOTS]          # order of appearance, -1 = free
    cdef uint32_t distinct[MAX_LEVELS]
    cdef uint32_t ranked[MAX_LEVELS]
    cdef uint8_t rank[MAX_LEVELS]
    cdef intp_t n_levels = 0
    cdef intp_t i, j, low, high, middle
    cdef uint32_t key, h

    memset(found, 0xFF, sizeof(found))
    for i in range(n):
        key = _ordered_bits(column[i])
        h = (key * <uint32_t> 2654435761u) >> 22
        while found[h] >= 0 and keys[h] != key:
            h = (h + 1) & (HASH_SLOTS - 1)
        if found[h] < 0:
            if n_levels == MAX_LEVELS:
                return 0
            keys[h] = key
            found[h] = <int32_t> n_levels
            distinct[n_levels] = key
            n_levels += 1
        codes[i] = <uint8_t> found[h]

    memcpy(ranked, distinct, n_levels * sizeof(uint32_t))
    qsort(ranked, n_levels, sizeof(uint32_t), _compare_bits)
    for j in range(n_levels):
        levels[j] = _value_of_bits(ranked[j])
        low = 0
        high = n_levels
        while high - low > 1:
            middle = (low + high) // 2
            if ranked[middle] <= distinct[j]:
                low = middle
            else:
                high = middle
        rank[j] = <uint8_t> low
    for i in range(n):
        codes[i] = rank[codes[i]]
    return n_levels


cdef void presort(
    const float32_t* column, intp_t n, uint64_t* keys, uint64_t* other,
    uint32_t* order,
) noexcept nogil:
    # Sort (value, row) by value, stable: a radix sort by digits that suit the size,
    # or by insertion if it is small.
    cdef intp_t histogram[3 * RADIX]
    cdef intp_t bits_of_digit = RADIX_BITS if n > SMALL_RADIX else 8
    cdef intp_t radix = RADIX if n > SMALL_RADIX else 256
    cdef intp_t n_passes = 3 if n > SMALL_RADIX else 4
    cdef uint64_t mask = radix - 1
    cdef intp_t i, j, pass_, shift, total, count, digit
    cdef uint64_t key
    cdef uint64_t* swap
    cdef uint32_t bits, previous
    cdef intp_t* bucket

    for i in range(n):
        keys[i] = (<uint64_t> _ordered_bits(column[i]) << 32) | <uint64_t> i
    if n <= SHORT:
        for i in range(1, n):
            key = keys[i]
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        n_passes = 0
    else:
        memset(histogram, 0, n_passes * radix * sizeof(intp_t))
        for i in range(n):
            key = keys[i] >> 32
            for pass_ in range(n_passes):
                histogram[pass_ * radix + <intp_t> (key & mask)] += 1
                key >>= bits_of_digit
    for pass_ in range(n_passes):
        bucket = histogram + pass_ * radix
        shift = 32 + pass_ * bits_of_digit
        digit = <intp_t> ((keys[0] >> shift) & mask)
        if bucket[digit] == n:
            continue
        total = 0
        for i in range(radix):
            count = bucket[i]
            bucket[i] = total
            total += count
        for i in range(n):
            key = keys[i]
            digit = <intp_t> ((key >> shift) & mask)
            other[bucket[digit]] = key
            bucket[digit] += 1
        swap = keys
        keys = other
        other = swap
    previous = 0
    for i in range(n):
        bits = <uint32_t> (keys[i] >> 32)
        order[i] = (<uint32_t> keys[i] << 1) | <uint32_t> (bits != previous)
        previous = bits


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
    X : ndarray, C-contiguous, or csc_array, of shape (n_rows, n_features), float32
        A sparse one has no NaN and each place once; it is not kept.
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
                free(self.columns[f].own_values)
        free(self.columns)
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
        cdef const int64_t[::1] starts
        cdef const int32_t[::1] places
        cdef const float32_t[::1] stored
        cdef const int32_t* rows = NULL
        cdef const float32_t* x = NULL
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
            if (np.diff(X.indptr) > self.n_rows).any():
                raise ValueError("X stores a place of the table more than once.")
            starts = X.indptr.astype(np.int64, copy=False)
            places = X.indices.astype(np.int32, copy=False)
            stored = X.data
            if stored.shape[0] > 0:
                rows = &places[0]
                x = &stored[0]
            with nogil:
                done = self._allocate() and self._arrange_sparse(&starts[0], rows, x)
        else:
            self.stride = self.n_features
            dense = X
            x = &dense[0, 0]
            with nogil:
                done = self._allocate() and self._arrange(x, categories)
        self._owners = (dense, y, weight)
        if not done or (self.n_coded > 0 and not self._start_node_order()):
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

    cdef bint _arrange_sparse(
        self, const int64_t* starts, const int32_t* rows, const float32_t* x
    ) noexcept nogil:
        # The stored values of column f are those from starts[f] to starts[f + 1].
        cdef intp_t n = self.n_rows
        cdef float32_t* values = <float32_t*> malloc(n * sizeof(float32_t))
        cdef void* keys = malloc(2 * n * sizeof(uint64_t))
        cdef bint done = values != NULL and keys != NULL
        cdef intp_t f, start, size
        for f in range(self.n_features):
            start = starts[f]
            size = starts[f + 1] - start
            done = done and self._add_sparse(
                f, x + start, rows + start, size, values, keys
            )
        free(values)
        free(keys)
        return done

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
        column.n_levels = _encode(values, n, column.codes, column.levels)
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

    cdef bint _add_sparse(
        self, intp_t feature, const float32_t* x, const int32_t* rows, intp_t n_stored,
        float32_t* values, void* keys,
    ) noexcept nogil:
        # As _add, of a column that is 0 where nothing is stored. Zero is encoded once;
        # the scratch that sorting needs holds the codes of what is stored.
        cdef intp_t n = self.n_rows
        cdef Column* column = &self.columns[feature]
        cdef uint8_t* codes = <uint8_t*> keys
        cdef intp_t i
        if n_stored > 0:
            memcpy(values, x, n_stored * sizeof(float32_t))
        if n_stored < n:
            values[n_stored] = 0.0
        column.levels = <float32_t*> malloc(MAX_LEVELS * sizeof(float32_t))
        if column.levels == NULL:
            return False
        column.n_levels = _encode(
            values, min(n_stored + 1, n), codes, column.levels
        )
        if column.n_levels > 0:
            self.n_coded += 1
            column.codes = <uint8_t*> malloc(n * sizeof(uint8_t))
            if column.codes == NULL:
                return False
            if n_stored < n:
                memset(column.codes, codes[n_stored], n)
            for i in range(n_stored):
                column.codes[rows[i]] = codes[i]
            return True
        free(column.levels)
        column.levels = NULL
        column.order = <uint32_t*> malloc(n * sizeof(uint32_t))
        column.own_values = <float32_t*> calloc(n, sizeof(float32_t))
        if column.order == NULL or column.own_values == NULL:
            return False
        column.values = column.own_values
        for i in range(n_stored):
            column.own_values[rows[i]] = x[i]
        presort(
            column.values, n, <uint64_t*> keys, <uint64_t*> keys + n, column.order
        )
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
        cdef const uint32_t* order = self.columns[feature].order
        cdef intp_t low = start
        cdef intp_t high = end
        cdef intp_t middle
        if not self.columns[feature].has_missing:
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
            if column.order == NULL:
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
