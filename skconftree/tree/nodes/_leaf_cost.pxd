# LeafCost: what a node costs as a leaf, for who grows trees and does not know how they
# are pruned. A tree costs the sum over its leaves.
#
# A cost is not negative, and a function of the class counts alone. These are as a bound
# sees them: proportions with the class weights, on the scale of the rows behind them.

from skconftree.utils._rounding cimport ROUNDING
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef inline bint as_cheap(float64_t leaf, float64_t below) noexcept nogil:
    # Whether a node costs no more as a leaf than the tree below does. Of the trees that
    # cost least this gives the smallest; rounding decides nothing.
    return leaf <= below * (1.0 + ROUNDING)


cdef class LeafCost:
    cdef float64_t of(self, const float64_t* counts, intp_t n_classes) noexcept nogil
