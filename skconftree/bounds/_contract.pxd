from libc.math cimport NAN

from skconftree.criteria._impurity cimport Impurity
from skconftree.criteria._score cimport Kernel, NodeStats, Score, SplitBlock
from skconftree.utils._typedefs cimport float64_t, intp_t

# The contract between the packages `bounds` and `tree`. A bound is a split rule: it accepts or
# rejects the best candidate split of a node. Its kernel is the compiled object with its methods.
#
# At a node, a tree evaluates a Score on blocks of candidate splits (the scan), which selects
# the best one. A Bound decides whether the evidence for it suffices. Both see class counts
# and nothing else: no rows, no features. A growing leaf is a leaf of a tree that is trained
# by partial_fit; it attempts to split repeatedly. NodeStats, SplitBlock and Score are defined in
# criteria/_score.pxd, with their units; this file re-exports them.
#
# Kinds of bounds. A race bound requires that the best split beats its competitor, by default
# the best split of another feature (the runner-up), by more than a confidence radius. An interval
# bound requires that the upper limits of the children's impurities are below a lower limit of
# the node's. An evidence bound averages a measure of evidence, such as a Bayes factor, over all
# candidate splits. A node test tests features before their splits are compared. Other bounds
# are significance tests of the best split.
#
# Arguments of the methods. `child_counts` is [r, n_classes]: class counts of the r children of
# the best candidate split. `counts` are those of one child, n is their sum, and `pool` is the
# weight of the child (NodeStats.pool).
#
# Scales. With `class_weight` a node has two scales. The criterion sees every count times
# the weight of its class. A bound and its score see the same proportions, but each child
# is scaled back to the weight of its rows, because reweighting a class is not evidence.
# Without class weights the two scales are the same.
#
# Required methods. When a bound creates its kernel, check() raises an error if a required
# method is missing. The bodies of such methods in _contract.pyx are therefore never run.

cdef struct ByChance:
    # The evidence for a split as one number that all split rules share: how many candidate
    # splits of the node are expected to look as good if no feature is related to the
    # class. expect_by_chance() in _contingency.pxd computes it.
    float64_t n_candidates      # candidate splits of the node that its limits (for example
                                # min_samples_leaf) permit; may be infinite
    float64_t multiplicity      # features that have any, times those of the chosen feature;
                                # in a growing leaf times j (j + 1) / 2 at its j-th attempt
    float64_t log10_expected    # log10 of the multiplicity times the p-value


cdef struct SplitEvidence:
    # Why a split was made. Stored for every internal node; NaN = does not apply. The
    # scores are the criterion's, on its scale, per row: divided by the sum of the counts.
    float64_t score             # of the split
    float64_t runner_up_score   # of the best split of another feature, infinity if there is
                                # none; of no split if that is the only competitor, as for
                                # interval and evidence bounds
    intp_t runner_up_feature    # feature of the runner-up; -1 = no split, -2 = not set
    float64_t parent_limit      # interval bounds: the limit that the children had to stay
                                # below, per unit of pool (weight of the node with
                                # unlabeled rows, or its volume: that of its limits in
                                # feature space); else the impurity of the node, which
                                # the scan sets before decide()
    float64_t child_limit       # interval bounds: sum of the children's limits, per unit of
                                # pool
    float64_t radius            # confidence radius (race bounds), on the scale of the scores
    float64_t statistic         # the number that decided, see BaseBound.statistic_name
    ByChance by_chance          # the tree computes it unless decide() has done so
    float64_t runner_up_z       # difference of the gain from that of the best split of
                                # another feature, in standard errors; `fit` only


cdef inline void clear_evidence(SplitEvidence* evidence) noexcept nogil:
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


