"""Impurity that a leaf has to earn."""

import numpy as np

from ._base import Pruning, Strength


class CostComplexityPruning(Pruning):
    """Minimal cost-complexity pruning, as scikit-learn's `ccp_alpha`."""

    strength = Strength(0.0, 0.0, np.inf, "[)")

    def prune(self, tree, rows):
        if self.confidence == 0.0:
            return tree  # as scikit-learn, which else would merge equal leaves
        return super().prune(tree, rows)

    def cost(self, tree, rows):
        weight = tree.weighted_n_node_samples
        return tree.impurity * (weight / weight[0]) + self.confidence
