# GAUSSIAN: a leaf keeps the moments of each class, and counts categories.
#
# Between its extreme values the rows of a class are taken to be normally distributed.
# Behind `own` is the range of each feature, [n_features, 2], once cuts are fixed.

from skconftree.tree.leaves._contract cimport LeafMemory

cdef LeafMemory GAUSSIAN
