"""The public side of the drift detectors: parameters, checks, names."""

import sys
from enum import IntEnum
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from ._ddm import DDMKernel

LARGEST = 2**62  # of the parameters that count rows


class DriftState(IntEnum):
    """What a drift detector says after a row.

    A state is an integer, so that arrays of states compare with it too.

    Attributes
    ----------
    STABLE : int
        0. The error rate is about as low as it ever was.
    WARNING : int
        1. It may be rising: time to train a model on the rows that follow.
    DRIFT : int
        2. It has risen; the detector starts anew with the next row.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.drift import DriftState
    >>> DriftState(2)
    <DriftState.DRIFT: 2>
    >>> np.array([0, 1, 2, 0]) == DriftState.DRIFT
    array([False, False,  True, False])
    """

    STABLE = 0
    WARNING = 1
    DRIFT = 2


class DDM(BaseEstimator):
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
    In 10,000 rows with 1 % of errors and no change at all it finds 5 drifts on
    average; with ``min_errors=10`` in one run of seven, and finds real ones as soon.

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
        for name, low in (("min_samples", 1), ("min_errors", 0)):
            check_scalar(
                getattr(self, name), name, Integral, min_val=low, max_val=LARGEST
            )
        for name in ("warning_level", "drift_level"):
            check_scalar(
                getattr(self, name),
                name,
                Real,
                min_val=0,
                max_val=sys.float_info.max,
                include_boundaries="right",
            )
        if not self.drift_level >= self.warning_level:
            raise ValueError(
                f"drift_level must be at least warning_level. Got drift_level="
                f"{self.drift_level} and warning_level={self.warning_level}."
            )

    def kernel(self):
        """Make a running detector for compiled code, independent of this one.

        Returns
        -------
        DDMKernel
        """
        self.check_parameters()
        return DDMKernel(
            self.min_samples, self.min_errors, self.warning_level, self.drift_level
        )

    def reset(self):
        """Forget everything, totals included, and take the parameters as they are.

        Returns
        -------
        DDM
            Itself.
        """
        self._running = self.kernel()
        return self

    def update(self, error):
        """Learn whether the model was wrong on one row.

        Parameters
        ----------
        error : bool
            Or 0 or 1.

        Returns
        -------
        DriftState
        """
        return DriftState(int(self.update_many([error])[0]))

    def update_many(self, errors):
        """Learn outcomes in order, as a loop over `update` would.

        Parameters
        ----------
        errors : array-like of shape (n_rows,), bool
            Or of 0 and 1.

        Returns
        -------
        ndarray of shape (n_rows,), int8
            State after each row: values of `DriftState`.
        """
        outcomes = check_errors(errors)
        if not hasattr(self, "_running"):
            self.reset()
        return self._running.update_many(outcomes)

    def _current(self):
        return getattr(self, "_running", None) or self.kernel()

    @property
    def state_(self):
        """What the last row gave."""
        return DriftState(self._current().state)

    @property
    def n_rows_seen_(self):
        """Rows given so far."""
        return self._current().n_seen

    @property
    def n_drifts_(self):
        """Drifts found so far."""
        return self._current().n_drifts

    @property
    def n_rows_(self):
        """Rows since the last drift."""
        return self._current().n

    @property
    def error_rate_(self):
        """Share of errors since the last drift."""
        running = self._current()
        return running.n_errors / running.n if running.n else float("nan")

    @property
    def warning_limit_(self):
        """Smallest value that is no warning yet."""
        running = self._current()
        return running.p_min + running.warning_level * running.s_min

    @property
    def drift_limit_(self):
        """Smallest value that is no drift yet."""
        running = self._current()
        return running.p_min + running.drift_level * running.s_min


def check_errors(errors):
    """Return outcomes as a C-contiguous array of 0 and 1, or raise."""
    given = np.asarray(errors)
    if given.ndim != 1:
        raise ValueError(
            "errors must be one-dimensional, one outcome a row. Got shape "
            f"{given.shape}."
        )
    if given.dtype.kind not in "biuf" and given.size:
        raise ValueError(f"errors must be booleans or 0 and 1. Got {errors!r}.")
    wrong = given[(given != 0) & (given != 1)]
    if wrong.size:
        raise ValueError(f"errors must be booleans or 0 and 1. Got {wrong[0]}.")
    return np.ascontiguousarray(given, dtype=np.uint8)
