# Metropolis steps of hyperplanes (planes): Markov chain Monte Carlo moves that leave the
# posterior distribution unchanged.
#
# A sweep proposes a change of the length of a plane, and then changes of its coordinates,
# one after the other. Each proposal is accepted or rejected. The margin of a row is the
# inner product of plane and row. Margins are updated, not recomputed: a step along a
# coordinate changes the margin of each row by the step times the row's value of that
# feature. A sweep therefore takes only a few times as long as computing the margins once,
# and each coordinate can have its own step size. A group of planes that are adjacent in
# memory is moved together. Single precision is accurate enough to accept or reject steps,
# and twice as fast.
#
# L(y) is the likelihood of the label y of a row, 1 or -1, given a plane. Its logarithm is
# a linear function of the margin, with the slope `slope`, between margins of -1 and 1, and
# constant beyond. `d` is the number of features, `size` the number of planes, at most
# GROUP. `exp_moderate` is exp for arguments from -300 to 300, in vectorized loops; `mix`
# hashes a 64-bit integer, and `bounded` clips a coordinate to [-1e100, 1e100].

from libc.math cimport exp, fabsf, log, sqrt
from libc.string cimport memcpy

from skconftree.linear_model._margins cimport bounded, exp_moderate
from skconftree.utils._draws cimport mix
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint64_t

cdef enum:
    GROUP = 64          # planes that are moved together: margins at 100 rows fit in L1 cache
    KNOTS = 1024        # knots of the piecewise linear likelihood of a row without a label
    MAX_FACTORS = 32    # number of factors of at most e^6 whose product is finite


cdef struct Target:
    # Posterior of one binary problem: prior times likelihood of the most recent rows.
    # Rows with a label come first. Their values are multiplied by the sign of the label,
    # and all values by `slope`, so that the log likelihood of a label is the margin,
    # clipped to [-slope, slope], plus a constant.
    float32_t* values       # [feature, row] times `slope` and the sign of the label
    float32_t* weights      # of the rows
    intp_t stride           # distance of the values of two features in `values`
    intp_t n_labeled
    intp_t n_rows
    float32_t slope
    # ln(L(1) + L(-1)), the log likelihood of a row without a label, at absolute margins
    # from 0 to `slope`
    const float32_t* unlabeled_knots
    bint cauchy             # whether the prior is Cauchy, not normal
    float64_t precision     # 1 / scale of the prior


cdef inline void compute_margins(
    const Target* target, const float64_t* w, intp_t stride, intp_t d, intp_t size,
    float32_t* planes, float32_t* margin,
) noexcept nogil:
    # Compute the margins of all rows, [row, plane], with four features per iteration. `w`
    # has the coordinates of the planes, those of two features `stride` apart. `planes` is
    # filled with the same coordinates in single precision.
    cdef float32_t sums[GROUP]
    cdef const float32_t* own
    cdef const float32_t* value
    cdef float32_t x0, x1, x2, x3
    cdef intp_t row, i, j
    for j in range(d):
        for i in range(size):
            planes[j * GROUP + i] = <float32_t> limited(w[j * stride + i])
    for row in range(target.n_rows):
        value = target.values + row
        own = planes
        j = 0
        for i in range(size):
            sums[i] = 0.0
        while j + 4 <= d:
            x0 = value[0]
            x1 = value[target.stride]
            x2 = value[2 * target.stride]
            x3 = value[3 * target.stride]
            for i in range(size):
                sums[i] = sums[i] + (
                    (x0 * own[i] + x1 * own[GROUP + i])
                    + (x2 * own[2 * GROUP + i] + x3 * own[3 * GROUP + i])
                )
            own += 4 * GROUP
            value += 4 * target.stride
            j += 4
        while j < d:
            x0 = value[0]
            for i in range(size):
                sums[i] = sums[i] + x0 * own[i]
            own += GROUP
            value += target.stride
            j += 1
        memcpy(margin + row * GROUP, sums, size * sizeof(float32_t))


