"""Tests whose outcome and class are not dependent."""

from ...bounds import Chi2Bound, chi2_pvalue
from ._base import Strength
from ._unsupported import UnsupportedTests


class Chi2Pruning(UnsupportedTests):
    """A test stays if its p-value is at most the confidence (paper D, chapter 5).

    Small tables have the p-value of the tree's bound, if it is a `Chi2Bound`.
    """

    strength = Strength(0.05, 0.0, 1.0, "()")

    def stops(self, tables, depth, rows):
        bound = rows.bound if isinstance(rows.bound, Chi2Bound) else Chi2Bound()
        # Exact p-values are ratios of small numbers: they meet .05 and rounding.
        p = chi2_pvalue(tables, fisher=bound.fisher)
        return p > self.confidence * (1.0 + 1e-9)
