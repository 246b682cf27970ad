# LocalGrower: a growing tree of which drifts replace no more than the part that broke.
#
# At every node a watch (`_watches.pxd`) bets that the errors of the rows there rise. With
# its warning a second tree begins, which learns the rows of this node alone, and bets
# that it is better (`_challenger.pxd`). Once it has shown that, all that is below the
# node is replaced, the node keeping its id; if it has not in time, it goes. So a warning
# costs time, and nothing else; what is replaced where the young tree is no better, is so
# at a node with probability delta at most, however many trees are begun there.
#
# No tree is begun below a node that has one, and only a few at a time. A watched node may
# be a leaf: what it remembers is then replaced. The nodes that are gone keep their
# rows in the arrays of the tree, see `nodes/_graft.py`: the others keep their ids.

from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._challenger cimport Challenger
from skconftree.tree.stream._grower cimport Grower
from skconftree.tree.stream._watches cimport Watch, Watches
from skconftree.tree.stream._watching_grower cimport WatchingGrower
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int64_t, intp_t, label_t, uint64_t,
)


cdef class LocalGrower(WatchingGrower):
    cdef Watches watches
    cdef Challenger first           # of those that grow, or None
    cdef uint64_t slots             # those taken, a bit each
    cdef int64_t n_begun
    cdef int64_t n_beside           # rows that they have learnt
    cdef intp_t most_slots
    cdef float64_t delta
    cdef intp_t warned              # node of the last row whose errors seem to rise, or -1

    cdef bint _may_begin(self) noexcept nogil
    cdef Grower _grower_at(self, Tree tree, intp_t node, int64_t serial)
    cdef void _take_slot(self, Challenger beside) noexcept
    cdef void _leave_slot(self, Challenger gone) noexcept