cdef inline void proposed_likelihood(
    const Target* target, float32_t* margin, const float32_t* values_before,
    const float32_t* step_before, const float32_t* values, const float32_t* step,
    intp_t size, float32_t* log_likelihood,
) noexcept nogil:
    # Log likelihood of planes after a proposed step along the feature with these `values`,
    # up to a constant. In the same loop, margins are updated by the previous step, along
    # the feature with `values_before`; it is 0 for planes that rejected it.
    cdef float32_t sums[GROUP]
    cdef float32_t steps[GROUP]
    cdef float32_t old[GROUP]
    cdef float32_t high = target.slope
    cdef float32_t low = -high
    cdef float32_t* own = margin
    cdef float32_t* next_own
    cdef float32_t x0, x1, before0, before1, weight0, weight1, here0, here1
    cdef intp_t row = 0
    cdef intp_t i
    for i in range(size):
        sums[i] = 0.0
        steps[i] = step[i]
        old[i] = step_before[i]
    while row + 2 <= target.n_labeled:      # two rows per iteration
        x0 = values[row]
        x1 = values[row + 1]
        before0 = values_before[row]
        before1 = values_before[row + 1]
        weight0 = target.weights[row]
        weight1 = target.weights[row + 1]
        next_own = own + GROUP
        for i in range(size):
            here0 = own[i] + before0 * old[i]
            here1 = next_own[i] + before1 * old[i]
            own[i] = here0
            next_own[i] = here1
            here0 = here0 + x0 * steps[i]
            here1 = here1 + x1 * steps[i]
            here0 = here0 if here0 < high else high
            here1 = here1 if here1 < high else high
            here0 = here0 if here0 > low else low
            here1 = here1 if here1 > low else low
            sums[i] = sums[i] + (weight0 * here0 + weight1 * here1)
        own = next_own + GROUP
        row += 2
    while row < target.n_rows:
        x0 = values[row]
        before0 = values_before[row]
        weight0 = target.weights[row]
        for i in range(size):
            own[i] = own[i] + before0 * old[i]
        if row < target.n_labeled:
            add_labeled(target, own, x0, steps, weight0, size, sums)
        else:
            add_unlabeled(target, own, x0, steps, weight0, size, sums)
        own += GROUP
        row += 1
    memcpy(log_likelihood, sums, size * sizeof(float32_t))


cdef inline void add_labeled(
    const Target* target, const float32_t* margin, float32_t x, const float32_t* step,
    float32_t weight, intp_t size, float32_t* sums,
) noexcept nogil:
    # Add the log likelihood of a row with a label.
    cdef float32_t high = target.slope
    cdef float32_t low = -high
    cdef float32_t here
    cdef intp_t i
    for i in range(size):
        here = margin[i] + x * step[i]
        here = here if here < high else high
        here = here if here > low else low
        sums[i] = sums[i] + weight * here


cdef inline void add_unlabeled(
    const Target* target, const float32_t* margin, float32_t x, const float32_t* step,
    float32_t weight, intp_t size, float32_t* sums,
) noexcept nogil:
    # Add the log likelihood of a row without a label.
    cdef float32_t fraction[GROUP]
    cdef int32_t knot[GROUP]
    cdef float32_t last = KNOTS - 1
    cdef float32_t to_knots = last / target.slope
    cdef float32_t here
    cdef intp_t i
    for i in range(size):
        here = to_knots * fabsf(margin[i] + x * step[i])
        here = here if here < last else last
        knot[i] = <int32_t> here
        fraction[i] = here - knot[i]
    for i in range(size):
        here = target.unlabeled_knots[knot[i]]
        sums[i] += weight * (
            here + fraction[i] * (target.unlabeled_knots[knot[i] + 1] - here)
        )


cdef inline void rescaled_likelihood(
    const Target* target, const float32_t* margin, const float32_t* factor, intp_t size,
    float32_t* log_likelihood,
) noexcept nogil:
    # Log likelihood of planes that are multiplied by a factor, up to a constant.
    cdef float32_t sums[GROUP]
    cdef float32_t rescaled[GROUP]
    cdef float32_t none[GROUP]
    cdef float32_t weight
    cdef intp_t row, i
    for i in range(size):
        sums[i] = 0.0
        none[i] = 0.0
    for row in range(target.n_rows):
        weight = target.weights[row]
        for i in range(size):
            rescaled[i] = margin[i] * factor[i]
        if row < target.n_labeled:
            add_labeled(target, rescaled, 0.0, none, weight, size, sums)
        else:
            add_unlabeled(target, rescaled, 0.0, none, weight, size, sums)
        margin += GROUP
    memcpy(log_likelihood, sums, size * sizeof(float32_t))


