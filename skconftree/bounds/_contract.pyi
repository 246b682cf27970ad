from typing import NamedTuple

class BoundEvaluation(NamedTuple):  # fields: see BaseBound.evaluate
    split: bool
    score: float
    runner_up_score: float
    parent_limit: float
    child_limit: float
    radius: float
    statistic: float
    floor: float
    sharp_floor: float
    log_evidence: float

class Bound:
    def check(self) -> None: ...
