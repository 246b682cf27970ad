from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport (
    float32_t, int32_t, int64_t, intp_t, uint16_t, uint32_t, uint64_t, uint8_t,
)

# SparseTable: a CSC table with access by column and by element.

cdef class SparseTable:
    cdef readonly intp_t n_rows
    cdef readonly intp_t n_features
    cdef readonly intp_t n_stored
    # The arrays indptr, indices and data of SciPy; the rows of a column are ascending.
    cdef const int32_t* starts      # [n_features + 1]
    cdef const int64_t* wide_starts     # the same in 64 bits, if needed; or NULL
    cdef const int32_t* rows        # [n_stored]
    cdef const float32_t* values    # [n_stored]
    cdef object _owners             # keeps the arrays alive

    cdef inline intp_t start(self, intp_t feature) noexcept nogil:
        if self.wide_starts != NULL:
            return <intp_t> self.wide_starts[feature]
        return self.starts[feature]

    cdef inline float32_t value(self, intp_t row, intp_t feature) noexcept nogil:
        # Binary search; 0 if the value is not stored.
        cdef intp_t low = self.start(feature)
        cdef intp_t end = self.start(feature + 1)
        cdef intp_t high = end
        cdef intp_t middle
        while low < high:
            middle = (low + high) // 2
            if self.rows[middle] < row:
                low = middle + 1
            else:
                high = middle
        if low < end and self.rows[low] == row:
            return self.values[low]
        return 0.0

    cdef bint _is_ascending(self) noexcept nogil


# SparseColumns: the nonzero values of the columns of a sparse table.
#
# Each column is stored in the smallest of four forms:
#   FULL    one byte per row, zeros included; stored in the EncodedTable instead
#   PAIR    zero and at most one other value: the rows that have the other value
#   CODED   at most MAX_LEVELS values: the nonzero rows, and the rank codes of their values
#   SORTED  more values: the nonzero rows in ascending order of the value, which is read
#           from the table
# Each stored row is an entry, (row << 1) | new. If the column is SORTED, new = 1 if the value
# differs from that of the previous entry; otherwise it is 0.
# Entries of a column are in the order of the rows, or of the values if SORTED.
#
# A tree that grows has a working copy of the columns, in which it partitions the entries by
# node (SparseRows in tree/batch/_sparse_rows.pyx).

cdef enum Form:
    FULL
    PAIR
    CODED
    SORTED


cdef struct SparseColumn:   # small, because a table may have a million columns
    # Its entries are [begin, end) among those of all columns. In a working copy, they are
    # the entries of the current node, and those of its first child are [begin, middle).
    uint32_t begin
    uint32_t end
    uint32_t middle
    int32_t visit           # in a working copy: SparseRows.visit when `begin` and `end` were
                            # set; the current node has entries here only if both are equal
    uint32_t levels         # index of its first level (distinct value, ascending)
    uint16_t n_levels       # 0 if SORTED
    uint8_t zero            # code of zero; if SORTED, whether there are negative values
    uint8_t form            # one of the four


cdef class SparseColumns:
    cdef SparseTable table
    cdef Arena arena
    cdef SparseColumn* columns      # [n_features of the table]
    cdef uint32_t* entries          # [n_entries]
    cdef uint8_t* codes             # of the entries of CODED columns
    cdef float32_t* levels          # [n_levels] ascending within a column
    cdef intp_t n_entries
    cdef intp_t n_levels

    # The column that is being read: read() makes it an entry of `columns`.
    cdef Arena scratch
    cdef intp_t pair_levels         # index of the levels of the last PAIR
    cdef intp_t level_capacity      # size of `levels`
    cdef intp_t n_read              # number of nonzero values: entries from n_entries on,
    cdef float32_t* read_values     # the values, their codes and levels
    cdef uint8_t* read_codes
    cdef float32_t* read_levels
    cdef void* keys                 # scratch of presort(): [n_rows] of 8, 8 and 4 bytes

    # begin_reading() and end_reading() allocate and free `scratch`. Between them, read()
    # is called for each feature in ascending order.
    cdef int begin_reading(self) except -1 nogil
    cdef int read(self, intp_t feature) except -1 nogil
    cdef int _store_levels(self, SparseColumn* column) except -1 nogil
    cdef void _sort(self, SparseColumn* column) noexcept nogil
    cdef int end_reading(self) except -1
