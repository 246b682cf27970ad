"""Look-ahead, written out: a test is judged by the trees that grow below it.

Every trial is a tree of its own, grown by `Grower` from the rows of the node and pruned
before its leaves are added up.
"""

import copy

from .bounds import by_chance
from .criteria import TIE, first_lowest, total
from .nodes import Split, as_bound_sees
from .pruning import binomial_upper
from .tree import EPSILON, Grower

EQUAL = 1e-12  # relative, of costs


class LookaheadGrower(Grower):
    """A tree that looks ahead in some levels near its root.

    Parameters
    ----------
    first : int
        Depth from which on it does.
    levels : int
        Depths at which it does.
    width : int
        Tests tried at a node.
    confidence : float
        Of the limit of errors that a leaf costs.
    protect_below : float
        Evidence of splits that stay whatever their errors.
    """

    def __init__(
        self, *args, first, levels, width, confidence, protect_below=0.01, **kwargs
    ):
        self.depths = range(first, first + levels)
        self.width, self.confidence = width, confidence
        self.protect_below = protect_below
        self.tries = False
        super().__init__(*args, **kwargs)

    def examine(self, node):
        split = super().examine(node)
        if split is None or self.tries or node.depth not in self.depths:
            return split
        splits = [split, *self.others(node, split)[: self.width - 1]]
        costs = [self.cost_below(node, one) for one in splits]
        best = 0
        for i, cost in enumerate(costs):
            self.ambiguous |= abs(cost / costs[best] - (1 - EQUAL)) < 0.9 * EQUAL
            if cost < costs[best] * (1 - EQUAL):
                best = i
        as_leaf = self.cost_of_leaf(node)
        self.ambiguous |= abs(as_leaf / costs[best] - (1 + EQUAL)) < 0.9 * EQUAL
        if len(splits) > 1 and as_leaf <= costs[best] * (1 + EQUAL):
            return split  # errors have nothing to say
        if len(splits) > 1:
            competitor = min((cost, i) for i, cost in enumerate(costs) if i != best)
            feature = splits[competitor[1]].test.feature
            splits[best].trials = (costs[best], competitor[0], feature)
        return splits[best]

    def others(self, node, chosen):
        """Best tests of other attributes that the bound accepts, by gain."""
        n = float(node.counts.sum())
        tests, compared = self.candidates(node)
        found = []
        for feature in sorted(compared):
            if feature == chosen.feature:
                continue
            own = [test for test in tests if test.feature == feature]
            scores = [total(self.criterion, test.counts) for test in own]
            best = first_lowest(scores, TIE * n)
            node_stats = self.stats_of(node, n_tests=float(sum(compared.values())))
            node_stats["n_varying"] = len(compared)
            node_stats["attribute_tests"] = compared[feature]
            evidence = {
                "score": scores[best] / n,
                "runner_up_score": chosen.evidence["score"],
                "runner_up_feature": chosen.feature,
            }
            accepted, evidence = self.bound.decide(
                node_stats, own[best].bound_counts, evidence
            )
            evidence |= by_chance(node_stats, own[best].bound_counts, feature, compared)
            improvement = self.improvement(node, own[best])
            small = improvement + EPSILON < self.rules["min_impurity_decrease"]
            if not accepted or small:
                continue
            place = len(found)
            while place and (
                scores[best] < found[place - 1].evidence["score"] * n - TIE * n
            ):
                place -= 1
            found.insert(place, Split(own[best], evidence, improvement))
        return found

    def cost_below(self, node, split):
        """What the trees on the sides of a test cost."""
        trial = copy.copy(node)
        trial.split, trial.children = split, []
        self.tries = True
        self.split(trial)
        for child in trial.children:
            self.grow_depth_first(child)
        self.tries = False
        return sum(self.least_cost(child) for child in trial.children)

    def least_cost(self, node):
        """What the cheapest pruning of a tree costs."""
        as_leaf = self.cost_of_leaf(node)
        if node.split is None:
            return as_leaf
        return min(as_leaf, sum(map(self.least_cost, node.children)))

    def cost_of_leaf(self, node):
        seen = as_bound_sees(node.counts, node.weight)
        n = sum(seen)
        return n * binomial_upper(max(n - max(seen), 0.0), n, self.confidence)

    def prune(self, node):
        """Make leaves of the nodes that cost no more as one, but for strong splits.

        Returns what the rest costs, as if no strong split had been kept.
        """
        as_leaf = self.cost_of_leaf(node)
        if node.split is None:
            return as_leaf
        below = sum(map(self.prune, node.children))
        if as_leaf <= below * (1 + EQUAL):
            if node.split.evidence["statistic"] < self.protect_below:
                return as_leaf
            node.split, node.children = None, []
            return as_leaf
        return below
