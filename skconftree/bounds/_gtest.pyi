# A bound (split rule); _gtest.pyx documents its parameters. `delta` is the number of
# candidate splits that may be expected to look as good by chance.
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class GTestBound(BaseBound):
    delta: float
    def __init__(self, delta: float = 1.0) -> None: ...

def gtest_pvalue(tables: ArrayLike) -> np.float64 | NDArray[np.float64]: ...
