"""Base classes of scores and bounds; the contract is written in the .pxd."""


cdef class Score:
    """What a scan over candidate tests minimises."""

    cdef void begin(self, const NodeFacts* facts) noexcept nogil:
        # Called once a node, before any block.
        pass

    cdef void block(self, const TestBlock* tests, float64_t* out) noexcept nogil:
        # Score of every test of the block; the right outcome is the node minus the left.
        pass

    cdef float64_t phi(self, float64_t count) noexcept nogil:
        # Term of one class and outcome, for additive scores.
        return 0.0

    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil:
        # Score of one test with r outcomes; counts is [r, n_classes].
        return 0.0


cdef class Bound:
    """Decides whether the best test of a node becomes a split."""

    cdef void node_begin(self, const NodeFacts* facts) noexcept nogil:
        # Called once a node, after its tests have been counted.
        pass

    cdef bint decide(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # child_counts is [r, n_classes]. The scan has filled score, rival_score
        # (infinity if there is no rival), rival_feature and n_tests.
        return True


cdef class IntervalBound(Bound):
    """A bound that scores tests itself, by the upper limit of the children."""

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        # Upper limit of one child of a test with r outcomes, in units of `limit`.
        return 0.0

    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return 0.0

    cdef bint decide(
        self, const NodeFacts* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        evidence.parent_limit = self.limit / facts.pool
        return evidence.child_limit < evidence.parent_limit


cdef class EvidenceBound(Bound):
    """A bound that weighs the evidence of all candidate tests together."""
