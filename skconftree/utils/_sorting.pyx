"""Sorting of rows by a value, and encoding of values by ranks.

The key of a row is its value as an unsigned integer in the same order (ordered bits) in the
upper 32 bits, and the row in the lower ones. An entry of a sorted column, `order`, is
(row << 1) | new, where new = 1 if the value differs from that of the previous entry. Levels
are the distinct values of a column. The functions without a comment are described in
`_sorting.pxd`.
"""

cimport cython
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from skconftree.utils._typedefs cimport int32_t


cdef enum:
    RADIX_BITS = 11
    RADIX = 2048            # 2 ** RADIX_BITS
    SMALL_RADIX = 1500      # number of rows above which 11-bit digits are faster
    SHORT = 24              # number of rows up to which insertion sort is used
    SHORT_RADIX_BITS = 8    # digits of the radix sort of up to SMALL_RADIX rows, which an
    SHORT_RADIX = 256       # insertion sort completes
    MAX_MOVES = 4           # mean number of moves per row of that insertion sort
    HASH_SLOTS = 1024       # size of the hash table: a power of two, at least 2 MAX_LEVELS


cdef bint make_nan_canonical(float32_t* values, intp_t n) noexcept nogil:
    cdef intp_t i
    cdef int32_t any_nan = 0
    cdef uint32_t bits = 0x7FFFFFFF
    for i in range(n):
        any_nan |= values[i] != values[i]
    if any_nan:
        for i in range(n):
            if values[i] != values[i]:
                memcpy(values + i, &bits, 4)
    return any_nan


cdef bint _partition_two_values(
    const float32_t* column, intp_t n, uint32_t* order
) noexcept nogil:
    # Sort rows of a column with at most two values, without keys. Returns False if
    # there are more values.
    cdef uint32_t first = ordered_bits(column[0])
    cdef uint32_t other = first
    cdef intp_t n_first = 0
    cdef intp_t i, at_first, at_other
    cdef uint32_t bits
    for i in range(n):
        bits = ordered_bits(column[i])
        if bits == first:
            n_first += 1
        elif bits == other or other == first:
            other = bits
        else:
            return False
    at_first = 0 if first <= other else n - n_first
    at_other = n_first if first <= other else 0
    for i in range(n):
        if ordered_bits(column[i]) == first:
            order[at_first] = <uint32_t> i << 1
            at_first += 1
        else:
            order[at_other] = <uint32_t> i << 1
            at_other += 1
    order[0] |= 1
    if n_first < n:
        order[n_first if first < other else n - n_first] |= 1
    return True


cdef bint _sort_small(uint64_t* keys, uint64_t* other, intp_t n) noexcept nogil:
    # Sort few keys by their upper halves; the lower halves are already in order. A
    # radix sort by the two leading digits of the differences from the minimum is
    # followed by an insertion sort. Returns False if that takes too long; the keys are
    # then in another order and can still be sorted.
    cdef uint32_t histogram[2 * SHORT_RADIX]
    cdef uint32_t* bucket
    cdef uint32_t low = <uint32_t> (keys[0] >> 32)
    cdef uint32_t high = low
    cdef uint32_t bits
    cdef uint64_t* source = keys
    cdef uint64_t* target = other
    cdef uint64_t* swap
    cdef int shift = 0
    cdef intp_t i, pass_
    for i in range(1, n):
        bits = <uint32_t> (keys[i] >> 32)
        low = bits if bits < low else low
        high = bits if bits > high else high
    while (high - low) >> shift >= SHORT_RADIX * SHORT_RADIX:
        shift += 1
    memset(histogram, 0, 2 * SHORT_RADIX * sizeof(uint32_t))
    for i in range(n):
        bits = (<uint32_t> (keys[i] >> 32) - low) >> shift
        histogram[bits & (SHORT_RADIX - 1)] += 1
        histogram[SHORT_RADIX + (bits >> SHORT_RADIX_BITS)] += 1
    for pass_ in range(2):
        bucket = histogram + pass_ * SHORT_RADIX
        counts_to_offsets(bucket, SHORT_RADIX)
        for i in range(n):
            bits = (<uint32_t> (source[i] >> 32) - low) >> shift
            bits = (bits >> (pass_ * SHORT_RADIX_BITS)) & (SHORT_RADIX - 1)
            target[bucket[bits]] = source[i]
            bucket[bits] += 1
        swap = source
        source = target
        target = swap
    return insert_keys(keys, n, MAX_MOVES * n)


cdef void presort(
    const float32_t* column, intp_t n, uint64_t* keys, uint64_t* other,
    uint32_t* order,
) noexcept nogil:
    # Radix sort by digits whose width depends on the number of rows; insertion sort if
    # there are few rows.
    cdef intp_t histogram[3 * RADIX]
    cdef intp_t bits_of_digit = RADIX_BITS if n > SMALL_RADIX else 8
    cdef intp_t radix = RADIX if n > SMALL_RADIX else 256
    cdef intp_t n_passes = 3 if n > SMALL_RADIX else 4
    cdef uint64_t mask = radix - 1
    cdef intp_t i, pass_, shift, digit
    cdef uint64_t key
    cdef uint64_t* swap
    cdef uint32_t bits, previous
    cdef intp_t* bucket

    if n == 0 or _partition_two_values(column, n, order):
        return
    for i in range(n):
        keys[i] = (<uint64_t> ordered_bits(column[i]) << 32) | <uint64_t> i
    if n <= SHORT:
        insert_keys(keys, n, n * n)     # no limit of moves
        n_passes = 0
    elif n <= SMALL_RADIX and _sort_small(keys, other, n):
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
        counts_to_offsets(bucket, radix)
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


cdef int _compare_bits(const void* a, const void* b) noexcept nogil:
    cdef uint32_t left = (<const uint32_t*> a)[0]
    cdef uint32_t right = (<const uint32_t*> b)[0]
    return (left > right) - (left < right)


@cython.overflowcheck(False)     # the hash wraps
cdef intp_t encode(
    const float32_t* column, intp_t n, uint8_t* codes, float32_t* levels
) noexcept nogil:
    cdef uint32_t keys[HASH_SLOTS]
    cdef int32_t index_of[HASH_SLOTS]          # index in `distinct`, -1 = free
    cdef uint32_t distinct[MAX_LEVELS]
    cdef uint32_t ranked[MAX_LEVELS]
    cdef uint8_t rank[MAX_LEVELS]
    cdef intp_t n_levels = 0
    cdef intp_t i, j, low, high, middle
    cdef uint32_t key, h

    memset(index_of, 0xFF, sizeof(index_of))
    for i in range(n):
        key = ordered_bits(column[i])
        h = (key * <uint32_t> 2654435761u) >> 22    # Knuth's multiplicative hash, 10 bits
        while index_of[h] >= 0 and keys[h] != key:
            h = (h + 1) & (HASH_SLOTS - 1)
        if index_of[h] < 0:
            if n_levels == MAX_LEVELS:
                return 0
            keys[h] = key
            index_of[h] = <int32_t> n_levels
            distinct[n_levels] = key
            n_levels += 1
        codes[i] = <uint8_t> index_of[h]

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
