"""Tests whose outcome and class are not dependent."""

from ...bounds import chi2_pvalue
from ._base import Strength
from ._unsupported import UnsupportedTests


class Chi2Pruning(UnsupportedTests):
    """A test stays if its p-value is at most the confidence (paper D, chapter 5)."""

    strength = Strength(0.05, 0.0, 1.0, "()")

    def stops(self, tables, depth, rows):
        # Exact p-values are ratios of small numbers: they meet .05 and rounding.
        return chi2_pvalue(tables) > self.confidence * (1.0 + 1e-9)
