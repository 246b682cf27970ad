"""Node of each row of a table, for trees that are fitted, or trained row by row.

A code is the integer of a category; a split may get codes that it did not have before. A lane is
the position of a row in a group of rows that are routed together. Random numbers are hashes of a
key (`mix`, `unit` of utils/_draws.pxd), so they do not depend on the order of the calls. The
arrays `branching` and `child_of_code` (size: `n_mapped_codes`) of a tree have the branches of
nominal splits. `child_of` is the child for a row, or the node itself if the row has an unknown
category.
"""

import numpy as np
from libc.string cimport memcpy

from skconftree.tree.nodes._routing cimport LANES, Node, child_of
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._draws cimport mix, unit
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, int32_t, int64_t, intp_t, uint64_t, uint8_t

cdef enum:
    MAX_RANDOM_TRIES = 64   # random positions per row; then the included rows are counted


# NodeRanges: the node of each row of a table.
#
# A permutation of the rows, in which a node owns a range: first the rows of the node
# itself (all rows of a leaf; at an internal node, those with an unknown category), then
# the ranges of its children. The rows of a node are in ascending order, so samples depend
# only on the tree and the rows, not on the history of the tree.
#
# A row that has been excluded keeps its position and follows the tree, but is not counted,
# listed or sampled.
cdef class NodeRanges:
    """Node of each row of a table, updated while the tree grows.

    `X`, a C-contiguous array or CSR matrix of float32, is not copied. `finite`: it has
    no NaN.
    """

    cdef readonly intp_t n_rows
    cdef const float32_t[:, ::1] X      # None if the table is sparse
    cdef object stored                  # the sparse table, in CSR format
    cdef bint finite
    cdef Tree tree                      # at the last update; None before
    cdef intp_t n_nodes                 # of the tree at that time
    cdef intp_t n_edits                 # number of changes of its splits at that time
    cdef bint has_new_codes             # `X` has new categories since then
    cdef dict _arrays
    cdef int32_t[::1] order             # [n_rows] the permutation
    cdef uint8_t[::1] excluded          # [n_rows] by row; 2 while rows are sampled
    cdef int32_t[::1] first             # [capacity] start of a node's range,
    cdef int32_t[::1] size              # [capacity] number of its rows,
    cdef int32_t[::1] n_excluded        # [capacity] and how many of them are excluded
    cdef uint8_t[::1] changed_nodes     # [capacity] its rows have changed

    def __init__(self, X, finite):
        if X.shape[0] > 2147483647:
            raise ValueError("X has too many rows: at most 2147483647 are supported.")
        self.n_rows = X.shape[0]
        self.X = None
        if isinstance(X, np.ndarray):
            self.X = X
        else:
            self.stored = X
        self.first = None
        self.finite = finite
        self._arrays = {
            "order": np.empty(self.n_rows, dtype=np.int32),
            "excluded": np.zeros(self.n_rows, dtype=np.uint8),
        }
        self.order = self._arrays["order"]
        self.excluded = self._arrays["excluded"]

    def replace_table(self, X, finite):
        """Replace `X` by the same rows with further categories, before an update."""
        self.X = X
        self.finite = finite
        self.has_new_codes = True

    def update(self, Tree tree not None):
        """Follow a tree, which must not change meanwhile."""
        self.follow(tree)

    cdef int follow(self, Tree tree) except -1:
        # Route rows on if the tree has changed since the last update.
        if (
            tree is self.tree and self.n_nodes == tree.node_count
            and self.n_edits == tree.n_edits and not self.has_new_codes
        ):
            return 0
        try:
            if tree is self.tree:
                self._continue(tree)
            else:
                self._begin(tree)
        except BaseException:
            self.tree = None        # start again after an incomplete update
            raise
        self.n_nodes = tree.node_count
        self.n_edits = tree.n_edits
        self.has_new_codes = False
        return 0

    cdef int _continue(self, Tree tree) except -1:
        cdef intp_t node, above
        self._reserve(tree.node_count)
        for node in range(self.n_nodes, tree.node_count):
            above = tree.parent[node]
            if above < self.n_nodes and node == tree.first_child[above]:
                self._partition(above)
        self.n_nodes = tree.node_count
        if self.n_edits != tree.n_edits or self.has_new_codes:
            for node in range(tree.node_count):
                if self.size[node] > 0 and tree.n_children[node] > 0:
                    if self._any_row_moves(tree, node):
                        self._partition(node)
        return 0

    cdef int _begin(self, Tree tree) except -1:
        tree._check_root()      # raises an error if the tree is empty
        if self.n_rows > 0 and tree.n_features != (
            self.stored if self.X is None else self.X
        ).shape[1]:
            raise ValueError("The table does not have the features of the tree.")
        self.n_nodes = 0
        self._reserve(tree.node_count)
        self.tree = tree
        self._arrays["order"][:] = np.arange(self.n_rows, dtype=np.int32)
        for name in ("first", "size", "n_excluded"):
            self._arrays[name][:] = 0
        self.size[0] = <int32_t> self.n_rows
        self._partition(0)
        self._arrays["changed_nodes"][: tree.node_count] = 1
        return 0

    cdef int _reserve(self, intp_t n_nodes) except -1:
        cdef intp_t capacity = 0 if self.first is None else self.first.shape[0]
        if n_nodes <= capacity:
            return 0
        capacity = max(n_nodes, 2 * capacity)
        arrays = {}
        for name, dtype in (
            ("first", np.int32), ("size", np.int32), ("n_excluded", np.int32),
            ("changed_nodes", np.uint8),
        ):
            arrays[name] = np.zeros(capacity, dtype=dtype)
            if name in self._arrays:
                arrays[name][: self.n_nodes] = self._arrays[name][: self.n_nodes]
        self._arrays |= arrays
        self.first, self.size = arrays["first"], arrays["size"]
        self.n_excluded, self.changed_nodes = arrays["n_excluded"], arrays["changed_nodes"]
        return 0

    cdef int _partition(self, intp_t top) except -1:
        # Partition the range of a node among its present descendants.
        cdef Tree tree = self.tree
        cdef bint mixed = False     # descendants of the node have rows already
        cdef intp_t total = 0
        cdef intp_t node = top
        cdef intp_t start = self.first[top]
        cdef intp_t i, row, at
        cdef Arena arena = Arena()
        cdef intp_t[::1] ascending
        cdef int32_t* rows
        cdef int32_t* old_node
        cdef int32_t* new_node
        while node >= 0:        # next_below: the next descendant of `top` in preorder, or -1
            total += self.size[node]
            mixed |= node != top and self.size[node] > 0
            node = tree.next_below(top, node)
        self.changed_nodes[top] = True
        rows = <int32_t*> arena.take(total, sizeof(int32_t))
        old_node = <int32_t*> arena.take(total if mixed else 0, sizeof(int32_t))
        new_node = <int32_t*> arena.take(total, sizeof(int32_t))
        if mixed:
            ascending = np.argsort(self._arrays["order"][start : start + total])
            node = top
            while node >= 0:
                for i in range(self.first[node], self.first[node] + self.size[node]):
                    new_node[i - start] = <int32_t> node
                node = tree.next_below(top, node)
            for i in range(total):
                rows[i] = self.order[start + ascending[i]]
                old_node[i] = new_node[ascending[i]]
        elif total > 0:
            memcpy(rows, &self.order[start], total * sizeof(int32_t))
        if total > 0:
            self._route(top, rows, total, new_node)
        with nogil:
            node = top
            while node >= 0:
                self.size[node] = 0
                self.n_excluded[node] = 0
                node = tree.next_below(top, node)
            for i in range(total):
                self.size[new_node[i]] += 1
                # sizes do not show it: as many rows may enter a node as leave it
                node = old_node[i] if mixed else top
                if new_node[i] != node:
                    self.changed_nodes[node] = True
                    self.changed_nodes[new_node[i]] = True
            at = start
            node = top
            while node >= 0:
                self.first[node] = <int32_t> at
                at += self.size[node]
                if node >= self.n_nodes:
                    self.changed_nodes[node] = True
                node = tree.next_below(top, node)
            for i in range(total):
                node = new_node[i]
                row = rows[i]
                self.order[self.first[node]] = <int32_t> row
                self.first[node] += 1
                self.n_excluded[node] += self.excluded[row] != 0
            node = top
            while node >= 0:
                self.first[node] -= self.size[node]
                node = tree.next_below(top, node)
        return 0

    cdef bint _any_row_moves(self, Tree tree, intp_t node) noexcept nogil:
        # Whether a row of an internal node can now be routed further.
        cdef intp_t i
        for i in range(self.first[node], self.first[node] + self.size[node]):
            if child_of(
                tree.nodes, tree.branching, tree.child_of_code, node, &self.X[self.order[i], 0],
            ) != node:
                return True
        return False

    cdef int _route(self, intp_t top, const int32_t* rows, intp_t n, int32_t* out) except -1:
        # The nodes that rows of `top` reach.
        cdef Tree tree = self.tree
        cdef const Node* nodes = tree.nodes
        cdef const Node* split
        cdef const float32_t* x
        cdef const float32_t* row_values[LANES]
        cdef int32_t at[LANES]
        cdef intp_t d = tree.n_features
        cdef bint is_numeric = tree.n_mapped_codes == 0 and self.finite
        cdef intp_t i = 0
        cdef intp_t lane, width, to
        cdef int32_t moved, child
        cdef const intp_t[::1] leaves
        cdef intp_t[::1] chosen
        if self.X is None:
            row_indices = np.empty(n, dtype=np.intp)
            chosen = row_indices
            for i in range(n):
                chosen[i] = rows[i]
            leaves = apply_sparse(tree, self.stored[row_indices])
            for i in range(n):
                out[i] = <int32_t> leaves[i]
            return 0
        x = &self.X[0, 0]
        with nogil:
            while i < n:
                width = min(<intp_t> LANES, n - i)
                for lane in range(width):
                    at[lane] = <int32_t> top
                    row_values[lane] = x + <intp_t> rows[i + lane] * d
                for lane in range(width, LANES):    # padding, not used
                    at[lane] = at[0]
                    row_values[lane] = row_values[0]
                moved = 1
                if is_numeric:
                    # a leaf is its own left child and has an infinite threshold; the right child
                    # follows the left one
                    while moved:
                        moved = 0
                        for lane in range(LANES):
                            split = nodes + at[lane]
                            child = split.left + (
                                row_values[lane][max(split.feature, 0)] > split.threshold
                            )
                            moved |= child ^ at[lane]
                            at[lane] = child
                else:
                    while moved:
                        moved = 0
                        for lane in range(width):
                            if nodes[at[lane]].feature < 0:
                                continue
                            to = child_of(
                                nodes, tree.branching, tree.child_of_code, at[lane],
                                row_values[lane],
                            )
                            moved |= <int32_t> to ^ at[lane]
                            at[lane] = <int32_t> to
                for lane in range(width):
                    out[i + lane] = at[lane]
                i += LANES
        return 0

    cdef intp_t _checked(self, intp_t node) except -1:
        if not 0 <= node < self.n_nodes:
            raise ValueError(f"node must be between 0 and {self.n_nodes - 1}. Got {node} instead.")
        return node

    cdef intp_t _node_of(self, intp_t row) except -1:
        cdef int32_t row_idx = <int32_t> row
        cdef int32_t node = 0
        if not 0 <= row < self.n_rows:
            raise ValueError(f"row must be between 0 and {self.n_rows - 1}. Got {row} instead.")
        self._route(0, &row_idx, 1, &node)
        return node

    def changed(self):
        """Nodes whose rows have changed since the last call."""
        changed_nodes = self._arrays["changed_nodes"][: self.n_nodes]
        nodes = np.flatnonzero(changed_nodes)
        changed_nodes[:] = 0
        return nodes

    def counts(self):
        """Number of rows in each node, without those excluded."""
        n = self.n_nodes
        return np.subtract(self._arrays["size"][:n], self._arrays["n_excluded"][:n], dtype=np.intp)

    def nodes(self):
        """Node of each row, excluded or not."""
        n = self.n_nodes
        size = self._arrays["size"][:n]
        with_rows = np.flatnonzero(size)
        with_rows = with_rows[np.argsort(self._arrays["first"][with_rows])]
        out = np.empty(self.n_rows, dtype=np.intp)
        out[self._arrays["order"]] = np.repeat(with_rows, size[with_rows])
        return out

    def members(self, intp_t node):
        """Rows of a node in ascending order, without those excluded."""
        self._checked(node)
        cdef intp_t start = self.first[node]
        rows = self._arrays["order"][start : start + self.size[node]]
        if self.n_excluded[node] == 0:
            return rows.astype(np.intp)
        return rows[self._arrays["excluded"][rows] == 0].astype(np.intp)

    def exclude(self, intp_t row, bint excluded=True):
        """Exclude a row, or include it again; return whether this is a change."""
        cdef intp_t node = self._node_of(row)
        if (self.excluded[row] != 0) == excluded:
            return False
        self.excluded[row] = excluded
        self.n_excluded[node] += 1 if excluded else -1
        self.changed_nodes[node] = True
        return True

    def draw(self, intp_t node, uint64_t key, intp_t k):
        """Sample `k` rows of a node without replacement; `key` is the seed."""
        self._checked(node)
        cdef intp_t n_included = self.size[node] - self.n_excluded[node]
        if k > n_included:
            raise ValueError(f"Cannot sample {k} rows from node {node}, which has {n_included}.")
        drawn = np.empty(max(k, 1), dtype=np.int32)
        cdef int32_t[::1] out = drawn
        with nogil:
            self._draw(node, key, n_included, &out[0], k)
        return drawn[:k].astype(np.intp)

    cdef void _draw(
        self, intp_t node, uint64_t key, intp_t n_included, int32_t* out, intp_t k
    ) noexcept nogil:
        # Try random positions until the row is not excluded (rejection sampling). If that
        # takes too long, count to a random position among the rows that are not excluded.
        cdef intp_t start = self.first[node]
        cdef intp_t size = self.size[node]
        cdef uint64_t stream = mix(key ^ mix(<uint64_t> node))
        cdef uint64_t n_drawn = 0
        cdef intp_t i, _, at, position, row
        for i in range(k):
            row = -1
            for _ in range(MAX_RANDOM_TRIES):
                n_drawn += 1
                position = start + <intp_t> (unit(mix(stream ^ n_drawn)) * size)
                if self.excluded[self.order[position]] == 0:
                    row = self.order[position]
                    break
            if row < 0:
                n_drawn += 1
                position = <intp_t> (unit(mix(stream ^ n_drawn)) * (n_included - i))
                for at in range(start, start + size):
                    if self.excluded[self.order[at]] == 0:
                        if position == 0:
                            row = self.order[at]
                            break
                        position -= 1
            out[i] = <int32_t> row
            self.excluded[row] = 2
        for i in range(k):
            self.excluded[out[i]] = 0

    @property
    def n_bytes(self):
        """Bytes of the index, without the table."""
        return sum([array.nbytes for array in self._arrays.values()])


