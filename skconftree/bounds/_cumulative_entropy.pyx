"""Possibilistic cumulative entropy: upper limits of cumulated frequencies."""

from libc.math cimport expm1, log, log1p, sqrt
from scipy.special.cython_special cimport ndtri

from skconftree.utils._typedefs cimport float64_t, intp_t

cdef float64_t LN2 = 0.6931471805599453


cdef float64_t upper_limit(float64_t p, float64_t n, float64_t z) noexcept nogil:
    # Agresti-Coull upper limit of a frequency.
    cdef float64_t z2 = z * z
    cdef float64_t m = n + z2
    cdef float64_t centre
    if not m > 0.0:
        return 1.0
    centre = (p * n + 0.5 * z2) / m
    return min(1.0, centre + z * sqrt(centre * (1.0 - centre) / m))


cdef intp_t left_out(
    const float64_t* counts, intp_t n_classes, bint present
) noexcept nogil:
    # Classes that have no part in a node's entropies: with `present` those without a
    # row, up to the last two. None of its children has a row of them either, so that
    # they come first in every ascending order.
    cdef intp_t absent = 0
    cdef intp_t c
    if not present:
        return 0
    for c in range(n_classes):
        absent += counts[c] <= 0.0
    return min(absent, n_classes - 2)


cdef float64_t cumulative_entropy(
    const float64_t* counts, intp_t n_classes, intp_t first, float64_t n, float64_t z,
    intp_t* order,
) noexcept nogil:
    # Without the `first` rarest classes. The last one has T = pi = 1 and a term of
    # ln 2.
    cdef intp_t j
    cdef float64_t below = 0.0
    cdef float64_t t
    cdef float64_t limit
    cdef float64_t total = LN2
    if not n > 0.0:
        return 1.0
    sort_order(order, counts, n_classes)
    for j in range(first, n_classes - 1):
        below += counts[order[j]]
        t = below / n
        limit = 0.5 * upper_limit(t, n, z)
        total -= (1.0 - 0.5 * t) * log1p(-limit)
        if t > 0.0:
            total -= 0.5 * t * log(limit)
    return total / ((n_classes - first) * LN2)


cdef float64_t corrected_quantile(
    float64_t delta, float64_t comparisons
) noexcept nogil:
    # Dunn and Sidak: each of so many limits at 1 - (1 - delta)^(1 / comparisons).
    return -ndtri(-0.5 * expm1(log1p(-delta) / comparisons))
