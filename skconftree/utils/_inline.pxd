# Small inline functions of compiled code.

from libc.math cimport isfinite

from skconftree.utils._typedefs cimport float32_t, float64_t, intp_t, uint64_t

# What rounding can make of sums that are equal on paper: this share of them, at most.

cdef extern from *:
    """
    #define SKCONFTREE_ROUNDING 1e-12
    """
    const double ROUNDING "SKCONFTREE_ROUNDING"


# The threshold between two neighbouring values.

cdef inline float64_t midpoint(float32_t low, float32_t high) noexcept nogil:
    # As scikit-learn's, overflow included: low < high in float32, so that only a
    # rounded half can reach high.
    cdef float64_t cut = <float64_t> low / 2.0 + <float64_t> high / 2.0
    if cut == high or not isfinite(cut):
        cut = low
    return cut


# Bits of a number that is not 0.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int skconftree_lowest_bit(unsigned long long bits)
    {
        unsigned long found;
        _BitScanForward64(&found, bits);
        return (int) found;
    }
    static int skconftree_highest_bit(unsigned long long bits)
    {
        unsigned long found;
        _BitScanReverse64(&found, bits);
        return (int) found;
    }
    #else
    #define skconftree_lowest_bit(bits) __builtin_ctzll(bits)
    #define skconftree_highest_bit(bits) (63 - __builtin_clzll(bits))
    #endif
    """
    intp_t lowest_bit "skconftree_lowest_bit"(uint64_t bits) nogil
    intp_t highest_bit "skconftree_highest_bit"(uint64_t bits) nogil


# A hint that memory will soon be read; it may do nothing.

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define skconftree_prefetch(address) __builtin_prefetch(address)
    #else
    #define skconftree_prefetch(address) ((void) (address))
    #endif
    """
    void prefetch "skconftree_prefetch"(const void* address) nogil
