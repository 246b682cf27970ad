# RunnerUp: whether a split is decided, or a tie of two attributes.
#
# The gain of a test is a function of the class counts of its children, so a row has a part
# in it: what the gain would change by, per row, if the row came once more (its influence).
# The difference of two gains at a node is the mean over its rows of the differences of
# their parts, and has a standard error.

from skconftree.tables._encoded_table cimport Column
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._split cimport Children, Split
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int16_t, intp_t


cdef struct Sides:
    # Where a test sends the rows of a node.
    intp_t feature
    intp_t n_outcomes
    const Column* column    # whose codes tell, or NULL: the values do
    intp_t place            # of codes
    intp_t missing_code
    float64_t threshold     # of values
    bint missing_left
    int16_t* ordinals       # [n_codes] of categories, or NULL
    intp_t n_codes
    intp_t unknown


cdef class RunnerUp:
    cdef Splitter splitter
    cdef NodeRows rows
    cdef bint by_logarithms     # the criterion is entropy; else the parts are Gini's
    cdef Arena arena
    cdef Sides first
    cdef Sides second
    cdef intp_t room
    cdef float64_t* joint       # [outcomes of the one, of the other, n_classes]
    cdef float64_t* parts       # of a row in the gain of the one test, and of the other,
                                # by its child there and class

    # Write into the evidence how much more the test of a split gains than the best test of
    # another attribute, in standard errors. Its children have just been counted.
    cdef int compare(self, const NodeRecord* record, Split* split) except -1 nogil
    cdef int _take_sides(
        self, Sides* sides, intp_t feature, intp_t place, float64_t threshold,
        const Children* children,
    ) except -1 nogil
    cdef intp_t _side(self, const Sides* sides, intp_t i, intp_t row) noexcept nogil
    cdef float64_t _z(self, const NodeRecord* record) except? -1.0 nogil
    cdef void _take_parts(
        self, float64_t* parts, intp_t n_outcomes, intp_t step, intp_t n_others,
        intp_t step_others,
    ) noexcept nogil
