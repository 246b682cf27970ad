# NodeTable: the nodes of a tree whatever their tests.
#
# Node ids are append-only: a leaf that splits keeps its id as an internal node,
# and its children get the next ids, the first one first. So the children of a node
# follow each other, and the splits have an order, in which their first children come.
# In this order they have their evidence: a leaf takes no room for it.
#
# The tests that send rows from a node to a child are those of a subclass, which holds
# arrays of its own beside these, adds their shapes, and is asked what becomes of them.

from skconftree.bounds._contract cimport SplitEvidence
from skconftree.tree.nodes._node_arrays cimport NodeArrays
from skconftree.utils._lock cimport ModelLock
from skconftree.utils._typedefs cimport float64_t, intp_t


cdef class NodeTable(NodeArrays):
    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil
    cdef void accept(self, const SplitEvidence* evidence) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef void grows(self, object criterion, ModelLock lock) except *
    cdef void _copy_split(self, NodeTable tree, intp_t split) noexcept nogil
    cdef void _copy_tests(self, NodeTable pruned, const intp_t[::1] kept) except *
    cdef object _check(self, dict arrays)
    cdef object _take(self, dict arrays)
