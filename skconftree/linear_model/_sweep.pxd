# Metropolis steps of some planes along their length and their coordinates, margins kept.
#
# A coordinate that takes a step moves the margins of all rows by the step times their
# values of that feature: so a sweep costs a few times what it costs to find margins, and
# each coordinate has a step of its own size. Neighbouring planes are moved together.
# Single precision is enough to accept a step, and twice as fast.

from libc.math cimport exp, fabsf, log, sqrt
from libc.string cimport memcpy

from skconftree.linear_model._margins cimport bounded, exp_moderate
from skconftree.utils._draws cimport mix
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint64_t

cdef enum:
    GROUP = 64          # planes whose margins at 100 rows stay in the first cache
    KNOTS = 1024        # of the likelihood of a row without a label, made of lines
    AT_ONCE = 32        # factors of at most e^6 each whose product is a number


cdef struct Target:
    # Prior times likelihood of the rows in a buffer, as one problem sees them; those
    # with a label come first. Margins are scaled: the log likelihood of a label is the
    # margin, within `slope` on both sides of 0, and a constant.
    float32_t* values       # [feature, row]: times `slope`, and the sign of the label
    float32_t* weights      # of the rows
    intp_t stride           # between features
    intp_t n_labelled
    intp_t n_rows
    float32_t slope
    const float32_t* either     # ln(L(1) + L(-1)) at each knot, up to `slope`
    bint cauchy
    float64_t precision     # 1 / scale of the prior


cdef inline void find_all_margins(
    const Target* target, const float64_t* w, intp_t stride, intp_t d, intp_t size,
    float32_t* planes, float32_t* margin,
) noexcept nogil:
    # Scaled margins [row, plane], four features a turn.
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


cdef inline void weigh_moved(
    const Target* target, float32_t* margin, const float32_t* values_before,
    const float32_t* taken, const float32_t* values, const float32_t* step,
    intp_t size, float32_t* found,
) noexcept nogil:
    # Log likelihood of planes that take a step, constants left out. The step that was
    # taken before enters the margins on the way.
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
        old[i] = taken[i]
    while row + 2 <= target.n_labelled:     # two rows a turn
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
        if row < target.n_labelled:
            weigh_label(target, own, x0, steps, weight0, size, sums)
        else:
            weigh_either(target, own, x0, steps, weight0, size, sums)
        own += GROUP
        row += 1
    memcpy(found, sums, size * sizeof(float32_t))


