# Moments: per class and feature the mean, the sum of squared deviations and the
# range of the values, updated one row at a time (Welford).
#
# A class has no block until its first row; one more block holds all classes
# together. Features lie side by side, so that an update runs over four contiguous
# arrays. Rows without a value have no part in them: from the first one on a block
# knows the weight behind each feature.

from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t


cdef struct Moments:
    float64_t** blocks      # [n_classes + 1] of [4, n_features]; NULL = none kept
    float64_t* n            # [n_classes + 1] weight behind each block
    float64_t** known       # [n_classes + 1] of [n_features] weight with a value, or
                            # NULL: all of n. The array is NULL until one is needed.


cdef enum Statistic:        # rows of a block
    MEAN = 0
    SQUARES = 1
    LOW = 2
    HIGH = 3


cdef extern from *:
    """
    #define EQUAL 1e-9
    """
    const double EQUAL          # relative rounding of a sum of squares


cdef inline float64_t weight_known(
    const Moments* moments, intp_t c, intp_t feature
) noexcept nogil:
    # Of the rows of a class that have a value.
    if moments.known == NULL or moments.known[c] == NULL:
        return moments.n[c]
    return moments.known[c][feature]


# Blocks are taken from `blocks`.
cdef int allocate_moments(
    Blocks* blocks, Moments* moments, intp_t n_classes
) except -1 nogil
cdef void release_moments(
    Blocks* blocks, Moments* moments, intp_t n_classes
) noexcept nogil
cdef int open_for_row(
    Blocks* blocks, Moments* moments, const float32_t* x, intp_t n_features,
    intp_t n_classes, intp_t c, bint missing,
) except -1 nogil
cdef void add_to_moments(
    Moments* moments, const float32_t* x, intp_t n_features, intp_t n_classes, intp_t c,
    float64_t weight,
) noexcept nogil
cdef inline bint takes_two_values(
    const float64_t* block, float64_t n, intp_t n_features, intp_t feature
) noexcept nogil:
    # Whether all values are the lowest or the highest: no other variance within this
    # range and with this mean is as large.
    cdef float64_t mean = block[feature]
    cdef float64_t largest = mean - block[LOW * n_features + feature]
    largest *= n * (block[HIGH * n_features + feature] - mean)
    return block[SQUARES * n_features + feature] >= (1.0 - EQUAL) * largest
cdef void normal_shares(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    const float32_t* thresholds, intp_t n, float64_t* shares,
) noexcept nogil
# The same, times a weight, within 1e-5 of it, if no row of the class misses the value.
# There are LANES thresholds, of which the first n count.
cdef void rough_shares(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    const float64_t* thresholds, intp_t n, float64_t weight, float32_t* shares,
) noexcept nogil
# Whether all thresholds between the extreme values part all classes alike.
cdef bint has_one_cut(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature
) noexcept nogil
cdef float64_t part_of_moments(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    float64_t threshold, intp_t side, bint takes_missing,
) noexcept nogil
cdef int half_of_moments(
    Blocks* blocks, const Moments* parent, intp_t n_features, intp_t n_classes,
    intp_t feature, float64_t threshold, intp_t side, bint takes_missing,
    const float64_t* scale, Moments* child,
) except -1 nogil
cdef bint range_of_moments(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t* low, float64_t* high,
) noexcept nogil
cdef write_moments(
    StateWriter writer, const Moments* moments, intp_t n_features, intp_t n_classes
)
cdef read_moments(
    StateReader reader, Blocks* blocks, Moments* moments, intp_t n_features,
    intp_t n_classes, const float64_t* counts,
)
