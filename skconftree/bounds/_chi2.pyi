# A bound (split rule); _chi2.pyx documents its parameters. "attributes" are features;
# "tests" are candidate splits; "point" is the probability of the observed table alone.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class Chi2Bound(BaseBound):
    delta: float
    correction: Literal["attributes", "tests"] | None
    fisher: Literal["freeman_halton", "point"]
    def __init__(
        self,
        delta: float = 0.05,
        *,
        correction: Literal["attributes", "tests"] | None = None,
        fisher: Literal["freeman_halton", "point"] = "freeman_halton",
    ) -> None: ...

def chi2_pvalue(
    tables: ArrayLike, *, fisher: Literal["freeman_halton", "point"] = "freeman_halton"
) -> np.float64 | NDArray[np.float64]: ...
def fisher_pvalue(tables: ArrayLike) -> np.float64 | NDArray[np.float64]: ...
