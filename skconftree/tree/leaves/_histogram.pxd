from skconftree.tree.leaves._contract cimport LeafMemory

# A leaf memory is the form in which a leaf of an incrementally trained tree stores the
# statistics of its rows (_contract.pxd).
#
# HISTOGRAM: the leaf memory that counts rows per class and bin.

cdef LeafMemory HISTOGRAM


# COUNTED_ROWS: the leaf memory that counts rows per class and bin, and stores rows for the
# leaf's children.
#
# Children of a leaf without rows start without evidence. Split attempts and predictions
# use the counts, at the same cost as with HISTOGRAM.

cdef LeafMemory COUNTED_ROWS
