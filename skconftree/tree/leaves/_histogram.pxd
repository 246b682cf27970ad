from skconftree.tree.leaves._contract cimport (
    Leaf, LeafHeader, LeafMemory, Parting, Policy,
)
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

# HISTOGRAM: a leaf counts its rows per class and bin.

cdef LeafMemory HISTOGRAM


# COUNTED_ROWS: a leaf counts its rows per class and bin, and keeps them to hand over.
#
# Children of a leaf that has forgotten its rows begin without evidence. What looks and
# predictions rest on are the counts, which cost no more than those of a histogram.

cdef LeafMemory COUNTED_ROWS
