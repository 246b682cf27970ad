"""Leaf memory that stores rows, and the feature subsets of leaves.

A leaf memory is the form in which a leaf of an incrementally trained tree stores the statistics
of its rows. Inherited rows are those that it got from its parent, fresh rows those since its
creation; evidence is what the split rule uses. Cuts are candidate thresholds; codes are the
integers of categories. An outcome of a split is the index of a child, a share its fraction of the
rows of a class. A policy has the settings that the leaves share, and a state is the bytes in a
pickle. `blocks` of a leaf or policy are arrays that are freed together; those of moments are the
statistics of one class each (NULL: the leaf has no moments). See _rows.pxd and _contract.pxd.
"""

import numpy as np
from libc.math cimport isfinite, isnan
from libc.string cimport memcpy, memmove, memset

from skconftree.tree._settings cimport MIN_CUT_ROWS
from skconftree.tree.leaves._bins cimport bin_of, bins_of_rows, n_value_bins
from skconftree.tree.leaves._contract cimport BinTable, FeatureSubset, uses_fresh_only, outcome_of
from skconftree.tree.leaves._counts cimport count_row, allocate_categories
from skconftree.tree.leaves._moments cimport (
    Moments, add_to_moments, allocate_moments, ensure_blocks,
)
from skconftree.tree.leaves._state cimport require, require_finite
from skconftree.utils._draws cimport mix
from skconftree.utils._memory cimport bytes_of_array, release, resize_array, take_array, take_zeros
from skconftree.utils._typedefs cimport int32_t, uint64_t

cdef enum:
    INITIAL_CAPACITY = 8

cdef float64_t SUM_TOLERANCE = 1.000001   # factor for the rounding error of a sum


cdef int _open(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Initialize the statistics for naive Bayes: moments (means and variances), and categories.
    if policy.bayes:
        allocate_moments(&leaf.blocks, &leaf.moments, policy.n_classes)
        # fixed cuts are set after the first rows, then with bins of categories, but without counts
        if policy.n_nominal > 0 and not policy.fixed_cuts:
            allocate_categories(leaf, policy)
    return 0


cdef inline intp_t _capacity_for(intp_t n) noexcept nogil:
    # It depends only on n, so that the size of a leaf does not depend on its history.
    cdef intp_t capacity = INITIAL_CAPACITY
    while capacity < n:
        capacity *= 2
    return capacity


cdef int _reserve(Leaf* leaf, const Policy* policy, intp_t n) except -1 nogil:
    # Allocate capacity for n rows. `x`, which determines the capacity, is last.
    cdef size_t row = policy.n_features * sizeof(float32_t)
    cdef intp_t capacity
    if n * <intp_t> row <= bytes_of_array(leaf.x):
        return 0
    capacity = _capacity_for(n)
    leaf.y = <label_t*> resize_array(&leaf.blocks, leaf.y, capacity, sizeof(label_t))
    if leaf.weight != NULL:
        leaf.weight = <float64_t*> resize_array(
            &leaf.blocks, leaf.weight, capacity, sizeof(float64_t)
        )
    leaf.x = <float32_t*> resize_array(&leaf.blocks, leaf.x, capacity, row)
    return 0


cdef int _fit_capacity(Leaf* leaf, const Policy* policy, intp_t capacity) except -1 nogil:
    # Reduce the capacity. `x`, which determines it, is first.
    leaf.x = <float32_t*> resize_array(
        &leaf.blocks, leaf.x, capacity, policy.n_features * sizeof(float32_t)
    )
    leaf.y = <label_t*> resize_array(&leaf.blocks, leaf.y, capacity, sizeof(label_t))
    if leaf.weight != NULL:
        leaf.weight = <float64_t*> resize_array(
            &leaf.blocks, leaf.weight, capacity, sizeof(float64_t)
        )
    return 0


cdef int append_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight
) except -1 nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t i
    _reserve(leaf, policy, leaf.n_rows + 1)
    if weight != 1.0 and leaf.weight == NULL:
        leaf.weight = <float64_t*> take_array(
            &leaf.blocks, bytes_of_array(leaf.y) // <intp_t> sizeof(label_t), sizeof(float64_t),
        )
        for i in range(leaf.n_rows):
            leaf.weight[i] = 1.0
    memcpy(leaf.x + leaf.n_rows * d, x, d * sizeof(float32_t))
    leaf.y[leaf.n_rows] = y
    if leaf.weight != NULL:
        leaf.weight[leaf.n_rows] = weight
    leaf.n_rows += 1
    return 0


