# CodeTally: class counts of the rows of a node by their code, packed as _tagged_rows.pxd
# says, and the walk over them. Whole counts are exact in any order: rows are not sorted.

from skconftree.tree.split._scan cimport Scan
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, intp_t, label_t, uint8_t, uint64_t,
)


cdef class CodeTally:
    cdef intp_t n_classes
    cdef intp_t bits            # of a class in this node; 0: counts cannot be packed
    cdef Arena arena
    cdef uint64_t* counts       # [MAX_LEVELS], and
    cdef uint64_t* present      # [MAX_LEVELS] bits: which have rows; zeros between walks
    cdef uint64_t* one          # [n_classes] a row of a class, packed

    # Go to a node whose rows weigh `n`, a whole number.
    cdef void begin(self, float64_t n) noexcept nogil
    # Count rows that lie in the order of their codes, labels, and counts, if any.
    cdef void add(
        self, const uint8_t* codes, const label_t* y, const int32_t* count, intp_t n
    ) noexcept nogil
    # The number of tests of what has been counted, as Scan.walk_histogram has them.
    cdef intp_t walk(
        self, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil
