"""Names of change detectors: one row each."""

from sklearn.base import clone

from ._adwin import ADWIN
from ._base import BaseDetector
from ._ddm import DDM
from ._hddm import HDDMA, HDDMW
from ._kswin import KSWIN
from ._local import LocalRepair
from ._page_hinkley import PageHinkley

DETECTORS: dict[str, type[BaseDetector]] = {
    "ddm": DDM,
    "adwin": ADWIN,
    "hddm_a": HDDMA,
    "hddm_w": HDDMW,
    "kswin": KSWIN,
    "page_hinkley": PageHinkley,
}


def name_of_detector(drift):
    """Name of what `resolve_detector` has made; that of its class if it has none."""
    if isinstance(drift, LocalRepair):
        return "local"
    for name, kind in DETECTORS.items():
        if type(drift) is kind:
            return name
    return type(drift).__name__


def resolve_detector(drift):
    """A private, checked copy of what the user named or made, or None."""
    if drift is None:
        return None
    kinds = DETECTORS | {"local": LocalRepair}
    detector = kinds[drift]() if isinstance(drift, str) else clone(drift)
    detector.check_parameters()
    return detector
