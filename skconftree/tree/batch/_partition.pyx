"""Stable partition of a range of rows between children; each child's rows keep their order.

Rows sorted by a value are stored as entries, (row << 1) | new, where new = 1 if the value differs
from that of the previous entry. A range of distinct values has 0 in its first entry instead. See
_partition.pxd.
"""

cimport cython
from libc.string cimport memcpy


cdef void partition_values(
    element_t* values, intp_t n, const uint8_t* sides, element_t* scratch
) noexcept nogil:
    # Without branches: every element is written to both sides, and the index of its side is
    # incremented. values[left] is never ahead of values[i].
    cdef intp_t left = 0, i
    cdef element_t value
    for i in range(n):
        value = values[i]
        values[left] = value
        scratch[i - left] = value
        left += sides[i]
    memcpy(values + left, scratch, (n - left) * sizeof(element_t))


cdef void scatter_values(
    element_t* values, intp_t n, const label_t* branches, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, element_t* scratch,
) noexcept nogil:
    cdef intp_t i
    memcpy(at, starts, n_outcomes * sizeof(intp_t))
    for i in range(n):
        scratch[at[branches[i]]] = values[i]
        at[branches[i]] += 1
    memcpy(values, scratch, n * sizeof(element_t))


@cython.overflowcheck(False)     # -side has all bits set or none
cdef intp_t partition_entries(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil:
    cdef intp_t left = 0, right = 0
    cdef uint32_t new_left = 0, new_right = 0, entry, row, side
    cdef intp_t i
    for i in range(n):
        entry = entries[i]
        row = entry >> 1
        side = goes_left[row]
        new_left |= entry & 1
        new_right |= entry & 1
        row <<= 1
        entries[left] = row | new_left
        scratch[right] = row | new_right
        left += side
        right += 1 - side
        new_left &= side - 1
        new_right &= -side
    memcpy(entries + left, scratch, right * sizeof(uint32_t))
    return left


cdef void partition_sorted(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil:
    # Otherwise the values of the range are distinct, and so are those of each child.
    cdef intp_t left = 0, i
    cdef uint32_t entry
    if entries[0] & 1:
        left = partition_entries(entries, n, goes_left, scratch)
        mark_distinct(entries, left)
        mark_distinct(entries + left, n - left)
        return
    entries[0] |= 1
    for i in range(n):
        entry = entries[i]
        entries[left] = entry
        scratch[i - left] = entry
        left += goes_left[entry >> 1]
    memcpy(entries + left, scratch, (n - left) * sizeof(uint32_t))
    entries[0] ^= 1
    if 0 < left < n:
        entries[left] ^= 1


cdef void mark_distinct(uint32_t* entries, intp_t n) noexcept nogil:
    # Set the bit of the first entry to 0 if all values are distinct, else to 1.
    cdef intp_t i = 1
    while i < n and entries[i] & 1:
        i += 1
    if n > 0:
        entries[0] |= 1
    if 0 < n <= i:
        entries[0] ^= 1


cdef void scatter_entries(
    uint32_t* entries, intp_t n, const label_t* branch, const intp_t* starts,
    intp_t n_outcomes, intp_t* at, uint32_t* scratch,
) noexcept nogil:
    cdef intp_t i, z
    cdef uint32_t row
    cdef intp_t n_values = 0
    cdef intp_t* last = at + n_outcomes     # [child] index of the value of its last entry
    memcpy(at, starts, n_outcomes * sizeof(intp_t))
    for z in range(n_outcomes):
        last[z] = -1
    for i in range(n):
        n_values += entries[i] & 1
        row = entries[i] >> 1
        z = branch[row]
        scratch[at[z]] = (row << 1) | <uint32_t> (last[z] != n_values)
        last[z] = n_values
        at[z] += 1
    memcpy(entries, scratch, n * sizeof(uint32_t))


cdef intp_t partition_rows(
    uint32_t* entries, intp_t n, const uint8_t* goes_left, uint32_t* scratch
) noexcept nogil:
    cdef intp_t left = 0, right = 0
    cdef uint32_t entry
    cdef uint8_t side
    cdef intp_t i
    while left < n and goes_left[entries[left] >> 1]:
        left += 1   # fast path: often all entries go left
    for i in range(left, n):
        entry = entries[i]
        side = goes_left[entry >> 1]
        entries[left] = entry
        scratch[right] = entry
        left += side
        right += 1 - side
    memcpy(entries + left, scratch, right * sizeof(uint32_t))
    return left


cdef intp_t partition_codes(
    uint32_t* entries, uint8_t* codes, intp_t n, const uint8_t* goes_left,
    uint32_t* scratch, uint8_t* code_scratch,
) noexcept nogil:
    cdef intp_t left = 0, right = 0
    cdef uint32_t entry
    cdef uint8_t code, side
    cdef intp_t i
    while left < n and goes_left[entries[left] >> 1]:
        left += 1   # fast path: often all entries go left
    for i in range(left, n):
        entry = entries[i]
        code = codes[i]
        side = goes_left[entry >> 1]
        entries[left] = entry
        codes[left] = code
        scratch[right] = entry
        code_scratch[right] = code
        left += side
        right += 1 - side
    memcpy(entries + left, scratch, right * sizeof(uint32_t))
    memcpy(codes + left, code_scratch, right)
    return left


@cython.overflowcheck(False)     # side - 1 has all bits set or none
cdef intp_t copy_entries(
    const uint32_t* entries, intp_t n, const uint8_t* present, uint32_t* to
) noexcept nogil:
    # Without branches: entries of rows that are not present are overwritten.
    cdef intp_t n_copied = 0
    cdef uint32_t new = 0, entry, side
    cdef intp_t i
    for i in range(n):
        entry = entries[i]
        side = present[entry >> 1]
        new |= entry & 1
        to[n_copied] = (entry & ~(<uint32_t> 1)) | new
        n_copied += side
        new &= side - 1
    return n_copied
