# What a table of the rows of a sample would say of its columns.

from skconftree.tables._encoded_table cimport Column, EncodedTable, floor_of
from skconftree.utils._typedefs cimport (
    float32_t, int32_t, intp_t, uint8_t, uint64_t,
)

cdef enum:
    NO_CODE = 0x7FFFFFFF


cdef struct DrawnColumn:
    bint coded              # few values; else codes are ranks among those of all rows
    bint has_missing
    intp_t n_levels         # values, if it is coded
    int32_t missing         # the code of rows without a value; no code is so large if
                            # there are none


# Set all of `column`. `rows` are those of the sample, tagged, and `count` is by row of the
# table; `n_codes` are those of the feature; found has room for MAX_LEVELS. False if the
# feature is sorted and the sample has so few of its values that it would be coded.
cdef bint describe_column(
    EncodedTable table, intp_t feature, intp_t n_codes, const uint64_t* rows, intp_t n,
    const int32_t* count, uint8_t* found, DrawnColumn* column,
) noexcept nogil


# The value of a row that has this code, and the smallest that such a code stands for.
cdef inline float32_t value_of(
    EncodedTable table, intp_t feature, intp_t row, int32_t code
) noexcept nogil:
    cdef const Column* column = &table.columns[feature]
    if column.levels != NULL:
        return column.levels[code]
    return column.values[row * table.stride]


cdef inline float32_t smallest_of(
    EncodedTable table, intp_t feature, intp_t row, int32_t code
) noexcept nogil:
    cdef const Column* column = &table.columns[feature]
    if column.levels != NULL:
        return floor_of(column, code)
    return column.values[row * table.stride]