cdef inline void rescale(
    const Target* target, float64_t* w, intp_t stride, intp_t d, const uint64_t* keys,
    intp_t turn, intp_t size, float32_t* margin, float32_t* current,
) noexcept nogil:
    # Propose to multiply each plane by a factor e^t, and accept or reject it. The lengths
    # of planes vary widely in the posterior, more than steps along single coordinates can
    # explore. With 10 or more features, the standard deviation of log lengths is 0.1 to
    # 0.5, so that a quarter to a half of the proposals, of size 0.3, are accepted. t is
    # limited to [-3, 3], so that a ratio of prior densities is at most e^6. `keys` and
    # `turn` determine the random numbers, see `draw`; `current` has the log likelihoods.
    cdef float64_t t[GROUP]
    cdef float64_t v[GROUP]
    cdef float64_t ratio[GROUP]
    cdef float64_t log_ratio[GROUP]
    cdef float32_t factor[GROUP]
    cdef float32_t proposed[GROUP]
    cdef float64_t here, there
    cdef intp_t i, j, row
    draw(keys, turn, size, t, v)
    for i in range(size):
        t[i] = at_least(at_most(0.3 * t[i], 3.0), -3.0)
        factor[i] = <float32_t> exp(t[i])
        log_ratio[i] = d * t[i]     # of volumes; the ratio of prior densities is added
        ratio[i] = 1.0
    rescaled_likelihood(target, margin, factor, size, proposed)
    for j in range(d):
        for i in range(size):
            here = w[j * stride + i] * target.precision
            there = factor[i] * here
            if target.cauchy:
                ratio[i] *= (1.0 + here * here) / (1.0 + there * there)
            else:
                log_ratio[i] += 0.5 * (here * here - there * there)
        if j % MAX_FACTORS == MAX_FACTORS - 1 or j == d - 1:
            for i in range(size):
                log_ratio[i] += log(ratio[i])
                ratio[i] = 1.0
    for i in range(size):
        if log(v[i]) < <float64_t> proposed[i] - <float64_t> current[i] + log_ratio[i]:
            current[i] = proposed[i]
        else:
            factor[i] = 1.0
    for j in range(d):
        for i in range(size):
            w[j * stride + i] = bounded(w[j * stride + i] * factor[i])
    for row in range(target.n_rows):
        for i in range(size):
            margin[row * GROUP + i] *= factor[i]


cdef inline float64_t limited(float64_t x) noexcept nogil:
    # Limit a value, so that its square is finite in single precision.
    return at_least(at_most(x, 1e18), -1e18)


cdef inline float64_t at_most(float64_t x, float64_t upper) noexcept nogil:
    return x if x < upper else upper


cdef inline float64_t at_least(float64_t x, float64_t lower) noexcept nogil:
    return x if x > lower else lower


cdef inline void draw(
    const uint64_t* keys, intp_t turn, intp_t size, float64_t* t, float64_t* v
) noexcept nogil:
    # For each plane, from its key (a seed) and the number `turn` of the step, draw t from
    # Student's t distribution with two degrees of freedom, and v uniformly from (0, 1). Because
    # of the heavy tails there are steps of all sizes, so that some are accepted even if the
    # step size is not well chosen.
    cdef int32_t sign[GROUP]
    cdef int32_t chance[GROUP]
    cdef uint64_t bits
    cdef float64_t u
    cdef intp_t i
    for i in range(size):
        bits = mix(keys[i] + <uint64_t> turn)
        sign[i] = <int32_t> (bits >> 32)
        chance[i] = <int32_t> bits
    for i in range(size):
        u = sign[i] / 2147483648.0      # 2^31: u is uniform from [-1, 1)
        # the quantile function of the t distribution, finite even if u is -1
        t[i] = 1.4142135623730951 * u / sqrt((1.0 + 1e-9 - u) * (1.0 + 1e-9 + u))
        v[i] = (chance[i] + 2147483648.5) / 4294967296.0    # 2^31 + 0.5, and 2^32


