# ROWS: a leaf keeps its rows.
#
# If leaves may predict by naive Bayes, moments are kept beside them, and counts of
# categories. If cuts are fixed, the leaf's first rows set bins, but nothing is counted
# in them: the rows are.

from skconftree.tree.leaves._contract cimport LeafMemory

cdef LeafMemory ROWS
