# Possibilistic cumulative entropy of class counts, the arithmetic of the bound and
# of its floor.

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef inline void sort_order(
    intp_t* order, const float64_t* counts, intp_t size
) noexcept nogil:
    # Insertion sort by ascending count: linear when the order is almost right, as
    # it is from one test of an attribute to the next.
    cdef intp_t i
    cdef intp_t j
    cdef intp_t c
    for i in range(1, size):
        c = order[i]
        j = i
        while j > 0 and counts[order[j - 1]] > counts[c]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = c


cdef float64_t upper_limit(float64_t p, float64_t n, float64_t z) noexcept nogil

cdef intp_t left_out(
    const float64_t* counts, intp_t n_classes, bint present
) noexcept nogil

cdef float64_t cumulative_entropy(
    const float64_t* counts, intp_t n_classes, intp_t first, float64_t n, float64_t z,
    intp_t* order,
) noexcept nogil

cdef float64_t corrected_quantile(
    float64_t delta, float64_t comparisons
) noexcept nogil
