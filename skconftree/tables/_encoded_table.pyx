"""Encoding of a table as rank codes and presorted rows, by column and by row.

`_encoded_table.pxd` describes the encoding. A code of a column is the index of a distinct
value, bin or category. The level of a code is its value, or the largest value of its bin; its
lower edge is the smallest one. A column with too many values is sorted instead: its entries
are (row << 1) | new in ascending order of the value, where new = 1 if the value differs from
that of the previous entry. Cells are intervals of equal width, used to assign bins without
sorting all rows. A key to sort by is the value as an integer in the upper 32 bits, and the row
in the lower ones. The parameter `keys` is scratch memory for them.
"""

import numpy as np
from libc.math cimport INFINITY, isnan
from libc.string cimport memcpy, memset
from scipy.sparse import issparse

from skconftree.tables._sparse_columns cimport SparseColumn, SparseTable
from skconftree.utils._inline cimport highest_bit
# ordered_bits: the bits of a float as an integer in the same order; presort: make the entries
from skconftree.utils._sorting cimport (
    insert_keys, make_nan_canonical, ordered_bits, presort, value_of_bits,
)
from skconftree.utils._typedefs cimport int32_t, uint16_t, uint32_t, uint64_t


cdef enum:
    MAX_CELL_BITS = 16  # there are at most 2^16 + 1 cells
    USUAL_BITS = 14     # so that the cells fit in the second-level cache
    MIXED = 256         # marks a cell with rows of several bins
    SMALL_N_ROWS = 8192     # below, sorting is faster
    MAX_MOVES_PER_ROW = 4   # expected, of the insertion sort of mixed cells
    N_CELL_STARTS = 65537   # largest number of cells: 2^MAX_CELL_BITS + 1


cdef intp_t bin_levels(
    const float32_t* values, intp_t n_levels, bint has_missing, intp_t n,
    intp_t max_bins, uint8_t* codes, float32_t* lower_edges, float32_t* levels,
) noexcept nogil:
    # Replace codes of values by those of bins. bin_of() is the bin of a value, from the weights
    # of smaller values, of the value and of all rows.
    cdef intp_t counts[MAX_LEVELS]
    cdef uint8_t bins[MAX_LEVELS]
    cdef intp_t total = n
    cdef intp_t below = 0
    cdef intp_t n_bins = 0
    cdef intp_t last = -1
    cdef intp_t i, bin_
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        counts[codes[i]] += 1
    if has_missing:
        n_levels -= 1
        total -= counts[n_levels]
    for i in range(n_levels):
        bin_ = bin_of(below, counts[i], total, max_bins)
        below += counts[i]
        if bin_ > last:
            lower_edges[n_bins] = values[i]
            n_bins += 1
            last = bin_
        levels[n_bins - 1] = values[i]
        bins[i] = <uint8_t> (n_bins - 1)
    if has_missing:
        lower_edges[n_bins] = levels[n_bins] = values[n_levels]
        bins[n_levels] = <uint8_t> n_bins
        n_bins += 1
    for i in range(n):
        codes[i] = bins[codes[i]]
    return n_bins


cdef struct Cells:
    # Cells of equal width between the smallest and the largest value.
    float32_t smallest
    float32_t scale     # number of cells per unit of the value
    intp_t n_cells


cdef inline intp_t _cell_of(const Cells* cells, float32_t value) noexcept nogil:
    # Monotonic, because differences, products and rounding down are.
    return <intp_t> <uint32_t> ((value - cells.smallest) * cells.scale)


