from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport intp_t


# Join a tree and the trees below its leaves, {id of the leaf: tree}; the result is the tree that
# one thread would have grown depth-first, with the same node ids.
cdef Tree join_trees(Tree top_tree, dict below)

# Replace a leaf by another tree; the ids of its nodes keep their order.
cdef int append_tree(Tree target, intp_t leaf, Tree tree) except -1
