# Counts: the class counts of the bins of a leaf of an incrementally trained tree. A bin has the
# values between two adjacent candidate thresholds, or a category. A leaf memory is the form in
# which a leaf stores the statistics of its rows; these functions serve all of them. A policy has
# the settings that the leaves share. `fresh` are the counts of the rows since the creation of the
# leaf; evidence is the counts that the split rule uses. A child inherits counts from the leaf that
# is split; an outcome is the index of a child. See _contract.pxd and _bins.pxd.

from skconftree.tree.leaves._contract cimport BinTable, Leaf, LeafHeader, LeafSplit, Policy
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

# Allocate counts, all 0, for the bins of a leaf; if `fresh`, also those of fresh rows.
cdef int allocate_counts(Leaf* leaf, const Policy* policy, bint fresh) except -1 nogil
# Allocate bins and counts of categories only.
cdef int allocate_categories(Leaf* leaf, const Policy* policy) except -1 nogil
# Add bins for the categories of a row that are new to the leaf.
cdef int ensure_capacity(Leaf* leaf, const Policy* policy, const float32_t* x) except -1 nogil
cdef void release_bins(Leaf* leaf) noexcept nogil
# Count a row x, whose values have these bins, in class y.
cdef void count_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) noexcept nogil
cdef const float64_t* evidence_of(const Leaf* leaf, const Policy* policy) noexcept nogil
# Copy the evidence of a numeric feature to `table`.
cdef void tabulate_bins(
    const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
) noexcept nogil
# The same for a nominal feature with n_codes categories; `counts` is [n_codes, width].
cdef void count_categories_of_bins(
    const Leaf* leaf, const Policy* policy, intp_t feature, intp_t n_codes,
    float64_t* counts, intp_t width,
) noexcept nogil
# Set share[c] to the fraction of the parent's rows of class c that go to an outcome.
cdef void shares_of_bins(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share,
) noexcept nogil
# Set the class counts of a child, at most Policy.max_inherited. Returns the factor by which they
# and `share` were multiplied.
cdef float64_t set_child_total(
    const Leaf* parent, const Policy* policy, float64_t* share, Leaf* child
) noexcept nogil
# Set the bins and counts of a child, of all or only of nominal features; it gets the fraction
# scale[c] of class c.
cdef int partition_bins(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    const float64_t* scale, bint all_features, Leaf* child,
) except -1 nogil
# Convert to bytes for pickles, and back.
cdef write_bins(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef read_bins(StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf)
