# Race bounds: the best test must beat its best rival by more than a radius.

from skconftree.bounds._contract cimport Bound, NodeFacts, SplitEvidence
from skconftree.criteria._impurity cimport Impurity
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class RaceBound(Bound):
    cdef public intp_t n_classes
    cdef public float64_t delta
    cdef public float64_t factor            # a gap must exceed factor * radius
    cdef public float64_t tie_threshold     # 0 = never split a tie
    cdef public bint against_no_split       # the only rival is "no split"
    cdef Impurity impurity

    # A subclass gives the radius of the statement about a test with these children,
    # [r, n_classes], per row on the scale of the impurity, and, if it is not
    # 1 - delta, its confidence. `evidence` is complete but for these two.
    cdef float64_t radius(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil
    cdef float64_t confidence(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil
