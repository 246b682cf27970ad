# Class means and rows as whole numbers, for the routing of many rows.
#
# They are rounded to multiples of one step, so small that sums of d products fit into 32
# bits (_two_nearest.pxd). A vector of d numbers is moved by at most sqrt(d) / 2 steps. By
# the triangle inequality a rounded distance is wrong by no more than what the row and the
# mean were moved by: a mean that is nearer than all others by twice that is the nearest.
# Where none is, distances are taken as they are (_centroid_tree.pxd).
#
# Rows go through a tree level by level: the means of a node are read once for all rows
# that come to it, and fetched while the nodes before it are at work.

from skconftree.ensemble.ncm._centroid_tree cimport CentroidTest, NCMTree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, int32_t, intp_t, uint64_t

cdef enum:
    DISTANCE_BITS = 34      # of a squared distance, in steps


cdef struct Arrived:        # rows that have come to a node
    intp_t node
    intp_t start            # their places in the order
    intp_t end


cdef class WholeVectors:
    cdef Arena arena
    cdef intp_t width
    cdef readonly float64_t step
    cdef int16_t* vectors       # [n, width] in steps
    cdef int32_t* squares       # [n] their squared lengths, in steps

    cdef int _round(
        self, const float32_t* values, intp_t n, intp_t d, float64_t largest
    ) except -1


cdef class WholeRows(WholeVectors):
    cdef readonly intp_t n_rows
    cdef const float32_t[:, ::1] X
    cdef int32_t* leaves        # [n_rows] that they reach in the tree of the last route
    cdef int32_t* order         # [n_rows] by the nodes that they have come to
    cdef int32_t* spare         # [n_rows]
    cdef Arrived* level         # [n_rows] nodes that have rows, and those below
    cdef Arrived* below         # [n_rows]


cdef class WholeMeans(WholeVectors):
    cdef readonly NCMTree tree
    # By the highest bit of the least squared distance: what squared distances have to
    # differ by if the nearest mean is sure.
    cdef uint64_t[DISTANCE_BITS] gaps

    # Find the leaf of each row.
    cdef void route(self, WholeRows rows) noexcept nogil
    cdef void _prefetch(self, intp_t node) noexcept nogil
    cdef intp_t _divide(
        self, WholeRows rows, const Arrived* arrived, const CentroidTest* test
    ) noexcept nogil
    cdef intp_t _nearest(
        self, WholeRows rows, intp_t i, const CentroidTest* test
    ) noexcept nogil
