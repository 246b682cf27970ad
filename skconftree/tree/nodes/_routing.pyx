"""Routing of many rows through a tree."""


cdef void route(
    const Node* nodes, const float32_t* x, intp_t n, intp_t d, intp_t* out
) noexcept nogil:
    cdef const Node* node
    cdef int32_t at[LANES]
    cdef int32_t moved, to, feature
    cdef intp_t i = 0
    cdef intp_t lane
    while i + LANES <= n:
        for lane in range(LANES):
            at[lane] = 0
        moved = 1
        while moved:
            moved = 0
            for lane in range(LANES):
                node = nodes + at[lane]
                feature = max(node.feature, 0)
                to = node.left + (x[(i + lane) * d + feature] > node.threshold)
                moved |= to ^ at[lane]
                at[lane] = to
        for lane in range(LANES):
            out[i + lane] = at[lane]
        i += LANES
    while i < n:
        to = 0  # not `node - nodes`: checked for overflow, that counts bytes
        while nodes[to].feature >= 0:
            node = nodes + to
            to = node.left + (x[i * d + node.feature] > node.threshold)
        out[i] = to
        i += 1


cdef void route_any(
    const Node* nodes, const Branching* branchings, const int16_t* ordinals,
    const float32_t* x, intp_t n, intp_t d, intp_t* out,
) noexcept nogil:
    cdef const Node* test
    cdef const Branching* branching
    cdef float32_t value
    cdef intp_t at[LANES]
    cdef intp_t i = 0
    cdef intp_t lane, to, moved, width
    while i < n:
        width = min(<intp_t> LANES, n - i)
        for lane in range(width):
            at[lane] = 0
        moved = 1
        while moved:
            moved = 0
            for lane in range(width):
                test = nodes + at[lane]
                branching = branchings + at[lane]
                if branching.first >= 0:
                    to = child_of(
                        nodes, branchings, ordinals, at[lane], x + (i + lane) * d
                    )
                else:
                    value = x[(i + lane) * d + max(test.feature, 0)]
                    to = test.left + (
                        (value > test.threshold)
                        | ((value != value) & (branching.missing_left == 0))
                    )
                moved |= to ^ at[lane]
                at[lane] = to
        for lane in range(width):
            out[i + lane] = at[lane]
        i += LANES
