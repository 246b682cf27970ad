# Subtrees: what lies below the smaller nodes of a tree, grown by many threads.
#
# Depth-first growth below a node depends on its rows alone, unless something is drawn: a
# draw depends on the number of the node. The rows of two nodes lie in ranges of their own.
# So a builder sets aside the nodes that are small beside its root, and goes on with the
# large ones. When none is left, workers grow what lies below those set aside, each into a
# tree of its own, and the nodes get the numbers that one builder would have given them.

from skconftree.tree.batch._builder cimport Builder, Candidate, Helpers
from skconftree.tree.batch._workers cimport Workers
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport int32_t, intp_t


cdef class Subtrees(Helpers):
    cdef Workers workers
    cdef list builders          # of each worker, if
    cdef bint sets_aside        # nodes are set aside,
    cdef intp_t worth_setting_aside     # values of one that is
    cdef Arena arena
    cdef Candidate* leaves      # [n_leaves] set aside; what they own is the builder's
    cdef intp_t n_leaves
    cdef intp_t room
    cdef Tree top               # grown so far
    cdef list order             # of the leaves, in which they are grown
    cdef list trees             # [n_leaves] grown below them

    cdef int _grow_all(self, Builder builder) except -1


# The tree that one builder would have grown, depth-first, if trees are below these leaves.
cdef Tree joined(Tree top, dict below)

# Let a leaf be the root of another tree, whose nodes keep their order.
cdef int append(Tree whole, intp_t place, Tree tree) except -1
