"""Counts of values in cells of their ordered bits, and codes by the bits of floors."""

import numpy as np

from libc.math cimport isnan

from skconftree.tables._equal_bins cimport bin_of
from skconftree.tables._encoding cimport MAX_LEVELS, encode
from skconftree.utils._sorting cimport (
    make_nan_canonical, ordered_bits, value_of_bits,
)
from skconftree.utils._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, uint8_t, uint32_t,
)

cdef enum:
    HALF = 65536            # high halves of ordered bits

cdef uint32_t MISSING_BITS = 0xFFC00000     # ordered bits of NaN

MISSING = MISSING_BITS

FEW_FLOORS = 16     # of a column whose values are coded without a guide


def few_values(const float32_t[:, ::1] X not None, intp_t feature):
    """Ordered bits of the values of a column, NaN among them, and how many rows have
    each; None: there are more than 256.
    """
    cdef intp_t n = X.shape[0]
    column = np.array(X[:, feature])
    cdef float32_t[::1] values = column
    cdef uint8_t[::1] codes = np.empty(n, dtype=np.uint8)
    cdef float32_t levels[MAX_LEVELS]
    cdef intp_t n_levels = 0
    cdef intp_t i
    if n > 0:
        with nogil:
            make_nan_canonical(&values[0], n)
            n_levels = encode(&values[0], n, &codes[0], levels)
        if n_levels == 0:
            return None
    found = np.empty(n_levels, dtype=np.uint32)
    counts = np.zeros(n_levels, dtype=np.int64)
    cdef uint32_t[::1] out = found
    cdef int64_t[::1] n_rows = counts
    for i in range(n_levels):
        out[i] = MISSING_BITS if isnan(levels[i]) else ordered_bits(levels[i])
    for i in range(n):
        n_rows[codes[i]] += 1
    return found, counts


def count_cells(
    const float32_t[:, ::1] X not None, intp_t feature,
    const int32_t[::1] first not None, const uint32_t[::1] prefixes not None,
    intp_t known, intp_t next_bits,
    int64_t[:, ::1] counts not None, uint32_t[:, ::1] least not None,
    uint32_t[:, ::1] most not None,
):
    """Count a column's values in cells, with the least and the most bits of each.

    The cells are those of the next bits behind prefixes of `known` bits, 0 or at least
    16. Values whose high half is h have prefixes from place first[h] to first[h + 1].
    Gives the number of NaN.
    """
    cdef intp_t n = X.shape[0]
    cdef uint32_t mask = (<uint32_t> 1 << next_bits) - 1
    cdef intp_t shift = 32 - known - next_bits
    cdef uint32_t bits, prefix
    cdef intp_t n_missing = 0
    cdef intp_t i, k, cell
    cdef float32_t value
    with nogil:
        for i in range(n):
            value = X[i, feature]
            if isnan(value):
                n_missing += 1
                continue
            bits = ordered_bits(value)
            if known == 0:
                k = 0
            else:
                prefix = bits >> (32 - known)
                k = first[bits >> 16]
                while k < first[(bits >> 16) + 1] and prefixes[k] != prefix:
                    k += 1
                if k == first[(bits >> 16) + 1]:
                    continue
            cell = (bits >> shift) & mask
            counts[k, cell] += 1
            least[k, cell] = min(least[k, cell], bits)
            most[k, cell] = max(most[k, cell], bits)
    return n_missing


def bins_of(
    const int64_t[::1] below not None, const int64_t[::1] here not None, int64_t total,
    intp_t max_bins,
):
    """Bin of values of which there are so many, and so many below."""
    cdef intp_t n = below.shape[0]
    found = np.empty(n, dtype=np.intp)
    cdef intp_t[::1] out = found
    cdef intp_t i
    for i in range(n):
        out[i] = bin_of(
            <float64_t> below[i], <float64_t> here[i], <float64_t> total, max_bins
        )
    return found


def values_of(const uint32_t[::1] bits not None):
    """Values of ordered bits."""
    cdef intp_t i
    found = np.empty(bits.shape[0], dtype=np.float32)
    cdef float32_t[::1] out = found
    for i in range(bits.shape[0]):
        out[i] = value_of_bits(bits[i])
    return found


cdef class Coder:
    """Codes of values: the last floor, in ordered bits, that is not above.

    `missing` is the code of NaN, -1 if there are none. Few floors are searched without
    a guide, which takes 64 kilobytes.
    """

    cdef const uint32_t[::1] floors
    cdef intp_t missing
    # The last floor whose high half is below, or the first; None: there is no guide.
    cdef uint8_t[::1] guide

    def __init__(self, const uint32_t[::1] floors not None, intp_t missing):
        cdef intp_t low = 0
        cdef intp_t h
        self.floors = floors
        self.missing = missing
        self.guide = None
        if floors.shape[0] <= FEW_FLOORS:
            return
        self.guide = np.empty(HALF + 1, dtype=np.uint8)
        for h in range(HALF + 1):
            while low + 1 < floors.shape[0] and floors[low + 1] >> 16 < h:
                low += 1
            self.guide[h] = <uint8_t> low

    def __reduce__(self):
        return Coder, (np.asarray(self.floors), self.missing)

    def code(
        self, const float32_t[:, ::1] X not None, intp_t feature,
        uint8_t[::1] codes not None,
    ):
        """Write the codes of a column; whether each value has one."""
        cdef const uint32_t[::1] floors = self.floors
        cdef bint is_guided = self.guide is not None
        cdef bint sound = True
        cdef intp_t i, low, high, middle
        cdef uint32_t bits
        with nogil:
            for i in range(X.shape[0]):
                if isnan(X[i, feature]):
                    sound = sound and self.missing >= 0
                    codes[i] = <uint8_t> (self.missing & 0xFF)
                    continue
                bits = ordered_bits(X[i, feature])
                if floors.shape[0] == 0 or bits < floors[0]:
                    sound = False
                    continue
                low = 0
                high = floors.shape[0]
                if is_guided:
                    low = self.guide[bits >> 16]
                    high = self.guide[(bits >> 16) + 1] + 1
                while high - low > 1:
                    middle = (low + high) // 2
                    if floors[middle] <= bits:
                        low = middle
                    else:
                        high = middle
                codes[i] = <uint8_t> low
        return sound
