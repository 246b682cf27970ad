from skconftree.tree.leaves._bins cimport NOMINAL, Bins, n_value_bins
from skconftree.tree.leaves._moments cimport Moments
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, int64_t, intp_t, label_t, uint64_t,
)

# A growing leaf is a leaf of an incrementally trained tree. Its memory is the form in which it
# stores the statistics of its rows: the rows, class counts of bins, or moments. A cut is a
# candidate threshold. A bound is the rule that accepts or rejects splits; evidence is the
# statistics that it uses. A policy has the settings that all leaves of a tree share. A code is
# the integer of a category, an outcome of a split the index of a child. The pool is the unlabeled
# rows; W is the weight of a leaf, with its unlabeled rows, or its volume: that of its box, its
# limits in feature space.
#
# LeafSplit: the split of a growing leaf.

cdef struct LeafSplit:
    intp_t feature
    intp_t n_outcomes
    intp_t cut                  # the last bin of values that goes to the left
    float64_t threshold
    bint missing_left
    const int16_t* child_of_code  # outcome of each category, -1: not seen; NULL if numeric
    intp_t n_codes
    intp_t unknown              # outcome of a category that was not seen before
    const float64_t* pool       # W of each outcome: weight with unlabeled rows, or volume


cdef inline intp_t outcome_of(const LeafSplit* leaf_split, float32_t value) noexcept nogil:
    cdef intp_t outcome = -1
    if leaf_split.child_of_code != NULL:
        if value >= 0.0 and value < leaf_split.n_codes:
            outcome = leaf_split.child_of_code[<intp_t> value]
        return leaf_split.unknown if outcome < 0 else outcome
    if value != value:
        return 0 if leaf_split.missing_left else 1
    return value > leaf_split.threshold


cdef inline intp_t outcome_of_bin(
    const LeafSplit* leaf_split, const Bins* bins, intp_t b
) noexcept nogil:
    # Outcome of bin b of the feature that the split uses.
    if bins.kind[leaf_split.feature] == NOMINAL:
        return outcome_of(leaf_split, <float32_t> b)
    if b >= n_value_bins(bins, leaf_split.feature):
        return 0 if leaf_split.missing_left else 1
    return b > leaf_split.cut


# Leaf: statistics of a growing leaf. LeafMemory: interface of the kinds of leaf memory.
#
# There are two sets of statistics. `total` covers all rows, including those inherited
# from the parent; predictions use it, and so do the splits of bounds that count every
# row. `fresh` covers only the rows since the leaf was created. It is the evidence for
# all other bounds (Policy.separate), and the data of a second naive Bayes model. A leaf that
# inherited stored rows, and nothing else, may also count them as evidence
# (`inherits_evidence`); in a forest it then has a single model of all its rows. If both
# sets are equal, or if neither bound nor models use the fresh one, pointers to the
# latter are NULL. A leaf drops the inherited statistics when the weight of its own rows
# is many times larger, unless it stores rows.
#
# Any memory may use stored rows, bins with counts, and moments: naive Bayes predicts
# from the counts and moments that exist, new categories get bins if there are bins, and
# shared functions update both. `extra` has further data of a memory.
#
# A leaf may draw a subset of the features when it is created and use only these: its
# memory then gets rows, and a policy, of these features, indexed within the subset. It
# inherits no memory, but predicts with its parent's until it has enough rows.
#
# All arrays are taken from `blocks` by `utils._memory`: they are freed with the leaf or
# with its memory, their bytes count for the tree's limit, and a failed allocation
# raises MemoryError from `partial_fit`.

cdef struct LeafMemory
cdef struct Leaf


cdef struct PoolLists:      # the pool in several orders, see _leaf_store.pxd
    intp_t n_rows           # of X_pool, the unlabeled rows; 0 without a pool
    intp_t n_lists          # one, and one for each numeric feature
    int32_t* rows           # [n_lists, n_rows] the lists
    int32_t* scratch        # [n_rows] temporary copy of a list
    int16_t* outcome        # [n_rows] temporary: the child of each row


cdef struct Policy:
    # Settings that all leaves of a tree share.
    intp_t n_features
    intp_t n_classes
    Blocks* blocks          # owns the leaves, but not their statistics
    const LeafMemory* initial_memory        # of a new leaf that inherits nothing
    const LeafMemory* counts_with_rows      # of a leaf with `row_limit` rows, if it may store
                                            # some of them
    const LeafMemory* counts_only           # of such a leaf if it may not
    intp_t row_limit        # number of rows from which a leaf counts them, or NO_LIMIT
    intp_t stored_rows      # number of rows that a leaf may store in addition to counts
    intp_t max_bins         # of a feature
    bint separate           # only rows since the leaf's creation are evidence
    bint inherited_is_evidence  # except that inherited stored rows are evidence, too
    bint single_bayes       # a leaf that inherited such rows has a single naive Bayes model
    bint fixed_cuts         # a leaf's candidate cuts are set once
    bint bayes              # leaves may predict by naive Bayes
    float64_t max_inherited  # largest weight that a child inherits, except as rows
    bint missing            # a row with a missing value has been seen
    intp_t n_nominal
    const int32_t* nominal  # [n_nominal] features
    int32_t* n_codes        # [n_features] categories seen, -1 if numeric; or NULL
    PoolLists pool
    const int32_t* pool_list  # [n_features] index of the list of a feature, 0 if nominal
    intp_t subset_size      # size of a leaf's feature subset; 0: it uses all features
    intp_t n_first          # number of features that existed from the start
    uint64_t seed           # of the feature subsets


