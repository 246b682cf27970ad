"""Leaf memories that count rows per class and bin, and may also store them.

A leaf memory is the form in which a leaf of an incrementally trained tree stores the statistics
of its rows (_contract.pxd). A bin has the values between two adjacent candidate thresholds, or a
category. Inherited rows are those that the leaf got from its parent, fresh rows those since its
creation. An outcome of a split is the index of a child, a share its fraction of the rows of a
class. A policy has the settings that the leaves share. The two memories are described in
_histogram.pxd.
"""

from skconftree.tree.leaves._bins cimport NOMINAL, bin_of, bins_of_rows, n_equal, n_value_bins
from skconftree.tree.leaves._contract cimport Leaf, LeafSplit, Policy, uses_fresh_only
from skconftree.tree.leaves._counts cimport (
    count_categories_of_bins, count_row, release_bins, set_child_total, allocate_counts,
    partition_bins, shares_of_bins, tabulate_bins,
)
from skconftree.tree.leaves._moments cimport release_moments
from skconftree.tree.leaves._rows cimport append_row, keep_latest, partition_rows
from skconftree.utils._memory cimport release
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, intp_t, label_t

cdef enum:
    BLOCK = 256             # rows that are counted together
    SMALL_N_CLASSES = 8     # up to which one class is counted at a time


cdef int count_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Count the stored rows, and release the moments. The first rows determine the bins, at most
    # `row_limit` rows: with so many rows, a leaf that inherited none changes to this memory.
    cdef intp_t n_first = 0
    cdef intp_t begin = 0
    cdef intp_t end
    # fresh rows are counted separately if only they are evidence for splits (uses_fresh_only), or
    # if there is a naive Bayes model of these rows; with `single_bayes`, a leaf whose inherited
    # rows are evidence, too (`inherits_evidence`), has only one model of all its rows
    cdef bint separate_fresh = leaf.n_inherited > 0 and (
        uses_fresh_only(leaf, policy)
        or policy.bayes and not (leaf.inherits_evidence and policy.single_bayes)
    )
    if leaf.histogram != NULL:
        release_bins(leaf)      # bins of categories only
    if leaf.bins.first == NULL:
        n_first = min(leaf.n_rows, policy.row_limit)
        bins_of_rows(
            &leaf.blocks, &leaf.bins, leaf.x, n_first, policy.n_features,
            policy.max_bins, policy.n_codes, policy.missing,
        )
    allocate_counts(leaf, policy, separate_fresh)
    while begin < leaf.n_rows:
        end = min(begin + BLOCK, leaf.n_rows)
        if begin < n_first:
            end = min(end, n_first)
        if begin < leaf.n_inherited:
            end = min(end, leaf.n_inherited)
        _count_block(leaf, policy, begin, end, begin < n_first)
        begin = end
    release_moments(&leaf.blocks, &leaf.moments, policy.n_classes)
    release_moments(&leaf.blocks, &leaf.fresh_moments, policy.n_classes)
    return 0


cdef void _count_block(
    Leaf* leaf, const Policy* policy, intp_t begin, intp_t end, bint in_range
) noexcept nogil:
    # Count rows column by column; either all or none of them are inherited. If `in_range`,
    # they have determined the bins.
    cdef intp_t d = policy.n_features
    cdef intp_t n = end - begin
    cdef const float32_t* x = leaf.x + begin * d
    cdef const label_t* y = leaf.y + begin
    cdef float32_t column[BLOCK]
    cdef int32_t labels[BLOCK]
    cdef int32_t in_class[SMALL_N_CLASSES]
    cdef bint has_unit_weights = (
        leaf.weight == NULL and not policy.missing and policy.n_classes <= SMALL_N_CLASSES
    )
    cdef intp_t i, f, c
    if has_unit_weights:
        for i in range(n):
            labels[i] = y[i]
        for c in range(policy.n_classes):
            in_class[c] = 0
            for i in range(n):
                in_class[c] += labels[i] == c
    for f in range(d):
        for i in range(n):
            column[i] = x[i * d + f]
        if has_unit_weights and leaf.bins.kind[f] != NOMINAL and n_value_bins(&leaf.bins, f) <= 2:
            _count_two_bins(leaf, policy, f, begin, n, column, labels, in_class)
            if not in_range and n > n_equal(column, n, leaf.bins.low[f]) + n_equal(
                column, n, leaf.bins.high[f]
            ):
                _extend_range(leaf, f, column, n)
        else:
            _count_column(leaf, policy, f, begin, n, column)
            if not in_range or leaf.bins.kind[f] == NOMINAL:
                _extend_range(leaf, f, column, n)


