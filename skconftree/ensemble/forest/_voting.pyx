"""Class probabilities of a forest: sums over its trees in their order.

To route a row is to find its leaf. *Packed* nodes and rows are copies in a compact format that
is routed faster; it has only splits on thresholds. `branching` has where each node sends missing
values and categories, and `child_of_code` the child of each category, which is an integer code;
see `tree/nodes/_routing.pxd`. An `Arena` allocates memory (`take`) and frees it with itself.
`finite` is whether rows have no missing values.
"""

import numpy as np

from skconftree.tree.nodes._routing cimport (
    MAX_COLUMNS, MAX_PACKED, Branching, Node, PackedNode, pack_nodes, pack_rows,
    packed_columns, padded, route, route_any, route_packed,
)
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int16_t, int32_t, int64_t, intp_t, uint8_t, uint32_t,
)

# Rows are routed in blocks: all rows of a block through one tree, then through the next. A
# block has about BLOCK_BYTES, and its rows are limited, so that a packed tree stays in the cache.
cdef enum:
    MIN_ROWS = 1024
    MAX_ROWS = 131072
    BLOCK_BYTES = 16777216

# Trees and rows are packed if there are at most so many nodes per row and columns per
# tree: otherwise packing takes longer than it saves.
cdef enum:
    NODES_PER_ROW = 16
    COLUMNS_PER_TREE = 16


cdef struct Voter:              # a tree
    const Node* nodes           # feature, threshold and first child of each node
    const Branching* branching
    const int16_t* child_of_code
    const float64_t* value      # [n_nodes, n_classes] class proportions
    const uint8_t* counts       # mask of the rows for which the tree votes; NULL: all
    bint only_thresholds        # no missing values in rows, and no split on categories
    intp_t n_packed             # number of its nodes if it is packed, otherwise 0
    intp_t min_depth            # number of steps from the root that are made without testing
                                # whether a row has reached a leaf


