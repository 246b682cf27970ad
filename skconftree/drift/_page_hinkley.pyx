"""The Page-Hinkley test, a cumulative sum of Page (1954)."""

from skconftree.drift._base import BaseDetector, check_count, check_number, check_order
from skconftree.drift._detector import damaged, require_counts
from skconftree.utils._lock import reads

from libc.math cimport INFINITY, isfinite

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.utils._typedefs cimport float64_t, int64_t


cdef class PageHinkleyKernel(Detector):
    """A running detector, whose parameters ``PageHinkley.kernel`` has checked."""

    cdef readonly int64_t min_samples
    cdef readonly float64_t delta
    cdef readonly float64_t threshold
    cdef readonly float64_t warning_threshold
    cdef readonly float64_t alpha
    cdef readonly float64_t total       # of the losses since the last drift
    cdef readonly float64_t excess      # m
    cdef readonly float64_t lowest      # m so far; infinite before the first row

    def __init__(
        self,
        min_samples,
        float64_t delta,
        float64_t threshold,
        float64_t warning_threshold,
        float64_t alpha,
    ):
        require_counts(min_samples)
        self.min_samples = min_samples
        self.delta = delta
        self.threshold = threshold
        self.warning_threshold = warning_threshold
        self.alpha = alpha
        self._forget()

    cdef void _forget(self) noexcept nogil:
        self.total = 0.0
        self.excess = 0.0
        self.lowest = INFINITY

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row is one outcome, whatever its weight.
        cdef float64_t mean
        self.total += loss
        mean = self.total / <float64_t> self.n
        self.excess = self.alpha * self.excess + loss - mean - self.delta
        self.lowest = min(self.lowest, self.excess)
        if self.n < self.min_samples:
            return STABLE
        if self.excess - self.lowest > self.threshold:
            return DRIFT
        if self.excess - self.lowest > self.warning_threshold:
            return WARNING
        return STABLE

    def __reduce__(self):
        arguments = (
            self.min_samples,
            self.delta,
            self.threshold,
            self.warning_threshold,
            self.alpha,
        )
        state = {
            **self.totals(),
            "total": self.total,
            "excess": self.excess,
            "lowest": self.lowest,
        }
        return PageHinkleyKernel, arguments, state

    def __setstate__(self, state):
        self.take_totals(state)
        values = [state.get(name) for name in ("total", "excess", "lowest")]
        if not (
            all(isinstance(value, float) for value in values)
            and isfinite(values[0])
            and isfinite(values[1])
            and values[2] > -INFINITY
        ):
            raise damaged(state)
        self.total, self.excess, self.lowest = values


class PageHinkley(BaseDetector):
    r"""Page-Hinkley test: tell when the mean of a model's errors has risen.

    Feed it, row by row, whether the model was wrong, or any number whose mean is to be
    watched; thresholds and `delta` are in its units. With :math:`\bar x_t` the mean of
    the first `t` errors, it adds up how far the errors lie above it,

    .. math:: m_t = \alpha\, m_{t-1} + x_t - \bar x_t - \delta,

    remembers the smallest :math:`m_t` so far, and says

    - warning, if :math:`m_t - \min m` exceeds `warning_threshold`;
    - drift, if it exceeds `threshold`. It then forgets all it has counted, and starts
      anew with the next row.

    Use it for rises of the error that last: a threshold of 50 is 50 errors more than the
    mean of the past explains. It finds abrupt changes later than :class:`DDM` does.

    Parameters
    ----------
    min_samples : int, default=30
        Rows after a drift before anything is compared, at least 1.
    delta : float, default=0.005
        What an error may lie above the mean without being counted, at least 0.
    threshold : float, default=50.0
        Sum that makes a drift, above 0.
    warning_threshold : float, default=25.0
        Sum that makes a warning, above 0 and at most `threshold`. The published test has
        no warning; a tree starts the one that is to take its place there.
    alpha : float, default=0.9999
        What is left of the sum with each row, in (0, 1]. 1 is the published test.

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
    excess_ : float
        :math:`m_t - \min m` of these rows; 0 without a row.

    See Also
    --------
    DDM : Compares with the best error rate so far.

    Notes
    -----
    Parameters are checked when the first row arrives; a change by ``set_params`` acts
    after `reset`.

    References
    ----------
    E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954.

    Examples
    --------
    A model errs in 10 % of the rows, then in half of them:

    >>> import numpy as np
    >>> from skconftree.drift import DriftState, PageHinkley
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random(2000) < np.repeat([0.1, 0.5], 1000)
    >>> states = PageHinkley().update_many(errors)
    >>> np.flatnonzero(states == DriftState.DRIFT)
    array([1105])
    """

    _takes_numbers = True

    def __init__(
        self,
        min_samples=30,
        delta=0.005,
        threshold=50.0,
        *,
        warning_threshold=25.0,
        alpha=0.9999,
    ):
        self.min_samples = min_samples
        self.delta = delta
        self.threshold = threshold
        self.warning_threshold = warning_threshold
        self.alpha = alpha

    def check_parameters(self):
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_count(self, "min_samples", 1)
        check_number(self, "delta")
        check_number(self, "threshold", boundaries="right")
        check_number(self, "warning_threshold", boundaries="right")
        check_number(self, "alpha", 1, "right")
        check_order(self, "warning_threshold", "threshold")

    def _make_kernel(self):
        return PageHinkleyKernel(
            self.min_samples,
            self.delta,
            self.threshold,
            self.warning_threshold,
            self.alpha,
        )

    @property
    @reads
    def excess_(self):
        """How far the sum lies above its smallest value."""
        running = self._current()
        return running.excess - running.lowest if running.n else 0.0
