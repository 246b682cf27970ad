"""The drift detection method of Gama et al. (2004)."""

from skconftree.drift._base import BaseDetector, check_count, check_number, check_order
from skconftree.utils._lock import reads

from libc.math cimport INFINITY, sqrt

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.utils._typedefs cimport float64_t, int64_t

STATE_VERSION = 2


cdef class DDMKernel(Detector):
    """A running detector, whose parameters ``DDM.kernel`` has checked.

    Until there are `min_samples` rows and `min_errors` errors nothing is compared.
    (p_min, s_min) belong to the smallest p + s among the rows compared so far; infinite
    before the first one.
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
        # A row is one outcome, whatever its weight, as published.
        cdef float64_t p
        cdef float64_t s
        self.n_errors += loss > 0.5
        if self.n < self.min_samples or self.n_errors < self.min_errors:
            return STABLE
        # From whole counts, not a running mean: no rounding piles up.
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
            **self.totals(STATE_VERSION),
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
    r"""Drift detection method: tell when a model's error rate has risen.

    Feed it, row by row, whether the model was wrong. After `i` rows with a share
    `p_i` of errors, :math:`s_i = \sqrt{p_i (1 - p_i) / i}`. While the concept holds,
    `p_i + s_i` falls as the model learns; the detector remembers its smallest value
    as `p_min`, `s_min` and says

    - warning, if `p_i + s_i > p_min + warning_level * s_min`;
    - drift, if `p_i + s_i > p_min + drift_level * s_min`. It then forgets all it
      has counted, and starts anew with the next row.

    Use it to find an abrupt rise of the error; a slow one may raise the memory of
    the past along with it. A model that hardly errs is its weak spot: 30 right
    answers put `p_min` and `s_min` at zero, and the first error is called a drift.
    In 10,000 rows with 1 % of errors and no change at all it finds six or seven drifts
    on average; with ``min_errors=10`` a third of one, and real ones about as soon.

    Parameters
    ----------
    min_samples : int, default=30
        Rows after a drift before anything is compared, at least 1.
    warning_level : float, default=2.0
        Standard deviations above the best error rate that make a warning, above 0.
    drift_level : float, default=3.0
        Standard deviations that make a drift, at least `warning_level`.
    min_errors : int, default=0
        Errors after a drift before anything is compared. 0 is the published method;
        with 1 the first error of a model cannot be a drift. For models with few
        errors choose 10 to 30.

    Attributes
    ----------
    state_ : DriftState
        What the last row gave.
    n_rows_seen_ : int
        Rows given so far.
    n_drifts_ : int
        Drifts found so far.
    n_rows_ : int
        Rows since the last drift.
    error_rate_ : float
        Share of errors among them; NaN without a row.
    warning_limit_, drift_limit_ : float
        What `p_i + s_i` has to exceed; infinite before anything is compared.

    See Also
    --------
    DriftState : The states.

    Notes
    -----
    Parameters are checked when the first row arrives; a change by ``set_params`` acts
    after `reset`. A detector keeps a handful of numbers, whatever the stream's length.

    References
    ----------
    J. Gama, P. Medas, G. Castillo and P. Rodrigues, "Learning with drift detection",
    SBIA 2004, section 3.

    Examples
    --------
    A model errs in 10 % of the rows, then in half of them:

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
        """Share of errors since the last drift."""
        running = self._current()
        return running.n_errors / running.n if running.n else float("nan")

    @property
    @reads
    def warning_limit_(self):
        """Smallest value that is no warning yet."""
        running = self._current()
        return running.p_min + running.warning_level * running.s_min

    @property
    @reads
    def drift_limit_(self):
        """Smallest value that is no drift yet."""
        running = self._current()
        return running.p_min + running.drift_level * running.s_min
