from ._base import BaseDetector

class PageHinkley(BaseDetector):
    min_samples: int
    delta: float
    threshold: float
    warning_threshold: float
    alpha: float
    def __init__(
        self,
        min_samples: int = 30,
        delta: float = 0.005,
        threshold: float = 50.0,
        *,
        warning_threshold: float = 25.0,
        alpha: float = 0.9999,
    ) -> None: ...
    @property
    def excess_(self) -> float: ...
