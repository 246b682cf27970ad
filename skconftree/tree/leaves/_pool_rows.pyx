"""The unlabelled rows in each leaf."""

from libc.string cimport memcpy, memmove, memset

from skconftree.tree.leaves._parting cimport outcome_of
from skconftree.utils._sorting cimport presort
from skconftree.utils._spare_memory cimport resize_array, take_array
from skconftree.utils._typedefs cimport int16_t


cdef int open_lists(Policy* policy, intp_t n_rows) except -1:
    cdef Blocks* blocks = policy.blocks
    cdef intp_t n_lines = 1
    cdef intp_t f
    for f in range(policy.n_features):
        n_lines += policy.pool_line[f] > 0
    policy.pool.rows = <int32_t*> take_array(
        blocks, n_lines * n_rows, sizeof(int32_t)
    )
    policy.pool.moved = <int32_t*> take_array(blocks, n_rows, sizeof(int32_t))
    policy.pool.outcome = <int16_t*> take_array(blocks, n_rows, sizeof(int16_t))
    policy.pool.n_rows = n_rows
    policy.pool.n_lines = n_lines
    return 0


cdef intp_t pool_bytes(const Policy* policy) noexcept nogil:
    return policy.pool.n_rows * (
        (policy.pool.n_lines + 1) * sizeof(int32_t) + sizeof(int16_t)
    )


cdef void sort_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool,
    float32_t* column, uint64_t* keys, uint32_t* order,
) noexcept nogil:
    cdef intp_t n = leaf.n_pool
    cdef intp_t f, i
    cdef int32_t* line
    for f in range(policy.n_features):
        if policy.pool_line[f] == 0:
            continue
        line = <int32_t*> line_of(leaf, policy, f)
        for i in range(n):
            column[i] = pool[leaf.pool[i], f]
        presort(column, n, keys, keys + n, order)
        for i in range(n):
            line[i] = leaf.pool[order[i] >> 1]
    leaf.pool_sorted = True


cdef int reserve_places(Leaf* leaf, const Policy* policy) except -1 nogil:
    cdef size_t size = (policy.pool.n_lines - 1) * sizeof(int32_t)
    cdef intp_t n = leaf.n_placed
    if leaf.n_rows <= n or size == 0:
        return 0
    n = max(2 * n, leaf.n_rows)
    leaf.places = <int32_t*> resize_array(policy.blocks, leaf.places, n, size)
    memset(
        leaf.places + leaf.n_placed * (policy.pool.n_lines - 1), 255,
        (n - leaf.n_placed) * size,
    )
    leaf.n_placed = n
    return 0


cdef void part_pool(
    const Leaf* parent, const Policy* policy, const Parting* parting,
    const float32_t[:, ::1] pool, Leaf** children,
) noexcept nogil:
    # The children's rows, and what is left of the order. Nothing can fail.
    cdef intp_t n = parent.n_pool
    cdef intp_t r = parting.n_outcomes
    cdef intp_t n_lines = policy.pool.n_lines if parent.pool_sorted else 1
    cdef int32_t* line = parent.pool
    cdef int32_t* moved = policy.pool.moved
    cdef int16_t* outcome = policy.pool.outcome
    cdef Leaf* child
    cdef intp_t i, j, z, at
    if n == 0:
        return
    for i in range(n):
        z = outcome_of(parting, pool[line[i], parting.feature])
        outcome[line[i]] = <int16_t> z
        children[z].n_pool += 1
    at = 0
    for z in range(r):
        child = children[z]
        child.pool = line + at
        child.pool_sorted = parent.pool_sorted
        at += child.n_pool
    for j in range(n_lines):
        memcpy(moved, line, n * sizeof(int32_t))
        for z in range(r):
            children[z].n_pool = 0
        for i in range(n):
            child = children[outcome[moved[i]]]
            (child.pool + j * policy.pool.n_rows)[child.n_pool] = moved[i]
            child.n_pool += 1
        line += policy.pool.n_rows


cdef intp_t place_in_pool(const Leaf* leaf, intp_t row) noexcept nogil:
    cdef intp_t place = _place_of(leaf.pool, 0, leaf.n_pool, row)
    if place < leaf.n_pool and leaf.pool[place] == row:
        return place
    return -1


cdef intp_t _place_of(
    const int32_t* line, intp_t low, intp_t high, intp_t row
) noexcept nogil:
    # The first place of a row as large, in a part of a line in ascending order.
    cdef intp_t middle
    while low < high:
        middle = low + ((high - low) >> 1)
        if line[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


cdef void leave_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool, intp_t place
) noexcept nogil:
    # The range keeps its place; what is behind the row in it moves up. A negative place
    # is none.
    cdef intp_t n = leaf.n_pool
    cdef intp_t n_lines = policy.pool.n_lines - 1
    cdef intp_t f, i, low, high, row
    cdef int32_t* line
    cdef int32_t* cut
    cdef float32_t value
    if place < 0:
        return
    row = leaf.pool[place]
    _close_up(leaf.pool, place, n)
    if leaf.pool_sorted:
        for f in range(policy.n_features):
            if policy.pool_line[f] == 0:
                continue
            line = <int32_t*> line_of(leaf, policy, f)
            value = pool[row, f]
            if value == value:
                low = first_above(pool, line, 0, n, f, value, True)
                high = first_above(pool, line, low, n, f, value, False)
            else:
                low = n_with_value(pool, line, n, f)
                high = n
            low = _place_of(line, low, high, row)
            _close_up(line, low, n)
            for i in range(leaf.n_placed):
                cut = leaf.places + i * n_lines + policy.pool_line[f] - 1
                cut[0] -= cut[0] > low
    leaf.n_pool -= 1


cdef void _close_up(int32_t* line, intp_t place, intp_t n) noexcept nogil:
    memmove(line + place, line + place + 1, (n - place - 1) * sizeof(int32_t))
