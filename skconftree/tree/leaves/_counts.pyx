"""Class counts of the bins of a leaf of an incrementally trained tree.

A bin has the values between two adjacent candidate thresholds (cuts), or a category, whose
integer is its code. Two histograms have the counts by bin: of all rows, including those
inherited from the parent, and of the fresh rows since the creation of the leaf. A policy has
the settings that the leaves share, a state is the bytes in a pickle, and an outcome of a split
is the index of a child. `Blocks` are arrays that are freed together. Of `Bins`, `first` has the
first bin of each feature, `edges` the upper end of each bin, and `low` and `high` the range of the
values of each feature. A `Side` describes one child of a split by the bins of the feature. A
`BinTable` has the counts of one feature. See _contract.pxd and _bins.pxd.
"""

from libc.string cimport memcpy, memset

# n_value_bins: without the bin of missing values; capacity_for: bins allocated for categories
from skconftree.tree.leaves._bins cimport (
    NOMINAL, Bins, Side, allocate_bins, bins_of_codes, child_bins, bins_with_code,
    fill_child_counts, n_value_bins, capacity_for,
)
# uses_fresh_only: the split rule uses only fresh rows
from skconftree.tree.leaves._contract cimport uses_fresh_only, outcome_of_bin
from skconftree.tree.leaves._state cimport require, require_finite
from skconftree.utils._memory cimport Blocks, release, take_array, take_zeros
from skconftree.utils._typedefs cimport uint8_t


cdef int allocate_counts(Leaf* leaf, const Policy* policy, bint fresh) except -1 nogil:
    # Allocate counts for the bins of a leaf, all 0.
    cdef intp_t size = leaf.bins.first[policy.n_features] * policy.n_classes
    cdef Blocks* blocks = &leaf.blocks
    cdef void* fresh_histogram = NULL
    if fresh:
        fresh_histogram = take_zeros(blocks, size, sizeof(float64_t))
    leaf.histogram = <float64_t*> take_zeros(blocks, size, sizeof(float64_t))
    leaf.fresh_histogram = <float64_t*> fresh_histogram
    return 0


cdef int allocate_categories(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Allocate bins of categories only, for a memory with moments of numeric features.
    bins_of_codes(&leaf.blocks, &leaf.bins, policy.n_features, policy.n_codes)
    allocate_counts(leaf, policy, False)
    return 0


cdef void release_bins(Leaf* leaf) noexcept nogil:
    release(&leaf.blocks, leaf.bins.first)
    release(&leaf.blocks, leaf.histogram)
    release(&leaf.blocks, leaf.fresh_histogram)
    leaf.bins.first = NULL
    leaf.histogram = NULL
    leaf.fresh_histogram = NULL


cdef void count_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) noexcept nogil:
    # Does nothing without a histogram; `bins` are the bins of the row's values.
    cdef intp_t K = policy.n_classes
    cdef float64_t* histogram = leaf.histogram
    cdef float64_t* fresh = leaf.fresh_histogram
    cdef float32_t* low = leaf.bins.low
    cdef float32_t* high = leaf.bins.high
    cdef intp_t f, position
    if histogram == NULL:
        return
    for f in range(policy.n_features):
        if bins[f] >= 0:
            position = bins[f] * K + y
            histogram[position] += weight
            if fresh != NULL:
                fresh[position] += weight
            if x[f] < low[f]:
                low[f] = x[f]
            if x[f] > high[f]:
                high[f] = x[f]


