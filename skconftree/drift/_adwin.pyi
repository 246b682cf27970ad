# A drift detector; _adwin.pyx documents its parameters and attributes. Deltas are
# significance levels; width_ is the number of rows in a window of the latest rows.
from ._base import BaseDetector

class ADWIN(BaseDetector):
    warning_delta: float
    drift_delta: float
    def __init__(
        self, warning_delta: float = 0.01, drift_delta: float = 0.001
    ) -> None: ...
    @property
    def width_(self) -> int: ...
    @property
    def error_rate_(self) -> float: ...
