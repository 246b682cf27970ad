"""Routing of many rows through a tree whose nodes are packed."""

from skconftree.utils._prefetch cimport prefetch
from skconftree.utils._sorting cimport ordered_bits
from skconftree.utils._typedefs cimport uint64_t

cdef enum:
    ROUND = 4           # steps between two looks at who has arrived
    LINE = 16           # values in a line of the cache
    PART_BYTES = 131072


cdef uint32_t LARGEST = 0xFFFFFFFF


cdef void pack_nodes(
    const Node* nodes, const Branching* branching, intp_t n, bint finite,
    PackedNode* out,
) noexcept nogil:
    cdef const Node* node
    cdef float32_t limit
    cdef intp_t i, column
    for i in range(n):
        node = nodes + i
        if node.feature < 0:
            out[i].limit = LARGEST
            out[i].way = <uint32_t> i << COLUMN_BITS
            continue
        # x is a float32: it is above the threshold if it is above the largest float32
        # that is not
        limit = <float32_t> node.threshold
        out[i].limit = ordered_bits(limit) - (limit > node.threshold)
        column = node.feature
        if not finite:
            column = 2 * column + (branching[i].missing_left != 0)
        out[i].way = (
            <uint32_t> node.left << COLUMN_BITS | <uint32_t> (column * LANES)
        )


cdef void pack_rows(
    const float32_t* x, intp_t n, intp_t d, bint finite, uint32_t* out
) noexcept nogil:
    cdef float32_t value
    cdef uint32_t* group
    cdef intp_t i, f, row
    for i in range(padded(n)):
        row = min(i, n - 1)     # the last group is filled with the last row
        group = out + i // LANES * LANES * packed_columns(d, finite) + i % LANES
        if finite:
            for f in range(d):
                group[f * LANES] = ordered_bits(x[row * d + f])
            continue
        for f in range(d):
            value = x[row * d + f]
            if value != value:
                group[2 * f * LANES] = LARGEST
                group[(2 * f + 1) * LANES] = 0
            else:
                group[2 * f * LANES] = ordered_bits(value)
                group[(2 * f + 1) * LANES] = group[2 * f * LANES]


cdef inline uint64_t _next(
    const PackedNode* nodes, uint64_t at, const uint32_t* row
) noexcept nogil:
    # In 64 bits, and in this order, the last two lines are an addition with carry.
    cdef uint64_t way = nodes[at].way
    cdef uint32_t value = row[way & ((1 << COLUMN_BITS) - 1)]
    way >>= COLUMN_BITS
    way += nodes[at].limit < value
    return way


cdef void route_packed(
    const PackedNode* nodes, const uint32_t* rows, intp_t n, intp_t n_columns,
    intp_t sure, uint32_t* open, uint32_t* out,
) noexcept nogil:
    # Rows are looked at again and again: few enough at a time to stay in the cache.
    cdef intp_t some = max(
        PART_BYTES // (<intp_t> sizeof(uint32_t) * n_columns * LANES), <intp_t> 8
    ) * LANES
    cdef intp_t i = 0
    while i < n:
        _route_part(
            nodes, rows + i * n_columns, min(some, n - i), n_columns, sure, open,
            out + i,
        )
        i += some


cdef void _route_part(
    const PackedNode* nodes, const uint32_t* rows, intp_t n, intp_t n_columns,
    intp_t sure, uint32_t* open, uint32_t* out,
) noexcept nogil:
    # All rows take the first steps, a group at a time; those that have not arrived take
    # more, LANES of them at a time, and are looked at again. Invariant: the first n_open
    # of `open` have not arrived.
    cdef intp_t size = n_columns * LANES
    cdef const uint32_t* group = rows
    cdef const uint32_t* row[LANES]
    cdef uint64_t at[LANES]
    cdef intp_t n_open = 0
    cdef intp_t i, j, lane, left
    cdef uint64_t to
    i = 0
    while i < n:
        if i + LANES < n:
            j = size
            while j < 2 * size:
                prefetch(group + j)
                j += LINE
        for lane in range(LANES):
            at[lane] = 0
        for _ in range(sure):
            for lane in range(LANES):
                at[lane] = _next(nodes, at[lane], group + lane)
        for lane in range(LANES):
            out[i + lane] = <uint32_t> at[lane]
            open[n_open] = <uint32_t> (i + lane)
            n_open += nodes[at[lane]].way >> COLUMN_BITS != at[lane]
        group += size
        i += LANES
    while n_open >= 2 * LANES:
        left = 0
        j = 0
        while j + LANES <= n_open:
            for lane in range(LANES):
                i = open[j + lane]
                at[lane] = out[i]
                row[lane] = rows + i // LANES * size + i % LANES
            for _ in range(ROUND):
                for lane in range(LANES):
                    at[lane] = _next(nodes, at[lane], row[lane])
            for lane in range(LANES):
                i = open[j + lane]
                out[i] = <uint32_t> at[lane]
                open[left] = <uint32_t> i
                left += nodes[at[lane]].way >> COLUMN_BITS != at[lane]
            j += LANES
        while j < n_open:
            open[left] = open[j]
            left += 1
            j += 1
        n_open = left
    for j in range(n_open):
        i = open[j]
        group = rows + i // LANES * size + i % LANES
        to = _next(nodes, out[i], group)
        while to != out[i]:
            out[i] = <uint32_t> to
            to = _next(nodes, to, group)
