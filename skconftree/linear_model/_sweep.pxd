# One Metropolis sweep over the coordinates of some planes, margins kept.
#
# A coordinate that takes a step moves the margins of all rows by the step times their
# values of that feature: so a sweep costs a few times what it costs to find margins, and
# each coordinate has a step of its own size. Neighbouring planes are moved together.
# Single precision is enough to accept a step, and twice as fast.

from libc.math cimport fabs, fabsf, sqrt
from libc.string cimport memcpy

from skconftree.linear_model._cloud cimport bounded
from skconftree.linear_model._exponential cimport exp_negative
from skconftree.utils._draws cimport mix
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, uint32_t, uint64_t,
)

cdef enum:
    GROUP = 64          # planes whose margins at 100 rows stay in the first cache
    KNOTS = 1024        # of the likelihood of a row without a label, made of lines


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
            for i in range(size):
                here0 = own[i] + x0 * steps[i]
                here0 = here0 if here0 < high else high
                here0 = here0 if here0 > low else low
                sums[i] = sums[i] + weight0 * here0
        else:
            weigh_either(target, own, x0, steps, weight0, size, sums)
        own += GROUP
        row += 1
    memcpy(found, sums, size * sizeof(float32_t))


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


cdef inline float64_t limited(float64_t x) noexcept nogil:
    # Squares of it are numbers in single precision.
    x = x if x < 1e18 else 1e18
    return x if x > -1e18 else -1e18


cdef inline void sweep(
    const Target* target, float64_t* w, intp_t stride, intp_t d, const float64_t* sizes,
    const uint64_t* keys, intp_t first, intp_t n_coordinates, intp_t size,
    float32_t* planes, float32_t* margin,
) noexcept nogil:
    # Move neighbouring planes, at most `GROUP`, from w on, along coordinates in turn.
    cdef float64_t u[GROUP]
    cdef float64_t v[GROUP]
    cdef float64_t moved[GROUP]
    cdef float32_t step[GROUP]
    cdef float32_t taken[GROUP]
    cdef float32_t now[GROUP]
    cdef float32_t found[GROUP]
    cdef const float32_t* before = target.values
    cdef const float32_t* values
    cdef float64_t* own
    cdef float64_t here, there, gain, factor
    cdef uint64_t bits
    cdef intp_t i, j, turn
    find_all_margins(target, w, stride, d, size, planes, margin)
    for i in range(size):
        step[i] = 0.0
        taken[i] = 0.0
    weigh_moved(target, margin, before, taken, before, step, size, now)
    for turn in range(n_coordinates):
        j = (first + turn) % d
        own = w + j * stride
        values = target.values + j * target.stride
        for i in range(size):
            # One draw: the sign and size of a step, and whether it is taken.
            bits = mix(keys[i] + <uint64_t> turn)
            u[i] = <float64_t> <int32_t> (bits >> 32) / 2147483648.0
            v[i] = <float64_t> <uint32_t> bits / 4294967296.0
        for i in range(size):
            # Student's t with two degrees of freedom: steps of all sizes, which no
            # size that is a bit off makes useless. Not infinite where u is -1.
            here = own[i] + sizes[j] * 1.4142135623730951 * u[i] / sqrt(
                (1.0 + 1e-9 - u[i]) * (1.0 + 1e-9 + u[i])
            )
            moved[i] = bounded(here)
            step[i] = <float32_t> limited(moved[i] - own[i])
        weigh_moved(target, margin, before, taken, values, step, size, found)
        for i in range(size):
            gain = <float64_t> found[i] - <float64_t> now[i]
            here = own[i] * target.precision
            there = moved[i] * target.precision
            if target.cauchy:
                here = 1.0 + here * here
                there = v[i] * (1.0 + there * there)
            else:
                gain += 0.5 * (here * here - there * there)
                here = 1.0
                there = v[i]
            factor = exp_negative(-fabs(gain))
            if gain < 0.0:
                here *= factor
            else:       # also what is no number, whose factor is 0
                there *= factor
            taken[i] = 0.0
            if there < here:
                own[i] = moved[i]
                taken[i] = step[i]
                now[i] = found[i]
        before = values
