# Hierarchical shrinkage: class probabilities of a node are shrunk toward those of its ancestors.
# The step from the proportions of a parent with n rows to those of its child is multiplied by
# n / (n + shrinkage).
# `fill_shrunk` computes one node of a tree that is trained row by row, along its path from the
# root. The result equals that of `shrunk` (_derived.py) exactly, so sums are rounded as NumPy
# rounds them. K is the number of classes; `counts` is [n_nodes, K] or the counts of one node.
#
# A tree with shrinkage that is trained row by row updates the counts of its internal nodes with
# every row, because every prediction uses them.

from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t

cdef enum:
    LEVELS = 128    # number of nodes of a path that are stored at a time


cdef struct Proportions:
    # Class proportions of a node, or of its nearest ancestor that has rows.
    const float64_t* counts     # NULL if there is none
    float64_t total             # with class weights


cdef inline float64_t sum_of(const float64_t* values, intp_t n) noexcept nogil:
    # Pairwise summation with the block sizes of NumPy, 128 and 8.
    cdef float64_t[8] parts
    cdef float64_t total = 0.0
    cdef intp_t i, j, half
    if n < 8:
        for i in range(n):
            total += values[i]
        return total
    if n > 128:
        half = n // 2
        half -= half % 8
        return sum_of(values, half) + sum_of(values + half, n - half)
    for j in range(8):
        parts[j] = values[j]
    i = 8
    while i < n - n % 8:
        for j in range(8):
            parts[j] += values[i + j]
        i += 8
    total = (
        ((parts[0] + parts[1]) + (parts[2] + parts[3]))
        + ((parts[4] + parts[5]) + (parts[6] + parts[7]))
    )
    while i < n:
        total += values[i]
        i += 1
    return total


cdef inline float64_t weighted(
    const float64_t* counts, const float64_t* class_weight, intp_t c
) noexcept nogil:
    return counts[c] if class_weight == NULL else counts[c] * class_weight[c]


cdef inline Proportions proportions_at(
    const float64_t* counts, const float64_t* class_weight, intp_t K, Proportions above
) noexcept nogil:
    # The proportions of a node with these counts; if it has no rows, `above`: those of its parent.
    cdef float64_t total = weighted(counts, class_weight, 0)
    cdef intp_t c
    for c in range(1, K):
        total += weighted(counts, class_weight, c)
    return above if total == 0.0 else Proportions(counts, total)


cdef inline float64_t share_of(
    Proportions node, const float64_t* class_weight, intp_t K, intp_t c
) noexcept nogil:
    # The proportion of class c.
    if node.counts == NULL:
        return 1.0 / <float64_t> K
    return weighted(node.counts, class_weight, c) / node.total


cdef inline void fill_shrunk(
    const float64_t* counts, intp_t K, const int32_t* parent, const int32_t* depths,
    double shrinkage, const float64_t* class_weight, intp_t node, float64_t* out
) noexcept nogil:
    # Write the class probabilities of a node to `out`. `class_weight` is NULL if all are 1.
    cdef intp_t depth = depths[node]
    cdef int32_t[LEVELS] path
    cdef Proportions above = Proportions(NULL, 0.0)
    cdef Proportions here
    cdef float64_t n, weight, total
    cdef intp_t level, at, top, c
    here = proportions_at(counts, class_weight, K, above)
    for c in range(K):
        out[c] = share_of(here, class_weight, K, c)
    n = sum_of(counts, K)
    for level in range(1, depth + 1):
        if (level - 1) % LEVELS == 0:
            # store the nodes of the path at the next LEVELS depths
            at = node
            top = min(level + LEVELS - 1, depth)
            while depths[at] > top:
                at = parent[at]
            while top >= level:
                path[top - level] = <int32_t> at
                at = parent[at]
                top -= 1
        at = path[(level - 1) % LEVELS]
        above = here
        here = proportions_at(counts + at * K, class_weight, K, above)
        weight = n / (n + shrinkage)
        for c in range(K):
            out[c] += (
                share_of(here, class_weight, K, c) - share_of(above, class_weight, K, c)
            ) * weight
        n = sum_of(counts + at * K, K)
    if depth == 0:
        return
    for c in range(K):
        if not out[c] > 0.0:    # a rounding error
            out[c] = 0.0
    total = sum_of(out, K)
    for c in range(K):
        out[c] /= total


cdef inline void count_above(
    float64_t* counts, intp_t K, const int32_t* parent, intp_t node, intp_t y, float64_t weight
) noexcept nogil:
    # Count a row of class y at the ancestors of its leaf, `node`.
    node = parent[node]
    while node >= 0:
        counts[node * K + y] += weight
        node = parent[node]
