"""Base classes of compiled split rules (bounds). `_contract.pxd` defines their methods.

A bound accepts or rejects the best candidate split of a node; its kernel is the compiled object.
The scores of splits are to be minimized, and the scan is the search that computes them. The
competitor (runner-up) is the best split of another feature. A rank is a number by which the
bound compares features; the smallest is the best. A cost is an upper limit of the impurity of
a child, a floor a lower limit of the cost, and a radius half the width of a confidence
interval. The outcomes of a split are its children. W (pool) is the weight of a node with
unlabeled rows, or its volume. A method in Python may raise an exception: the kernel calls it up
to ATTEMPTS times, and holds the exception until the tree can raise it.
"""

import numpy as np
from collections import namedtuple
from numbers import Real

from libc.math cimport INFINITY, NAN, log
from libc.string cimport memcpy

from skconftree.criteria._criterion import CRITERIA     # classes of criteria, by name
from skconftree.criteria._impurity cimport impurity_code
from skconftree.criteria._score cimport ATTEMPTS, stats_from_counts, sum_of
from skconftree.criteria._score import is_integral, raise_undefined
from skconftree.utils._inline cimport ROUNDING      # relative rounding error of sums
from skconftree.utils._typedefs cimport float64_t, intp_t

BoundEvaluation = namedtuple(
    "BoundEvaluation",
    "split score runner_up_score parent_limit child_limit radius statistic floor "
    "sharp_floor log_evidence",
)
BoundEvaluation.__doc__ = """Decision about one candidate split; see `BaseBound.evaluate`."""
SplitStats = namedtuple(
    "SplitStats",
    "children_counts score impurity runner_up_score n_candidates n_feature_candidates "
    "n_candidate_features n_fresh time attempt depth",
)
SplitStats.__doc__ = """A candidate split and its node; see `BaseBound.decide`."""