cdef class Bound(Kernel):
    # Kernel, the base class of scores too, stores exceptions of methods in Python until the
    # tree can raise them.
    #
    # Race bounds and significance tests define decide() only, about the best split by the
    # tree's criterion. They have no `score`; the other bounds do.
    cdef public Score score

    # Within a feature, the scan selects the best split by the score. By default, features
    # compete by these scores too. A bound with `ranks_features` has to define rank(); features
    # then compete by the rank() of their best splits, and the smallest rank wins. When rank()
    # or decide() is called, NodeStats has the number of candidate splits of the split's own
    # feature. (There may be more sets of categories than the largest float. Their number is then
    # too small, but its logarithm is correct.) n_candidate_features is set in decide() only. A
    # rank above `max_rank` need not be exact, as long as it is above `max_rank`.
    cdef public bint ranks_features
    # Whether, all else being equal, rank() of a split with two outcomes (children)
    # decreases as the gain of the criterion (impurity of the node minus score, a total)
    # increases, and rank_of_gain() computes the rank from the gain. Most features are
    # then compared by gain. Requires rank().
    cdef public bint ranks_by_gain

    # Whether may_accept() can return False; the splits of the node are then not compared.
    cdef public bint rejects_by_gain

    cdef float64_t rank(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r, float64_t max_rank,
    ) noexcept nogil
    # Whether decide() could accept a split with two outcomes (children) whose gain
    # (impurity of the node minus score, per row) is at most `gain`, and at most `lead`
    # above that of the best split of another feature, or of no split. Called before
    # splits are compared.
    cdef bint may_accept(
        self, const NodeStats* stats, float64_t gain, float64_t lead
    ) noexcept nogil
    cdef float64_t rank_of_gain(self, const NodeStats* stats, float64_t gain) noexcept nogil
    # Called once per node, before decide().
    cdef void node_begin(self, const NodeStats* stats) noexcept nogil
    # Whether the node is split.
    cdef bint decide(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        SplitEvidence* evidence,
    ) noexcept nogil


cdef class IntervalBound(Bound):
    # Splits iff the sum of the children's costs (upper limits of their impurities, times
    # their weights) is below `limit`. Requires cost(), node_begin() and `score`, a lower
    # bound of the sum of costs that is cheaper to compute (a floor). The scan discards
    # splits whose floor shows that they cannot be the best.
    cdef public float64_t limit         # lower limit of the node, set by node_begin()

    cdef float64_t cost(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil

    # A second, tighter floor of one child's cost, for splits that the score does not
    # discard; 0 = unknown.
    cdef float64_t sharp_floor(
        self, const float64_t* counts, float64_t n, float64_t pool, intp_t r
    ) noexcept nogil


cdef class EvidenceBound(Bound):
    # Averages over all candidate splits. Requires decide() and `score`, whose block() returns
    # minus the logarithm of each split's evidence. The scan computes their weighted
    # log-sum-exp, with uniform weights over features, then over the splits of a feature.
    cdef public bint chooses            # the best split is selected by its evidence
    cdef public float64_t log_evidence  # of the node, set by the scan before decide()


cdef class NodeTest(Bound):
    # Tests each feature of the node before its splits are compared. decide() then accepts or
    # rejects the best candidate split, by `score`, of the feature with the smallest p-value. The
    # tests use sums over the rows that have a value of the feature, by class and on the bound's
    # scale; decide() uses the results of the tests. Only `fit` can compute such sums.
    # Set by the scan before decide():
    cdef public float64_t log_pvalue    # logarithm of the p-value of the selected feature
    cdef public intp_t n_tested         # number of features that could be tested

    # Logarithms of p-values; NaN = the feature cannot be tested. `sums` is [3, n_classes]:
    # the weights of the rows, their values minus a constant, and the squares of these.
    # `counts` is [m, n_classes], of the m categories that occur.
    cdef float64_t test_values(self, const float64_t* sums, intp_t n_classes) noexcept nogil
    cdef float64_t test_categories(
        self, const float64_t* counts, intp_t m, intp_t n_classes
    ) noexcept nogil


cdef class RaceBound(Bound):
    cdef public intp_t n_classes
    cdef public float64_t delta             # the nominal confidence of the radius is 1 - delta
    cdef public float64_t factor            # the best split must be better by factor * radius
    cdef public float64_t tie_threshold     # if the radius is at most this, split although
                                            # other features may be equally good; 0 = never
    cdef public bint against_no_split       # the only competitor is "no split"
    cdef Impurity impurity                  # that of the criterion

    # A subclass returns the confidence radius for a split with these children, per row on
    # the scale of the impurity, and the statistic, by default the confidence 1 - delta.
    # All other fields of `evidence` are set.
    cdef float64_t radius(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil
    cdef float64_t statistic(
        self, const NodeStats* stats, const float64_t* child_counts, intp_t r,
        const SplitEvidence* evidence,
    ) noexcept nogil
