# WatchingGrower: a growing tree that watches its errors, and grows others beside itself.
#
# It predicts every row before it learns it, and hands the row on with what came of that.
# What then begins, and what takes the place of what, is for whoever derives from it.

from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._grower cimport Grower
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, label_t


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
