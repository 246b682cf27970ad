# Counter-based random numbers: each number is a hash of its key (an integer made from the
# seed and, for example, a row index), and therefore depends neither on the order in which
# numbers are generated nor on the number of threads.

cimport cython

from skconftree.utils._typedefs cimport float64_t, uint64_t


@cython.overflowcheck(False)     # arithmetic modulo 2^64
cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    # The finalizer of the random number generator SplitMix64, as a hash function.
    x += <uint64_t> 0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline float64_t unit(uint64_t key) noexcept nogil:
    # A number in [0, 1), made from the upper 53 bits of a key; uniform if the key is a
    # hash, such as a result of mix().
    return <float64_t> (key >> 11) / 9007199254740992.0     # 2^53
