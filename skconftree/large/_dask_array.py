"""Parts of a table that are blocks of rows of Dask arrays, where they are."""

import math
from typing import NamedTuple

import numpy as np

from ._dask import DaskParts, is_of_dask, sizes_of

TARGET = "target"  # beside columns that are numbers


class DaskArrays(DaskParts):
    """Blocks of rows of two Dask arrays: the table, and the class of each row."""

    target = TARGET

    def __init__(self, X, y):
        self._X, self._y = X, y
        sizes = self._sizes()
        self._blocks = self._X.to_delayed().ravel().tolist()
        self._labels = self._y.to_delayed().tolist()
        super().__init__([*range(X.shape[1]), TARGET], sizes)

    @classmethod
    def of(cls, source, target):
        """Parts of a Dask array and its target; None of anything else."""
        if not is_of_dask(source) or hasattr(source, "columns"):
            return None
        if not hasattr(source, "chunks"):
            return None
        if not (is_of_dask(target) and hasattr(target, "chunks")):
            raise TypeError(
                "target must be a Dask array of classes, as source is a Dask array, "
                f"got {type(target).__name__}. Use dask.array.from_array(target)."
            )
        if source.ndim != 2 or target.ndim != 1:
            raise ValueError(
                "source and target must be Dask arrays of two dimensions and of one, "
                f"got {source.ndim} and {target.ndim}."
            )
        if math.isnan(source.shape[1]) or source.numblocks[1] != 1:
            raise ValueError(
                "source must have all columns of a row in one chunk, got chunks of "
                f"{source.chunks[1]} columns. Use source.rechunk({{1: -1}})."
            )
        return cls(source, target)

    def _sizes(self):
        # Rows of each block; those of the target are made the same.
        sizes = self._X.chunks[0]
        if not any(map(math.isnan, (*sizes, *self._y.chunks[0]))):
            if sum(sizes) != self._y.shape[0]:
                raise ValueError(
                    f"source has {sum(sizes)} rows, and target {self._y.shape[0]}."
                )
            self._y = self._y.rechunk((sizes,))
            return sizes
        # nobody knows how many there are
        sizes = sizes_of(self._X.to_delayed().ravel().tolist())
        of_target = sizes_of(self._y.to_delayed().tolist())
        if sizes != of_target:
            raise ValueError(
                "Chunks of unknown sizes must have the same rows in source and target, "
                f"got {list(sizes)} and {list(of_target)} rows."
            )
        return sizes

    def empty(self, columns):
        """The columns without rows, which tell their type."""
        return np.empty((0, len(columns)), self._X.dtype)

    @staticmethod
    def labels_of(block):
        """Classes, which a block of the target is."""
        return block

    def _parts(self, columns):
        if columns == [TARGET]:
            return self._labels, _TakeBlock("target", self._y.dtype.kind)
        if len(columns) == self._X.shape[1]:
            columns = None
        return self._blocks, _TakeBlock("source", self._X.dtype.kind, columns)


class _TakeBlock(NamedTuple):
    """Takes columns of a block, whose kind has to be that of the array; None: all."""

    name: str
    kind: str
    columns: list | None = None

    def __call__(self, block, place):
        if not isinstance(block, np.ndarray):
            raise TypeError(
                f"{self.name} must have blocks that are NumPy arrays, got "
                f"{type(block).__name__} in block {place}."
            )
        if block.dtype.kind != self.kind:
            raise ValueError(
                f"{self.name} has other types: {block.dtype} in block {place} is not "
                f"of kind {self.kind!r}, as the array is."
            )
        return block if self.columns is None else block[:, self.columns]
