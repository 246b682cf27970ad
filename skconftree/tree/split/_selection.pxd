from skconftree.bounds._contract cimport (
    Bound, EvidenceBound, IntervalBound, NodeTest, Score, SplitBlock,
)
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree._settings cimport MAX_STORED_COMPETITORS
from skconftree.tree.split._candidates cimport CandidateSplits
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._scan cimport Scan, CandidateReader
from skconftree.tree.split._split cimport Cut, CompetingSplit, Split
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t, uint8_t

# Selection: stores the best candidate splits of a node, one class for each kind of bound, the
# rule that accepts or rejects a split (bounds/_contract.pxd):
#
#   BestSplits      no bound, race bounds (the best candidate must beat the best one of other
#                   features) and significance tests of a split: the best candidate, and the
#                   best ones of other features, by the criterion
#   SummedEvidence  evidence bounds, which average a Bayes factor over all candidates: in
#                   addition, the evidence of all candidates
#   TestedFeatures  node tests, which test whole features: the best candidate of the feature
#                   with the smallest p-value
#   SmallestCost    interval bounds, which compare upper limits of the impurity: the candidate
#                   with the smallest cost, which is this limit for its children
#
# Ties. A candidate replaces another only if it is better by more than tolerance_of(weight of
# the node). Among equals, the lowest feature wins, then the lowest cut. Rounding and the order
# of sums therefore decide nothing. If the bound ranks features, scores break ties of ranks.
#
# Terms. The outcomes of a split are its children. A scan is a pass over the candidates of a node,
# in blocks of at most BLOCK of them (_scan.pxd). Additive scores depend on the class counts n_c
# of an outcome only through its weight and the sum of phi(n_c); the walk over a feature (which
# reads its values in ascending order) can then update this sum instead of the counts. The pool of
# a node or child is its weight with unlabeled rows, or its volume. A cut (_split.pxd) is how a
# split divides the values of its feature. The class counts for criterion and bound may differ in
# their scales (_node.pxd).

cdef inline float64_t tolerance_of(float64_t weight) noexcept nogil:
    return 1e-10 * weight


cdef struct Best:
    # The best candidate of a feature, and statistics of all its candidates.
    float64_t score         # infinity = none
    Cut cut
    float64_t n_left        # weight of the left child, if the split is binary
    float64_t n_candidates      # number of candidates compared
    float64_t log_candidates    # its logarithm; negative = not computed
    float64_t log_evidence      # logarithm of the sum of the evidence of all candidates
                                # (evidence bounds), or of the p-value (node tests)


cdef struct Contender:
    # The best candidate of a feature, in the comparison of features.
    intp_t feature          # -1 = none
    Cut cut
    float64_t score         # infinity = none
    float64_t n_candidates      # number of candidates of the feature
    float64_t log_candidates    # its logarithm; negative = not yet computed
    float64_t rank          # by the bound; NaN = not yet computed


