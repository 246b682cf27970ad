"""Rows of a sparse table through a tree, one by one, without making them dense."""

import numpy as np

from skconftree.tree.nodes._routing cimport Node
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, int32_t, int64_t, intp_t


def apply_sparse(Tree tree not None, X):
    """Leaf reached by each row of a CSR matrix without NaN; no test may be nominal.

    The matrix, of float32, stores every place at most once.
    """
    cdef const int64_t[::1] starts = X.indptr.astype(np.int64, copy=False)
    cdef const int32_t[::1] places = X.indices.astype(np.int32, copy=False)
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
    # zero but for the values of the row at hand
    row = <float32_t*> arena.take_zeros(tree.n_features, sizeof(float32_t))
    with nogil:
        for i in range(n):
            for j in range(starts[i], starts[i + 1]):
                row[places[j]] = values[j]
            node = 0
            while nodes[node].feature >= 0:
                node = nodes[node].left + (
                    row[nodes[node].feature] > nodes[node].threshold
                )
            out[i] = node
            for j in range(starts[i], starts[i + 1]):
                row[places[j]] = 0.0
    return leaves
