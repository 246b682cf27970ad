# A bound (split rule); _gtest.pyx documents its parameters.
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class GTestBound(BaseBound):
    delta: float
    def __init__(self, delta: float = 1.0) -> None: ...

def gtest_pvalue(tables: ArrayLike) -> np.float64 | NDArray[np.float64]: ...
