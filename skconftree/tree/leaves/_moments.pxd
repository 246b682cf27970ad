# Moments: mean, sum of squared deviations and range of the values of each class and
# feature, updated one row at a time (Welford's algorithm).
#
# A block is the statistics of one class; there is none before its first row. One more block is
# for all classes together. A block has four contiguous arrays over the features, so updates are
# vectorized. Missing values are skipped: after the first one, a block also has the weight of
# the rows that have a value of each feature (`known`).
#
# The values of a class are assumed to be normally distributed, truncated to their range.
# A cut (threshold) has two sides: 0 is the left one, 1 the right one. `takes_missing`:
# the rows without a value go to this side.

from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t


cdef struct Moments:
    float64_t** blocks      # [n_classes + 1] of [4, n_features]; NULL: no moments
    float64_t* n            # [n_classes + 1] weight of each block
    float64_t** known       # [n_classes + 1] of [n_features] weight with a value, or
                            # NULL: all of n. The array itself is NULL until needed.


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
    # Weight of the rows of a class that have a value.
    if moments.known == NULL or moments.known[c] == NULL:
        return moments.n[c]
    return moments.known[c][feature]


# An argument `blocks` is a list of arrays that are freed together, which owns the memory.
cdef int allocate_moments(Blocks* blocks, Moments* moments, intp_t n_classes) except -1 nogil
cdef void release_moments(Blocks* blocks, Moments* moments, intp_t n_classes) noexcept nogil
# Allocate the blocks that a row x of class c needs; if `missing`, values may be NaN.
cdef int ensure_blocks(
    Blocks* blocks, Moments* moments, const float32_t* x, intp_t n_features,
    intp_t n_classes, intp_t c, bint missing,
) except -1 nogil
# Add a row of class c, after ensure_blocks().
cdef void add_to_moments(
    Moments* moments, const float32_t* x, intp_t n_features, intp_t n_classes, intp_t c,
    float64_t weight,
) noexcept nogil
cdef inline bint takes_two_values(
    const float64_t* block, float64_t n, intp_t n_features, intp_t feature
) noexcept nogil:
    # Whether all values are the lowest or the highest: among distributions with this mean
    # and range, only that one has this variance.
    cdef float64_t mean = block[feature]
    cdef float64_t largest = mean - block[LOW * n_features + feature]
    largest *= n * (block[HIGH * n_features + feature] - mean)
    return block[SQUARES * n_features + feature] >= (1.0 - EQUAL) * largest
# The fraction (share) of the values of class c that are at most each of n thresholds.
cdef void normal_shares(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    const float32_t* thresholds, intp_t n, float64_t* shares,
) noexcept nogil
# The same, times a weight, with error below 1e-5, for a class without missing values.
# `thresholds` has LANES elements, for vectorized code; only the first n are used.
cdef void rough_shares(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    const float64_t* thresholds, intp_t n, float64_t weight, float32_t* shares,
) noexcept nogil
# Whether all thresholds within the range split all classes in the same way.
cdef bint has_single_cut(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature
) noexcept nogil
# The share of the rows of class c on one side of a cut.
cdef float64_t class_share(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    float64_t threshold, intp_t side, bint takes_missing,
) noexcept nogil
# Moments that a child inherits: the share scale[c] of the rows of each class. `feature` is that
# of the split, -1 if it is nominal.
cdef int child_moments(
    Blocks* blocks, const Moments* parent, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t threshold, intp_t side, bint takes_missing, const float64_t* scale, Moments* child,
) except -1 nogil
# Set the range of a feature over all classes. Returns False if it is constant or unknown.
cdef bint range_of_moments(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t* low, float64_t* high,
) noexcept nogil
# Convert to bytes for pickles, and back. Classes with `counts` above 0 must have moments.
cdef write_moments(StateWriter writer, const Moments* moments, intp_t n_features, intp_t n_classes)
cdef read_moments(
    StateReader reader, Blocks* blocks, Moments* moments, intp_t n_features,
    intp_t n_classes, const float64_t* counts,
)
