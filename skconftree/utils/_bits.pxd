# Bits of a number that is not 0.

from skconftree.utils._typedefs cimport intp_t, uint64_t

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