cdef bint _lay_out(Cells* cells, const float32_t* values, intp_t n) noexcept nogil:
    # Choose the width of the cells. Returns False if the range of the values, or the
    # scale, is too large or too small for float32.
    cdef float32_t smallest = values[0]
    cdef float32_t largest = values[0]
    cdef intp_t n_bits = min(
        <intp_t> MAX_CELL_BITS, max(highest_bit(n) - 2, <intp_t> USUAL_BITS)
    )
    cdef intp_t i
    for i in range(n):
        smallest = values[i] if values[i] < smallest else smallest
        largest = values[i] if values[i] > largest else largest
    cells.n_cells = (<intp_t> 1 << n_bits) + 1
    cells.smallest = smallest
    cells.scale = <float32_t> (cells.n_cells - 1) / (largest - smallest)
    return (
        largest - smallest < INFINITY and 0.0 < cells.scale < INFINITY
        and _cell_of(cells, largest) < cells.n_cells
    )


cdef intp_t bin_spread(
    const float32_t* values, intp_t n, intp_t max_bins, uint64_t* scratch,
    uint8_t* codes, float32_t* lower_edges, float32_t* levels,
) noexcept nogil:
    # Only the rows of cells that belong to several bins are sorted, cell by cell. Returns the
    # number of bins, or 0 if this is impossible or not faster than sorting all rows.
    cdef Cells cells
    cdef uint64_t* keys = scratch
    cdef uint32_t* cell_of = <uint32_t*> (scratch + n)
    # `counts` is the number of rows of each cell. In mixed cells, it is then replaced by
    # the index in `keys` of the next row; `starts` is that of the first row.
    cdef uint32_t* counts = <uint32_t*> (scratch + 2 * n)
    cdef uint32_t* starts = counts + N_CELL_STARTS
    cdef uint16_t* bins = <uint16_t*> (starts + N_CELL_STARTS)
    cdef intp_t below = 0
    cdef intp_t moves = 0
    cdef intp_t i, k, here, bin_
    cdef float32_t value
    if n < SMALL_N_ROWS or not _lay_out(&cells, values, n):
        return 0
    memset(counts, 0, cells.n_cells * sizeof(uint32_t))
    for i in range(n):
        k = _cell_of(&cells, values[i])
        cell_of[i] = <uint32_t> k
        counts[k] += 1
    for k in range(cells.n_cells):
        here = counts[k]
        bins[k] = 0
        if here == 0:
            continue
        bin_ = bin_of(below, 1.0, n, max_bins)
        bins[k] = <uint16_t> bin_
        if here > 1 and bin_of(below + here - 1, 1.0, n, max_bins) > bin_:
            bins[k] = MIXED
            starts[k] = counts[k] = <uint32_t> below
            moves += here * here // 4
        below += here
    if moves > MAX_MOVES_PER_ROW * n:
        return 0
    for i in range(max_bins):
        lower_edges[i] = INFINITY
        levels[i] = -INFINITY
    for i in range(n):
        k = cell_of[i]
        bin_ = bins[k]
        value = values[i]
        if bin_ == MIXED:
            keys[counts[k]] = (<uint64_t> ordered_bits(value) << 32) | <uint64_t> i
            counts[k] += 1
            continue
        codes[i] = <uint8_t> bin_
        lower_edges[bin_] = value if value < lower_edges[bin_] else lower_edges[bin_]
        levels[bin_] = value if value > levels[bin_] else levels[bin_]
    for k in range(cells.n_cells):
        if bins[k] != MIXED:
            continue
        here = counts[k] - starts[k]
        # insertion sort, which takes at most here * here moves
        insert_keys(keys + starts[k], here, here * here)
        _bin_sorted(
            keys, starts[k], counts[k], n, max_bins, codes, lower_edges, levels
        )
    return _remove_empty_bins(codes, n, max_bins, lower_edges, levels)


cdef void _bin_sorted(
    const uint64_t* keys, intp_t first, intp_t end, intp_t n, intp_t max_bins,
    uint8_t* codes, float32_t* lower_edges, float32_t* levels,
) noexcept nogil:
    # Bin the sorted rows from `first` to `end`.
    cdef intp_t last, bin_
    cdef float32_t value
    while first < end:
        last = first + 1
        while last < end and keys[last] >> 32 == keys[first] >> 32:
            last += 1
        bin_ = bin_of(first, last - first, n, max_bins)
        value = value_of_bits(<uint32_t> (keys[first] >> 32))
        lower_edges[bin_] = value if value < lower_edges[bin_] else lower_edges[bin_]
        levels[bin_] = value if value > levels[bin_] else levels[bin_]
        while first < last:
            codes[<uint32_t> keys[first]] = <uint8_t> bin_
            first += 1


