# Impurities of one class distribution on the scale of De Rosa and Cesa-Bianchi:
# concave, symmetric, at least the Bayes risk, 1/2 at two balanced classes.
#
# Of shares, not of totals over rows as the criteria of a split, which know no other room:
# the same quantity, but four in five entropies differ in their last bits.

from libc.math cimport log2, sqrt

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef enum Impurity:
    ENTROPY         # half the entropy in bits
    GINI            # 1 - sum p^2
    KEARNS_MANSOUR  # half of sum sqrt(p (1 - p))
    ERROR           # 1 - max p


cdef inline float64_t impurity(
    Impurity criterion, const float64_t* counts, intp_t n_classes, float64_t n
) noexcept nogil:
    cdef intp_t c
    cdef float64_t p
    cdef float64_t total = 0.0
    if n <= 0.0:
        return 0.0
    for c in range(n_classes):
        if counts[c] <= 0.0:
            continue
        p = counts[c] / n
        if criterion == ENTROPY:
            total -= 0.5 * p * log2(p)
        elif criterion == GINI:
            total += p * (1.0 - p)
        elif criterion == KEARNS_MANSOUR:
            total += 0.5 * sqrt(p * (1.0 - p))
        elif p > total:
            total = p
    return 1.0 - total if criterion == ERROR else total


cdef inline float64_t largest_impurity(Impurity criterion, intp_t n_classes) noexcept nogil:
    # Impurity of the uniform distribution.
    if criterion == ENTROPY:
        return 0.5 * log2(<float64_t> n_classes)
    if criterion == KEARNS_MANSOUR:
        return 0.5 * sqrt(n_classes - 1.0)
    return 1.0 - 1.0 / n_classes


cdef inline int impurity_code(str criterion) except -1:
    # The Impurity of a criterion's name.
    if criterion == "entropy":
        return ENTROPY
    if criterion == "gini":
        return GINI
    if criterion == "kearns_mansour":
        return KEARNS_MANSOUR
    if criterion == "error":
        return ERROR
    raise ValueError(f"criterion={criterion!r} is not an impurity.")
