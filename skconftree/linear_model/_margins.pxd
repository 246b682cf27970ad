# Margins w.x of planes at rows, in loops that become vector instructions.
#
# Coordinates of planes lie feature by feature, neighbouring planes beside each other.

from libc.string cimport memcpy

from skconftree.utils._typedefs cimport float64_t, intp_t

cdef enum:
    BLOCK = 256         # planes whose margins stay in the first cache


cdef inline float64_t bounded(float64_t x) noexcept nogil:
    # No coordinate is further out: products of two stay finite.
    x = x if x < 1e100 else 1e100
    return x if x > -1e100 else -1e100


cdef inline void find_margins(
    const float64_t* particles, intp_t stride, const float64_t* x, intp_t d,
    intp_t size, float64_t* margin,
) noexcept nogil:
    # w.x of neighbouring particles, two features a turn.
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
    # The same for four rows, whose margins are `stride` apart: particles are read once.
    # The compiler knows that arrays of its own do not overlap with any other.
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
