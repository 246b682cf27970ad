# Counts: the class counts of the bins of a leaf of an incrementally trained tree. A bin has the
# values between two adjacent candidate thresholds, or a category. A leaf memory is the form in
# which a leaf stores the statistics of its rows; these functions serve all of them. `fresh` are
# the counts of the rows since the creation of the leaf. A child inherits counts from the leaf
# that is split; an outcome is the index of a child. See _contract.pxd and _bins.pxd.

from skconftree.tree.leaves._contract cimport BinTable, Leaf, LeafHeader, LeafSplit, Policy
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

cdef int allocate_counts(Leaf* leaf, const Policy* policy, bint fresh) except -1 nogil
cdef int allocate_categories(Leaf* leaf, const Policy* policy) except -1 nogil
cdef int ensure_capacity(Leaf* leaf, const Policy* policy, const float32_t* x) except -1 nogil
cdef void release_bins(Leaf* leaf) noexcept nogil
cdef void count_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) noexcept nogil
cdef const float64_t* evidence_of(const Leaf* leaf, const Policy* policy) noexcept nogil
cdef void tabulate_bins(
    const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
) noexcept nogil
cdef void count_categories_of_bins(
    const Leaf* leaf, const Policy* policy, intp_t feature, intp_t n_codes,
    float64_t* counts, intp_t width,
) noexcept nogil
cdef void shares_of_bins(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share,
) noexcept nogil
cdef float64_t set_child_total(
    const Leaf* parent, const Policy* policy, float64_t* share, Leaf* child
) noexcept nogil
cdef int partition_bins(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    const float64_t* scale, bint all_features, Leaf* child,
) except -1 nogil
cdef write_bins(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef read_bins(StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf)
