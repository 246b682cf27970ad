"""One part of a large table: value counts, codes, and partition by node.

A part is a subset of the rows. Its values are replaced by codes: the index of the value, bin
or category of a column. The lower edge of a code is its smallest value. The rows of a node are
`Members`: their indices within blocks of 65,536 rows, as 16-bit integers and ascending within
a block. A node thus reads 64 kilobytes of a column at a time, however few rows it has. The
outcome of a split is the number of a child, from 0; a split assigns an outcome to each code of
its feature. Inputs are never modified, so the rows of a node can be divided again, also on
another machine. An `Arena` allocates memory (`take`, `take_zeros`) and frees it with itself.
"""

import numpy as np
from libc.math cimport isnan
from libc.string cimport memset
from typing import NamedTuple

from skconftree.tables._encoded_table cimport MAX_LEVELS, encode
from skconftree.utils._memory cimport Arena
from skconftree.utils._sorting cimport make_nan_canonical, ordered_bits
from skconftree.utils._typedefs cimport (
    float32_t, int32_t, int64_t, intp_t, label_t, uint16_t, uint32_t,
    uint8_t,
)

cdef enum:
    BLOCK = 65536           # rows per block: 2^16, as indices within it have 16 bits

ctypedef fused code_t:      # of a feature's value
    uint8_t
    label_t                 # 16 bits

ctypedef fused value_t:     # class code, or multiplicity of a row
    uint16_t
    int32_t


ALL_ROWS = np.arange(BLOCK, dtype=np.uint16)    # row indices of a complete block