cdef intp_t _remove_empty_bins(
    uint8_t* codes, intp_t n, intp_t max_bins, float32_t* lower_edges, float32_t* levels
) noexcept nogil:
    # Remove empty bins, which occur if a value has the rows of several bins.
    cdef uint8_t rank[MAX_LEVELS]
    cdef intp_t n_bins = 0
    cdef intp_t i
    for i in range(max_bins):
        if lower_edges[i] <= levels[i]:
            rank[i] = <uint8_t> n_bins
            # replace -0 by 0
            lower_edges[n_bins] = lower_edges[i] + <float32_t> 0.0
            levels[n_bins] = levels[i] + <float32_t> 0.0
            n_bins += 1
    if n_bins < max_bins:
        for i in range(n):
            codes[i] = rank[codes[i]]
    return n_bins


cdef enum:
    MAX_BLOCK = 16          # columns transposed at a time: a cache line of X
    BLOCK_BYTES = 33554432  # largest size of a block


cdef class EncodedTable:
    """The features of a table as rank codes and presorted rows.

    `X` is dense, or sparse in CSR or CSC format without NaN, duplicates or unsorted
    entries; it must stay alive with this object. `n_categories` is 0 for a numeric
    feature; the values of others are codes below this number, or -1. Numeric features of
    a dense X are cut into at most `max_bins` bins of about equal `weight`, unless it is
    0. The threads of `thread_team`, if given, share the columns of a dense X.
    """

    def __init__(
        self, X, const int32_t[::1] n_categories=None, *, intp_t max_bins=0,
        const float64_t[::1] weight=None, thread_team=None,
    ):
        if not 0 <= max_bins < MAX_LEVELS:
            raise ValueError(
                f"max_bins must be from 0 to {MAX_LEVELS - 1}. Got {max_bins}."
            )
        self.max_bins = max_bins
        self.weight = weight
        self.n_rows = X.shape[0]
        self.n_features = X.shape[1]
        if self.n_rows >= 1 << 31:
            raise ValueError(
                f"X has {self.n_rows} rows; at most {(1 << 31) - 1} are supported."
            )
        cdef const float32_t[:, ::1] dense = None
        cdef const int32_t* categories = NULL
        cdef Arena scratch
        if n_categories is not None:
            categories = &n_categories[0]
        self.arena = Arena()
        self.columns = <Column*> self.arena.take_zeros(self.n_features, sizeof(Column))
        if issparse(X):
            self.stride = 1     # distance between the values of consecutive rows
            self.sparse = SparseColumns(SparseTable(X.tocsc()))
            with nogil:
                self._encode_sparse()
            self.sparse.end_reading()
        else:
            self.stride = self.n_features
            dense = X
            self._owners = dense    # keeps the array alive
            if thread_team is not None:
                self._share_out(dense, n_categories, thread_team)
                return
            scratch = Arena()
            with nogil:
                self._encode(
                    &dense[0, 0], categories, scratch, 0, self.n_features
                )

    def _share_out(
        self, const float32_t[:, ::1] X, const int32_t[::1] n_categories, thread_team
    ):
        # Each part is a table of the same columns that encodes some of them, and owns their
        # memory. There are two parts per thread, to balance the load.
        cdef intp_t n_parts = min(self.n_features, 2 * <intp_t> thread_team.n_threads)
        cdef intp_t d = self.n_features
        self.parts = [self._part() for _ in range(n_parts)]

        def encode(thread, intp_t k):
            cdef EncodedTable part = self.parts[k]
            cdef const int32_t* categories = NULL
            cdef Arena scratch = Arena()
            if n_categories is not None:
                categories = &n_categories[0]
            with nogil:
                part._encode(
                    &X[0, 0], categories, scratch, k * d // n_parts,
                    (k + 1) * d // n_parts,
                )

        thread_team.run(encode, n_parts)
        for part in self.parts:
            self.n_coded += part.n_coded    # number of columns with codes

    cdef EncodedTable _part(self):
        cdef EncodedTable part = EncodedTable.__new__(EncodedTable)
        part.n_rows = self.n_rows
        part.n_features = self.n_features
        part.max_bins = self.max_bins
        part.weight = self.weight
        part.stride = self.stride
        part.arena = Arena()
        part.columns = self.columns
        return part

    @staticmethod
    def of_codes(intp_t n_rows, columns):
        """Make a table of columns that were encoded elsewhere.

        `columns` are instances of `CodedColumn` (`_growth_data.py`). The table uses their
        arrays without a copy. A tree that takes over the table modifies them.
        """
        cdef EncodedTable table = EncodedTable.__new__(EncodedTable)
        cdef Column* column
        cdef uint8_t[::1] codes
        cdef label_t[::1] codes16
        cdef const float32_t[::1] values
        cdef intp_t f
        table.n_rows = n_rows
        table.n_features = table.n_coded = len(columns)
        table.stride = 1
        table.arena = Arena()
        table.columns = <Column*> table.arena.take_zeros(
            table.n_features, sizeof(Column)
        )
        table._owners = columns
        for f in range(table.n_features):
            column = &table.columns[f]
            encoded = columns[f]
            if len(encoded.codes) != n_rows:
                raise ValueError("codes must have an entry for each row.")
            if encoded.codes.dtype == np.uint8:
                codes = encoded.codes
                column.codes = &codes[0]
            else:
                codes16 = encoded.codes
                column.codes16 = &codes16[0]
            column.n_levels = encoded.n_levels
            column.nominal = encoded.levels is None
            if column.nominal:
                continue
            column.has_missing = encoded.has_missing
            values = encoded.levels
            column.levels = &values[0]
            if encoded.lower_edges is not None:
                values = encoded.lower_edges
                column.lower_edges = &values[0]
        return table

    def begin_use(self, bint consumes):
        """Check that the table can be used; if `consumes`, a tree takes over its arrays."""
        if self.consumed:
            raise RuntimeError(
                "This table has been consumed: a tree took over its arrays instead of "
                "copying them. Encode the rows again, or share the table among trees "
                "that copy from it."
            )
        if consumes:
            self.consumed = True

    def distinct_values(self, features):
        """Map numeric features to their distinct values; omit features without stored values."""
        cdef dict values = {}
        cdef Column* column
        cdef intp_t f
        for f in features:
            column = &self.columns[f]
            # without lower edges, each code has a single value
            if column.levels != NULL and column.lower_edges == NULL:
                values[f] = np.array(
                    <const float32_t[:column.n_levels]> column.levels
                )[:column.n_levels - column.has_missing]
        return values

    cdef int _encode(
        self, const float32_t* x, const int32_t* n_categories, Arena scratch,
        intp_t first, intp_t last,
    ) except -1 nogil:
        # Columns are transposed in blocks, to read X few times.
        cdef intp_t n = self.n_rows
        cdef intp_t d = self.n_features
        cdef intp_t block = BLOCK_BYTES // (4 * n)
        if block > last - first:
            block = last - first
        if block > MAX_BLOCK:
            block = MAX_BLOCK
        if block < 1:
            block = 1
        cdef float32_t* values = <float32_t*> scratch.take(block * n, sizeof(float32_t))
        cdef intp_t n_scratch = 2 * n + (BIN_SCRATCH_CELLS if self.max_bins > 0 else 0)
        cdef void* keys = scratch.take(n_scratch, sizeof(uint64_t))
        cdef uint8_t* codes = NULL
        cdef intp_t f, i, width
        cdef const float32_t* row
        while first < last:
            width = min(block, last - first)
            for i in range(n):
                row = x + i * d + first
                for f in range(width):
                    values[f * n + i] = row[f]
            for f in range(width):
                self.columns[first + f].values = x + first + f
                if n_categories != NULL and n_categories[first + f] > 0:
                    self._add_nominal(
                        first + f, values + f * n, n_categories[first + f]
                    )
                else:
                    self._add(first + f, values + f * n, &codes, keys)
            first += block
        self.arena.release(codes)
        return 0

    cdef int _add(
        self, intp_t feature, float32_t* values, uint8_t** codes, void* keys
    ) except -1 nogil:
        # `codes` points to an array that no column uses yet, or to NULL.
        cdef intp_t n = self.n_rows
        cdef Column* column = &self.columns[feature]
        cdef float32_t levels[MAX_LEVELS]
        cdef float32_t* stored
        # gives all NaN the same bits, and returns whether there is any
        column.has_missing = make_nan_canonical(values, n)
        if codes[0] == NULL:
            codes[0] = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        column.n_levels = encode(values, n, codes[0], levels)   # 0: more than MAX_LEVELS
        if self.max_bins > 0 and (
            column.n_levels == 0
            or column.n_levels - column.has_missing > self.max_bins
        ):
            self._add_bins(column, values, levels, codes[0], keys)
            codes[0] = NULL
            return 0
        if column.n_levels > 0:
            stored = <float32_t*> self.arena.take(column.n_levels, sizeof(float32_t))
            memcpy(stored, levels, column.n_levels * sizeof(float32_t))
            column.levels = stored
            column.codes = codes[0]
            codes[0] = NULL
            self.n_coded += 1
            return 0
        column.order = <uint32_t*> self.arena.take(n, sizeof(uint32_t))
        presort(values, n, <uint64_t*> keys, <uint64_t*> keys + n, column.order)
        return 0

    cdef int _add_bins(
        self, Column* column, const float32_t* values, const float32_t* values_of_codes,
        uint8_t* codes, void* keys,
    ) except -1 nogil:
        # `values_of_codes` has the distinct values of a column with few of them.
        cdef intp_t n = self.n_rows
        cdef intp_t n_bins = 0
        cdef intp_t capacity = self.max_bins + 1
        cdef float32_t* levels = <float32_t*> self.arena.take(capacity, sizeof(float32_t))
        cdef float32_t* lower_edges = <float32_t*> self.arena.take(capacity, sizeof(float32_t))
        if self.weight is None and column.n_levels > 0:
            n_bins = bin_levels(
                values_of_codes, column.n_levels, column.has_missing, n, self.max_bins, codes,
                lower_edges, levels,
            )
        elif self.weight is None and not column.has_missing:
            n_bins = bin_spread(
                values, n, self.max_bins, <uint64_t*> keys, codes, lower_edges, levels
            )
        if n_bins == 0:     # neither of the faster ways can be used
            n_bins = self._sort_into_bins(values, codes, keys, lower_edges, levels)
        column.codes = codes
        column.n_levels = n_bins
        column.levels = levels
        column.lower_edges = lower_edges
        self.n_coded += 1
        return 0

    cdef intp_t _sort_into_bins(
        self, const float32_t* values, uint8_t* codes, void* keys, float32_t* lower_edges,
        float32_t* levels,
    ) except -1 nogil:
        cdef intp_t n = self.n_rows
        cdef uint32_t* order = <uint32_t*> self.arena.take(n, sizeof(uint32_t))
        cdef float64_t total = 0.0
        cdef float64_t below = 0.0
        cdef float64_t here
        cdef float32_t value
        cdef intp_t n_present = n
        cdef intp_t n_bins = 0
        cdef intp_t last = -1
        cdef intp_t i, j, k, bin_
        presort(values, n, <uint64_t*> keys, <uint64_t*> keys + n, order)
        while n_present > 0 and isnan(values[order[n_present - 1] >> 1]):
            n_present -= 1
        for i in range(n_present):
            total += self._weight_of(order[i] >> 1)
        i = 0
        while i < n_present:
            here = self._weight_of(order[i] >> 1)
            j = i + 1
            while j < n_present and not order[j] & 1:
                here += self._weight_of(order[j] >> 1)
                j += 1
            bin_ = bin_of(below, here, total, self.max_bins)
            value = value_of_bits(ordered_bits(values[order[i] >> 1]))  # 0 instead of -0
            if bin_ > last:
                lower_edges[n_bins] = value
                n_bins += 1
                last = bin_
            levels[n_bins - 1] = value
            for k in range(i, j):
                codes[order[k] >> 1] = <uint8_t> (n_bins - 1)
            below += here
            i = j
        if n_present < n:
            levels[n_bins] = values[order[n_present] >> 1]
            lower_edges[n_bins] = levels[n_bins]
            for k in range(n_present, n):
                codes[order[k] >> 1] = <uint8_t> n_bins
            n_bins += 1
        self.arena.release(order)
        return n_bins

    cdef int _add_nominal(
        self, intp_t feature, const float32_t* values, intp_t n_categories
    ) except -1 nogil:
        cdef Column* column = &self.columns[feature]
        cdef intp_t n = self.n_rows
        cdef intp_t i
        self.n_coded += 1
        column.nominal = True
        column.n_levels = n_categories + 1
        if column.n_levels <= MAX_LEVELS:
            column.codes = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
            for i in range(n):
                column.codes[i] = <uint8_t> (
                    n_categories if values[i] < 0.0 else <intp_t> values[i]
                )
        else:
            column.codes16 = <label_t*> self.arena.take(n, sizeof(label_t))
            for i in range(n):
                column.codes16[i] = <label_t> (
                    n_categories if values[i] < 0.0 else <intp_t> values[i]
                )
        return 0

    cdef int _encode_sparse(self) except -1 nogil:
        cdef intp_t f
        self.sparse.begin_reading()
        for f in range(self.n_features):
            self.sparse.read(f)
            if not self.is_sparse(f):   # too few zeros to store only the other rows
                self._add_full(f)
        return 0

    cdef int _add_full(self, intp_t feature) except -1 nogil:
        # Store the column that was just read from a sparse table as one byte per row.
        cdef intp_t n = self.n_rows
        cdef SparseColumn* sparse = &self.sparse.columns[feature]
        # the entries of this column follow those of columns that are stored there
        cdef const uint32_t* entries = self.sparse.entries + self.sparse.n_entries
        cdef Column* column = &self.columns[feature]
        cdef float32_t* levels
        cdef intp_t i
        column.n_levels = sparse.n_levels
        column.codes = <uint8_t*> self.arena.take(n, sizeof(uint8_t))
        levels = <float32_t*> self.arena.take(column.n_levels, sizeof(float32_t))
        column.levels = levels
        self.n_coded += 1
        memcpy(levels, self.sparse.read_levels, column.n_levels * sizeof(float32_t))
        memset(column.codes, sparse.zero, n)    # `zero`: code of the value 0
        for i in range(self.sparse.n_read):
            column.codes[entries[i] >> 1] = self.sparse.read_codes[i]
        return 0


