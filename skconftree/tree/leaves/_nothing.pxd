# NOTHING: no more than the counts in the tree. Any leaf may turn into it.

from skconftree.tree.leaves._contract cimport LeafMemory

cdef LeafMemory NOTHING
