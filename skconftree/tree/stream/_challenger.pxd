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

cimport cython

from skconftree.tree.stream._grower cimport Grower
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int64_t, intp_t, label_t, uint64_t,
)

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
