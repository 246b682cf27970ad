# Splitter: finds the best test of a node and asks the bound about it.
#
# The base class walks each feature and emits blocks of tests; a Score evaluates
# a block; reduce() keeps what the bound needs: the best test of the feature, the
# summed evidence of its tests, or, for an interval bound, the tests that may
# beat the incumbent.
#
# Ties. A test replaces another only if it is better by more than
# TIE * (weight of the node); among equals the lowest feature, then the lowest
# cut, wins. So rounding, and the order of a sum, decide nothing. Where the bound ranks
# the attributes, equal ranks leave it to the scores.

from skconftree.bounds._contract cimport (
    Bound, EvidenceBound, IntervalBound, Score, SplitEvidence,
)
from skconftree.tree.split._criterion cimport Criterion
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._nominal cimport NominalScan
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t, uint64_t

cdef enum Kind:
    PLAIN       # no bound
    RACE        # race bounds and tests
    INTERVAL
    EVIDENCE

cdef enum Reducer:
    KEEP_BEST
    SUM_EVIDENCE
    CHALLENGE


cdef struct Contender:
    # The best test of an attribute.
    intp_t feature          # -1 = none
    intp_t cut
    float64_t score         # infinity = none
    float64_t n_tests       # of the attribute
    float64_t log_tests     # their logarithm; negative = not taken yet
    float64_t rank          # by the bound; NaN = not asked for yet


cdef struct Split:
    intp_t feature          # -1 = no split
    intp_t cut
    float64_t threshold
    float64_t improvement   # weighted impurity decrease, as in scikit-learn
    SplitEvidence evidence


cdef class Splitter(NominalScan):
    cdef readonly Criterion criterion
    cdef readonly Bound bound
    cdef IntervalBound interval     # the bound, if it is one
    cdef EvidenceBound evidence     # the bound, if it is one
    cdef Score bound_score          # of either
    cdef Kind kind
    cdef bint ranks                 # the bound ranks the attributes,
    cdef bint ranks_by_gain         # and need not see the children for it
    cdef const float64_t* criterion_phi     # tables of phi, NULL where no walk is additive
    cdef const float64_t* bound_phi
    cdef intp_t phi_size
    cdef list _tables
    cdef intp_t max_features
    cdef float64_t min_impurity_decrease
    cdef float64_t total_weight     # of the root, reweighted by class

    # Per feature, of the current node; if features are compared as they come, of the
    # last one only.
    cdef bint at_once               # they are compared as they come
    cdef intp_t step                # feature * step is its place in these arrays
    cdef intp_t slot                # place of the feature being walked
    cdef float64_t* best_score      # infinity if the feature has no test
    cdef float64_t* best_n_left     # weight of the left child of the best binary test
    cdef intp_t* best_cut
    cdef float64_t* n_tests
    cdef float64_t* log_tests       # its logarithm; negative = not taken
    cdef float64_t* log_evidence
    cdef float64_t peak             # smallest score of the node so far
    cdef float64_t reach            # how far above it evidence still counts
    cdef int32_t* visited           # features walked, ascending once all are
    cdef intp_t n_visited
    cdef int32_t* sample            # [n_features] the same if it is a random sample

    # The features compared so far.
    cdef Contender best
    cdef Contender rival            # the best of the others
    cdef float64_t whole            # score of no split
    cdef float64_t total_evidence   # log of the sum over features
    cdef intp_t n_tested            # features with tests

    # The walk of one feature.
    cdef Reducer reducer
    cdef bint by_bound              # scored by the bound, not the criterion
    cdef float64_t* out             # [BLOCK]
    cdef float64_t tie

    # The incumbent of an interval bound.
    cdef float64_t incumbent
    cdef intp_t incumbent_feature   # -1 = the parent's limit
    cdef intp_t incumbent_cut

    cdef void find(
        self, NodeRecord* node, const float64_t* counts, Split* split
    ) noexcept nogil
    cdef const float64_t* _additive_phi(self, Score score)
    cdef void _visit_features(self) noexcept nogil
    cdef intp_t _examine(self, int32_t feature) noexcept nogil
    cdef void _score_reweighted(self, intp_t size) noexcept nogil
    cdef void _scale_children(self, intp_t i) noexcept nogil
    cdef void _keep_best(self, intp_t size) noexcept nogil
    cdef void _add_evidence(self, intp_t size) noexcept nogil
    cdef void _forget_choice(self) noexcept nogil
    cdef void _weigh(self, intp_t feature) noexcept nogil
    cdef bint _wins(self, Contender* later, Contender* earlier) noexcept nogil
    cdef bint _knows_by_gain(self, const Contender* one) noexcept nogil
    cdef void _tell_tests(self, Contender* one) noexcept nogil
    cdef void _ask_rank(self, Contender* one, float64_t most) noexcept nogil
    cdef void _choose(self, Split* split) noexcept nogil
    cdef void _take_ratios(self) noexcept nogil
    cdef void _add_feature_evidence(self) noexcept nogil
    cdef void _sum_evidence(self) noexcept nogil
    cdef void _challenge(self, Split* split) noexcept nogil
    cdef void _challenge_with(self, intp_t size) noexcept nogil
    cdef void _offer(
        self, intp_t feature, intp_t cut, float64_t pool_left, float64_t pool_right
    ) noexcept nogil
    cdef void _install_if_better(
        self, intp_t feature, intp_t cut, float64_t cost
    ) noexcept nogil
    cdef void _offer_multiway(self) noexcept nogil
    cdef void _scale_outcomes(self) noexcept nogil
    cdef float64_t _outcome_entropy(self, intp_t feature) noexcept nogil
    cdef void _set_improvement(self, Split* split) noexcept nogil