cdef inline void weigh_label(
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


cdef inline void weigh_either(
    const Target* target, const float32_t* margin, float32_t x, const float32_t* step,
    float32_t weight, intp_t size, float32_t* sums,
) noexcept nogil:
    # Add the log likelihood of a row without a label.
    cdef float32_t place[GROUP]
    cdef int32_t knot[GROUP]
    cdef float32_t last = KNOTS - 1
    cdef float32_t to_knots = last / target.slope
    cdef float32_t here
    cdef intp_t i
    for i in range(size):
        here = to_knots * fabsf(margin[i] + x * step[i])
        here = here if here < last else last
        knot[i] = <int32_t> here
        place[i] = here - knot[i]
    for i in range(size):
        here = target.either[knot[i]]
        sums[i] += weight * (here + place[i] * (target.either[knot[i] + 1] - here))


cdef inline void weigh_stretched(
    const Target* target, const float32_t* margin, const float32_t* factor, intp_t size,
    float32_t* found,
) noexcept nogil:
    # Log likelihood of planes times a factor, constants left out.
    cdef float32_t sums[GROUP]
    cdef float32_t stretched[GROUP]
    cdef float32_t none[GROUP]
    cdef float32_t weight
    cdef intp_t row, i
    for i in range(size):
        sums[i] = 0.0
        none[i] = 0.0
    for row in range(target.n_rows):
        weight = target.weights[row]
        for i in range(size):
            stretched[i] = margin[i] * factor[i]
        if row < target.n_labelled:
            weigh_label(target, stretched, 0.0, none, weight, size, sums)
        else:
            weigh_either(target, stretched, 0.0, none, weight, size, sums)
        margin += GROUP
    memcpy(found, sums, size * sizeof(float32_t))


cdef inline void stretch(
    const Target* target, float64_t* w, intp_t stride, intp_t d, const uint64_t* keys,
    intp_t turn, intp_t size, float32_t* margin, float32_t* now,
) noexcept nogil:
    # Make planes longer or shorter. Along its length the posterior reaches far: no step
    # of one coordinate does. Logarithms of lengths differ by .1 to .5 with 10 features
    # or more, so that of steps of the size .3 a quarter to a half are taken; none beyond
    # 3.0, which squared is the e^6 of `AT_ONCE`.
    cdef float64_t t[GROUP]
    cdef float64_t v[GROUP]
    cdef float64_t ratio[GROUP]
    cdef float64_t log_ratio[GROUP]
    cdef float32_t factor[GROUP]
    cdef float32_t found[GROUP]
    cdef float64_t here, there
    cdef intp_t i, j, row
    draw(keys, turn, size, t, v)
    for i in range(size):
        t[i] = at_least(at_most(0.3 * t[i], 3.0), -3.0)
        factor[i] = <float32_t> exp(t[i])
        log_ratio[i] = d * t[i]     # of volumes, then of the prior
        ratio[i] = 1.0
    weigh_stretched(target, margin, factor, size, found)
    for j in range(d):
        for i in range(size):
            here = w[j * stride + i] * target.precision
            there = factor[i] * here
            if target.cauchy:
                ratio[i] *= (1.0 + here * here) / (1.0 + there * there)
            else:
                log_ratio[i] += 0.5 * (here * here - there * there)
        if j % AT_ONCE == AT_ONCE - 1 or j == d - 1:
            for i in range(size):
                log_ratio[i] += log(ratio[i])
                ratio[i] = 1.0
    for i in range(size):
        if log(v[i]) < <float64_t> found[i] - <float64_t> now[i] + log_ratio[i]:
            now[i] = found[i]
        else:
            factor[i] = 1.0
    for j in range(d):
        for i in range(size):
            w[j * stride + i] = bounded(w[j * stride + i] * factor[i])
    for row in range(target.n_rows):
        for i in range(size):
            margin[row * GROUP + i] *= factor[i]


cdef inline float64_t limited(float64_t x) noexcept nogil:
    # Squares of it are numbers in single precision.
    return at_least(at_most(x, 1e18), -1e18)


cdef inline float64_t at_most(float64_t x, float64_t most) noexcept nogil:
    return x if x < most else most


cdef inline float64_t at_least(float64_t x, float64_t least) noexcept nogil:
    return x if x > least else least


cdef inline void draw(
    const uint64_t* keys, intp_t turn, intp_t size, float64_t* t, float64_t* v
) noexcept nogil:
    # A number t of Student's distribution with two degrees of freedom for each plane,
    # and one within (0, 1). Steps of all sizes, which no size that is a bit off makes
    # useless.
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
        u = sign[i] / 2147483648.0
        # not infinite where u is -1
        t[i] = 1.4142135623730951 * u / sqrt((1.0 + 1e-9 - u) * (1.0 + 1e-9 + u))
        v[i] = (chance[i] + 2147483648.5) / 4294967296.0


cdef inline void propose(
    const float64_t* own, float64_t width, const float64_t* t, intp_t size,
    float64_t* moved, float32_t* step,
) noexcept nogil:
    # Each loop keeps within one bound: with two it would have branches.
    cdef float64_t taken[GROUP]
    cdef intp_t i
    for i in range(size):
        moved[i] = at_most(own[i] + width * t[i], 1e100)
    for i in range(size):
        moved[i] = at_least(moved[i], -1e100)
        taken[i] = at_most(moved[i] - own[i], 1e18)
    for i in range(size):
        step[i] = <float32_t> at_least(taken[i], -1e18)


cdef inline void decide(
    const Target* target, float64_t* own, const float64_t* moved, const float64_t* v,
    intp_t size, const float32_t* now, const float32_t* found, float32_t* won,
) noexcept nogil:
    # Take steps; `won` is above 0 where one is taken, in either precision, as terms
    # begin at 1. No branches, since none can be foreseen: vector instructions instead.
    cdef float64_t loss[GROUP]
    cdef float64_t here, there
    cdef intp_t i
    for i in range(size):
        loss[i] = at_most(<float64_t> now[i] - <float64_t> found[i], 300.0)
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
        won[i] = <float32_t> loss[i]
    for i in range(size):
        here = own[i]
        there = moved[i]
        own[i] = there if loss[i] > 0.0 else here


cdef inline void sweep(
    const Target* target, float64_t* w, intp_t stride, intp_t d, const float64_t* sizes,
    const uint64_t* keys, intp_t first, intp_t n_coordinates, intp_t size,
    float32_t* planes, float32_t* margin,
) noexcept nogil:
    # Move neighbouring planes, at most `GROUP`, from w on: once along their length, and
    # along coordinates in turn.
    cdef float64_t t[GROUP]
    cdef float64_t v[GROUP]
    cdef float64_t moved[GROUP]
    cdef float32_t won[GROUP]
    cdef float32_t step[GROUP]
    cdef float32_t taken[GROUP]
    cdef float32_t now[GROUP]
    cdef float32_t found[GROUP]
    cdef const float32_t* before = target.values
    cdef const float32_t* values
    cdef float64_t* own
    cdef intp_t i, j, turn
    find_all_margins(target, w, stride, d, size, planes, margin)
    for i in range(size):
        step[i] = 0.0
        taken[i] = 0.0
    weigh_moved(target, margin, before, taken, before, step, size, now)
    stretch(target, w, stride, d, keys, n_coordinates, size, margin, now)
    for turn in range(n_coordinates):
        j = (first + turn) % d
        own = w + j * stride
        values = target.values + j * target.stride
        draw(keys, turn, size, t, v)
        propose(own, sizes[j], t, size, moved, step)
        weigh_moved(target, margin, before, taken, values, step, size, found)
        decide(target, own, moved, v, size, now, found, won)
        for i in range(size):
            taken[i] = step[i] if won[i] > 0.0 else <float32_t> 0.0
            now[i] = found[i] if won[i] > 0.0 else now[i]
        before = values
