# Splitter: finds the best test of a node and asks the bound about it.
#
# The Scan base class walks each feature and emits blocks of tests; a Score
# evaluates a block; take() reduces it to what the bound needs: the best test of
# the feature, the summed evidence of its tests, or, for an interval bound, the
# tests that may beat the incumbent.
#
# Ties. A test replaces another only if it is better by more than
# TIE * (weight of the node); among equals the lowest feature, then the lowest
# cut, wins. So rounding, and the order of a sum, decide nothing.
#
# Three scales of class counts (equal unless class_weight is given): as they are
# (`counts`), reweighted (`seen`: the criterion's) and reweighted but scaled back
# to the node's own total (`facts`: the bound's).

from skconftree.bounds._contract cimport (
    Bound, EvidenceBound, IntervalBound, NodeFacts, Score, SplitEvidence, TestBlock,
)
from skconftree.tree._columns cimport Column, Columns
from skconftree.tree._criterion cimport Criterion
from skconftree.tree._scan cimport Scan
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t, uint8_t, uint32_t, uint64_t,
)

cdef enum Kind:
    PLAIN       # no bound
    RACE        # race bounds and tests
    INTERVAL
    EVIDENCE

cdef enum Reducer:
    KEEP_BEST
    SUM_EVIDENCE
    CHALLENGE


cdef struct NodeRecord:
    # A node that waits to be examined or split.
    intp_t id
    intp_t start
    intp_t end
    intp_t depth
    float64_t pool          # weight W: labelled and unlabelled rows, or volume
    int32_t* features       # not yet known to be constant; owned
    intp_t n_features
    float64_t* box          # [n_features of X, 2] limits, only if W is a volume; owned


cdef struct Split:
    intp_t feature          # -1 = no split
    intp_t cut              # rows that go left (sorted) or largest code that does (coded)
    float64_t threshold
    float64_t improvement   # weighted impurity decrease, as in scikit-learn
    SplitEvidence evidence


cdef class Splitter(Scan):
    cdef readonly Columns columns
    cdef readonly Criterion criterion
    cdef readonly Bound bound
    cdef IntervalBound interval     # the bound, if it is one
    cdef EvidenceBound evidence     # the bound, if it is one
    cdef Score bound_score          # of either
    cdef Kind kind
    cdef const float64_t* criterion_phi     # tables of phi, NULL where no walk is additive
    cdef const float64_t* bound_phi
    cdef intp_t phi_size
    cdef intp_t max_features
    cdef bint random_cuts
    cdef bint has_pool          # rows without label count towards W
    cdef bint by_volume         # W is the volume of the node's box
    cdef bint integral          # every count is a whole number
    cdef float64_t min_weight   # of a child
    cdef float64_t min_seen_weight      # of a child, reweighted by class
    cdef float64_t min_impurity_decrease
    cdef float64_t total_weight # of the root, reweighted by class
    cdef float64_t time         # rows given to fit
    cdef uint64_t seed
    cdef const float64_t* class_weight      # [n_classes], or NULL
    cdef object _owners

    # The node being examined.
    cdef NodeRecord* node
    cdef const float64_t* counts    # [n_classes] as they are
    cdef float64_t n
    cdef NodeFacts seen
    cdef NodeFacts facts
    cdef float64_t tie
    cdef float64_t* children        # [2, n_classes] counts of the chosen test
    cdef float64_t child_pool[2]
    cdef intp_t n_left_rows         # of the chosen test

    # Per feature, of the current node.
    cdef float64_t* best_score      # infinity if the feature has no test
    cdef intp_t* best_cut
    cdef float64_t* n_tests
    cdef float64_t* log_evidence
    cdef int32_t* visited           # features scanned, ascending once all are
    cdef intp_t n_visited

    # The scan of one feature.
    cdef Reducer reducer
    cdef bint by_bound              # scored by the bound, not the criterion
    cdef intp_t feature
    cdef bint filters               # tests may leave a child below min_weight
    cdef float64_t* out             # [BLOCK]
    cdef float64_t* profile         # [MAX_LEVELS, n_classes + 1]
    cdef int32_t* tally             # the same before conversion, unweighted
    cdef const uint8_t* run_codes   # codes of the run's rows, or NULL
    cdef uint32_t* run              # [RUN_LIMIT] sorted entries of a small node
    cdef uint32_t* keys             # [RUN_LIMIT]

    # The incumbent of an interval bound.
    cdef float64_t incumbent
    cdef intp_t incumbent_feature   # -1 = the parent's limit
    cdef intp_t incumbent_cut
    cdef float64_t* scaled          # [4, n_classes] counts on another scale

    cdef void find(
        self, NodeRecord* node, const float64_t* counts, Split* split
    ) noexcept nogil
    cdef void count_children(self, intp_t feature, intp_t cut) noexcept nogil
    cdef float64_t _to_seen(
        self, const float64_t* counts, float64_t* seen
    ) noexcept nogil
    cdef const float64_t* _additive_phi(self, Score score)
    cdef void _begin(self, NodeRecord* node, const float64_t* counts) noexcept nogil
    cdef void _visit_features(self) noexcept nogil
    cdef intp_t _scan(self, int32_t feature) noexcept nogil
    cdef void _fill_profile(
        self, const uint8_t* codes, intp_t n, intp_t n_levels
    ) noexcept nogil
    cdef void _sort_codes(
        self, const uint8_t* codes, intp_t n, intp_t n_levels
    ) noexcept nogil
    cdef intp_t _scan_random_cut(self, intp_t feature) noexcept nogil
    cdef float64_t _random_threshold(
        self, intp_t feature, float32_t low, float32_t high
    ) noexcept nogil
    cdef void _labelled_range(
        self, intp_t feature, float32_t* low, float32_t* high
    ) noexcept nogil
    cdef intp_t _cut_at(self, intp_t feature, float64_t threshold) noexcept nogil
    cdef intp_t _drop_small_children(self, intp_t size) noexcept nogil
    cdef float64_t _seen_weight(
        self, const float64_t* counts, float64_t n
    ) noexcept nogil
    cdef void _score_reweighted(self, intp_t size) noexcept nogil
    cdef void _scale_children(self, intp_t i) noexcept nogil
    cdef void _keep_best(self, intp_t size) noexcept nogil
    cdef void _add_evidence(self, intp_t size) noexcept nogil
    cdef void _choose(self, Split* split) noexcept nogil
    cdef void _sum_evidence(self) noexcept nogil
    cdef void _challenge(self, Split* split) noexcept nogil
    cdef void _challenge_with(self, intp_t size) noexcept nogil
    cdef void _offer(
        self, intp_t feature, intp_t cut, float64_t pool_left, float64_t pool_right
    ) noexcept nogil
    cdef void _set_improvement(self, Split* split) noexcept nogil
    cdef float64_t _threshold(self, intp_t feature, intp_t cut) noexcept nogil
    cdef float64_t _left_volume(self, intp_t feature, intp_t cut) noexcept nogil
    cdef void _to_bound(
        self, const float64_t* counts, float64_t* scaled
    ) noexcept nogil
