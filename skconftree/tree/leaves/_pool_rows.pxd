# The rows without label (of X_pool) in each leaf.
#
# One permutation of all of them, in which a leaf owns a range, in ascending order; and,
# once a leaf has been examined, the same range in the order of each numeric feature's
# values, rows of equal value in ascending order and missing values last. A split
# parts the ranges of its leaf and touches no other; what is in order stays so.
#
# Where the cuts between labelled rows lie in these orders is kept as a guess for the next
# examination, which finds most of them where they were: it looks at two values instead of
# a dozen.
#
# A row whose category is not known at a node goes on with one child. A row that has got
# its label leaves the lists.

from skconftree.tree.leaves._contract cimport Leaf, Policy
from skconftree.tree.leaves._parting cimport Parting
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport (
    float32_t, int32_t, intp_t, uint32_t, uint64_t,
)

cdef int open_lists(Policy* policy, intp_t n_rows) except -1
cdef intp_t pool_bytes(const Policy* policy) noexcept nogil
# Put the rows of a leaf in the order of each feature; column, keys and order are scratch
# for as many rows, [2 * n] in the case of keys.
cdef void sort_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool,
    float32_t* column, uint64_t* keys, uint32_t* order,
) noexcept nogil
cdef void part_pool(
    const Leaf* parent, const Policy* policy, const Parting* parting,
    const float32_t[:, ::1] pool, Leaf** children,
) noexcept nogil
# Room for the places of the cuts above the labelled rows; -1 where none is known.
cdef int reserve_places(Leaf* leaf, const Policy* policy) except -1 nogil
# Place of a row in a leaf's range; -1 if it is not there.
cdef intp_t place_in_pool(const Leaf* leaf, intp_t row) noexcept nogil
cdef void leave_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool, intp_t place
) noexcept nogil


cdef inline const int32_t* line_of(
    const Leaf* leaf, const Policy* policy, intp_t feature
) noexcept nogil:
    # The leaf's rows in the order of a numeric feature.
    return leaf.pool + policy.pool_line[feature] * policy.pool.n_rows


cdef inline intp_t first_above(
    const float32_t[:, ::1] pool, const int32_t* line, intp_t low, intp_t high,
    intp_t feature, float32_t value, bint equal,
) noexcept nogil:
    # The first place, from `low` on, of a value above this one, or at least as large if
    # `equal`; `high` if there is none. A missing value is above all.
    cdef intp_t middle
    cdef float32_t x
    while low < high:
        middle = low + ((high - low) >> 1)
        x = pool[line[middle], feature]
        if x < value or (x == value and not equal):
            low = middle + 1
        else:
            high = middle
    return low


cdef inline intp_t first_beyond(
    const float32_t[:, ::1] pool, const int32_t* line, intp_t low, intp_t high,
    intp_t feature, double cut,
) noexcept nogil:
    # The first place, from `low` on, of a value that is not at most `cut`.
    cdef intp_t middle
    while low < high:
        middle = low + ((high - low) >> 1)
        if pool[line[middle], feature] <= cut:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline intp_t next_beyond(
    const float32_t[:, ::1] pool, const int32_t* line, intp_t low, intp_t high,
    intp_t feature, double cut, intp_t step,
) noexcept nogil:
    # The same place as `first_beyond`, sooner if it lies about `step` behind `low`.
    cdef intp_t place
    while True:
        place = low + step - 1
        if place >= high:
            break
        if pool[line[place], feature] <= cut:
            low = place + 1
            step *= 2
        else:
            high = place
            break
    return first_beyond(pool, line, low, high, feature, cut)


cdef inline bint is_beyond(
    const float32_t[:, ::1] pool, const int32_t* line, intp_t low, intp_t high,
    intp_t feature, double cut, intp_t place,
) noexcept nogil:
    # Whether it is the place of `first_beyond`. Values below `low` are at most `cut`.
    return (
        low <= place <= high
        and (place == low or pool[line[place - 1], feature] <= cut)
        and (place == high or not pool[line[place], feature] <= cut)
    )


cdef inline intp_t n_with_value(
    const float32_t[:, ::1] pool, const int32_t* line, intp_t n, intp_t feature
) noexcept nogil:
    cdef intp_t low = 0
    cdef intp_t high = n
    cdef intp_t middle
    cdef float32_t x
    while low < high:
        middle = low + ((high - low) >> 1)
        x = pool[line[middle], feature]
        if x == x:
            low = middle + 1
        else:
            high = middle
    return low
