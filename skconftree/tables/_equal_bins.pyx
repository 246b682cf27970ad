"""Bins of about as many rows each, without sorting all of them."""

from libc.math cimport INFINITY
from libc.string cimport memset

from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.utils._bits cimport highest_bit
from skconftree.utils._sorting cimport insert_keys, ordered_bits, value_of_bits
from skconftree.utils._typedefs cimport uint16_t, uint32_t

cdef enum:
    CELL_BITS = 16      # at most
    USUAL_BITS = 14     # cells stay in the second-level cache
    MIXED = 256         # a cell whose rows are of several bins
    FEW_ROWS = 8192     # are sorted in less time
    MOVES_A_ROW = 4     # of all rows, to sort those of mixed cells; more are not worth it
    MOST_CELLS = 65537  # 2^CELL_BITS and one that ends them


cdef intp_t bin_levels(
    const float32_t* values, intp_t n_levels, bint has_missing, intp_t n,
    intp_t max_bins, uint8_t* codes, float32_t* floors, float32_t* levels,
) noexcept nogil:
    cdef intp_t counts[MAX_LEVELS]
    cdef uint8_t bins[MAX_LEVELS]
    cdef intp_t total = n
    cdef intp_t below = 0
    cdef intp_t n_bins = 0
    cdef intp_t last = -1
    cdef intp_t i, found
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        counts[codes[i]] += 1
    if has_missing:
        n_levels -= 1
        total -= counts[n_levels]
    for i in range(n_levels):
        found = bin_of(below, counts[i], total, max_bins)
        below += counts[i]
        if found > last:
            floors[n_bins] = values[i]
            n_bins += 1
            last = found
        levels[n_bins - 1] = values[i]
        bins[i] = <uint8_t> (n_bins - 1)
    if has_missing:
        floors[n_bins] = levels[n_bins] = values[n_levels]
        bins[n_levels] = <uint8_t> n_bins
        n_bins += 1
    for i in range(n):
        codes[i] = bins[codes[i]]
    return n_bins


cdef struct Cells:
    # Equally wide, from the smallest value to the largest.
    float32_t least
    float32_t scale
    intp_t n_cells


cdef inline intp_t _cell_of(const Cells* cells, float32_t value) noexcept nogil:
    # Ascends with the value: differences, products and floors do.
    return <intp_t> <uint32_t> ((value - cells.least) * cells.scale)


cdef bint _lay_out(Cells* cells, const float32_t* values, intp_t n) noexcept nogil:
    # False if they cannot be told.
    cdef float32_t least = values[0]
    cdef float32_t most = values[0]
    cdef intp_t n_bits = min(
        <intp_t> CELL_BITS, max(highest_bit(n) - 2, <intp_t> USUAL_BITS)
    )
    cdef intp_t i
    for i in range(n):
        least = values[i] if values[i] < least else least
        most = values[i] if values[i] > most else most
    cells.n_cells = (<intp_t> 1 << n_bits) + 1
    cells.least = least
    cells.scale = <float32_t> (cells.n_cells - 1) / (most - least)
    return (
        most - least < INFINITY and 0.0 < cells.scale < INFINITY
        and _cell_of(cells, most) < cells.n_cells
    )


cdef intp_t bin_spread(
    const float32_t* values, intp_t n, intp_t max_bins, uint64_t* room,
    uint8_t* codes, float32_t* floors, float32_t* levels,
) noexcept nogil:
    # A cell all of whose rows go into one bin, whatever their order, is not looked into.
    # The rows of others are sorted, cell by cell.
    cdef Cells cells
    cdef uint64_t* keys = room
    cdef uint32_t* cell_of = <uint32_t*> (room + n)
    cdef uint32_t* counts = <uint32_t*> (room + 2 * n)     # then, of mixed cells, where
    cdef uint32_t* starts = counts + MOST_CELLS            # the next row goes; the first
    cdef uint16_t* bins = <uint16_t*> (starts + MOST_CELLS)
    cdef intp_t below = 0
    cdef intp_t moves = 0
    cdef intp_t i, k, here, found
    cdef float32_t value
    if n < FEW_ROWS or not _lay_out(&cells, values, n):
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
        found = bin_of(below, 1.0, n, max_bins)
        bins[k] = <uint16_t> found
        if here > 1 and bin_of(below + here - 1, 1.0, n, max_bins) > found:
            bins[k] = MIXED
            starts[k] = counts[k] = <uint32_t> below
            moves += here * here // 4
        below += here
    if moves > MOVES_A_ROW * n:
        return 0
    for i in range(max_bins):
        floors[i] = INFINITY
        levels[i] = -INFINITY
    for i in range(n):
        k = cell_of[i]
        found = bins[k]
        value = values[i]
        if found == MIXED:
            keys[counts[k]] = (<uint64_t> ordered_bits(value) << 32) | <uint64_t> i
            counts[k] += 1
            continue
        codes[i] = <uint8_t> found
        floors[found] = value if value < floors[found] else floors[found]
        levels[found] = value if value > levels[found] else levels[found]
    for k in range(cells.n_cells):
        if bins[k] != MIXED:
            continue
        here = counts[k] - starts[k]
        insert_keys(keys + starts[k], here, here * here)
        _bin_sorted(
            keys, starts[k], counts[k], n, max_bins, codes, floors, levels
        )
    return _close_ranks(codes, n, max_bins, floors, levels)


cdef void _bin_sorted(
    const uint64_t* keys, intp_t first, intp_t end, intp_t n, intp_t max_bins,
    uint8_t* codes, float32_t* floors, float32_t* levels,
) noexcept nogil:
    # The rows of these places among all.
    cdef intp_t last, found
    cdef float32_t value
    while first < end:
        last = first + 1
        while last < end and keys[last] >> 32 == keys[first] >> 32:
            last += 1
        found = bin_of(first, last - first, n, max_bins)
        value = value_of_bits(<uint32_t> (keys[first] >> 32))
        floors[found] = value if value < floors[found] else floors[found]
        levels[found] = value if value > levels[found] else levels[found]
        while first < last:
            codes[<uint32_t> keys[first]] = <uint8_t> found
            first += 1


cdef intp_t _close_ranks(
    uint8_t* codes, intp_t n, intp_t max_bins, float32_t* floors, float32_t* levels
) noexcept nogil:
    # Where a value has the rows of several bins, some have none.
    cdef uint8_t rank[MAX_LEVELS]
    cdef intp_t n_bins = 0
    cdef intp_t i
    for i in range(max_bins):
        if floors[i] <= levels[i]:
            rank[i] = <uint8_t> n_bins
            # 0 is no -0, of which it is the same value
            floors[n_bins] = floors[i] + <float32_t> 0.0
            levels[n_bins] = levels[i] + <float32_t> 0.0
            n_bins += 1
    if n_bins < max_bins:
        for i in range(n):
            codes[i] = rank[codes[i]]
    return n_bins
