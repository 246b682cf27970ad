from skconftree.tables._encoded_table cimport Column
from skconftree.tree.batch._builder cimport Builder, Candidate, Helpers
from skconftree.tree.batch._near_ties cimport RunnerUp
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.batch._table_source cimport RowSource
from skconftree.tree.split._split cimport Split
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, int64_t, intp_t

# PartedSource: the nodes of a tree whose rows lie in parts, elsewhere.
#
# What is asked of a node is answered from its counts, classes by codes, which the parts
# have added up; they are exact in any order. A node of few rows is never entered here
# unless growth is best-first (_parted_subtrees.pxd).
#
# The place of a cut is the largest code that goes left.
#
# `nodes` is a Python object with
#   heads           columns of one row each, a CodedColumn of every feature
#   n_rows, repeated    of the sample; whether some rows are there several times
#   most_gathered   rows of a node whose rows are brought together
#   counts(node)    int64 [codes of all features, classes], with the number of rows in one
#                   more column if some are repeated; and the weight without repeats, or
#                   None if each row is one
#   divide(questions, limit)    node, feature, outcomes by code, and children that are
#                   wanted, (outcome, node, number of rows); those of more rows than the
#                   limit are counted. The nodes are dropped
#   count_cells(node, tests)    int64 [cells, classes]; tests are (feature, outcomes by
#                   code, number of outcomes), the last one's moving fastest
#   grow(node, open_node)   have a tree grown below it, somewhere and some time; gives
#                   what stands for it
#   grown(growing)  the trees that some of these stand for, when they are done
#   drop(node)
# Where such a call raises, `error` keeps the exception until it can be raised.

cdef class PartedSource(RowSource):
    cdef readonly object nodes
    cdef readonly NodeRows heads    # the columns, of one row
    cdef object error
    cdef Arena arena
    cdef intp_t* first              # the first code of each feature among all
    cdef float64_t* histogram       # [codes of a feature, n_classes + 1]

    # The node.
    cdef const int64_t[:, ::1] held
    cdef const int64_t* cells       # its counts, `width` for each code
    cdef intp_t width
    cdef intp_t rows_at             # where the number of rows is; -1 = it is their weight
    cdef float64_t distinct         # weight without repeats

    cdef list waiting       # questions for divide(), of splits that have been installed

    # Raise what the parts have raised.
    cdef int check_parts(self) except -1
    # A child of the node divided last that is grown further.
    cdef int want(self, intp_t outcome, intp_t node, intp_t n_rows) except -1
    # Have the parts divide the nodes that are waiting for it.
    cdef int divide_parts(self, intp_t limit) except -1
    cdef outcomes_of(self, const Split* split)
    cdef int64_t n_rows_of(self, const int64_t* cell) noexcept nogil
    cdef void fill(
        self, intp_t feature, intp_t width, float64_t* out
    ) noexcept nogil
    cdef void _labelled_range(
        self, intp_t feature, intp_t* low, intp_t* high
    ) noexcept nogil


# PartedBuilder: a Builder of a tree whose rows lie in parts.
#
# Large nodes are counted and divided by the parts; what lies below small ones is grown
# where their rows are brought together (_parted_subtrees.pxd).

cdef class PartedRunnerUp(RunnerUp):
    cdef PartedSource parted


cdef class PartedBuilder(Builder):
    cdef PartedSource parted
    cdef Py_ssize_t most_uncounted      # rows of a child that is not counted
    cdef Py_ssize_t at_once             # nodes that are divided in one round

    cdef Py_ssize_t _room_for_counts(self)


# PartedSubtrees: what lies below the nodes of few rows of a tree whose rows lie in parts.
#
# The rows of such a node are brought together somewhere, and a builder grows a tree from
# them there, while the tree above goes on. When that is done, the trees are joined to it,
# and nodes get the numbers that one builder would have given them. Where something is
# drawn, which goes by these numbers, each is waited for at once. Best-first growth comes
# back to every node, however small: it leaves none to others.

cdef class PartedSubtrees(Helpers):
    cdef PartedSource parted
    cdef bint draws
    cdef Py_ssize_t most_gathered   # rows of a node that is small
    cdef dict growing               # by node, what `nodes` have given for it

    cdef int _leave(self, Builder builder, const Candidate* candidate) except -1
    cdef int _join(self, Builder builder) except -1
