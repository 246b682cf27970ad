# Criteria: scores of splits, to be minimized. The pool of an outcome (child) is its
# weight with unlabeled rows. A score is additive if it can be computed from sums of a
# function of each class count, which reserve() tabulates.
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Criterion:
    n_classes: int
    additive: bool
    by_ratio: bool  # features compete by gain ratio, as in C4.5
    concave: bool  # a split never raises the score
    unit: float  # scikit-learn's impurity is this times the score per row
    def __init__(self, n_classes: int) -> None: ...
    def check(self) -> None: ...  # raises an error if a required method is missing
    def reserve(self, n_max: int) -> None: ...
    def impurities(self, counts: NDArray[np.float64]) -> NDArray[np.float64]: ...
    # scores of splits, from class counts of the left outcomes (`left`) and of the node
    def evaluate(
        self,
        left: ArrayLike,
        total: ArrayLike,
        *,
        pool_left: ArrayLike | None = None,
        pool: float | None = None,
        from_sums: bool = False,
    ) -> NDArray[np.float64]: ...
    def evaluate_outcomes(self, counts: ArrayLike) -> float: ...

class PythonCriterion(Criterion):  # calls `impurity` of a criterion written in Python
    def __init__(self, criterion: Any, n_classes: int) -> None: ...

CRITERIA: dict[str, type[Criterion]]

# A function of the number of classes that makes a criterion; None if there is none.
def criterion_maker(criterion: object) -> Callable[[int], Criterion] | None: ...
