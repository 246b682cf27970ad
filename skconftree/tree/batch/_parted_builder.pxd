# PartedBuilder: a Builder of a tree whose rows lie in parts.
#
# Large nodes are counted and divided by the parts; what lies below small ones is grown
# where their rows are brought together (_parted_subtrees.pxd).

from skconftree.tree.batch._builder cimport Builder
from skconftree.tree.batch._parted_source cimport PartedSource
from skconftree.tree.batch._runner_up cimport RunnerUp


cdef class PartedRunnerUp(RunnerUp):
    cdef PartedSource parted


cdef class PartedBuilder(Builder):
    cdef PartedSource parted
    cdef Py_ssize_t most_uncounted      # rows of a child that is not counted
    cdef Py_ssize_t at_once             # nodes that are divided in one round

    cdef Py_ssize_t _room_for_counts(self)
