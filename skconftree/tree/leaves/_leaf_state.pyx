"""Leaves as bytes.

A leaf is a header of whole numbers, numbers, its counts, what its memory writes, and its
box. Where leaves draw their features, what they are drawn by comes first, and it follows
whether the leaf has a past, and its past. Which unlabelled rows it has, the tree says.
"""

from libc.math cimport fabs

from skconftree.tree.leaves._contract cimport LeafHeader
from skconftree.tree.leaves._drawn cimport draw_features, policy_of
from skconftree.tree.leaves._leaf cimport LEAF_COUNTS, new_leaf, release_leaf
from skconftree.tree.leaves._registry cimport memory_of_code
from skconftree.tree.leaves._state cimport require, require_finite
from skconftree.utils._typedefs cimport float64_t, int64_t

cdef enum:
    N_NUMBERS = 7
    N_MODELS = 4

cdef float64_t MOST_WEIGHT = 1e18   # of rows, 100 times what a sample is drawn from
cdef float64_t ROUNDING = 1e-6      # of sums, relative


cdef write_leaf(StateWriter writer, const Leaf* leaf, const Policy* policy):
    cdef int64_t has_past = leaf.past != NULL
    _write_memory(writer, leaf, policy)
    if policy.n_drawn > 0:
        writer.put(&has_past, sizeof(has_past))
        if leaf.past != NULL:
            _write_memory(writer, leaf.past, policy)


cdef _write_memory(StateWriter writer, const Leaf* leaf, const Policy* policy):
    cdef intp_t d = policy.n_features
    cdef const Policy* own = policy_of(leaf, policy)
    cdef LeafHeader header = _header(leaf, own.n_features)
    cdef float64_t[N_NUMBERS] numbers = [
        leaf.n_fresh, leaf.n_examined, leaf.n_held, leaf.hits[0], leaf.hits[1],
        leaf.hits[2], leaf.hits[3],
    ]
    if policy.n_drawn > 0:
        writer.put(&leaf.key, sizeof(leaf.key))
    writer.put(&header, sizeof(header))
    writer.put(&numbers[0], sizeof(numbers))
    writer.put(leaf.fresh, LEAF_COUNTS * policy.n_classes * sizeof(float64_t))
    leaf.memory.write(writer, leaf, own)
    if leaf.box != NULL:
        writer.put(leaf.box, (2 * d + 1) * sizeof(float64_t))


cdef LeafHeader _header(const Leaf* leaf, intp_t d) noexcept:
    cdef LeafHeader header
    header.code = leaf.memory.code
    header.attempt = leaf.attempt
    header.n_rows = leaf.n_rows
    header.n_inherited = leaf.n_inherited
    header.has_weights = leaf.weight != NULL
    header.n_bins = 0 if leaf.bins.first == NULL else leaf.bins.first[d]
    header.has_histogram = leaf.histogram != NULL
    header.has_fresh_histogram = leaf.fresh_histogram != NULL
    header.has_own = leaf.own != NULL
    header.has_box = leaf.box != NULL
    header.bins_missing = leaf.bins.missing
    header.handed = leaf.handed
    header.dropped = leaf.dropped
    return header


cdef Leaf* read_leaf(
    StateReader reader, const Policy* policy, intp_t node
) except NULL:
    cdef Leaf* leaf = new_leaf(policy, node)
    cdef int64_t has_past
    try:
        _fill_leaf(reader, policy, leaf)
        if policy.n_drawn > 0:
            reader.take(&has_past, sizeof(has_past))
            require(0 <= has_past <= 1)
            if has_past:
                leaf.past = new_leaf(policy, node)
                _fill_leaf(reader, policy, leaf.past)
    except BaseException:
        release_leaf(leaf, policy)
        raise
    return leaf


cdef _fill_leaf(StateReader reader, const Policy* policy, Leaf* leaf):
    cdef intp_t d = policy.n_features
    cdef const Policy* own
    cdef LeafHeader header
    if policy.n_drawn > 0:
        reader.take(&leaf.key, sizeof(leaf.key))
    draw_features(leaf, policy)
    own = policy_of(leaf, policy)
    reader.take(&header, sizeof(header))
    _read_counts(reader, &header, policy.n_classes, leaf)
    leaf.memory = memory_of_code(header.code)
    require(0 <= header.n_inherited <= header.n_rows)
    require(0 <= header.handed <= policy.hands_over)
    leaf.handed = header.handed != 0
    leaf.memory.read(reader, &header, own, leaf)
    _check_header(&header, leaf, own.n_features)
    if header.has_box:
        leaf.box = <float64_t*> reader.take_new(
            policy.blocks, 2 * d + 1, sizeof(float64_t)
        )
        require_finite(leaf.box, 2 * d + 1)
        require(0.0 <= leaf.box[2 * d] <= 1.0)


cdef _read_counts(StateReader reader, const LeafHeader* header, intp_t K, Leaf* leaf):
    cdef float64_t[N_NUMBERS] numbers
    cdef intp_t i
    reader.take(&numbers[0], sizeof(numbers))
    require_finite(&numbers[0], N_NUMBERS)
    leaf.attempt = header.attempt
    leaf.n_fresh = numbers[0]
    leaf.n_examined = numbers[1]
    leaf.n_held = numbers[2]
    for i in range(N_MODELS):
        leaf.hits[i] = numbers[3 + i]
        require(leaf.hits[i] >= 0.0)
    require(0 <= leaf.attempt < 1000000000000000)
    require(0.0 <= leaf.n_examined <= leaf.n_fresh and 0.0 <= leaf.n_held)
    reader.take(leaf.fresh, LEAF_COUNTS * K * sizeof(float64_t))
    require_finite(leaf.fresh, LEAF_COUNTS * K)
    for i in range(LEAF_COUNTS * K):
        require(leaf.fresh[i] >= 0.0)
    _require_sum(leaf.fresh, K, leaf.n_fresh)
    _require_sum(leaf.held, K, leaf.n_held)


cdef _require_sum(const float64_t* counts, intp_t K, float64_t n):
    # What knows rows knows rows of some class, and no more than there can be.
    cdef float64_t total = 0.0
    cdef intp_t c
    for c in range(K):
        total += counts[c]
    require(total <= MOST_WEIGHT and (total > 0.0) == (n > 0.0))
    require(fabs(total - n) <= ROUNDING * total)


cdef _check_header(const LeafHeader* header, const Leaf* leaf, intp_t d):
    # The memory has found what the header announced.
    cdef LeafHeader found = _header(leaf, d)
    require(
        found.n_rows == header.n_rows and found.n_inherited == header.n_inherited
        and found.has_weights == header.has_weights and found.n_bins == header.n_bins
        and found.has_histogram == header.has_histogram
        and found.has_fresh_histogram == header.has_fresh_histogram
        and found.has_own == header.has_own and found.dropped == header.dropped
    )
