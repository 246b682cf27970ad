"""Names of drift detectors, and adapters for detectors of other packages (river)."""

from __future__ import annotations

import inspect
from typing import Any, Protocol, Self

from sklearn.base import clone

from ._adwin import ADWIN
from ._base import BaseDetector, LocalRepair
from ._ddm import DDM
from ._detector import PythonKernel


class RiverDetector(Protocol):
    """Protocol of detectors for `drift` that are not derived from `BaseDetector`.

    `update` is called with 1 for each wrong prediction and with 0 for each correct one.
    Afterward, `drift_detected` is whether this row completed the evidence for a drift.
    `clone` returns an object with the same parameters in its initial state. If
    `warning_detected` exists and is true, the model starts to train an alternative
    tree, which replaces the current tree after a drift. A copy (`copy.deepcopy`) or an
    unpickled object must have the same state.
    """

    def update(self, x: Any) -> Any: ...

    @property
    def drift_detected(self) -> bool: ...

    def clone(self) -> Self: ...


class DetectorAdapter(BaseDetector):
    """Adapter of a detector with river's protocol (`RiverDetector`) to `BaseDetector`.

    Parameters
    ----------
    detector : object
        Its clones are updated; the object itself does not change.
    """

    def __init__(self, detector):
        self.detector = detector

    def check_parameters(self):
        """Raise ``TypeError`` unless the detector has the protocol."""
        check_protocol(self.detector, "detector")

    def _make_kernel(self):
        # A kernel is a running detector, which has the state of a stream. Kernels of
        # this package are compiled; this one calls a detector written in Python.
        return PythonKernel(fresh(self.detector))

    def __repr__(self):
        return repr(self.detector)

    def __reduce__(self):
        return DetectorAdapter, (self.detector,), super().__getstate__()

    def __getstate__(self):
        # pickle calls __reduce__, skops (which saves models without pickle) this method
        raise TypeError(
            f"The drift detector {type(self.detector).__name__} is not part of "
            "skconftree and can only be pickled. Save the model with pickle, or use a "
            "detector of skconftree.drift."
        )


def check_protocol(detector, name):
    """Raise ``TypeError`` unless an object has river's protocol."""
    if inspect.isclass(detector):
        raise TypeError(
            f"{name} must be an object, not a class. Got {detector.__name__}. Pass "
            f"{detector.__name__}(), with parameters if needed."
        )
    missing = [
        f"{method}()"
        for method in ("update", "clone")
        if not callable(getattr(detector, method, None))
    ]
    missing += ["drift_detected"] if not hasattr(detector, "drift_detected") else []
    if missing:
        raise TypeError(
            f"{name} must have update(x), drift_detected and clone(), like the "
            f"detectors of river. Got {detector!r}, which has no "
            f"{' and no '.join(missing)}."
        )


def fresh(detector):
    """Return a validated clone of a detector."""
    clone = detector.clone()
    if clone is detector:
        raise TypeError(
            f"clone() of {type(detector).__name__} must return a new object. Got the "
            "same object."
        )
    check_protocol(clone, f"clone() of {type(detector).__name__}")
    return clone


DETECTORS: dict[str, type[BaseDetector]] = {"ddm": DDM, "adwin": ADWIN}


def name_of_detector(drift):
    """Return the name that `drift` accepts for a detector, else that of its class."""
    if isinstance(drift, LocalRepair):
        return "local"
    for name, kind in DETECTORS.items():
        if type(drift) is kind:
            return name
    adapted = isinstance(drift, DetectorAdapter)
    return type(drift.detector if adapted else drift).__name__


def resolve_detector(drift):
    """Return a validated copy of a detector, given as an object or by name, or None."""
    if drift is None:
        return None
    kinds = DETECTORS | {"local": LocalRepair}
    if isinstance(drift, str):
        detector = kinds[drift]()
    elif isinstance(drift, BaseDetector | LocalRepair):
        detector = clone(drift)
    else:
        check_protocol(drift, "drift")
        detector = DetectorAdapter(fresh(drift))
    detector.check_parameters()
    return detector
