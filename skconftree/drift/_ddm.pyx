"""The drift detection method of Gama et al. (2004)."""

import numpy as np

from libc.math cimport INFINITY, sqrt

from skconftree.utils._typedefs cimport int8_t, intp_t, uint8_t

STATE_VERSION = 1


cdef class DDMKernel:
    """A running detector.

    Parameters
    ----------
    min_samples, min_errors : int
    warning_level, drift_level : float
        Not checked here: ``DDM.kernel`` does.
    """

    def __init__(
        self, int64_t min_samples, int64_t min_errors, float64_t warning_level,
        float64_t drift_level,
    ):
        self.min_samples = min_samples
        self.min_errors = min_errors
        self.warning_level = warning_level
        self.drift_level = drift_level
        self.n_seen = 0
        self.n_drifts = 0
        self.state = STABLE
        self.restart()

    cdef void restart(self) noexcept nogil:
        self.n = 0
        self.n_errors = 0
        self.p_min = INFINITY
        self.s_min = INFINITY

    cdef int update(self, bint error) noexcept nogil:
        cdef float64_t p
        cdef float64_t s
        self.n_seen += 1
        self.n += 1
        self.n_errors += error
        self.state = STABLE
        if self.n < self.min_samples or self.n_errors < self.min_errors:
            return STABLE
        # From whole counts, not a running mean: no rounding piles up.
        p = <float64_t> self.n_errors / <float64_t> self.n
        s = sqrt(p * (1.0 - p) / <float64_t> self.n)
        if p + s < self.p_min + self.s_min:
            self.p_min = p
            self.s_min = s
        if p + s > self.p_min + self.drift_level * self.s_min:
            self.state = DRIFT
            self.n_drifts += 1
            self.restart()
        elif p + s > self.p_min + self.warning_level * self.s_min:
            self.state = WARNING
        return self.state

    def update_many(self, const uint8_t[::1] errors not None):
        """Learn outcomes in order.

        Parameters
        ----------
        errors : ndarray of shape (n_rows,), uint8
            0 or 1.

        Returns
        -------
        ndarray of shape (n_rows,), int8
            State after each row.
        """
        cdef intp_t n = errors.shape[0]
        cdef intp_t i
        states = np.empty(n, dtype=np.int8)
        cdef int8_t[::1] out = states
        with nogil:
            for i in range(n):
                out[i] = <int8_t> self.update(errors[i])
        return states

    def __reduce__(self):
        arguments = (
            self.min_samples, self.min_errors, self.warning_level, self.drift_level
        )
        state = {
            "version": STATE_VERSION,
            "n": self.n,
            "n_errors": self.n_errors,
            "n_seen": self.n_seen,
            "n_drifts": self.n_drifts,
            "p_min": self.p_min,
            "s_min": self.s_min,
            "state": self.state,
        }
        return DDMKernel, arguments, state

    def __setstate__(self, state):
        if not isinstance(state, dict) or state.get("version") != STATE_VERSION:
            raise ValueError(
                f"The state of this drift detector is not of version {STATE_VERSION}; "
                "it was written by another release."
            )
        counts = [state[name] for name in ("n_errors", "n", "n_seen")]
        if (
            not 0 <= counts[0] <= counts[1] <= counts[2]
            or not 0 <= state["n_drifts"] <= state["n_seen"]
            or not (state["p_min"] >= 0.0 and state["s_min"] >= 0.0)
            or state["state"] not in (STABLE, WARNING, DRIFT)
        ):
            raise ValueError(f"The state of this drift detector is damaged: {state}.")
        self.n_errors, self.n, self.n_seen = counts
        self.n_drifts = state["n_drifts"]
        self.p_min = state["p_min"]
        self.s_min = state["s_min"]
        self.state = state["state"]
