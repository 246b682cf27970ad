# Watches: what a growing tree notes of the rows at each of its nodes.
#
# Of every node there is: the class counts of the rows since it was made, which say
# whether its parent's test has held since then (`_confirmed.py`); and a bet that the
# errors below it rise. The bet is a CUSUM: a wealth, at least 1, that each row multiplies
# by the ratio of two probabilities of its outcome, that of a share of errors somewhat
# above the past one of the node, and that of this share. A wealth of WARNING is a
# warning, which without a change comes once in as many rows or far fewer. Nothing rests
# on it but time: what is replaced has to show more, see `_challenger.pxd`.

cimport cython

from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, label_t, uint64_t,
)


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
