"""Checks of arrays that are used as they are."""

from libc.math cimport isfinite, isinf, isnan

from skconftree.utils._typedefs cimport intp_t

cdef enum:
    LANES = 16


cpdef int finiteness(const float32_t[:, ::1] X):
    """0 if all values of a table are finite, 2 if any is infinite, else 1."""
    cdef intp_t n = X.shape[0] * X.shape[1]
    cdef int found = FINITE
    cdef const float32_t* x
    cdef intp_t i
    if n == 0:
        return FINITE
    x = &X[0, 0]
    with nogil:
        if not isfinite(_sum(x, n)):
            for i in range(n):
                if isinf(x[i]):
                    found = INFINITE
                    break
                elif isnan(x[i]):
                    found = MISSING
    return found


cdef float32_t _sum(const float32_t* x, intp_t n) noexcept nogil:
    # Finite only if all values are. Independent partial sums become vectors.
    cdef float32_t parts[LANES]
    cdef float32_t total = 0.0
    cdef intp_t i = 0
    cdef intp_t lane
    for lane in range(LANES):
        parts[lane] = 0.0
    while i + LANES <= n:
        for lane in range(LANES):
            parts[lane] += x[i + lane]
        i += LANES
    while i < n:
        total += x[i]
        i += 1
    for lane in range(LANES):
        total += parts[lane]
    return total


# -- Keeping the attributes of an estimator ----------------------------------------
cdef object ABSENT = object()       # what no dict holds


cdef class unchanged_on_error:
    """Restore the attributes of an estimator if the block raises.

    scikit-learn's ``validate_data`` writes feature names and counts before it has
    looked at the values, so a failed ``fit`` would otherwise leave a fitted model that
    no longer fits itself. Lists, dicts and sets among its attributes are compared by
    what they hold, and replaced by a copy of what they were if the block has changed
    them in place. Any other is compared by identity: what the block mutates in place
    stays mutated.

    Compiled, as it is made once for each row of a stream, and as no signal handler can
    run between an error and what undoes its traces.
    """

    cdef object estimator
    cdef dict before                # its attributes
    cdef dict held                  # copies of those that are containers, or None

    def __cinit__(self, estimator):
        cdef object name, value
        self.estimator = estimator
        self.before = (<dict> estimator.__dict__).copy()
        for name, value in self.before.items():
            if type(value) is list or type(value) is dict or type(value) is set:
                if self.held is None:
                    self.held = {}
                self.held[name] = value.copy()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            self.restore()

    def restore(self):
        """Make the estimator what it was, in one assignment."""
        cdef object name, held
        try:
            if self.held is not None:
                for name, held in self.held.items():
                    if not _holds_the_same(self.before[name], held):
                        self.before[name] = held
        finally:
            self.estimator.__dict__ = self.before


cdef bint _holds_the_same(object given, object held) except -1:
    # The very same objects, which need not be comparable.
    cdef object key, value
    cdef Py_ssize_t i
    if len(given) != len(held):
        return False
    if type(held) is list:
        for i in range(len(<list> held)):
            if (<list> given)[i] is not (<list> held)[i]:
                return False
        return True
    if type(held) is dict:
        for key, value in (<dict> held).items():
            if (<dict> given).get(key, ABSENT) is not value:
                return False
        return True
    return given == held
