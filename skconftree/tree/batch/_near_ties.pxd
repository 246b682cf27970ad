from skconftree.tables._encoded_table cimport Column
from skconftree.tree._settings cimport MAX_STORED_COMPETITORS
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.nodes._node_table cimport Competitor
from skconftree.tree.split._candidates cimport CandidateSplits
from skconftree.tree.split._node cimport NodeRecord
from skconftree.tree.split._split cimport Children, Split
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t, uint32_t

# RunnerUp: compares a split with its competitors, the best splits of other features, to detect
# near ties: differences of gains that are small compared with their standard errors. The best
# competitor is the runner-up.
#
# The gain of a split is a function of the class counts of its children. Each row has an
# influence on the gain: the change of the gain, per row, if the row occurred once more. The
# difference of two gains at a node is the mean of the differences of these influences over
# its rows, and has a standard error.
#
# The outcome of a split for a row is the index of the row's child. The joint outcomes of all
# compared splits are counted in one pass over the rows. A cell is a combination of outcomes, one
# of each split; the outcome of the last split varies fastest. The code of a value is its rank or
# bin in the feature; a feature without codes is sorted: its rows are stored in the order of the
# value. A Competitor is what the tree stores about a competitor. A tally has the class weights of
# each cell, and the weight of its unlabeled rows.

cdef struct Sides:
    # The outcomes of the rows of a node for one split.
    intp_t feature
    intp_t n_outcomes
    const Column* column    # its codes determine the outcome; NULL: values do
    intp_t position         # largest code of the first child; if the feature is sorted, its
                            # number of rows
    intp_t missing_code     # code of rows without a value; -1 = none
    float64_t threshold     # if the feature has no codes
    bint missing_left
    int16_t* child_of_code  # [n_levels] of categories,
    bint nominal            # if the feature is nominal


cdef class RunnerUp:
    cdef Splitter splitter
    cdef CandidateSplits candidates  # of the splitter
    cdef NodeRows rows          # the rows of the table, arranged by node
    cdef float64_t min_weight   # smallest weight of a node whose split is compared
    cdef bint by_logarithms     # the criterion is entropy; otherwise the Gini gains are compared
    cdef Arena arena            # owns the arrays
    cdef Sides splits[MAX_STORED_COMPETITORS + 1]  # of the split, and of its competitors
    cdef const uint32_t* order  # if all features are sorted (then NodeRows.ids, the rows of the
                                # node, is not updated), the entries (row << 1 and a bit) of the
                                # split's feature, in whose order the rows are visited; else NULL
    cdef Competitor competitors[MAX_STORED_COMPETITORS]
    cdef int32_t* present       # [n_present] classes of the node
    cdef intp_t n_present
    cdef int32_t* cells         # [CHUNK] the cell of each row; rows are visited CHUNK at a time
    cdef float64_t* tally       # [cells, n_classes + 1] weights
    cdef int32_t* int_tally     # the same for integer weights
    cdef intp_t tally_capacity  # in cells
    cdef intp_t pair_capacity   # in pairs of outcomes of the split and of one competitor
    cdef float64_t* joint       # [outcomes of the split, of a competitor, n_present]
    cdef float64_t* influences  # of a row on the gain of the split and of a competitor, by
                                # child and class of the row
    cdef float64_t* pair        # [2, 2, n_classes] scratch: counts and scaled counts of the two
                                # children of a competitor

    # Set `competitors` and the evidence's runner_up_z (difference of the gains divided by its
    # standard error) of a split, whose children have just been counted.
    cdef int compare(self, const NodeRecord* record, Split* split) except -1 nogil
    # Set competitors[index]. `counted` is set if the children of another split than `split` have
    # been counted.
    cdef int _set_competitor(
        self, intp_t index, intp_t feature, const Split* split, bint* counted
    ) except -1 nogil
    cdef int _reserve(self, intp_t n_cells, intp_t n_pairs) except -1 nogil
    # Fill the tally for the split and n competitors, from the competitor `first` on.
    cdef void _count_cells(
        self, const NodeRecord* record, intp_t first, intp_t n, intp_t n_cells
    ) noexcept nogil