cdef const float64_t* evidence_of(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # The counts that the split rule and the criterion use.
    if uses_fresh_only(leaf, policy) and leaf.fresh_histogram != NULL:
        return leaf.fresh_histogram
    return leaf.histogram


cdef void tabulate_bins(
    const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
) noexcept nogil:
    cdef intp_t K = policy.n_classes
    cdef const float64_t* histogram = evidence_of(leaf, policy)
    cdef intp_t first = leaf.bins.first[feature]
    cdef intp_t n = n_value_bins(&leaf.bins, feature)
    cdef intp_t b, c
    table.n_bins = n
    memcpy(table.edges, leaf.bins.edges + first, n * sizeof(float32_t))
    memset(table.counts, 0, n * table.width * sizeof(float64_t))
    for b in range(n):
        for c in range(K):
            table.counts[b * table.width + c] = histogram[(first + b) * K + c]
    if leaf.bins.missing:
        for c in range(K):
            table.missing[c] = histogram[(first + n) * K + c]
            table.n_missing += table.missing[c]


cdef void count_categories_of_bins(
    const Leaf* leaf, const Policy* policy, intp_t feature, intp_t n_codes,
    float64_t* counts, intp_t width,
) noexcept nogil:
    cdef intp_t K = policy.n_classes
    cdef const float64_t* histogram = evidence_of(leaf, policy)
    cdef intp_t first = leaf.bins.first[feature]
    cdef intp_t code, c
    for code in range(min(n_codes, leaf.bins.first[feature + 1] - first)):
        for c in range(K):
            counts[code * width + c] = histogram[(first + code) * K + c]


cdef int ensure_capacity(Leaf* leaf, const Policy* policy, const float32_t* x) except -1 nogil:
    # Add bins for the categories of a row that are new to the leaf.
    cdef intp_t i, f, code
    if leaf.bins.first == NULL:
        return 0
    for i in range(policy.n_nominal):
        f = policy.nominal[i]
        code = <intp_t> x[f]
        if code >= leaf.bins.first[f + 1] - leaf.bins.first[f]:
            _add_bins(leaf, policy, f, code)
    return 0


cdef int _add_bins(Leaf* leaf, const Policy* policy, intp_t feature, intp_t code) except -1 nogil:
    # Everything is allocated before the leaf changes.
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef Blocks* blocks = &leaf.blocks
    cdef Bins wider
    cdef float64_t* histogram = NULL
    cdef float64_t* fresh_histogram = NULL
    bins_with_code(blocks, &leaf.bins, d, feature, code, &wider)
    if leaf.histogram != NULL:
        histogram = _insert_bins(blocks, leaf.histogram, &leaf.bins, &wider, d, K, feature)
    if leaf.fresh_histogram != NULL:
        fresh_histogram = _insert_bins(
            blocks, leaf.fresh_histogram, &leaf.bins, &wider, d, K, feature
        )
    release_bins(leaf)
    leaf.bins = wider
    leaf.histogram = histogram
    leaf.fresh_histogram = fresh_histogram
    return 0


cdef float64_t* _insert_bins(
    Blocks* blocks, const float64_t* histogram, const Bins* bins, const Bins* wider,
    intp_t d, intp_t K, intp_t feature,
) except NULL nogil:
    # A copy of the counts with empty bins after those of a feature.
    cdef intp_t before = bins.first[feature + 1] * K
    cdef intp_t gap = (wider.first[d] - bins.first[d]) * K
    cdef intp_t size = bins.first[d] * K
    cdef float64_t* copy = <float64_t*> take_zeros(blocks, size + gap, sizeof(float64_t))
    memcpy(copy, histogram, before * sizeof(float64_t))
    memcpy(copy + before + gap, histogram + before, (size - before) * sizeof(float64_t))
    return copy


cdef void shares_of_bins(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share,
) noexcept nogil:
    # Share of each class that goes to the outcome; equal shares if the class has no rows.
    cdef intp_t K = policy.n_classes
    cdef intp_t first = parent.bins.first[leaf_split.feature]
    cdef intp_t n_bins = parent.bins.first[leaf_split.feature + 1] - first
    cdef intp_t b, c
    cdef float64_t inside, total, n
    for c in range(K):
        inside = 0.0
        total = 0.0
        for b in range(n_bins):
            n = parent.histogram[(first + b) * K + c]
            total += n
            if outcome_of_bin(leaf_split, &parent.bins, b) == outcome:
                inside += n
        share[c] = inside / total if total > 0.0 else 1.0 / leaf_split.n_outcomes


cdef float64_t set_child_total(
    const Leaf* parent, const Policy* policy, float64_t* share, Leaf* child
) noexcept nogil:
    # Set the class counts of the child. If their sum exceeds Policy.max_inherited, the counts
    # and `share` are multiplied by a factor, which is returned.
    cdef intp_t K = policy.n_classes
    cdef float64_t total = 0.0
    cdef float64_t scale = 1.0
    cdef intp_t c
    for c in range(K):
        child.total[c] = parent.total[c] * share[c]
        total += child.total[c]
    if total > policy.max_inherited:
        scale = policy.max_inherited / total
    for c in range(K):
        child.total[c] *= scale
        share[c] *= scale
        child.n_total += child.total[c]
    return scale


cdef int partition_bins(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    const float64_t* scale, bint all_features, Leaf* child,
) except -1 nogil:
    # Set the bins and counts of a child, whose share of class c is scale[c]. If
    # `all_features` is False, only nominal features have bins.
    #
    # Each bin of the split feature goes to one side as a whole. _match_total() therefore scales
    # its counts to the class counts of the child, which undoes the multiplication by shares.
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t feature = leaf_split.feature
    cdef bint missing = policy.missing and all_features     # add bins for missing values
    # the split feature has bins: it is one of all features, or nominal
    cdef bint counted = all_features or leaf_split.child_of_code != NULL
    cdef intp_t n_bins = parent.bins.first[feature + 1] - parent.bins.first[feature]
    cdef Blocks* blocks = &child.blocks
    cdef uint8_t* taken = <uint8_t*> take_array(blocks, n_bins, 1)
    cdef Side side
    cdef intp_t b
    side.feature = feature if counted else -1
    side.taken = taken
    side.begin = 0 if outcome == 0 else leaf_split.cut + 1
    side.end = leaf_split.cut + 1 if outcome == 0 else n_value_bins(&parent.bins, feature)
    side.takes_missing = leaf_split.missing_left == (outcome == 0)
    for b in range(n_bins):
        taken[b] = outcome_of_bin(leaf_split, &parent.bins, b) == outcome
    child_bins(
        blocks, &parent.bins, parent.histogram, scale, d, K, policy.max_bins, &side,
        missing, &child.bins,
    )
    # fresh rows are counted separately if the split rule uses only these, or for naive Bayes
    allocate_counts(child, policy, policy.separate or policy.bayes)
    fill_child_counts(
        &parent.bins, parent.histogram, scale, d, K, &side, &child.bins, child.histogram
    )
    if counted:
        _match_total(child, K, feature)
    release(blocks, taken)
    return 0


cdef void _match_total(Leaf* leaf, intp_t K, intp_t feature) noexcept nogil:
    # Scale the counts of a feature to the class counts of the leaf.
    cdef float64_t inside, ratio
    cdef intp_t b, c
    for c in range(K):
        inside = 0.0
        for b in range(leaf.bins.first[feature], leaf.bins.first[feature + 1]):
            inside += leaf.histogram[b * K + c]
        if inside > 0.0:
            ratio = leaf.total[c] / inside
            for b in range(leaf.bins.first[feature], leaf.bins.first[feature + 1]):
                leaf.histogram[b * K + c] *= ratio


# The scores of splits are read from tables that are indexed by differences of counts. A state
# with more rows of a class on the left than in total would index before the table's start.

cdef write_bins(StateWriter writer, const Leaf* leaf, const Policy* policy):
    # Writes nothing without bins.
    cdef intp_t d = policy.n_features
    cdef intp_t n_bins
    cdef intp_t size
    if leaf.bins.first == NULL:
        return
    n_bins = leaf.bins.first[d]
    size = n_bins * policy.n_classes * sizeof(float64_t)
    writer.put(leaf.bins.first, d * sizeof(int32_t))
    writer.put(leaf.bins.edges, n_bins * sizeof(float32_t))
    writer.put(leaf.bins.low, d * sizeof(float32_t))
    writer.put(leaf.bins.high, d * sizeof(float32_t))
    writer.put(leaf.bins.kind, d)
    if leaf.histogram != NULL:
        writer.put(leaf.histogram, size)
    if leaf.fresh_histogram != NULL:
        writer.put(leaf.fresh_histogram, size)


cdef read_bins(StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf):
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef Bins* bins = &leaf.bins
    cdef Blocks* blocks = &leaf.blocks
    cdef intp_t size, f, last, n_codes
    require(header.n_bins > 0 or not (header.has_histogram or header.has_fresh_histogram))
    require(header.has_histogram or not header.has_fresh_histogram)
    if header.n_bins == 0:
        return
    require(0 < header.n_bins <= reader.data.shape[0])
    allocate_bins(blocks, bins, d, header.n_bins)
    reader.take(bins.first, d * sizeof(int32_t))
    reader.take(bins.edges, header.n_bins * sizeof(float32_t))
    reader.take(bins.low, d * sizeof(float32_t))
    reader.take(bins.high, d * sizeof(float32_t))
    reader.take(bins.kind, d)
    bins.missing = header.bins_missing != 0
    require(bins.first[0] == 0)
    for f in range(d):
        require(bins.first[f] < bins.first[f + 1] <= header.n_bins)
        last = bins.first[f] + n_value_bins(bins, f) - 1
        require(bins.kind[f] <= NOMINAL and last >= bins.first[f])
        # the search for a bin assumes that the last edge is infinite: above the largest float32
        require(bins.edges[last] > 3.5e38 or bins.kind[f] == NOMINAL)
        n_codes = -1 if policy.n_codes == NULL else policy.n_codes[f]
        require((bins.kind[f] == NOMINAL) == (n_codes >= 0))
        require(
            n_value_bins(bins, f) <= (capacity_for(n_codes) if n_codes >= 0 else policy.max_bins)
        )
    size = header.n_bins * K
    if header.has_histogram:
        leaf.histogram = <float64_t*> reader.take_new(blocks, size, sizeof(float64_t))
        _check_counts(&leaf.bins, leaf.histogram, leaf.total, d, K)
    if header.has_fresh_histogram:
        leaf.fresh_histogram = <float64_t*> reader.take_new(blocks, size, sizeof(float64_t))
        _check_counts(&leaf.bins, leaf.fresh_histogram, leaf.fresh, d, K)
    elif header.has_histogram and uses_fresh_only(leaf, policy):
        _check_counts(&leaf.bins, leaf.histogram, leaf.fresh, d, K)


cdef _check_counts(
    const Bins* bins, const float64_t* histogram, const float64_t* counts, intp_t d, intp_t K,
):
    # The counts of a feature must not exceed those of the leaf, except for rounding errors.
    cdef float64_t total
    cdef intp_t f, b, c
    require_finite(histogram, bins.first[d] * K)
    for f in range(d):
        for c in range(K):
            total = 0.0
            for b in range(bins.first[f], bins.first[f + 1]):
                require(histogram[b * K + c] >= 0.0)
                total += histogram[b * K + c]
            require(total - counts[c] <= 1e-6 * (1.0 + counts[c]))