def growth_of(Tree tree not None):
    """Number of nodes, and of changes of splits: rows can only move if these change."""
    return tree.node_count, tree.n_edits


def reroute(Tree tree not None, X, int32_t[::1] nodes not None, uint8_t[::1] moved):
    """Route rows further from their nodes, as far as possible in the present tree.

    `nodes` (0 if unknown) is modified in place; `moved` is set to 1 where a row moves.
    The tree must not change meanwhile.
    """
    cdef const float32_t[:, ::1] table
    cdef const intp_t[::1] leaves
    cdef intp_t n = nodes.shape[0]
    cdef intp_t i, node, to
    if X.shape[0] != n or moved.shape[0] != n or X.shape[1] != tree.n_features:
        raise ValueError("The table does not match the tree or `nodes`.")
    if n == 0:
        return
    if not isinstance(X, np.ndarray):
        leaves = apply_sparse(tree, X)
        for i in range(n):
            moved[i] |= nodes[i] != leaves[i]
            nodes[i] = <int32_t> leaves[i]
        return
    for i in range(n):
        if not 0 <= nodes[i] < tree.node_count:
            raise ValueError("`nodes` has an id that is not in the tree.")
    table = X
    with nogil:
        for i in range(n):
            node = nodes[i]
            while tree.nodes[node].feature >= 0:
                to = child_of(tree.nodes, tree.branching, tree.child_of_code, node, &table[i, 0])
                if to == node:
                    break
                node = to
            moved[i] |= node != nodes[i]
            nodes[i] = <int32_t> node


