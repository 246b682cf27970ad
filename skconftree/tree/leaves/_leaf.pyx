"""A growing leaf: its memories, what its children take over, its bytes."""

from libc.math cimport fabs
from libc.string cimport memcpy, memset

from skconftree.tree.leaves._bins cimport Bins
from skconftree.tree.leaves._contract cimport BinTable, LeafHeader
from skconftree.tree.leaves._gaussian cimport GAUSSIAN
from skconftree.tree.leaves._histogram cimport COUNTED_ROWS, HISTOGRAM
from skconftree.tree.leaves._moments cimport (
    Moments, allocate_moments, read_no_moments, release_moments, write_no_moments,
)
from skconftree.tree.leaves._rows cimport (
    ROWS, bytes_of_drawn, draw_features, place_of, policy_of,
)
from skconftree.tree.leaves._state cimport require, require_finite
from skconftree.utils._box cimport cut_box
from skconftree.utils._codec import damaged
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport (
    bytes_taken, give_all_back, give_back, hand_over, take_array, take_zeros,
)
from skconftree.utils._typedefs cimport int64_t, uint64_t

# -- A leaf that remembers nothing -------------------------------------------------
cdef int _open(Leaf* leaf, const Policy* policy) except -1 nogil:
    return 0


cdef int _observe(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    return 0


cdef int _convert(Leaf* leaf, const Policy* policy) except -1 nogil:
    return 0


cdef int _part(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    # Such a leaf is not examined; if it were, its children would not be either.
    cdef intp_t c
    for c in range(policy.n_classes):
        share[c] = 1.0 / parting.n_outcomes
    return 0


cdef bint _is_exact(const Leaf* leaf, const Policy* policy) noexcept nogil:
    return False


cdef void _tabulate(
    const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
) noexcept nogil:
    table.n_bins = 0


cdef void _count_categories(
    const Leaf* leaf, const Policy* policy, intp_t feature, intp_t n_codes,
    float64_t* counts, intp_t width,
) noexcept nogil:
    pass


cdef _write(StateWriter writer, const Leaf* leaf, const Policy* policy):
    write_no_moments(writer)


cdef _read(
    StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf
):
    read_no_moments(reader)


NOTHING.name = "nothing"
NOTHING.code = 0
NOTHING.remembers = False
NOTHING.keeps_rows = False
NOTHING.open = _open
NOTHING.observe = _observe
NOTHING.convert = _convert
NOTHING.take_rows = NULL
NOTHING.part = _part
NOTHING.is_exact = _is_exact
NOTHING.tabulate = _tabulate
NOTHING.count_categories = _count_categories
NOTHING.write = _write
NOTHING.read = _read


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


# -- What the children of a leaf take over from it ---------------------------------
cdef int start_child(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    # Hand over what goes to one outcome to an empty leaf. share[c] becomes the part
    # of class c: exact unless it rests on moments.
    child.memory = parent.memory
    parent.memory.part(parent, policy, parting, outcome, share, child)
    return 0


cdef int start_drawn(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    # The same for a child that draws its own features, of which its parent may know
    # nothing: what it is handed over is no more than a model of its past.
    cdef Parting test = parting[0]
    test.feature = place_of(parent, parting.feature)
    draw_features(child, policy)
    child.memory = policy.first
    child.memory.open(child, policy_of(child, policy))
    child.past = new_leaf(policy, child.node)
    child.past.key = parent.key
    draw_features(child.past, policy)       # its parent's
    start_child(parent, policy_of(parent, policy), &test, outcome, share, child.past)
    if not policy.bayes:
        drop_past(child, policy)
    return 0


cdef int part_box(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    Leaf* child,
) except -1 nogil:
    # The child's box, if leaves have any.
    cdef intp_t d = policy.n_features
    if parent.box != NULL:
        child.box = <float64_t*> take_array(policy.blocks, 2 * d + 1, sizeof(float64_t))
        memcpy(child.box, parent.box, 2 * d * sizeof(float64_t))
        cut_box(child.box, parting.feature, parting.threshold, outcome)
        child.box[2 * d] = parting.pool[outcome]
    return 0


# -- The memories that growing leaves may have -------------------------------------
cdef enum:
    N_MEMORIES = 5

cdef const LeafMemory* MEMORIES[N_MEMORIES]
MEMORIES[:] = [&NOTHING, &ROWS, &HISTOGRAM, &GAUSSIAN, &COUNTED_ROWS]


cdef const LeafMemory* memory_named(str name) except NULL:
    cdef intp_t i
    for i in range(N_MEMORIES):
        if MEMORIES[i].name == name.encode():
            return MEMORIES[i]
    raise ValueError(f"There is no leaf memory {name!r}.")


cdef const LeafMemory* memory_of_code(int64_t code) except NULL:
    cdef intp_t i
    for i in range(N_MEMORIES):
        if MEMORIES[i].code == code:
            return MEMORIES[i]
    raise damaged("growing tree")


cdef _check():
    # A function that is missing is found when the package is imported.
    cdef const LeafMemory* one
    cdef intp_t i, j
    for i in range(N_MEMORIES):
        one = MEMORIES[i]
        if (
            one.name == NULL or one.open == NULL or one.observe == NULL
            or one.convert == NULL or one.part == NULL or one.is_exact == NULL
            or one.tabulate == NULL or one.count_categories == NULL
            or one.write == NULL or one.read == NULL
        ):
            raise TypeError(f"Leaf memory {i} lacks one of its functions.")
        for j in range(i):
            if MEMORIES[j].code == one.code or MEMORIES[j].name == one.name:
                raise TypeError(f"Leaf memories {j} and {i} have one name or code.")


_check()


# -- Leaves as bytes ---------------------------------------------------------------
#
# A leaf is a header of whole numbers, numbers, its counts, what its memory writes, and
# its box. Where leaves draw their features, what they are drawn by comes first, and it
# follows whether the leaf has a past, and its past. Which unlabelled rows it has, the
# tree says.
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


cdef Leaf* read_leaf(StateReader reader, const Policy* policy, intp_t node) except NULL:
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
