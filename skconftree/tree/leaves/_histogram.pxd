from skconftree.tree.leaves._contract cimport LeafMemory

# HISTOGRAM: the leaf memory (_contract.pxd) that counts rows per class and bin.

cdef LeafMemory HISTOGRAM


# COUNTED_ROWS: the leaf memory that counts rows per class and bin, and stores rows for the
# leaf's children.
#
# Children of a leaf without rows start without evidence. Split attempts and predictions
# use the counts, at the same cost as with HISTOGRAM.

cdef LeafMemory COUNTED_ROWS
