"""Names of change detectors: one row each."""

from sklearn.base import clone

from ._adwin import ADWIN
from ._base import BaseDetector, LocalRepair
from ._ddm import DDM
from ._river import DetectorAdapter, check_protocol, fresh

DETECTORS: dict[str, type[BaseDetector]] = {"ddm": DDM, "adwin": ADWIN}


def name_of_detector(drift):
    """Name of what `resolve_detector` has made; that of its class if it has none."""
    if isinstance(drift, LocalRepair):
        return "local"
    for name, kind in DETECTORS.items():
        if type(drift) is kind:
            return name
    adapted = isinstance(drift, DetectorAdapter)
    return type(drift.detector if adapted else drift).__name__


def resolve_detector(drift):
    """A private, checked copy of what the user named or made, or None."""
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
