# Rows in the order of a value. NaN is the largest value, and -0.0 equals 0.0.

from libc.string cimport memcpy

from skconftree.utils._typedefs cimport (
    float32_t, int32_t, intp_t, uint8_t, uint32_t, uint64_t,
)

ctypedef fused Key:
    int32_t
    uint32_t
    uint64_t

ctypedef fused Place:
    uint32_t
    intp_t


cdef inline uint32_t ordered_bits(float32_t value) noexcept nogil:
    # Unsigned integers in the order of the floats; -0.0 equals 0.0, and NaN is last
    # once canonical.
    cdef float32_t canonical = value + <float32_t> 0.0
    cdef uint32_t bits
    memcpy(&bits, &canonical, 4)
    if bits >> 31:
        return ~bits
    return bits | <uint32_t> 0x80000000


cdef inline float32_t value_of_bits(uint32_t ordered) noexcept nogil:
    cdef uint32_t bits
    cdef float32_t value
    if ordered >> 31:
        bits = ordered & <uint32_t> 0x7FFFFFFF
    else:
        bits = ~ordered
    memcpy(&value, &bits, 4)
    return value


cdef inline bint insert_keys(Key* keys, intp_t n, intp_t max_moves) noexcept nogil:
    # Sort keys that are few or nearly sorted; False if that takes more moves, some of
    # them being sorted then.
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


cdef inline void counts_to_offsets(Place* bucket, intp_t n) noexcept nogil:
    # Where each bucket begins, instead of how many are in it.
    cdef Place total = 0
    cdef Place count
    cdef intp_t i
    for i in range(n):
        count = bucket[i]
        bucket[i] = total
        total += count


# Give all NaN the same bits, without a sign; whether there is any.
cdef bint make_nan_canonical(float32_t* values, intp_t n) noexcept nogil


# Rows as entries, (row << 1) | new, in ascending order of column[row], rows of
# equal value in their order; canonical NaN is last. keys and other are scratch, [n] each.
cdef void presort(
    const float32_t* column, intp_t n, uint64_t* keys, uint64_t* other,
    uint32_t* order,
) noexcept nogil


cdef enum:
    MAX_LEVELS = 256


# Codes of a column of few values: their ranks. `levels` are the values, in ascending
# order; returns how many there are, or 0 if more than MAX_LEVELS.
cdef intp_t encode(
    const float32_t* column, intp_t n, uint8_t* codes, float32_t* levels
) noexcept nogil
