cimport cython
from skconftree.drift._detector cimport Detector
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._grower cimport Grower
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, label_t, uint64_t,
)

# WatchingGrower: a growing tree that watches its errors, and grows others beside itself.
#
# It predicts every row before it learns it, and hands the row on with what came of that.
# What then begins, and what takes the place of what, is for whoever derives from it.

cdef enum Change:
    BEGIN       # a tree beside
    DECIDE      # what becomes of those that grow


cdef class WatchingGrower(Grower):
    cdef list found                 # row and node of each drift
    cdef intp_t n_failed            # changes that failed since the last boundary

    cdef int watch(
        self, bint wrong, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil
    cdef list others(self)
    cdef int change(self, Change what) except -1
    cdef int insist(self, Change what) except -1
    cdef Grower second(self, Tree tree, object seed, intp_t n_sharing)
    cdef int open_second(self, Grower second) except -1


# Watches: what a growing tree notes of the rows at each of its nodes.
#
# Of every node there is: the class counts of the rows since it was made, which say
# whether its parent's test has held since then (`_confirmed.py`); and a bet that the
# errors below it rise. The bet is a CUSUM: a wealth, at least 1, that each row multiplies
# by the ratio of two probabilities of its outcome, that of a share of errors somewhat
# above the past one of the node, and that of this share. A wealth of WARNING is a
# warning, which without a change comes once in as many rows or far fewer. Nothing rests
# on it but time: what is replaced has to show more, see `_challenger.pxd`.

cdef struct Watch:
    float64_t n             # late rows
    float64_t n_wrong       # of them, not predicted
    float64_t if_wrong      # what a row multiplies the wealth by
    float64_t if_right
    float64_t wealth
    int64_t n_rows          # since the node was made or repaired
    int64_t n_begun         # trees begun beside it
    int64_t rest            # rows up to which no other is begun
    int64_t slot            # 1 + that of the tree that grows beside it; 0: none


# What a node's share of errors has been at most, as far as its past can tell.
cdef float64_t usual_share(const Watch* watch) noexcept nogil


@cython.final
cdef class Watches:
    cdef Blocks blocks
    cdef Watch* at          # [room]
    cdef float64_t* seen    # [room, n_classes]
    cdef intp_t room
    cdef intp_t n_classes

    cdef int reserve(self, intp_t n_nodes) except -1 nogil
    cdef intp_t follow(
        self, const int32_t* parent, intp_t leaf, bint wrong, label_t y,
        float64_t weight, uint64_t* path,
    ) noexcept nogil
    cdef void start(self, intp_t node) noexcept nogil
    cdef intp_t node_bytes(self) noexcept nogil


# ReplacingGrower: a growing tree that is replaced when the concept drifts.
#
# A detector watches the errors. Between its warning and what follows it a second
# tree learns the same rows; if a drift follows it takes the place of the first. The
# two share the memory limit.

cdef class ReplacingGrower(WatchingGrower):
    cdef Detector detector
    cdef Grower background              # learns since a warning, or None
    cdef object successor               # what it was made from, but for what it watches

    cdef int _hold_error(self) except -1
    cdef Grower _successor(self, Tree tree)
    cdef int _become(self, Grower other) except -1


# Challenger: a tree that grows beside a part of another, on the rows that come there.
#
# Both predict each row before they learn it. Two wealths, which start at 1, grow with
# what speaks for the young tree:
#
#   gain   bets that it is the better of the two. Only rows that one of them predicts and
#          the other does not move it: each multiplies it by 1 + s or 1 - s, where s, from
#          0 on, is by how much the young tree has led on late rows of that kind.
#   rise   bets that the errors at the node have risen: each row multiplies it by the
#          ratio of two probabilities of its outcome, that of the late share of errors
#          and that of the share that was usual before the young tree was begun.
#
# Where the young tree is no better, given all that was before, the gain is a
# supermartingale, so that it ever reaches 1 / a with probability a at most (Ville's
# inequality), whenever the tree was begun and however often one looks. The same is true
# of the rise where errors are not above the usual share, which is an estimate, with two
# and a half standard errors added. The k-th tree begun at a node has a = delta / (2 k
# (k + 1)) for each of the two, and all of them together have delta. In addition the
# young tree has to lead on late rows.
#
# A wealth that bets the other way round ends the attempt; so does time.

cdef enum Verdict:
    OPEN = 0
    WON = 1
    LOST = 2


@cython.final
cdef class Challenger:
    cdef readonly Grower grower
    cdef readonly intp_t node       # in whose place it would be
    cdef readonly int64_t slot
    cdef readonly int64_t serial    # how many were begun in the tree before
    cdef float64_t level            # logarithm of the wealth that is enough
    cdef float64_t gain             # logarithms of the wealths
    cdef float64_t loss
    cdef float64_t rise
    cdef float64_t usual            # share of the other tree's errors
    cdef float64_t share            # late one
    cdef float64_t n_won            # late rows that it alone, and the other alone,
    cdef float64_t n_lost           # predicted
    cdef int64_t n_rows
    cdef int64_t most_rows          # when its time is up
    cdef Verdict verdict
    cdef Challenger behind          # the next one, or None

    cdef int learn(
        self, uint64_t path, const float32_t* x, label_t y, float64_t weight,
        bint wrong, bint finite,
    ) except -1 nogil
    cdef void judge(self, bint wrong, bint other_wrong) noexcept nogil
    cdef void _compare(self, bint won) noexcept nogil
    cdef void _bet_on_error(self, bint wrong) noexcept nogil


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
# rows in the arrays of the tree, see `nodes/_derived.py`: the others keep their ids.

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
