# PartedBuilder: a Builder of a tree whose rows lie in parts.
#
# A node of few rows is gathered. If growth is depth-first, the tree below it is finished
# by a builder of its own, in the same tree and at the same moment, so that the ids of
# nodes are those of one builder; if growth is best-first, its split is found there.

from skconftree.tree.batch._builder cimport Builder, Candidate
from skconftree.tree.batch._parted_source cimport PartedSource
from skconftree.tree.batch._runner_up cimport RunnerUp


cdef class PartedRunnerUp(RunnerUp):
    cdef PartedSource parted


cdef class PartedBuilder(Builder):
    cdef PartedSource parted
    cdef object make_builder        # of a gathered node
    cdef Py_ssize_t most_gathered   # rows

    cdef bint _is_small(self, const Candidate* candidate) noexcept nogil
    cdef int _examine_gathered(self, Candidate* candidate) except -1
