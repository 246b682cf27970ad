"""Base class of drift detectors, and the setting of local repair."""

from __future__ import annotations

import sys
from enum import IntEnum
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from ..utils._codec import (
    VersionedState,
    default_parameters,
    with_version,
    without_version,
)
from ..utils._lock import Lockable, learns, reads
from ._detector import Detector, read_detector, write_detector

LARGEST = 2**62  # of the parameters that count rows
LARGEST_NUMBER = 1e100  # to watch: the sum of squares is finite


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
        2. It has risen; the detector starts again with the next row.

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


class BaseDetector(Lockable, BaseEstimator):
    """Parameters of a change detector, and one that runs with them.

    A detector is one file with one subclass, registered by name in ``_registry.py``.
    Parameters are only stored; they are checked when a detector is started. A subclass
    defines ``_make_kernel``, which makes the compiled detector of its parameters.

    Any number of threads may share a detector: one that learns keeps the others
    waiting. A call that is interrupted has learned rows up to a multiple of 1,024;
    `n_rows_seen_` says how many.

    See Also
    --------
    DDM : The detector to take as a model for another one.
    skconftree.testing.check_detector : Tries a detector of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.drift import DDM, BaseDetector
    >>> isinstance(DDM(), BaseDetector)
    True
    >>> DDM(min_samples=2).kernel().update_many(np.array([0.0, 0.0, 1.0]))
    array([0, 0, 2], dtype=int8)
    """

    _takes_numbers = False  # other than errors

    @reads
    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_running" in state:  # a copy neither learns along nor is of two moments
            state["_running"] = write_detector(self._running)
        return with_version(state)

    def __setstate__(self, state):
        kind = type(self)
        state = without_version(state, default_parameters(kind), kind.__name__)
        super().__setstate__(state)
        if "_running" in vars(self):  # it has begun
            self._running = read_detector(type(self.kernel()), self._running)

    def check_parameters(self) -> None:
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""

    def kernel(self) -> Detector:
        """Make a running detector for compiled code, independent of this one.

        Returns
        -------
        Detector
        """
        self.check_parameters()
        return self._make_kernel()

    def _make_kernel(self):
        """Make the running detector; parameters have been checked."""
        raise NotImplementedError(
            f"{type(self).__name__} has no _make_kernel, which makes its detector."
        )

    @learns
    def reset(self) -> Self:
        """Forget everything, totals included, and take the parameters as they are.

        Returns
        -------
        BaseDetector
            Itself.
        """
        self._running = self.kernel()
        return self

    def update(self, error: float) -> DriftState:
        """Learn whether the model was wrong on one row.

        Parameters
        ----------
        error : bool
            Or 0 or 1; ADWIN takes any number.

        Returns
        -------
        DriftState
        """
        return DriftState(int(self.update_many([error])[0]))

    @learns
    def update_many(self, errors: ArrayLike) -> NDArray[np.int8]:
        """Learn outcomes in order, as a loop over `update` would.

        Parameters
        ----------
        errors : array-like of shape (n_rows,), bool
            Or of 0 and 1; ADWIN takes any numbers.

        Returns
        -------
        ndarray of shape (n_rows,), int8
            State after each row: values of `DriftState`.
        """
        outcomes = check_outcomes(errors, self._takes_numbers)
        if not hasattr(self, "_running"):
            self._running = self.kernel()
        return self._running.update_many(outcomes)

    def _current(self):
        return getattr(self, "_running", None) or self.kernel()

    @property
    @reads
    def state_(self) -> Any:
        """What the last row gave."""
        return DriftState(self._current().state)

    @property
    def drift_detected(self) -> bool:
        """Whether the last row gave a drift."""
        return self.state_ is DriftState.DRIFT

    @property
    def warning_detected(self) -> bool:
        """Whether the last row gave a warning."""
        return self.state_ is DriftState.WARNING

    @property
    @reads
    def n_rows_seen_(self) -> int:
        """Rows given so far."""
        return self._current().n_seen

    @property
    @reads
    def n_drifts_(self) -> int:
        """Drifts found so far."""
        return self._current().n_drifts

    @property
    @reads
    def n_rows_(self) -> int:
        """Rows since the last drift."""
        return self._current().n


def check_count(detector, name, low, high=LARGEST):
    """Raise unless a parameter is a number of rows from `low` to `high`."""
    value = getattr(detector, name)
    check_scalar(value, name, Integral, min_val=low, max_val=high)


def check_number(detector, name, high=sys.float_info.max, boundaries="both"):
    """Raise unless a parameter is a number from 0 to `high`, with these boundaries."""
    value = getattr(detector, name)
    check_scalar(
        value, name, Real, min_val=0, max_val=high, include_boundaries=boundaries
    )


def check_order(detector, low, high):
    """Raise if the first of two parameters is the larger one."""
    least, most = getattr(detector, low), getattr(detector, high)
    if not least <= most:
        raise ValueError(
            f"{high} must be at least {low}. Got {high}={most} and {low}={least}."
        )


def check_deltas(detector):
    """Raise unless both deltas are shares, that of a drift not the larger one."""
    for name in ("warning_delta", "drift_delta"):
        check_number(detector, name, 1, "neither")
    check_order(detector, "drift_delta", "warning_delta")


def check_outcomes(errors, takes_numbers):
    """Return numbers, or errors as 0 and 1, as a C-contiguous array, or raise."""
    given = np.asarray(errors)
    if given.ndim != 1:
        raise ValueError(
            "errors must be one-dimensional, one outcome a row. Got shape "
            f"{given.shape}."
        )
    allowed = "numbers" if takes_numbers else "booleans or 0 and 1"
    if given.dtype.kind not in "biuf" and given.size:
        raise ValueError(f"errors must be {allowed}. Got {errors!r}.")
    given = np.ascontiguousarray(given, dtype=np.float64)
    if takes_numbers:
        allowed += f" of a size up to {LARGEST_NUMBER:g}"
        sound = np.abs(given) <= LARGEST_NUMBER
    else:
        sound = (given == 0.0) | (given == 1.0)
    if not sound.all():
        raise ValueError(f"errors must be {allowed}. Got {given[~sound][0]}.")
    return given


class LocalRepair(VersionedState, BaseEstimator):
    """Repair of the part of a tree that broke: what ``drift="local"`` stands for.

    It is not a detector of errors. Each node of a growing tree is watched; once the
    errors of the rows that come to it seem to rise, a tree grows beside it, which takes
    the place of all below when it has shown to be better, or the errors to have risen.

    Parameters
    ----------
    delta : float, default=0.05
        Where neither is so, a node is replaced with this probability at most, however
        many trees are begun beside it.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.datasets import make_random_tree_stream
    >>> from skconftree.drift import LocalRepair
    >>> X, y = make_random_tree_stream(
    ...     20_000, n_leaves=10, concept=[0, 1], drift_at=[0.5], random_state=0)
    >>> tree = ConfidenceTreeClassifier(drift=LocalRepair(delta=0.001))
    >>> tree.partial_fit(X, y, classes=[0, 1]).n_drifts_ > 0
    True
    """

    def __init__(self, delta=0.05):
        self.delta = delta

    def check_parameters(self) -> None:
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""
        check_number(self, "delta", 1, "neither")
