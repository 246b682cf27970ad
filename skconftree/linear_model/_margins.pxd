# Margins of particles at rows, and exponentials, in loops that compilers vectorize.
#
# The particles of a particle filter are hyperplanes w, sampled from their posterior. The
# margin of a row x is the inner product w.x. Coordinates of particles are stored feature by
# feature, so that one coordinate of several particles is contiguous in memory. `d` is the
# number of features, `size` the number of particles, at most BLOCK.

cimport cython
from libc.string cimport memcpy

from skconftree.utils._typedefs cimport float64_t, intp_t, uint64_t

cdef enum:
    BLOCK = 256         # number of particles whose margins fit into the L1 cache


cdef inline float64_t bounded(float64_t x) noexcept nogil:
    # Limit a coordinate, so that products of two coordinates are finite.
    x = x if x < 1e100 else 1e100
    return x if x > -1e100 else -1e100


cdef inline void find_margins(
    const float64_t* particles, intp_t stride, const float64_t* x, intp_t d,
    intp_t size, float64_t* margin,
) noexcept nogil:
    # Compute the margins of adjacent particles at one row, two features per iteration.
    # Coordinates of consecutive features are `stride` apart.
    cdef const float64_t* w0 = particles
    cdef const float64_t* w1
    cdef float64_t x0, x1
    cdef intp_t i
    cdef intp_t j = 0
    for i in range(size):
        margin[i] = 0.0
    while j + 2 <= d:
        w1 = w0 + stride
        x0 = x[j]
        x1 = x[j + 1]
        for i in range(size):
            margin[i] = margin[i] + x0 * w0[i] + x1 * w1[i]
        w0 = w1 + stride
        j += 2
    if j < d:
        x0 = x[j]
        for i in range(size):
            margin[i] = margin[i] + x0 * w0[i]


cdef inline void find_margins_of_four(
    const float64_t* particles, intp_t stride, const float64_t* x, intp_t d,
    intp_t size, float64_t* margin,
) noexcept nogil:
    # The same for four consecutive rows, so that particles are read once. The margins of
    # consecutive rows are `stride` apart. They are summed in local arrays, because the
    # compiler knows that these do not overlap with any other array.
    cdef const float64_t* w0 = particles
    cdef const float64_t* w1
    cdef const float64_t* x1 = x + d
    cdef const float64_t* x2 = x1 + d
    cdef const float64_t* x3 = x2 + d
    cdef float64_t m0[BLOCK]
    cdef float64_t m1[BLOCK]
    cdef float64_t m2[BLOCK]
    cdef float64_t m3[BLOCK]
    cdef float64_t a0, b0, a1, b1, a2, b2, a3, b3
    cdef intp_t i
    cdef intp_t j = 0
    for i in range(size):
        m0[i] = 0.0
        m1[i] = 0.0
        m2[i] = 0.0
        m3[i] = 0.0
    while j + 2 <= d:
        w1 = w0 + stride
        a0 = x[j]
        b0 = x[j + 1]
        a1 = x1[j]
        b1 = x1[j + 1]
        a2 = x2[j]
        b2 = x2[j + 1]
        a3 = x3[j]
        b3 = x3[j + 1]
        for i in range(size):
            m0[i] = m0[i] + a0 * w0[i] + b0 * w1[i]
            m1[i] = m1[i] + a1 * w0[i] + b1 * w1[i]
            m2[i] = m2[i] + a2 * w0[i] + b2 * w1[i]
            m3[i] = m3[i] + a3 * w0[i] + b3 * w1[i]
        w0 = w1 + stride
        j += 2
    if j < d:
        a0 = x[j]
        a1 = x1[j]
        a2 = x2[j]
        a3 = x3[j]
        for i in range(size):
            m0[i] = m0[i] + a0 * w0[i]
            m1[i] = m1[i] + a1 * w0[i]
            m2[i] = m2[i] + a2 * w0[i]
            m3[i] = m3[i] + a3 * w0[i]
    memcpy(margin, m0, size * sizeof(float64_t))
    memcpy(margin + stride, m1, size * sizeof(float64_t))
    memcpy(margin + 2 * stride, m2, size * sizeof(float64_t))
    memcpy(margin + 3 * stride, m3, size * sizeof(float64_t))


# Exponential function that compilers can vectorize, accurate to 2 units in the last place.
# Each row needs the exponentials of the log weights of all particles, and loops that call
# the function of the C library are not vectorized.

cdef union Bits:
    float64_t number
    uint64_t bits


@cython.overflowcheck(False)     # bits, not numbers
cdef inline float64_t exp_moderate(float64_t x) noexcept nogil:
    # exp(x) for x from -300 to 300.
    cdef Bits shifted
    cdef Bits result
    cdef float64_t whole
    cdef float64_t r
    # x = n ln 2 + r. Adding 1.5 * 2^52 to x / ln 2 rounds it to n, whose bits are then the
    # last ones of the sum. ln 2 is subtracted in two parts, so that r is accurate.
    shifted.number = x * 1.4426950408889634 + 6755399441055744.0
    whole = shifted.number - 6755399441055744.0
    r = x - whole * 0.693147180369123816490 - whole * 1.90821492927058770002e-10
    # Taylor series: |r| < 0.35, so the thirteenth term is below the last place.
    result.number = 1.0 + r * (1.0 + r * (0.5 + r * (
        1.6666666666666666e-1 + r * (4.1666666666666664e-2 + r * (
            8.3333333333333332e-3 + r * (1.3888888888888889e-3 + r * (
                1.9841269841269841e-4 + r * (2.4801587301587302e-5 + r * (
                    2.7557319223985893e-6 + r * (2.7557319223985888e-7 + r * (
                        2.5052108385441720e-8 + r * 2.0876756987868100e-9
                    ))))))))))
    )
    result.bits = result.bits + (shifted.bits << 52)    # times 2^n: adds n to the exponent
    return result.number


cdef inline float64_t exp_negative(float64_t x) noexcept nogil:
    # exp(x) for x <= 0; 0 if x <= -300, because the square of the result would be a
    # subnormal number, for which arithmetic is a hundred times slower.
    cdef float64_t result = exp_moderate(x if x > -300.0 else -300.0)
    return result if x > -300.0 else 0.0
