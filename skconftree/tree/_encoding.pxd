# Values as ranks: codes for a column of few distinct values, sorted rows for others.
# NaN is the largest value, and -0.0 equals 0.0.

from skconftree.utils._typedefs cimport float32_t, intp_t, uint8_t, uint32_t, uint64_t

cdef enum:
    MAX_LEVELS = 256


# Give all NaN the same bits, without a sign; whether there is any.
cdef bint make_nan_canonical(float32_t* values, intp_t n) noexcept nogil


# Rank codes, and the values they stand for in ascending order; returns how many
# there are, or 0 if more than MAX_LEVELS.
cdef intp_t encode(
    const float32_t* column, intp_t n, uint8_t* codes, float32_t* levels
) noexcept nogil


# Entries of a run, (row << 1) | new, in ascending order of column[row], rows of
# equal value in their order; canonical NaN is last. keys and other are scratch, [n] each.
cdef void presort(
    const float32_t* column, intp_t n, uint64_t* keys, uint64_t* other,
    uint32_t* order,
) noexcept nogil
