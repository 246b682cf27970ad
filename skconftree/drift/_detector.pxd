# Detector: a running change detector, with the state of a stream, used without the GIL. It is
# made by a BaseDetector (_base.py), the public object with its parameters.
#
# It is updated with the loss of each row, in [0, 1], and returns a state:
#   STABLE   no change
#   WARNING  there may be a change: the monitored tree may start to train another model
#   DRIFT    there is a change; the detector resets itself
#
# A warning ends with the next STABLE row, unless warnings are `lasting`: then each warning
# is a separate signal that restarts the other model, and only a drift ends it.

from skconftree.utils._typedefs cimport float64_t, int64_t


cdef enum:
    STABLE = 0
    WARNING = 1
    DRIFT = 2


cdef class Detector:
    cdef readonly int64_t n             # rows since the last drift
    cdef readonly int64_t n_seen        # all rows
    cdef readonly int64_t n_drifts      # all drifts
    cdef readonly int state             # after the last row
    cdef readonly bint lasting          # see above
    # Exception of a detector in Python. It is held: stored until the next check for signals,
    # which raises it. None in a compiled detector.
    cdef object held

    # Update with the loss of a row of the given weight; returns the state.
    cdef int update(self, float64_t loss, float64_t weight) noexcept nogil

    # Return the held exception, or None, and clear it.
    cdef object release(self)
    cdef int _raise_held(self) except -1    # raise it, if any

    # Required methods: update with the loss of a row and return the state; reset.
    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil
    cdef void _forget(self) noexcept nogil


cdef class PythonKernel(Detector):
    cdef object running     # the detector; None if it has to be restored
    cdef object saved       # a copy of an earlier state of the detector
    cdef list errors_since  # the errors (0 or 1) with which it was updated since then
    cdef int n_failed       # consecutive failed updates

    cdef int _restore(self) except -1   # set `running` from the other two
