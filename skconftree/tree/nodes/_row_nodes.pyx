"""The node in which each row of a table lies, by row."""

import numpy as np

from skconftree.tree.nodes._sparse_apply import apply_sparse

from skconftree.tree.nodes._routing cimport child_of
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport float32_t, int32_t, intp_t, uint8_t


def growth_of(Tree tree not None):
    """What changes when rows may lie elsewhere: nodes, and edits of tests."""
    return tree.node_count, tree.n_edits


def send_on(Tree tree not None, X, int32_t[::1] nodes not None, uint8_t[::1] moved):
    """Send rows on from the nodes where they were, as far as there is a way by now.

    `nodes` (0 if not known) changes in place; 1 is written to `moved` where a row
    moves. Nobody changes the tree meanwhile.
    """
    cdef const float32_t[:, ::1] table
    cdef const intp_t[::1] found
    cdef intp_t n = nodes.shape[0]
    cdef intp_t i, node, to
    if X.shape[0] != n or moved.shape[0] != n or X.shape[1] != tree.n_features:
        raise ValueError("The table does not fit the tree.")
    if n == 0:
        return
    if not isinstance(X, np.ndarray):
        found = apply_sparse(tree, X)
        for i in range(n):
            moved[i] |= nodes[i] != found[i]
            nodes[i] = <int32_t> found[i]
        return
    for i in range(n):
        if not 0 <= nodes[i] < tree.node_count:
            raise ValueError("The rows do not lie in the tree.")
    table = X
    with nogil:
        for i in range(n):
            node = nodes[i]
            while tree.nodes[node].feature >= 0:
                to = child_of(
                    tree.nodes, tree.branching, tree.ordinals, node, &table[i, 0]
                )
                if to == node:
                    break
                node = to
            moved[i] |= node != nodes[i]
            nodes[i] = <int32_t> node
