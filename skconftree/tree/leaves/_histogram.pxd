from skconftree.tree.leaves._contract cimport LeafMemory

# A leaf memory is the form in which a leaf of an incrementally trained tree stores the
# statistics of its rows (_contract.pxd). A bin has the values between two adjacent candidate
# thresholds, or a category.
#
# HISTOGRAM: the leaf memory that counts rows per class and bin.

cdef LeafMemory HISTOGRAM


# COUNTED_ROWS: the leaf memory that counts rows per class and bin, and stores rows for the
# leaf's children.
#
# Children of a leaf without stored rows start without evidence, the statistics that the split
# rule uses. Split attempts and predictions use the counts, at the same cost as with HISTOGRAM.

cdef LeafMemory COUNTED_ROWS
