"""Leaf memory that stores the moments of each class: weight, mean and variance.

A leaf memory is the form in which a leaf of an incrementally trained tree stores the statistics
of its rows. Fresh rows are those since the creation of the leaf; evidence is what the split rule
uses. Cuts are the candidate thresholds of a leaf; with fixed cuts, `Leaf.extra` is the range of
each feature that determines them. An outcome of a split is the index of a child. A policy has the
settings that the leaves share. A sketch is a fast approximation of the class counts on the left of
each cut, for at most LANES cuts, which vector instructions process together. `child_of_code` has
the child of each category (NULL: the split is numeric). See _contract.pxd and _moments.pxd.
"""

from libc.math cimport INFINITY, fmin
from libc.string cimport memset

from skconftree.tree._settings cimport MIN_CUT_ROWS
from skconftree.tree.leaves._contract cimport BinTable, Leaf, LeafSplit, Policy
from skconftree.tree.leaves._counts cimport (
    count_categories_of_bins, count_row, set_child_total, allocate_categories, partition_bins,
    shares_of_bins,
)
from skconftree.tree.leaves._moments cimport (
    Moments, add_to_moments, allocate_moments, child_moments, has_single_cut, normal_shares,
    ensure_blocks, class_share, range_of_moments, rough_shares, weight_known,
)
from skconftree.utils._lanes cimport LANES
from skconftree.utils._memory cimport take_array
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

cdef enum:
    MAX_BINS = 11      # of a feature: 10 equally spaced cuts


cdef int _open(Leaf* leaf, const Policy* policy) except -1 nogil:
    allocate_moments(&leaf.blocks, &leaf.moments, policy.n_classes)
    if policy.n_nominal > 0:
        allocate_categories(leaf, policy)
    return 0


