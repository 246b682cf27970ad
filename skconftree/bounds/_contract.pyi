# Kernels: compiled objects of bounds (split rules). The runner-up is the best split of
# another feature. Interval bounds compare upper limits of the impurity of the children
# with a limit of the parent; floors are lower limits of the former, cheap to compute.
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

class SplitStats(NamedTuple):  # fields: see BaseBound.decide
    children_counts: NDArray[np.float64]
    score: float
    impurity: float
    runner_up_score: float
    n_candidates: float
    n_feature_candidates: float
    n_candidate_features: int
    n_fresh: float  # rows that arrived after the node was created
    time: float  # rows that the tree has seen
    attempt: int  # number of split attempts at this leaf
    depth: int

class Bound:
    def check(self) -> None: ...  # raises an error if a required method is missing

class PythonBound(Bound):  # calls `decide` of a bound written in Python
    def __init__(self, bound: Any) -> None: ...
