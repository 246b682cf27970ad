# A bound (split rule); _hoeffding.pyx documents its parameters. The best split must
# beat the best split of another feature (runner-up), or no split, by `factor` radii.
# Radii up to `tie_threshold` break ties. `variant`: compare gains, or upper limits of
# the children with a lower limit of the node (interval).
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class HoeffdingBound(BaseBound):
    delta: float
    against: Literal["runner_up", "no_split"]
    variant: Literal["gain", "interval"]
    factor: float
    tie_threshold: float
    def __init__(
        self,
        delta: float = 1e-07,
        *,
        against: Literal["runner_up", "no_split"] = "runner_up",
        variant: Literal["gain", "interval"] = "gain",
        factor: float = 1.0,
        tie_threshold: float = 0.0,
    ) -> None: ...

def hoeffding_radius(
    n: ArrayLike, delta: ArrayLike, *, value_range: ArrayLike = 1.0
) -> np.float64 | NDArray[np.float64]: ...