cdef int _observe(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef Moments* fresh = &leaf.fresh_moments
    ensure_blocks(&leaf.blocks, &leaf.moments, x, d, K, y, policy.missing)
    if fresh.blocks != NULL:
        ensure_blocks(&leaf.blocks, fresh, x, d, K, y, policy.missing)
        add_to_moments(fresh, x, d, K, y, weight)
    add_to_moments(&leaf.moments, x, d, K, y, weight)
    count_row(leaf, policy, x, y, weight, bins)
    return 0


cdef int _convert(Leaf* leaf, const Policy* policy) except -1 nogil:
    if policy.fixed_cuts and leaf.extra == NULL and leaf.n_fresh >= MIN_CUT_ROWS:
        _fix_cuts(leaf, policy)
    return 0


cdef int _fix_cuts(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Store the range of each feature.
    cdef intp_t d = policy.n_features
    cdef float64_t* span = <float64_t*> take_array(&leaf.blocks, 2 * d, sizeof(float64_t))
    cdef intp_t f
    for f in range(d):
        if not range_of_moments(
            &leaf.moments, d, policy.n_classes, f, &span[2 * f], &span[2 * f + 1]
        ):
            span[2 * f] = span[2 * f + 1] = 0.0     # no cuts: the range is empty
    leaf.extra = span
    return 0


cdef int _fill_child(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    cdef bint takes_missing = leaf_split.missing_left == (outcome == 0)
    cdef intp_t feature = -1 if leaf_split.child_of_code != NULL else leaf_split.feature
    cdef float64_t scale
    cdef intp_t c
    if leaf_split.child_of_code != NULL:
        shares_of_bins(parent, policy, leaf_split, outcome, share)
    else:
        for c in range(policy.n_classes):
            share[c] = 1.0 / leaf_split.n_outcomes     # for a class without rows
            if parent.moments.blocks[c] != NULL:
                share[c] = class_share(
                    &parent.moments, policy.n_features, c, feature, leaf_split.threshold,
                    outcome, takes_missing,
                )
    # multiplies the shares by `scale`, which limits the weight that a child inherits
    scale = set_child_total(parent, policy, share, child)
    if parent.histogram != NULL:
        # False: bins of nominal features only
        partition_bins(parent, policy, leaf_split, outcome, share, False, child)
    child_moments(
        &child.blocks, &parent.moments, policy.n_features, policy.n_classes,
        feature, leaf_split.threshold, outcome, takes_missing, share, &child.moments,
    )
    # of the fresh rows, if only these are evidence, or for a naive Bayes model of them
    if policy.separate or policy.bayes:
        allocate_moments(&child.blocks, &child.fresh_moments, policy.n_classes)
    if policy.fixed_cuts:
        _fix_cuts(child, policy)
    for c in range(policy.n_classes):
        share[c] /= scale
    return 0


cdef inline const Moments* _evidence(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # The moments of the rows that are evidence: `separate` means only the fresh rows.
    if policy.separate and leaf.fresh_moments.blocks != NULL:
        return &leaf.fresh_moments
    return &leaf.moments


cdef intp_t _compute_cuts(
    const Leaf* leaf, const Policy* policy, intp_t feature, float32_t* edges
) noexcept nogil:
    # Equally spaced cuts between the extreme values, the last one infinite. Returns their
    # number; 0 if they are not set yet.
    cdef const float64_t* span = <const float64_t*> leaf.extra
    cdef float64_t low = 0.0
    cdef float64_t high = 0.0
    cdef intp_t n, b
    if not policy.fixed_cuts:
        range_of_moments(
            _evidence(leaf, policy), policy.n_features, policy.n_classes, feature, &low, &high,
        )
    elif span == NULL:
        return 0
    else:
        low = span[2 * feature]
        high = span[2 * feature + 1]
    # a constant feature has no cuts, but may have missing values
    n = min(<intp_t> MAX_BINS, policy.max_bins) if low < high else 1
    for b in range(n - 1):
        edges[b] = <float32_t> (low + (high - low) * (b + 1) / n)
    edges[n - 1] = INFINITY
    return n


cdef intp_t _sketch(
    const Leaf* leaf, const Policy* policy, intp_t feature, float64_t n, float32_t* left
) noexcept nogil:
    cdef const Moments* moments = _evidence(leaf, policy)
    cdef intp_t d = policy.n_features
    cdef intp_t K = policy.n_classes
    cdef float32_t edges[MAX_BINS]
    cdef float64_t cuts[LANES]
    cdef intp_t n_cuts = _compute_cuts(leaf, policy, feature, edges) - 1
    cdef intp_t c, b
    if n_cuts <= 0:
        return 0
    if has_single_cut(moments, d, K, feature):      # all cuts split the rows in the same way
        n_cuts = 1
    for b in range(LANES):
        cuts[b] = edges[min(b, n_cuts - 1)]
    for c in range(K):
        if moments.blocks[c] == NULL:
            memset(left + c * LANES, 0, LANES * sizeof(float32_t))
        else:
            rough_shares(moments, d, c, feature, cuts, n_cuts, moments.n[c] / n, left + c * LANES)
    return n_cuts


cdef void _tabulate(
    const Leaf* leaf, const Policy* policy, intp_t feature, BinTable* table
) noexcept nogil:
    # The weight of each class between the cuts, by its normal distribution.
    cdef intp_t d = policy.n_features
    cdef intp_t width = table.width
    cdef const Moments* moments = _evidence(leaf, policy)
    cdef const float64_t* counts = leaf.fresh if policy.separate else leaf.total
    cdef float64_t shares[MAX_BINS]
    cdef float64_t below, known
    cdef intp_t n = _compute_cuts(leaf, policy, feature, table.edges)
    cdef intp_t b, c
    table.n_bins = n
    if n == 0:
        return
    memset(table.counts, 0, n * width * sizeof(float64_t))
    for c in range(policy.n_classes):
        if moments.blocks[c] == NULL:
            continue
        known = weight_known(moments, c, feature)
        if known != moments.n[c]:
            # the rest of the class, so that both sum to the class count
            table.missing[c] = counts[c] - fmin(known, counts[c])
            table.n_missing += table.missing[c]
            if not known > 0.0:
                continue
        normal_shares(moments, d, c, feature, table.edges, n - 1, shares)
        shares[n - 1] = 1.0
        below = 0.0
        for b in range(n):
            table.counts[b * width + c] = known * (shares[b] - below)
            below = shares[b]


GAUSSIAN.code = 3       # identifies the memory in pickles
GAUSSIAN.may_split = True
GAUSSIAN.open = _open
GAUSSIAN.observe = _observe
GAUSSIAN.convert = _convert
GAUSSIAN.fill_child = _fill_child
GAUSSIAN.tabulate = _tabulate
GAUSSIAN.count_categories = count_categories_of_bins
GAUSSIAN.sketch = _sketch
