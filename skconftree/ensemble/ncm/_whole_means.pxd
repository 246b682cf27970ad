# Class means and rows as whole numbers, for the routing of many rows.
#
# They are rounded to multiples of one step, so small that sums of d products fit into 32
# bits, which processors add up eight at a time. By the triangle inequality a rounded
# distance is wrong by no more than the distances that the row and the mean were moved by:
# a mean that is nearer than all others by twice that is the nearest. Where none is,
# distances are taken as they are (_centroid_tree.pxd).

from skconftree.ensemble.ncm._centroid_tree cimport NCMTree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, int32_t, intp_t

cdef enum:
    LANES = 16      # vectors are filled up with zeros to a multiple of this


cdef class WholeVectors:
    cdef Arena arena
    cdef intp_t width
    cdef readonly float64_t step
    cdef int16_t* vectors       # [n, width] in steps
    cdef int32_t* squares       # [n] their squared lengths, in steps
    cdef float64_t* moved       # [n] how far each was moved, in steps

    cdef void _round(
        self, const float32_t* values, intp_t n, intp_t d
    ) noexcept nogil


cdef class WholeMeans(WholeVectors):
    cdef readonly NCMTree tree
    cdef float64_t error        # the farthest that a mean was moved

    cdef intp_t leaf_of(
        self, WholeVectors rows, intp_t i, const float32_t* row
    ) noexcept nogil
