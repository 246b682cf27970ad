from skconftree.bounds._contract cimport (
    Bound, EvidenceBound, IntervalBound, Score, TestBlock,
)
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree._settings cimport MAX_STORED_COMPETITORS
from skconftree.tree.split._candidates cimport NodeTests
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._scan cimport Scan, TestReader
from skconftree.tree.split._split cimport Cut, CompetitorTest, Split
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t

# Selection: what is kept of the tests of a node, one kind for each kind of bound:
#
#   BestTests       no bound, races and tests: the best test, and the best ones of other
#                   attributes, by the criterion (here)
#   SummedEvidence  evidence bounds: those, and the evidence of all tests together
#   Challengers     interval bounds: the test with the smallest cost
#
# Ties. A test replaces another only if it is better by more than tie_of(weight of the
# node); among equals the lowest feature, then the lowest cut, wins. So rounding, and the
# order of a sum, decide nothing. Where the bound ranks the attributes, equal ranks leave
# it to the scores.

cdef inline float64_t tie_of(float64_t weight) noexcept nogil:
    return 1e-10 * weight


cdef struct Best:
    # The best test of an attribute, and what all its tests say together.
    float64_t score         # infinity = none
    Cut cut
    float64_t n_left        # weight of the left child, if the test is binary
    float64_t n_tests       # compared
    float64_t log_tests     # their logarithm; negative = not taken
    float64_t log_evidence


cdef struct Contender:
    # The best test of an attribute, in the contest of attributes.
    intp_t feature          # -1 = none
    Cut cut
    float64_t score         # infinity = none
    float64_t n_tests       # of the attribute
    float64_t log_tests     # their logarithm; negative = not taken yet
    float64_t rank          # by the bound; NaN = not asked for yet


cdef class Selection(TestReader):
    cdef ExaminedNode node
    cdef readonly Criterion criterion
    cdef readonly Bound bound
    cdef Score bound_score          # None unless the bound scores tests
    cdef Arena arena
    cdef const float64_t* criterion_phi     # tables of phi, NULL where no walk is additive
    cdef const float64_t* bound_phi
    cdef bint criterion_squares     # phi is the square
    cdef bint bound_squares
    cdef intp_t phi_size
    cdef list _tables
    cdef bint at_once               # attributes are compared as they come,
    cdef intp_t step                # feature * step is its place in best_of
    cdef bint own_scale             # the bound compares the best test with no split, on
                                    # a scale of its own

    # The node.
    cdef Best* best_of              # [n_features]; of the last one only if at_once
    cdef Best* best                 # of the feature being walked
    cdef intp_t feature             # that is
    cdef bint by_bound              # tests are scored by the bound, not the criterion,
    cdef bint adds                  # and sums of phi will do
    cdef float64_t* out             # [BLOCK] scores
    cdef float64_t* pair            # [2, n_classes] children on the bound's scale
    cdef float64_t* shrunk          # [BLOCK, n_classes + 2] the counts of a block on that
                                    # scale, and the weights of their left outcomes
    cdef float64_t tie
    cdef float64_t whole            # score of no split

    # A node has been entered.
    cdef void begin(self) noexcept nogil
    # Walk an attribute afresh; 0 if it is constant in the node.
    cdef intp_t examine(self, intp_t feature, NodeTests tests) noexcept nogil
    # An attribute that varies has been examined.
    cdef void keep(self, intp_t feature, NodeTests tests) noexcept nogil
    # Set the feature, cut and evidence of the test chosen among the features visited,
    # in ascending order. The node's facts have the number of tests of its feature then.
    cdef void choose(
        self, NodeTests tests, const int32_t* visited, intp_t n_visited, Split* split
    ) noexcept nogil
    # Set the same for the best test of one attribute, beside the test chosen. False if
    # it has none, or if nothing is kept of an attribute that was not chosen.
    cdef bint propose(
        self, NodeTests tests, intp_t feature, const Split* chosen, Split* split
    ) noexcept nogil

    cdef void _score(self, Scan scan) noexcept nogil


cdef class BestTests(Selection):
    cdef bint ranks                 # the bound ranks the attributes,
    cdef bint ranks_by_gain         # and need not see the children for it
    cdef Contender first
    cdef Contender competitors[MAX_STORED_COMPETITORS]  # the best of the others, the best first

    cdef void _weigh(self, intp_t feature, NodeTests tests) noexcept nogil
    cdef void _ensure_capacity(self, intp_t place) noexcept nogil


# Challengers: the selection of interval bounds. A test wins by its cost, the bound's
# upper limit of the children, which is dear. A first scan finds the smallest floor of
# each attribute; then attributes come in the order of their floors, each with its most
# promising test first, and only tests whose floor is below the incumbent's cost are
# asked for theirs.

cdef class Challengers(Selection):
    cdef IntervalBound interval     # the bound
    cdef bint challenging           # in the second scan
    cdef float64_t incumbent        # its cost
    cdef intp_t incumbent_feature   # -1 = the parent's limit
    cdef Cut incumbent_cut
    cdef CompetitorTest floors[MAX_STORED_COMPETITORS + 1]  # the smallest, the smallest first


# SummedEvidence: the selection of evidence bounds. The evidence of all tests is averaged,
# over the tests of an attribute, then over attributes; the test itself is the best by
# the evidence or, unless the bound chooses, by the criterion in a second scan.

cdef class SummedEvidence(BestTests):
    cdef EvidenceBound evidence     # the bound
    cdef bint sums                  # in the scan that sums
    cdef float64_t peak             # smallest score of the node so far
    cdef float64_t reach            # how far above it evidence still counts
    cdef float64_t total            # log of the sum over attributes
