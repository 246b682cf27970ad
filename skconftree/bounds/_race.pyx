"""What all race bounds share: the best test against its best rival."""

from libc.math cimport INFINITY

from skconftree.bounds._contract cimport Bound, NodeFacts, SplitEvidence
from skconftree.criteria._impurity cimport impurity_code
from skconftree.utils._rounding cimport ROUNDING
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class RaceBound(Bound):
    """Splits iff the best test beats its best rival by more than a radius.

    The rivals are the best test of every other attribute and "no split", whose
    score is the impurity of the node; with `against_no_split` the
    latter alone. If the radius has shrunk to `tie_threshold` without
    a winner, the rivals are as good as each other and the best test is
    taken, provided that it beats "no split".

    The impurity is on the scale on which two balanced classes have 1/2; the statement
    fails with probability `delta`.
    """

    def __cinit__(self, *args, **kwargs):
        self.factor = 1.0
        self.tie_threshold = 0.0
        self.against_no_split = False

    def __init__(
        self, criterion, n_classes, delta=0.0, factor=1.0, against_no_split=False,
        tie_threshold=0.0,
    ):
        self.impurity = <Impurity> impurity_code(criterion)
        self.n_classes = n_classes
        self.delta = delta
        self.factor = factor
        self.against_no_split = against_no_split
        self.tie_threshold = tie_threshold

    def check(self):
        """See `Bound.check`."""
        super().check()
        if <void*> self.radius == <void*> RaceBound.radius:
            raise NotImplementedError(
                f"{type(self).__name__} does not define radius."
            )

    cdef float64_t radius(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        return INFINITY

    cdef float64_t confidence(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        return 1.0 - self.delta

    cdef bint decide(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t no_split = evidence.parent_limit
        cdef float64_t gap
        if self.against_no_split or not evidence.rival_score < no_split:
            evidence.rival_score = no_split
            evidence.rival_feature = -1
        evidence.radius = self.radius(facts, child_counts, r, evidence)
        evidence.confidence = self.confidence(facts, child_counts, r, evidence)
        gap = evidence.rival_score - evidence.score
        # Totals that are equal on paper are a tie.
        if not no_split - evidence.score > ROUNDING:
            return False
        if gap > self.factor * evidence.radius:
            return True
        return self.tie_threshold > 0.0 and evidence.radius <= self.tie_threshold
