# Walks over sorted keys (_rank_sort.pxd) that are tagged with classes and counts.
#
# They emit what Scan.walk_sorted does, in the same blocks; the place of a test is the
# rank of the last key that goes left.

from skconftree.tree.split._scan cimport Scan
from skconftree.utils._typedefs cimport float64_t, int32_t, intp_t, uint64_t

cdef intp_t walk_two_class_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least
) noexcept nogil
# Sums of squares, for any number of classes, whose counts are `total`.
cdef intp_t walk_square_keys(
    Scan scan, const uint64_t* keys, intp_t n, int32_t least, const float64_t* total
) noexcept nogil
