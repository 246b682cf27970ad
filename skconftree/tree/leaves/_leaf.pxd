# Leaf: what a growing leaf remembers of its rows, and how it forgets.
#
# ROWS keeps them, HISTOGRAM counts them per class and bin, GAUSSIAN keeps moments
# per class, NOTHING keeps no more than the counts in the tree. A leaf of rows may
# turn into a histogram, any leaf into NOTHING.
#
# Two sets of statistics. `held` is everything the leaf knows, what it took over
# from its parent included: predictions rest on it, and the splits of bounds that
# count every row. `fresh` counts only rows that came after the leaf was created:
# the evidence of all other bounds (Policy.separate), and a model of its own. Where
# both are the same, or nobody asks, pointers to the fresh ones are NULL. A leaf whose
# own rows outweigh by far what it took over forgets the latter.
#
# Every function returns False, and changes nothing a reader would notice, if
# memory cannot be had.

from skconftree.tree.leaves._histogram cimport Bins
from skconftree.tree.leaves._moments cimport Moments
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t,
)

cdef enum Memory:
    NOTHING
    ROWS
    HISTOGRAM
    GAUSSIAN


cdef struct Policy:
    # What all leaves of a tree have in common.
    intp_t n_features
    intp_t n_classes
    Memory first            # memory of a new leaf without a past
    intp_t row_limit        # rows after which ROWS turns into HISTOGRAM, or NO_LIMIT
    intp_t max_bins         # of a feature
    bint separate           # only rows since the leaf's creation are evidence
    bint fixed_cuts         # a leaf's candidate cuts are set once
    bint bayes              # leaves may predict by naive Bayes
    float64_t inherited     # largest weight that a child takes over, unless rows
    bint missing            # a row with a missing value has been seen
    intp_t n_nominal
    const int32_t* nominal  # [n_nominal] features
    int32_t* n_codes        # [n_features] categories seen, -1 if numeric; or NULL


cdef struct Leaf:
    intp_t node
    Memory memory
    intp_t attempt              # how often it has been examined
    float64_t n_fresh           # weight of the rows since its creation
    float64_t n_examined        # n_fresh at the last attempt
    float64_t n_held
    float64_t hits[4]           # weight of late rows that each model predicted
    float64_t* fresh            # [n_classes]
    float64_t* held             # [n_classes]
    float64_t* recent           # [n_classes] counts that fade with every row

    intp_t n_rows               # ROWS
    intp_t n_inherited          # of them, the first ones
    intp_t room
    float32_t* x                # [room, n_features]
    label_t* y                  # [room]
    float64_t* weight           # [room], or NULL if all are 1

    Bins bins                   # HISTOGRAM, and ROWS with fixed cuts
    float64_t* histogram          # [n_bins, n_classes] held
    float64_t* fresh_histogram

    Moments moments             # GAUSSIAN, and ROWS that predict by naive Bayes: held
    Moments fresh_moments
    float64_t* span             # [n_features, 2] GAUSSIAN with fixed cuts: their range

    int32_t* pool               # rows of X_pool in the leaf
    intp_t n_pool
    float64_t* box              # [n_features, 2], only if W is a volume


cdef Leaf* new_leaf(const Policy* policy, intp_t node) noexcept nogil
cdef void release_leaf(Leaf* leaf, const Policy* policy) noexcept nogil
cdef void forget(Leaf* leaf, const Policy* policy) noexcept nogil
cdef intp_t leaf_bytes(const Leaf* leaf, const Policy* policy) noexcept nogil
cdef bint open_codes(Leaf* leaf, const Policy* policy) noexcept nogil
cdef bint reserve_rows(Leaf* leaf, const Policy* policy, intp_t n) noexcept nogil
cdef bint append_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight
) noexcept nogil
cdef bint add_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) noexcept nogil
cdef bint change_memory(Leaf* leaf, const Policy* policy) noexcept nogil
cdef bint fix_span(Leaf* leaf, const Policy* policy) noexcept nogil
cdef bint make_room(
    Leaf* leaf, const Policy* policy, const float32_t* x
) noexcept nogil
cdef bint start_fresh(Leaf* leaf, const Policy* policy) noexcept nogil
