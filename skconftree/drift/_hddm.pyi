from ._base import BaseDetector

class HDDMA(BaseDetector):
    warning_delta: float
    drift_delta: float
    def __init__(
        self, warning_delta: float = 0.005, drift_delta: float = 0.001
    ) -> None: ...
    @property
    def error_rate_(self) -> float: ...

class HDDMW(BaseDetector):
    warning_delta: float
    drift_delta: float
    smoothing: float
    def __init__(
        self,
        warning_delta: float = 0.005,
        drift_delta: float = 0.001,
        smoothing: float = 0.05,
    ) -> None: ...
    @property
    def error_rate_(self) -> float: ...
