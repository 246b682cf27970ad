"""A leaf that remembers nothing."""

from skconftree.tree.leaves._contract cimport BinTable, Leaf, LeafHeader, Policy
from skconftree.tree.leaves._moments cimport read_no_moments, write_no_moments
from skconftree.tree.leaves._parting cimport Parting
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, label_t,
)


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
