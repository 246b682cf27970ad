"""A leaf that counts its rows per class and bin, and keeps them to hand over."""

from skconftree.tree.leaves._bins cimport bins_of_rows, find_bins
from skconftree.tree.leaves._contract cimport Leaf, LeafHeader, Policy, only_fresh
from skconftree.tree.leaves._counts cimport (
    count_categories_of_bins, count_row, forget_bins, open_counts, read_bins,
    shares_of_bins, tabulate_bins, write_bins,
)
from skconftree.tree.leaves._moments cimport (
    read_no_moments, release_moments, write_no_moments,
)
from skconftree.tree.leaves._parting cimport Parting
from skconftree.tree.leaves._rows cimport (
    append_row, keep_latest, part_rows, read_rows, write_rows,
)
from skconftree.tree.leaves._state cimport StateReader, StateWriter, require
from skconftree.utils._memory cimport give_back
from skconftree.utils._spare_memory cimport take_array
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t,
)


cdef int _open(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Without a past there are no cuts: such a leaf keeps rows first.
    return 0


cdef int count_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    # The first rows set the bins, as many as set them where no rows were handed over.
    cdef intp_t K = policy.n_classes
    cdef intp_t d = policy.n_features
    cdef intp_t i, f
    cdef float64_t w
    cdef const float32_t* x
    cdef bint apart = leaf.n_inherited > 0 and (
        only_fresh(leaf, policy) or policy.bayes and not (leaf.handed and policy.one_bayes)
    )
    cdef int32_t* places = <int32_t*> take_array(&leaf.remembered, d, sizeof(int32_t))
    if leaf.histogram != NULL:
        forget_bins(leaf)       # of categories alone
    if leaf.bins.first == NULL:
        bins_of_rows(
            &leaf.remembered, &leaf.bins, leaf.x, min(leaf.n_rows, policy.row_limit), d,
            policy.max_bins, policy.n_codes, policy.missing,
        )
    open_counts(leaf, policy, apart)
    for i in range(leaf.n_rows):
        w = 1.0 if leaf.weight == NULL else leaf.weight[i]
        x = leaf.x + i * d
        find_bins(&leaf.bins, x, d, places)
        for f in range(d):
            if places[f] < 0:
                continue
            leaf.bins.low[f] = min(leaf.bins.low[f], x[f])
            leaf.bins.high[f] = max(leaf.bins.high[f], x[f])
            leaf.histogram[places[f] * K + leaf.y[i]] += w
            if leaf.fresh_histogram != NULL and i >= leaf.n_inherited:
                leaf.fresh_histogram[places[f] * K + leaf.y[i]] += w
    give_back(&leaf.remembered, places)
    release_moments(&leaf.remembered, &leaf.moments, K)
    release_moments(&leaf.remembered, &leaf.fresh_moments, K)
    return 0


cdef int _take_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    count_rows(leaf, policy)
    leaf.memory = &COUNTED_ROWS
    return 0


cdef int _observe(
    Leaf* leaf, const Policy* policy, const float32_t* x, label_t y, float64_t weight,
    const int32_t* bins,
) except -1 nogil:
    append_row(leaf, policy, x, y, weight)
    count_row(leaf, policy, x, y, weight, bins)
    return 0


cdef int _convert(Leaf* leaf, const Policy* policy) except -1 nogil:
    if leaf.n_rows >= policy.kept_rows:
        keep_latest(leaf, policy, policy.kept_rows // 2)
    return 0


cdef int _part(
    const Leaf* parent, const Policy* policy, const Parting* parting, intp_t outcome,
    float64_t* share, Leaf* child,
) except -1 nogil:
    part_rows(parent, policy, parting, outcome, share, child)
    if parent.dropped:
        shares_of_bins(parent, policy, parting, outcome, share)
    return 0


cdef bint _is_exact(const Leaf* leaf, const Policy* policy) noexcept nogil:
    return True


cdef _write(StateWriter writer, const Leaf* leaf, const Policy* policy):
    write_rows(writer, leaf, policy)
    write_bins(writer, leaf, policy)
    write_no_moments(writer)


cdef _read(
    StateReader reader, const LeafHeader* header, const Policy* policy, Leaf* leaf
):
    read_rows(reader, header, policy, leaf)
    read_bins(reader, header, policy, leaf)
    require(leaf.histogram != NULL)
    read_no_moments(reader)


COUNTED_ROWS.name = "counted rows"
COUNTED_ROWS.code = 5
COUNTED_ROWS.remembers = True
COUNTED_ROWS.keeps_rows = True
COUNTED_ROWS.counts_rows = True
COUNTED_ROWS.open = _open
COUNTED_ROWS.observe = _observe
COUNTED_ROWS.convert = _convert
COUNTED_ROWS.take_rows = _take_rows
COUNTED_ROWS.part = _part
COUNTED_ROWS.is_exact = _is_exact
COUNTED_ROWS.tabulate = tabulate_bins
COUNTED_ROWS.count_categories = count_categories_of_bins
COUNTED_ROWS.write = _write
COUNTED_ROWS.read = _read
