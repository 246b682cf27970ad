# GrowthSettings: all parameters of the growth of a tree, resolved, typed and validated.
#
# They are immutable, so trees and threads can share them. They do not include what differs
# between trees: the seed, the rows and their weights. A growing leaf is a leaf of an
# incrementally trained tree (leaves/_contract.pxd). A cut is a candidate threshold. A bound is the
# rule that accepts or rejects splits; evidence is the statistics that it uses. W is the weight of
# a node, with its unlabeled rows, or its volume: that of its box, its limits in feature space.
# A grace period is the weight of the rows that a leaf gets between two split attempts.
#
# A number without limit is NO_LIMIT (None in Python), a weight without limit is infinity.

from skconftree.utils._typedefs cimport float64_t, intp_t

cdef extern from "Python.h":
    const intp_t NO_LIMIT "PY_SSIZE_T_MAX"

cpdef enum:
    # With fixed cuts, a leaf that inherited no statistics sets its cuts when its rows have this
    # weight.
    MIN_CUT_ROWS = 32
    # Number of best splits on other features that a split is compared with.
    MAX_STORED_COMPETITORS = 3
    # Reasons why a node is a leaf, see `LeafReason` in nodes/_state.py.
    NO_LEAF = 0
    PURE = 1
    MAX_DEPTH = 2
    MIN_SAMPLES_SPLIT = 3
    MIN_SAMPLES_LEAF = 4
    MIN_WEIGHT_FRACTION_LEAF = 5
    MIN_IMPURITY_DECREASE = 6
    MAX_LEAF_NODES = 7
    NO_CANDIDATE = 8
    REJECTED = 9
    PRUNED = 10
    MERGED = 11
    WAITING = 12
    MONOTONIC_CST = 13


cdef class GrowthSettings:
    # Candidate splits, and the decision.
    cdef readonly object criterion              # a name, class or object
    cdef readonly object bound                  # object with its parameters, or None
    cdef readonly intp_t max_features           # per split
    cdef readonly bint random_cuts              # one random cut per feature
    cdef readonly bint multiway                 # nominal splits have a branch per category
    cdef readonly tuple monotonic_cst           # -1, 0 or 1 for each feature, or None

    # Sizes. A negative weight is minus a fraction of the total weight.
    cdef readonly intp_t max_depth
    cdef readonly intp_t max_leaves
    cdef readonly float64_t min_samples_split
    cdef readonly float64_t min_samples_leaf
    cdef readonly float64_t min_weight_fraction_leaf
    cdef readonly float64_t min_impurity_decrease

    # Requirements of the bound.
    cdef readonly bint uses_pool                # unlabeled rows count for W
    cdef readonly bint by_volume                # W is the volume of a node's box
    cdef readonly bint separate                 # only rows since a leaf's creation are
                                                # evidence
    cdef readonly bint inherited_is_evidence    # except that inherited stored rows are
                                                # evidence, too
    cdef readonly bint fixed_cuts               # the cuts of a leaf do not change
    cdef readonly bint recurses                 # children try to split immediately

    # Statistics and predictions of growing leaves.
    cdef readonly bint gaussian                 # moments (mean, variance) instead of rows
    cdef readonly intp_t row_limit              # a leaf with this many rows counts them in bins
    cdef readonly intp_t stored_rows            # rows that all leaves together may store in
                                                # addition to counts
    cdef readonly intp_t max_bins               # of a feature
    cdef readonly float64_t inherited           # largest weight that a child inherits,
                                                # except as rows
    cdef readonly str leaf_prediction           # "majority", "nb" (naive Bayes) or "nba" (the
                                                # more accurate one of both)

    # Row-by-row growth.
    cdef readonly float64_t grace_period        # at first
    cdef readonly float64_t grace_limit         # its maximum; it increases over time
    cdef readonly float64_t root_grace          # grace period of the root; that of a leaf is
                                                # at least this times its share of the rows
    cdef readonly float64_t row_weight          # weight with which a row of the stream is
                                                # learned on average, at least 1
    cdef readonly object drift                  # parameters of drift detection, or None
    cdef readonly intp_t max_bytes              # memory limit of the tree
