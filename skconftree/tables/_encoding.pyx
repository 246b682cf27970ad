"""Values of a column as ranks."""

cimport cython
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from skconftree.utils._sorting cimport ordered_bits, value_of_bits
from skconftree.utils._typedefs cimport int32_t, uint32_t


cdef enum:
    HASH_SLOTS = 1024       # a power of two, at least twice MAX_LEVELS


cdef int _compare_bits(const void* a, const void* b) noexcept nogil:
    cdef uint32_t left = (<const uint32_t*> a)[0]
    cdef uint32_t right = (<const uint32_t*> b)[0]
    return (left > right) - (left < right)


@cython.overflowcheck(False)     # the hash wraps
cdef intp_t encode(
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
        key = ordered_bits(column[i])
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
        levels[j] = value_of_bits(ranked[j])
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
