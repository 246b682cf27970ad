from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport intp_t


# The tree that one builder would have grown, depth-first, if trees are below these leaves.
cdef Tree joined(Tree top, dict below)

# Let a leaf be the root of another tree, whose nodes keep their order.
cdef int append(Tree whole, intp_t position, Tree tree) except -1
