# A bound (split rule); _mcdiarmid.pyx documents its parameters. The runner-up is the
# best split of another feature; confidence radii up to `tie_threshold` break ties.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class McDiarmidBound(BaseBound):
    delta: float
    against: Literal["runner_up", "no_split"]
    tie_threshold: float
    def __init__(
        self,
        delta: float = 0.05,
        *,
        against: Literal["runner_up", "no_split"] = "runner_up",
        tie_threshold: float = 0.0,
    ) -> None: ...

def mcdiarmid_radius(
    n: ArrayLike,
    delta: ArrayLike,
    *,
    criterion: Literal["gini", "entropy"] = "gini",
    n_classes: ArrayLike = 2,
) -> np.float64 | NDArray[np.float64]: ...
