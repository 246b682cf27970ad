"""A leaf that counts its rows per class and bin."""

from skconftree.tree.leaves._contract cimport Leaf, LeafHeader, Policy
from skconftree.tree.leaves._counted_rows cimport count_rows
from skconftree.tree.leaves._counts cimport (
    count_categories_of_bins, count_row, hold_shares, part_bins, read_bins,
    shares_of_bins, tabulate_bins, write_bins,
)
from skconftree.tree.leaves._moments cimport read_no_moments, write_no_moments
from skconftree.tree.leaves._parting cimport Parting
from skconftree.tree.leaves._state cimport StateReader, StateWriter, require
from skconftree.utils._memory cimport give_back
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t,
)


cdef int _open(Leaf* leaf, const Policy* policy) except -1 nogil:
    # Without a past there are no cuts: such a leaf keeps rows first.
    return 0


cdef int _take_rows(Leaf* leaf, const Policy* policy) except -1 nogil:
    count_rows(leaf, policy)
    _forget_rows(leaf)
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
HISTOGRAM.tabulate = tabulate_bins
HISTOGRAM.count_categories = count_categories_of_bins
HISTOGRAM.write = _write
HISTOGRAM.read = _read
