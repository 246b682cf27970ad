"""Moments of each class, and truncation of normal distributions.

`blocks` (of type `Blocks`) owns the memory. A block of `Moments` has the statistics of one class
(index n_classes: of all), each by feature: MEAN, SQUARES (sum of squared deviations), LOW and HIGH
(range). `n` is the weight of its rows; if values are missing, `known` is the weight of the rows
that have a value of each feature. The sides of a cut (threshold) are 0 (left: values up to the
threshold) and 1 (right). A share is a fraction of the rows. A state is the bytes in a pickle.
LANES numbers are processed together, by vector instructions. See _moments.pxd.
"""

from libc.math cimport INFINITY, erf, exp, sqrt
from libc.string cimport memcpy

from skconftree.tree.leaves._state cimport require
from skconftree.utils._lanes cimport LANES, rough_normal_below
from skconftree.utils._memory cimport release, take_array, take_zeros
from skconftree.utils._typedefs cimport uint8_t

cdef float64_t SQRT_2 = 1.4142135623730951
cdef float64_t SQRT_2PI = 2.5066282746310002
# In units of sqrt(2) standard deviations. The normal distribution has negligible mass beyond it.
cdef float64_t FAR = 6.0


cdef int allocate_moments(Blocks* blocks, Moments* moments, intp_t n_classes) except -1 nogil:
    moments.blocks = <float64_t**> take_zeros(
        blocks, n_classes + 1, sizeof(float64_t*) + sizeof(float64_t)
    )
    moments.n = <float64_t*> (moments.blocks + n_classes + 1)
    moments.known = NULL
    return 0


cdef void release_moments(Blocks* blocks, Moments* moments, intp_t n_classes) noexcept nogil:
    cdef intp_t c
    if moments.blocks == NULL:
        return
    for c in range(n_classes + 1):
        release(blocks, moments.blocks[c])
        if moments.known != NULL:
            release(blocks, moments.known[c])
    release(blocks, moments.known)
    release(blocks, moments.blocks)
    moments.known = NULL
    moments.blocks = NULL


cdef float64_t* ensure_block(
    Blocks* blocks, Moments* moments, intp_t n_features, intp_t c
) except NULL nogil:
    # The block of a class, allocated if necessary.
    cdef float64_t* block = moments.blocks[c]
    cdef intp_t f
    if block == NULL:
        block = <float64_t*> take_array(blocks, 4 * n_features, sizeof(float64_t))
        for f in range(n_features):
            block[MEAN * n_features + f] = 0.0
            block[SQUARES * n_features + f] = 0.0
            block[LOW * n_features + f] = INFINITY
            block[HIGH * n_features + f] = -INFINITY
        moments.blocks[c] = block
    return block


cdef float64_t* _ensure_known(
    Blocks* blocks, Moments* moments, intp_t n_features, intp_t n_classes, intp_t c
) except NULL nogil:
    # `known` of a class, initialized with the weight of its rows.
    cdef intp_t f
    if moments.known == NULL:
        moments.known = <float64_t**> take_zeros(blocks, n_classes + 1, sizeof(float64_t*))
    if moments.known[c] == NULL:
        moments.known[c] = <float64_t*> take_array(blocks, n_features, sizeof(float64_t))
        for f in range(n_features):
            moments.known[c][f] = moments.n[c]
    return moments.known[c]


cdef int ensure_blocks(
    Blocks* blocks, Moments* moments, const float32_t* x, intp_t n_features,
    intp_t n_classes, intp_t c, bint missing,
) except -1 nogil:
    # Allocate what a row of class c needs; if `missing`, it may have missing values.
    cdef intp_t f
    if moments.blocks[c] == NULL:   # a class with a block implies the block of all
        ensure_block(blocks, moments, n_features, n_classes)
        ensure_block(blocks, moments, n_features, c)
    if missing:
        for f in range(n_features):
            if x[f] != x[f]:
                _ensure_known(blocks, moments, n_features, n_classes, c)
                _ensure_known(blocks, moments, n_features, n_classes, n_classes)
                break
    return 0


cdef void add_to_moments(
    Moments* moments, const float32_t* x, intp_t n_features, intp_t n_classes, intp_t c,
    float64_t weight,
) noexcept nogil:
    # Call ensure_blocks() first.
    _add_to_block(moments, x, n_features, c, weight)
    _add_to_block(moments, x, n_features, n_classes, weight)


