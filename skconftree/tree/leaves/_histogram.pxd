from skconftree.tree.leaves._contract cimport LeafMemory

# HISTOGRAM: a leaf counts its rows per class and bin.

cdef LeafMemory HISTOGRAM


# COUNTED_ROWS: a leaf counts its rows per class and bin, and stores rows for its children.
#
# Children of a leaf without rows start without evidence. Split attempts and predictions
# use the counts, at the same cost as with HISTOGRAM.

cdef LeafMemory COUNTED_ROWS
