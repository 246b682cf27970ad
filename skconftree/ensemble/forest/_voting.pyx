"""Class probabilities of a forest: those of its trees, added up in their order."""

import numpy as np

from skconftree.tree.nodes._routing cimport Branching, Node, route, route_any
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, int64_t, intp_t, uint8_t,
)

# Rows that go through one tree before the next one's turn: while they do, the tree stays
# in the cache, and so do the rows if these are no more bytes than that.
cdef enum:
    LEAST_ROWS = 1024
    MOST_ROWS = 32768
    BLOCK_BYTES = 4194304


cdef struct Voter:
    const Node* nodes
    const Branching* branching
    const int16_t* ordinals
    const float64_t* value      # [n_nodes, n_classes]
    const uint8_t* counts       # whether the tree's vote counts for each row, or NULL
    bint plain


def add_votes(
    list trees, list values, const float32_t[:, ::1] X not None, bint finite,
    float64_t[:, ::1] out not None, list votes=None,
):
    """Add the class proportions of the leaf of each row in each tree to `out`.

    `values` has those of all nodes of a tree, `votes`, unless None, for which rows each
    tree votes.
    """
    cdef intp_t n = X.shape[0]
    cdef intp_t d = X.shape[1]
    cdef intp_t K = out.shape[1]
    cdef intp_t n_trees = len(trees)
    cdef intp_t n_held = 0
    cdef intp_t block = min(
        max(BLOCK_BYTES // (<intp_t> sizeof(float32_t) * max(d, 1)), LEAST_ROWS),
        <intp_t> MOST_ROWS,
    )
    cdef Arena arena = Arena()
    cdef Tree tree
    cdef const float64_t[:, ::1] value
    cdef const uint8_t[::1] mask
    cdef Voter* voters
    cdef intp_t* leaves
    cdef intp_t t, i, c, start, width
    cdef const float64_t* share
    if n == 0:
        return
    voters = <Voter*> arena.take(n_trees, sizeof(Voter))
    leaves = <intp_t*> arena.take(min(block, n), sizeof(intp_t))
    try:
        for t in range(n_trees):
            tree = trees[t]
            value = values[t]
            tree._read()
            n_held += 1
            if (
                tree.n_features != d or tree.n_classes != K or value.shape[1] != K
                or value.shape[0] < tree.node_count or out.shape[0] != n
            ):
                raise ValueError("Rows do not fit the trees of this forest.")
            voters[t].nodes = tree.nodes
            voters[t].branching = tree.branching
            voters[t].ordinals = tree.ordinals
            voters[t].value = &value[0, 0]
            voters[t].plain = finite and tree.n_ordinals == 0
            voters[t].counts = NULL
            if votes is not None:
                mask = votes[t].view("u1")
                if mask.shape[0] != n:
                    raise ValueError("Rows do not fit the trees of this forest.")
                voters[t].counts = &mask[0]
        with nogil:
            start = 0
            while start < n:
                width = min(block, n - start)
                for t in range(n_trees):
                    if voters[t].plain:
                        route(voters[t].nodes, &X[start, 0], width, d, leaves)
                    else:
                        route_any(
                            voters[t].nodes, voters[t].branching, voters[t].ordinals,
                            &X[start, 0], width, d, leaves,
                        )
                    for i in range(width):
                        if voters[t].counts != NULL and not voters[t].counts[start + i]:
                            continue
                        share = voters[t].value + leaves[i] * K
                        for c in range(K):
                            out[start + i, c] += share[c]
                start += width
    finally:
        for t in range(n_held):
            tree = trees[t]
            tree._leave()


cdef struct Changed:
    const int32_t* nodes        # of the rows
    const int64_t* change       # [n_nodes, n_classes]
    const uint8_t* differs      # [n_nodes], whether any of it is not 0


def add_changes(list nodes not None, list changes not None, sums not None):
    """Add to the sum of each row what has changed in its node of each of some trees.

    The caller knows that the trees have the nodes. Sums are whole numbers: their order
    does not matter.
    """
    cdef int64_t[:, ::1] out = sums
    cdef intp_t n = out.shape[0]
    cdef intp_t K = out.shape[1]
    cdef intp_t n_trees = len(nodes)
    cdef const int32_t[::1] places
    cdef const int64_t[:, ::1] change
    cdef const uint8_t[::1] differs
    cdef const int64_t* step
    cdef const int32_t* at
    cdef Arena arena = Arena()
    cdef Changed* trees
    cdef intp_t t, i, c, start, width
    if n == 0 or n_trees == 0:
        return
    held = [(one != 0).any(axis=1).view(np.uint8) for one in changes]
    trees = <Changed*> arena.take(n_trees, sizeof(Changed))
    for t in range(n_trees):
        places, change, differs = nodes[t], changes[t], held[t]
        if places.shape[0] != n or change.shape[1] != K or change.shape[0] == 0:
            raise ValueError("There must be a node for each row, and its change.")
        trees[t].nodes = &places[0]
        trees[t].change = &change[0, 0]
        trees[t].differs = &differs[0]
    with nogil:
        start = 0
        while start < n:    # while all trees add to some rows, these stay in cache
            width = min(<intp_t> LEAST_ROWS, n - start)
            for t in range(n_trees):
                at = trees[t].nodes + start
                if K == 2:
                    for i in range(width):
                        step = trees[t].change + 2 * <intp_t> at[i]
                        out[start + i, 0] += step[0]
                        out[start + i, 1] += step[1]
                else:
                    for i in range(width):
                        if trees[t].differs[at[i]]:
                            step = trees[t].change + K * <intp_t> at[i]
                            for c in range(K):
                                out[start + i, c] += step[c]
            start += width
