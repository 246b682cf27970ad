# The contract of scores: functions of class counts that the split search of a node, a scan,
# minimizes. Criteria (_criterion.pxd) are scores, and some bounds (split rules, see
# bounds/_contract.pxd) have scores of their own.
#
# A score depends on class counts only, not on rows or features. An outcome is a child of a split.
#
# Units. A score is a *total* over the rows of the node, to be minimized: the
# sum over the outcomes z of n_z * phi(class distribution of z), with phi
# scaled as by De Rosa and Cesa-Bianchi (phi = 1/2 for two balanced classes).
#
# Counts are doubles. Without fractional weights they are integers, so that
# their sums are exact and functions of them may be tabulated. On the bound's scale, class
# weights change the proportions of the classes, but not the total weight of the rows.
#
# Required methods. check() raises an error if a required method is missing. The bodies of
# such methods in _score.pyx are therefore never run.

from skconftree.utils._typedefs cimport float64_t, intp_t

cdef enum:
    TABLE_LIMIT = 1048576   # entries (8 bytes each) of tabulated functions of integer counts;
                            # larger counts are rare below the root


cdef inline float64_t sum_of(const float64_t* counts, intp_t n_classes) noexcept nogil:
    cdef float64_t n = 0.0
    cdef intp_t c
    for c in range(n_classes):
        n += counts[c]
    return n


cdef struct NodeStats:
    # Statistics of a node that a split rule may use.
    intp_t n_classes
    const float64_t* counts     # [n_classes] class counts of the rows that are evidence, on
                                # the bound's scale. In `fit` all rows of the node; in a leaf
                                # of a tree trained by partial_fit those that arrived after its
                                # creation or, if BaseBound.counts_every_row, all its rows
    float64_t n                 # weight of these rows: the sum of counts, unless all classes
                                # in the node have the class weight 0
    float64_t pool              # weight W of the node: n plus that of its unlabeled rows (the
                                # pool), or its volume in feature space
    float64_t n_fresh           # weight of the rows after the node's creation; n in `fit`
    float64_t n_candidates      # candidate splits compared at this node
    intp_t n_candidate_features     # features that have any, among those examined
    float64_t n_feature_candidates  # candidate splits of the feature of the split in question,
    float64_t log_feature_candidates    # and the logarithm of this
    float64_t time              # weight of the rows that the tree has seen; in `fit`, all rows
    intp_t n_features           # of the training data
    intp_t attempt              # 1, 2, ...: number of split attempts at this leaf
    intp_t depth                # 0 at the root
    bint cuts_only              # all candidates are thresholds: fewer than n per feature
    bint integral               # every count of this fit is an integer


cdef NodeStats stats_from_counts(
    const float64_t[::1] counts, float64_t n, float64_t pool, bint integral
) noexcept


cdef struct SplitBlock:
    # Candidate binary splits of one feature.
    intp_t size
    bint nested                 # each left outcome contains that of the split before
    const float64_t* left       # [size, n_classes] counts of the left outcome
    const float64_t* n_left     # [size] their sums
    const float64_t* pool_left  # [size] weight W of the left outcome; n_left without a pool
    const float64_t* phi_left   # [size] sum over classes of Score.phi(count), left outcome
    const float64_t* phi_right  # [size] the same, right outcome
                                # both NULL unless the score is additive; then left may
                                # be NULL


cdef class Kernel:
    # A score or a bound. A method that is written in Python may raise an exception, in its own
    # code or in a signal handler. The method is then called again. The exception is held
    # (stored) until the tree can raise it: after the node in `fit`, after the row in a stream.
    cdef object held            # the first exception, or None
    cdef bint has_failed        # all calls have failed, so that the result is not valid

    cdef void hold(self, error) noexcept    # store the first exception
    # Return the held exception, or None, and clear it.
    cdef object release(self)
    cdef int raise_held(self) except -1     # raise it, if any


cdef enum:
    ATTEMPTS = 3                # largest number of calls of a method that fails


cdef class Score(Kernel):
    # Requires block() and outcomes(); if additive, phi() too.
    cdef public intp_t n_classes
    cdef public bint additive   # block() can work from sums of phi() instead of class counts

    # Begin a node; compute the scores of a block of its splits; one term of an additive score;
    # the score of one split with the counts [r, n_classes] of its r outcomes.
    cdef void begin(self, const NodeStats* stats) noexcept nogil
    cdef void block(self, const SplitBlock* splits, float64_t* out) noexcept nogil
    cdef float64_t phi(self, float64_t count) noexcept nogil
    cdef float64_t outcomes(self, const float64_t* counts, intp_t r) noexcept nogil
