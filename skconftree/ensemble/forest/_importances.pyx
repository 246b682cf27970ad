"""Feature importances of a tree, measured on the rows that are not in its sample.

A split of a node with class proportions p in the tree's sample and q in the out-of-bag
rows decreases the impurity 1 - sum p q (Zhou and Hooker, 2021) by the mean, over the
out-of-bag rows that it sends to its children, of

    sum over classes k of p_k of the child * (q_k of the child - q_k of the node).

With q = p this is the decrease of the Gini index. If a feature is independent of the
class in the node, all q have the same expected value, whatever the sample was, and the
expected decrease is 0. This holds for any number of out-of-bag rows in a child and any
weights of the rows, because the mean over the children is weighted by their out-of-bag
rows (as in Li et al., 2019): a child without such rows does not count.
"""

import numpy as np

from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._typedefs cimport float64_t, intp_t, uint16_t


def unbiased_importances(
    Tree tree not None, const intp_t[::1] leaves not None,
    const uint16_t[::1] y not None, const float64_t[::1] weight not None,
):
    """Return the decrease of the impurity by the splits on each feature.

    `leaves` has the node at which each row ends, `y` its class code, and `weight` its
    out-of-bag weight, which is 0 for a row of the sample. The result is None if no row has
    a positive weight. The tree must not be trained meanwhile.
    """
    cdef intp_t n_classes = tree.n_classes
    cdef const float64_t[:, ::1] proportions = tree.raw_proba   # without smoothing
    counts = np.zeros((tree.node_count, n_classes))
    out = np.zeros(tree.n_features)
    cdef float64_t[:, ::1] at_node = counts
    cdef float64_t[::1] decreases = out
    cdef float64_t[::1] of_children = np.empty(n_classes)
    cdef float64_t total
    cdef intp_t i
    if leaves.shape[0] != y.shape[0] or weight.shape[0] != y.shape[0]:
        raise ValueError("Each row needs a leaf, a class and a weight.")
    with nogil:
        for i in range(y.shape[0]):
            if weight[i] > 0.0:
                at_node[leaves[i], y[i]] += weight[i]
    counts *= tree.class_weight
    total = counts.sum()
    if total == 0.0:
        return None
    with nogil:
        _add_decreases(tree, proportions, at_node, of_children, decreases)
    out /= total
    return out


cdef void _add_decreases(
    Tree tree, const float64_t[:, ::1] proportions, float64_t[:, ::1] counts,
    float64_t[::1] of_children, float64_t[::1] out,
) noexcept nogil:
    # `counts` has the out-of-bag weight of the rows that end at each node, by class; the
    # sums over its children are added. Children have consecutive ids, larger than that of
    # their parent, so nodes are processed in descending order. Rows that end at an inner
    # node, because their category is unknown, count only in splits of its ancestors.
    # `of_children` has the weight by class of the rows of all children.
    cdef intp_t n_classes = tree.n_classes
    cdef intp_t node, child, end, k
    cdef float64_t weight, of_child, decrease
    for node in range(tree.node_count - 1, -1, -1):
        if tree.n_children[node] == 0:
            continue
        end = tree.first_child[node] + tree.n_children[node]
        weight = 0.0
        for k in range(n_classes):
            of_children[k] = 0.0
            for child in range(tree.first_child[node], end):
                of_children[k] += counts[child, k]
            counts[node, k] += of_children[k]
            weight += of_children[k]
        if weight == 0.0:
            continue
        decrease = 0.0
        for child in range(tree.first_child[node], end):
            of_child = 0.0
            for k in range(n_classes):
                of_child += counts[child, k]
            for k in range(n_classes):
                decrease += proportions[child, k] * (
                    counts[child, k] - of_child * (of_children[k] / weight)
                )
        out[tree.nodes[node].feature] += decrease
