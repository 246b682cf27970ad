# The exponential function of many numbers.
#
# A loop over it becomes vector instructions, which a loop over the C library's does not:
# weights are exponentials of log weights, of every particle at every row. Within 2 units
# in the last place.

cimport cython

from skconftree.utils._typedefs cimport float64_t, uint64_t

cdef union Bits:
    float64_t number
    uint64_t bits


@cython.overflowcheck(False)     # bits, not numbers
cdef inline float64_t exp_moderate(float64_t x) noexcept nogil:
    # From -300 to 300.
    cdef Bits turned
    cdef Bits found
    cdef float64_t whole
    cdef float64_t r
    # x = n ln 2 + r. Adding 1.5 * 2^52 rounds to n, which its last bits then are.
    turned.number = x * 1.4426950408889634 + 6755399441055744.0
    whole = turned.number - 6755399441055744.0
    r = x - whole * 0.693147180369123816490 - whole * 1.90821492927058770002e-10
    # Taylor: |r| < 0.35, hence the thirteenth term is below the last place.
    found.number = 1.0 + r * (1.0 + r * (0.5 + r * (
        1.6666666666666666e-1 + r * (4.1666666666666664e-2 + r * (
            8.3333333333333332e-3 + r * (1.3888888888888889e-3 + r * (
                1.9841269841269841e-4 + r * (2.4801587301587302e-5 + r * (
                    2.7557319223985893e-6 + r * (2.7557319223985888e-7 + r * (
                        2.5052108385441720e-8 + r * 2.0876756987868100e-9
                    ))))))))))
    )
    found.bits = found.bits + (turned.bits << 52)
    return found.number


cdef inline float64_t exp_negative(float64_t x) noexcept nogil:
    # Below exp(-300) it is 0: squares must not underflow, which takes a processor a
    # hundred times as long.
    cdef float64_t found = exp_moderate(x if x > -300.0 else -300.0)
    return found if x > -300.0 else 0.0
