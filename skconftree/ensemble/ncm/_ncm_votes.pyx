"""Class proportions of a forest of nearest class means: those of its trees, added up."""

from skconftree.ensemble.ncm._whole_means import WholeRows

from skconftree.ensemble.ncm._centroid_tree cimport NCMTree
from skconftree.ensemble.ncm._whole_means cimport WholeMeans, WholeVectors
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t


def add_ncm_votes(
    list trees, list whole, const float32_t[:, ::1] X not None,
    float64_t[:, ::1] out not None, float64_t largest=0.0,
):
    """Add the class proportions of the leaf of each row in each tree to `out`.

    They are those of `value`, bit for bit, which is an array as large as the counts and
    mostly zeros: few classes come to a leaf. Rows are few enough to stay in the cache
    while they go through one tree after the other. `whole` has the `WholeMeans` of the
    trees, for values that are at most `largest`, or is None.
    """
    cdef intp_t n = X.shape[0]
    cdef intp_t K = out.shape[1]
    cdef NCMTree tree
    cdef WholeMeans means = None
    cdef WholeVectors rows = None
    cdef bint rounded = whole is not None and n > 0
    cdef const float64_t* counts
    cdef float64_t total
    cdef intp_t t, i, c, node
    for tree in trees:
        if (
            tree.n_features != X.shape[1] or tree.n_classes != K
            or out.shape[0] != n or tree.node_count == 0
        ):
            raise ValueError("Rows do not fit the trees of this forest.")
    if rounded:
        rows = WholeRows(X, largest)
    for t in range(len(trees)):
        tree = trees[t]
        if rounded:
            means = whole[t]
            if means.tree is not tree or means.step != rows.step:
                raise ValueError("Rounded means do not fit trees and rows.")
        with nogil:
            for i in range(n):
                if rounded:
                    node = means.leaf_of(rows, i, &X[i, 0])
                else:
                    node = tree.leaf_of(&X[i, 0])
                while True:
                    counts = tree.counts + node * K
                    total = _total(counts, K)
                    if total > 0.0 or node == 0:
                        break
                    node = tree.parent[node]
                if total == 0.0:        # a tree that no row has reached
                    out[i, 0] += 1.0
                    continue
                for c in range(K):
                    if counts[c] > 0.0:
                        out[i, c] += counts[c] / total


cdef float64_t _total(const float64_t* counts, intp_t K) noexcept nogil:
    # They are whole numbers, whose sum is exact in any order.
    cdef float64_t a = 0.0
    cdef float64_t b = 0.0
    cdef float64_t c = 0.0
    cdef float64_t d = 0.0
    cdef intp_t i = 0
    while i + 4 <= K:
        a += counts[i]
        b += counts[i + 1]
        c += counts[i + 2]
        d += counts[i + 3]
        i += 4
    while i < K:
        a += counts[i]
        i += 1
    return (a + b) + (c + d)
