# Bins: the candidate thresholds (cuts) of a leaf, and the class counts between them.
#
# The leaves are those of a tree that is trained row by row. The edges of a leaf are set once,
# when it is created from its parent's histogram (class counts by bin) or when its rows are
# counted. They do not change later: evidence that is valid after every row (anytime-valid)
# requires fixed candidate cuts, and the counts between fixed edges are exact.
#
# Bin b of feature f holds the values in (edges[b - 1], edges[b]]; its index is
# first[f] + b. The last edge of a feature is infinity, so every value has a bin. If
# `missing`, one more bin holds the rows without a value. Bin b of a nominal feature
# holds category b (its code). There are extra bins for categories that have not occurred yet.
# `n_codes` is the number of categories of each feature, -1 if it is numeric.

from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint8_t

cdef enum:
    MAX_SEARCH_STEPS = 5       # of a binary search among 32 bins


cdef enum BinKind:
    CONTINUOUS
    DISCRETE        # each distinct value of the initial rows has its own bin
    NOMINAL


cdef struct Bins:
    int32_t* first          # [n_features + 1], start of the allocation; NULL: no bins
    float32_t* edges        # [n_bins] upper edge of each bin
    float32_t* low          # [n_features] smallest value seen
    float32_t* high         # [n_features] largest value seen
    uint8_t* kind           # [n_features] a BinKind
    bint missing            # the last bin of numeric features is for missing values


cdef struct Side:           # one child of a split, by the bins of the split feature
    intp_t feature
    intp_t begin            # of a numeric feature: range of the bins of values
    intp_t end
    bint takes_missing      # missing values go to this child
    const uint8_t* taken    # [n_codes] of a nominal feature: categories that go to this child


# `blocks`, a list of arrays that are freed together, owns their memory.
#
# Allocate n_bins bins in total; the edges are not set.
cdef int allocate_bins(
    Blocks* blocks, Bins* bins, intp_t n_features, intp_t n_bins
) except -1 nogil
# Number of bins that a feature with these categories gets.
cdef intp_t capacity_for(intp_t n_codes) noexcept nogil
# Bins with edges between the values of rows, at most `max_bins` per numeric feature.
cdef int bins_of_rows(
    Blocks* blocks, Bins* bins, const float32_t* x, intp_t n_rows, intp_t n_features,
    intp_t max_bins, const int32_t* n_codes, bint missing,
) except -1 nogil
# Bins of the categories only.
cdef int bins_of_codes(
    Blocks* blocks, Bins* bins, intp_t n_features, const int32_t* n_codes
) except -1 nogil
# Bins of one child of a split. share[c] is the fraction of the rows of class c that go to it.
cdef int child_bins(
    Blocks* blocks, const Bins* parent, const float64_t* histogram,
    const float64_t* share, intp_t n_features, intp_t n_classes, intp_t max_bins,
    const Side* side, bint missing, Bins* bins,
) except -1 nogil
# A copy of the bins with one for a new category of a feature.
cdef int bins_with_code(
    Blocks* blocks, const Bins* old, intp_t n_features, intp_t feature, intp_t code, Bins* bins,
) except -1 nogil
# Class counts of the child's bins, of which the child gets the fraction scale[c] of class c.
cdef void fill_child_counts(
    const Bins* parent, const float64_t* histogram, const float64_t* scale, intp_t n_features,
    intp_t n_classes, const Side* side, const Bins* bins, float64_t* child_counts,
) noexcept nogil
# The index of the bin of each value of a row; -1 if it has none.
cdef void find_bins(
    const Bins* bins, const float32_t* x, intp_t n_features, int32_t* bin_indices
) noexcept nogil

cdef inline intp_t n_equal(const float32_t* values, intp_t n, float32_t value) noexcept nogil:
    # Number of values that are equal to `value`.
    cdef intp_t i
    cdef int32_t count = 0      # 32 bits, so that the loop is vectorized
    for i in range(n):
        count += values[i] == value
    return count

cdef inline intp_t bin_of(const float32_t* edges, intp_t n_bins, float32_t value) noexcept nogil:
    # Smallest b with value <= edges[b], by a search without branches.
    cdef intp_t base = 0
    cdef intp_t half, _
    if n_bins <= 2:
        return edges[0] < value     # the last edge is infinite
    if n_bins <= 1 << MAX_SEARCH_STEPS:    # a constant number of steps: no mispredictions
        for _ in range(MAX_SEARCH_STEPS):
            half = n_bins >> 1
            base += half if edges[base + half - (half > 0)] < value else 0
            n_bins -= half
        return base
    while n_bins > 1:
        half = n_bins >> 1
        base += half if edges[base + half - 1] < value else 0
        n_bins -= half
    return base

cdef inline intp_t n_value_bins(const Bins* bins, intp_t f) noexcept nogil:
    # Number of bins of a feature, without that of missing values.
    return bins.first[f + 1] - bins.first[f] - (bins.missing and bins.kind[f] != NOMINAL)
