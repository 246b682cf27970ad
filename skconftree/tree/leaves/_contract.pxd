from skconftree.tree.leaves._bins cimport NOMINAL, Bins, n_value_bins
from skconftree.tree.leaves._moments cimport Moments
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, int64_t, intp_t, label_t, uint64_t,
)

# Parting: the test that parts a leaf.

cdef struct Parting:
    intp_t feature
    intp_t n_outcomes
    intp_t cut                  # the last bin of values on the left
    float64_t threshold
    bint missing_left
    const int16_t* ordinals     # outcome of each category, -1 = not seen; NULL if numeric
    intp_t n_codes
    intp_t unknown              # outcome of a category not seen before
    const float64_t* pool       # weight W of each outcome


cdef inline intp_t outcome_of(const Parting* parting, float32_t value) noexcept nogil:
    cdef intp_t outcome = -1
    if parting.ordinals != NULL:
        if value >= 0.0 and value < parting.n_codes:
            outcome = parting.ordinals[<intp_t> value]
        return parting.unknown if outcome < 0 else outcome
    if value != value:
        return 0 if parting.missing_left else 1
    return value > parting.threshold


cdef inline intp_t outcome_of_bin(
    const Parting* parting, const Bins* bins, intp_t b
) noexcept nogil:
    # Outcome of bin b of the tested feature.
    if bins.kind[parting.feature] == NOMINAL:
        return outcome_of(parting, <float32_t> b)
    if b >= n_value_bins(bins, parting.feature):
        return 0 if parting.missing_left else 1
    return b > parting.cut


# What a growing leaf remembers, and what a kind of memory has to do.
#
# Two sets of statistics. `held` is everything the leaf knows, what it took over
# from its parent included: predictions rest on it, and the splits of bounds that
# count every row. `fresh` counts only rows that came after the leaf was created:
# the evidence of all other bounds (Policy.separate), and a model of its own. A leaf
# that got rows, and nothing else, from its parent may count them as evidence, too
# (`handed`); among the trees of a forest it then has one model, of them all. Where
# both are the same, or nobody asks, pointers to the fresh ones are NULL. A leaf whose
# own rows outweigh by far what it took over forgets the latter, unless it keeps rows.
#
# Rows, bins with counts and moments are parts of a leaf that any memory may use:
# naive Bayes predicts from the counts and moments that are there, categories get their
# bins where there are any, and both are carried on by functions that memories share. A
# memory that needs more puts it behind `own`.
#
# A leaf may draw a few features for its life and remember these alone: what a memory
# is given are then rows and a policy of these features, by their places among them. It
# takes over no memory, but predicts by that of its parent while its own is young.
#
# All arrays are taken from `remembered` by `utils._memory`: they go with
# the leaf, or when it forgets, they are counted in the bytes of the tree, and memory
# that cannot be had is an error here for nobody but the caller of `partial_fit`.

cdef struct LeafMemory
cdef struct Leaf


cdef struct PoolLists:      # see _leaf_store.pxd
    intp_t n_rows           # of X_pool; 0 without one
    intp_t n_lines          # one and that of each numeric feature
    int32_t* rows           # [n_lines, n_rows]
    int32_t* moved          # [n_rows] scratch
    int16_t* outcome        # [n_rows] scratch


cdef struct Policy:
    # What all leaves of a tree have in common.
    intp_t n_features
    intp_t n_classes
    Blocks* blocks          # owns the leaves, but not what they remember
    const LeafMemory* first     # memory of a new leaf without a past
    const LeafMemory* counted   # what becomes of one that keeps `row_limit` rows, if it
    const LeafMemory* later     # may keep some of them, and if not
    intp_t row_limit        # or NO_LIMIT
    intp_t stored_rows        # that a leaf may keep beside counts; 0: none
    intp_t max_bins         # of a feature
    bint separate           # only rows since the leaf's creation are evidence
    bint hands_over         # and those that its parent has kept and handed over
    bint one_bayes          # then it has no naive Bayes of its own rows alone
    bint fixed_cuts         # a leaf's candidate cuts are set once
    bint bayes              # leaves may predict by naive Bayes
    float64_t inherited     # largest weight that a child takes over, unless rows
    bint missing            # a row with a missing value has been seen
    intp_t n_nominal
    const int32_t* nominal  # [n_nominal] features
    int32_t* n_codes        # [n_features] categories seen, -1 if numeric; or NULL
    PoolLists pool
    const int32_t* pool_line    # [n_features] line of each, 0 if nominal
    intp_t n_drawn          # features that a leaf draws for its life; 0: it has all
    uint64_t seed           # of what it draws


cdef struct Drawn:          # see _rows.pxd
    Policy policy
    int32_t* features       # [policy.n_features] ascending


