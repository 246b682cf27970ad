"""Codes of a node's rows, counted by class or brought into order."""

cimport cython
from libc.string cimport memset

from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.utils._sorting cimport counts_to_places

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
    cdef intp_t bucket[MAX_LEVELS]
    cdef uint32_t* keys = <uint32_t*> sorted_codes
    cdef uint32_t key, previous
    cdef intp_t i, j
    if n <= SHORT_SORT:
        for i in range(n):
            key = (<uint32_t> codes[i] << 16) | <uint32_t> i
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
    else:
        memset(bucket, 0, n_levels * sizeof(intp_t))
        for i in range(n):
            bucket[codes[i]] += 1
        counts_to_places(bucket, n_levels)
        for i in range(n):
            keys[bucket[codes[i]]] = (<uint32_t> codes[i] << 16) | <uint32_t> i
            bucket[codes[i]] += 1
    previous = keys[0] >> 16
    for i in range(n):
        key = keys[i]
        keys[i] = key >> 16
        entries[i] = ((key & 0xFFFF) << 1) | <uint32_t> (key >> 16 != previous)
        previous = key >> 16
