# Moments: per class and feature the mean, the sum of squared deviations and the
# range of the values, updated one row at a time (Welford).
#
# A class has no block until its first row; one more block holds all classes
# together. Features lie side by side, so that an update runs over four contiguous
# arrays. Rows without a value have no part in them: from the first one on a block
# knows the weight behind each feature.

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


cdef inline float64_t weight_known(
    const Moments* moments, intp_t c, intp_t feature
) noexcept nogil:
    # Of the rows of a class that have a value.
    if moments.known == NULL or moments.known[c] == NULL:
        return moments.n[c]
    return moments.known[c][feature]


cdef bint allocate_moments(Moments* moments, intp_t n_classes) noexcept nogil
cdef void release_moments(Moments* moments, intp_t n_classes) noexcept nogil
cdef float64_t* open_block(
    Moments* moments, intp_t n_features, intp_t c
) noexcept nogil
cdef float64_t* open_known(
    Moments* moments, intp_t n_features, intp_t n_classes, intp_t c
) noexcept nogil
cdef bint open_for_row(
    Moments* moments, const float32_t* x, intp_t n_features, intp_t n_classes, intp_t c,
    bint missing,
) noexcept nogil
cdef bint add_to_moments(
    Moments* moments, const float32_t* x, intp_t n_features, intp_t n_classes, intp_t c,
    float64_t weight, bint missing,
) noexcept nogil
cdef intp_t moments_bytes(
    const Moments* moments, intp_t n_features, intp_t n_classes
) noexcept nogil
cdef bint takes_two_values(
    const float64_t* block, float64_t n, intp_t n_features, intp_t feature
) noexcept nogil
cdef float64_t normal_share(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    float64_t threshold,
) noexcept nogil
cdef float64_t part_of_moments(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    float64_t threshold, intp_t side, bint takes_missing,
) noexcept nogil
cdef bint half_of_moments(
    const Moments* parent, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t threshold, intp_t side, bint takes_missing, const float64_t* scale,
    Moments* child,
) noexcept nogil
cdef bint range_of_moments(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t* low, float64_t* high,
) noexcept nogil
