"""Rows in the order of a value."""

from libc.string cimport memcpy, memset

from skconftree.utils._typedefs cimport int32_t


cdef enum:
    RADIX_BITS = 11
    RADIX = 2048            # 2 ** RADIX_BITS
    SMALL_RADIX = 1500      # rows from which wide digits pay
    SHORT = 24              # rows up to which insertion does


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


cdef bint _part_two_values(
    const float32_t* column, intp_t n, uint32_t* order
) noexcept nogil:
    # Sort rows whose values are two at most, without keys; False if there are more.
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

    if n == 0 or _part_two_values(column, n, order):
        return
    for i in range(n):
        keys[i] = (<uint64_t> ordered_bits(column[i]) << 32) | <uint64_t> i
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
