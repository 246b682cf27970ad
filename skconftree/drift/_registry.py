"""Names of drift detectors."""

from sklearn.base import clone

from ._adwin import ADWIN
from ._base import BaseDetector, LocalRepair
from ._ddm import DDM
from ._river import DetectorAdapter, check_protocol, fresh

DETECTORS: dict[str, type[BaseDetector]] = {"ddm": DDM, "adwin": ADWIN}


def name_of_detector(drift):
    """Return the name of a result of `resolve_detector`, or the name of its class."""
    if isinstance(drift, LocalRepair):
        return "local"
    for name, kind in DETECTORS.items():
        if type(drift) is kind:
            return name
    adapted = isinstance(drift, DetectorAdapter)
    return type(drift.detector if adapted else drift).__name__


def resolve_detector(drift):
    """Return a validated copy of the detector that `drift` is or names, or None."""
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
