"""Leaves as bytes.

A leaf is a header of whole numbers, numbers, its counts, what its memory writes, and its
rows without label and its box.
"""

from skconftree.tree.leaves._contract cimport LeafHeader
from skconftree.tree.leaves._leaf cimport LEAF_COUNTS, new_leaf, release_leaf
from skconftree.tree.leaves._registry cimport memory_of_code
from skconftree.tree.leaves._state cimport require, require_finite
from skconftree.utils._typedefs cimport float64_t, int32_t

cdef enum:
    N_NUMBERS = 7
    N_MODELS = 4


cdef write_leaf(StateWriter writer, const Leaf* leaf, const Policy* policy):
    cdef intp_t d = policy.n_features
    cdef LeafHeader header = _header(leaf, d)
    cdef float64_t[N_NUMBERS] numbers = [
        leaf.n_fresh, leaf.n_examined, leaf.n_held, leaf.hits[0], leaf.hits[1],
        leaf.hits[2], leaf.hits[3],
    ]
    writer.put(&header, sizeof(header))
    writer.put(&numbers[0], sizeof(numbers))
    writer.put(leaf.fresh, LEAF_COUNTS * policy.n_classes * sizeof(float64_t))
    leaf.memory.write(writer, leaf, policy)
    writer.put(leaf.pool, leaf.n_pool * sizeof(int32_t))
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
    header.n_pool = leaf.n_pool
    header.has_box = leaf.box != NULL
    header.bins_missing = leaf.bins.missing
    return header


cdef Leaf* read_leaf(
    StateReader reader, const Policy* policy, intp_t node, int32_t* pool, intp_t n_pool
) except NULL:
    # Its rows without label, `n_pool` at most, go to `pool`.
    cdef Leaf* leaf = new_leaf(policy, node)
    try:
        _fill_leaf(reader, policy, pool, n_pool, leaf)
    except BaseException:
        release_leaf(leaf, policy)
        raise
    return leaf


cdef _fill_leaf(
    StateReader reader, const Policy* policy, int32_t* pool, intp_t n_pool, Leaf* leaf
):
    cdef intp_t d = policy.n_features
    cdef intp_t i
    cdef LeafHeader header
    reader.take(&header, sizeof(header))
    _read_counts(reader, &header, policy.n_classes, leaf)
    leaf.memory = memory_of_code(header.code)
    require(0 <= header.n_inherited <= header.n_rows)
    leaf.memory.read(reader, &header, policy, leaf)
    _check_header(&header, leaf, d)
    require(0 <= header.n_pool <= n_pool)
    if header.n_pool > 0:
        reader.take(pool, header.n_pool * sizeof(int32_t))
        for i in range(header.n_pool):
            require(0 <= pool[i] < policy.pool.n_rows)
            require(i == 0 or pool[i - 1] < pool[i])
        leaf.pool = pool
        leaf.n_pool = header.n_pool
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


cdef _check_header(const LeafHeader* header, const Leaf* leaf, intp_t d):
    # The memory has found what the header announced.
    cdef LeafHeader found = _header(leaf, d)
    require(
        found.n_rows == header.n_rows and found.n_inherited == header.n_inherited
        and found.has_weights == header.has_weights and found.n_bins == header.n_bins
        and found.has_histogram == header.has_histogram
        and found.has_fresh_histogram == header.has_fresh_histogram
        and found.has_own == header.has_own
    )
