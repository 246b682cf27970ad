"""Moments of each class, and the halves of a normal distribution."""

from libc.math cimport INFINITY, erf, exp, sqrt
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

cdef float64_t SQRT_2 = 1.4142135623730951
cdef float64_t SQRT_2PI = 2.5066282746310002
cdef float64_t EQUAL = 1e-9     # relative rounding of a sum of squares


cdef bint allocate_moments(Moments* moments, intp_t n_classes) noexcept nogil:
    moments.blocks = <float64_t**> calloc(
        n_classes + 1, sizeof(float64_t*) + sizeof(float64_t)
    )
    if moments.blocks == NULL:
        return False
    moments.n = <float64_t*> (moments.blocks + n_classes + 1)
    return True


cdef void release_moments(Moments* moments, intp_t n_classes) noexcept nogil:
    cdef intp_t c
    if moments.blocks != NULL:
        for c in range(n_classes + 1):
            free(moments.blocks[c])
        free(moments.blocks)
        moments.blocks = NULL


cdef intp_t moments_bytes(
    const Moments* moments, intp_t n_features, intp_t n_classes
) noexcept nogil:
    cdef intp_t size = 0
    cdef intp_t c
    if moments.blocks != NULL:
        size = (n_classes + 1) * (sizeof(float64_t*) + sizeof(float64_t))
        for c in range(n_classes + 1):
            if moments.blocks[c] != NULL:
                size += 4 * n_features * sizeof(float64_t)
    return size


cdef float64_t* open_block(
    Moments* moments, intp_t n_features, intp_t c
) noexcept nogil:
    # The block of a class that may have none yet; NULL if memory cannot be had.
    cdef float64_t* block = moments.blocks[c]
    cdef intp_t f
    if block == NULL:
        block = <float64_t*> malloc(4 * n_features * sizeof(float64_t))
        if block == NULL:
            return NULL
        for f in range(n_features):
            block[MEAN * n_features + f] = 0.0
            block[SQUARES * n_features + f] = 0.0
            block[LOW * n_features + f] = INFINITY
            block[HIGH * n_features + f] = -INFINITY
        moments.blocks[c] = block
    return block


cdef bint add_to_moments(
    Moments* moments, const float32_t* x, intp_t n_features, intp_t n_classes, intp_t c,
    float64_t weight,
) noexcept nogil:
    cdef float64_t* block = open_block(moments, n_features, c)
    cdef float64_t* together = open_block(moments, n_features, n_classes)
    if block == NULL or together == NULL:
        return False
    moments.n[c] += weight
    moments.n[n_classes] += weight
    _add_to_block(block, x, n_features, weight, moments.n[c])
    _add_to_block(together, x, n_features, weight, moments.n[n_classes])
    return True


cdef void _add_to_block(
    float64_t* mean, const float32_t* x, intp_t n_features, float64_t weight,
    float64_t n,
) noexcept nogil:
    cdef float64_t* squares = mean + SQUARES * n_features
    cdef float64_t* low = mean + LOW * n_features
    cdef float64_t* high = mean + HIGH * n_features
    cdef float64_t rate = weight / n
    cdef float64_t rest = weight * (1.0 - rate)
    cdef float64_t value, gap
    cdef intp_t f
    for f in range(n_features):
        value = x[f]
        gap = value - mean[f]
        gap = gap if gap == gap else 0.0    # missing: as if it were the mean
        mean[f] += rate * gap
        squares[f] += rest * (gap * gap)
        low[f] = value if value < low[f] else low[f]
        high[f] = value if value > high[f] else high[f]


cdef bint takes_two_values(
    const float64_t* block, float64_t n, intp_t n_features, intp_t feature
) noexcept nogil:
    # Whether all values are the lowest or the highest: no other variance within this
    # range and with this mean is as large.
    cdef float64_t mean = block[feature]
    cdef float64_t largest = mean - block[LOW * n_features + feature]
    largest *= n * (block[HIGH * n_features + feature] - mean)
    return block[SQUARES * n_features + feature] >= (1.0 - EQUAL) * largest


