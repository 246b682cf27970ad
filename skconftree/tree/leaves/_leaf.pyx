"""A growing leaf."""

from libc.string cimport memset

from skconftree.tree.leaves._bins cimport Bins
from skconftree.tree.leaves._drawn cimport bytes_of_drawn, policy_of
from skconftree.tree.leaves._moments cimport (
    Moments, allocate_moments, release_moments,
)
from skconftree.tree.leaves._nothing cimport NOTHING
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport (
    bytes_taken, give_all_back, give_back, hand_over,
)
from skconftree.utils._spare_memory cimport take_zeros
from skconftree.utils._typedefs cimport uint64_t

cdef float64_t OUTGROWN = 10.0      # times what it took over, a leaf forgets that


cdef Leaf* new_leaf(const Policy* policy, intp_t node) except NULL nogil:
    # An empty leaf that remembers nothing; its counts lie behind it.
    cdef size_t counts = LEAF_COUNTS * policy.n_classes * sizeof(float64_t)
    cdef Leaf* leaf = <Leaf*> take_zeros(policy.blocks, 1, sizeof(Leaf) + counts)
    leaf.node = node
    leaf.key = mix(policy.seed ^ mix(<uint64_t> node))
    leaf.memory = &NOTHING
    leaf.fresh = <float64_t*> (leaf + 1)
    leaf.held = leaf.fresh + policy.n_classes
    leaf.recent = leaf.held + policy.n_classes
    return leaf


cdef void release_leaf(Leaf* leaf, const Policy* policy) noexcept nogil:
    if leaf != NULL:
        give_all_back(&leaf.remembered)
        give_back(policy.blocks, leaf.box)
        give_back(policy.blocks, leaf.drawn)
        give_back(policy.blocks, leaf.places)
        release_leaf(leaf.past, policy)
        give_back(policy.blocks, leaf)


cdef void move_leaf(Leaf* leaf, Blocks* blocks, Blocks* other) noexcept nogil:
    # To another owner, which has a policy of the same kind.
    if leaf != NULL:
        hand_over(blocks, other, leaf.box)
        hand_over(blocks, other, leaf.drawn)
        hand_over(blocks, other, leaf.places)
        move_leaf(leaf.past, blocks, other)
        hand_over(blocks, other, leaf)


cdef void forget(Leaf* leaf) noexcept nogil:
    give_all_back(&leaf.remembered)
    leaf.n_rows = 0
    leaf.n_inherited = 0
    leaf.dropped = False
    leaf.x = NULL
    leaf.y = NULL
    leaf.weight = NULL
    memset(&leaf.bins, 0, sizeof(Bins))
    leaf.histogram = NULL
    leaf.fresh_histogram = NULL
    memset(&leaf.moments, 0, sizeof(Moments))
    memset(&leaf.fresh_moments, 0, sizeof(Moments))
    leaf.own = NULL
    leaf.memory = &NOTHING


cdef intp_t leaf_bytes(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # Its unlabelled rows are counted elsewhere: the lists of all leaves stay.
    cdef intp_t size = sizeof(Leaf)
    size += LEAF_COUNTS * policy.n_classes * sizeof(float64_t)
    if leaf.box != NULL:
        size += (2 * policy.n_features + 1) * sizeof(float64_t)
    if leaf.past != NULL:
        size += leaf_bytes(leaf.past, policy)
    return size + bytes_of_drawn(leaf, policy) + bytes_taken(&leaf.remembered)


cdef int add_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    # Learn a row, as the leaf sees it, for which there is room; bins are the places of
    # its values.
    leaf.memory.observe(leaf, policy_of(leaf, policy), x, y, weight, bins)
    leaf.fresh[y] += weight
    leaf.held[y] += weight
    leaf.n_fresh += weight
    leaf.n_held += weight
    if leaf.n_fresh >= OUTGROWN * policy.inherited and not leaf.memory.keeps_rows:
        _drop_inheritance(leaf, policy)
    if leaf.past != NULL and (
        leaf.n_fresh >= OUTGROWN * min(policy.inherited, leaf.past.n_held)
    ):
        drop_past(leaf, policy)
        _trust_what_remains(leaf)
    return 0


cdef void drop_past(Leaf* leaf, const Policy* policy) noexcept nogil:
    release_leaf(leaf.past, policy)
    leaf.past = NULL


cdef void _trust_what_remains(Leaf* leaf) noexcept nogil:
    leaf.hits[1] = max(leaf.hits[1], leaf.hits[2])      # of the model that remains
    leaf.hits[2] = 0.0


cdef void _drop_inheritance(Leaf* leaf, const Policy* policy) noexcept nogil:
    # Its own rows outweigh by far what the leaf took over.
    cdef intp_t c
    if leaf.fresh_histogram == NULL and leaf.fresh_moments.blocks == NULL:
        return
    if leaf.fresh_histogram != NULL:
        give_back(&leaf.remembered, leaf.histogram)
        leaf.histogram = leaf.fresh_histogram
        leaf.fresh_histogram = NULL
    if leaf.fresh_moments.blocks != NULL:
        release_moments(&leaf.remembered, &leaf.moments, policy.n_classes)
        leaf.moments = leaf.fresh_moments
        leaf.fresh_moments.blocks = NULL
        leaf.fresh_moments.known = NULL
    for c in range(policy.n_classes):
        leaf.held[c] = leaf.fresh[c]
    leaf.n_held = leaf.n_fresh
    _trust_what_remains(leaf)


cdef int start_fresh(Leaf* leaf, const Policy* policy) except -1 nogil:
    # From now on rows count as evidence apart from what the leaf holds already.
    cdef intp_t d = policy_of(leaf, policy).n_features
    if leaf.histogram != NULL and leaf.fresh_histogram == NULL:
        leaf.fresh_histogram = <float64_t*> take_zeros(
            &leaf.remembered, leaf.bins.first[d] * policy.n_classes, sizeof(float64_t)
        )
    if leaf.moments.blocks != NULL and leaf.fresh_moments.blocks == NULL:
        allocate_moments(&leaf.remembered, &leaf.fresh_moments, policy.n_classes)
    return 0
