# Bins of about as many rows each. What bins there are depends on sums of weights alone, in
# whatever order rows come.

from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, uint8_t, uint64_t


# Where a value goes among `max_bins` bins of equal weight: where the middle of its rows
# falls, of which `below` have less and `here` the value.
cdef inline intp_t bin_of(
    float64_t below, float64_t here, float64_t total, intp_t max_bins
) noexcept nogil:
    return min(<intp_t> ((below + here / 2.0) / total * max_bins), max_bins - 1)


# Bins of the values of `n_levels` codes, of which the last is NaN if some are missing:
# codes become those of bins, which have these floors and levels. How many there are.
cdef intp_t bin_levels(
    const float32_t* values, intp_t n_levels, bint has_missing, intp_t n,
    intp_t max_bins, uint8_t* codes, float32_t* floors, float32_t* levels,
) noexcept nogil

# The same of a column without NaN that is spread so evenly that few of its rows need be
# sorted; else 0. `room` has 2 n + BIN_ROOM words.
cdef enum:
    BIN_ROOM = 81928        # cells, each 10 bytes

cdef intp_t bin_spread(
    const float32_t* values, intp_t n, intp_t max_bins, uint64_t* room,
    uint8_t* codes, float32_t* floors, float32_t* levels,
) noexcept nogil
