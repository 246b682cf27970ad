"""Kolmogorov-Smirnov windowing, the detector of Raab et al. (2020)."""

from bisect import bisect_left
from math import comb

import numpy as np

from skconftree.drift._base import BaseDetector, check_count, check_deltas
from skconftree.drift._detector import damaged, require_counts

from libc.string cimport memmove

from skconftree.drift._detector cimport DRIFT, STABLE, WARNING, Detector
from skconftree.utils._draws cimport mix
from skconftree.utils._typedefs cimport float64_t, int64_t, uint64_t

LARGEST = 10_000  # rows of a window


def smallest_difference(n, delta):
    """Errors that two samples of `n` rows have to differ by to be called different.

    The smallest `k` for which two samples of one distribution are less than `delta`
    likely to have empirical distributions that are `k / n` or more apart (exact,
    two-sided); `n + 1` if there is none.
    """
    whole = comb(2 * n, n)

    def is_rare(k):
        # by reflection of the paths that leave a strip of 2k
        paths = sum(
            (-1) ** (j + 1) * comb(2 * n, n + j * k) for j in range(1, n // k + 1)
        )
        return 2 * paths / whole <= delta

    return 1 + bisect_left(range(1, n + 1), True, key=is_rare)


cdef inline bint is_other(float64_t loss) noexcept nogil:
    return loss != 0.0 and loss != 1.0


cdef void sort_descending(float64_t* values, int64_t n) noexcept nogil:
    # By insertion: of a window there are hundreds at most, as a rule.
    cdef int64_t i, j
    cdef float64_t value
    for i in range(1, n):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] < value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


cdef int64_t steps_above(
    const float64_t* one, const float64_t* other, int64_t n
) noexcept nogil:
    # How many rows more than `other` `one` has above some number, at most; both sorted.
    cdef int64_t most = 0
    cdef int64_t i = 0
    cdef int64_t j = 0
    while i < n:
        # all of both that are no smaller than the next one
        while j < n and other[j] >= one[i]:
            j += 1
        while i + 1 < n and one[i + 1] == one[i]:
            i += 1
        i += 1
        most = max(most, i - j)
    return most


cdef class KSWINKernel(Detector):
    """A running detector, whose parameters ``KSWIN.kernel`` has checked."""

    cdef readonly int64_t window_size
    cdef readonly int64_t stat_size
    cdef readonly int64_t warning_errors
    cdef readonly int64_t drift_errors
    cdef readonly uint64_t seed
    cdef float64_t[::1] window      # a ring
    cdef float64_t[::1] older       # room to sort them, and a sample of them
    cdef float64_t[::1] sample
    cdef float64_t[::1] latest
    cdef int64_t head               # where the next row goes
    cdef int64_t filled             # rows in the window
    cdef int64_t n_old_errors       # of those before the latest `stat_size`
    cdef int64_t n_new_errors       # of the latest
    cdef int64_t n_others           # rows in the window that are neither 0 nor 1

    def __init__(self, window_size, stat_size, warning_errors, drift_errors, seed):
        if not 0 < 2 * stat_size <= window_size <= LARGEST:
            raise ValueError("Two samples do not fit into the window.")
        if not 0 <= seed < 2**64:
            raise ValueError("The seed must fit into 64 bits.")
        require_counts(warning_errors, drift_errors)
        self.window_size = window_size
        self.stat_size = stat_size
        self.warning_errors = warning_errors
        self.drift_errors = drift_errors
        self.seed = seed
        self.window = np.zeros(window_size)
        self.older = np.empty(window_size)
        self.sample = np.empty(stat_size)
        self.latest = np.empty(stat_size)

    cdef inline int64_t age(self, int64_t rows) noexcept nogil:
        # Where the row lies that came `rows` rows before the next one.
        cdef int64_t place = self.head - rows
        return place + self.window_size if place < 0 else place

    cdef void _forget(self) noexcept nogil:
        # The latest rows are the first ones of the new concept.
        cdef int64_t i
        self.filled = min(self.filled, self.stat_size)
        self.n_old_errors = 0
        self.n_others = 0
        for i in range(1, self.filled + 1):
            self.n_others += is_other(self.window[self.age(i)])

    cdef int64_t draw(self) noexcept nogil:
        # Errors in a sample of the older rows without replacement.
        cdef int64_t rows = self.filled - self.stat_size
        cdef int64_t errors = self.n_old_errors
        cdef int64_t drawn = 0
        cdef uint64_t key = mix(self.seed ^ mix(<uint64_t> self.n_seen))
        cdef int64_t _i
        for _i in range(self.stat_size):
            key = mix(key)
            if <int64_t> (key % <uint64_t> rows) < errors:
                errors -= 1
                drawn += 1
            rows -= 1
        return drawn

    cdef void draw_numbers(self) noexcept nogil:
        # The same draws of numbers in descending order; what is drawn is left out.
        cdef int64_t rows = self.filled - self.stat_size
        cdef uint64_t key = mix(self.seed ^ mix(<uint64_t> self.n_seen))
        cdef int64_t i, place
        for i in range(rows):
            self.older[i] = self.window[self.age(self.filled - i)]
        sort_descending(&self.older[0], rows)
        for i in range(self.stat_size):
            key = mix(key)
            place = <int64_t> (key % <uint64_t> rows)
            self.sample[i] = self.older[place]
            self.latest[i] = self.window[self.age(i + 1)]
            rows -= 1
            memmove(
                &self.older[place],
                &self.older[place] + 1,
                <size_t> (rows - place) * sizeof(float64_t),
            )
        sort_descending(&self.sample[0], self.stat_size)
        sort_descending(&self.latest[0], self.stat_size)

    cdef int _learn(self, float64_t loss, float64_t weight) noexcept nogil:
        # A row is one outcome, whatever its weight.
        cdef bint wrong = loss == 1.0
        cdef int64_t rise, fall
        if self.filled == self.window_size:
            self.n_old_errors -= self.window[self.head] == 1.0
            self.n_others -= is_other(self.window[self.head])
            self.filled -= 1
        if self.filled >= self.stat_size:
            # the oldest of the latest rows is one of them no more
            rise = self.window[self.age(self.stat_size)] == 1.0
            self.n_new_errors -= rise
            self.n_old_errors += rise
        self.window[self.head] = loss
        self.n_others += is_other(loss)
        self.head = self.head + 1 if self.head + 1 < self.window_size else 0
        self.filled += 1
        self.n_new_errors += wrong
        if self.filled < self.window_size:
            return STABLE
        if self.n_others == 0:
            rise = self.n_new_errors - self.draw()
            fall = -rise
        else:
            self.draw_numbers()
            rise = steps_above(&self.latest[0], &self.sample[0], self.stat_size)
            fall = steps_above(&self.sample[0], &self.latest[0], self.stat_size)
        if rise >= self.drift_errors:
            return DRIFT
        if fall >= self.drift_errors:
            self._forget()      # a fall: the past is worth no comparison any more
            return STABLE
        return WARNING if rise >= self.warning_errors else STABLE

    def rows(self):
        """Rows of the window, the oldest one first, as bytes of doubles."""
        window = np.asarray(self.window)
        return np.roll(window, self.window_size - self.head)[
            self.window_size - self.filled :
        ].tobytes()

    def __reduce__(self):
        arguments = (
            self.window_size,
            self.stat_size,
            self.warning_errors,
            self.drift_errors,
            self.seed,
        )
        return KSWINKernel, arguments, {**self.totals(), "rows": self.rows()}

    def __setstate__(self, state):
        self.take_totals(state)
        rows = state.get("rows")
        if not (isinstance(rows, bytes) and len(rows) % 8 == 0):
            raise damaged(state)
        rows = np.frombuffer(rows)
        if not (
            len(rows) <= min(self.window_size, self.n_seen) and np.isfinite(rows).all()
        ):
            raise damaged(state)
        window = np.zeros(self.window_size)
        window[: len(rows)] = rows
        self.window = window
        self.filled = len(rows)
        self.head = self.filled % self.window_size
        self.n_new_errors = np.count_nonzero(rows[-self.stat_size :] == 1.0)
        self.n_old_errors = np.count_nonzero(rows[: -self.stat_size] == 1.0)
        self.n_others = np.count_nonzero((rows != 0.0) & (rows != 1.0))


