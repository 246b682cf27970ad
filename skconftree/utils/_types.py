"""Types of what users give and get, by the words of the docstrings."""

from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator


class HasShape(Protocol):
    """A frame of any library, or a sparse matrix."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Numbers of rows and columns."""


class Stops(Protocol):
    """What serves as a stopping rule."""

    def reached(self, context: Any) -> bool:
        """Whether to stop."""


TableLike: TypeAlias = ArrayLike | HasShape  # rows: "array-like, sparse or frame"
LabelsLike: TypeAlias = ArrayLike | list[Any]  # labels may be of several types
Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Seed: TypeAlias = int | np.random.RandomState | None
Estimator: TypeAlias = BaseEstimator  # one that is asked for by its methods
Method = TypeVar("Method")  # what a decorator takes and gives back
