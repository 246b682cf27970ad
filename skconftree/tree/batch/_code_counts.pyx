"""Codes of a node's rows, counted by class or brought into order."""

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


cdef void sort_codes(
    const uint8_t* codes, intp_t n, intp_t n_levels, int32_t* sorted_codes,
    uint32_t* entries,
) noexcept nogil:
    cdef intp_t bucket[MAX_LEVELS]
    cdef uint32_t* keys = <uint32_t*> sorted_codes
    cdef uint32_t key, previous
    cdef intp_t i, j, total, count
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
        total = 0
        for i in range(n_levels):
            count = bucket[i]
            bucket[i] = total
            total += count
        for i in range(n):
            keys[bucket[codes[i]]] = (<uint32_t> codes[i] << 16) | <uint32_t> i
            bucket[codes[i]] += 1
    previous = keys[0] >> 16
    for i in range(n):
        key = keys[i]
        keys[i] = key >> 16
        entries[i] = ((key & 0xFFFF) << 1) | <uint32_t> (key >> 16 != previous)
        previous = key >> 16
