# A bound (split rule) by e-values, evidence that stays valid when rows are added;
# `a` is a pseudo-count of each class. `choose` is what selects the best split;
# `per_path`: delta holds for a path. _evalue.pyx documents its parameters.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class EValueBound(BaseBound):
    delta: float
    a: float
    per_path: bool
    choose: Literal["evidence", "criterion"]
    def __init__(
        self,
        delta: float = 0.05,
        *,
        a: float = 0.5,
        per_path: bool = True,
        choose: Literal["evidence", "criterion"] = "evidence",
    ) -> None: ...

def log_evalue(
    tables: ArrayLike, *, a: float = 0.5
) -> np.float64 | NDArray[np.float64]: ...
