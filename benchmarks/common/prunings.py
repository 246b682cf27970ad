"""Prunings of a grown tree as array operations, many settings at once.

A setting is a column: every array here has shape (nodes, settings). The studies grow a
tree once and judge hundreds of stopping rules and prunings on it.
"""

import heapq

import numpy as np
from scipy.special import betaincinv, gammaln, ndtri


class Arrays:
    """What the prunings need to know of a tree, ours or scikit-learn's."""

    def __init__(self, tree, counts, depth=None):
        self.left = np.asarray(tree.children_left)
        self.right = np.asarray(tree.children_right)
        self.counts = np.asarray(counts, dtype=float)
        self.n = self.counts.sum(axis=1)
        self.errors = self.n - self.counts.max(axis=1)
        self.internal = self.left >= 0
        if depth is None:
            depth = np.zeros(len(self.left), dtype=int)
            for node in np.flatnonzero(self.internal):  # parents come first
                depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        self.levels = [
            np.flatnonzero(self.internal & (depth == d)) for d in range(depth.max() + 1)
        ]


def bottom_up(arrays, leaf_cost, split_cost=0.0, stopped=None):
    """Where the cheapest subtree is a leaf.

    Parameters
    ----------
    arrays : Arrays
    leaf_cost : ndarray of shape (nodes, settings)
        Cost of a node as a leaf.
    split_cost : float or ndarray of shape (nodes, settings)
        Cost of the split itself.
    stopped : ndarray of bool, shape (nodes, settings), or None
        Nodes that are leaves whatever the costs say.

    Returns
    -------
    ndarray of bool, shape (nodes, settings)
        A tie is a leaf.
    """
    leaf = np.zeros(leaf_cost.shape, dtype=bool)
    leaf[~arrays.internal] = True
    best = leaf_cost.copy()
    split_cost = np.broadcast_to(split_cost, leaf_cost.shape)
    for nodes in arrays.levels[::-1]:
        subtree = best[arrays.left[nodes]] + best[arrays.right[nodes]]
        subtree = subtree + split_cost[nodes]
        is_leaf = leaf_cost[nodes] <= subtree
        if stopped is not None:
            is_leaf |= stopped[nodes]
        best[nodes] = np.where(is_leaf, leaf_cost[nodes], subtree)
        leaf[nodes] = is_leaf
    return leaf


def representatives(arrays, leaf):
    """Node of the pruned tree in which a row at each node ends, or the node itself."""
    at = np.repeat(np.arange(len(leaf))[:, None], leaf.shape[1], axis=1)
    for nodes in arrays.levels:
        below = leaf[nodes] | (at[nodes] != nodes[:, None])  # pruned away or a leaf
        for children in (arrays.left[nodes], arrays.right[nodes]):
            at[children] = np.where(below, at[nodes], children[:, None])
    return at


def n_leaves(leaf, at):
    """Leaves of each pruned tree."""
    return (leaf & (at == np.arange(len(at))[:, None])).sum(axis=0)


def pessimistic_cost(arrays, confidences):
    """Rows times the exact one-sided binomial upper limit of the error rate."""
    n, e = arrays.n[:, None], arrays.errors[:, None]
    tail = 1.0 - np.asarray(confidences, dtype=float)[None, :]
    return n * np.where(e < n, betaincinv(e + 1.0, np.maximum(n - e, 1e-12), tail), 1.0)


def c45_cost(arrays, confidence=0.25):
    """Errors of a leaf as C4.5's estimate in J4.8's form has them."""
    n, e = arrays.n, arrays.errors
    z = -ndtri(confidence)

    def wilson(e):
        f = (e + 0.5) / n
        root = np.sqrt(np.maximum(f / n - f**2 / n + z**2 / (4.0 * n**2), 0.0))
        return n * (f + z**2 / (2.0 * n) + z * root) / (1.0 + z**2 / n) - e

    none = n * (1.0 - confidence ** (1.0 / n))
    some = np.where(e < 1.0, none + e * (wilson(np.ones_like(n)) - none), wilson(e))
    extra = np.where(e == 0.0, none, some)
    extra = np.where((e > 0.0) & (e + 0.5 >= n), np.maximum(n - e, 0.0), extra)
    return (e + extra)[:, None]


