# PartedSubtrees: what lies below the nodes of few rows of a tree whose rows lie in parts.
#
# The rows of such a node are brought together somewhere, and a builder grows a tree from
# them there, while the tree above goes on. When that is done, the trees are joined to it,
# and nodes get the numbers that one builder would have given them. Where something is
# drawn, which goes by these numbers, each is waited for at once. Best-first growth comes
# back to every node, however small: it leaves none to others.

from skconftree.tree.batch._builder cimport Builder, Candidate, Helpers
from skconftree.tree.batch._parted_source cimport PartedSource


cdef class PartedSubtrees(Helpers):
    cdef PartedSource parted
    cdef bint draws
    cdef Py_ssize_t most_gathered   # rows of a node that is small
    cdef dict growing               # by node, what `nodes` have given for it

    cdef int _leave(self, Builder builder, const Candidate* candidate) except -1
    cdef int _join(self, Builder builder) except -1
