"""Detectors with the protocol of river, which is not imported here."""

from __future__ import annotations

import inspect
from typing import Any, Protocol, Self

from ._base import BaseDetector
from ._detector import PythonKernel


class RiverDetector(Protocol):
    """What `drift` needs of a detector that is not derived from `BaseDetector`.

    It is updated with 1 for each row that was predicted wrong, and with 0 for the
    others; afterwards it says whether that was a drift. A clone has its parameters and
    has seen no row. `warning_detected`, if there is one, begins another tree. Copies
    (`copy.deepcopy`) and pickles go on as it would.
    """

    def update(self, x: Any) -> Any: ...

    @property
    def drift_detected(self) -> bool: ...

    def clone(self) -> Self: ...


class DetectorAdapter(BaseDetector):
    """A detector with river's protocol, as one of this package.

    Parameters
    ----------
    detector : object
        Of which clones run; it is left alone.
    """

    def __init__(self, detector):
        self.detector = detector

    def check_parameters(self):
        """Raise ``TypeError`` unless it has the protocol."""
        check_protocol(self.detector, "detector")

    def _make_kernel(self):
        return PythonKernel(fresh(self.detector))

    def __repr__(self):
        return repr(self.detector)

    def __reduce__(self):
        return DetectorAdapter, (self.detector,), super().__getstate__()

    def __getstate__(self):
        # pickle calls __reduce__, skops this method
        raise TypeError(
            f"{type(self.detector).__name__}, the detector of drifts, is not of "
            "skconftree and can be saved with pickle only. Save the model with pickle, "
            "or use a detector of skconftree.drift."
        )


def check_protocol(detector, name):
    """Raise ``TypeError`` that says what an object lacks of the protocol."""
    if inspect.isclass(detector):
        raise TypeError(
            f"{name} must be an object. Got the class {detector.__name__}. Pass "
            f"{detector.__name__}(), with the parameters that it needs."
        )
    lacks = [
        f"{one}()"
        for one in ("update", "clone")
        if not callable(getattr(detector, one, None))
    ]
    lacks += ["drift_detected"] if not hasattr(detector, "drift_detected") else []
    if lacks:
        raise TypeError(
            f"{name} must have update(x), drift_detected and clone(), as the detectors "
            f"of river have. Got {detector!r}, which has no {' and no '.join(lacks)}."
        )


def fresh(detector):
    """A clone of a detector; ``TypeError`` if it is not another one of its kind."""
    clone = detector.clone()
    if clone is detector:
        raise TypeError(
            f"clone() of {type(detector).__name__} must return another detector. It "
            "returned the same one."
        )
    check_protocol(clone, f"clone() of {type(detector).__name__}")
    return clone
