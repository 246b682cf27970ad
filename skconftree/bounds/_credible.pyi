# A bound (split rule) by Bayesian credible limits of the impurity; _credible.pyx
# documents its parameters. The pool is the unlabeled rows. The prior of Perks has
# pseudo-counts whose sum is 1. `pool_weight` is the weight of a node: all its rows, its
# labeled rows, or its volume in feature space.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class CredibleBound(BaseBound):
    delta: float
    prior: Literal["uniform", "perks"]
    pool_weight: Literal["pool", "labeled", "volume"]
    def __init__(
        self,
        delta: float = 0.05,
        *,
        prior: Literal["uniform", "perks"] = "uniform",
        pool_weight: Literal["pool", "labeled", "volume"] = "pool",
    ) -> None: ...

def credible_interval(
    counts: ArrayLike,
    delta: ArrayLike = 0.05,
    *,
    criterion: Literal["entropy", "gini", "kearns_mansour"] = "entropy",
    prior: Literal["uniform", "perks"] = "uniform",
) -> tuple[np.float64 | NDArray[np.float64], np.float64 | NDArray[np.float64]]: ...