class KSWIN(BaseDetector):
    r"""Kolmogorov-Smirnov windowing: tell when the latest errors are unlike older ones.

    It keeps a window of the latest `window_size` rows. With each row it compares the
    latest `stat_size` of them with as many that it draws from the older ones, by the
    two-sample test of Kolmogorov and Smirnov, whose statistic for right and wrong is the
    difference of two error rates. Any numbers may be watched: there it is the largest
    difference of the shares above a number. If the error has risen, that is

    - drift, if samples of one distribution are less than `drift_delta` likely to differ
      as much; the detector then keeps the latest rows alone,
    - warning, if they are less than `warning_delta` likely to.

    If it has fallen, older rows are dropped without a word.

    Use it to find large changes within few rows; smaller ones need larger samples. The
    same rows are tested again and again, and `drift_delta` is about one look; but between
    samples of right and wrong the test is strict, so that false alarms are rare unless
    errors are frequent. Of other numbers they are not: take a `drift_delta` of 1e-5 or
    less.

    Parameters
    ----------
    warning_delta : float, default=0.05
        Confidence of a warning, in (0, 1), at least `drift_delta`. Smaller is stricter.
    drift_delta : float, default=0.005
        Confidence of a drift, in (0, 1).
    window_size : int, default=100
        Rows in the window, at least twice `stat_size`, at most 10,000.
    stat_size : int, default=30
        Rows in each of the two samples, at least 1.
    random_state : int, default=0
        Key of the draws, at least 0: equal keys, equal states.

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

    See Also
    --------
    ADWIN : Compares all cuts of a window that grows.

    Notes
    -----
    Parameters are checked when the first row arrives; a change by ``set_params`` acts
    after `reset`. A detector keeps eight bytes for each row of its window.

    References
    ----------
    C. Raab, M. Heusinger and F.-M. Schleif, "Reactive soft prototype computing for
    concept drift streams", Neurocomputing 416, 2020.

    Examples
    --------
    A model errs in 10 % of the rows, then in 80 % of them:

    >>> import numpy as np
    >>> from skconftree.drift import KSWIN, DriftState
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random(2000) < np.repeat([0.1, 0.8], 1000)
    >>> np.flatnonzero(KSWIN().update_many(errors) == DriftState.DRIFT)
    array([1013])
    """

    _takes_numbers = True

    def __init__(
        self,
        warning_delta=0.05,
        drift_delta=0.005,
        window_size=100,
        stat_size=30,
        *,
        random_state=0,
    ):
        self.warning_delta = warning_delta
        self.drift_delta = drift_delta
        self.window_size = window_size
        self.stat_size = stat_size
        self.random_state = random_state

    def check_parameters(self):
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_deltas(self)
        check_count(self, "stat_size", 1)
        check_count(self, "window_size", 2 * self.stat_size, LARGEST)
        check_count(self, "random_state", 0)

    def _make_kernel(self):
        return KSWINKernel(
            self.window_size,
            self.stat_size,
            smallest_difference(self.stat_size, self.warning_delta),
            smallest_difference(self.stat_size, self.drift_delta),
            self.random_state,
        )
