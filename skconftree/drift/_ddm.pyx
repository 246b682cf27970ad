"""The drift detection method of Gama et al. (2004); `DDMKernel` is the compiled detector.

p is the error rate since the last drift, and s its standard error. A concept is a part of the
stream without drift. Methods decorated by `reads` take the lock of the detector for reading.
"""

from skconftree.drift._base import BaseDetector, check_count, check_number, check_order
from skconftree.utils._lock import reads

from libc.math cimport INFINITY, sqrt

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.utils._typedefs cimport float64_t, int64_t

STATE_VERSION = 2   # of the state in pickles


cdef class DDMKernel(Detector):
    """A running DDM detector; `DDM.kernel` has validated its parameters.

    Nothing is compared before `min_samples` rows and `min_errors` errors. (p_min, s_min)
    belong to the smallest p + s of the rows since then; infinite before the first one.
    """

    cdef readonly int64_t min_samples
    cdef readonly int64_t min_errors
    cdef readonly float64_t warning_level
    cdef readonly float64_t drift_level
    cdef readonly int64_t n_errors      # since the last drift
    cdef readonly float64_t p_min
    cdef readonly float64_t s_min

    def __init__(
        self, min_samples, min_errors, float64_t warning_level, float64_t drift_level
    ):
        self.min_samples = min_samples
        self.min_errors = min_errors
        self.warning_level = warning_level
        self.drift_level = drift_level
        self._forget()

    cdef void _forget(self) noexcept nogil:
        self.n_errors = 0
        self.p_min = INFINITY
        self.s_min = INFINITY

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row counts once, whatever its weight, as published.
        cdef float64_t p
        cdef float64_t s
        self.n_errors += loss > 0.5
        if self.n < self.min_samples or self.n_errors < self.min_errors:
            return STABLE
        # From counts, not from a running mean, so that rounding does not accumulate.
        p = <float64_t> self.n_errors / <float64_t> self.n
        s = sqrt(p * (1.0 - p) / <float64_t> self.n)
        if p + s < self.p_min + self.s_min:
            self.p_min = p
            self.s_min = s
        if p + s > self.p_min + self.drift_level * self.s_min:
            return DRIFT
        if p + s > self.p_min + self.warning_level * self.s_min:
            return WARNING
        return STABLE

    def __reduce__(self):
        arguments = (
            self.min_samples, self.min_errors, self.warning_level, self.drift_level
        )
        state = {
            **self.totals(STATE_VERSION),   # numbers of rows and drifts, last state
            "n_errors": self.n_errors,
            "p_min": self.p_min,
            "s_min": self.s_min,
        }
        return DDMKernel, arguments, state

    def __setstate__(self, state):
        self.take_totals(state, STATE_VERSION)
        self.n_errors = state["n_errors"]
        self.p_min, self.s_min = state["p_min"], state["s_min"]


class DDM(BaseDetector):
    r"""Drift detection method (DDM): concept drift detector for abrupt drift.

    It is updated with the errors of a model, row by row. After `i` rows with error rate
    `p_i`, the standard error is :math:`s_i = \sqrt{p_i (1 - p_i) / i}`. While the concept
    is stable, `p_i + s_i` decreases as the model learns; the detector stores its smallest
    value as `p_min`, `s_min` and reports

    - a warning if `p_i + s_i > p_min + warning_level * s_min`;
    - a drift if `p_i + s_i > p_min + drift_level * s_min`. It then resets itself and
      starts again with the next row.

    DDM detects abrupt increases of the error rate well. It may miss a slow increase,
    because the stored rate increases along with it. It is unreliable for models with few
    errors: after 30 correct predictions, `p_min` and `s_min` are 0, and the first error
    is a drift. In 10,000 rows with 1% errors and no change, it reports six or seven
    drifts on average. With ``min_errors=10`` it reports one drift in three such runs, and
    detects real drifts almost as early.

    Parameters
    ----------
    min_samples : int, default=30
        Number of rows after a drift before anything is compared, at least 1. Larger
        values give fewer false drifts at the start.
    warning_level : float, default=2.0
        Number of standard deviations above the best error rate for a warning, above 0.
        Larger values give fewer and later warnings.
    drift_level : float, default=3.0
        Number of standard deviations for a drift, at least `warning_level`. Larger values
        give fewer and later drifts.
    min_errors : int, default=0
        Number of errors after a drift before anything is compared. 0 is the published
        method; with 1 the first error of a model cannot be a drift. For models with few
        errors, 10 to 30 are suitable.

    Attributes
    ----------
    state_ : DriftState
        State after the last row.
    n_rows_seen_ : int
        Number of rows so far.
    n_drifts_ : int
        Number of drifts so far.
    n_rows_ : int
        Number of rows since the last drift.
    error_rate_ : float
        Error rate of these rows; NaN without a row.
    warning_limit_, drift_limit_ : float
        Limits of `p_i + s_i`; infinite before anything is compared.

    See Also
    --------
    DriftState : The states.

    Notes
    -----
    Parameters are validated when the first row arrives. A change by ``set_params`` takes
    effect after `reset`. A detector has constant size.

    References
    ----------
    J. Gama, P. Medas, G. Castillo and P. Rodrigues, "Learning with drift detection",
    SBIA 2004, section 3.

    Examples
    --------
    The error rate of a model rises from 10% to 50%:

    >>> import numpy as np
    >>> from skconftree.drift import DDM, DriftState
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random(2000) < np.repeat([0.1, 0.5], 1000)
    >>> states = DDM().update_many(errors)
    >>> np.flatnonzero(states == DriftState.DRIFT)
    array([1034])

    Row by row:

    >>> detector = DDM()
    >>> for row, error in enumerate(errors):
    ...     if detector.update(error) is DriftState.DRIFT:
    ...         print("drift at row", row)
    drift at row 1034
    >>> detector.n_rows_, detector.n_drifts_
    (965, 1)
    """

    def __init__(
        self, min_samples=30, warning_level=2.0, drift_level=3.0, *, min_errors=0
    ):
        self.min_samples = min_samples
        self.warning_level = warning_level
        self.drift_level = drift_level
        self.min_errors = min_errors

    def check_parameters(self):
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_count(self, "min_samples", 1)
        check_count(self, "min_errors", 0)
        check_number(self, "warning_level", boundaries="right")
        check_number(self, "drift_level", boundaries="right")
        check_order(self, "warning_level", "drift_level")

    def _make_kernel(self):
        return DDMKernel(
            self.min_samples, self.min_errors, self.warning_level, self.drift_level
        )

    @property
    @reads
    def error_rate_(self):
        """Error rate since the last drift."""
        running = self._current()
        return running.n_errors / running.n if running.n else float("nan")

    @property
    @reads
    def warning_limit_(self):
        """Limit of `p_i + s_i` above which there is a warning."""
        running = self._current()
        return running.p_min + running.warning_level * running.s_min

    @property
    @reads
    def drift_limit_(self):
        """Limit of `p_i + s_i` above which there is a drift."""
        running = self._current()
        return running.p_min + running.drift_level * running.s_min
