"""Growing leaves: their memory, the statistics that children inherit, their size.

A growing leaf is a leaf of an incrementally trained tree. Its memory is the form in which it
stores the statistics of its rows: none (NOTHING), rows (ROWS), class counts of bins (HISTOGRAM,
or COUNTED_ROWS, which also stores rows), or moments (GAUSSIAN). A leaf has statistics of all its
rows, including those inherited from its parent, and of the fresh rows since its creation. Evidence
is what the split rule uses. An outcome of a split is the index of a child. The hits of a model are
the decayed weight of the rows that it predicted correctly. A policy has the settings that the
leaves of a tree share; the box of a leaf is its limits in feature space. See _contract.pxd.
"""

from libc.math cimport isfinite
from libc.string cimport memcpy, memset

from skconftree.tree.leaves._bins cimport Bins
from skconftree.tree.leaves._contract cimport LeafHeader
from skconftree.tree.leaves._counts cimport read_bins, write_bins
from skconftree.tree.leaves._gaussian cimport GAUSSIAN
from skconftree.tree.leaves._histogram cimport COUNTED_ROWS, HISTOGRAM
from skconftree.tree.leaves._moments cimport (
    Moments, allocate_moments, read_moments, release_moments, write_moments,
)
from skconftree.tree.leaves._rows cimport (
    ROWS, bytes_of_subset, draw_subset, index_of, policy_of, read_rows, write_rows,
)   # policy_of: the policy for the features that a leaf uses
from skconftree.tree.leaves._state cimport require
from skconftree.utils._box cimport cut_box
from skconftree.utils._codec import corrupt_state
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport (
    bytes_taken, release_all, release, move_array, take_array, take_zeros,
)
from skconftree.utils._typedefs cimport int64_t, uint64_t

NOTHING.code = 0    # identifies the memory in pickles


# A leaf drops inherited statistics when the weight of its own rows is this many times the
# largest weight that a leaf inherits.
cdef float64_t DROP_FACTOR = 10.0


cdef Leaf* new_leaf(const Policy* policy, intp_t node) except NULL nogil:
    # Make a leaf without rows, whose memory is NOTHING. Its LEAF_COUNTS arrays of class counts
    # (fresh, total, and recent, which decay with every row) are in the same allocation.
    cdef size_t counts = LEAF_COUNTS * policy.n_classes * sizeof(float64_t)
    cdef Leaf* leaf = <Leaf*> take_zeros(policy.blocks, 1, sizeof(Leaf) + counts)
    leaf.node = node
    leaf.key = mix(policy.seed ^ mix(<uint64_t> node))      # seed of its feature subset
    leaf.memory = &NOTHING
    leaf.fresh = <float64_t*> (leaf + 1)
    leaf.total = leaf.fresh + policy.n_classes
    leaf.recent = leaf.total + policy.n_classes
    return leaf


cdef void release_leaf(Leaf* leaf, const Policy* policy) noexcept nogil:
    if leaf != NULL:
        release_all(&leaf.blocks)
        release(policy.blocks, leaf.box)
        release(policy.blocks, leaf.subset)
        release(policy.blocks, leaf.cut_positions)  # of candidate thresholds in unlabeled rows
        release_leaf(leaf.inherited_model, policy)
        release(policy.blocks, leaf)


cdef void move_leaf(Leaf* leaf, Blocks* blocks, Blocks* other) noexcept nogil:
    # Move the ownership of a leaf's arrays from `blocks` to `other`. The policies of both
    # owners have the same settings.
    if leaf != NULL:
        move_array(blocks, other, leaf.box)
        move_array(blocks, other, leaf.subset)
        move_array(blocks, other, leaf.cut_positions)
        move_leaf(leaf.inherited_model, blocks, other)
        move_array(blocks, other, leaf)