cdef inline void propose(
    const float64_t* own, float64_t width, const float64_t* t, intp_t size,
    float64_t* moved, float32_t* step,
) noexcept nogil:
    # Compute the coordinate after a step of `width` times t, and the step in single
    # precision. Each loop applies one limit: a loop with two limits would have branches.
    cdef float64_t difference[GROUP]
    cdef intp_t i
    for i in range(size):
        moved[i] = at_most(own[i] + width * t[i], 1e100)
    for i in range(size):
        moved[i] = at_least(moved[i], -1e100)
        difference[i] = at_most(moved[i] - own[i], 1e18)
    for i in range(size):
        step[i] = <float32_t> at_least(difference[i], -1e18)


cdef inline void decide(
    const Target* target, float64_t* own, const float64_t* moved, const float64_t* v,
    intp_t size, const float32_t* current, const float32_t* proposed, float32_t* accepted,
) noexcept nogil:
    # Accept or reject steps: a step is accepted if the uniform random number `v` is below
    # the ratio of the posterior densities after and before it. `current` and `proposed`
    # are the log likelihoods. `accepted` is positive if a step is accepted; it is 1 or
    # more, minus a product, so that its sign is the same in single precision. The loops
    # have no branches, which would be unpredictable, and are vectorized.
    cdef float64_t loss[GROUP]
    cdef float64_t here, there
    cdef intp_t i
    for i in range(size):
        loss[i] = at_most(<float64_t> current[i] - <float64_t> proposed[i], 300.0)
    if not target.cauchy:
        for i in range(size):
            here = own[i] * target.precision
            there = moved[i] * target.precision
            loss[i] = at_most(loss[i] + 0.5 * (there * there - here * here), 300.0)
    for i in range(size):
        loss[i] = exp_moderate(at_least(loss[i], -300.0))
    if target.cauchy:
        for i in range(size):
            here = own[i] * target.precision
            there = moved[i] * target.precision
            loss[i] = 1.0 + here * here - v[i] * loss[i] * (1.0 + there * there)
    else:
        for i in range(size):
            loss[i] = 1.0 - v[i] * loss[i]
    for i in range(size):
        accepted[i] = <float32_t> loss[i]
    for i in range(size):
        here = own[i]
        there = moved[i]
        own[i] = there if loss[i] > 0.0 else here


cdef inline void sweep(
    const Target* target, float64_t* w, intp_t stride, intp_t d, const float64_t* sizes,
    const uint64_t* keys, intp_t first, intp_t n_coordinates, intp_t size,
    float32_t* planes, float32_t* margin,
) noexcept nogil:
    # Move up to `GROUP` adjacent planes, starting at w: once along their length, then along
    # `n_coordinates` coordinates in turn, from coordinate `first` on. `sizes` are the step
    # sizes of the coordinates, `keys` the random seeds of the planes; `planes` and `margin`
    # are buffers.
    cdef float64_t t[GROUP]
    cdef float64_t v[GROUP]
    cdef float64_t moved[GROUP]
    cdef float32_t accepted[GROUP]
    cdef float32_t step[GROUP]
    cdef float32_t step_before[GROUP]
    cdef float32_t current[GROUP]
    cdef float32_t proposed[GROUP]
    cdef const float32_t* before = target.values
    cdef const float32_t* values
    cdef float64_t* own
    cdef intp_t i, j, turn
    compute_margins(target, w, stride, d, size, planes, margin)
    for i in range(size):
        step[i] = 0.0
        step_before[i] = 0.0
    proposed_likelihood(target, margin, before, step_before, before, step, size, current)
    # the turn `n_coordinates` has random numbers that no step along a coordinate uses
    rescale(target, w, stride, d, keys, n_coordinates, size, margin, current)
    for turn in range(n_coordinates):
        j = (first + turn) % d
        own = w + j * stride
        values = target.values + j * target.stride
        draw(keys, turn, size, t, v)
        propose(own, sizes[j], t, size, moved, step)
        proposed_likelihood(
            target, margin, before, step_before, values, step, size, proposed
        )
        decide(target, own, moved, v, size, current, proposed, accepted)
        for i in range(size):
            step_before[i] = step[i] if accepted[i] > 0.0 else <float32_t> 0.0
            current[i] = proposed[i] if accepted[i] > 0.0 else current[i]
        before = values
