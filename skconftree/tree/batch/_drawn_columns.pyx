"""What a table of the rows of a sample would say of its columns."""

from libc.math cimport isnan
from libc.string cimport memset

from skconftree.tables._encoded_table cimport Column
from skconftree.tables._encoding cimport MAX_LEVELS
from skconftree.tree.batch._tagged_rows cimport row_of


cdef bint describe_column(
    EncodedTable table, intp_t feature, intp_t n_codes, const uint64_t* rows, intp_t n,
    const int32_t* count, uint8_t* found, DrawnColumn* column,
) noexcept nogil:
    cdef const Column* original = &table.columns[feature]
    column.coded = original.order == NULL
    column.n_levels = original.n_levels
    column.has_missing = original.has_missing
    column.missing = NO_CODE
    if original.has_missing:
        column.missing = <int32_t> (n_codes - 1)
    if original.nominal or n == table.n_rows:
        return True
    if column.coded:
        column.n_levels = _count_levels(original, rows, n, found)
        if original.has_missing:
            column.has_missing = found[original.n_levels - 1]
        return True
    if original.has_missing:
        column.has_missing = _misses_some(table, original, count)
    return _has_many_values(original, table.n_rows, count)


cdef intp_t _count_levels(
    const Column* column, const uint64_t* rows, intp_t n, uint8_t* found
) noexcept nogil:
    cdef intp_t n_levels = 0
    cdef intp_t i
    memset(found, 0, MAX_LEVELS)
    for i in range(n):
        n_levels += not found[column.codes[row_of(rows[i])]]
        found[column.codes[row_of(rows[i])]] = 1
        if n_levels == column.n_levels:
            break
    return n_levels


cdef bint _has_many_values(
    const Column* column, intp_t n_table, const int32_t* count
) noexcept nogil:
    # More than MAX_LEVELS.
    cdef intp_t n_levels = 0
    cdef bint new = True
    cdef intp_t i
    for i in range(n_table):
        new = new or column.order[i] & 1
        if new and count[column.order[i] >> 1] > 0:
            n_levels += 1
            new = False
            if n_levels > MAX_LEVELS:
                return True
    return False


cdef bint _misses_some(
    EncodedTable table, const Column* column, const int32_t* count
) noexcept nogil:
    # Whether a row of the sample has no value of a sorted feature: the last entries.
    cdef intp_t i = table.n_rows - 1
    cdef intp_t row
    while i >= 0:
        row = column.order[i] >> 1
        if not isnan(column.values[row * table.stride]):
            return False
        if count[row] > 0:
            return True
        i -= 1
    return False
