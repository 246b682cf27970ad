# GrowthSettings: every parameter of a growth, resolved, typed and checked, once.
#
# Nothing in it changes, so that trees share it, whatever threads they grow in. What
# differs from tree to tree is elsewhere: the seed, the rows and their weights.
#
# A number without limit is NO_LIMIT, None in Python; a weight, infinity.

from skconftree.utils._typedefs cimport float64_t, intp_t

cdef extern from "Python.h":
    const intp_t NO_LIMIT "PY_SSIZE_T_MAX"

cpdef enum:
    # Weight of the rows of a leaf without a past that set its cuts, if they are fixed.
    FIRST_CUTS = 32
    # Tests of other attributes that a split is compared with.
    MAX_STORED_COMPETITORS = 3
    # Why a node is a leaf, see `LeafReason`.
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


cdef class GrowthSettings:
    # What is searched, and who decides.
    cdef readonly str criterion
    cdef readonly object bound                  # parameter object, or None
    cdef readonly intp_t max_features           # examined at a node
    cdef readonly bint random_cuts
    cdef readonly bint multiway                 # a nominal test has a branch a category

    # Sizes. A weight below 0 is minus a fraction of all weight.
    cdef readonly intp_t max_depth
    cdef readonly intp_t max_leaves
    cdef readonly float64_t min_samples_split
    cdef readonly float64_t min_samples_leaf
    cdef readonly float64_t min_weight_fraction_leaf
    cdef readonly float64_t min_impurity_decrease

    # What the bound asks for.
    cdef readonly bint uses_pool                # rows without label count towards W
    cdef readonly bint by_volume                # W is the volume of a node's box
    cdef readonly bint separate                 # only rows since a leaf's creation are
                                                # evidence
    cdef readonly bint hands_over               # and those that its parent has kept
    cdef readonly bint fixed_cuts               # a leaf's candidate cuts are set once
    cdef readonly bint recurses                 # children of a split are examined at
                                                # once

    # What growing leaves remember and predict.
    cdef readonly bint gaussian                 # moments, not rows
    cdef readonly intp_t row_limit              # rows after which they are counted
    cdef readonly intp_t stored_rows              # of all leaves that are kept beside
                                                # counts
    cdef readonly intp_t max_bins               # of a feature
    cdef readonly float64_t inherited           # largest weight that a child takes
                                                # over, unless rows
    cdef readonly str leaf_prediction

    # Growth row by row.
    cdef readonly float64_t grace_period
    cdef readonly float64_t grace_limit         # to which it grows with the stream,
    cdef readonly float64_t root_grace          # of the root, of which a leaf has its
                                                # share, if that is more,
    cdef readonly float64_t row_weight          # in rows that weigh as much in the mean
    cdef readonly object drift                  # parameter object, or None
    cdef readonly intp_t max_bytes
