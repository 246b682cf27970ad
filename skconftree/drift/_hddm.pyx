"""Hoeffding's drift detection methods, HDDM-A and HDDM-W (Frías-Blanco et al. 2015)."""

from skconftree.drift._base import BaseDetector, check_deltas, check_number
from skconftree.drift._detector import damaged
from skconftree.utils._lock import reads

from libc.math cimport log, sqrt

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.utils._typedefs cimport float64_t, int64_t


cdef class HDDMAKernel(Detector):
    """A running detector of means, whose parameters ``HDDMA.kernel`` has checked."""

    cdef readonly float64_t warning_delta
    cdef readonly float64_t drift_delta
    cdef readonly float64_t total       # of the losses since the last drift
    cdef readonly int64_t n_best        # first rows whose mean has the smallest upper limit
    cdef readonly float64_t best        # their sum

    def __init__(self, float64_t warning_delta, float64_t drift_delta):
        self.warning_delta = warning_delta
        self.drift_delta = drift_delta
        self._forget()

    cdef void _forget(self) noexcept nogil:
        self.total = 0.0
        self.n_best = 0
        self.best = 0.0

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row is one outcome, whatever its weight.
        cdef float64_t n = <float64_t> self.n
        cdef float64_t half = log(1.0 / self.drift_delta) / 2.0
        cdef float64_t n_best, rise, share
        self.total += loss
        n_best = <float64_t> self.n_best
        if self.n_best == 0 or (
            self.total / n + sqrt(half / n) <= self.best / n_best + sqrt(half / n_best)
        ):
            self.n_best = self.n
            self.best = self.total
            return STABLE
        rise = self.total / n - self.best / n_best
        if rise <= 0.0:
            return STABLE
        share = (n - n_best) / (n_best * n) / 2.0
        if rise * rise >= share * log(2.0 / self.drift_delta):
            return DRIFT
        if rise * rise >= share * log(2.0 / self.warning_delta):
            return WARNING
        return STABLE

    def __reduce__(self):
        state = {
            **self.totals(),
            "total": self.total,
            "n_best": self.n_best,
            "best": self.best,
        }
        return HDDMAKernel, (self.warning_delta, self.drift_delta), state

    def __setstate__(self, state):
        self.take_totals(state)
        n_best, sums = state.get("n_best"), (state.get("total"), state.get("best"))
        if not (
            isinstance(n_best, int)
            and (self.n > 0) <= n_best <= self.n
            and all(isinstance(value, float) for value in sums)
            and 0.0 <= sums[1] <= n_best
            and sums[1] <= sums[0] <= self.n
        ):
            raise damaged(state)
        self.n_best = n_best
        self.total, self.best = sums


cdef struct Average:
    # Exponentially weighted, and the sum of the squares of its weights; 0 without a row.
    float64_t mean
    float64_t squares


cdef inline void add(Average* average, float64_t loss, float64_t rate) noexcept nogil:
    if average.squares == 0.0:
        average.mean = loss
        average.squares = 1.0
    else:
        average.mean = rate * loss + (1.0 - rate) * average.mean
        average.squares = rate * rate + (1.0 - rate) * (1.0 - rate) * average.squares


cdef class HDDMWKernel(Detector):
    """A running detector of moving averages, checked by ``HDDMW.kernel``."""

    cdef readonly float64_t warning_delta
    cdef readonly float64_t drift_delta
    cdef readonly float64_t rate
    cdef Average all        # rows since the last drift
    cdef Average best       # of `all` where its upper limit was smallest
    cdef Average later      # of the rows after that

    def __init__(
        self, float64_t warning_delta, float64_t drift_delta, float64_t rate
    ):
        self.warning_delta = warning_delta
        self.drift_delta = drift_delta
        self.rate = rate
        self._forget()

    cdef void _forget(self) noexcept nogil:
        self.all = self.best = self.later = Average(0.0, 0.0)

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row is one outcome, whatever its weight.
        cdef float64_t half = log(1.0 / self.drift_delta) / 2.0
        cdef float64_t rise, squares
        add(&self.all, loss, self.rate)
        if self.best.squares == 0.0 or (
            self.all.mean + sqrt(self.all.squares * half)
            < self.best.mean + sqrt(self.best.squares * half)
        ):
            self.best = self.all
            self.later = Average(0.0, 0.0)
            return STABLE
        add(&self.later, loss, self.rate)
        rise = self.later.mean - self.best.mean
        if rise <= 0.0:
            return STABLE
        squares = (self.later.squares + self.best.squares) / 2.0
        if rise * rise > squares * log(1.0 / self.drift_delta):
            return DRIFT
        if rise * rise > squares * log(1.0 / self.warning_delta):
            return WARNING
        return STABLE

    @property
    def mean(self):
        """Weighted mean of the losses since the last drift."""
        return self.all.mean if self.n else float("nan")

    def __reduce__(self):
        state = {
            **self.totals(),
            "averages": [
                (self.all.mean, self.all.squares),
                (self.best.mean, self.best.squares),
                (self.later.mean, self.later.squares),
            ],
        }
        return HDDMWKernel, (self.warning_delta, self.drift_delta, self.rate), state

    def __setstate__(self, state):
        self.take_totals(state)
        averages = state.get("averages")
        if not (
            isinstance(averages, list)
            and len(averages) == 3
            and all(is_average(average) for average in averages)
        ):
            raise damaged(state)
        (
            (self.all.mean, self.all.squares),
            (self.best.mean, self.best.squares),
            (self.later.mean, self.later.squares),
        ) = averages