def log_marginal(counts, a):
    """Logarithm of the Dirichlet-multinomial likelihood of each row of counts."""
    k = counts.shape[1]
    return (
        gammaln(k * a)
        - gammaln(counts.sum(axis=1) + k * a)
        + (gammaln(counts + a) - gammaln(a)).sum(axis=1)
    )


def averaged_leaves(arrays, log_odds):
    """Where a leaf is the more probable, all prunings below a node averaged.

    `log_odds`, shape (nodes, settings), are those of each split against a leaf, its
    prior included. Each node is a leaf or split with those prior odds: the recursion
    of context-tree weighting. `bottom_up` with cost 0 and ``split_cost=-log_odds``
    takes the most probable pruning instead.
    """
    leaf = np.zeros(log_odds.shape, dtype=bool)
    leaf[~arrays.internal] = True
    value = np.zeros(log_odds.shape)
    for nodes in arrays.levels[::-1]:
        split = log_odds[nodes] + value[arrays.left[nodes]] + value[arrays.right[nodes]]
        leaf[nodes] = split <= 0.0
        value[nodes] = np.logaddexp(0.0, split) - np.log(2.0)
    return leaf


def collapse_alphas(arrays):
    """Cost-complexity parameter at which each internal node becomes a leaf.

    The same weakest links as scikit-learn's minimal cost-complexity pruning of a tree
    grown by Gini's index: a node's cost is its impurity times its share of the rows.
    """
    share = arrays.n / arrays.n[0]
    p = arrays.counts / arrays.n[:, None]
    cost = share * (1.0 - (p**2).sum(axis=1))
    parent = np.full(len(cost), -1)
    inner = np.flatnonzero(arrays.internal)
    parent[arrays.left[inner]] = parent[arrays.right[inner]] = inner
    below, leaves = np.where(arrays.internal, 0.0, cost), np.ones(len(cost))
    for nodes in arrays.levels[::-1]:
        below[nodes] = below[arrays.left[nodes]] + below[arrays.right[nodes]]
        leaves[nodes] = leaves[arrays.left[nodes]] + leaves[arrays.right[nodes]]
    alphas = np.full(len(cost), -np.inf)  # leaves
    alphas[inner] = np.inf
    version = np.zeros(len(cost), dtype=int)

    def link(node):
        gain = (cost[node] - below[node]) / (leaves[node] - 1.0)
        return gain, int(node), int(version[node])

    heap = [link(node) for node in inner]
    heapq.heapify(heap)
    reached = 0.0
    gone = np.zeros(len(cost), dtype=bool)
    while heap:
        alpha, node, at = heapq.heappop(heap)
        if gone[node] or at != version[node]:
            continue
        reached = max(reached, alpha)
        alphas[node] = reached
        saved, fewer = cost[node] - below[node], leaves[node] - 1.0
        stack = [node]
        while stack:  # everything under it leaves with it
            child = stack.pop()
            if gone[child]:
                continue
            gone[child] = True
            if arrays.internal[child]:
                alphas[child] = min(alphas[child], reached)
                stack += [arrays.left[child], arrays.right[child]]
        above = parent[node]
        while above >= 0:
            below[above] += saved
            leaves[above] -= fewer
            version[above] += 1
            heapq.heappush(heap, link(above))
            above = parent[above]
    return alphas


def pruned_at(alphas, values):
    """Leaves of the trees pruned at each value, as `bottom_up` gives them."""
    return alphas[:, None] <= np.asarray(values)[None, :] * (1.0 + 1e-9) + 1e-15


def thinned(alphas, most=50):
    """At most so many of the path's alphas, evenly spaced on a logarithmic scale."""
    path = np.unique(np.concatenate([[0.0], alphas[np.isfinite(alphas)]]))
    path = path[path >= 0.0]
    if len(path) <= most:
        return path
    positive = path[path > 0.0]
    wanted = np.geomspace(positive[0], positive[-1], most - 1)
    nearest = np.abs(np.log(positive)[:, None] - np.log(wanted)[None, :]).argmin(axis=0)
    return np.concatenate([[0.0], np.unique(positive[nearest])])
