"""Adaptive windowing, the drift detector of Bifet and Gavaldà (2007).

A concept is a part of the stream without drift. `ADWINKernel` is the compiled detector. It keeps
a window of the latest rows; a cut divides the window into an older and a newer part. Methods
decorated by `reads` take the lock of the detector for reading.
"""

from skconftree.drift._base import BaseDetector, check_deltas
from skconftree.utils._lock import reads
from skconftree.utils._codec import corrupt_state

from libc.math cimport log, sqrt
from libc.string cimport memset

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.utils._typedefs cimport float64_t, int64_t


cdef enum:
    N_LEVELS = 48       # levels of buckets (see Window): a stream has fewer than 2^48 rows
    MAX_BUCKETS = 5     # buckets of a level; beyond that, the two oldest are merged
    MIN_ROWS = 5        # smallest number of rows in either part of the window
    CHECK_INTERVAL = 32     # rows between two checks


cdef struct Window:
    # The latest rows in buckets, which are smaller for newer rows: a bucket of a level
    # has 2^level rows, and the oldest bucket of a level is first.
    int64_t n               # number of rows
    float64_t total         # sum of the losses of all rows, and of their squares
    float64_t squares
    int n_levels
    int n_buckets[N_LEVELS]
    float64_t totals[N_LEVELS][MAX_BUCKETS + 1]     # the sums of each bucket
    float64_t squared[N_LEVELS][MAX_BUCKETS + 1]


cdef void add(Window* window, float64_t loss) noexcept nogil:
    cdef float64_t total = loss
    cdef float64_t squares = loss * loss
    cdef int level = 0
    cdef int i
    window.n += 1
    window.total += total
    window.squares += squares
    while True:
        i = window.n_buckets[level]
        window.totals[level][i] = total
        window.squared[level][i] = squares
        window.n_buckets[level] += 1
        if level >= window.n_levels:
            window.n_levels = level + 1
        if i < MAX_BUCKETS or level == N_LEVELS - 1:
            return
        total = window.totals[level][0] + window.totals[level][1]
        squares = window.squared[level][0] + window.squared[level][1]
        for i in range(MAX_BUCKETS - 1):
            window.totals[level][i] = window.totals[level][i + 2]
            window.squared[level][i] = window.squared[level][i + 2]
        window.n_buckets[level] -= 2
        level += 1


cdef void drop_oldest(Window* window) noexcept nogil:
    cdef int level = window.n_levels - 1
    cdef int i
    window.n -= <int64_t> 1 << level
    window.total -= window.totals[level][0]
    window.squares -= window.squared[level][0]
    window.n_buckets[level] -= 1
    for i in range(window.n_buckets[level]):
        window.totals[level][i] = window.totals[level][i + 1]
        window.squared[level][i] = window.squared[level][i + 1]
    while window.n_levels > 0 and window.n_buckets[window.n_levels - 1] == 0:
        window.n_levels -= 1


cdef int cut(const Window* window, float64_t delta) noexcept nogil:
    # Whether some cut of the window into an older and a newer part shows different
    # means: 1 if the mean of the newer part is larger, -1 if it is smaller, else 0.
    cdef float64_t n = <float64_t> window.n
    cdef float64_t n_old = 0.0
    cdef float64_t old = 0.0
    cdef float64_t mean, variance, inverse_n, difference, log_term
    cdef int level, i
    if window.n < 2 * MIN_ROWS:
        return 0
    mean = window.total / n
    variance = max(window.squares / n - mean * mean, 0.0)
    log_term = log(2.0 * log(n) / delta)
    level = window.n_levels - 1
    while level >= 0:
        for i in range(window.n_buckets[level]):
            n_old += <float64_t> (<int64_t> 1 << level)
            old += window.totals[level][i]
            if n_old < MIN_ROWS:
                continue
            if n - n_old < MIN_ROWS:
                return 0
            inverse_n = 1.0 / n_old + 1.0 / (n - n_old)
            difference = (window.total - old) / (n - n_old) - old / n_old
            if difference * difference > 2.0 * inverse_n * variance * log_term and (
                abs(difference)
                > sqrt(2.0 * inverse_n * variance * log_term) + 2.0 / 3.0 * inverse_n * log_term
            ):
                return 1 if difference > 0.0 else -1
        level -= 1
    return 0


cdef bint rises(Window* window, float64_t delta) noexcept nogil:
    # Shrink the window until it shows no change; return whether the mean has risen.
    cdef bint risen = False
    cdef int direction = cut(window, delta)
    while direction != 0:
        risen = risen or direction > 0
        drop_oldest(window)
        direction = cut(window, delta)
    return risen


