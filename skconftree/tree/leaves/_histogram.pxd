# HISTOGRAM: a leaf counts its rows per class and bin.

from skconftree.tree.leaves._contract cimport LeafMemory

cdef LeafMemory HISTOGRAM
