# The two means that are nearest to a row, in whole numbers.
#
# Sums of whole numbers are exact in any order: compilers make vector instructions of the
# products, whatever the processor, and what is found is the same.
#
# Means are looked at four at a time and the last two together, with one behind them if
# there is no other: many nodes have two or three means and few rows, so a loop over these
# would rarely end where the processor expects it.

from skconftree.utils._typedefs cimport int16_t, int32_t, int64_t, intp_t, uint64_t

cdef enum:
    LANES = 16          # vectors are filled up with zeros to a multiple of this
    BEHIND = 1          # vectors that have to lie behind the last mean


cdef inline void two_nearest(
    const int16_t* row, int64_t square, const int16_t* means, const int32_t* squares,
    intp_t n, intp_t width, uint64_t* found,
) noexcept nogil:
    # What is found of the nearest mean and of the next, the first of equally near ones:
    # its squared distance times 2^16, and its place among the n means. Without a second
    # one it is 2^64 - 1. `square` and `squares` are squared lengths, and sums of products
    # fit into 32 bits.
    cdef uint64_t a, b
    cdef int32_t p, q, r, s
    cdef intp_t j = 0
    cdef intp_t f
    width = width & -LANES      # compilers see that nothing is left over
    found[0] = found[1] = ~<uint64_t> 0
    while j + 2 < n:
        p = q = r = s = 0
        for f in range(width):
            p += <int32_t> row[f] * <int32_t> means[f]
            q += <int32_t> row[f] * <int32_t> means[width + f]
            r += <int32_t> row[f] * <int32_t> means[2 * width + f]
            s += <int32_t> row[f] * <int32_t> means[3 * width + f]
        a = distance_of(square + squares[j], p, j, n)
        b = distance_of(square + squares[j + 1], q, j + 1, n)
        sort_in(found, a, b)
        a = distance_of(square + squares[j + 2], r, j + 2, n)
        b = distance_of(square + squares[j + 3], s, j + 3, n)
        sort_in(found, a, b)
        means += 4 * width
        j += 4
    if j < n:
        p = q = 0
        for f in range(width):
            p += <int32_t> row[f] * <int32_t> means[f]
            q += <int32_t> row[f] * <int32_t> means[width + f]
        a = distance_of(square + squares[j], p, j, n)
        b = distance_of(square + squares[j + 1], q, j + 1, n)
        sort_in(found, a, b)


cdef inline uint64_t distance_of(
    int64_t squares, int32_t product, intp_t place, intp_t n
) noexcept nogil:
    cdef uint64_t distance = <uint64_t> (squares - 2 * <int64_t> product) << 16
    return distance | <uint64_t> place if place < n else ~<uint64_t> 0


cdef inline void sort_in(uint64_t* found, uint64_t a, uint64_t b) noexcept nogil:
    # The two least of these and of what was found.
    cdef uint64_t less = min(a, b)
    found[1] = min(min(found[1], max(a, b)), max(found[0], less))
    found[0] = min(found[0], less)
