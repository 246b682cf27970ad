"""Pruning of a grown tree, compiled: what needs more than array arithmetic."""

import numpy as np

from skconftree.tree._tree cimport Tree
from skconftree.utils._typedefs cimport float64_t, intp_t, uint8_t

# A leaf as good as its subtree on paper must not lose by rounding.
cdef float64_t ROUNDING = 1e-12


def cheaper_as_leaf(Tree tree, const float64_t[::1] cost not None):
    """Nodes that cost no more as a leaf than the best tree below them does.

    Parameters
    ----------
    tree : Tree
    cost : ndarray of shape (node_count,), float64
        What each node costs as a leaf, not negative. A tree costs the sum over its
        leaves.

    Returns
    -------
    ndarray of shape (node_count,), bool
        For `Tree.pruned`; of the trees that cost least, that gives the smallest.
    """
    if cost.shape[0] != tree.node_count:
        raise ValueError(f"cost must have {tree.node_count} elements.")
    keep_as_leaf = np.zeros(tree.node_count, dtype=np.bool_)
    least = np.array(cost)
    cdef uint8_t[::1] leaf = keep_as_leaf.view(np.uint8)
    cdef float64_t[::1] best = least
    cdef float64_t below
    cdef intp_t node, left
    with nogil:
        # children have larger ids than their parent
        for node in range(tree.node_count - 1, -1, -1):
            if tree.nodes[node].feature < 0:
                continue
            left = tree.nodes[node].left
            below = best[left] + best[left + 1]
            if cost[node] <= below * (1.0 + ROUNDING):
                leaf[node] = True
            else:
                best[node] = below
    return keep_as_leaf
