"""Slow reference for monotonicity constraints: bounds of nodes, and pairs of leaves."""

import numpy as np


def bounds_of_nodes(tree, signs):
    """Lower and upper bounds of the probability of the second class in each node."""
    sign, value = _signs_of_nodes(tree, signs), tree.raw_proba[:, 1]
    bounds = np.tile([[-np.inf], [np.inf]], tree.node_count)
    for node in range(tree.node_count):
        bound = bounds[:, node]
        children = tree.children(node)
        bounds[:, children] = bound[:, np.newaxis]
        if sign[node]:
            low, high = children[:: sign[node]]
            bounds[1, low] = bounds[0, high] = value[children].mean().clip(*bound)
    return bounds


def _signs_of_nodes(tree, signs):
    # Sign of the feature of each split; "is the value missing?" is not constrained.
    is_split = (tree.feature >= 0) & ~np.isinf(tree.threshold)
    return np.where(is_split, np.array(signs)[np.maximum(tree.feature, 0)], 0)


def comparable_nodes(tree, signs):
    """Ids of nodes where paths end, and [2, n_pairs] indices of comparable ones.

    Rows that differ in constrained features only may reach both nodes of a pair, and
    the value of the first one must not be above that of the second.
    """
    # rows of unknown categories stay at a nominal split
    nodes = np.flatnonzero((tree.n_children == 0) | tree.is_nominal)
    regions = _Regions(tree)
    order, end = np.array(regions.order), regions.end
    start = np.empty_like(end)
    start[order] = np.arange(len(order))
    index = np.full(len(order), -1)
    index[nodes] = np.arange(len(nodes))
    index = index[order]  # in preorder
    first, second = [], []
    sign_of = _signs_of_nodes(tree, signs)
    for node in np.flatnonzero(sign_of).tolist():
        sides = [index[start[child] : end[child]] for child in tree.children(node)]
        low, high = [side[side >= 0] for side in sides][:: sign_of[node]]
        first.append(np.repeat(low, len(high)))
        second.append(np.tile(high, len(low)))
    first = np.concatenate([np.empty(0, dtype=np.intp), *first])
    second = np.concatenate([np.empty(0, dtype=np.intp), *second])
    for feature in regions.column:
        retained = regions.meet(feature, nodes[first], nodes[second], signs[feature])
        first, second = first[retained], second[retained]
    return nodes, np.array([first, second])


class _Regions:
    """Values that reach each node of a tree."""

    def __init__(self, tree):
        n, feature = tree.node_count, tree.feature
        used = np.unique(feature[feature >= 0]).tolist()
        # values of numeric features in (low, high], and whether missing values, reach a
        # node
        self.column = {f: k for k, f in enumerate(used)}
        self.low, self.high = np.full((2, n, len(used)), -np.inf)
        self.high[:] = np.inf
        self.missing = np.ones((n, len(used)), dtype=bool)
        self.categories = {}  # masks; the last one is any category without a code
        for node in np.flatnonzero(tree.is_nominal).tolist():
            mask = self.categories.get(feature[node])
            n_codes = 1 + len(tree.branches(node))
            if mask is None or mask.shape[1] < n_codes:
                self.categories[feature[node]] = np.ones((n, n_codes), dtype=bool)
        # the nodes in preorder, and the positions at which their subtrees end
        self.order, self.end = [], np.zeros(n, dtype=np.intp)
        stack = [0]
        while stack:
            node = stack.pop()
            if node < 0:
                self.end[~node] = len(self.order)
                continue
            self.order.append(node)
            children = tree.children(node)
            stack += [~node, *children[::-1].tolist()]
            if len(children):
                for array in (
                    self.low,
                    self.high,
                    self.missing,
                    *self.categories.values(),
                ):
                    array[children] = array[node]
                self._divide(tree, node, children)

    def _divide(self, tree, node, children):
        k = self.column[tree.feature[node]]
        branches = tree.branches(node)
        if branches is not None:
            reach = self.categories[tree.feature[node]]
            child_of = np.full(reach.shape[1], node)
            child_of[: len(branches)] = branches
            reach[children] &= child_of == children[:, np.newaxis]
            reach[node] &= child_of == node  # rows that stay
            return
        left, right = children
        threshold = tree.threshold[node]
        self.missing[right if tree.missing_go_to_left[node] else left, k] = False
        self.high[left, k] = min(self.high[left, k], threshold)
        self.low[right, k] = max(self.low[right, k], threshold)
        if threshold == np.inf:  # only rows without a value
            self.high[right, k] = -np.inf

    def meet(self, feature, first, second, sign):
        """Whether equal values reach both nodes or, with a `sign`, ordered ones."""
        if feature in self.categories:
            reach, pattern = np.unique(
                self.categories[feature], axis=0, return_inverse=True
            )
            pattern, reach = pattern.reshape(-1), reach.astype(np.float32)
            return (reach @ reach.T > 0.0)[pattern[first], pattern[second]]
        k = self.column[feature]
        low, high, missing = self.low[:, k], self.high[:, k], self.missing[:, k]
        if sign == 0:
            overlaps = np.maximum(low[first], low[second]) < np.minimum(
                high[first], high[second]
            )
        else:
            first, second = (first, second)[::sign]
            overlaps = low[first] < high[second]
        return overlaps | (missing[first] & missing[second])