cdef class ADWINKernel(Detector):
    """A running ADWIN detector; `ADWIN.kernel` has validated its parameters.

    Sums are relative to an origin, because differences of large squares would be lost to
    rounding. The origin is 0 for losses, else the first number of a concept.
    """

    cdef readonly float64_t warning_delta
    cdef readonly float64_t origin
    cdef readonly float64_t drift_delta
    cdef Window warning         # detects warnings
    cdef Window drift           # detects drifts

    def __init__(self, float64_t warning_delta, float64_t drift_delta):
        self.warning_delta = warning_delta
        self.drift_delta = drift_delta
        self.lasting = True     # the window shrinks at a warning, which is not repeated
        self._forget()

    cdef void _forget(self) noexcept nogil:
        memset(&self.warning, 0, sizeof(Window))
        memset(&self.drift, 0, sizeof(Window))
        self.origin = 0.0

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row counts once, whatever its weight.
        if self.n == 1 and not 0.0 <= loss <= 1.0:
            self.origin = loss
        add(&self.warning, loss - self.origin)
        add(&self.drift, loss - self.origin)
        if self.n % CHECK_INTERVAL != 0:
            return STABLE
        if rises(&self.drift, self.drift_delta):
            return DRIFT
        if rises(&self.warning, self.warning_delta):
            memset(&self.warning, 0, sizeof(Window))
            return WARNING
        return STABLE

    @property
    def width(self):
        """Rows in the window that detects drifts."""
        return self.drift.n

    @property
    def mean(self):
        """Mean loss in that window."""
        if self.drift.n == 0:
            return float("nan")
        return self.origin + self.drift.total / self.drift.n

    def __reduce__(self):
        state = {
            **self.totals(),    # numbers of rows and drifts, and the state after the last row
            "warning": write(&self.warning),
            "drift": write(&self.drift),
            "origin": self.origin,
        }
        return ADWINKernel, (self.warning_delta, self.drift_delta), state

    def __setstate__(self, state):
        self.take_totals(state)
        read(&self.warning, state["warning"])
        read(&self.drift, state["drift"])
        self.origin = state["origin"]


cdef tuple write(const Window* window):
    # Sums, because their rounding is part of the state, and the buckets of each level.
    return window.total, window.squares, [
        [
            (window.totals[level][i], window.squared[level][i])
            for i in range(window.n_buckets[level])
        ]
        for level in range(window.n_levels)
    ]


cdef int read(Window* window, state) except -1:
    cdef int level = 0
    cdef int i
    memset(window, 0, sizeof(Window))
    total, squares, levels = state
    if not (
        len(levels) <= N_LEVELS
        and all([len(level_buckets) <= MAX_BUCKETS for level_buckets in levels])
        and (not levels or len(levels[len(levels) - 1]) > 0)
    ):
        raise corrupt_state("drift detector", "its windows")
    for level in range(len(levels)):
        for i in range(len(levels[level])):
            window.totals[level][i], window.squared[level][i] = levels[level][i]
            window.n_buckets[level] += 1
            window.n += <int64_t> 1 << level
    window.total = total
    window.squares = squares
    window.n_levels = len(levels)
    return 0


class ADWIN(BaseDetector):
    r"""Adaptive windowing (ADWIN): concept drift detector for slow and abrupt drift.

    It keeps a window of the latest errors, or of any numbers whose mean is monitored, as
    long as their mean does not change. Every 32 rows all cuts of the window into an older
    and a newer part, of `n_0` and `n_1` rows, are checked. If the means of two parts
    differ by more than

    .. math:: \sqrt{2 \frac{n}{n_0 n_1} \sigma^2 \ln \frac{2 \ln n}{\delta}}
        + \frac{2}{3} \frac{n}{n_0 n_1} \ln \frac{2 \ln n}{\delta}

    with the variance :math:`\sigma^2` of the whole window of `n` rows, its oldest rows
    are dropped until no cut shows a difference. If the error has risen, the result is

    - a drift in a window with `drift_delta`; the detector then resets itself and starts
      again with the next row,
    - a warning in another window with `warning_delta`, which is then reset. A warning
      lasts until a drift or the next warning.

    The rows of the window are summed in buckets whose sizes double with their age, so
    memory, and time per check, are logarithmic in the size of the window.

    ADWIN compares any two stretches of a stream, while :class:`DDM` compares with the
    best past error rate. The deltas apply to numbers between 0 and 1; scale other
    numbers. A decrease is not a drift. To detect decreases, pass the negative numbers to
    a second detector.

    Parameters
    ----------
    warning_delta : float, default=0.01
        Significance level of a warning, in (0, 1), at least `drift_delta`. Smaller values
        give fewer and later warnings.
    drift_delta : float, default=0.001
        Significance level of a drift, in (0, 1). Smaller values give fewer and later
        drifts. Decrease it if the model is replaced without need.

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
    width_ : int
        Number of rows in the window that detects drifts.
    error_rate_ : float
        Error rate in this window; NaN without a row.

    See Also
    --------
    DDM : Compares with the best error rate so far.

    Notes
    -----
    Parameters are validated when the first row arrives. A change by ``set_params`` takes
    effect after `reset`.

    References
    ----------
    A. Bifet and R. Gavaldà, "Learning from time-changing data with adaptive windowing",
    SIAM International Conference on Data Mining, 2007 (ADWIN2). Two windows, and rises
    alone: H. M. Gomes et al., "Adaptive random forests for evolving data stream
    classification", Machine Learning 106, 2017.

    Examples
    --------
    The error rate of a model rises from 10% to 50%:

    >>> import numpy as np
    >>> from skconftree.drift import ADWIN, DriftState
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random(2000) < np.repeat([0.1, 0.5], 1000)
    >>> detector = ADWIN()
    >>> np.flatnonzero(detector.update_many(errors) == DriftState.DRIFT)
    array([1055])
    """

    _takes_numbers = True   # accepts other numbers than 0 and 1

    def __init__(self, warning_delta=0.01, drift_delta=0.001):
        self.warning_delta = warning_delta
        self.drift_delta = drift_delta

    def check_parameters(self):
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_deltas(self)

    def _make_kernel(self):
        return ADWINKernel(self.warning_delta, self.drift_delta)

    @property
    @reads
    def width_(self):
        """Number of rows in the window that detects drifts."""
        return self._current().width

    @property
    @reads
    def error_rate_(self):
        """Error rate in the window that detects drifts."""
        return self._current().mean