cdef int keep_latest(Leaf* leaf, const Policy* policy, intp_t n) except -1 nogil:
    # Drop all but the last n rows.
    cdef intp_t d = policy.n_features
    cdef intp_t n_dropped = leaf.n_rows - n
    memmove(leaf.x, leaf.x + n_dropped * d, n * d * sizeof(float32_t))
    memmove(leaf.y, leaf.y + n_dropped, n * sizeof(label_t))
    if leaf.weight != NULL:
        memmove(leaf.weight, leaf.weight + n_dropped, n * sizeof(float64_t))
    leaf.n_rows = n
    leaf.n_inherited = max(leaf.n_inherited - n_dropped, 0)
    leaf.dropped = True
    return _fit_capacity(leaf, policy, _capacity_for(n))


cdef inline float64_t _weight_of(const Leaf* leaf, intp_t row) noexcept nogil:
    return 1.0 if leaf.weight == NULL else leaf.weight[row]


cdef int _observe(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef Moments* total = &leaf.moments
    cdef Moments* fresh = &leaf.fresh_moments
    if total.blocks != NULL:
        ensure_blocks(&leaf.blocks, total, x, d, K, y, policy.missing)
    if fresh.blocks != NULL:
        ensure_blocks(&leaf.blocks, fresh, x, d, K, y, policy.missing)
    append_row(leaf, policy, x, y, weight)
    if total.blocks != NULL:
        add_to_moments(total, x, d, K, y, weight)
    if fresh.blocks != NULL:
        add_to_moments(fresh, x, d, K, y, weight)
    count_row(leaf, policy, x, y, weight, bins)     # its categories, if they have counts
    return 0


cdef int _convert(Leaf* leaf, const Policy* policy) except -1 nogil:
    # A leaf with many rows changes to a memory that counts them, and also stores the latest ones
    # if `stored_rows`, the number it may store, is positive. Fixed cuts are set once.
    if leaf.n_rows >= policy.row_limit:
        if policy.stored_rows > 0:
            policy.counts_with_rows.take_rows(leaf, policy)
        else:
            policy.counts_only.take_rows(leaf, policy)
    elif policy.fixed_cuts and leaf.bins.first == NULL and leaf.n_rows >= MIN_CUT_ROWS:
        _set_cuts(leaf, policy)
    return 0


cdef int _set_cuts(Leaf* leaf, const Policy* policy) except -1 nogil:
    bins_of_rows(
        &leaf.blocks, &leaf.bins, leaf.x, leaf.n_rows, policy.n_features,
        policy.max_bins, policy.n_codes, policy.missing,
    )
    return 0


cdef int partition_rows(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef intp_t n = 0
    cdef intp_t i, c
    cdef const float32_t* x
    cdef float64_t w
    cdef bint bayes
    child.memory = &ROWS
    child.inherits_evidence = policy.inherited_is_evidence      # its inherited rows are evidence
    for i in range(parent.n_rows):
        n += outcome_of(leaf_split, parent.x[i * d + leaf_split.feature]) == outcome
    # A child with more rows counts them, and needs no moments. With `single_bayes`, a leaf whose
    # inherited rows are evidence has one naive Bayes model of all its rows.
    bayes = policy.bayes and n < policy.row_limit
    if bayes:
        allocate_moments(&child.blocks, &child.moments, K)
        if not (child.inherits_evidence and policy.single_bayes):
            allocate_moments(&child.blocks, &child.fresh_moments, K)
    _reserve(child, policy, n)
    for i in range(parent.n_rows):
        x = parent.x + i * d
        if outcome_of(leaf_split, x[leaf_split.feature]) != outcome:
            continue
        w = _weight_of(parent, i)
        append_row(child, policy, x, parent.y[i], w)
        if bayes:
            ensure_blocks(&child.blocks, &child.moments, x, d, K, parent.y[i], policy.missing)
            add_to_moments(&child.moments, x, d, K, parent.y[i], w)
        child.total[parent.y[i]] += w
        child.n_total += w
    child.n_inherited = n
    if bayes and policy.n_nominal > 0 and not policy.fixed_cuts:
        allocate_categories(child, policy)
        _count_inherited(child, policy)
    for c in range(K):
        share[c] = 1.0 / leaf_split.n_outcomes
        if parent.total[c] > 0.0:
            share[c] = child.total[c] / parent.total[c]
    if policy.fixed_cuts and n > 0:
        _set_cuts(child, policy)
    if n >= policy.row_limit:
        policy.counts_with_rows.take_rows(child, policy)
    return 0


cdef int _count_inherited(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Count the categories of inherited rows.
    cdef intp_t K = policy.n_classes
    cdef intp_t i, j, f, position
    if not (leaf.inherits_evidence and policy.single_bayes):
        leaf.fresh_histogram = <float64_t*> take_zeros(
            &leaf.blocks, leaf.bins.first[policy.n_features] * K, sizeof(float64_t)
        )
    for i in range(leaf.n_rows):
        for j in range(policy.n_nominal):
            f = policy.nominal[j]
            position = leaf.bins.first[f] + <intp_t> leaf.x[i * policy.n_features + f]
            leaf.histogram[position * K + leaf.y[i]] += _weight_of(leaf, i)
    return 0


cdef inline intp_t _first(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # Index of the first row that counts as evidence.
    return leaf.n_inherited if uses_fresh_only(leaf, policy) else 0


cdef void _tabulate(
    const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
) noexcept nogil:
    # Count classes by bin. Used if cuts are fixed; otherwise the rows themselves are sorted.
    # `width`: numbers per bin, the class counts and possibly that of unlabeled rows.
    cdef const float32_t* edges
    cdef intp_t i, b
    cdef float32_t x
    cdef float64_t w
    table.n_bins = 0
    if leaf.bins.first == NULL:
        return
    table.n_bins = n_value_bins(&leaf.bins, feature)
    edges = leaf.bins.edges + leaf.bins.first[feature]
    memcpy(table.edges, edges, table.n_bins * sizeof(float32_t))
    memset(table.counts, 0, table.n_bins * table.width * sizeof(float64_t))
    for i in range(_first(leaf, policy), leaf.n_rows):
        x = leaf.x[i * policy.n_features + feature]
        w = _weight_of(leaf, i)
        if x == x:
            b = bin_of(edges, table.n_bins, x)
            table.counts[b * table.width + leaf.y[i]] += w
        else:
            table.missing[leaf.y[i]] += w
            table.n_missing += w


cdef void _count_categories(
    const Leaf* leaf, const Policy* policy, intp_t feature, intp_t n_codes,
    float64_t* counts, intp_t width,
) noexcept nogil:
    cdef intp_t i, code
    for i in range(_first(leaf, policy), leaf.n_rows):
        code = <intp_t> leaf.x[i * policy.n_features + feature]
        counts[code * width + leaf.y[i]] += _weight_of(leaf, i)


cdef write_rows(StateWriter writer, const Leaf* leaf, const Policy* policy):
    writer.put(leaf.x, leaf.n_rows * policy.n_features * sizeof(float32_t))
    writer.put(leaf.y, leaf.n_rows * sizeof(label_t))
    if leaf.weight != NULL:
        writer.put(leaf.weight, leaf.n_rows * sizeof(float64_t))


cdef read_rows(StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf):
    cdef intp_t d = policy.n_features
    cdef intp_t n = header.n_rows
    if not leaf.memory.stores_rows:
        require(n == 0)
        return
    require(0 <= header.n_inherited <= n)
    leaf.dropped = header.dropped != 0
    require(n > 0 or not header.has_weights)
    require(n <= reader.left() // <intp_t> (d * sizeof(float32_t)))
    if n > 0:
        _reserve(leaf, policy, n)
        reader.take(leaf.x, n * d * sizeof(float32_t))
        reader.take(leaf.y, n * sizeof(label_t))
        _check_values(leaf, n, policy)
    if header.has_weights:
        leaf.weight = <float64_t*> take_array(
            &leaf.blocks, bytes_of_array(leaf.y) // <intp_t> sizeof(label_t), sizeof(float64_t),
        )
        reader.take(leaf.weight, n * sizeof(float64_t))
        require_finite(leaf.weight, n)
    leaf.n_rows = n
    leaf.n_inherited = header.n_inherited
    _check_sums(leaf, policy.n_classes)


cdef _check_values(const Leaf* leaf, intp_t n, const Policy* policy):
    cdef intp_t d = policy.n_features
    cdef intp_t i, j, f
    for i in range(n):
        require(leaf.y[i] < policy.n_classes)
        for f in range(d):
            require(isfinite(leaf.x[i * d + f]) or (isnan(leaf.x[i * d + f]) and policy.missing))
        for j in range(policy.n_nominal):
            f = policy.nominal[j]
            require(0.0 <= leaf.x[i * d + f] < policy.n_codes[f])


cdef _check_sums(const Leaf* leaf, intp_t K):
    # Summed in order of arrival, the weights of the rows equal the class counts exactly, unless
    # rows were dropped.
    counts = np.zeros((2, K))
    cdef float64_t[:, ::1] sums = counts
    cdef float64_t w
    cdef intp_t i
    for i in range(leaf.n_rows):
        w = _weight_of(leaf, i)
        require(w > 0.0)
        if i >= leaf.n_inherited:
            sums[0, leaf.y[i]] += w
        sums[1, leaf.y[i]] += w
    for i in range(K):
        if leaf.dropped:
            require(sums[0, i] <= SUM_TOLERANCE * leaf.fresh[i])
            require(sums[1, i] <= SUM_TOLERANCE * leaf.total[i])
        else:
            require(leaf.fresh[i] == sums[0, i] and leaf.total[i] == sums[1, i])


ROWS.code = 1       # identifies the memory in pickles
ROWS.may_split = True       # a leaf with this memory may try to split
ROWS.stores_rows = True
ROWS.open = _open
ROWS.observe = _observe
ROWS.convert = _convert
ROWS.fill_child = partition_rows
ROWS.tabulate = _tabulate
ROWS.count_categories = _count_categories


cdef enum:
    N_SUBSET_ARRAYS = 3      # features, nominal features, number of categories of each


cdef intp_t bytes_of_subset(const Leaf* leaf, const Policy* policy) noexcept nogil:
    if leaf.subset == NULL:
        return 0
    return sizeof(FeatureSubset) + N_SUBSET_ARRAYS * policy.subset_size * sizeof(int32_t)


cdef void _draw_features(
    uint64_t key, intp_t n, intp_t n_first, intp_t d, int32_t* features, int32_t* drawn
) noexcept nogil:
    # Draw n of the first n_first features, ascending; `features` is scratch. Each feature that
    # was added later then replaces one of them with the probability that makes all subsets
    # equally probable (reservoir sampling).
    cdef int32_t feature
    cdef intp_t i, k
    for i in range(n_first):
        features[i] = <int32_t> i
    for i in range(n):
        key = mix(key)
        k = i + <intp_t> (key % <uint64_t> (n_first - i))
        feature = features[k]
        features[k] = features[i]
        features[i] = feature
        k = i
        while k > 0 and drawn[k - 1] > feature:
            drawn[k] = drawn[k - 1]
            k -= 1
        drawn[k] = feature
    for i in range(n_first, d):
        key = mix(key)
        k = <intp_t> (key % <uint64_t> (i + 1))
        if k < n:
            memmove(drawn + k, drawn + k + 1, (n - 1 - k) * sizeof(int32_t))
            drawn[n - 1] = <int32_t> i


def drawn_features(uint64_t key, intp_t n, intp_t n_first, intp_t d):
    """Draw the `n` features, of `d`, that a leaf with this key uses.

    The first `n_first` features existed from the start, the others were added later. A
    leaf may lose features to later ones, but the others stay the same.
    """
    cdef int32_t[::1] features = np.empty(d, dtype=np.int32)
    cdef int32_t[::1] drawn = np.empty(n, dtype=np.int32)
    _draw_features(key, n, n_first, d, &features[0], &drawn[0])
    return np.asarray(drawn)


cdef int draw_subset(Leaf* leaf, const Policy* policy) except -1 nogil:
    cdef intp_t n = policy.subset_size
    cdef intp_t d = policy.n_features
    cdef int32_t* features
    cdef int32_t* nominal
    cdef Policy* leaf_policy
    cdef intp_t i
    if n == 0:
        return 0
    features = <int32_t*> take_array(policy.blocks, d, sizeof(int32_t))
    leaf.subset = <FeatureSubset*> take_zeros(
        policy.blocks, 1, sizeof(FeatureSubset) + N_SUBSET_ARRAYS * n * sizeof(int32_t)
    )
    leaf.subset.features = <int32_t*> (leaf.subset + 1)
    _draw_features(leaf.key, n, policy.n_first, d, features, leaf.subset.features)
    release(policy.blocks, features)
    leaf_policy = &leaf.subset.policy
    leaf_policy[0] = policy[0]
    leaf_policy.n_features = n
    leaf_policy.subset_size = 0         # no further subset of these features
    leaf_policy.blocks = NULL           # its owner may change; memories use the leaf's blocks
    leaf_policy.pool_list = NULL        # only the policy of the tree has lists of unlabeled rows
    leaf_policy.n_nominal = 0
    if policy.n_codes != NULL:
        nominal = leaf.subset.features + n
        leaf_policy.nominal = nominal
        leaf_policy.n_codes = nominal + n
        for i in range(n):
            if policy.n_codes[leaf.subset.features[i]] >= 0:
                nominal[leaf_policy.n_nominal] = <int32_t> i
                leaf_policy.n_nominal += 1
    update_subset_policy(leaf, policy)
    return 0


cdef void update_subset_policy(Leaf* leaf, const Policy* policy) noexcept nogil:
    cdef Policy* leaf_policy
    cdef intp_t i
    if leaf.subset == NULL:
        return
    leaf_policy = &leaf.subset.policy
    leaf_policy.missing = policy.missing
    if leaf_policy.n_codes != NULL:
        for i in range(leaf_policy.n_features):
            leaf_policy.n_codes[i] = policy.n_codes[leaf.subset.features[i]]
