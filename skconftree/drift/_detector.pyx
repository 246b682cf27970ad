"""What every running change detector shares."""

from skconftree.utils._codec import restore

from copy import deepcopy

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from skconftree.utils._typedefs cimport int8_t, intp_t

cdef enum:
    BOUNDARY = 1024     # rows: signal handlers and other threads come at multiples
    ATTEMPTS = 10       # of updates in a row that fail: later rows get one each


class OnlyPickled:
    """A copy of a detector of which nothing but a pickle can be made."""

    def __init__(self, detector, remedy):
        self.detector, self.remedy = deepcopy(detector), remedy

    def __reduce__(self):
        # with a state, be it an empty one: skops asks __getstate__ for it
        return OnlyPickled, (self.detector, self.remedy), {}

    def __getstate__(self):
        raise TypeError(
            f"{type(self.detector).__name__}, the running detector of drifts, can be "
            f"pickled, but a file of skops cannot hold it: {self.remedy}"
        )

    def __setstate__(self, state):
        pass


IN_PYTHON = (
    "it runs a detector that is not of skconftree. Save the model with pickle, or use "
    "a detector of skconftree.drift."
)
REDUCE = (
    "its __reduce__ has to give its class, what that is called with, and a state of "
    "plain values, as CONTRIBUTING shows under \"Add a detector\"."
)


def write_detector(Detector detector not None):
    """A detector as plain values; a copy of one that does not know how."""
    if isinstance(detector, PythonKernel):
        return OnlyPickled(detector, IN_PYTHON)
    reduced = detector.__reduce_ex__(2)
    if len(reduced) == 3 and reduced[0] is type(detector):
        return reduced[1:]
    return OnlyPickled(detector, REDUCE)


def read_detector(kind, state):
    """Make a detector from the result of `write_detector`."""
    if isinstance(state, OnlyPickled) and isinstance(state.detector, Detector):
        return deepcopy(state.detector)
    return restore(kind, state, "drift detector")


cdef class Detector:
    """A running change detector; subclasses say what a row makes of a concept."""

    cdef int update(self, float64_t loss, float64_t weight) noexcept nogil:
        self.n_seen += 1
        self.n += 1
        self.state = self._learn(loss, weight)
        if self.state == DRIFT:
            # the row that gave it belongs to the concept that has ended
            self.n_drifts += 1
            self.n = 0
            self._forget()
        return self.state

    cdef object release(self):
        held, self.held = self.held, None
        return held

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        return STABLE

    cdef void _forget(self) noexcept nogil:
        pass

    def update_many(self, const float64_t[::1] losses not None):
        """Learn losses in [0, 1] in order and return the state after each.

        A call can be interrupted when the rows ever given are a multiple of 1,024.
        """
        cdef intp_t n = losses.shape[0]
        cdef intp_t i
        states = np.empty(n, dtype=np.int8)
        cdef int8_t[::1] out = states
        # Threads that share a detector have a lock for it, see `BaseDetector`.
        for i in range(n):
            out[i] = <int8_t> self.update(losses[i], 1.0)
            if self.n_seen % BOUNDARY == 0:
                self._raise_held()
                PyErr_CheckSignals()
                with nogil:
                    pass        # others, if they wait
        self._raise_held()
        return states

    cdef int _raise_held(self) except -1:
        held = self.release()
        if held is not None:
            raise held
        return 0

    def totals(self, version=1):
        """Plain values that the state of every detector holds, as of a version."""
        return {
            "version": version,
            "n": self.n,
            "n_seen": self.n_seen,
            "n_drifts": self.n_drifts,
            "state": self.state,
        }

    def take_totals(self, state, version=1):
        """Go on from `totals`; raises ``ValueError`` for those of another version."""
        if not isinstance(state, dict) or state.get("version") != version:
            raise ValueError(
                f"The state of this drift detector is not of version {version}; "
                "it was written by another release."
            )
        values = [state[name] for name in ("n", "n_seen", "n_drifts", "state")]
        self.n, self.n_seen, self.n_drifts, self.state = values


cdef class PythonKernel(Detector):
    """Runs a detector with river's protocol, a private one, between rows.

    An update may raise, in its own code or in a signal handler that Python runs
    meanwhile, and leave the detector in the midst of a row. It is then restored from a
    copy and updated again; the exception is held until the rows are at a boundary.
    An error that comes again and again is not an interrupt: the detector has not seen
    the row, which counts as stable, and goes on with the next one.
    """

    def __init__(self, detector):
        self.running, self.saved, self.since = detector, deepcopy(detector), []

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row is one outcome, whatever its weight.
        with gil:
            while True:
                try:
                    if self.running is None:
                        self._restore()
                    elif len(self.since) >= BOUNDARY:
                        self.saved, self.since = deepcopy(self.running), []
                    state = updated(self.running, loss)
                    self.since.append(int(loss))
                    self.n_failed = 0
                    return state
                except BaseException as error:
                    self.running = None
                    if self.held is None:
                        self.held = error
                    if self.n_failed < ATTEMPTS:
                        self.n_failed += 1
                        continue
                    return STABLE

    cdef int _restore(self) except -1:
        # As after the last row. Whatever fails here has changed nothing.
        detector = deepcopy(self.saved)
        for error in self.since:
            updated(detector, error)
        if self.since:
            self.saved, self.since = deepcopy(detector), []
        self.running = detector
        return 0

    def __reduce__(self):
        if self.running is None:
            self._restore()
        return read_python_kernel, (self.running, self.totals())


def read_python_kernel(detector, totals):
    """Make a kernel from what was in a pickle."""
    kernel = PythonKernel(detector)
    kernel.take_totals(totals)
    return kernel


cdef int updated(detector, error) except -1:
    # The state of a detector after one more error, 0 or 1.
    detector.update(int(error))
    if detector.drift_detected:
        return DRIFT
    # not every detector has warnings
    return WARNING if getattr(detector, "warning_detected", False) else STABLE
