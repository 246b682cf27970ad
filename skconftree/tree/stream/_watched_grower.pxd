# WatchedGrower: a growing tree that is replaced when the concept drifts.
#
# A detector watches the errors. Between its warning and what follows it a second
# tree learns the same rows; if a drift follows it takes the place of the first. The
# two share the memory limit.

from skconftree.drift._detector cimport Detector
from skconftree.tree.stream._grower cimport Grower
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, label_t


cdef class WatchedGrower(Grower):
    cdef Detector detector
    cdef Grower background              # learns since a warning, or None
    cdef list found                     # rows by which drifts were
    cdef object successor               # what it was made from, but for what it watches

    cdef int _watch(
        self, bint error, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil
    cdef Grower _background_or_none(self)
    cdef int _become(self, Grower other) except -1