cdef void _add_to_block(
    Moments* moments, const float32_t* x, intp_t n_features, intp_t c, float64_t weight,
) noexcept nogil:
    cdef float64_t* mean = moments.blocks[c]
    cdef float64_t* squares = mean + SQUARES * n_features
    cdef float64_t* low = mean + LOW * n_features
    cdef float64_t* high = mean + HIGH * n_features
    cdef float64_t* known = NULL if moments.known == NULL else moments.known[c]
    cdef float64_t rate, rest, value
    cdef intp_t f
    moments.n[c] += weight
    rate = weight / moments.n[c]
    rest = weight * (1.0 - rate)
    if known == NULL:       # without branches, so that the loop is vectorized
        for f in range(n_features):
            _add_value(x[f], rate, rest, mean + f, squares + f, low + f, high + f)
        return
    for f in range(n_features):
        value = x[f]
        if value == value:
            known[f] += weight
            rate = weight / known[f]
            rest = weight * (1.0 - rate)
            _add_value(value, rate, rest, mean + f, squares + f, low + f, high + f)


cdef inline void _add_value(
    float64_t value, float64_t rate, float64_t rest, float64_t* mean,
    float64_t* squares, float64_t* low, float64_t* high,
) noexcept nogil:
    cdef float64_t gap = value - mean[0]
    mean[0] += rate * gap
    squares[0] += rest * (gap * gap)
    low[0] = value if value < low[0] else low[0]
    high[0] = value if value > high[0] else high[0]


cdef struct Spread:         # distribution of the values of a class
    float64_t mean
    float64_t low
    float64_t high
    float64_t deviation
    bint takes_two          # only the values low and high occur


cdef void _describe(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature, Spread* spread
) noexcept nogil:
    cdef const float64_t* block = moments.blocks[c]
    cdef float64_t n = weight_known(moments, c, feature)
    spread.mean = block[feature]
    spread.low = block[LOW * n_features + feature]
    spread.high = block[HIGH * n_features + feature]
    spread.takes_two = takes_two_values(block, n, n_features, feature)
    spread.deviation = 0.0
    if n > 0.0 and not spread.takes_two:
        spread.deviation = sqrt(block[SQUARES * n_features + feature] / n)


cdef inline float64_t _share_below(const Spread* spread, float64_t threshold) noexcept nogil:
    # Exact for two values, else of a normal distribution truncated to the range seen.
    if threshold < spread.low:
        return 0.0
    if threshold >= spread.high:
        return 1.0
    if spread.takes_two:
        return (spread.high - spread.mean) / (spread.high - spread.low)
    if not spread.deviation > 0.0:
        return 1.0 if threshold >= spread.mean else 0.0
    # Rounded to a multiple of 2**-40. Otherwise the last bit of the library's erf would
    # decide whether a far tail is empty, and so which cuts there are.
    return 4096.0 + (
        0.5 + 0.5 * erf((threshold - spread.mean) / (SQRT_2 * spread.deviation))
    ) - 4096.0


cdef void normal_shares(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    const float32_t* thresholds, intp_t n, float64_t* shares,
) noexcept nogil:
    # Shares of the values of class c that are at most each threshold.
    cdef Spread spread
    cdef intp_t i
    _describe(moments, n_features, c, feature, &spread)
    for i in range(n):
        shares[i] = _share_below(&spread, thresholds[i])


cdef void rough_shares(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    const float64_t* thresholds, intp_t n, float64_t weight, float32_t* shares,
) noexcept nogil:
    # The same times a weight, less accurate. `thresholds` has LANES elements; n of them are used.
    cdef const float64_t* block = moments.blocks[c]
    cdef float64_t mean = block[feature]
    cdef float64_t low = block[LOW * n_features + feature]
    cdef float64_t high = block[HIGH * n_features + feature]
    cdef float64_t squares = block[SQUARES * n_features + feature]
    cdef float64_t precision
    cdef float32_t scale = <float32_t> weight
    cdef float64_t z[LANES]
    cdef float32_t rough[LANES]
    cdef Spread spread
    cdef intp_t b
    if not squares > 0.0 or takes_two_values(block, moments.n[c], n_features, feature):
        _describe(moments, n_features, c, feature, &spread)
        for b in range(n):
            shares[b] = <float32_t> (weight * _share_below(&spread, thresholds[b]))
        return
    # rough_normal_below(z) approximates the standard normal distribution function at z sqrt(2).
    # All LANES thresholds are computed, so that the loops are vectorized.
    precision = sqrt(0.5 * moments.n[c] / squares)
    for b in range(LANES):
        z[b] = (thresholds[b] - mean) * precision
        z[b] = z[b] if z[b] < FAR else FAR
        z[b] = z[b] if z[b] > -FAR else -FAR
        z[b] = -FAR if thresholds[b] < low else z[b]
        z[b] = FAR if thresholds[b] >= high else z[b]
    for b in range(LANES):
        rough[b] = <float32_t> z[b]
    for b in range(LANES):
        shares[b] = scale * rough_normal_below(rough[b])


