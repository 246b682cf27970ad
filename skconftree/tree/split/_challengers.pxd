# Challengers: the selection of interval bounds. A test wins by its cost, the bound's
# upper limit of the children, which is dear. A first scan finds the smallest floor of
# each attribute; then attributes come in the order of their floors, each with its most
# promising test first, and only tests whose floor is below the incumbent's cost are
# asked for theirs.

from skconftree.bounds._contract cimport IntervalBound
from skconftree.tree._settings cimport MOST_RIVALS
from skconftree.tree.split._cut cimport Cut
from skconftree.tree.split._scan cimport Scan
from skconftree.tree.split._selection cimport Selection
from skconftree.tree.split._split cimport RivalTest
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t


cdef class Challengers(Selection):
    cdef IntervalBound interval     # the bound
    cdef bint challenging           # in the second scan
    cdef float64_t incumbent        # its cost
    cdef intp_t incumbent_feature   # -1 = the parent's limit
    cdef Cut incumbent_cut
    cdef RivalTest floors[MOST_RIVALS + 1]  # the smallest, the smallest first

    cdef void _note_floors(
        self, const int32_t* visited, intp_t n_visited
    ) noexcept nogil
    cdef void _challenge_with(self, Scan scan) noexcept nogil
    cdef void _offer(
        self, intp_t feature, Cut cut, const float64_t* pair, float64_t pool_left,
        float64_t pool_right,
    ) noexcept nogil
    cdef void _install_if_better(
        self, intp_t feature, Cut cut, float64_t cost
    ) noexcept nogil