cdef struct Leaf:
    intp_t node
    uint64_t key                # of what it draws
    Drawn* drawn                # or NULL: it remembers all features
    Leaf* past                  # what the parent of one that draws knew of its rows, in
                                # the parent's features; NULL once it is outgrown
    const LeafMemory* memory
    Blocks remembered           # owns all that is forgotten when room is needed
    intp_t attempt              # how often it has been examined
    float64_t n_fresh           # weight of the rows since its creation
    float64_t n_examined        # n_fresh at the last attempt
    float64_t n_held
    float64_t hits[4]           # weight of late rows that each model predicted
    float64_t* fresh            # [n_classes]
    float64_t* held             # [n_classes]
    float64_t* recent           # [n_classes] counts that fade with every row

    bint handed                 # all it holds are rows, and evidence
    bint dropped                # rows that are counted: what it keeps is the latest ones
    intp_t n_rows
    intp_t n_inherited          # of them, the first ones
    float32_t* x                # [room, n_features]
    label_t* y                  # [room]
    float64_t* weight           # [room], or NULL if all are 1

    Bins bins
    float64_t* histogram        # [n_bins, n_classes] held
    float64_t* fresh_histogram

    Moments moments             # held
    Moments fresh_moments

    void* own                   # what a memory keeps besides

    int32_t* pool               # rows of X_pool in the leaf, a part of PoolLists.rows
    intp_t n_pool
    bint pool_sorted            # by each numeric feature as well
    int32_t* places             # [n_placed, PoolLists.n_lines - 1] or NULL: of the cut
    intp_t n_placed             # above each labelled row, at the last examination
    float64_t* box              # [n_features, 2] and W, only if that is a volume


cdef inline bint only_fresh(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # Whether nothing is evidence but the rows since the leaf's creation.
    return policy.separate and not leaf.handed


cdef struct BinTable:       # one feature of a leaf, as far as it is evidence
    intp_t width            # numbers of a bin, the first n_classes are of classes
    intp_t n_bins           # 0: the leaf has no cuts yet
    float32_t* edges        # [Policy.max_bins] upper ends, the last one infinite
    float64_t* counts       # [n_bins, width]
    float64_t* missing      # [n_classes] rows without a value; zeros before
    float64_t n_missing     # their sum; 0 before


cdef struct LeafHeader:     # of a leaf in a state: what is there
    int64_t code            # LeafMemory.code
    int64_t attempt
    int64_t n_rows
    int64_t n_inherited
    int64_t has_weights
    int64_t n_bins
    int64_t has_histogram
    int64_t has_fresh_histogram
    int64_t has_own
    int64_t has_box
    int64_t bins_missing
    int64_t handed
    int64_t dropped


cdef struct LeafMemory:
    # One of a kind of memory; `_leaf` calls its functions, which are NULL where nothing
    # is to be done, or where nobody asks.
    int64_t code            # in a state: never changed, never used again
    bint remembers          # a leaf may be examined
    bint keeps_rows         # all of them, unless the leaf has dropped some
    bint counts_rows        # in bins that are its table; else the rows are, if it keeps
                            # them and cuts are not fixed

    # Begin, in a new leaf without a past.
    int (*open)(Leaf* leaf, const Policy* policy) except -1 nogil
    # Learn a row before it is in the leaf's counts; `bins` are the places of its values.
    # What memory it takes is taken before anything changes.
    int (*observe)(
        Leaf* leaf, const Policy* policy, const float32_t* x, label_t y,
        float64_t weight, const int32_t* bins,
    ) except -1 nogil
    # What becomes of a leaf that has got enough rows for it; called after each row.
    int (*convert)(Leaf* leaf, const Policy* policy) except -1 nogil
    # Turn a leaf that keeps rows into one of this memory; NULL if that cannot be.
    int (*take_rows)(Leaf* leaf, const Policy* policy) except -1 nogil
    # Hand over what goes to one outcome of a test to a leaf that remembers nothing, its
    # `held` and `n_held` included. share[c] becomes the part of class c. The parts of
    # all outcomes add up to all, class by class, unless a child would take over more
    # than Policy.inherited: then it starts with that weight.
    int (*part)(
        const Leaf* parent, const Policy* policy, const Parting* parting,
        intp_t outcome, float64_t* share, Leaf* child,
    ) except -1 nogil
    # Class counts of the bins of a numeric feature, and of the categories of a nominal
    # one: [n_codes, width], zeros before.
    void (*tabulate)(
        const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
    ) noexcept nogil
    void (*count_categories)(
        const Leaf* leaf, const Policy* policy, intp_t feature, intp_t n_codes,
        float64_t* counts, intp_t width,
    ) noexcept nogil
    # Of a numeric feature, of which no value is missing, the share of n rows that are of
    # each class and on the left of each cut of tabulate(): [n_classes, LANES], within
    # 1e-5 of the share of the class. Returns the number of cuts, but for those that part
    # the rows as others do. NULL: that costs as much.
    intp_t (*sketch)(
        const Leaf* leaf, const Policy* policy, intp_t feature, float64_t n,
        float32_t* left,
    ) noexcept nogil
