"""Errors at their upper confidence limit."""

import numpy as np

from ...bounds import binomial_upper
from ._base import Pruning, Strength, proportionate_counts
from ._pessimistic_cost import PessimisticCost


class PessimisticPruning(Pruning):
    """A subtree stays if the upper limits of its leaves' errors sum to less."""

    strength = Strength(0.25, 0.0, 1.0, "()")

    def leaf_cost(self):
        return PessimisticCost(self.confidence)

    def cost(self, tree, rows):
        counts = proportionate_counts(tree)
        n = counts.sum(axis=1)
        errors = np.maximum(n - counts.max(axis=1), 0.0)
        # A tree has few different leaves, and the limit is costly.
        pairs, node = np.unique(errors + 1j * n, return_inverse=True)
        limit = pairs.imag * binomial_upper(pairs.real, pairs.imag, self.confidence)
        return limit[node]
