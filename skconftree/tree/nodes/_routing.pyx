"""Routing of many rows through a tree: the path of each row to its leaf.

Rows are routed in groups; a lane is the position of a row in its group. A leaf points to itself
and has an infinite threshold, so a row that has arrived does not move. The Branching of a split
has the direction of missing values and the children of categories. A packed node has 8 bytes,
with the threshold as an integer in the order of the floats, so that a group of rows, packed
likewise, takes a step without branches. `finite`: no value is missing. See _routing.pxd.
"""

from skconftree.utils._inline cimport prefetch
from skconftree.utils._sorting cimport ordered_bits
from skconftree.utils._typedefs cimport uint64_t

cdef void route(
    const Node* nodes, const float32_t* x, intp_t n, intp_t d, intp_t* out
) noexcept nogil:
    cdef const Node* node
    cdef int32_t at[LANES]
    cdef int32_t any_moved, to, feature
    cdef intp_t i = 0
    cdef intp_t lane
    while i + LANES <= n:
        for lane in range(LANES):
            at[lane] = 0
        any_moved = 1
        while any_moved:
            any_moved = 0
            for lane in range(LANES):
                node = nodes + at[lane]
                feature = max(node.feature, 0)
                to = node.left + (x[(i + lane) * d + feature] > node.threshold)
                any_moved |= to ^ at[lane]
                at[lane] = to
        for lane in range(LANES):
            out[i + lane] = at[lane]
        i += LANES
    while i < n:
        to = 0  # not `node - nodes`, which would be checked for overflow in bytes
        while nodes[to].feature >= 0:
            node = nodes + to
            to = node.left + (x[i * d + node.feature] > node.threshold)
        out[i] = to
        i += 1


cdef void route_any(
    const Node* nodes, const Branching* branchings, const int16_t* child_of_code,
    const float32_t* x, intp_t n, intp_t d, intp_t* out,
) noexcept nogil:
    cdef const Node* split
    cdef const Branching* branching
    cdef float32_t value
    cdef intp_t at[LANES]
    cdef intp_t i = 0
    cdef intp_t lane, to, any_moved, width
    while i < n:
        width = min(<intp_t> LANES, n - i)
        for lane in range(width):
            at[lane] = 0
        any_moved = 1
        while any_moved:
            any_moved = 0
            for lane in range(width):
                split = nodes + at[lane]
                branching = branchings + at[lane]
                if branching.first >= 0:    # the split is nominal
                    to = child_of(nodes, branchings, child_of_code, at[lane], x + (i + lane) * d)
                else:
                    value = x[(i + lane) * d + max(split.feature, 0)]
                    to = split.left + (
                        (value > split.threshold)
                        | ((value != value) & (branching.missing_left == 0))
                    )
                any_moved |= to ^ at[lane]
                at[lane] = to
        for lane in range(width):
            out[i + lane] = at[lane]
        i += LANES


cdef enum:
    STEPS_PER_CHECK = 4     # steps between two checks of which rows are in a leaf
    LINE_VALUES = 16        # values in a cache line
    PART_BYTES = 131072     # bytes of packed rows that are routed together: they fit in the cache


cdef uint32_t MAX_UINT32 = 0xFFFFFFFF


cdef void pack_nodes(
    const Node* nodes, const Branching* branching, intp_t n, bint finite, PackedNode* out,
) noexcept nogil:
    cdef const Node* node
    cdef float32_t limit
    cdef intp_t i, column
    for i in range(n):
        node = nodes + i
        if node.feature < 0:
            out[i].limit = MAX_UINT32
            out[i].child_and_column = <uint32_t> i << COLUMN_BITS
            continue
        # x is a float32: it is above the threshold if it is above the largest float32
        # that is not above it
        limit = <float32_t> node.threshold
        out[i].limit = ordered_bits(limit) - (limit > node.threshold)
        column = node.feature
        if not finite:
            column = 2 * column + (branching[i].missing_left != 0)
        out[i].child_and_column = (
            <uint32_t> node.left << COLUMN_BITS | <uint32_t> (column * PACKED_LANES)
        )


