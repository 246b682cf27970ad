"""Class proportions of a forest of nearest class means: those of its trees, added up."""

from skconftree.ensemble.ncm._centroid_tree cimport NCMTree, WholeMeans, WholeRows
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, label_t


def add_ncm_votes(
    list trees, const float32_t[:, ::1] X not None, float64_t[:, ::1] out not None
):
    """Add the class proportions of the leaf of each row in each tree to `out`.

    They are those of `value`, bit for bit, which is an array as large as the counts and
    mostly zeros: few classes come to a leaf.
    """
    cdef intp_t K = out.shape[1]
    cdef NCMTree tree
    cdef const float64_t* counts
    cdef float64_t total
    cdef intp_t i, c
    for tree in trees:
        _check(tree, X, out)
    for tree in trees:
        with nogil:
            for i in range(X.shape[0]):
                counts = _counts_of(tree, tree.leaf_of(&X[i, 0]), &total)
                if total == 0.0:        # a tree that no row has reached
                    out[i, 0] += 1.0
                    continue
                for c in range(K):
                    if counts[c] > 0.0:
                        out[i, c] += counts[c] / total


def add_ncm_votes_of_many(
    list means, list shares, const float32_t[:, ::1] X not None,
    float64_t[:, ::1] out not None, float64_t largest,
):
    """Do the same with what trees have for many rows, `WholeMeans` and `LeafShares`.

    No value of a row or a mean is above `largest`. The rows are few enough to stay in
    the cache while they go through one tree after the other.
    """
    cdef WholeRows rows
    cdef WholeMeans mean
    cdef LeafShares share
    cdef intp_t i, k, leaf
    if X.shape[0] == 0:
        return
    rows = WholeRows(X, largest)
    for mean, share in zip(means, shares, strict=True):
        _check(mean.tree, X, out)
        if share.tree is not mean.tree or mean.step != rows.step:
            raise ValueError("Means and shares do not fit rows or each other.")
    for mean, share in zip(means, shares):
        with nogil:
            mean.route(rows)
            for i in range(rows.n_rows):
                leaf = rows.leaves[i]
                for k in range(share.starts[leaf], share.starts[leaf + 1]):
                    out[i, share.classes[k]] += share.shares[k]


cdef class LeafShares:
    """Class proportions of the leaves of a tree, those that are not 0."""

    cdef Arena arena
    cdef readonly NCMTree tree
    cdef intp_t* starts         # [node_count + 1] where those of a node begin
    cdef label_t* classes
    cdef float64_t* shares

    def __init__(self, NCMTree tree not None):
        self.tree = tree
        self.arena = Arena()
        self.starts = <intp_t*> self.arena.take(tree.node_count + 1, sizeof(intp_t))
        with nogil:
            self._fill(tree)

    cdef int _fill(self, NCMTree tree) except -1 nogil:
        cdef intp_t K = tree.n_classes
        cdef intp_t room = 0
        cdef intp_t n = 0
        cdef intp_t node
        for node in range(tree.node_count):
            self.starts[node] = n
            if tree.n_children[node] > 0:
                continue
            if n + K > room:
                room = 2 * room + K
                self.classes = <label_t*> self.arena.resize(
                    self.classes, room, sizeof(label_t)
                )
                self.shares = <float64_t*> self.arena.resize(
                    self.shares, room, sizeof(float64_t)
                )
            n += self._take(tree, node, self.classes + n, self.shares + n)
        self.starts[tree.node_count] = n
        return 0

    cdef intp_t _take(
        self, NCMTree tree, intp_t leaf, label_t* classes, float64_t* shares
    ) noexcept nogil:
        # Without a branch for a class: which ones are 0 follows no pattern.
        cdef float64_t total
        cdef const float64_t* counts = _counts_of(tree, leaf, &total)
        cdef intp_t n = 0
        cdef intp_t c
        if total == 0.0:        # a tree that no row has reached
            classes[0] = 0
            shares[0] = 1.0
            return 1
        for c in range(tree.n_classes):
            classes[n] = <label_t> c
            shares[n] = counts[c]
            n += counts[c] > 0.0
        for c in range(n):
            shares[c] /= total
        return n


cdef _check(NCMTree tree, const float32_t[:, ::1] X, float64_t[:, ::1] out):
    if (
        tree.n_features != X.shape[1] or tree.n_classes != out.shape[1]
        or out.shape[0] != X.shape[0] or tree.node_count == 0
    ):
        raise ValueError("Rows do not fit the trees of this forest.")


cdef inline const float64_t* _counts_of(
    NCMTree tree, intp_t leaf, float64_t* total
) noexcept nogil:
    # Those of the nearest node from here up that has any row; their sum is 0 if none.
    cdef const float64_t* counts
    while True:
        counts = tree.counts + leaf * tree.n_classes
        total[0] = _sum_of(counts, tree.n_classes)
        if total[0] > 0.0 or leaf == 0:
            return counts
        leaf = tree.parent[leaf]


cdef float64_t _sum_of(const float64_t* counts, intp_t K) noexcept nogil:
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
