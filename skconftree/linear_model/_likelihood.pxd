# How likely a label is, given a hyperplane: OASIS's shape, on the scale of logarithms.
#
#   L(y | x, w) = min{1 - gamma, max{gamma alpha, c exp(slope y w.x)}},  y = -1 or 1
#
# with c = sqrt((1 - gamma) gamma alpha). It is flat outside the margin |w.x| < 1, and its
# logarithm is a straight line inside. A row without a label counts by L(1) + L(-1),
# which is largest outside: hyperplanes that run through data lose.

from libc.math cimport exp, fabs, log1p

from skconftree.utils._typedefs cimport float64_t


cdef struct Likelihood:
    float64_t low           # ln(gamma alpha)
    float64_t high          # ln(1 - gamma)
    float64_t middle        # ln c, on the plane
    float64_t slope         # from there to either side
    float64_t outside       # ln(1 - gamma + gamma alpha)


cdef inline float64_t of_label(
    const Likelihood* shape, float64_t signed_margin
) noexcept nogil:
    # ln L(y | x, w), given y w.x.
    cdef float64_t found = shape.middle + shape.slope * signed_margin
    found = found if found < shape.high else shape.high
    return found if found > shape.low else shape.low


cdef inline float64_t of_either(
    const Likelihood* shape, float64_t margin
) noexcept nogil:
    # ln(L(1) + L(-1)), given w.x. Most planes are far from most rows: the branch pays.
    cdef float64_t rise
    if fabs(margin) >= 1.0:
        return shape.outside
    rise = shape.slope * fabs(margin)
    return shape.middle + rise + log1p(exp(-2.0 * rise))
