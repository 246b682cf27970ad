"""The shape of a tree, as arrays with an element a node."""

import numpy as np

from skconftree.tree.nodes._routing cimport DEAD
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t, uint8_t


def structure_of(int32_t[::1] parent not None):
    """Arrays `depth`, `first_child` (-1 at a leaf) and `n_children`, from the parents.

    None unless the parents are those of a tree, in which siblings follow each other and
    a split has two children or more. A dead row has no parent, and no depth.
    """
    cdef intp_t n = parent.shape[0]
    depths = np.zeros(n, dtype=np.int32)
    firsts = np.full(n, -1, dtype=np.int32)
    numbers = np.zeros(n, dtype=np.int32)
    cdef int32_t[::1] depth = depths
    cdef int32_t[::1] first_child = firsts
    cdef int32_t[::1] n_children = numbers
    cdef intp_t node, above
    if n == 0 or n > 2147483647 or parent[0] != -1:
        return None
    for node in range(1, n):
        above = parent[node]
        if above == DEAD:
            continue
        if not 0 <= above < node or parent[above] == DEAD:
            return None
        if n_children[above] == 0:
            first_child[above] = <int32_t> node
        elif parent[node - 1] != above:
            return None
        n_children[above] += 1
        depth[node] = depth[above] + 1
    for node in range(n):
        if n_children[node] == 1:
            return None
    return {"depth": depths, "first_child": firsts, "n_children": numbers}


def survivors(
    const int32_t[::1] first_child not None, const int32_t[::1] n_children not None,
    const uint8_t[::1] is_leaf not None,
):
    """Nodes left when some become leaves: ascending ids, and places of their parents.

    The place of the root's parent is -1.
    """
    cdef intp_t n = n_children.shape[0]
    parent = np.full(n, -1, dtype=np.int32)
    kept = np.empty(n, dtype=np.intp)
    cdef int32_t[::1] above = parent    # by id; afterwards by place
    cdef intp_t[::1] left = kept
    cdef intp_t n_left = 0
    cdef intp_t node, child
    for node in range(n):
        if node > 0 and above[node] < 0:
            continue
        if not is_leaf[node]:
            for child in range(
                first_child[node], first_child[node] + n_children[node]
            ):
                above[child] = <int32_t> n_left
        above[n_left] = above[node]
        left[n_left] = node
        n_left += 1
    return kept[:n_left].copy(), parent[:n_left].copy()


def sum_up(
    const int32_t[::1] parent not None, const int32_t[::1] n_children not None,
    float64_t[:, ::1] counts not None, intp_t[::1] n_rows not None,
):
    """Make the counts of internal nodes those of the leaves below, in place."""
    cdef intp_t node, above, c
    for node in range(parent.shape[0]):
        if n_children[node] > 0:
            n_rows[node] = 0
            for c in range(counts.shape[1]):
                counts[node, c] = 0.0
    for node in range(parent.shape[0] - 1, 0, -1):
        above = parent[node]
        if above == DEAD:
            continue
        n_rows[above] += n_rows[node]
        for c in range(counts.shape[1]):
            counts[above, c] += counts[node, c]