cdef bint is_average(average):
    return (
        isinstance(average, tuple)
        and len(average) == 2
        and all(isinstance(value, float) and 0.0 <= value <= 1.0 for value in average)
    )


class HDDMA(BaseDetector):
    r"""HDDM-A: tell by Hoeffding's inequality when a model's error rate has risen.

    Of all the first stretches of the stream it remembers the one whose mean has the
    smallest upper limit: :math:`\bar x_k` of the first `k` rows. With the mean
    :math:`\bar x_n` of all `n` rows it says

    .. math:: \bar x_n - \bar x_k \ge \sqrt{\frac{n - k}{2 k n} \ln \frac{2}{\delta}}

    - drift, if that is so with `drift_delta`; it then forgets all it has counted, and
      starts anew with the next row,
    - warning, if it is so with `warning_delta`.

    It assumes nothing about the errors but that they are independent and bounded. Use it
    for abrupt changes, and where false alarms are dear.

    Parameters
    ----------
    warning_delta : float, default=0.005
        Confidence of a warning, in (0, 1), at least `drift_delta`. Smaller is stricter.
    drift_delta : float, default=0.001
        Confidence of a drift, in (0, 1).

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

    See Also
    --------
    HDDMW : The same with weights that fall with age.
    DDM : Compares with the best error rate so far.

    Notes
    -----
    Parameters are checked when the first row arrives; a change by ``set_params`` acts
    after `reset`. A detector keeps a handful of numbers, whatever the stream's length.

    References
    ----------
    I. Frías-Blanco, J. del Campo-Ávila, G. Ramos-Jiménez, R. Morales-Bueno, A. Ortiz-Díaz
    and Y. Caballero-Mota, "Online and non-parametric drift detection methods based on
    Hoeffding's bounds", IEEE Transactions on Knowledge and Data Engineering 27, 2015
    (A-test, one-sided).

    Examples
    --------
    A model errs in 10 % of the rows, then in half of them:

    >>> import numpy as np
    >>> from skconftree.drift import HDDMA, DriftState
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random(2000) < np.repeat([0.1, 0.5], 1000)
    >>> np.flatnonzero(HDDMA().update_many(errors) == DriftState.DRIFT)
    array([1013])
    """

    def __init__(self, warning_delta=0.005, drift_delta=0.001):
        self.warning_delta = warning_delta
        self.drift_delta = drift_delta

    def check_parameters(self):
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_deltas(self)

    def _make_kernel(self):
        return HDDMAKernel(self.warning_delta, self.drift_delta)

    @property
    @reads
    def error_rate_(self):
        """Share of errors since the last drift."""
        running = self._current()
        return running.total / running.n if running.n else float("nan")


class HDDMW(BaseDetector):
    r"""HDDM-W: tell by McDiarmid's inequality when a moving error rate has risen.

    It follows an exponentially weighted average of the errors, remembers where its upper
    limit was smallest, and compares the average up to there with one of the rows after
    it. With :math:`D` the sum of the squared weights of either average it says

    .. math:: \bar x_{later} - \bar x_{best}
        > \sqrt{\frac{D_{later} + D_{best}}{2} \ln \frac{1}{\delta}}

    - drift, if that is so with `drift_delta`; it then forgets all it has counted, and
      starts anew with the next row,
    - warning, if it is so with `warning_delta`.

    Use it where large changes have to be found after few rows. It overlooks small ones,
    and where a model errs often it gives false alarms; :class:`HDDMA` hardly does.

    Parameters
    ----------
    warning_delta : float, default=0.005
        Confidence of a warning, in (0, 1), at least `drift_delta`. Smaller is stricter.
    drift_delta : float, default=0.001
        Confidence of a drift, in (0, 1).
    smoothing : float, default=0.05
        Weight of the latest row in the averages, in (0, 1).

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
        Weighted share of errors among them; NaN without a row.

    See Also
    --------
    HDDMA : The same without weights.
    ADWIN : Chooses how far to look back.

    Notes
    -----
    Parameters are checked when the first row arrives; a change by ``set_params`` acts
    after `reset`. A detector keeps a handful of numbers, whatever the stream's length.

    References
    ----------
    I. Frías-Blanco, J. del Campo-Ávila, G. Ramos-Jiménez, R. Morales-Bueno, A. Ortiz-Díaz
    and Y. Caballero-Mota, "Online and non-parametric drift detection methods based on
    Hoeffding's bounds", IEEE Transactions on Knowledge and Data Engineering 27, 2015
    (W-test, one-sided).

    Examples
    --------
    A model errs in 10 % of the rows, then in half of them:

    >>> import numpy as np
    >>> from skconftree.drift import HDDMW, DriftState
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random(2000) < np.repeat([0.1, 0.5], 1000)
    >>> np.flatnonzero(HDDMW().update_many(errors) == DriftState.DRIFT)
    array([1013, 1834])
    """

    def __init__(self, warning_delta=0.005, drift_delta=0.001, smoothing=0.05):
        self.warning_delta = warning_delta
        self.drift_delta = drift_delta
        self.smoothing = smoothing

    def check_parameters(self):
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_deltas(self)
        check_number(self, "smoothing", 1, "neither")

    def _make_kernel(self):
        return HDDMWKernel(self.warning_delta, self.drift_delta, self.smoothing)

    @property
    @reads
    def error_rate_(self):
        """Weighted share of errors since the last drift."""
        return self._current().mean