cdef void _count_two_bins(
    Leaf* leaf, const Policy* policy, intp_t f, intp_t begin, intp_t n,
    const float32_t* column, const int32_t* labels, const int32_t* in_class,
) noexcept nogil:
    # Count a block of at most two bins; every row has weight 1 and a value.
    cdef intp_t K = policy.n_classes
    cdef intp_t first = leaf.bins.first[f]
    cdef float32_t edge = leaf.bins.edges[first]
    cdef bint fresh = leaf.fresh_histogram != NULL and begin >= leaf.n_inherited
    cdef bint has_two = n_value_bins(&leaf.bins, f) == 2
    cdef intp_t i, c
    cdef int32_t n_above
    for c in range(K):
        n_above = 0
        if has_two:
            for i in range(n):
                n_above += (column[i] > edge) & (labels[i] == c)
            leaf.histogram[(first + 1) * K + c] += n_above
        leaf.histogram[first * K + c] += in_class[c] - n_above
        if fresh:
            leaf.fresh_histogram[first * K + c] += in_class[c] - n_above
            if has_two:
                leaf.fresh_histogram[(first + 1) * K + c] += n_above


cdef void _count_column(
    Leaf* leaf, const Policy* policy, intp_t f, intp_t begin, intp_t n, const float32_t* column,
) noexcept nogil:
    # Count a block with any bins.
    cdef intp_t K = policy.n_classes
    cdef intp_t first = leaf.bins.first[f]
    cdef intp_t n_bins = n_value_bins(&leaf.bins, f)
    cdef const float32_t* edges = leaf.bins.edges + first
    cdef const label_t* y = leaf.y + begin
    cdef bint fresh = leaf.fresh_histogram != NULL and begin >= leaf.n_inherited
    cdef bint nominal = leaf.bins.kind[f] == NOMINAL
    cdef float64_t w = 1.0
    cdef intp_t i, position
    for i in range(n):
        if column[i] != column[i]:
            if not leaf.bins.missing or nominal:
                continue
            position = first + n_bins
        elif nominal:
            if not 0.0 <= column[i] < n_bins:
                continue
            position = first + <intp_t> column[i]
        else:
            position = first + bin_of(edges, n_bins, column[i])
        if leaf.weight != NULL:
            w = leaf.weight[begin + i]
        leaf.histogram[position * K + y[i]] += w
        if fresh:
            leaf.fresh_histogram[position * K + y[i]] += w


cdef void _extend_range(Leaf* leaf, intp_t f, const float32_t* column, intp_t n) noexcept nogil:
    # Extend the range of a feature by the values of a block.
    cdef float32_t low = leaf.bins.low[f]
    cdef float32_t high = leaf.bins.high[f]
    cdef intp_t i
    for i in range(n):
        low = min(low, column[i])
        high = max(high, column[i])
    leaf.bins.low[f] = low
    leaf.bins.high[f] = high


cdef int _take_counted_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    count_rows(leaf, policy)
    leaf.memory = &COUNTED_ROWS
    return 0


cdef int _observe_row(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    append_row(leaf, policy, x, y, weight)
    count_row(leaf, policy, x, y, weight, bins)
    return 0


cdef int _convert_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Drop the older half of the rows if the leaf stores as many as it may.
    if leaf.n_rows >= policy.stored_rows:
        keep_latest(leaf, policy, policy.stored_rows // 2)
    return 0


cdef int _fill_child_rows(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    partition_rows(parent, policy, leaf_split, outcome, share, child)
    if parent.dropped:      # it stores only its latest rows, but has counted all
        shares_of_bins(parent, policy, leaf_split, outcome, share)
    return 0


COUNTED_ROWS.code = 5       # identifies the memory in pickles
COUNTED_ROWS.may_split = True
COUNTED_ROWS.stores_rows = True
COUNTED_ROWS.counts_bins = True
COUNTED_ROWS.observe = _observe_row
COUNTED_ROWS.convert = _convert_rows
COUNTED_ROWS.take_rows = _take_counted_rows
COUNTED_ROWS.fill_child = _fill_child_rows
COUNTED_ROWS.tabulate = tabulate_bins
COUNTED_ROWS.count_categories = count_categories_of_bins


cdef int _take_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    count_rows(leaf, policy)
    leaf.memory = &HISTOGRAM
    release(&leaf.blocks, leaf.x)
    release(&leaf.blocks, leaf.y)
    release(&leaf.blocks, leaf.weight)
    leaf.x = NULL
    leaf.y = NULL
    leaf.weight = NULL
    leaf.n_rows = 0
    leaf.n_inherited = 0
    return 0


cdef int _observe(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    count_row(leaf, policy, x, y, weight, bins)
    return 0


cdef int _fill_child(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    cdef float64_t scale
    cdef intp_t c
    shares_of_bins(parent, policy, leaf_split, outcome, share)
    # multiplies the shares by `scale`, which limits the weight that a child inherits
    scale = set_child_total(parent, policy, share, child)
    # True: bins of all features
    partition_bins(parent, policy, leaf_split, outcome, share, True, child)
    for c in range(policy.n_classes):
        share[c] /= scale
    return 0


HISTOGRAM.code = 2          # identifies the memory in pickles
HISTOGRAM.may_split = True
HISTOGRAM.counts_bins = True
HISTOGRAM.observe = _observe
HISTOGRAM.take_rows = _take_rows
HISTOGRAM.fill_child = _fill_child
HISTOGRAM.tabulate = tabulate_bins
HISTOGRAM.count_categories = count_categories_of_bins
