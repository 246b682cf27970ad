# Detector: a running change detector, for loops without the GIL.
#
# It learns one loss a row, in [0, 1], and says after each what it makes of them:
#   STABLE   nothing has changed
#   WARNING  something may have: who has another model trains it from here on
#   DRIFT    it has; the detector forgets what it has counted
#
# A warning is over with the next STABLE row, unless warnings are `lasting`: then each
# is a signal of its own, which starts the other model anew, and only a drift ends it.

from skconftree.utils._typedefs cimport float64_t, int64_t


cdef enum:
    STABLE = 0
    WARNING = 1
    DRIFT = 2


cdef class Detector:
    cdef readonly int64_t n             # rows since the last drift
    cdef readonly int64_t n_seen        # rows ever
    cdef readonly int64_t n_drifts      # drifts ever
    cdef readonly int state             # what the last row gave
    cdef readonly bint lasting
    # Exception of a detector in Python, to be raised when the caller's rows are at a
    # boundary; None of a compiled one.
    cdef object held

    # Learn the loss of one row that counts `weight` times; returns the state.
    cdef int update(self, float64_t loss, float64_t weight) noexcept nogil

    # Return the exception that is held, or None, and hold it no longer.
    cdef object release(self)
    cdef int _raise_held(self) except -1

    # Required. What a row makes of a concept; and forget the concept.
    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil
    cdef void _forget(self) noexcept nogil


cdef class PythonKernel(Detector):
    cdef object running     # the detector; None: to be restored from
    cdef object saved       # a copy of it, and
    cdef list since         # the errors that it has been updated with since
    cdef int n_failed       # updates in a row

    cdef int _restore(self) except -1
