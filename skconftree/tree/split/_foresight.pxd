# Foresight: whether a bound would refuse any test of a node, before the tests are
# compared. Most looks at a growing leaf end that way: rough values, within limits that
# are known, show that the best test cannot be ahead of the others by enough. Nothing is
# decided by them but that; a leaf that may split is examined as if they were not there.

from skconftree.bounds._contract cimport Bound
from skconftree.criteria._criterion cimport Criterion
from skconftree.tree.split._node cimport ExaminedNode
from skconftree.tree.split._source cimport Source
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t


cdef class Foresight:
    cdef readonly bint sees         # it may know for some nodes
    cdef Source source
    cdef Criterion criterion
    cdef Bound bound
    cdef ExaminedNode node
    cdef bint is_entropy
    cdef Arena arena
    cdef float32_t* left            # [n_classes, LANES]
    cdef float64_t* least           # [n_features] what the best test gains, at least
    cdef float64_t* most            # and at most

    # Of the node that has been entered, whose impurity per row is given. All its
    # features will be examined if they are no more than so many.
    cdef bint must_wait(self, float64_t impurity, intp_t max_features) noexcept nogil
    cdef bint _limit_gains(self, float64_t impurity) noexcept nogil
    cdef float64_t _largest_lead(self) noexcept nogil
