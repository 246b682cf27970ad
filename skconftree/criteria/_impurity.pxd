# The impurities by name, and how large they can be, on the scale of De Rosa and
# Cesa-Bianchi (2017, doc/bibliography.rst): concave, symmetric, at least the Bayes risk,
# 1/2 at two balanced classes.
#
# A scan, the pass over the candidate splits of a node, minimizes the sum of the children's
# impurities, each weighted by its rows. The criteria compute this sum (_criterion.pyx).

from libc.math cimport log2, sqrt

from skconftree.utils._typedefs cimport float64_t, intp_t


cdef enum Impurity:
    ENTROPY         # half the entropy in bits
    GINI            # 1 - sum p^2
    KEARNS_MANSOUR  # half of sum sqrt(p (1 - p))
    ERROR           # 1 - max p


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
    raise ValueError(
        "criterion must be 'gini', 'entropy', 'kearns_mansour' or 'error', which measure "
        f"impurity. Got {criterion!r}."
    )
