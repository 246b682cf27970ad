# Posterior of the heterogeneity of a node whose class probabilities have a
# Dirichlet distribution: moments and quantiles, as functions of the counts.

from libc.math cimport log, log1p, sqrt

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef enum Heterogeneity:
    ENTROPY     # -sum mu ln mu
    VARIANCE    # (1 - sum mu^2) / 2, which is mu (1 - mu) for two classes
    DEVIATION   # its square root


cdef inline float64_t binary_heterogeneity(
    Heterogeneity kind, float64_t x
) noexcept nogil:
    # x <= 1/2 is the probability of the rarer class.
    if x <= 0.0:
        return 0.0
    if kind == ENTROPY:
        return -x * log(x) - (1.0 - x) * log1p(-x)
    if kind == VARIANCE:
        return x * (1.0 - x)
    return sqrt(x * (1.0 - x))


# Two classes: a >= b > 0 are the shapes of the posterior Beta law.
cdef float64_t binary_upper(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil
cdef float64_t binary_lower(
    Heterogeneity kind, float64_t a, float64_t b, float64_t delta
) noexcept nogil

cdef float64_t tail_quantile(
    float64_t p, float64_t q, float64_t z, float64_t* margin
) noexcept nogil

# More classes: a Beta law with the moments of the heterogeneity divided by its
# largest value, or of its square for the deviation.
cdef float64_t largest_heterogeneity(
    Heterogeneity kind, intp_t n_classes
) noexcept nogil
cdef void match_beta(
    float64_t mean, float64_t variance, float64_t* p, float64_t* q
) noexcept nogil
cdef float64_t matched_limit(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t delta, bint upper,
) noexcept nogil
cdef void moments(
    Heterogeneity kind, const float64_t* counts, intp_t n_classes, float64_t alpha,
    float64_t* mean, float64_t* variance,
) noexcept nogil
cdef float64_t trigamma_excess(float64_t x) noexcept nogil
