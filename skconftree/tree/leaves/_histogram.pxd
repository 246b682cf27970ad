from skconftree.tree.leaves._contract cimport LeafMemory

# HISTOGRAM: a leaf counts its rows per class and bin.

cdef LeafMemory HISTOGRAM


# COUNTED_ROWS: a leaf counts its rows per class and bin, and keeps them to hand over.
#
# Children of a leaf that has forgotten its rows begin without evidence. What looks and
# predictions rest on are the counts, which cost no more than those of a histogram.

cdef LeafMemory COUNTED_ROWS