cdef enum:
    BLOCK = 8       # features written at a time, to touch each row few times


ctypedef fused code_t:
    uint8_t
    uint16_t
    int32_t


cdef class RowCodes:
    """Codes of a dense table, stored by row: the rank of each value in its feature.

    The table is not modified.
    """

    def __init__(self, EncodedTable table not None):
        if table.sparse is not None:
            raise ValueError("RowCodes requires a dense table, got a sparse one.")
        table.begin_use(False)
        self.table = table
        self.arena = Arena()
        with nogil:
            self._make()

    def codes(self, intp_t feature):
        """Return the codes of a feature for all rows."""
        codes = np.empty(self.table.n_rows, dtype=np.int32)
        cdef int32_t[::1] out = codes
        cdef intp_t i
        for i in range(self.table.n_rows):
            out[i] = self.code(i, feature)
        return codes

    cdef int _make(self) except -1 nogil:
        cdef intp_t n = self.table.n_rows
        cdef intp_t d = self.table.n_features
        cdef intp_t block = min(d, BLOCK)
        cdef int32_t* codes
        cdef CodeColumn* column
        cdef intp_t f, first, k, i, width
        cdef uint8_t* row
        self.columns = <CodeColumn*> self.arena.take(d, sizeof(CodeColumn))
        codes = <int32_t*> self.arena.take(block * n, sizeof(int32_t))
        for f in range(d):
            self._measure(&self.table.columns[f], &self.columns[f])
        self._lay_out()
        self.bytes = <uint8_t*> self.arena.take(n * self.row_bytes, sizeof(uint8_t))
        first = 0
        while first < d:
            width = min(block, d - first)
            for k in range(width):
                self._rank(&self.table.columns[first + k], codes + k * n)
            for k in range(width):
                column = &self.columns[first + k]
                row = self.bytes + column.offset
                if column.width == 1:
                    for i in range(n):
                        row[i * self.row_bytes] = <uint8_t> codes[k * n + i]
                elif column.width == 2:
                    for i in range(n):
                        (<uint16_t*> (row + i * self.row_bytes))[0] = (
                            <uint16_t> codes[k * n + i]
                        )
                else:
                    for i in range(n):
                        (<int32_t*> (row + i * self.row_bytes))[0] = codes[k * n + i]
            first += block
        self.arena.release(codes)
        return 0

    cdef void _measure(self, const Column* column, CodeColumn* to) noexcept nogil:
        # Set the number of codes of a column and their width in bytes.
        cdef intp_t i
        to.n_codes = column.n_levels
        if column.order != NULL:    # a sorted column
            to.n_codes = 1
            for i in range(1, self.table.n_rows):
                to.n_codes += column.order[i] & 1
        to.width = 4
        if to.n_codes <= 1 << 8:
            to.width = 1
        elif to.n_codes <= 1 << 16:
            to.width = 2

    cdef void _lay_out(self) noexcept nogil:
        # Set the offset of each column in a row. Wide codes first, so that each is aligned.
        cdef intp_t offset = 0
        cdef intp_t widest = 1
        cdef intp_t width = 4
        cdef intp_t f
        while width > 0:
            for f in range(self.table.n_features):
                if self.columns[f].width == width:
                    self.columns[f].offset = offset
                    offset += width
                    widest = max(widest, width)
            width //= 2
        self.row_bytes = (offset + widest - 1) // widest * widest

    cdef void _rank(self, const Column* column, int32_t* codes) noexcept nogil:
        cdef intp_t n = self.table.n_rows
        cdef int32_t rank = 0
        cdef intp_t i
        if column.codes != NULL:
            for i in range(n):
                codes[i] = column.codes[i]
        elif column.codes16 != NULL:
            for i in range(n):
                codes[i] = column.codes16[i]
        else:
            codes[column.order[0] >> 1] = 0
            for i in range(1, n):
                rank += column.order[i] & 1
                codes[column.order[i] >> 1] = rank

    cdef void lookup(
        self, intp_t feature, const uint64_t* rows, intp_t n, int32_t* codes
    ) noexcept nogil:
        # Codes of n rows, whose indices are the lower 32 bits of `rows`.
        cdef const CodeColumn* column = &self.columns[feature]
        cdef const uint8_t* start = self.bytes + column.offset
        if column.width == 1:
            _lookup(start, self.row_bytes, rows, n, codes)
        elif column.width == 2:
            _lookup(<const uint16_t*> start, self.row_bytes // 2, rows, n, codes)
        else:
            _lookup(<const int32_t*> start, self.row_bytes // 4, rows, n, codes)


cdef void _lookup(
    const code_t* column, intp_t stride, const uint64_t* rows, intp_t n,
    int32_t* codes,
) noexcept nogil:
    cdef intp_t i
    for i in range(n):
        codes[i] = column[<intp_t> <uint32_t> rows[i] * stride]