cdef bint has_single_cut(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature
) noexcept nogil:
    # Whether each class takes only the two extreme values of the feature, so that all cuts between
    # them split the rows in the same way. Inherited moments may have a variance that two values
    # cannot have.
    cdef const float64_t* block = moments.blocks[n_classes]
    cdef float64_t low = block[LOW * n_features + feature]
    cdef float64_t high = block[HIGH * n_features + feature]
    cdef float64_t value
    cdef intp_t c
    if not takes_two_values(block, moments.n[n_classes], n_features, feature):
        return False
    for c in range(n_classes):
        block = moments.blocks[c]
        if block == NULL:
            continue
        if not takes_two_values(block, moments.n[c], n_features, feature):
            return False
        value = block[LOW * n_features + feature]
        if value != low and value != high:
            return False
        value = block[HIGH * n_features + feature]
        if value != low and value != high:
            return False
    return True


cdef float64_t class_share(
    const Moments* moments, intp_t n_features, intp_t c, intp_t feature,
    float64_t threshold, intp_t side, bint takes_missing,
) noexcept nogil:
    # Part of class c on one side of a cut, including rows with a missing value.
    cdef float64_t known = weight_known(moments, c, feature)
    cdef float64_t share
    cdef Spread spread
    _describe(moments, n_features, c, feature, &spread)
    share = _share_below(&spread, threshold)
    if side == 1:
        share = 1.0 - share
    if known == moments.n[c]:
        return share
    share *= known / moments.n[c]
    if takes_missing:
        share += 1.0 - known / moments.n[c]
    return share


cdef bint range_of_moments(
    const Moments* moments, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t* low, float64_t* high,
) noexcept nogil:
    # Range of a feature over all classes; False if it is constant or unknown.
    cdef const float64_t* merged = moments.blocks[n_classes]
    if merged == NULL:
        return False
    low[0] = merged[LOW * n_features + feature]
    high[0] = merged[HIGH * n_features + feature]
    return low[0] < high[0]


cdef int child_moments(
    Blocks* blocks, const Moments* parent, intp_t n_features, intp_t n_classes, intp_t feature,
    float64_t threshold, intp_t side, bint takes_missing, const float64_t* scale, Moments* child,
) except -1 nogil:
    # Moments that a child inherits: the share scale[c] of class c, with the parent's
    # distribution. The split feature (-1: none) is a normal distribution truncated at the
    # threshold. Rows without a value of it all go to one side.
    cdef intp_t d = n_features
    cdef const float64_t* source
    cdef float64_t* block
    cdef float64_t* known
    cdef float64_t variance, share
    cdef intp_t c, f
    allocate_moments(blocks, child, n_classes)
    for c in range(n_classes):
        source = parent.blocks[c]
        if source == NULL or not scale[c] > 0.0:
            continue
        block = ensure_block(blocks, child, d, c)
        memcpy(block, source, 4 * d * sizeof(float64_t))
        child.n[c] = parent.n[c] * scale[c]
        for f in range(d):
            block[SQUARES * d + f] *= scale[c]
        known = NULL
        if parent.known != NULL and parent.known[c] != NULL:
            known = _ensure_known(blocks, child, d, n_classes, c)
            for f in range(d):
                known[f] = parent.known[c][f] * scale[c]
        if feature < 0:
            continue
        if known != NULL:
            # the rows of the class on this side that have a value
            share = class_share(parent, d, c, feature, threshold, side, takes_missing)
            known[feature] = 0.0
            if share > 0.0:
                known[feature] = child.n[c] * (
                    class_share(parent, d, c, feature, threshold, side, False) / share
                )
            if not known[feature] > 0.0:
                block[MEAN * d + feature] = 0.0
                block[SQUARES * d + feature] = 0.0
                block[LOW * d + feature] = INFINITY
                block[HIGH * d + feature] = -INFINITY
                continue
        variance = source[SQUARES * d + feature] / weight_known(parent, c, feature)
        if threshold < INFINITY:        # infinite if the split is on missing values
            _truncate(
                &block[MEAN * d + feature], &variance, &block[LOW * d + feature],
                &block[HIGH * d + feature], threshold, side,
            )
        block[SQUARES * d + feature] = variance * weight_known(child, c, feature)
    _merge_classes(blocks, child, d, n_classes)
    return 0


