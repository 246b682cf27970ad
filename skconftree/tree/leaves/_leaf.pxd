from skconftree.tree.leaves._contract cimport Leaf, LeafMemory, LeafSplit, Policy
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

# Functions of a growing leaf: a leaf of an incrementally trained tree. Its memory is the form in
# which it stores the statistics of its rows, of which there are several kinds. A policy has the
# settings that all leaves of a tree share. See _contract.pxd.

cdef enum:
    LEAF_COUNTS = 3     # arrays of class counts: of the rows since the leaf's creation (fresh),
                        # of all rows (total), and of the latest ones (recent, with decay)


# Make a leaf without rows and memory; `node` is its id in the tree.
cdef Leaf* new_leaf(const Policy* policy, intp_t node) except NULL nogil
cdef void release_leaf(Leaf* leaf, const Policy* policy) noexcept nogil
# Move the ownership of a leaf's arrays from `blocks` to `other`.
cdef void move_leaf(Leaf* leaf, Blocks* blocks, Blocks* other) noexcept nogil
# Drop the statistics of the parent by which a leaf with a feature subset predicts.
cdef void drop_inherited_model(Leaf* leaf, const Policy* policy) noexcept nogil
# Release all but the class counts.
cdef void release_statistics(Leaf* leaf) noexcept nogil
cdef intp_t leaf_bytes(const Leaf* leaf, const Policy* policy) noexcept nogil
# Learn a row x of class y; `bins` are the indices of the bins of its values.
cdef int add_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil
# Change to another memory if the leaf has enough rows.
cdef int convert(Leaf* leaf, const Policy* policy) except -1 nogil
# Count the rows from now on separately, as evidence: the statistics that the split rule uses.
cdef int start_fresh(Leaf* leaf, const Policy* policy) except -1 nogil


# NOTHING: the memory of a leaf that has only class counts. Any leaf may change to it.

cdef LeafMemory NOTHING


# Set the statistics that a child inherits from the leaf that is split. `outcome` is the index of
# the child; share[c] is set to its share of the parent's rows of class c.

cdef int start_child(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil


# Conversion of leaves to bytes, for pickles, and back. Values are validated when they are read.

cdef write_leaf(StateWriter writer, const Leaf* leaf, const Policy* policy)
cdef Leaf* read_leaf(StateReader reader, const Policy* policy, intp_t node) except NULL
