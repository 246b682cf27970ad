from libc.math cimport NAN

from skconftree.criteria._impurity cimport Impurity
from skconftree.criteria._score cimport NodeStats, Score, TestBlock
from skconftree.utils._typedefs cimport float64_t, intp_t

# The contract between the rooms `bounds` and `tree`.
#
# A tree asks two questions at a node: which test is best (a Score, evaluated
# on blocks of candidate tests) and whether the evidence for it suffices (a
# Bound). Both see class counts and nothing else: no rows, no features. NodeStats,
# TestBlock and Score are in criteria/_score.pxd, with the units and what counts are;
# who cimports this file sees them here. SplitEvidence has scores per row, that is divided
# by the sum of the counts the score was given.
#
# Scales. `class_weight` gives a node two scales. The criterion sees every count times the
# weight of its class. A bound, its score included, sees proportions of that kind too, but
# scaled back, each child for itself, to the weight of rows behind them: reweighting a
# class is no evidence. Without class weights the two are the same.
#
# What has to be there. A method without which a class is of no use is looked for by
# check(), when a bound makes its kernel; the bodies in _contract.pyx are never run then.

cdef struct ByChance:
    # The evidence for a split as one number, whichever rule chose it: how many candidate
    # splits of the node are expected to look as good if no feature is related to the
    # class. expect_by_chance() in _contingency.pxd computes it.
    float64_t n_candidates      # admissible candidate splits of the node; may be infinite
    float64_t multiplicity      # features that have any, times those of the chosen feature;
                                # in a growing leaf times j (j + 1) / 2 at its j-th attempt
    float64_t log10_expected    # log10 of the multiplicity times the p-value


cdef struct SplitEvidence:
    # Why a split was made. Stored for every internal node; NaN = does not apply. The
    # scores are the criterion's, on its scale, per row.
    float64_t score             # of the test made
    float64_t runner_up_score   # of the best test of another attribute, infinity if there
                                # is none; of no split where that is the only competitor,
                                # as it is for interval and evidence bounds
    intp_t runner_up_feature    # attribute of the runner-up; -1 = no split
    float64_t parent_limit      # interval bounds: what the children had to stay below, per
                                # unit of pool; else the impurity of the node, which the
                                # scan fills in before decide()
    float64_t child_limit       # the children's limit (interval bounds), per unit of pool
    float64_t radius            # confidence radius (race bounds), on the scale of the scores
    float64_t statistic         # what the bound decided by, see BaseBound.statistic_name
    ByChance by_chance          # the tree computes it unless decide() has done so
    float64_t runner_up_z       # how much more the test gains than the best test of
                                # another attribute, in standard errors; batch only


cdef inline void clear_evidence(SplitEvidence* evidence) noexcept nogil:
    # Nothing applies.
    evidence.score = NAN
    evidence.runner_up_score = NAN
    evidence.runner_up_feature = -2
    evidence.parent_limit = NAN
    evidence.child_limit = NAN
    evidence.radius = NAN
    evidence.statistic = NAN
    evidence.by_chance.n_candidates = NAN
    evidence.by_chance.multiplicity = NAN
    evidence.by_chance.log10_expected = NAN
    evidence.runner_up_z = NAN


cdef class Bound:
    # Race bounds and tests: decide() alone, about the best test by the tree's criterion.
    # They have no `score`: only that of an interval or evidence bound is scanned.
    cdef public Score score

    # Within an attribute the scan keeps the best test by the score. Attributes compete
    # by those scores too, unless the bound ranks them: then by rank() of their best
    # tests, the smallest first, which it then has to define. For rank() and decide()
    # NodeStats holds the number of candidate tests of the test's own attribute (sets of
    # categories can be more than a float holds: then the logarithm is right and the
    # number too small); n_varying is known to decide() alone. Ranks above `most` need
    # not be right, only above it.
    cdef public bint ranks_attributes
    # Whether rank() of a test with two outcomes falls as the criterion's gain (impurity
    # of the node minus score, a total) grows, all else being equal, and rank_of_gain()
    # knows it from that. So most attributes need not be asked about. Needs rank().
    cdef public bint ranks_by_gain

    # Whether may_accept() can say no, which spares the comparison of tests.
    cdef public bint waits_by_gain

    cdef float64_t rank(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        float64_t most,
    ) noexcept nogil
    # Whether decide() could say yes to a test, of two outcomes, that gains no more than
    # `gain` (impurity of the node minus score, per row) and no more than `lead` above
    # the best test of another attribute, or no split. Before any test is compared.
    cdef bint may_accept(
        self, const NodeStats* facts, float64_t gain, float64_t lead
    ) noexcept nogil
    cdef float64_t rank_of_gain(
        self, const NodeStats* facts, float64_t gain
    ) noexcept nogil
    cdef void node_begin(self, const NodeStats* facts) noexcept nogil
    cdef bint decide(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil
    cdef void judge(
        self, const NodeStats* facts, const float64_t* child_counts,
        const float64_t* child_pool, intp_t r, SplitEvidence* evidence,
        float64_t* floors,
    ) noexcept


cdef class IntervalBound(Bound):
    # Splits iff the sum of the children's costs is below `limit`. Needs cost(),
    # node_begin() and `score`, a certified floor: for every test, floor <= cost. The
    # scan uses it only to discard tests that cannot win.
    cdef public float64_t limit         # set by node_begin

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil

    # A second, tighter floor of one child's cost, for the tests that `score`
    # lets through; 0 = unknown.
    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil


cdef class EvidenceBound(Bound):
    # Averages over all candidates. Needs decide() and `score`, whose block() gives minus
    # the logarithm of each test's evidence; the scan accumulates their weighted
    # log-sum-exp, with weights uniform over attributes, then over the tests of an
    # attribute.
    cdef public bint chooses            # the evidence also chooses the test
    cdef public float64_t log_evidence  # of the node, set by the scan before decide()


# Race bounds: the best test must beat its best competitor by more than a radius.

cdef class RaceBound(Bound):
    cdef public intp_t n_classes
    cdef public float64_t delta
    cdef public float64_t factor            # a gap must exceed factor * radius
    cdef public float64_t tie_threshold     # 0 = never split a tie
    cdef public bint against_no_split       # the only competitor is "no split"
    cdef Impurity impurity

    # A subclass gives the radius of the statement about a test with these children,
    # [r, n_classes], per row on the scale of the impurity, and, if it is not
    # 1 - delta, its confidence as the statistic. `evidence` is complete but for these two.
    cdef float64_t radius(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil
    cdef float64_t statistic(
        self, const NodeStats* facts, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil
