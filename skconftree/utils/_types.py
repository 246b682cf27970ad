"""Type aliases for the public API, named like the types in docstrings."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator


class HasShape(Protocol):
    """A data frame of any library, or a sparse matrix."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Numbers of rows and columns."""


class Stops(Protocol):
    """A rule that decides when an active learner stops."""

    def reached(self, context: Any) -> bool:
        """Whether to stop; `context` is the state of the learner."""


TableLike: TypeAlias = ArrayLike | HasShape  # rows: "array-like, sparse or frame"
RowsLike: TypeAlias = TableLike | Mapping[Any, Any] | Sequence[Mapping[Any, Any]]
LabelsLike: TypeAlias = ArrayLike | list[Any]  # labels may be of several types
Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Seed: TypeAlias = int | np.random.RandomState | None
Estimator: TypeAlias = BaseEstimator  # any estimator with the required methods
Method = TypeVar("Method")  # argument and result of a decorator
