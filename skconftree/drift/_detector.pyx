"""Base class of running change detectors: compiled objects with the state of a stream.

A running detector is also called the kernel of a `BaseDetector`, which has its parameters. skops
is a package that saves models without pickle: only classes and plain values that it knows.
"""

from skconftree.utils._codec import restore

from copy import deepcopy

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from skconftree.utils._typedefs cimport int8_t, intp_t

cdef enum:
    CHECK_INTERVAL = 1024   # rows between checks for signals and waiting threads
    MAX_ATTEMPTS = 10       # consecutive failures, after which there are no retries


class PickleOnly:
    """A copy of a detector that can be pickled, but not saved by skops."""

    def __init__(self, detector, remedy):
        self.detector, self.remedy = deepcopy(detector), remedy

    def __reduce__(self):
        # with an empty state, so that skops calls __getstate__
        return PickleOnly, (self.detector, self.remedy), {}

    def __getstate__(self):
        raise TypeError(
            f"{type(self.detector).__name__}, the running drift detector, can be "
            f"pickled, but skops cannot write it: {self.remedy}"
        )

    def __setstate__(self, state):
        pass


# Remedies for detectors that skops cannot write.
IN_PYTHON = (
    "it runs a detector that is not part of skconftree. Save the model with pickle, or "
    "use a detector of skconftree.drift."
)
REDUCE = (
    "its __reduce__ must return its class, the arguments of the class, and a state of "
    "plain values, as CONTRIBUTING shows under \"Add a detector\"."
)


def write_detector(Detector detector not None):
    """Return a detector as plain values, or a copy if it cannot be written so."""
    if isinstance(detector, PythonKernel):
        return PickleOnly(detector, IN_PYTHON)
    reduced = detector.__reduce_ex__(2)
    if len(reduced) == 3 and reduced[0] is type(detector):
        return reduced[1:]
    return PickleOnly(detector, REDUCE)


def read_detector(kind, state):
    """Make a detector from the result of `write_detector`."""
    if isinstance(state, PickleOnly) and isinstance(state.detector, Detector):
        return deepcopy(state.detector)
    return restore(kind, state, "drift detector")


cdef class Detector:
    """A running change detector; subclasses implement `_learn` and `_forget`."""

    cdef int update(self, float64_t loss, float64_t weight) noexcept nogil:
        self.n_seen += 1
        self.n += 1
        self.state = self._learn(loss, weight)
        if self.state == DRIFT:
            # this row belongs to the part of the stream before the drift
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
        """Update with losses in [0, 1] in order and return the state after each.

        A call can be interrupted whenever the total number of rows is a multiple of
        1,024.
        """
        cdef intp_t n = losses.shape[0]
        cdef intp_t i
        states = np.empty(n, dtype=np.int8)
        cdef int8_t[::1] out = states
        # Callers lock a detector that threads share, see `BaseDetector`.
        for i in range(n):
            out[i] = <int8_t> self.update(losses[i], 1.0)
            if self.n_seen % CHECK_INTERVAL == 0:
                self._raise_held()
                PyErr_CheckSignals()
                with nogil:
                    pass        # let other threads run
        self._raise_held()
        return states

    cdef int _raise_held(self) except -1:
        held = self.release()
        if held is not None:
            raise held
        return 0

    def totals(self, version=1):
        """Return the values that the state of every detector has, with a version."""
        return {
            "version": version,
            "n": self.n,
            "n_seen": self.n_seen,
            "n_drifts": self.n_drifts,
            "state": self.state,
        }

    def take_totals(self, state, version=1):
        """Set the values of `totals`; raise ``ValueError`` for another version."""
        if not isinstance(state, dict) or state.get("version") != version:
            raise ValueError(
                f"The state of this drift detector does not have version {version}: it "
                f"was written by another release. Load it with that release."
            )
        values = [state[name] for name in ("n", "n_seen", "n_drifts", "state")]
        self.n, self.n_seen, self.n_drifts, self.state = values


cdef class PythonKernel(Detector):
    """Runs a Python detector with the protocol of river (`update`, `drift_detected`).

    An update may raise, in its own code or in a signal handler, and leave the detector in
    an inconsistent state. It is then restored from a copy and updated again; the
    exception is raised at the caller's next check for signals. After repeated errors the
    row is skipped and counts as stable.
    """

    def __init__(self, detector):
        self.running, self.saved, self.errors_since = detector, deepcopy(detector), []

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row counts once, whatever its weight.
        with gil:
            while True:
                try:
                    if self.running is None:
                        self._restore()
                    elif len(self.errors_since) >= CHECK_INTERVAL:
                        self.saved, self.errors_since = deepcopy(self.running), []
                    state = updated(self.running, loss)
                    self.errors_since.append(int(loss))
                    self.n_failed = 0
                    return state
                except BaseException as error:
                    self.running = None
                    if self.held is None:
                        self.held = error
                    if self.n_failed < MAX_ATTEMPTS:
                        self.n_failed += 1
                        continue
                    return STABLE

    cdef int _restore(self) except -1:
        # Restore the state after the last row. A failure changes nothing.
        detector = deepcopy(self.saved)
        for error in self.errors_since:
            updated(detector, error)
        if self.errors_since:
            self.saved, self.errors_since = deepcopy(detector), []
        self.running = detector
        return 0

    def __reduce__(self):
        if self.running is None:
            self._restore()
        return read_python_kernel, (self.running, self.totals())


def read_python_kernel(detector, totals):
    """Make a kernel from the parts of a pickle."""
    kernel = PythonKernel(detector)
    kernel.take_totals(totals)
    return kernel


cdef int updated(detector, error) except -1:
    # State of a detector after an update with an error of 0 or 1.
    detector.update(int(error))
    if detector.drift_detected:
        return DRIFT
    # some detectors have no warnings
    return WARNING if getattr(detector, "warning_detected", False) else STABLE