class Members(NamedTuple):
    """The rows of a node in a part: those of block b are rows[begins[b]:ends[b]].

    Complete blocks share one list of row indices.
    """

    begins: np.ndarray
    ends: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, n_rows, present=None):
        """Return all `n_rows` rows of a part, or those where the mask `present` is True."""
        edges = np.arange(-(-n_rows // BLOCK) + 1) * BLOCK
        if present is None:
            ends = np.minimum(n_rows - edges[:-1], BLOCK).astype(np.int32)
            return cls(np.zeros_like(ends), ends, ALL_ROWS)
        rows = np.flatnonzero(present)
        starts = np.searchsorted(rows, edges).astype(np.int32)
        return cls(starts[:-1], starts[1:], rows.astype(np.uint16))

    def row_indices(self):
        """Return the indices of the rows within the part."""
        rows = [
            self.rows[begin:end] + np.intp(BLOCK * block)
            for block, (begin, end) in enumerate(zip(self.begins, self.ends, strict=True))
        ]
        return np.concatenate([np.empty(0, dtype=np.intp), *rows])


cdef class CodedPart:
    """Codes and classes of the rows of a part.

    `columns` has an array of codes per feature, and `y` the class codes, both with one or
    two bytes per row. `n_levels` is the number of codes of each column.
    """

    cdef readonly object columns
    cdef readonly object y
    cdef readonly object n_levels
    cdef readonly intp_t n_classes
    cdef readonly intp_t n_rows
    cdef intp_t n_features
    cdef intp_t n_codes             # sum over all columns
    cdef Arena arena
    cdef const uint8_t** codes      # [n_features] column of one-byte codes, else NULL
    cdef const label_t** wide       # [n_features] column of two-byte codes, else NULL
    cdef intp_t* first              # [n_features] index of the column's first code, if the
                                    # codes of all columns are numbered consecutively

    def __init__(self, columns, y, n_levels, intp_t n_classes):
        cdef const uint8_t[::1] narrow
        cdef const label_t[::1] wide
        cdef intp_t f
        self.columns, self.y, self.n_levels = columns, y, n_levels
        self.n_classes = n_classes
        self.n_rows = len(y)
        self.n_features = len(columns)
        self.arena = Arena()
        self.codes = <const uint8_t**> self.arena.take_zeros(
            self.n_features, sizeof(void*)
        )
        self.wide = <const label_t**> self.arena.take_zeros(
            self.n_features, sizeof(void*)
        )
        self.first = <intp_t*> self.arena.take(self.n_features, sizeof(intp_t))
        for f in range(self.n_features):
            self.first[f] = self.n_codes
            self.n_codes += n_levels[f]
            if len(columns[f]) != self.n_rows:
                raise ValueError("codes must have an entry for each row.")
            if self.n_rows == 0:
                continue
            if columns[f].dtype == np.uint8:
                narrow = columns[f]
                self.codes[f] = &narrow[0]
            else:
                wide = columns[f]
                self.wide[f] = &wide[0]

    def __reduce__(self):
        return CodedPart, (self.columns, self.y, self.n_levels, self.n_classes)

    def __sizeof__(self):
        return sum(array.nbytes for array in (*self.columns, self.y))

    def count(self, members, counts=None):
        """Count the classes of each code; return an array [codes of all columns, classes].

        `members` has the rows to count. `counts` has the multiplicity of each row of the
        part: how often a bootstrap sample contains it. One more column then counts each
        distinct row once.
        """
        cdef const int32_t[::1] begins = members.begins
        cdef const int32_t[::1] ends = members.ends
        cdef const uint16_t[::1] rows = members.rows
        cdef bint repeated = counts is not None
        cdef intp_t width = self.n_classes + repeated
        totals = np.zeros((self.n_codes, width), dtype=np.int32)
        cdef int32_t[:, ::1] out = totals
        cdef uint16_t[::1] labels = np.empty(BLOCK, dtype=np.uint16)
        cdef int32_t[::1] multiplicity = np.empty(BLOCK if repeated else 1, dtype=np.int32)
        cdef intp_t b, n, begin, f
        for b in range(begins.shape[0]):
            begin = begins[b]
            n = ends[b] - begin
            if n == 0:
                continue
            gather(self.y, b, &rows[begin], n, &labels[0])
            if repeated:
                gather(counts, b, &rows[begin], n, &multiplicity[0])
            with nogil:
                for f in range(self.n_features):
                    if self.codes[f] != NULL:
                        count_codes(
                            self.codes[f] + b * BLOCK, &rows[begin], n, &labels[0],
                            &multiplicity[0], repeated, width, &out[self.first[f], 0],
                        )
                    else:
                        count_codes(
                            self.wide[f] + b * BLOCK, &rows[begin], n, &labels[0],
                            &multiplicity[0], repeated, width, &out[self.first[f], 0],
                        )
        return totals

    cdef void _gather_outcomes(
        self, intp_t feature, intp_t block, const uint16_t* rows, intp_t n,
        const uint16_t* outcomes, uint16_t* row_outcomes,
    ) noexcept nogil:
        # Fill `row_outcomes` with the outcomes of n rows of a block; `outcomes` is by code.
        if self.codes[feature] != NULL:
            gather_outcomes(
                self.codes[feature] + block * BLOCK, rows, n, outcomes, row_outcomes
            )
        else:
            gather_outcomes(
                self.wide[feature] + block * BLOCK, rows, n, outcomes, row_outcomes
            )

    def divide(self, members, intp_t feature, const uint16_t[::1] outcomes not None):
        """Divide the rows of a node by the outcome of their code of a feature.

        `outcomes` has the outcome of each code. Returns the `Members` of the outcomes
        0, 1, ... up to the largest.
        """
        cdef const int32_t[::1] begins = members.begins
        cdef const int32_t[::1] ends = members.ends
        cdef const uint16_t[::1] rows = members.rows
        cdef intp_t n_outcomes = int(np.max(outcomes)) + 1
        cdef intp_t n_blocks = begins.shape[0]
        cdef intp_t n_rows = int(np.sum(members.ends - members.begins, dtype=np.intp))
        edges = np.zeros((n_outcomes, n_blocks + 1), dtype=np.int32)
        cdef int32_t[:, ::1] starts = edges
        cdef uint16_t[::1] row_outcomes = np.empty(max(n_rows, 1), dtype=np.uint16)
        cdef intp_t b, z, i, n
        cdef intp_t row = 0
        for b in range(n_blocks):
            n = ends[b] - begins[b]
            if n == 0:
                continue
            with nogil:
                self._gather_outcomes(
                    feature, b, &rows[begins[b]], n, &outcomes[0], &row_outcomes[row]
                )
                for i in range(row, row + n):
                    starts[row_outcomes[i], b + 1] += 1
            row += n
        np.cumsum(edges, axis=1, out=edges)
        parts = [
            np.empty(starts[z, n_blocks], dtype=np.uint16) for z in range(n_outcomes)
        ]
        cdef Arena scratch = Arena()
        cdef uint16_t** to = <uint16_t**> scratch.take(n_outcomes, sizeof(void*))
        cdef uint16_t[::1] part
        for z in range(n_outcomes):
            to[z] = NULL
            if len(parts[z]):
                part = parts[z]
                to[z] = &part[0]
        with nogil:
            row = 0
            for b in range(n_blocks):
                for i in range(begins[b], ends[b]):
                    to[row_outcomes[row]][0] = rows[i]
                    to[row_outcomes[row]] += 1
                    row += 1
        return [
            Members(edges[z, :-1], edges[z, 1:], parts[z]) for z in range(n_outcomes)
        ]

    def count_cells(self, members, splits, counts=None):
        """Count classes by the outcomes of several splits; return [cells, classes].

        Each element of `splits` is a feature, the outcome of each of its codes, and the
        number of outcomes. A cell is a combination of outcomes, one per split; the outcome
        of the last split varies fastest. `counts` is the multiplicity of each row, or None.
        """
        cdef const int32_t[::1] begins = members.begins
        cdef const int32_t[::1] ends = members.ends
        cdef const uint16_t[::1] rows = members.rows
        cdef const uint16_t[::1] outcomes
        cdef bint repeated = counts is not None
        cdef intp_t n_cells = 1
        cdef uint16_t[::1] labels = np.empty(BLOCK, dtype=np.uint16)
        cdef uint16_t[::1] row_outcomes = np.empty(BLOCK, dtype=np.uint16)
        cdef int32_t[::1] cells = np.empty(BLOCK, dtype=np.int32)
        cdef int32_t[::1] multiplicity = np.ones(BLOCK, dtype=np.int32)
        cdef intp_t b, i, n, begin, feature
        cdef int32_t n_outcomes
        for _, _, n_outcomes in splits:
            n_cells *= n_outcomes
        totals = np.zeros((n_cells, self.n_classes), dtype=np.int32)
        cdef int32_t[:, ::1] out = totals
        for b in range(begins.shape[0]):
            begin = begins[b]
            n = ends[b] - begin
            if n == 0:
                continue
            gather(self.y, b, &rows[begin], n, &labels[0])
            if repeated:
                gather(counts, b, &rows[begin], n, &multiplicity[0])
            memset(&cells[0], 0, n * sizeof(int32_t))
            for feature, outcomes, n_outcomes in splits:
                with nogil:
                    self._gather_outcomes(
                        feature, b, &rows[begin], n, &outcomes[0], &row_outcomes[0]
                    )
                    for i in range(n):
                        cells[i] = cells[i] * n_outcomes + row_outcomes[i]
            with nogil:
                for i in range(n):
                    out[cells[i], labels[i]] += multiplicity[i]
        return totals


cdef int gather(
    values, intp_t block, const uint16_t* rows, intp_t n, value_t* out
) except -1:
    # Copy the values of n rows of a block to `out`; `values` has one or more bytes per value.
    cdef const uint8_t[::1] narrow
    cdef const value_t[::1] wide
    cdef intp_t start = block * BLOCK
    cdef intp_t i
    if values.dtype == np.uint8:
        narrow = values
        for i in range(n):
            out[i] = narrow[start + rows[i]]
    else:
        wide = values
        for i in range(n):
            out[i] = wide[start + rows[i]]
    return 0


cdef void gather_outcomes(
    const code_t* codes, const uint16_t* rows, intp_t n, const uint16_t* outcomes,
    uint16_t* row_outcomes,
) noexcept nogil:
    # `outcomes` is by code, `row_outcomes` by row.
    cdef intp_t i
    for i in range(n):
        row_outcomes[i] = outcomes[codes[rows[i]]]


cdef void count_codes(
    const code_t* codes, const uint16_t* rows, intp_t n, const uint16_t* labels,
    const int32_t* multiplicity, bint repeated, intp_t width, int32_t* out,
) noexcept nogil:
    # Add n rows to the counts `out` of a column, [codes, width], see `CodedPart.count`.
    cdef intp_t i, cell
    if not repeated:
        for i in range(n):
            out[codes[rows[i]] * width + labels[i]] += 1
        return
    for i in range(n):
        cell = codes[rows[i]] * width
        out[cell + labels[i]] += multiplicity[i]
        out[cell + width - 1] += 1


cdef enum:
    N_UPPER = 65536         # number of values of the upper 16 of 32 ordered bits

# The ordered bits of a float are an unsigned integer: integers have the order of the floats.
cdef uint32_t MISSING_BITS = 0xFFC00000     # ordered bits of NaN

NAN_BITS = MISSING_BITS     # the same for Python code

SMALL_N_CODES = 16      # up to so many codes, binary search is fast without a lookup table


def distinct_values(const float32_t[:, ::1] X not None, intp_t feature):
    """Return the ordered bits of a column's distinct values and the count of each value.

    NaN is one of the values. The result is None if there are more than 256 values.
    """
    cdef intp_t n = X.shape[0]
    column = np.array(X[:, feature])
    cdef float32_t[::1] values = column
    cdef uint8_t[::1] codes = np.empty(n, dtype=np.uint8)
    cdef float32_t levels[MAX_LEVELS]       # distinct values; MAX_LEVELS = 256
    cdef intp_t n_levels = 0
    cdef intp_t i
    if n > 0:
        with nogil:
            make_nan_canonical(&values[0], n)   # gives all NaN the same bits
            n_levels = encode(&values[0], n, &codes[0], levels)     # 0: more than MAX_LEVELS
        if n_levels == 0:
            return None
    bits = np.empty(n_levels, dtype=np.uint32)
    counts = np.zeros(n_levels, dtype=np.int64)
    cdef uint32_t[::1] out = bits
    cdef int64_t[::1] n_rows = counts
    for i in range(n_levels):
        out[i] = MISSING_BITS if isnan(levels[i]) else ordered_bits(levels[i])
    for i in range(n):
        n_rows[codes[i]] += 1
    return bits, counts


def count_cells(
    const float32_t[:, ::1] X not None, intp_t feature,
    const int32_t[::1] first not None, const uint32_t[::1] prefixes not None,
    intp_t n_prefix_bits, intp_t next_bits,
    int64_t[:, ::1] counts not None, uint32_t[:, ::1] lowest not None,
    uint32_t[:, ::1] highest not None,
):
    """Add a column's values to `counts` by cell; update `lowest` and `highest` of each cell.

    Values are ordered bits. Cell (k, j) has the values that begin with `prefixes[k]`, of
    `n_prefix_bits` bits (0, or at least 16), and continue with the `next_bits` bits of j.
    Values whose upper 16 bits are h have prefixes from index first[h] to first[h + 1].
    Values without one of the prefixes are not counted. Returns the number of NaN.
    """
    cdef intp_t n = X.shape[0]
    cdef uint32_t mask = (<uint32_t> 1 << next_bits) - 1
    cdef intp_t shift = 32 - n_prefix_bits - next_bits
    cdef uint32_t bits, prefix
    cdef intp_t n_missing = 0
    cdef intp_t i, k, cell
    cdef float32_t value
    with nogil:
        for i in range(n):
            value = X[i, feature]
            if isnan(value):
                n_missing += 1
                continue
            bits = ordered_bits(value)
            if n_prefix_bits == 0:
                k = 0
            else:
                prefix = bits >> (32 - n_prefix_bits)
                k = first[bits >> 16]
                while k < first[(bits >> 16) + 1] and prefixes[k] != prefix:
                    k += 1
                if k == first[(bits >> 16) + 1]:
                    continue
            cell = (bits >> shift) & mask
            counts[k, cell] += 1
            lowest[k, cell] = min(lowest[k, cell], bits)
            highest[k, cell] = max(highest[k, cell], bits)
    return n_missing


def bins_of(below, here, total, max_bins):
    """Bins of values with about equal numbers of rows, by cumulative counts.

    `here` is the number of rows with each value, `below` the number of rows with smaller
    values. The result equals that of `bin_of` in `tables._encoded_table`.
    """
    position = (below + here / 2.0) / total * max_bins
    return np.minimum(position.astype(np.intp), max_bins - 1)


def values_of(bits):
    """Return the floats with these ordered bits."""
    is_positive = bits >> np.uint32(31) == 1
    return np.where(is_positive, bits & np.uint32(0x7FFFFFFF), ~bits).view(np.float32)


cdef class Coder:
    """Encoder of values: the code is the index of the last lower edge that is not larger.

    `lower_edges` are the ordered bits of the smallest value of each code; `missing` is the
    code of NaN, -1 if NaN has no code. If there are many codes, a lookup table of 64
    kilobytes by the upper 16 bits of a value limits the binary search.
    """

    cdef const uint32_t[::1] lower_edges
    cdef intp_t missing
    # [65537] by upper 16 bits: index of the last lower edge whose upper 16 bits are smaller,
    # or 0. None if it is not used.
    cdef uint8_t[::1] lookup

    def __init__(self, const uint32_t[::1] lower_edges not None, intp_t missing):
        cdef intp_t low = 0
        cdef intp_t h
        self.lower_edges = lower_edges
        self.missing = missing
        self.lookup = None
        if lower_edges.shape[0] <= SMALL_N_CODES:
            return
        self.lookup = np.empty(N_UPPER + 1, dtype=np.uint8)
        for h in range(N_UPPER + 1):
            while low + 1 < lower_edges.shape[0] and lower_edges[low + 1] >> 16 < h:
                low += 1
            self.lookup[h] = <uint8_t> low

    def __reduce__(self):
        return Coder, (np.asarray(self.lower_edges), self.missing)

    def code(
        self, const float32_t[:, ::1] X not None, intp_t feature,
        uint8_t[::1] codes not None,
    ):
        """Write the codes of a column to `codes`; return whether every value has a code."""
        cdef const uint32_t[::1] lower_edges = self.lower_edges
        cdef bint has_lookup = self.lookup is not None
        cdef bint is_valid = True
        cdef intp_t i, low, high, middle
        cdef uint32_t bits
        with nogil:
            for i in range(X.shape[0]):
                if isnan(X[i, feature]):
                    is_valid = is_valid and self.missing >= 0
                    codes[i] = <uint8_t> (self.missing & 0xFF)
                    continue
                bits = ordered_bits(X[i, feature])
                if lower_edges.shape[0] == 0 or bits < lower_edges[0]:
                    is_valid = False
                    continue
                low = 0
                high = lower_edges.shape[0]
                if has_lookup:
                    low = self.lookup[bits >> 16]
                    high = self.lookup[(bits >> 16) + 1] + 1
                while high - low > 1:
                    middle = (low + high) // 2
                    if lower_edges[middle] <= bits:
                        low = middle
                    else:
                        high = middle
                codes[i] = <uint8_t> low
        return is_valid
