# GAUSSIAN: a leaf stores the moments of each class, and counts categories.
#
# The rows of a class are assumed to be normally distributed within their range. `extra`
# is the range of each feature, [n_features, 2], once cuts are fixed.

from skconftree.tree.leaves._contract cimport LeafMemory

cdef LeafMemory GAUSSIAN
