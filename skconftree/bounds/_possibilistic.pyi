# The bound (split rule) of possibilistic trees, by an entropy of upper confidence
# limits of frequencies; _possibilistic.pyx documents its parameters. `gamma` is one
# minus the confidence of these limits. `correction` is for the outcomes (branches) of a
# split, or for all candidate splits too; `classes` are those in the entropy.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class PossibilisticBound(BaseBound):
    delta: float
    correction: Literal["branches", "all_tests"]
    classes: Literal["present", "all"]
    def __init__(
        self,
        delta: float = 0.05,
        *,
        correction: Literal["branches", "all_tests"] = "branches",
        classes: Literal["present", "all"] = "present",
    ) -> None: ...

def agresti_coull_upper(
    p: ArrayLike, n: ArrayLike, gamma: ArrayLike = 0.05
) -> np.float64 | NDArray[np.float64]: ...
def possibilistic_entropy(
    counts: ArrayLike,
    gamma: ArrayLike = 0.05,
    *,
    normalization: Literal["qlog2", "shifted", "qlogq"] = "qlog2",
) -> np.float64 | NDArray[np.float64]: ...
def possibilistic_quality(
    leaf_counts: ArrayLike, gamma: float = 0.05, *, weighted: bool = True
) -> float: ...