cdef int _merge_classes(
    Blocks* blocks, Moments* moments, intp_t d, intp_t n_classes
) except -1 nogil:
    # Combine the blocks of the classes into the block of all.
    cdef float64_t* merged = ensure_block(blocks, moments, d, n_classes)
    cdef float64_t* known = NULL
    cdef const float64_t* block
    cdef float64_t n, total, gap
    cdef intp_t c, f
    if moments.known != NULL:
        known = _ensure_known(blocks, moments, d, n_classes, n_classes)
    total = 0.0
    for c in range(n_classes):
        block = moments.blocks[c]
        if block == NULL:
            continue
        moments.n[n_classes] += moments.n[c]
        n = moments.n[c]
        total = moments.n[n_classes]
        for f in range(d):
            if known != NULL:
                n = weight_known(moments, c, f)
                known[f] += n
                total = known[f]
                if not n > 0.0:
                    continue
            gap = block[MEAN * d + f] - merged[MEAN * d + f]
            merged[MEAN * d + f] += gap * (n / total)
            merged[SQUARES * d + f] += (
                block[SQUARES * d + f] + gap * gap * (n * (total - n) / total)
            )
            merged[LOW * d + f] = min(merged[LOW * d + f], block[LOW * d + f])
            merged[HIGH * d + f] = max(merged[HIGH * d + f], block[HIGH * d + f])
    return 0


cdef void _truncate(
    float64_t* mean, float64_t* variance, float64_t* low, float64_t* high,
    float64_t threshold, intp_t side,
) noexcept nogil:
    # Mean and variance of a normal distribution truncated on one side.
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
        if mass > 1e-6:     # the ratio is inaccurate in a smaller tail
            ratio = exp(-0.5 * z * z) / (SQRT_2PI * mass)
            if side == 0:
                ratio = -ratio
            mean[0] += deviation * ratio
            variance[0] = max(variance[0] * (1.0 + z * ratio - ratio * ratio), 0.0)
    # the mean of a normal tail may lie outside the range that was seen
    if mean[0] < low[0] or mean[0] > high[0]:
        mean[0] = min(max(mean[0], low[0]), high[0])


cdef write_moments(
    StateWriter writer, const Moments* moments, intp_t n_features, intp_t n_classes
):
    # Before each block: 0 if it is absent, 2 if some of its rows have missing values.
    cdef const float64_t* known
    cdef uint8_t n_parts
    cdef intp_t c
    n_parts = moments.blocks != NULL    # first, 1 if there are moments at all
    writer.put(&n_parts, 1)
    if moments.blocks == NULL:
        return
    writer.put(moments.n, (n_classes + 1) * sizeof(float64_t))
    for c in range(n_classes + 1):
        known = NULL if moments.known == NULL else moments.known[c]
        n_parts = (moments.blocks[c] != NULL) + (known != NULL)
        writer.put(&n_parts, 1)
        if n_parts > 0:
            writer.put(moments.blocks[c], 4 * n_features * sizeof(float64_t))
        if n_parts > 1:
            writer.put(known, n_features * sizeof(float64_t))


cdef read_moments(
    StateReader reader, Blocks* blocks, Moments* moments, intp_t n_features,
    intp_t n_classes, const float64_t* counts,
):
    # If there are moments, each class with rows (`counts`) has a block, and there is one for all
    # classes together. require() raises an error if the state is corrupt.
    cdef uint8_t n_parts
    cdef intp_t c
    reader.take(&n_parts, 1)
    if not n_parts:
        return
    allocate_moments(blocks, moments, n_classes)
    reader.take(moments.n, (n_classes + 1) * sizeof(float64_t))
    for c in range(n_classes + 1):
        reader.take(&n_parts, 1)
        if n_parts:
            ensure_block(blocks, moments, n_features, c)
            reader.take(moments.blocks[c], 4 * n_features * sizeof(float64_t))
        if n_parts > 1:
            reader.take(
                _ensure_known(blocks, moments, n_features, n_classes, c),
                n_features * sizeof(float64_t),
            )
    for c in range(n_classes):
        require(moments.blocks[c] != NULL or not counts[c] > 0.0)
        require(moments.blocks[c] == NULL or moments.blocks[n_classes] != NULL)
