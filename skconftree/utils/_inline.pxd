# Small inline functions of compiled code.

from libc.math cimport isfinite

from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, uint64_t

# Two sums that differ by less than this fraction are regarded as equal: the difference can
# be a rounding error.

cdef extern from *:
    """
    #define SKCONFTREE_ROUNDING 1e-12
    """
    const double ROUNDING "SKCONFTREE_ROUNDING"


# The threshold between two neighboring values.

cdef inline float64_t midpoint(float32_t low, float32_t high) noexcept nogil:
    # Equals the threshold of scikit-learn, also on overflow. As low < high in float32,
    # the sum can only reach `high` by rounding.
    cdef float64_t threshold = <float64_t> low / 2.0 + <float64_t> high / 2.0
    if threshold == high or not isfinite(threshold):
        threshold = low
    return threshold


# Index of the lowest and the highest set bit of a number other than 0.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int skconftree_lowest_bit(unsigned long long bits)
    {
        unsigned long index;
        _BitScanForward64(&index, bits);
        return (int) index;
    }
    static int skconftree_highest_bit(unsigned long long bits)
    {
        unsigned long index;
        _BitScanReverse64(&index, bits);
        return (int) index;
    }
    #else
    #define skconftree_lowest_bit(bits) __builtin_ctzll(bits)
    #define skconftree_highest_bit(bits) (63 - __builtin_clzll(bits))
    #endif
    """
    intp_t lowest_bit "skconftree_lowest_bit"(uint64_t bits) nogil
    intp_t highest_bit "skconftree_highest_bit"(uint64_t bits) nogil


# Hint to the processor that memory will soon be read; does nothing on some compilers.

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define skconftree_prefetch(address) __builtin_prefetch(address)
    #else
    #define skconftree_prefetch(address) ((void) (address))
    #endif
    """
    void prefetch "skconftree_prefetch"(const void* address) nogil