def find_leaves(tree, X, finite):
    """Leaf of each row of a float32 table, dense or sparse; `finite`: it has no NaN."""
    if isinstance(X, np.ndarray):   # faster than issparse
        return tree._leaves(X, finite)
    return apply_sparse(tree, X.tocsr())


def apply_sparse(Tree tree not None, X):
    """Leaf of each row of a float32 CSR matrix without NaN and without duplicates.

    The tree must not have nominal splits.
    """
    cdef const int64_t[::1] starts = X.indptr.astype(np.int64, copy=False)
    cdef const int32_t[::1] columns = X.indices.astype(np.int32, copy=False)
    cdef const float32_t[::1] values = X.data
    cdef intp_t n = X.shape[0]
    leaves = np.empty(n, dtype=np.intp)
    cdef intp_t[::1] out = leaves
    cdef const Node* nodes = tree.nodes
    cdef Arena arena = Arena()
    cdef float32_t* row
    cdef intp_t i
    cdef int64_t j
    cdef int32_t node
    if X.shape[1] != tree.n_features:
        raise ValueError(f"X has {X.shape[1]} features, the tree has {tree.n_features}.")
    tree._check_root()
    # zeros, except for the values of the current row
    row = <float32_t*> arena.take_zeros(tree.n_features, sizeof(float32_t))
    with nogil:
        for i in range(n):
            for j in range(starts[i], starts[i + 1]):
                row[columns[j]] = values[j]
            node = 0
            while nodes[node].feature >= 0:
                node = nodes[node].left + (row[nodes[node].feature] > nodes[node].threshold)
            out[i] = node
            for j in range(starts[i], starts[i + 1]):
                row[columns[j]] = 0.0
    return leaves
