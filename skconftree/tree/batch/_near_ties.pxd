from skconftree.tables._encoded_table cimport Column
from skconftree.tree._settings cimport MAX_STORED_COMPETITORS
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.nodes._node_table cimport Competitor
from skconftree.tree.split._candidates cimport NodeTests
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._split cimport Children, Split
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t, uint32_t

# RunnerUp: whether a split is decided, or a tie of attributes.
#
# The gain of a test is a function of the class counts of its children, so a row has a part
# in it: what the gain would change by, per row, if the row came once more (its influence).
# The difference of two gains at a node is the mean over its rows of the differences of
# their parts, and has a standard error.
#
# What is asked of the rows is where the tests send them together. One pass counts it, of
# all tests at once: a cell is one outcome of each, the last test's moving fastest.

cdef struct Sides:
    # Where a test sends the rows of a node.
    intp_t feature
    intp_t n_outcomes
    const Column* column    # whose codes tell, or NULL: the values do
    intp_t position         # of codes
    intp_t missing_code
    float64_t threshold     # of values
    bint missing_left
    int16_t* ordinals       # [n_levels] of categories,
    bint nominal            # if it is


cdef class RunnerUp:
    cdef Splitter splitter
    cdef NodeTests node_tests   # its tests
    cdef NodeRows rows
    cdef float64_t least        # weight of a node whose split is compared
    cdef bint by_logarithms     # the criterion is entropy; else the parts are Gini's
    cdef Arena arena
    cdef Sides tests[MAX_STORED_COMPETITORS + 1]   # that of the split, and its competitors
    cdef const uint32_t* order  # of the split feature, by which the rows are visited if
                                # all tests are of sorted features: below splits where
                                # all are, ids stay as they were. Else NULL
    cdef Competitor competitors[MAX_STORED_COMPETITORS]
    cdef int32_t* present       # [n_present] classes of the node
    cdef intp_t n_present
    cdef int32_t* cells         # [CHUNK] of rows
    cdef float64_t* tally       # [cells, n_classes + 1] weights
    cdef int32_t* whole         # the same of whole weights
    cdef intp_t tally_capacity
    cdef intp_t pair_capacity
    cdef float64_t* joint       # [outcomes of the split, of a competitor, n_present]
    cdef float64_t* parts       # of a row in the gain of the one test, and of the other,
                                # by its child there and class
    cdef float64_t* pair        # [2, 2, n_classes] children of a competitor; scratch

    # Find out about the competitors of a split, whose children have just been counted, and
    # write into its evidence how much more it gains than the first one.
    cdef int compare(self, const NodeRecord* record, Split* split) except -1 nogil
    cdef int _describe(
        self, intp_t position, intp_t feature, const Split* split, bint* counted
    ) except -1 nogil
    cdef int _reserve(self, intp_t n_cells, intp_t n_pairs) except -1 nogil
    cdef void _count_cells(
        self, const NodeRecord* record, intp_t first, intp_t n, intp_t n_cells
    ) noexcept nogil
