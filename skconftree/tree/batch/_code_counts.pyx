"""Codes of a node's rows, counted by class or brought into order."""

cimport cython
from libc.string cimport memset

from skconftree.tables._encoding cimport MAX_LEVELS

cdef enum:
    SHORT_SORT = 24              # insertion sort up to here


cdef void count_codes(
    const code_t* codes, intp_t n, const label_t* y, const int32_t* count,
    const float64_t* weight, intp_t n_codes, intp_t width, int32_t* tally,
    float64_t* out,
) noexcept nogil:
    cdef intp_t i
    if weight != NULL:
        memset(out, 0, n_codes * width * sizeof(float64_t))
        for i in range(n):
            out[codes[i] * width + y[i]] += weight[i]
        return
    memset(tally, 0, n_codes * width * sizeof(int32_t))
    if count != NULL:
        for i in range(n):
            tally[codes[i] * width + y[i]] += count[i]
    else:
        for i in range(n):
            tally[codes[i] * width + y[i]] += 1
    for i in range(n_codes * width):
        out[i] = tally[i]


@cython.overflowcheck(False)     # distances to codes on the other side wrap: they are
cdef void code_neighbours(       # larger than any on this one
    const uint8_t* codes, intp_t n, uint8_t place, intp_t* below, intp_t* above
) noexcept nogil:
    # Without branches, many codes at a time.
    cdef uint8_t down = MAX_LEVELS - 1
    cdef uint8_t up = MAX_LEVELS - 1
    cdef uint8_t one, other
    cdef intp_t i
    for i in range(n):
        one = <uint8_t> (place - codes[i])
        other = <uint8_t> (codes[i] - place - 1)
        if one < down:
            down = one
        if other < up:
            up = other
    below[0] = place - down
    above[0] = place + 1 + up


cdef void sort_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes,
    uint32_t* entries,
) noexcept nogil:
    if n <= SHORT_SORT:
        _insert_codes(codes, n, sorted_codes, entries)
    else:
        _place_codes(codes, n, n_levels, sorted_codes, entries)


cdef void _insert_codes(
    const uint8_t* codes, intp_t n, int32_t* sorted_codes, uint32_t* entries
) noexcept nogil:
    cdef uint32_t* keys = <uint32_t*> sorted_codes
    cdef uint32_t key, previous
    cdef intp_t i, j
    for i in range(n):
        key = (<uint32_t> codes[i] << 16) | <uint32_t> i
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
    previous = keys[0] >> 16
    for i in range(n):
        key = keys[i]
        keys[i] = key >> 16
        entries[i] = ((key & 0xFFFF) << 1) | <uint32_t> (key >> 16 != previous)
        previous = key >> 16


cdef void _place_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes,
    uint32_t* entries,
) noexcept nogil:
    # The last row of a code goes first: it ends where the others begin.
    cdef uint32_t ends[MAX_LEVELS]
    cdef uint32_t first[MAX_LEVELS]     # where a code begins that has rows
    cdef intp_t n_present = 0
    cdef uint32_t total = 0
    cdef uint32_t place
    cdef intp_t i, code
    memset(ends, 0, n_levels * sizeof(uint32_t))
    for i in range(n):
        ends[codes[i]] += 1
    for code in range(n_levels):
        first[n_present] = total
        n_present += ends[code] > 0
        total += ends[code]
        ends[code] = total
    for i in range(n - 1, -1, -1):
        code = codes[i]
        place = ends[code] - 1
        ends[code] = place
        sorted_codes[place] = <int32_t> code
        entries[place] = <uint32_t> i << 1
    for i in range(n_present):
        entries[first[i]] |= 1
