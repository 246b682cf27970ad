"""A column as codes that were not made by an encoded table."""

from typing import NamedTuple

import numpy as np


class CodedColumn(NamedTuple):
    """Codes of all rows, on one byte or, of more than 256 categories, on two.

    Levels and floors are those of a numeric column, ascending, NaN last if it
    `has_missing`; there are no floors if each code is one value, and no levels if the
    column is nominal: its codes are those of `n_levels` - 1 categories.
    """

    codes: np.ndarray
    n_levels: int
    levels: np.ndarray | None = None
    floors: np.ndarray | None = None
    has_missing: bool = False

    def limits(self, present):
        """Smallest and largest value of some rows, of categories their codes."""
        codes = self.codes if present is None else self.codes[present]
        if self.has_missing:
            codes = codes[codes < self.n_levels - 1]
        if not len(codes):
            return np.nan, np.nan
        low, high = int(codes.min()), int(codes.max())
        if self.levels is None:
            return float(low), float(high)
        lowest = self.levels if self.floors is None else self.floors
        return float(lowest[low]), float(self.levels[high])
