"""Names of change detectors: one row each."""

from sklearn.base import clone

from ._adwin import ADWIN
from ._base import BaseDetector
from ._ddm import DDM
from ._hddm import HDDMA, HDDMW
from ._kswin import KSWIN
from ._page_hinkley import PageHinkley

DETECTORS: dict[str, type[BaseDetector]] = {
    "ddm": DDM,
    "adwin": ADWIN,
    "hddm_a": HDDMA,
    "hddm_w": HDDMW,
    "kswin": KSWIN,
    "page_hinkley": PageHinkley,
}


def resolve_detector(drift):
    """A private, checked copy of the detector that the user named or made, or None."""
    if drift is None:
        return None
    detector = DETECTORS[drift]() if isinstance(drift, str) else clone(drift)
    detector.check_parameters()
    return detector