cdef struct FeatureSubset:          # see _rows.pxd
    Policy policy
    int32_t* features       # [policy.n_features] ascending


cdef struct Leaf:
    intp_t node
    uint64_t key                # seed of its feature subset
    FeatureSubset* subset       # or NULL: it uses all features
    Leaf* inherited_model       # if it has a subset: the statistics of its parent, for the
                                # parent's features; NULL once they are dropped
    const LeafMemory* memory
    Blocks blocks               # owns what is released if the memory limit is exceeded
    intp_t attempt              # number of split attempts
    float64_t n_fresh           # weight of the rows since its creation
    float64_t n_examined        # n_fresh at the last attempt
    float64_t n_total
    float64_t hits[4]           # decayed weight of rows that each model (Model, _predictor.pxd)
                                # predicted correctly
    float64_t* fresh            # [n_classes]
    float64_t* total            # [n_classes]
    float64_t* recent           # [n_classes] counts that decay with every row

    bint inherits_evidence      # it inherited stored rows only, which are evidence
    bint dropped                # some rows were dropped: it stores only the latest ones
    intp_t n_rows
    intp_t n_inherited          # the first rows are inherited
    float32_t* x                # [capacity, n_features]
    label_t* y                  # [capacity]
    float64_t* weight           # [capacity], or NULL if all are 1

    Bins bins
    float64_t* histogram        # [n_bins, n_classes] all rows
    float64_t* fresh_histogram

    Moments moments             # of all rows
    Moments fresh_moments

    void* extra                   # further data of a memory

    int32_t* pool               # rows of X_pool in the leaf, a part of PoolLists.rows
    intp_t n_pool
    bint pool_sorted            # by each numeric feature as well
    int32_t* cut_positions      # [n_positioned, PoolLists.n_lists - 1] or NULL: the position
                                # of the cut above each labeled row, at the last attempt
    intp_t n_positioned         # number of labeled rows that have positions
    float64_t* box              # [n_features, 2] and W, only if W is a volume


cdef inline bint uses_fresh_only(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # Whether only rows since the leaf's creation are evidence.
    return policy.separate and not leaf.inherits_evidence


cdef struct BinTable:       # class counts of one numeric feature of a leaf, as evidence
    intp_t width            # numbers per bin: class counts, and one for the pool if there is one
    intp_t n_bins           # 0: the leaf has no cuts yet
    float32_t* edges        # [Policy.max_bins] upper ends, the last one infinite
    float64_t* counts       # [n_bins, width]
    float64_t* missing      # [n_classes] rows without a value; zeros on entry
    float64_t n_missing     # their sum; 0 on entry


cdef struct LeafHeader:     # of a leaf in a pickled state
    int64_t code            # LeafMemory.code
    int64_t attempt
    int64_t n_rows
    int64_t n_inherited
    int64_t has_weights
    int64_t n_bins
    int64_t has_histogram
    int64_t has_fresh_histogram
    int64_t has_extra
    int64_t has_box
    int64_t bins_missing    # whether numeric features have a bin for missing values
    int64_t inherits_evidence
    int64_t dropped


cdef struct LeafMemory:
    # A kind of leaf memory. The module `_leaf` calls its functions. A function is NULL if it
    # would do nothing, or if its result is not used.
    int64_t code            # of the memory in a pickled state; never change or reuse it
    bint may_split          # a leaf may try to split
    bint stores_rows        # all rows, unless the leaf has dropped some
    bint counts_bins        # evidence is counted in bins; if not, it is the stored rows,
                            # if there are any and cuts are not fixed

    # Initialize a new leaf that inherits nothing.
    int (*open)(Leaf* leaf, const Policy* policy) except -1 nogil
    # Learn a row that the class counts of the leaf do not include yet; `bins` are the
    # indices of the bins of its values. Memory is allocated before anything changes.
    int (*observe)(
        Leaf* leaf, const Policy* policy, const float32_t* x, label_t y,
        float64_t weight, const int32_t* bins,
    ) except -1 nogil
    # Change to another memory if the leaf has enough rows; called after each row.
    int (*convert)(Leaf* leaf, const Policy* policy) except -1 nogil
    # Convert a leaf that stores rows to this memory; NULL if that is impossible.
    int (*take_rows)(Leaf* leaf, const Policy* policy) except -1 nogil
    # Fill an empty child with the parent's statistics of one outcome of a split, including
    # `total` and `n_total`. share[c] is set to its share of the rows of class c. The children's
    # counts of each class sum to the parent's, unless a child would inherit more than
    # Policy.max_inherited: then it starts with that weight.
    int (*fill_child)(
        const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split,
        intp_t outcome, float64_t* share, Leaf* child,
    ) except -1 nogil
    # Class counts of the bins of a numeric feature, and of the categories of a nominal
    # feature: [n_codes, width], zeros on entry.
    void (*tabulate)(
        const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
    ) noexcept nogil
    void (*count_categories)(
        const Leaf* leaf, const Policy* policy, intp_t feature, intp_t n_codes,
        float64_t* counts, intp_t width,
    ) noexcept nogil
    # For a numeric feature without missing values: the share of n rows that are of each
    # class and on the left of each cut of tabulate(), [n_classes, LANES]: at most LANES cuts are
    # supported (utils/_lanes.pxd),
    # with error below 1e-5 times the share of the class. Returns the number of cuts that
    # split the rows differently. The pointer is NULL if this would cost as much as tabulate().
    intp_t (*sketch)(
        const Leaf* leaf, const Policy* policy, intp_t feature, float64_t n, float32_t* left,
    ) noexcept nogil