cdef class Bound(Kernel):
    """Decides whether a node is split by its best candidate split."""

    def check(self):
        """Raise an error unless all methods that a tree calls are defined.

        NotImplementedError if a method or a score is missing, TypeError if there is a
        score that no split search would minimize.
        """
        if <void*> self.decide == <void*> Bound.decide:
            raise_undefined(self, "decide")
        # each of these flags requires the methods that _contract.pxd names at it
        if self.ranks_features and <void*> self.rank == <void*> Bound.rank:
            raise_undefined(self, "rank, which ranks_features needs")
        if self.ranks_by_gain and (
            not self.ranks_features
            or <void*> self.rank_of_gain == <void*> Bound.rank_of_gain
        ):
            raise_undefined(self, "rank_of_gain and rank, which ranks_by_gain needs")
        if isinstance(self, (IntervalBound, EvidenceBound, NodeTest)):
            if self.score is None:
                raise_undefined(self, "score")
            self.score.check()
        elif self.score is not None:
            raise TypeError(
                f"{type(self).__name__} has a score, which only an IntervalBound, an "
                "EvidenceBound or a NodeTest may have. Other bounds decide about the best "
                "split by the tree's criterion. Remove the score, or derive from one of these "
                "classes."
            )

    def reserve(self, intp_t n_classes, intp_t n_outcomes):
        """Allocate memory for rank() and decide(), which cannot raise an exception.

        Called before them, and again before splits may have more classes or outcomes.
        """

    cdef float64_t rank(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r, float64_t max_rank,
    ) noexcept nogil:
        # child_counts is [r, n_classes], of the best split of a feature. The rank must not
        # be NaN. A term that is the same for all features of the node may be omitted.
        return 0.0

    cdef bint may_accept(
        self, const NodeStats* stats, float64_t gain, float64_t lead
    ) noexcept nogil:
        # Whether decide() could accept a split with at most this gain (decrease of impurity), and
        # at most this lead over the gain of its best competitor.
        return True

    cdef float64_t rank_of_gain(self, const NodeStats* stats, float64_t gain) noexcept nogil:
        return 0.0

    cdef void node_begin(self, const NodeStats* stats) noexcept nogil:
        # Called once per node, after its candidate splits have been counted.
        pass

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # child_counts is [r, n_classes], on the bound's scale. The scan has set score,
        # runner_up_score (infinity without a competitor), runner_up_feature, the
        # number of candidates and parent_limit, the impurity of the node. All other fields
        # are NaN.
        return False

    def evaluate(
        self, children_counts, *, criterion=None, pool=None, n_tests=1, time=None, depth=0,
        attributes=1, attribute_tests=None, attempt=1, n_fresh=None, runner_up=None,
    ):
        """Decide about one candidate split of a node; see `BaseBound.evaluate`."""
        children = np.ascontiguousarray(children_counts, dtype=np.float64)
        if children.ndim != 2 or children.shape[0] < 2 or children.shape[1] < 2:
            raise ValueError(
                "children_counts must have shape (outcomes, classes), both at least "
                f"2. Got {children.shape}."
            )
        if not (np.all(np.isfinite(children)) and np.all(children >= 0)):
            raise ValueError(
                f"children_counts must be finite and not negative. Got {children}."
            )
        cdef const float64_t[:, ::1] counts = children
        cdef const float64_t[::1] node = children.sum(axis=0)
        n_children = children.sum(axis=1)
        weights = np.ascontiguousarray(n_children if pool is None else pool, dtype=np.float64)
        if weights.shape != n_children.shape:
            raise ValueError(
                f"pool must have one weight for each of the {len(n_children)} "
                f"outcomes. Got shape {weights.shape}."
            )
        cdef const float64_t[::1] child_pool = weights
        cdef intp_t r = children.shape[0]
        cdef NodeStats stats
        cdef SplitEvidence evidence
        cdef IntervalBound interval
        cdef float64_t n, total, floor = NAN, sharp_floor = NAN, log_evidence = NAN
        cdef Score scores
        cdef bint split
        cdef intp_t z
        stats = stats_from_counts(node, n_children.sum(), weights.sum(), is_integral(children))
        if not stats.n > 0 or not stats.pool > 0:
            raise ValueError(
                "children_counts and pool must have positive sums. Got "
                f"{stats.n:g} and {stats.pool:g}."
            )
        if n_fresh is not None:
            stats.n_fresh = n_fresh
        if time is not None:
            stats.time = time
        stats.n_candidates = n_tests
        stats.n_candidate_features = stats.n_features = attributes
        stats.n_feature_candidates = (
            n_tests / attributes if attribute_tests is None else attribute_tests
        )
        stats.log_feature_candidates = log(stats.n_feature_candidates)
        stats.attempt = attempt
        stats.depth = depth
        clear_evidence(&evidence)
        evidence.runner_up_score = INFINITY if runner_up is None else runner_up
        # -1: no split is the competitor; 1: some other feature
        evidence.runner_up_feature = -1 if runner_up is None else 1
        evidence.by_chance.n_candidates = n_tests
        if criterion is not None:
            scores = CRITERIA[criterion](stats.n_classes)
            scores.begin(&stats)    # outcomes() is the total score of some children
            evidence.parent_limit = scores.outcomes(&node[0], 1) / stats.n
            evidence.score = scores.outcomes(&counts[0, 0], r) / stats.n
        self.reserve(stats.n_classes, r)
        self.node_begin(&stats)
        if self.score is not None:
            self.score.begin(&stats)
            total = self.score.outcomes(&counts[0, 0], r)
        if isinstance(self, NodeTest):   # a feature whose categories are the outcomes
            (<NodeTest> self).n_tested = attributes
            (<NodeTest> self).log_pvalue = (<NodeTest> self).test_categories(
                &counts[0, 0], r, stats.n_classes
            )
        if isinstance(self, EvidenceBound):
            (<EvidenceBound> self).log_evidence = log_evidence = -total
        elif isinstance(self, IntervalBound):
            interval = <IntervalBound> self
            floor = total / stats.pool
            evidence.child_limit = sharp_floor = 0.0
            for z in range(r):
                n = sum_of(&counts[z, 0], stats.n_classes)
                evidence.child_limit += interval.cost(&counts[z, 0], n, child_pool[z], r)
                sharp_floor += interval.sharp_floor(&counts[z, 0], n, child_pool[z], r)
            evidence.child_limit /= stats.pool
            sharp_floor /= stats.pool
            evidence.score = evidence.child_limit
        split = self.decide(&stats, &counts[0, 0], r, &evidence)
        self.raise_held()   # an exception of a method in Python
        return BoundEvaluation(
            bool(split), evidence.score, evidence.runner_up_score, evidence.parent_limit,
            evidence.child_limit, evidence.radius, evidence.statistic, floor,
            sharp_floor, log_evidence,
        )