cdef void release_statistics(Leaf* leaf) noexcept nogil:
    release_all(&leaf.blocks)
    leaf.n_rows = 0
    leaf.n_inherited = 0
    leaf.dropped = False        # whether it has dropped some of its stored rows
    leaf.x = NULL
    leaf.y = NULL
    leaf.weight = NULL
    memset(&leaf.bins, 0, sizeof(Bins))
    leaf.histogram = NULL
    leaf.fresh_histogram = NULL
    memset(&leaf.moments, 0, sizeof(Moments))
    memset(&leaf.fresh_moments, 0, sizeof(Moments))
    leaf.extra = NULL
    leaf.memory = &NOTHING


cdef intp_t leaf_bytes(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # Number of bytes of a leaf. Its unlabeled rows are not included, because the lists of all
    # leaves together have a fixed size.
    cdef intp_t size = sizeof(Leaf)
    size += LEAF_COUNTS * policy.n_classes * sizeof(float64_t)
    if leaf.box != NULL:
        size += (2 * policy.n_features + 1) * sizeof(float64_t)
    if leaf.inherited_model != NULL:
        size += leaf_bytes(leaf.inherited_model, policy)
    return size + bytes_of_subset(leaf, policy) + bytes_taken(&leaf.blocks)


cdef int add_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    # Learn a row of the leaf's features, for which there is capacity. `bins` are the
    # indices of the bins of its values.
    if leaf.memory.observe != NULL:
        leaf.memory.observe(leaf, policy_of(leaf, policy), x, y, weight, bins)
    leaf.fresh[y] += weight
    leaf.total[y] += weight
    leaf.n_fresh += weight
    leaf.n_total += weight
    if leaf.n_fresh >= DROP_FACTOR * policy.max_inherited and not leaf.memory.stores_rows:
        _drop_inheritance(leaf, policy)
    if leaf.inherited_model != NULL and (
        leaf.n_fresh >= DROP_FACTOR * min(policy.max_inherited, leaf.inherited_model.n_total)
    ):
        drop_inherited_model(leaf, policy)
        _merge_hits(leaf)
    return 0


cdef int convert(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Change to another memory if the leaf has enough rows for it. Called after each row.
    if leaf.memory.convert != NULL:
        leaf.memory.convert(leaf, policy_of(leaf, policy))
    return 0


cdef void drop_inherited_model(Leaf* leaf, const Policy* policy) noexcept nogil:
    release_leaf(leaf.inherited_model, policy)
    leaf.inherited_model = NULL


cdef void _merge_hits(Leaf* leaf) noexcept nogil:
    # The naive Bayes models of all rows (1) and of the leaf's own rows (2) are one from now on.
    leaf.hits[1] = max(leaf.hits[1], leaf.hits[2])
    leaf.hits[2] = 0.0


cdef void _drop_inheritance(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Drop the inherited statistics, because the weight of the leaf's own rows is much larger.
    cdef intp_t c
    if leaf.fresh_histogram == NULL and leaf.fresh_moments.blocks == NULL:
        return
    if leaf.fresh_histogram != NULL:
        release(&leaf.blocks, leaf.histogram)
        leaf.histogram = leaf.fresh_histogram
        leaf.fresh_histogram = NULL
    if leaf.fresh_moments.blocks != NULL:
        release_moments(&leaf.blocks, &leaf.moments, policy.n_classes)
        leaf.moments = leaf.fresh_moments
        leaf.fresh_moments.blocks = NULL
        leaf.fresh_moments.known = NULL
    for c in range(policy.n_classes):
        leaf.total[c] = leaf.fresh[c]
    leaf.n_total = leaf.n_fresh
    _merge_hits(leaf)


cdef int start_fresh(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Count the rows from now on as evidence, separately from the earlier ones.
    cdef intp_t d = policy_of(leaf, policy).n_features
    if leaf.histogram != NULL and leaf.fresh_histogram == NULL:
        leaf.fresh_histogram = <float64_t*> take_zeros(
            &leaf.blocks, leaf.bins.first[d] * policy.n_classes, sizeof(float64_t)
        )
    if leaf.moments.blocks != NULL and leaf.fresh_moments.blocks == NULL:
        allocate_moments(&leaf.blocks, &leaf.fresh_moments, policy.n_classes)
    return 0


cdef int start_child(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    # Set the statistics that a new child inherits from its parent, and the box of the child.
    # share[c] is set to the share of the parent's rows of class c that go to the child. It is
    # exact unless it is computed from moments.
    cdef intp_t d = policy.n_features
    cdef LeafSplit own_split = leaf_split[0]
    cdef Leaf* target = child
    if parent.subset != NULL:
        # The child draws its own features. Its parent may not use them, so the child inherits
        # only a model for predictions.
        own_split.feature = index_of(parent, leaf_split.feature)
        draw_subset(child, policy)
        child.memory = policy.initial_memory
        child.memory.open(child, policy_of(child, policy))
        child.inherited_model = target = new_leaf(policy, child.node)
        target.key = parent.key
        draw_subset(target, policy)   # the parent's features, because it has the same key
    target.memory = parent.memory
    parent.memory.fill_child(
        parent, policy_of(parent, policy), &own_split, outcome, share, target
    )
    if target != child and not policy.bayes:    # only naive Bayes predicts with it
        drop_inherited_model(child, policy)
    if parent.box != NULL:
        child.box = <float64_t*> take_array(policy.blocks, 2 * d + 1, sizeof(float64_t))
        memcpy(child.box, parent.box, 2 * d * sizeof(float64_t))
        cut_box(child.box, leaf_split.feature, leaf_split.threshold, outcome)
        child.box[2 * d] = leaf_split.pool[outcome]     # the volume of the box
    return 0


cdef enum:
    N_MEMORIES = 5

cdef const LeafMemory* MEMORIES[N_MEMORIES]
MEMORIES[:] = [&NOTHING, &ROWS, &HISTOGRAM, &GAUSSIAN, &COUNTED_ROWS]


cdef const LeafMemory* memory_of_code(int64_t code) except NULL:
    cdef intp_t i
    for i in range(N_MEMORIES):
        if MEMORIES[i].code == code:
            return MEMORIES[i]
    raise corrupt_state("growing tree")


# A leaf is written as a header of integers (LeafHeader), floats, class counts, the data of
# its memory, and its box. If leaves use feature subsets, the key of the subset comes first,
# and the inherited model, if any, last. The unlabeled rows of a leaf are not written: they
# are found again by routing them through the tree.
cdef enum:
    N_NUMBERS = 7       # floats of a leaf
    N_MODELS = 4        # of which a leaf has hits, see _predictor.pxd


cdef write_leaf(StateWriter writer, const Leaf* leaf, const Policy* policy):
    cdef int64_t has_inherited_model = leaf.inherited_model != NULL
    _write_memory(writer, leaf, policy)
    if policy.subset_size > 0:
        writer.put(&has_inherited_model, sizeof(has_inherited_model))
        if leaf.inherited_model != NULL:
            _write_memory(writer, leaf.inherited_model, policy)


cdef _write_memory(StateWriter writer, const Leaf* leaf, const Policy* policy):
    cdef intp_t d = policy.n_features
    cdef const Policy* leaf_policy = policy_of(leaf, policy)
    cdef LeafHeader header
    # n_examined: n_fresh at the last split attempt; attempt: number of attempts
    cdef float64_t[N_NUMBERS] numbers = [
        leaf.n_fresh, leaf.n_examined, leaf.n_total, leaf.hits[0], leaf.hits[1],
        leaf.hits[2], leaf.hits[3],
    ]
    header.code = leaf.memory.code
    header.attempt = leaf.attempt
    header.n_rows = leaf.n_rows
    header.n_inherited = leaf.n_inherited
    header.has_weights = leaf.weight != NULL
    header.n_bins = 0 if leaf.bins.first == NULL else leaf.bins.first[leaf_policy.n_features]
    header.has_histogram = leaf.histogram != NULL
    header.has_fresh_histogram = leaf.fresh_histogram != NULL
    header.has_extra = leaf.extra != NULL
    header.has_box = leaf.box != NULL
    header.bins_missing = leaf.bins.missing
    header.inherits_evidence = leaf.inherits_evidence
    header.dropped = leaf.dropped
    if policy.subset_size > 0:
        writer.put(&leaf.key, sizeof(leaf.key))
    writer.put(&header, sizeof(header))
    writer.put(&numbers[0], sizeof(numbers))
    writer.put(leaf.fresh, LEAF_COUNTS * policy.n_classes * sizeof(float64_t))
    write_rows(writer, leaf, leaf_policy)
    write_bins(writer, leaf, leaf_policy)
    write_moments(writer, &leaf.moments, leaf_policy.n_features, leaf_policy.n_classes)
    write_moments(writer, &leaf.fresh_moments, leaf_policy.n_features, leaf_policy.n_classes)
    if leaf.extra != NULL:      # data of GAUSSIAN: the range of each feature
        writer.put(leaf.extra, 2 * leaf_policy.n_features * sizeof(float64_t))
    if leaf.box != NULL:
        writer.put(leaf.box, (2 * d + 1) * sizeof(float64_t))


cdef Leaf* read_leaf(StateReader reader, const Policy* policy, intp_t node) except NULL:
    cdef Leaf* leaf = new_leaf(policy, node)
    cdef int64_t has_inherited_model
    try:
        _fill_leaf(reader, policy, leaf)
        if policy.subset_size > 0:
            reader.take(&has_inherited_model, sizeof(has_inherited_model))
            require(0 <= has_inherited_model <= 1)
            if has_inherited_model:
                leaf.inherited_model = new_leaf(policy, node)
                _fill_leaf(reader, policy, leaf.inherited_model)
    except BaseException:
        release_leaf(leaf, policy)
        raise
    return leaf


cdef _fill_leaf(StateReader reader, const Policy* policy, Leaf* leaf):
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef const Policy* leaf_policy
    cdef float64_t[N_NUMBERS] numbers
    cdef LeafHeader header
    cdef intp_t f, i
    if policy.subset_size > 0:
        reader.take(&leaf.key, sizeof(leaf.key))
    draw_subset(leaf, policy)
    leaf_policy = policy_of(leaf, policy)
    f = leaf_policy.n_features
    reader.take(&header, sizeof(header))
    reader.take(&numbers[0], sizeof(numbers))
    leaf.attempt = header.attempt
    leaf.n_fresh = numbers[0]
    leaf.n_examined = numbers[1]
    leaf.n_total = numbers[2]
    for i in range(N_MODELS):
        leaf.hits[i] = numbers[3 + i]
    reader.take(leaf.fresh, LEAF_COUNTS * K * sizeof(float64_t))
    for i in range(LEAF_COUNTS * K):    # scores are read from tables that are indexed by counts
        require(isfinite(leaf.fresh[i]) and leaf.fresh[i] >= 0.0)
    leaf.memory = memory_of_code(header.code)
    # whether inherited stored rows are evidence, too, which the bound (split rule) must permit
    require(0 <= header.inherits_evidence <= policy.inherited_is_evidence)
    leaf.inherits_evidence = header.inherits_evidence != 0
    read_rows(reader, &header, leaf_policy, leaf)
    read_bins(reader, &header, leaf_policy, leaf)
    read_moments(reader, &leaf.blocks, &leaf.moments, f, K, leaf.total)
    read_moments(reader, &leaf.blocks, &leaf.fresh_moments, f, K, leaf.fresh)
    if leaf.memory.counts_bins:
        require(leaf.histogram != NULL)
    if leaf.memory == &GAUSSIAN:
        require(leaf.moments.blocks != NULL)
        require(leaf.histogram != NULL or leaf_policy.n_nominal == 0)
    if header.has_extra:
        leaf.extra = reader.take_new(&leaf.blocks, 2 * f, sizeof(float64_t))
    if header.has_box:
        leaf.box = <float64_t*> reader.take_new(policy.blocks, 2 * d + 1, sizeof(float64_t))