def add_votes(
    list trees, list values, const float32_t[:, ::1] X not None, bint finite,
    float64_t[:, ::1] out not None, list votes=None,
):
    """Add the class proportions of the leaf of each row in each tree to `out`.

    `values` has the class proportions of the nodes of each tree. `votes`, unless None,
    has a mask per tree of the rows for which it votes.
    """
    cdef intp_t n = X.shape[0]
    cdef intp_t d = X.shape[1]
    cdef intp_t K = out.shape[1]
    cdef intp_t n_trees = len(trees)
    cdef intp_t n_locked = 0
    cdef intp_t block = min(
        max(BLOCK_BYTES // (<intp_t> sizeof(float32_t) * max(d, 1)), MIN_ROWS),
        <intp_t> MAX_ROWS,
    )
    cdef Arena arena = Arena()
    cdef Tree tree
    cdef const float64_t[:, ::1] value
    cdef const uint8_t[::1] mask
    cdef Voter* voters
    cdef intp_t* leaves
    cdef intp_t t, start, width
    cdef intp_t n_columns = packed_columns(d, finite)   # of a packed row
    cdef intp_t n_packable = 0
    cdef intp_t n_packed = 0        # of the largest tree
    cdef PackedNode* nodes = NULL
    cdef uint32_t* rows = NULL
    cdef uint32_t* open = NULL      # buffer of `route_packed`
    cdef uint32_t* at = NULL        # node that each row of a block has reached
    if n == 0:
        return
    block = min(block, n)
    voters = <Voter*> arena.take(n_trees, sizeof(Voter))
    try:
        for t in range(n_trees):
            tree = trees[t]
            value = values[t]
            tree._read()        # acquires the read lock
            n_locked += 1
            if (
                tree.n_features != d or tree.n_classes != K or value.shape[1] != K
                or value.shape[0] < tree.node_count or out.shape[0] != n
            ):
                raise ValueError("Rows do not match the trees of this forest.")
            voters[t].nodes = tree.nodes
            voters[t].branching = tree.branching
            voters[t].child_of_code = tree.child_of_code
            voters[t].value = &value[0, 0]
            # n_mapped_codes is the length of child_of_code: 0 without splits on categories
            voters[t].only_thresholds = finite and tree.n_mapped_codes == 0
            voters[t].counts = NULL
            voters[t].n_packed = 0
            voters[t].min_depth = 0
            if (
                tree.n_mapped_codes == 0 and n_columns <= MAX_COLUMNS
                and tree.node_count <= min(NODES_PER_ROW * block, <intp_t> MAX_PACKED)
            ):
                voters[t].n_packed = tree.node_count
                while tree.n_leaves >> (voters[t].min_depth + 1):
                    voters[t].min_depth += 1
                n_packed = max(n_packed, tree.node_count)
                n_packable += 1
            if votes is not None:
                mask = votes[t].view("u1")
                if mask.shape[0] != n:
                    raise ValueError("Each tree needs one vote per row.")
                voters[t].counts = &mask[0]
        if n_packable * COLUMNS_PER_TREE < n_columns:
            n_packable = 0
        if n_packable > 0:
            # padded(): rows are routed in groups, of which the last one is filled up
            nodes = <PackedNode*> arena.take(n_packed, sizeof(PackedNode))
            rows = <uint32_t*> arena.take(padded(block) * n_columns, sizeof(uint32_t))
            open = <uint32_t*> arena.take(padded(block), sizeof(uint32_t))
            at = <uint32_t*> arena.take(padded(block), sizeof(uint32_t))
        leaves = <intp_t*> arena.take(block, sizeof(intp_t))
        with nogil:
            start = 0
            while start < n:
                width = min(block, n - start)
                if n_packable > 0:
                    pack_rows(&X[start, 0], width, d, finite, rows)
                for t in range(n_trees):
                    if n_packable > 0 and voters[t].n_packed > 0:
                        pack_nodes(
                            voters[t].nodes, voters[t].branching, voters[t].n_packed,
                            finite, nodes,
                        )
                        route_packed(
                            nodes, rows, width, n_columns, voters[t].min_depth, open, at
                        )
                        _add(&voters[t], at, width, K, start, &out[start, 0])
                        continue
                    if voters[t].only_thresholds:
                        route(voters[t].nodes, &X[start, 0], width, d, leaves)
                    else:
                        route_any(
                            voters[t].nodes, voters[t].branching, voters[t].child_of_code,
                            &X[start, 0], width, d, leaves,
                        )
                    _add(&voters[t], leaves, width, K, start, &out[start, 0])
                start += width
    finally:
        for t in range(n_locked):
            tree = trees[t]
            tree._leave()       # releases the read lock


ctypedef fused Leaf:        # index of a node
    intp_t
    uint32_t


cdef void _add(
    const Voter* voter, const Leaf* leaves, intp_t n, intp_t K, intp_t start,
    float64_t* out,
) noexcept nogil:
    # Add the class proportions of the leaves of n rows to `out`. `leaves` and `out` begin at
    # row `start`.
    cdef const float64_t* value = voter.value
    cdef const float64_t* share
    cdef float64_t first, second
    cdef intp_t i, c
    if voter.counts == NULL and K == 2:
        for i in range(n):
            share = value + 2 * <intp_t> leaves[i]
            # read both before writing: `out` could overlap `value` for the compiler
            first = share[0]
            second = share[1]
            out[2 * i] += first
            out[2 * i + 1] += second
        return
    for i in range(n):
        if voter.counts != NULL and not voter.counts[start + i]:
            continue
        share = value + K * <intp_t> leaves[i]
        for c in range(K):
            out[i * K + c] += share[c]


cdef struct Changed:            # a tree whose values have changed
    const int32_t* nodes        # [n_rows] node that each row has reached
    const int64_t* change       # [n_nodes, n_classes] differences of the values
    const uint8_t* differs      # [n_nodes] whether any of these is not 0


def add_changes(list nodes not None, list changes not None, sums not None):
    """Update sums over trees of a row's values after the values of some trees changed.

    `sums` is [row, class]. `nodes` has, per tree, the node that each row has reached, and
    `changes` the differences of the values of its nodes, [node, class]. The caller ensures
    that the nodes exist. Values are integers, so the order of summation does not matter.
    """
    cdef int64_t[:, ::1] out = sums
    cdef intp_t n = out.shape[0]
    cdef intp_t K = out.shape[1]
    cdef intp_t n_trees = len(nodes)
    cdef const int32_t[::1] row_nodes
    cdef const int64_t[:, ::1] change
    cdef const uint8_t[::1] differs
    cdef const int64_t* step
    cdef const int32_t* at
    cdef Arena arena = Arena()
    cdef Changed* trees
    cdef intp_t t, i, c, start, width
    if n == 0 or n_trees == 0:
        return
    differs_of_tree = [(array != 0).any(axis=1).view(np.uint8) for array in changes]
    trees = <Changed*> arena.take(n_trees, sizeof(Changed))
    for t in range(n_trees):
        row_nodes, change, differs = nodes[t], changes[t], differs_of_tree[t]
        if row_nodes.shape[0] != n or change.shape[1] != K or change.shape[0] == 0:
            raise ValueError("Each tree needs one node per row, and the changes of its values.")
        trees[t].nodes = &row_nodes[0]
        trees[t].change = &change[0, 0]
        trees[t].differs = &differs[0]
    with nogil:
        start = 0
        while start < n:    # all trees are added to a block of rows that stays in cache
            width = min(<intp_t> MIN_ROWS, n - start)
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
