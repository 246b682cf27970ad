# The bound (split rule) of De Rosa and Cesa-Bianchi; _derosa.pyx documents its
# parameters. A share is the part of delta of one statement, a radius the half width of
# a confidence interval. The best split must beat the best split of another feature
# (runner-up) or no split; radii up to `tie_threshold` break ties. `form` is the version
# of the radius, `c` a factor of the practical one.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class DeRosaBound(BaseBound):
    delta: float
    form: Literal["practical", "paper", "tight", "anytime"]
    c: float
    against: Literal["runner_up", "no_split"]
    tie_threshold: float
    def __init__(
        self,
        delta: float = 0.05,
        *,
        form: Literal["practical", "paper", "tight", "anytime"] = "practical",
        c: float = 0.1,
        against: Literal["runner_up", "no_split"] = "runner_up",
        tie_threshold: float = 0.0,
    ) -> None: ...

def derosa_practical_radius(
    n: ArrayLike,
    *,
    time: ArrayLike,
    n_attributes: ArrayLike,
    depth: ArrayLike = 0,
    c: ArrayLike = 0.1,
    criterion: Literal["gini", "entropy", "kearns_mansour"] = "gini",
) -> np.float64 | NDArray[np.float64]: ...
def derosa_radius(
    n: ArrayLike,
    delta: ArrayLike,
    *,
    criterion: Literal["gini", "entropy", "kearns_mansour"] = "gini",
    n_classes: ArrayLike = 2,
    n_outcomes: ArrayLike = 2,
    form: Literal["tight", "paper"] = "tight",
) -> np.float64 | NDArray[np.float64]: ...
def derosa_share(
    delta: ArrayLike,
    *,
    n: ArrayLike = 1,
    depth: ArrayLike = 0,
    time: ArrayLike = 1,
    n_attributes: ArrayLike = 1,
    attempt: ArrayLike = 1,
    n_tests: ArrayLike = 1,
    form: Literal["tight", "paper", "anytime"] = "tight",
) -> np.float64 | NDArray[np.float64]: ...