cdef void pack_rows(
    const float32_t* x, intp_t n, intp_t d, bint finite, uint32_t* out
) noexcept nogil:
    cdef float32_t value
    cdef uint32_t* group
    cdef intp_t i, f, row
    for i in range(padded(n)):
        row = min(i, n - 1)     # pad the last group with the last row
        group = (
            out + i // PACKED_LANES * PACKED_LANES * packed_columns(d, finite)
            + i % PACKED_LANES
        )
        if finite:
            for f in range(d):
                group[f * PACKED_LANES] = ordered_bits(x[row * d + f])
            continue
        for f in range(d):
            value = x[row * d + f]
            if value != value:
                group[2 * f * PACKED_LANES] = MAX_UINT32
                group[(2 * f + 1) * PACKED_LANES] = 0
            else:
                group[2 * f * PACKED_LANES] = ordered_bits(value)
                group[(2 * f + 1) * PACKED_LANES] = group[2 * f * PACKED_LANES]


cdef inline uint64_t _next(
    const PackedNode* nodes, uint64_t at, const uint32_t* row
) noexcept nogil:
    # With 64 bits, and in this order, the last two lines compile to an add with carry.
    cdef uint64_t next = nodes[at].child_and_column
    cdef uint32_t value = row[next & ((1 << COLUMN_BITS) - 1)]
    next >>= COLUMN_BITS
    next += nodes[at].limit < value
    return next


cdef void route_packed(
    const PackedNode* nodes, const uint32_t* rows, intp_t n, intp_t n_columns,
    intp_t n_unchecked, uint32_t* active, uint32_t* out,
) noexcept nogil:
    # Each row is read at every step: process as many rows at a time as fit in the cache.
    cdef intp_t n_part = max(
        PART_BYTES // (<intp_t> sizeof(uint32_t) * n_columns * PACKED_LANES), <intp_t> 8
    ) * PACKED_LANES
    cdef intp_t i = 0
    while i < n:
        _route_part(
            nodes, rows + i * n_columns, min(n_part, n - i), n_columns, n_unchecked, active,
            out + i,
        )
        i += n_part


cdef void _route_part(
    const PackedNode* nodes, const uint32_t* rows, intp_t n, intp_t n_columns,
    intp_t n_unchecked, uint32_t* active, uint32_t* out,
) noexcept nogil:
    # All rows take the first steps, group by group. Rows that are not in a leaf yet
    # take more steps, PACKED_LANES rows at a time, until few remain. Invariant: the first
    # n_active elements of `active` are rows that are not in a leaf.
    cdef intp_t size = n_columns * PACKED_LANES
    cdef const uint32_t* group = rows
    cdef const uint32_t* row[PACKED_LANES]
    cdef uint64_t at[PACKED_LANES]
    cdef intp_t n_active = 0
    cdef intp_t i, j, lane, left
    cdef uint64_t to
    i = 0
    while i < n:
        if i + PACKED_LANES < n:
            j = size
            while j < 2 * size:
                prefetch(group + j)
                j += LINE_VALUES
        for lane in range(PACKED_LANES):
            at[lane] = 0
        for _ in range(n_unchecked):
            for lane in range(PACKED_LANES):
                at[lane] = _next(nodes, at[lane], group + lane)
        for lane in range(PACKED_LANES):
            out[i + lane] = <uint32_t> at[lane]
            active[n_active] = <uint32_t> (i + lane)
            n_active += nodes[at[lane]].child_and_column >> COLUMN_BITS != at[lane]
        group += size
        i += PACKED_LANES
    while n_active >= 2 * PACKED_LANES:
        left = 0
        j = 0
        while j + PACKED_LANES <= n_active:
            for lane in range(PACKED_LANES):
                i = active[j + lane]
                at[lane] = out[i]
                row[lane] = rows + i // PACKED_LANES * size + i % PACKED_LANES
            for _ in range(STEPS_PER_CHECK):
                for lane in range(PACKED_LANES):
                    at[lane] = _next(nodes, at[lane], row[lane])
            for lane in range(PACKED_LANES):
                i = active[j + lane]
                out[i] = <uint32_t> at[lane]
                active[left] = <uint32_t> i
                left += nodes[at[lane]].child_and_column >> COLUMN_BITS != at[lane]
            j += PACKED_LANES
        while j < n_active:
            active[left] = active[j]
            left += 1
            j += 1
        n_active = left
    for j in range(n_active):
        i = active[j]
        group = rows + i // PACKED_LANES * size + i % PACKED_LANES
        to = _next(nodes, out[i], group)
        while to != out[i]:
            out[i] = <uint32_t> to
            to = _next(nodes, to, group)
