"""The order in which cost-complexity pruning takes splits back."""

import heapq

import numpy as np


def pruning_path(tree):
    """Prune the weakest link of a tree until the root is left.

    Returns 0 and then the strength at which each further subtree goes, and the impurity
    of the leaves left at each step, weighted by their share of the rows.
    """
    weight = tree.weighted_n_node_samples
    cost = (tree.impurity * (weight / weight[0])).tolist()
    parent = tree.parent.tolist()
    children = [tree.children(node).tolist() for node in range(len(cost))]
    # of the subtree below each node
    total, n_leaves = list(cost), [1] * len(cost)
    for node in reversed(range(len(cost))):  # children have larger ids
        if children[node]:
            total[node] = sum(total[child] for child in children[node])
            n_leaves[node] = sum(n_leaves[child] for child in children[node])

    def link(node):
        return (cost[node] - total[node]) / (n_leaves[node] - 1), node, n_leaves[node]

    waiting = [link(node) for node in range(len(cost)) if children[node]]
    heapq.heapify(waiting)
    alphas, impurities = [0.0], [total[0]]
    gone = [False] * len(cost)
    while n_leaves[0] > 1:
        alpha, node, leaves = heapq.heappop(waiting)
        if gone[node] or leaves != n_leaves[node]:
            continue  # it was pruned, or something below it
        more, less = cost[node] - total[node], n_leaves[node] - 1
        below = list(children[node])
        while below:
            one = below.pop()
            gone[one] = True
            below += children[one]
        children[node] = []
        gone[node] = True
        while node >= 0:
            total[node] += more
            n_leaves[node] -= less
            if n_leaves[node] > 1:
                heapq.heappush(waiting, link(node))
            node = parent[node]
        alphas.append(alpha)
        impurities.append(total[0])
    return np.array(alphas), np.array(impurities)
