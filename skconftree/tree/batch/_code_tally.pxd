# CodeTally: class counts of the rows of a node by their code, packed as _tagged_rows.pxd
# says, and the walk over them. Whole counts are exact in any order: rows are not sorted.
#
# Columns of which it is known that they will be walked are counted at once: the codes of a
# row lie side by side. What is then not walked is forgotten at the next node.

from skconftree.tables._row_codes cimport RowCodes
from skconftree.tree.split._scan cimport Scan
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float64_t, int32_t, intp_t, label_t, uint8_t, uint64_t,
)

cdef enum:
    MOST_COLUMNS = 8    # at once: their counts stay in the first-level cache


cdef class CodeTally:
    cdef intp_t n_classes
    cdef intp_t bits            # of a class in this node; 0: counts cannot be packed
    cdef Arena arena
    # One column alone, and those that are counted at once.
    cdef uint64_t* counts       # [1 + MOST_COLUMNS, MAX_LEVELS], and
    cdef uint64_t* present      # [1 + MOST_COLUMNS, MAX_LEVELS] bits: which have rows;
                                # zeros once they have been walked
    cdef int32_t waiting[MOST_COLUMNS]      # their features; -1 = walked
    cdef intp_t n_waiting
    cdef uint64_t* one          # [n_classes] a row of a class, packed

    # Go to a node whose rows weigh `n`, a whole number.
    cdef void begin(self, float64_t n) noexcept nogil
    # Count rows that lie in the order of their codes, labels, and counts, if any.
    cdef void add(
        self, const uint8_t* codes, const label_t* y, const int32_t* count, intp_t n
    ) noexcept nogil
    # Count tagged rows by their codes of at most MOST_COLUMNS features, of one byte each.
    cdef void add_columns(
        self, RowCodes row_codes, const int32_t* features, intp_t n_features,
        const uint64_t* rows, intp_t n
    ) noexcept nogil
    # The number of tests of a column counted alone, as Scan.walk_histogram has them.
    cdef intp_t walk(
        self, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil
    # The same of one that was counted beside others; -1: it was not, or has been walked.
    cdef intp_t walk_waiting(
        self, intp_t feature, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil
    cdef void _forget(self) noexcept nogil
    cdef intp_t _walk(
        self, intp_t place, Scan scan, intp_t n_levels, const float64_t* total
    ) noexcept nogil
