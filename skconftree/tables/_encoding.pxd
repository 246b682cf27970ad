# Values as ranks: codes for a column of few distinct values. NaN is the largest value,
# and -0.0 equals 0.0.

from skconftree.utils._typedefs cimport float32_t, intp_t, uint8_t

cdef enum:
    MAX_LEVELS = 256


# Rank codes, and the values they stand for in ascending order; returns how many
# there are, or 0 if more than MAX_LEVELS.
cdef intp_t encode(
    const float32_t* column, intp_t n, uint8_t* codes, float32_t* levels
) noexcept nogil
