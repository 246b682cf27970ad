"""Shapley values of the columns for the probabilities of a tree.

The value of a set of columns is the expected prediction if only these columns of a row are
known: a split on another column goes to each child with the child's share of the training
rows. The prediction is a sum over leaves. The value of a leaf is multiplied by a product with
one factor per column on its path (an edge leads from a split to a child):

- `share`: the product of the shares of the edges, if the column is not known;
- `taken`, if the column is known: 1 if the row takes all its edges, otherwise 0.

The mean of all marginal contributions of a column (its Shapley value) is an integral over t of
the contribution to a random set that contains each other column with probability t. With
factors f(t) = (1 - t) * share + t * taken, the Shapley value of a column in a leaf is

    value * (taken - share) * integral of the product of f(t) over all other columns.

The product is a polynomial, so that Gauss-Legendre quadrature is exact. All terms are positive;
nothing cancels.

A row whose category did not occur at a nominal split stays at the node. This is a further leaf
below the split, with share 0.
"""

import numpy as np

from skconftree.tree.nodes._routing cimport child_of
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint8_t


cdef class _Paths:
    # The paths of a tree: everything that does not depend on the row, with one element per
    # edge. The edges are in preorder; edge 0 leads to the root.
    cdef intp_t n_edges
    cdef intp_t n_nodes         # of the quadrature
    cdef intp_t max_depth
    cdef int32_t[::1] target    # node to which it leads; the node above if rows stay there
    cdef int32_t[::1] depth
    cdef int32_t[::1] column    # of the split above
    cdef int32_t[::1] previous  # edge above on the same column, or -1
    cdef float64_t[::1] ratio   # share of the rows of the split above
    cdef float64_t[::1] share   # product of the ratios of this column
    cdef float64_t[::1] reach   # product of all ratios
    cdef intp_t[::1] first      # of the path of a leaf, in `path`; -1 at a split
    cdef int32_t[::1] n_columns  # on the path to the edge
    cdef int32_t[::1] path      # last edge of each column, for each leaf
    # Factors of the product at each node of the quadrature, if the row takes the edge or not;
    # it takes the previous edges on the same column.
    cdef float64_t[:, ::1] taken
    cdef float64_t[:, ::1] not_taken
    # The contribution of a column is the sum of the products, multiplied by these weights.
    cdef float64_t[:, ::1] of_taken
    cdef float64_t[::1] of_not_taken

    def __init__(self, Tree tree, const float64_t[::1] weight):
        cdef intp_t n_max = 2 * tree.node_count
        cdef float64_t[::1] total = np.zeros(tree.node_count)
        cdef int32_t[::1] edge_of = np.zeros(tree.node_count, dtype=np.int32)
        cdef int32_t[::1] above = np.zeros(n_max, dtype=np.int32)
        cdef intp_t node, edge
        cdef intp_t size = 0
        cdef int32_t widest = 1
        cdef int32_t parent
        cdef float64_t ratio
        self.target, self.depth, self.column, self.previous, self.n_columns = (
            np.zeros((5, n_max), dtype=np.int32)
        )
        self.ratio, self.share, self.reach = np.ones((3, n_max))
        self.first = np.full(n_max, -1, dtype=np.intp)
        for node in range(1, tree.node_count):
            if tree.parent[node] >= 0:      # negative: the node was removed
                total[tree.parent[node]] += weight[node]
        node = 0
        edge = 0
        while node >= 0:            # in preorder
            edge_of[node] = <int32_t> edge
            if node > 0:
                parent = tree.parent[node]
                ratio = 1.0 / tree.n_children[parent]
                if total[parent] > 0.0:
                    ratio = weight[node] / total[parent]
                above[edge] = edge_of[parent]
                self.set_edge(
                    edge, edge_of[parent], node, tree.nodes[parent].feature, ratio, above
                )
            if tree.n_children[node] == 0:
                self.first[edge] = size
                size += self.n_columns[edge]
            widest = max(widest, self.n_columns[edge])
            edge += 1
            # `first` is negative unless the split is nominal
            if tree.n_children[node] > 0 and tree.branching[node].first >= 0:
                above[edge] = edge_of[node]
                self.set_edge(edge, edge_of[node], node, tree.nodes[node].feature, 0.0, above)
                self.first[edge] = size
                size += self.n_columns[edge]
                widest = max(widest, self.n_columns[edge])
                edge += 1
            node = tree.next_below(0, node)     # next node below the root; -1 = none
        self.n_edges = edge
        self.path = np.zeros(size, dtype=np.int32)
        cdef int32_t[::1] leaf_of_column = np.full(tree.n_features, -1, dtype=np.int32)
        for edge in range(self.n_edges):
            self.max_depth = max(self.max_depth, self.depth[edge])
            if self.first[edge] >= 0:
                self.set_path(edge, above, leaf_of_column)
        self.set_factors((widest + 1) // 2)

    cdef void set_edge(
        self, intp_t edge, int32_t parent, intp_t node, int32_t column, float64_t ratio,
        const int32_t[::1] above,
    ) noexcept:
        # Set the properties of an edge below the edge `parent`; `above` has the parents.
        cdef int32_t previous = parent
        while previous > 0 and self.column[previous] != column:
            previous = above[previous]
        self.target[edge] = <int32_t> node
        self.depth[edge] = self.depth[parent] + 1
        self.column[edge] = column
        self.ratio[edge] = ratio
        self.reach[edge] = self.reach[parent] * ratio
        self.previous[edge] = previous if previous > 0 else -1
        self.share[edge] = ratio * (self.share[previous] if previous > 0 else 1.0)
        self.n_columns[edge] = self.n_columns[parent] + (previous == 0)

    cdef void set_path(
        self, intp_t leaf, const int32_t[::1] above, int32_t[::1] leaf_of_column
    ) noexcept:
        # Set the path of the edge that leads to a leaf.
        cdef intp_t edge = leaf
        cdef intp_t position = self.first[leaf]
        while edge > 0:
            if leaf_of_column[self.column[edge]] != leaf:
                leaf_of_column[self.column[edge]] = <int32_t> leaf
                self.path[position] = <int32_t> edge
                position += 1
            edge = above[edge]

    cdef object set_factors(self, intp_t n):
        # Set the factors at n nodes of the quadrature.
        cdef intp_t edge, q
        cdef float64_t known, unknown, before
        nodes, weights = np.polynomial.legendre.leggauss(n)
        cdef float64_t[::1] t = (nodes + 1.0) / 2.0
        cdef float64_t[::1] rest = (1.0 - nodes) / 2.0
        cdef float64_t[::1] w = weights / 2.0
        self.n_nodes = n
        self.taken, self.not_taken, self.of_taken = np.zeros((3, self.n_edges, n))
        self.of_not_taken = np.zeros(n)
        for q in range(n):
            self.of_not_taken[q] = -w[q] / rest[q]
        for edge in range(1, self.n_edges):
            for q in range(n):
                unknown = rest[q] * self.share[edge]
                known = t[q] + unknown
                before = 1.0
                if self.previous[edge] > 0:
                    before = t[q] + rest[q] * self.share[self.previous[edge]]
                self.taken[edge, q] = known / before
                self.not_taken[edge, q] = unknown / before
                self.of_taken[edge, q] = w[q] * (1.0 - self.share[edge]) / known


def add_shap_values(
    Tree tree not None, const float64_t[::1] weight not None,
    const float64_t[:, ::1] value not None, const float32_t[:, ::1] X not None,
    float64_t vote, float64_t[:, :, ::1] out not None,
):
    """Add the Shapley values of each row and column, multiplied by `vote`, to `out`.

    `vote` is the weight of the tree in a forest, `weight` has the rows of each node, `value` the
    class probabilities. Returns the expected probabilities without any column.
    """
    cdef intp_t n = X.shape[0]
    cdef intp_t d = X.shape[1]
    cdef intp_t K = value.shape[1]      # number of classes
    cdef intp_t i, edge, k
    cdef _Paths paths
    cdef float64_t[:, ::1] product
    cdef uint8_t[::1] is_taken
    cdef int32_t[::1] follows
    base = np.zeros(K)
    cdef float64_t[::1] expected = base
    tree._read()        # locks the tree, which another thread may train
    try:
        if (
            d != tree.n_features or weight.shape[0] < tree.node_count
            or value.shape[0] < tree.node_count or out.shape[0] != n or out.shape[1] != d
            or out.shape[2] != K
        ):
            raise ValueError("Rows do not match the tree.")
        paths = _Paths(tree, weight)
        product = np.ones((paths.max_depth + 1, paths.n_nodes))
        is_taken = np.zeros(paths.n_edges, dtype=np.uint8)
        follows = np.zeros(paths.max_depth + 1, dtype=np.int32)
        for edge in range(paths.n_edges):
            if paths.first[edge] >= 0:
                for k in range(K):
                    expected[k] += paths.reach[edge] * value[paths.target[edge], k]
        if n > 0 and paths.n_edges > 1:
            with nogil:
                for i in range(n):
                    _add_row(
                        tree, paths, &value[0, 0], K, &X[i, 0], vote, &product[0, 0],
                        &is_taken[0], &follows[0], &out[i, 0, 0],
                    )
    finally:
        tree._leave()
    return base


cdef void _add_row(
    Tree tree, _Paths paths, const float64_t* value, intp_t K, const float32_t* row,
    float64_t vote, float64_t* product, uint8_t* is_taken, int32_t* follows, float64_t* out,
) noexcept nogil:
    # `product` has the products of the factors on the path to the current edge, by depth;
    # `follows` the child that the row takes at each node of the path.
    cdef intp_t n = paths.n_nodes
    cdef const int32_t* target = &paths.target[0]
    cdef const int32_t* depths = &paths.depth[0]
    cdef const int32_t* previous = &paths.previous[0]
    cdef const intp_t* first = &paths.first[0]
    cdef const float64_t* factor
    cdef float64_t* above
    cdef float64_t* here = product
    cdef intp_t edge, depth, q
    cdef int32_t last
    for edge in range(paths.n_edges):
        depth = depths[edge]
        if edge > 0:
            here = product + depth * n
            above = here - n
            last = previous[edge]
            if last > 0 and not is_taken[last]:
                is_taken[edge] = False
                for q in range(n):
                    here[q] = above[q] * paths.ratio[edge]
            else:
                is_taken[edge] = target[edge] == follows[depth - 1]
                factor = &paths.taken[edge, 0] if is_taken[edge] else &paths.not_taken[edge, 0]
                for q in range(n):
                    here[q] = above[q] * factor[q]
        if first[edge] < 0:
            follows[depth] = <int32_t> child_of(
                tree.nodes, tree.branching, tree.child_of_code, target[edge], row
            )
        elif is_taken[edge] or paths.share[edge] > 0.0:
            _add_leaf(paths, edge, value + target[edge] * K, K, vote, here, is_taken, out)


cdef inline void _add_leaf(
    _Paths paths, intp_t leaf, const float64_t* value, intp_t K, float64_t vote,
    const float64_t* product, const uint8_t* is_taken, float64_t* out,
) noexcept nogil:
    cdef intp_t n = paths.n_nodes
    # Add the contributions of one leaf to the columns on its path.
    cdef const int32_t* path = &paths.path[paths.first[leaf]]
    cdef const float64_t* weights
    cdef float64_t* of_column
    cdef float64_t not_taken = 0.0
    cdef float64_t share
    cdef intp_t i, q, k, edge
    for q in range(n):
        not_taken += paths.of_not_taken[q] * product[q]
    for i in range(paths.n_columns[leaf]):
        edge = path[i]
        share = not_taken
        if is_taken[edge]:
            share = 0.0
            weights = &paths.of_taken[edge, 0]
            for q in range(n):
                share += weights[q] * product[q]
        share *= vote
        of_column = out + paths.column[edge] * K
        for k in range(K):
            of_column[k] += share * value[k]
