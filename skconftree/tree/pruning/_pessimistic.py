"""Errors at their upper confidence limit."""

from ._base import Pruning, Strength, proportionate_counts
from ._pessimistic_cost import PessimisticCost


class PessimisticPruning(Pruning):
    """A subtree stays if the upper limits of its leaves' errors sum to less."""

    strength = Strength(0.25, 0.0, 1.0, "()")

    def leaf_cost(self, n_leaves):
        return PessimisticCost(self.confidence, n_leaves)

    def cost(self, tree, rows):
        return self.leaf_cost(tree.node_count).of_nodes(proportionate_counts(tree))
