"""Columns of which only the values other than zero are kept, node by node."""

cimport cython
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from skconftree.tree._encoding cimport MAX_LEVELS, encode
from skconftree.utils._sorting cimport presort

cdef enum:
    PAIR_BYTES = 4      # of an entry
    CODED_BYTES = 5


@cython.overflowcheck(False)     # -side is a mask
cdef intp_t _partition_entries(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil:
    # Stable; returns how many go left. An entry is new in its child if it or any
    # entry dropped since the child's last one was new.
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
    return left


cdef intp_t _partition_rows(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil:
    # The same for entries none of which is new.
    cdef intp_t left = 0
    cdef intp_t right = 0
    cdef uint32_t entry
    cdef uint8_t side
    cdef intp_t i
    while left < n and goes_left[entries[left] >> 1]:
        left += 1   # often all of them
    for i in range(left, n):
        entry = entries[i]
        side = goes_left[entry >> 1]
        entries[left] = entry
        scratch[right] = entry
        left += side
        right += 1 - side
    memcpy(entries + left, scratch, right * sizeof(uint32_t))
    return left


cdef intp_t _partition_codes(
    uint32_t* entries, uint8_t* codes, intp_t n, const uint8_t* goes_left,
    uint32_t* scratch, uint8_t* code_scratch,
) noexcept nogil:
    # The same for entries with codes.
    cdef intp_t left = 0
    cdef intp_t right = 0
    cdef uint32_t entry
    cdef uint8_t code, side
    cdef intp_t i
    while left < n and goes_left[entries[left] >> 1]:
        left += 1   # often all of them
    for i in range(left, n):
        entry = entries[i]
        code = codes[i]
        side = goes_left[entry >> 1]
        entries[left] = entry
        codes[left] = code
        scratch[right] = entry
        code_scratch[right] = code
        left += side
        right += 1 - side
    memcpy(entries + left, scratch, right * sizeof(uint32_t))
    memcpy(codes + left, code_scratch, right)
    return left


cdef class SparseColumns:
    """Columns of a sparse table.

    Parameters
    ----------
    table : SparseTable
    """

    def __init__(self, SparseTable table):
        if table.n_stored >= 4294967296:    # 2^32
            raise ValueError(
                f"X stores {table.n_stored} values; sparse tables hold fewer than 2^32."
            )
        self.table = table
        self.n_features = table.n_features

    def __dealloc__(self):
        self._free_scratch()
        free(self.columns)
        free(self.entries)
        free(self.codes)
        free(self.levels)
        free(self.by_row)

    # -- reading ------------------------------------------------------------------

    cdef bint begin_reading(self) noexcept nogil:
        # Whether there was memory. What is not used of these arrays is given back,
        # and has never been touched.
        cdef intp_t n = self.table.n_rows
        cdef intp_t size = self.table.n_stored + 1
        self.level_room = self.n_features + MAX_LEVELS
        self.columns = <SparseColumn*> calloc(self.n_features, sizeof(SparseColumn))
        self.entries = <uint32_t*> malloc(size * sizeof(uint32_t))
        self.codes = <uint8_t*> malloc(size * sizeof(uint8_t))
        self.levels = <float32_t*> malloc(self.level_room * sizeof(float32_t))
        self.by_row = <uint8_t*> calloc(n, sizeof(uint8_t))
        self.read_values = <float32_t*> malloc((n + 1) * sizeof(float32_t))
        self.read_codes = <uint8_t*> malloc((n + 1) * sizeof(uint8_t))
        self.read_levels = <float32_t*> malloc(MAX_LEVELS * sizeof(float32_t))
        self.keys = malloc(n * (2 * sizeof(uint64_t) + sizeof(uint32_t)))
        return (
            self.columns != NULL and self.entries != NULL and self.codes != NULL
            and self.levels != NULL and self.by_row != NULL
            and self.read_values != NULL and self.read_codes != NULL
            and self.read_levels != NULL and self.keys != NULL
            and self.table.begin_reading()
        )

    cdef bint read(self, intp_t feature) noexcept nogil:
        # Read the next column and choose its form; one that is FULL is only left in
        # what has been read. Stored zeros are like others.
        cdef SparseColumn* column = &self.columns[feature]
        cdef uint32_t* entries = self.entries + self.n_entries
        cdef intp_t n = self.table.n_rows
        cdef intp_t n_levels = 0
        cdef intp_t k = 0
        cdef bint same = True
        cdef const int32_t* rows
        cdef const float32_t* values
        cdef intp_t size, i
        if not self.table.read(feature, &rows, &values, &size):
            return False
        for i in range(size):
            if values[i] != 0.0:
                self.read_values[k] = values[i]
                same = same and values[i] == self.read_values[0]
                entries[k] = <uint32_t> rows[i] << 1
                k += 1
        self.n_read = k
        self.read_values[k] = 0.0
        if same and k < n:
            column.form = PAIR
            n_levels = 1 + (k > 0)
            column.zero = k > 0 and self.read_values[0] < 0.0
            self.read_levels[column.zero] = 0.0
            if k > 0:
                self.read_levels[1 - column.zero] = self.read_values[0]
                memset(self.read_codes, 1 - column.zero, k)
        else:
            n_levels = encode(
                self.read_values, min(k + 1, n), self.read_codes, self.read_levels
            )
            column.form = CODED if n_levels > 0 else SORTED
            column.zero = self.read_codes[k] if k < n and n_levels > 0 else 0
        column.n_levels = <uint16_t> n_levels
        if n_levels > 0 and n <= k * (
            PAIR_BYTES if column.form == PAIR else CODED_BYTES
        ):
            column.form = FULL
            return True
        column.begin = <uint32_t> self.n_entries
        column.end = <uint32_t> (self.n_entries + k)
        if column.form == SORTED:
            self._sort(column)
        elif not self._keep_levels(column):
            return False
        if column.form == CODED:
            memcpy(self.codes + self.n_entries, self.read_codes, k)
        self.n_entries += k
        return True

    cdef bint _keep_levels(self, SparseColumn* column) noexcept nogil:
        cdef intp_t needed = self.n_levels + column.n_levels
        cdef float32_t* larger
        if column.form == PAIR:
            # words that occur or not have the same two values, column after column
            larger = self.levels + self.pair_levels
            if (
                column.n_levels == 2 and self.pair_levels + 2 <= self.n_levels
                and larger[0] == self.read_levels[0] and larger[1] == self.read_levels[1]
            ):
                column.levels = <uint32_t> self.pair_levels
                return True
            self.pair_levels = self.n_levels
        if needed > self.level_room:
            self.level_room = needed + needed // 4
            larger = <float32_t*> realloc(
                self.levels, self.level_room * sizeof(float32_t)
            )
            if larger == NULL:
                return False
            self.levels = larger
        column.levels = <uint32_t> self.n_levels
        memcpy(
            self.levels + self.n_levels, self.read_levels,
            column.n_levels * sizeof(float32_t),
        )
        self.n_levels = needed
        return True

    cdef void _sort(self, SparseColumn* column) noexcept nogil:
        # Bring the entries just read into the order of their values.
        cdef intp_t n = self.table.n_rows
        cdef intp_t k = self.n_read
        cdef uint32_t* entries = self.entries + column.begin
        cdef uint64_t* keys = <uint64_t*> self.keys
        cdef uint32_t* order = <uint32_t*> (keys + 2 * n)
        cdef intp_t i
        presort(self.read_values, k, keys, keys + n, order)
        column.zero = self.read_values[order[0] >> 1] < 0.0
        for i in range(k):
            order[i] = entries[order[i] >> 1] | (order[i] & 1)
        memcpy(entries, order, k * sizeof(uint32_t))

    cdef void end_reading(self) noexcept nogil:
        cdef uint32_t* entries = <uint32_t*> realloc(
            self.entries, (self.n_entries + 1) * sizeof(uint32_t)
        )
        cdef uint8_t* codes = <uint8_t*> realloc(
            self.codes, (self.n_entries + 1) * sizeof(uint8_t)
        )
        self.entries = entries if entries != NULL else self.entries
        self.codes = codes if codes != NULL else self.codes
        self._free_scratch()
        self.table.end_reading()

    cdef void _free_scratch(self) noexcept nogil:
        free(self.read_values)
        free(self.read_codes)
        free(self.read_levels)
        free(self.keys)
        self.read_values = NULL
        self.read_codes = NULL
        self.read_levels = NULL
        self.keys = NULL

    # -- nodes --------------------------------------------------------------------

    cdef void enter(
        self, intp_t node, const Segment* segments, intp_t n_segments
    ) noexcept nogil:
        # Go to a node. The root has whole columns, which need no list.
        cdef SparseColumn* column
        cdef intp_t i
        self.node = <int32_t> node
        for i in range(n_segments):
            column = &self.columns[segments[i].feature]
            column.node = self.node
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
        self, intp_t feature, intp_t cut, const uint32_t* rows, intp_t n,
        uint8_t* goes_left,
    ) noexcept nogil:
        # Note where each row of the node goes; it has n, which are `rows`.
        cdef SparseColumn* column = &self.columns[feature]
        cdef intp_t n_stored = self.n_stored(feature)
        cdef const uint32_t* entries = self.segment(feature)
        cdef const uint8_t* codes = self.codes + column.begin
        cdef bint zero_left = column.zero <= cut
        cdef intp_t i
        if column.form == SORTED:
            # zeros lie behind the entries below them
            zero_left = cut > self.n_below(feature)
            if zero_left:
                cut -= n - n_stored
        for i in range(n):
            goes_left[rows[i]] = zero_left
        for i in range(n_stored):
            if column.form == PAIR:
                goes_left[entries[i] >> 1] = 1 - column.zero <= cut
            elif column.form == CODED:
                goes_left[entries[i] >> 1] = codes[i] <= cut
            else:
                goes_left[entries[i] >> 1] = i < cut

    cdef void partition(
        self, intp_t feature, const uint8_t* goes_left, void* scratch
    ) noexcept nogil:
        # Divide the segment of the node; scratch has room for 8 bytes a row.
        cdef SparseColumn* column = &self.columns[feature]
        cdef intp_t n = self.n_stored(feature)
        cdef uint32_t* spare = <uint32_t*> scratch
        cdef intp_t n_left
        column.middle = column.begin
        if n == 0:
            return
        if column.form == CODED:
            n_left = _partition_codes(
                self.segment(feature), self.codes + column.begin, n,
                goes_left, spare, <uint8_t*> (spare + n),
            )
        elif column.form == PAIR:
            n_left = _partition_rows(self.segment(feature), n, goes_left, spare)
        else:
            n_left = _partition_entries(self.segment(feature), n, goes_left, spare)
        column.middle += <uint32_t> n_left

    # -- a column of one node as if it were not sparse ------------------------------

    cdef void unfold_codes(
        self, intp_t feature, const uint32_t* rows, intp_t n, uint8_t* codes
    ) noexcept nogil:
        # The code of each of the node's rows.
        cdef SparseColumn* column = &self.columns[feature]
        cdef intp_t n_stored = self.n_stored(feature)
        cdef const uint32_t* entries = self.segment(feature)
        cdef const uint8_t* stored = self.codes + column.begin
        cdef uint8_t zero = column.zero
        cdef uint8_t other = 1
        cdef intp_t i
        for i in range(n_stored):
            if column.form == CODED:
                other = stored[i] ^ zero
            self.by_row[entries[i] >> 1] = other
        for i in range(n):
            codes[i] = self.by_row[rows[i]] ^ zero
        for i in range(n_stored):
            self.by_row[entries[i] >> 1] = 0

    cdef void unfold_order(
        self, intp_t feature, const uint32_t* rows, intp_t n, uint32_t* order
    ) noexcept nogil:
        # Entries of all the node's rows in ascending order of the value.
        cdef intp_t n_stored = self.n_stored(feature)
        cdef const uint32_t* entries = self.segment(feature)
        cdef intp_t n_below = self.n_below(feature)
        cdef intp_t n_zero = n - n_stored
        cdef intp_t p = n_below
        cdef intp_t i
        memcpy(order, entries, n_below * sizeof(uint32_t))
        memcpy(
            order + n_below + n_zero, entries + n_below,
            (n_stored - n_below) * sizeof(uint32_t),
        )
        if n_zero == 0:
            return
        for i in range(n_stored):
            self.by_row[entries[i] >> 1] = 1
        for i in range(n):
            if self.by_row[rows[i]] == 0:
                order[p] = rows[i] << 1
                p += 1
        for i in range(n_stored):
            self.by_row[entries[i] >> 1] = 0
        order[n_below] |= 1
        if n_below < n_stored:
            order[p] |= 1

    cdef void unfold_values(
        self, intp_t feature, const uint32_t* rows, intp_t n, float32_t* values
    ) noexcept nogil:
        # The value of each of the node's rows, by row.
        cdef const uint32_t* entries = self.segment(feature)
        cdef intp_t i
        for i in range(n):
            values[rows[i]] = 0.0
        for i in range(self.n_stored(feature)):
            values[entries[i] >> 1] = self.table.value(entries[i] >> 1, feature)