cdef float64_t normal_share(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    float64_t threshold,
) noexcept nogil:
    # Share of class c with a value of at most the threshold: exact for two values,
    # else a normal distribution within the range seen.
    cdef const float64_t* block = moments.blocks[c]
    cdef float64_t mean = block[feature]
    cdef float64_t low = block[LOW * n_features + feature]
    cdef float64_t high = block[HIGH * n_features + feature]
    cdef float64_t deviation
    if threshold < low:
        return 0.0
    if threshold >= high:
        return 1.0
    if takes_two_values(block, moments.n[c], n_features, feature):
        return (high - mean) / (high - low)
    deviation = sqrt(block[SQUARES * n_features + feature] / moments.n[c])
    if not deviation > 0.0:
        return 1.0 if threshold >= mean else 0.0
    return 0.5 + 0.5 * erf((threshold - mean) / (SQRT_2 * deviation))


cdef bint range_of_moments(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t* low, float64_t* high,
) noexcept nogil:
    # Range of a feature over all classes; False if it is constant or unknown.
    cdef const float64_t* together = moments.blocks[n_classes]
    if together == NULL:
        return False
    low[0] = together[LOW * n_features + feature]
    high[0] = together[HIGH * n_features + feature]
    return low[0] < high[0]


cdef bint half_of_moments(
    const Moments* parent, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t threshold, intp_t side, const float64_t* scale, Moments* child,
) noexcept nogil:
    # What a child takes over: of class c the share scale[c], spread as in the
    # parent; the tested feature, if it is none of -1, as a normal distribution cut at
    # the threshold.
    cdef intp_t d = n_features
    cdef const float64_t* source
    cdef float64_t* block
    cdef float64_t variance
    cdef intp_t c, f
    if not allocate_moments(child, n_classes):
        return False
    for c in range(n_classes):
        source = parent.blocks[c]
        if source == NULL or not scale[c] > 0.0:
            continue
        block = open_block(child, d, c)
        if block == NULL:
            return False
        memcpy(block, source, 4 * d * sizeof(float64_t))
        child.n[c] = parent.n[c] * scale[c]
        for f in range(d):
            block[SQUARES * d + f] *= scale[c]
        if feature < 0:
            continue
        variance = source[SQUARES * d + feature] / parent.n[c]
        _truncate(
            &block[MEAN * d + feature], &variance, &block[LOW * d + feature],
            &block[HIGH * d + feature], threshold, side,
        )
        block[SQUARES * d + feature] = variance * child.n[c]
    return _put_together(child, d, n_classes)


cdef bint _put_together(
    Moments* moments, intp_t d, intp_t n_classes
) noexcept nogil:
    # The block of all classes from theirs.
    cdef float64_t* together = open_block(moments, d, n_classes)
    cdef const float64_t* block
    cdef float64_t n, total, gap
    cdef intp_t c, f
    if together == NULL:
        return False
    total = 0.0
    for c in range(n_classes):
        block = moments.blocks[c]
        if block == NULL:
            continue
        n = moments.n[c]
        total += n
        for f in range(d):
            gap = block[MEAN * d + f] - together[MEAN * d + f]
            together[MEAN * d + f] += gap * (n / total)
            together[SQUARES * d + f] += (
                block[SQUARES * d + f] + gap * gap * (n * (total - n) / total)
            )
            together[LOW * d + f] = min(together[LOW * d + f], block[LOW * d + f])
            together[HIGH * d + f] = max(together[HIGH * d + f], block[HIGH * d + f])
    moments.n[n_classes] = total
    return True


cdef void _truncate(
    float64_t* mean, float64_t* variance, float64_t* low, float64_t* high,
    float64_t threshold, intp_t side,
) noexcept nogil:
    # Mean and variance of the part of a normal distribution on one side of a cut.
    cdef float64_t deviation = sqrt(variance[0])
    cdef float64_t z, mass, ratio
    if low[0] > high[0]:
        return      # no row of the class had a value
    if side == 0:
        high[0] = min(high[0], threshold)
        low[0] = min(low[0], high[0])
    else:
        low[0] = max(low[0], threshold)
        high[0] = max(low[0], high[0])
    if deviation > 0.0:
        z = (threshold - mean[0]) / deviation
        mass = 0.5 + 0.5 * erf(z / SQRT_2)
        if side == 1:
            mass = 1.0 - mass
        if mass > 1e-6:
            ratio = exp(-0.5 * z * z) / (SQRT_2PI * mass)
            if side == 0:
                ratio = -ratio
            mean[0] += deviation * ratio
            variance[0] = max(variance[0] * (1.0 + z * ratio - ratio * ratio), 0.0)
    # a normal tail may lie outside the range that was seen
    if mean[0] < low[0] or mean[0] > high[0]:
        mean[0] = min(max(mean[0], low[0]), high[0])
