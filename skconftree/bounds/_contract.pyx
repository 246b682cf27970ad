"""Base classes of bounds, those of races included; the .pxd has the contract."""

import numpy as np
from collections import namedtuple
from libc.math cimport INFINITY, NAN, log
from libc.string cimport memset

from skconftree.criteria._criterion import CRITERIA
from skconftree.criteria._impurity cimport impurity_code
from skconftree.criteria._score import is_integral, lacks
from skconftree.utils._inline cimport ROUNDING
from skconftree.utils._typedefs cimport float64_t, intp_t

BoundEvaluation = namedtuple(
    "BoundEvaluation",
    "split score runner_up_score parent_limit child_limit radius statistic floor "
    "sharp_floor log_evidence",
)
BoundEvaluation.__doc__ = """Answer of a bound about one test; see `BaseBound.evaluate`."""


cdef class Bound:
    """Decides whether the best test of a node becomes a split."""

    def check(self):
        """Raise unless everything is there that a tree asks for.

        NotImplementedError if a method or a score is missing, TypeError if there is a
        score that no scan would minimise.
        """
        if <void*> self.decide == <void*> Bound.decide:
            lacks(self, "decide")
        if self.ranks_attributes and <void*> self.rank == <void*> Bound.rank:
            lacks(self, "rank, which ranks_attributes needs")
        if self.ranks_by_gain and (
            not self.ranks_attributes
            or <void*> self.rank_of_gain == <void*> Bound.rank_of_gain
        ):
            lacks(self, "rank_of_gain and rank, which ranks_by_gain needs")
        if isinstance(self, (IntervalBound, EvidenceBound)):
            if self.score is None:
                lacks(self, "score")
            self.score.check()
        elif self.score is not None:
            raise TypeError(
                f"{type(self).__name__} has a score, which only an IntervalBound or an "
                "EvidenceBound may: other bounds decide about the best test by the "
                "tree's criterion."
            )

    def reserve(self, intp_t n_classes, intp_t n_outcomes):
        """Make room for what rank() and decide() need, as these cannot fail.

        Called before them, and again before tests may have more classes or outcomes.
        """

    cdef float64_t rank(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        float64_t most,
    ) noexcept nogil:
        # child_counts is [r, n_classes], the best test of an attribute. Must not be
        # NaN. What all attributes of the node share may be left out.
        return 0.0

    cdef bint may_accept(
        self, const NodeStats* facts, float64_t gain, float64_t lead
    ) noexcept nogil:
        return True

    cdef float64_t rank_of_gain(
        self, const NodeStats* facts, float64_t gain
    ) noexcept nogil:
        return 0.0

    cdef void node_begin(self, const NodeStats* facts) noexcept nogil:
        # Called once a node, after its tests have been counted.
        pass

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # child_counts is [r, n_classes], on the bound's scale. The scan has filled
        # score, runner_up_score (infinity if there is no competitor), runner_up_feature,
        # the number of candidates and parent_limit, the impurity of the node; NaN is in
        # the others.
        return False

    cdef void judge(
        self, const NodeStats* facts, const float64_t* child_counts,
        const float64_t* child_pool, intp_t r, SplitEvidence* evidence,
        float64_t* floors,
    ) noexcept:
        # What a scan fills in before decide(), for a single test. floors[0] and
        # floors[1] are the two floors of an interval bound, per unit of pool.
        cdef IntervalBound interval
        cdef EvidenceBound weighing
        cdef float64_t total
        cdef intp_t k
        cdef intp_t z
        cdef float64_t n
        if self.score is not None:
            self.score.begin(facts)
            total = self.score.outcomes(child_counts, r)
            if isinstance(self, EvidenceBound):
                weighing = <EvidenceBound> self
                weighing.log_evidence = -total
            else:
                floors[0] = total / facts.pool
        if isinstance(self, IntervalBound):
            interval = <IntervalBound> self
            evidence.child_limit = 0.0
            floors[1] = 0.0
            for z in range(r):
                n = 0.0
                for k in range(facts.n_classes):
                    n += child_counts[z * facts.n_classes + k]
                evidence.child_limit += interval.cost(
                    child_counts + z * facts.n_classes, n, child_pool[z], r
                )
                floors[1] += interval.sharp_floor(
                    child_counts + z * facts.n_classes, n, child_pool[z], r
                )
            evidence.child_limit /= facts.pool
            floors[1] /= facts.pool
            evidence.score = evidence.child_limit

    def evaluate(
        self, children_counts, *, criterion=None, pool=None, n_tests=1, time=None,
        depth=0, attributes=1, attribute_tests=None, attempt=1, n_fresh=None,
        runner_up=None,
    ):
        """Answer about one test of a node; see `BaseBound.evaluate`."""
        children = np.ascontiguousarray(children_counts, dtype=np.float64)
        if children.ndim != 2 or children.shape[0] < 2 or children.shape[1] < 2:
            raise ValueError(
                "children_counts must have shape (outcomes, classes), both at least "
                f"2. Got {children.shape}."
            )
        if not (np.all(np.isfinite(children)) and np.all(children >= 0)):
            raise ValueError("children_counts must be finite and not negative.")
        cdef const float64_t[:, ::1] counts = children
        cdef const float64_t[::1] node = children.sum(axis=0)
        n_children = children.sum(axis=1)
        weights = np.ascontiguousarray(
            n_children if pool is None else pool, dtype=np.float64
        )
        if weights.shape != n_children.shape:
            raise ValueError(
                f"pool must have one weight for each of the {len(n_children)} "
                f"outcomes. Got shape {weights.shape}."
            )
        cdef const float64_t[::1] child_pool = weights
        cdef intp_t r = children.shape[0]
        cdef NodeStats facts
        cdef SplitEvidence evidence
        cdef float64_t[2] floors
        cdef Score scores
        cdef bint split
        memset(&facts, 0, sizeof(NodeStats))
        facts.n_classes = children.shape[1]
        facts.counts = &node[0]
        facts.n = n_children.sum()
        facts.pool = weights.sum()
        if not facts.n > 0 or not facts.pool > 0:
            raise ValueError("children_counts and pool must have positive sums.")
        facts.n_fresh = facts.n if n_fresh is None else n_fresh
        facts.n_tests = n_tests
        facts.n_varying = attributes
        facts.n_attribute_tests = (
            n_tests / attributes if attribute_tests is None else attribute_tests
        )
        facts.log_attribute_tests = log(facts.n_attribute_tests)
        facts.time = facts.n if time is None else time
        facts.n_attributes = attributes
        facts.attempt = attempt
        facts.depth = depth
        facts.integral = is_integral(children)
        clear_evidence(&evidence)
        evidence.runner_up_score = INFINITY if runner_up is None else runner_up
        evidence.runner_up_feature = -1 if runner_up is None else 1
        evidence.by_chance.n_candidates = n_tests
        floors[0] = NAN
        floors[1] = NAN
        if criterion is not None:
            scores = CRITERIA[criterion](facts.n_classes)
            scores.begin(&facts)
            evidence.parent_limit = scores.outcomes(&node[0], 1) / facts.n
            evidence.score = scores.outcomes(&counts[0, 0], r) / facts.n
        self.reserve(facts.n_classes, r)
        self.node_begin(&facts)
        self.judge(&facts, &counts[0, 0], &child_pool[0], r, &evidence, floors)
        split = self.decide(&facts, &counts[0, 0], r, &evidence)
        return BoundEvaluation(
            bool(split), evidence.score, evidence.runner_up_score, evidence.parent_limit,
            evidence.child_limit, evidence.radius, evidence.statistic, floors[0],
            floors[1],
            (<EvidenceBound> self).log_evidence
            if isinstance(self, EvidenceBound) else NAN,
        )


