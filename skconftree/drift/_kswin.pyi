from ._base import BaseDetector

def smallest_difference(n: int, delta: float) -> int: ...

class KSWIN(BaseDetector):
    warning_delta: float
    drift_delta: float
    window_size: int
    stat_size: int
    random_state: int
    def __init__(
        self,
        warning_delta: float = 0.05,
        drift_delta: float = 0.005,
        window_size: int = 100,
        stat_size: int = 30,
        *,
        random_state: int = 0,
    ) -> None: ...
