# Sorting of rows by a value. NaN is the largest value, and -0.0 equals 0.0. NaN is canonical
# if all its bits but the sign are set.

from libc.string cimport memcpy

from skconftree.utils._typedefs cimport (
    float32_t, int32_t, intp_t, uint8_t, uint32_t, uint64_t,
)

ctypedef fused Key:
    int32_t
    uint32_t
    uint64_t

ctypedef fused Offset:
    uint32_t
    intp_t


cdef inline uint32_t ordered_bits(float32_t value) noexcept nogil:
    # Map floats to unsigned integers in the same order (their ordered bits). -0.0 equals
    # 0.0, and NaN is last if it is canonical.
    cdef float32_t canonical = value + <float32_t> 0.0
    cdef uint32_t bits
    memcpy(&bits, &canonical, 4)
    if bits >> 31:
        return ~bits
    return bits | <uint32_t> 0x80000000


cdef inline float32_t value_of_bits(uint32_t ordered) noexcept nogil:
    # The inverse of ordered_bits().
    cdef uint32_t bits
    cdef float32_t value
    if ordered >> 31:
        bits = ordered & <uint32_t> 0x7FFFFFFF
    else:
        bits = ~ordered
    memcpy(&value, &bits, 4)
    return value


cdef inline bint insert_keys(Key* keys, intp_t n, intp_t max_moves) noexcept nogil:
    # Insertion sort of integers (keys), for few or nearly sorted ones. Returns False if it
    # takes more than `max_moves` moves; the keys are then partly sorted.
    cdef Key key
    cdef intp_t i, j
    for i in range(1, n):
        key = keys[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
        max_moves -= i - j
        if max_moves < 0:
            return False
    return True


cdef inline void counts_to_offsets(Offset* bucket, intp_t n) noexcept nogil:
    # Replace the count of each bucket by the offset of its first entry.
    cdef Offset total = 0
    cdef Offset count
    cdef intp_t i
    for i in range(n):
        count = bucket[i]
        bucket[i] = total
        total += count


# Make all NaN canonical. Returns whether there is any NaN.
cdef bint make_nan_canonical(float32_t* values, intp_t n) noexcept nogil


# Stable sort of the rows by column[row], with canonical NaN last. An entry of `order`
# is (row << 1) | new, where new = 1 if the value differs from that of the previous entry.
# `keys` and `other` are scratch memory, [n] each.
cdef void presort(
    const float32_t* column, intp_t n, uint64_t* keys, uint64_t* other,
    uint32_t* order,
) noexcept nogil


cdef enum:
    MAX_LEVELS = 256        # distinct values of an encoded column: a code is one byte


# Encode a column with few distinct values: the code of a row is the rank of its value.
# `levels` receives the values in ascending order. Returns their number, or 0 if there are
# more than MAX_LEVELS.
cdef intp_t encode(
    const float32_t* column, intp_t n, uint8_t* codes, float32_t* levels
) noexcept nogil
