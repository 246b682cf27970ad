# Stable partition of a range of rows: the rows of the first child come first, and each
# child's rows keep their order.
#
# Rows sorted by a value are stored as entries, (row << 1) | new. The lowest bit is 1 (the entry
# is new) if the value differs from that of the previous entry. In a child, an entry is new if
# it, or any entry between it and the child's previous one, was new. The bit of the first entry
# of a range is undefined. Scratch arrays are work memory: their contents do not matter.

from skconftree.utils._typedefs cimport float64_t, intp_t, label_t, uint8_t, uint32_t, uint64_t

ctypedef fused element_t:
    uint8_t
    label_t
    uint32_t
    uint64_t
    float64_t


# Partition `values`, in place; sides[i] is 1 if values[i] goes left. scratch has n elements.
cdef void partition_values(
    element_t* values, intp_t n, const uint8_t* sides, element_t* scratch
) noexcept nogil

# The same for any number of children: values[i] goes to the child branches[i], which begins
# at starts[branches[i]]. `at`, scratch, has n_outcomes elements.
cdef void scatter_values(
    element_t* values, intp_t n, const label_t* branches, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, element_t* scratch,
) noexcept nogil

# Partition entries by goes_left[row]; returns the number of entries that go left.
cdef intp_t partition_entries(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil
# The same in less than half the time if all values of the range are distinct. Such a range is
# marked: the bit of its first entry is 0; otherwise it is 1. mark_distinct() sets this bit.
cdef void partition_sorted(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil
cdef void mark_distinct(uint32_t* entries, intp_t n) noexcept nogil
# The same for any number of children: the row goes to branch[row]. `at`, scratch, has two elements
# per child.
cdef void scatter_entries(
    uint32_t* entries, intp_t n, const label_t* branch, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, uint32_t* scratch,
) noexcept nogil
# The same for entries whose bit is 0: rows in ascending order, without or with codes (an array in
# the same order). The code of an entry is the rank of its value among those of the column.
cdef intp_t partition_rows(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil
cdef intp_t partition_codes(
    uint32_t* entries, uint8_t* codes, intp_t n, const uint8_t* goes_left,
    uint32_t* scratch, uint8_t* code_scratch,
) noexcept nogil

# Copy the entries of the rows with present[row] = 1; returns their number. `to` has space for
# one more element.
cdef intp_t copy_entries(
    const uint32_t* entries, intp_t n, const uint8_t* present, uint32_t* to
) noexcept nogil