cdef class Selection(CandidateReader):
    cdef ExaminedNode node
    cdef readonly Criterion criterion
    cdef readonly Bound bound
    cdef Score bound_score          # None unless the bound scores candidates
    cdef Arena arena                # owns the arrays
    cdef const float64_t* criterion_phi  # tables of phi, NULL if no walk is additive
    cdef const float64_t* bound_phi
    cdef bint criterion_squares     # phi is the square
    cdef bint bound_squares
    cdef intp_t phi_size            # elements of these tables
    cdef list _phi_tables           # keeps them alive
    cdef bint compares_at_once      # features are compared immediately
    cdef intp_t step                # feature * step is the index in best_of
    cdef bint own_scale             # the bound scores candidates itself (bound_score), and
                                    # compares the best one with no split

    # The node.
    cdef Best* best_of              # [n_features], or that of the last feature only if
                                    # compares_at_once
    cdef Best* best                 # of the feature being walked
    cdef intp_t feature             # the feature being walked
    cdef bint by_bound              # candidates are scored by the bound, not the criterion
    cdef bint uses_phi_sums         # sums of phi suffice
    cdef float64_t* out             # [BLOCK] scores
    cdef float64_t* pair            # [2, n_classes] children on the bound's scale
    cdef float64_t* scaled_block    # [BLOCK, n_classes + 2] the counts of a block on that
                                    # scale, and the weights of their left outcomes
    cdef float64_t tolerance        # see "Ties"
    cdef float64_t parent_score     # score of no split

    # Called after `node` has been set to another node.
    cdef void begin(self) noexcept nogil
    # Walk a feature, and return the number of candidates; 0 if it is constant in the node.
    cdef intp_t examine(self, intp_t feature, CandidateSplits candidates) noexcept nogil
    # Clear what is stored of a feature.
    cdef void begin_feature(self, intp_t feature) noexcept nogil
    # Called after a feature that is not constant has been examined.
    cdef void after_examine(self, intp_t feature, CandidateSplits candidates) noexcept nogil
    # Set the feature, cut and evidence of the best candidate of the visited features, which
    # are sorted. Afterwards the node's stats have the number of candidates of its feature.
    cdef void choose(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil
    # Set the same for the best candidate of a feature that was not chosen. False if it has
    # none, or if the selection stores the chosen candidate only.
    cdef bint describe_other(
        self, CandidateSplits candidates, intp_t feature, const Split* chosen, Split* split
    ) noexcept nogil

    # Set `out` to the scores of the candidates in the block of the scan.
    cdef void _score(self, Scan scan) noexcept nogil


cdef class BestSplits(Selection):
    cdef bint by_node_test          # features compete by their p-values
    cdef bint ranks                 # the bound ranks the features,
    cdef bint ranks_by_gain         # and does not need the children for it
    cdef Contender first
    cdef Contender competitors[MAX_STORED_COMPETITORS]  # of other features, the best first

    # Compare the best candidate of a feature with those of earlier features; drop the last
    # competitor, and shift those from `position` on.
    cdef void _compare(self, intp_t feature, CandidateSplits candidates) noexcept nogil
    cdef void _drop_last_from(self, intp_t position) noexcept nogil


# SmallestCost: the selection of interval bounds. The candidate with the smallest cost wins.
# The cost is the bound's upper limit of the children's impurity, which is expensive. A first scan
# computes, for each feature, the smallest floor: a floor is a cheap lower limit of the cost
# (IntervalBound.score). Then features are scanned again in the order of their floors, each
# with its most promising candidate first. Costs are computed only for
# candidates whose floor is below the cost of the incumbent, the best candidate so far.

cdef class SmallestCost(Selection):
    cdef IntervalBound interval     # the bound
    cdef bint in_second_scan
    cdef float64_t incumbent        # cost of the best candidate so far
    cdef intp_t incumbent_feature   # -1 = the parent's limit
    cdef Cut incumbent_cut
    cdef CompetingSplit floors[MAX_STORED_COMPETITORS + 1]  # smallest floors, ascending


# SummedEvidence: the selection of evidence bounds. The evidence is averaged over the
# candidates of a feature, then over features. The best candidate is selected by its evidence
# if the bound `chooses`, else by the criterion in a second scan.

cdef class SummedEvidence(BestSplits):
    cdef EvidenceBound evidence     # the bound
    cdef bint sums                  # in the first scan, which sums the evidence
    cdef float64_t peak             # smallest score (minus the log evidence) so far in the node
    cdef float64_t max_gap          # scores that exceed it by more are negligible
    cdef float64_t total            # log of the sum of the evidence over the features


# TestedFeatures: the selection of node tests. The p-value of a feature is its rank.

cdef class TestedFeatures(BestSplits):
    cdef NodeTest test              # the bound
    cdef float64_t* sums            # [3 or n_categories, n_classes] of the feature examined,
                                    # see Source.sum_by_class (_scan.pxd)
    cdef float64_t* rough           # rough sums of all features, see Source.sum_roughly; or NULL
    cdef uint8_t* states            # [n_features] COUNTED, WALKED or RANKED (_selection.pyx)
    cdef int32_t* counted           # [n_features] features tested last

    # Walk the features with the smallest p-values: the best one and the stored competitors.
    cdef void _walk_best_features(
        self, CandidateSplits candidates, const int32_t* visited, intp_t n_visited
    ) noexcept nogil