cdef class IntervalBound(Bound):
    """A bound that scores tests itself, by the upper limit of the children."""

    def check(self):
        """See `Bound.check`."""
        super().check()
        if <void*> self.cost == <void*> IntervalBound.cost:
            lacks(self, "cost")
        if <void*> self.node_begin == <void*> IntervalBound.node_begin:
            lacks(self, "node_begin, which sets the limit")

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        # Upper limit of one child of a test with r outcomes, in units of `limit`.
        return 0.0

    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return 0.0

    def child_costs(self, counts, *, pool=None, outcomes=2):
        """Upper limits of children, [child, class], and their tighter floors.

        The bound must have seen a node (`evaluate`) if its costs depend on it. `pool`
        has the weight W of every child, the number of its rows if None; `outcomes` are
        those of the test they belong to.
        """
        counts = np.ascontiguousarray(counts, dtype=np.float64)
        cdef const float64_t[:, ::1] child_counts = counts
        cdef const float64_t[::1] n = counts.sum(axis=1)
        cdef const float64_t[::1] weight = (
            n if pool is None else np.ascontiguousarray(pool, dtype=np.float64)
        )
        cdef intp_t i
        cdef intp_t size = child_counts.shape[0]
        cdef intp_t r = outcomes
        cdef float64_t[:, ::1] out = np.empty((2, size))
        with nogil:
            for i in range(size):
                out[1, i] = self.sharp_floor(&child_counts[i, 0], n[i], weight[i], r)
                out[0, i] = self.cost(&child_counts[i, 0], n[i], weight[i], r)
        return np.asarray(out[0]), np.asarray(out[1])

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        evidence.parent_limit = self.limit / facts.pool
        return evidence.child_limit < evidence.parent_limit


cdef class EvidenceBound(Bound):
    """A bound that weighs the evidence of all candidate tests together."""


# -- What all race bounds share: the best test against its best competitor --------------
cdef class RaceBound(Bound):
    """Splits iff the best test beats its best competitor by more than a radius.

    The competitors are the best test of every other attribute and "no split", whose
    score is the impurity of the node; with `against_no_split` the
    latter alone. If the radius has shrunk to `tie_threshold` without
    a winner, the competitors are as good as each other and the best test is
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
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        return INFINITY

    cdef float64_t statistic(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        return 1.0 - self.delta

    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t no_split = evidence.parent_limit
        cdef float64_t gap
        if self.against_no_split or not evidence.runner_up_score < no_split:
            evidence.runner_up_score = no_split
            evidence.runner_up_feature = -1
        evidence.radius = self.radius(facts, child_counts, r, evidence)
        evidence.statistic = self.statistic(facts, child_counts, r, evidence)
        gap = evidence.runner_up_score - evidence.score
        # Totals that are equal on paper are a tie.
        if not no_split - evidence.score > ROUNDING:
            return False
        if gap > self.factor * evidence.radius:
            return True
        return self.tie_threshold > 0.0 and evidence.radius <= self.tie_threshold
