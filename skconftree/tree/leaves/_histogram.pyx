"""A leaf that counts its rows per class and bin."""

from libc.string cimport memcpy, memset

from skconftree.tree.leaves._bins cimport bins_of_rows, find_bins, n_value_bins
from skconftree.tree.leaves._contract cimport BinTable, Leaf, LeafHeader, Policy, only_fresh
from skconftree.tree.leaves._counts cimport (
    count_categories_of_bins, count_row, evidence_of, forget_bins, hold_shares,
    open_counts, part_bins, read_bins, shares_of_bins, write_bins,
)
from skconftree.tree.leaves._moments cimport (
    read_no_moments, release_moments, write_no_moments,
)
from skconftree.tree.leaves._parting cimport Parting
from skconftree.tree.leaves._state cimport StateReader, StateWriter, require
from skconftree.utils._memory cimport give_back
from skconftree.utils._spare_memory cimport take_array
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t,
)


cdef int _open(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Without a past there are no cuts: such a leaf keeps rows first.
    return 0


cdef int _take_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    cdef intp_t K = policy.n_classes
    cdef intp_t d = policy.n_features
    cdef intp_t i, f
    cdef float64_t w
    cdef bint apart = leaf.n_inherited > 0 and (
        only_fresh(leaf, policy) or policy.bayes and not (leaf.handed and policy.one_bayes)
    )
    cdef int32_t* places = <int32_t*> take_array(&leaf.remembered, d, sizeof(int32_t))
    if leaf.histogram != NULL:
        forget_bins(leaf)       # of categories alone
    if leaf.bins.first == NULL:
        bins_of_rows(
            &leaf.remembered, &leaf.bins, leaf.x, leaf.n_rows, d, policy.max_bins,
            policy.n_codes, policy.missing,
        )
    open_counts(leaf, policy, apart)
    for i in range(leaf.n_rows):
        w = 1.0 if leaf.weight == NULL else leaf.weight[i]
        find_bins(&leaf.bins, leaf.x + i * d, d, places)
        for f in range(d):
            if places[f] < 0:
                continue
            leaf.histogram[places[f] * K + leaf.y[i]] += w
            if leaf.fresh_histogram != NULL and i >= leaf.n_inherited:
                leaf.fresh_histogram[places[f] * K + leaf.y[i]] += w
    give_back(&leaf.remembered, places)
    _forget_rows(leaf)
    release_moments(&leaf.remembered, &leaf.moments, K)
    release_moments(&leaf.remembered, &leaf.fresh_moments, K)
    leaf.memory = &HISTOGRAM
    return 0


cdef void _forget_rows(Leaf* leaf) noexcept nogil:
    give_back(&leaf.remembered, leaf.x)
    give_back(&leaf.remembered, leaf.y)
    give_back(&leaf.remembered, leaf.weight)
    leaf.x = NULL
    leaf.y = NULL
    leaf.weight = NULL
    leaf.n_rows = 0
    leaf.n_inherited = 0


cdef int _observe(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    count_row(leaf, policy, x, y, weight, bins)
    return 0


cdef int _convert(Leaf* leaf, const Policy* policy) except -1 nogil:
    return 0


cdef int _part(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    cdef float64_t scale
    cdef intp_t c
    shares_of_bins(parent, policy, parting, outcome, share)
    scale = hold_shares(parent, policy, share, child)
    part_bins(parent, policy, parting, outcome, share, True, child)
    for c in range(policy.n_classes):
        share[c] /= scale
    return 0


cdef bint _is_exact(const Leaf* leaf, const Policy* policy) noexcept nogil:
    # What was taken over is fractions of counts.
    return policy.separate or leaf.n_held == leaf.n_fresh


cdef void _tabulate(
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


cdef _write(StateWriter writer, const Leaf* leaf, const Policy* policy):
    write_bins(writer, leaf, policy)
    write_no_moments(writer)


cdef _read(
    StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf
):
    read_bins(reader, header, policy, leaf)
    require(leaf.histogram != NULL)
    read_no_moments(reader)


HISTOGRAM.name = "histogram"
HISTOGRAM.code = 2
HISTOGRAM.remembers = True
HISTOGRAM.keeps_rows = False
HISTOGRAM.open = _open
HISTOGRAM.observe = _observe
HISTOGRAM.convert = _convert
HISTOGRAM.take_rows = _take_rows
HISTOGRAM.part = _part
HISTOGRAM.is_exact = _is_exact
HISTOGRAM.tabulate = _tabulate
HISTOGRAM.count_categories = count_categories_of_bins
HISTOGRAM.write = _write
HISTOGRAM.read = _read
