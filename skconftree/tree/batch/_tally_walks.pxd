# Walks over tallies of codes (_tagged_rows.pxd), whose whole counts are exact in any
# order. They emit what Scan.walk_histogram does: there are at most BLOCK codes, so tests
# come in one block. Bits of `present` say which codes have rows. Both are all zeros
# afterwards.

from skconftree.tree.split._scan cimport Scan
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t, uint64_t

cdef intp_t walk_two_class_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels
) noexcept nogil
# Of any number of classes, whose counts are `total`: packed, or each by itself.
cdef intp_t walk_packed_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil
# Of more than two classes, if phi is no square: sums in the order of the classes.
cdef intp_t walk_phi_tally(
    Scan scan, uint64_t* tally, uint64_t* present, intp_t n_levels, intp_t bits,
    const float64_t* total,
) noexcept nogil
cdef intp_t walk_plain_tally(
    Scan scan, int32_t* tally, uint64_t* present, intp_t n_levels,
    const float64_t* total,
) noexcept nogil
