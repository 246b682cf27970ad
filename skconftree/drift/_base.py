"""Base class of drift detectors, and the setting of local repair.

Local repair replaces subtrees that a drift affects. A *running* detector, or *kernel*,
is a compiled object with the state of a stream; `BaseDetector` has its parameters.
Methods decorated by `learns` or `reads` take the lock of an object for writing or
reading. `canonical` makes the pickles of equal states equal.
"""

from __future__ import annotations

import sys
from enum import IntEnum
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from ..utils._codec import VersionedState, canonical
from ..utils._lock import Lockable, learns, reads
from ._detector import Detector, read_detector, write_detector

MAX_ROWS = 2**62  # of parameters that are numbers of rows
MAX_VALUE = 1e100  # of a monitored number, so that sums of squares are finite


class DriftState(IntEnum):
    """State of a drift detector after a row.

    States are integers, so that they can be compared with arrays of states.

    Attributes
    ----------
    STABLE : int
        0. The error rate is close to its minimum so far.
    WARNING : int
        1. The error rate may be rising. A new model can be trained on the next rows.
    DRIFT : int
        2. The error rate has risen. The detector restarts with the next row.

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


class BaseDetector(Lockable, VersionedState, BaseEstimator):
    """Base class of change detectors: parameters, and a running detector.

    Each detector is one file with one subclass, which is registered by name in
    ``_registry.py``. Its constructor only stores the parameters; they are validated
    when the first row arrives. A subclass defines ``_make_kernel``, which creates the
    compiled detector from the parameters.

    Threads can share a detector; calls that learn are executed one after the other. An
    interrupted call has learned rows up to a multiple of 1,024; `n_rows_seen_` is their
    number.

    See Also
    --------
    DDM : A simple detector, suitable as a template.
    skconftree.testing.check_detector : Checks detectors of users.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.drift import DDM, BaseDetector
    >>> isinstance(DDM(), BaseDetector)
    True
    >>> DDM(min_samples=2).kernel().update_many(np.array([0.0, 0.0, 1.0]))
    array([0, 0, 2], dtype=int8)
    """

    _takes_numbers = False  # whether it accepts other numbers than 0 and 1

    @reads
    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_running" in state:  # copied, so that copies are independent
            state["_running"] = write_detector(self._running)
        return canonical(state)

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_running" in vars(self):  # a row has arrived
            self._running = read_detector(type(self.kernel()), self._running)

    def check_parameters(self) -> None:
        """Raise ``TypeError`` or ``ValueError`` unless every parameter is valid."""

    def kernel(self) -> Detector:
        """Create a new running detector for compiled code from the parameters.

        Returns
        -------
        Detector
        """
        self.check_parameters()
        return self._make_kernel()

    def _make_kernel(self):
        """Create the running detector; the parameters are already validated."""
        raise NotImplementedError(f"{type(self).__name__} must define _make_kernel.")

    @learns
    def reset(self) -> Self:
        """Return to the initial state, with the current parameters.

        Returns
        -------
        BaseDetector
            This object.
        """
        self._running = self.kernel()
        return self

    def update(self, error: float) -> DriftState:
        """Update with the outcome of one row.

        Parameters
        ----------
        error : bool or {0, 1}
            Whether the prediction was wrong. ADWIN accepts any number.

        Returns
        -------
        DriftState
            State after the row.
        """
        return DriftState(int(self.update_many([error])[0]))

    @learns
    def update_many(self, errors: ArrayLike) -> NDArray[np.int8]:
        """Update with the outcomes of rows, in order.

        The result is the same as that of calling `update` for each row, but faster.

        Parameters
        ----------
        errors : array-like of shape (n_rows,), of bool or {0, 1}
            Whether each prediction was wrong. ADWIN accepts any numbers.

        Returns
        -------
        ndarray of shape (n_rows,), int8
            State after each row, a value of `DriftState`.
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
        """State after the last row."""
        return DriftState(self._current().state)

    @property
    def drift_detected(self) -> bool:
        """Whether a drift was detected at the last row."""
        return self.state_ is DriftState.DRIFT

    @property
    def warning_detected(self) -> bool:
        """Whether the state after the last row is a warning."""
        return self.state_ is DriftState.WARNING

    @property
    @reads
    def n_rows_seen_(self) -> int:
        """Number of rows so far."""
        return self._current().n_seen

    @property
    @reads
    def n_drifts_(self) -> int:
        """Number of drifts so far."""
        return self._current().n_drifts

    @property
    @reads
    def n_rows_(self) -> int:
        """Number of rows since the last drift."""
        return self._current().n


def check_count(detector, name, low):
    """Raise unless a parameter is a number of rows of at least `low`."""
    value = getattr(detector, name)
    check_scalar(value, name, Integral, min_val=low, max_val=MAX_ROWS)


def check_number(detector, name, high=sys.float_info.max, boundaries="both"):
    """Raise unless a parameter is in the interval from 0 to `high`."""
    value = getattr(detector, name)
    check_scalar(
        value, name, Real, min_val=0, max_val=high, include_boundaries=boundaries
    )


def check_order(detector, low, high):
    """Raise if the parameter named `low` is larger than that named `high`."""
    lower, upper = getattr(detector, low), getattr(detector, high)
    if not lower <= upper:
        raise ValueError(
            f"{high} must be at least {low}. Got {high}={upper} and {low}={lower}."
        )


def check_deltas(detector):
    """Raise unless 0 < drift_delta <= warning_delta < 1."""
    for name in ("warning_delta", "drift_delta"):
        check_number(detector, name, 1, "neither")
    check_order(detector, "drift_delta", "warning_delta")


def check_outcomes(errors, takes_numbers):
    """Validate outcomes of rows, and return them as a float64 array."""
    values = np.asarray(errors)
    if values.ndim != 1:
        raise ValueError(
            f"errors must be 1d, with one value per row. Got shape {values.shape}."
        )
    allowed = "booleans, or 0 and 1"
    if takes_numbers:
        allowed = f"numbers between -{MAX_VALUE:g} and {MAX_VALUE:g}"
    if values.dtype.kind not in "biuf" and values.size:
        raise ValueError(f"errors must be {allowed}. Got {errors!r}.")
    values = np.ascontiguousarray(values, dtype=np.float64)
    if takes_numbers:
        is_valid = np.abs(values) <= MAX_VALUE
    else:
        is_valid = (values == 0.0) | (values == 1.0)
    if not is_valid.all():
        raise ValueError(f"errors must be {allowed}. Got {values[~is_valid][0]}.")
    return values


class LocalRepair(VersionedState, BaseEstimator):
    """Replacement of the subtrees that a drift affects; also ``drift="local"``.

    This is not a drift detector. Each node of a tree that `partial_fit` trains is
    monitored. When the error rate of the rows that reach a node seems to rise, an
    alternative subtree is trained on the next rows. It replaces the subtree of the node
    when it is significantly better, or when the error rate of the node has risen
    significantly.

    Parameters
    ----------
    delta : float, default=0.05
        Maximum probability that a node is replaced although neither is the case, over
        all alternative subtrees of the node, in (0, 1). Smaller values give fewer and
        later replacements. Decrease it if accurate subtrees are replaced.

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