cdef class PythonBound(Bound):
    """Calls the `decide` of a bound object, which is written in Python."""

    cdef object bound

    def __init__(self, bound):
        self.bound = bound

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        if self.has_failed:  # all attempts of an earlier call
            return False
        with gil:
            for _ in range(ATTEMPTS):
                try:
                    return self._decide(stats, child_counts, r, evidence)
                except BaseException as error:
                    self.hold(error)
            self.has_failed = True
        return False

    cdef bint _decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) except -1:
        children = np.empty((r, stats.n_classes))
        cdef float64_t[:, ::1] counts = children
        memcpy(&counts[0, 0], child_counts, r * stats.n_classes * sizeof(float64_t))
        answer = self.bound.decide(
            SplitStats(
                children, evidence.score, evidence.parent_limit, evidence.runner_up_score,
                stats.n_candidates, stats.n_feature_candidates, stats.n_candidate_features,
                stats.n_fresh, stats.time, stats.attempt, stats.depth,
            )
        )
        # (0, 0) for anything but a pair: 0 is not a bool, which raises the error below
        split, statistic = answer if type(answer) is tuple and len(answer) == 2 else (0, 0)
        if not isinstance(split, (bool, np.bool_)) or not isinstance(statistic, Real):
            raise TypeError(
                f"{type(self.bound).__name__}.decide must return a bool (split or wait) and a "
                f"number (the statistic). Got {answer!r} instead."
            )
        evidence.statistic = statistic
        return split


cdef class IntervalBound(Bound):
    """A bound that scores splits itself, by upper limits of the children's impurities."""

    def check(self):
        """See `Bound.check`."""
        super().check()
        if <void*> self.cost == <void*> IntervalBound.cost:
            raise_undefined(self, "cost")
        if <void*> self.node_begin == <void*> IntervalBound.node_begin:
            raise_undefined(self, "node_begin, which sets the limit")

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        # Upper limit of one child of a split with r outcomes, in units of `limit`.
        return 0.0

    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil:
        return 0.0

    def child_costs(self, counts, *, pool=None, outcomes=2):
        """Return the upper limits of children and their tighter lower bounds.

        `counts` has the shape (n_children, n_classes). If the costs depend on the node,
        call `evaluate` first. `pool` is the weight W of every child, None the number of
        its rows; `outcomes` is the number of outcomes of the split.
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
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        # child_limit: sum of the costs of the children, per unit of W
        evidence.parent_limit = self.limit / stats.pool
        return evidence.child_limit < evidence.parent_limit


cdef class EvidenceBound(Bound):
    """A bound that averages the evidence (a likelihood ratio) of all candidate splits."""


cdef class NodeTest(Bound):
    """A bound that tests the features of a node before it compares splits."""

    def check(self):
        """See `Bound.check`."""
        super().check()
        if <void*> self.test_values == <void*> NodeTest.test_values:
            raise_undefined(self, "test_values")
        if <void*> self.test_categories == <void*> NodeTest.test_categories:
            raise_undefined(self, "test_categories")

    # The logarithm of the p-value of a numeric feature, from its sums by class (see
    # Source.sum_by_class), and of a nominal one, from the counts of its m categories.
    cdef float64_t test_values(self, const float64_t* sums, intp_t n_classes) noexcept nogil:
        return NAN

    cdef float64_t test_categories(
        self, const float64_t* counts, intp_t m, intp_t n_classes
    ) noexcept nogil:
        return NAN


cdef class RaceBound(Bound):
    """Splits iff the best split beats its best competitor by more than `factor` radii.

    The competitors are the best split of every other feature and "no split", whose
    score is the impurity of the node. With `against_no_split`, "no split" is the only
    competitor. If `tie_threshold` is above 0 and the radius is at most that, it suffices
    that the best split beats "no split" by more than rounding errors.

    The impurity is on the scale on which two balanced classes have 1/2. The nominal
    confidence of the radius is 1 - `delta`.
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
            raise_undefined(self, "radius")

    cdef float64_t radius(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        return INFINITY

    cdef float64_t statistic(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        return 1.0 - self.delta

    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil:
        cdef float64_t no_split = evidence.parent_limit
        cdef float64_t gap
        if self.against_no_split or not evidence.runner_up_score < no_split:
            evidence.runner_up_score = no_split
            evidence.runner_up_feature = -1
        evidence.radius = self.radius(stats, child_counts, r, evidence)
        evidence.statistic = self.statistic(stats, child_counts, r, evidence)
        gap = evidence.runner_up_score - evidence.score
        # A gain over "no split" within the rounding error is not a gain.
        if not no_split - evidence.score > ROUNDING:
            return False
        if gap > self.factor * evidence.radius:
            return True
        return self.tie_threshold > 0.0 and evidence.radius <= self.tie_threshold
