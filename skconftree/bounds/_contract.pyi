# Bounds (split rules). The runner-up is the best split of another feature; a floor is a
# lower limit of the cost of a split, an upper limit of the impurity of the children.
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

class SplitStats(NamedTuple):
    children_counts: NDArray[np.float64]
    score: float
    impurity: float
    runner_up_score: float
    n_candidates: float
    n_feature_candidates: float
    n_candidate_features: int
    n_fresh: float
    time: float
    attempt: int
    depth: int

class Bound:
    def check(self) -> None: ...

class PythonBound(Bound):
    def __init__(self, bound: Any) -> None: ...
