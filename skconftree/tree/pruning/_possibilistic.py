"""Possibilistic cumulative entropy of leaves against that of their parent."""

from ...bounds import possibilistic_entropy
from ._base import Pruning, Strength, proportionate_counts


class PossibilisticPruning(Pruning):
    """A subtree stays if its possibilistic entropy is lower (paper B, section 4)."""

    strength = Strength(0.05, 0.0, 1.0, "()")

    def cost(self, tree, rows):
        counts = proportionate_counts(tree)
        return counts.sum(axis=1) * possibilistic_entropy(counts, self.confidence)
