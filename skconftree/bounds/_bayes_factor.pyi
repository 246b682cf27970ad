# A bound (split rule); _bayes_factor.pyx documents its parameters. `a` is a
# pseudo-count of each class; `choose` is what selects the best split.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class BayesFactorBound(BaseBound):
    delta: float
    a: float | None
    prior_odds: float
    choose: Literal["evidence", "criterion"]
    def __init__(
        self,
        delta: float = 0.5,
        *,
        a: float | None = None,
        prior_odds: float = 1.0,
        choose: Literal["evidence", "criterion"] = "evidence",
    ) -> None: ...

def log_bayes_factor(
    tables: ArrayLike, *, a: float | None = None
) -> np.float64 | NDArray[np.float64]: ...
