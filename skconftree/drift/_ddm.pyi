# A drift detector; _ddm.pyx documents its parameters and attributes. Levels are numbers
# of standard errors above the smallest error rate so far.
from ._base import BaseDetector

class DDM(BaseDetector):
    min_samples: int
    warning_level: float
    drift_level: float
    min_errors: int
    def __init__(
        self,
        min_samples: int = 30,
        warning_level: float = 2.0,
        drift_level: float = 3.0,
        *,
        min_errors: int = 0,
    ) -> None: ...
    @property
    def error_rate_(self) -> float: ...
    @property
    def warning_limit_(self) -> float: ...
    @property
    def drift_limit_(self) -> float: ...
