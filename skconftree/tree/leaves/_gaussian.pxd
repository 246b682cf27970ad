# GAUSSIAN: the leaf memory that stores the moments (weight, mean, variance) of each feature and
# class, and counts categories. A leaf memory is the form in which a leaf of an incrementally
# trained tree stores the statistics of its rows (_contract.pxd).
#
# The rows of a class are assumed to be normally distributed within their range.
# `Leaf.extra`, the data of a leaf that only its kind of memory uses, is the range of each
# feature, [n_features, 2], once the candidate thresholds (cuts) are fixed.

from skconftree.tree.leaves._contract cimport LeafMemory

cdef LeafMemory GAUSSIAN
