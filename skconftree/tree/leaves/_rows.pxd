from skconftree.tree.leaves._contract cimport Leaf, LeafHeader, LeafMemory, LeafSplit, Policy
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, label_t

# ROWS: the leaf memory that stores the rows. A leaf memory is the form in which a leaf of an
# incrementally trained tree stores the statistics of its rows; a policy has the settings that the
# leaves share (_contract.pxd). Cuts are the candidate thresholds of a leaf, bins the intervals
# between them; evidence is the statistics that the split rule uses. An outcome of a split is the
# index of a child.
#
# If leaves may predict by naive Bayes, they also have moments (mean and variance of each feature
# in each class) and counts of categories.
# If cuts are fixed, the leaf's first rows determine bins, but evidence is computed from
# the rows, not from counts. Other memories that store rows use some of these functions, too.

cdef LeafMemory ROWS

# Store a row x of class y.
cdef int append_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight
) except -1 nogil
# Give a child its rows of the parent; share[c] is set to its share of class c. A child with many
# rows changes to a memory that counts them.
cdef int partition_rows(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil
# Drop all but the last n rows.
cdef int keep_latest(Leaf* leaf, const Policy* policy, intp_t n) except -1 nogil
# Convert to bytes for pickles, and back.
cdef write_rows(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef read_rows(StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf)


# Feature subsets.
#
# A leaf with a subset uses only these features, in ascending order: its memory gets
# reduced rows and no information on other features. The subset is determined by the
# leaf's key, a hash of the seed of the tree and the node.

cdef inline const Policy* policy_of(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # The policy for the features that the leaf uses.
    return policy if leaf.subset == NULL else &leaf.subset.policy


cdef inline intp_t index_of(const Leaf* leaf, intp_t feature) noexcept nogil:
    # Index of a feature among those that the leaf uses; the leaf must use it.
    cdef intp_t position = 0
    if leaf.subset == NULL:
        return feature
    while leaf.subset.features[position] != feature:
        position += 1
    return position


cdef inline const float32_t* project_row(
    const Leaf* leaf, const float32_t* x, float32_t* row
) noexcept nogil:
    # The features of a row that the leaf uses; they may be written to `row`.
    cdef intp_t i
    if leaf.subset == NULL:
        return x
    for i in range(leaf.subset.policy.n_features):
        row[i] = x[leaf.subset.features[i]]
    return row


# Draw the feature subset of a new leaf, if leaves have subsets.
cdef int draw_subset(Leaf* leaf, const Policy* policy) except -1 nogil
# Copy categories and missing values seen by the tree into the leaf's own policy.
cdef void update_subset_policy(Leaf* leaf, const Policy* policy) noexcept nogil
cdef intp_t bytes_of_subset(const Leaf* leaf, const Policy* policy) noexcept nogil
