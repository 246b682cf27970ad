"""Class probabilities of a forest: those of its trees, added up in their order."""

from libc.stdlib cimport free, malloc

from skconftree.tree.nodes._routing cimport Branching, Node, route, route_any
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport float32_t, float64_t, int16_t, intp_t, uint8_t

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
    """Add the class proportions of the leaf of each row in each tree.

    Parameters
    ----------
    trees : list of Tree
        Alike in features and classes.
    values : list of ndarray of shape (n_nodes, n_classes), float64
        Class proportions of their nodes.
    X : ndarray of shape (n_rows, n_features), float32
    finite : bool
        Whether no value is missing.
    out : ndarray of shape (n_rows, n_classes), float64
        What is added to.
    votes : list of ndarray of shape (n_rows,), bool, or None
        Of each tree, for which rows it votes; None: for all.
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
    cdef Tree tree
    cdef const float64_t[:, ::1] value
    cdef const uint8_t[::1] mask
    cdef Voter* voters
    cdef intp_t* leaves
    cdef intp_t t, i, c, start, width
    cdef const float64_t* share
    if n == 0:
        return
    voters = <Voter*> malloc(n_trees * sizeof(Voter))
    leaves = <intp_t*> malloc(min(block, n) * sizeof(intp_t))
    try:
        if voters == NULL or leaves == NULL:
            raise MemoryError("No memory to predict.")
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
        free(voters)
        free(leaves)
        for t in range(n_held):
            tree = trees[t]
            tree._leave()
