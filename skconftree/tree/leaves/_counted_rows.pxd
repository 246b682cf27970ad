# COUNTED_ROWS: a leaf counts its rows per class and bin, and keeps them to hand over.
#
# Children of a leaf that has forgotten its rows begin without evidence. What looks and
# predictions rest on are the counts, which cost no more than those of a histogram.

from skconftree.tree.leaves._contract cimport Leaf, LeafMemory, Policy

cdef LeafMemory COUNTED_ROWS

# Count the rows that a leaf keeps; its moments go.
cdef int count_rows(Leaf* leaf, const Policy* policy) except -1 nogil
