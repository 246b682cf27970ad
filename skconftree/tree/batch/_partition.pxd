# Stable partition of a range of rows: what belongs to the first child comes first,
# each child in the order it had.
#
# An ENTRY of rows in the order of a value is (row << 1) | new, where new says that the
# value differs from that of the entry before it. In a child, an entry is new if it or
# any entry dropped since the child's last one was new; at the first entry of a range
# the bit means nothing.

from skconftree.utils._typedefs cimport (
    float64_t, intp_t, label_t, uint8_t, uint32_t, uint64_t,
)

ctypedef fused element_t:
    uint8_t
    label_t
    uint32_t
    uint64_t
    float64_t


# sides[i] is 1 where values[i] goes left. scratch has room for n.
cdef void partition_values(
    element_t* values, intp_t n, const uint8_t* sides, element_t* scratch
) noexcept nogil

# The same for any number of children, those of values[i] being branches[i], which begin
# at `starts`; at has room for n_outcomes.
cdef void scatter_values(
    element_t* values, intp_t n, const label_t* branches, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, element_t* scratch,
) noexcept nogil

# Entries, by rows; the number of those that go left.
cdef intp_t partition_entries(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil
# The same in less than half the time where all entries are new. In ranges that
# note_distinct() has seen, the bit of the first entry says so: it is 0 then.
cdef void partition_sorted(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil
cdef void note_distinct(uint32_t* entries, intp_t n) noexcept nogil
# The same for any number of children; at has room for two numbers a child.
cdef void scatter_entries(
    uint32_t* entries, intp_t n, const label_t* branch, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, uint32_t* scratch,
) noexcept nogil
# Entries none of which is new, alone or with a code each.
cdef intp_t partition_rows(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil
cdef intp_t partition_codes(
    uint32_t* entries, uint8_t* codes, intp_t n, const uint8_t* goes_left,
    uint32_t* scratch, uint8_t* code_scratch,
) noexcept nogil

# Copy the entries of the rows that are present; returns how many. `to` has room for one
# more.
cdef intp_t copy_entries(
    const uint32_t* entries, intp_t n, const uint8_t* present, uint32_t* to
) noexcept nogil
