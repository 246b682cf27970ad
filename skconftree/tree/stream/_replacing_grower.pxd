# ReplacingGrower: a growing tree that is replaced when the concept drifts.
#
# A detector watches the errors. Between its warning and what follows it a second
# tree learns the same rows; if a drift follows it takes the place of the first. The
# two share the memory limit.

from skconftree.drift._detector cimport Detector
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.stream._grower cimport Grower
from skconftree.tree.stream._watching_grower cimport WatchingGrower


cdef class ReplacingGrower(WatchingGrower):
    cdef Detector detector
    cdef Grower background              # learns since a warning, or None
    cdef object successor               # what it was made from, but for what it watches

    cdef int _hold_error(self) except -1
    cdef Grower _successor(self, Tree tree)
    cdef int _become(self, Grower other) except -1
