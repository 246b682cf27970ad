"""Values of a column as ranks, or as rows in order of their value."""

cimport cython
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from skconftree.utils._typedefs cimport int32_t


cdef enum:
    HASH_SLOTS = 1024       # a power of two, at least twice MAX_LEVELS
    RADIX_BITS = 11
    RADIX = 2048            # 2 ** RADIX_BITS
    SMALL_RADIX = 1500      # rows from which wide digits pay
    SHORT = 24              # rows up to which insertion does


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
