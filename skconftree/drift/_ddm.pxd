# DDMKernel: one running drift detector, for loops without the GIL.
#
# All counts start after the last drift. Until `n >= min_samples` and
# `n_errors >= min_errors` nothing is compared and the state is STABLE.
# (p_min, s_min) belong to the smallest p + s among the rows compared so far;
# infinite before the first one.

from skconftree.utils._typedefs cimport float64_t, int64_t


cdef enum:
    STABLE = 0
    WARNING = 1
    DRIFT = 2


cdef class DDMKernel:
    cdef readonly int64_t min_samples
    cdef readonly int64_t min_errors
    cdef readonly float64_t warning_level
    cdef readonly float64_t drift_level

    cdef readonly int64_t n             # rows since the last drift
    cdef readonly int64_t n_errors      # errors among them
    cdef readonly int64_t n_seen        # rows ever
    cdef readonly int64_t n_drifts      # drifts ever
    cdef readonly float64_t p_min
    cdef readonly float64_t s_min
    cdef readonly int state             # what the last row gave

    # Learn one outcome; returns the state it gives. After DRIFT the counts start
    # anew: the row that gave it belongs to the concept that has ended.
    cdef int update(self, bint error) noexcept nogil

    cdef void restart(self) noexcept nogil      # forget the concept, keep the totals
