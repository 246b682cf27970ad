from skconftree.tree.leaves._contract cimport Leaf, Parting, Policy
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float32_t, int32_t, intp_t, uint32_t, uint64_t

# LeafStore: the memories of the leaves of a growing tree, by node.
#
# A node has a leaf in the store if, and only if, it is a leaf of the tree; nobody else
# allocates or releases one that has got its place here. What the leaves have in
# common, the categories seen so far included, is the store's `policy`: it does not
# move, so that others may point to it.

cdef class LeafStore:
    cdef Blocks blocks                  # leaves with their boxes, their pools, and `at`
    cdef Policy policy
    cdef Leaf** at                      # [room] by node; NULL at internal nodes
    cdef intp_t room
    cdef intp_t n_leaves
    cdef intp_t stored_rows               # beside counts, of all leaves
    cdef int32_t[::1] _nominal          # nominal features
    cdef int32_t[::1] _n_codes          # [n_features] categories seen, -1 if numeric
    cdef int32_t[::1] _pool_line        # [n_features]

    cdef int reserve(self, intp_t n_nodes) except -1 nogil
    cdef void replace(
        self, Leaf* leaf, Leaf** children, intp_t first, intp_t n_children
    ) noexcept nogil
    cdef intp_t make_forget(self, intp_t node) noexcept nogil
    cdef void observe(self, const float32_t* x, bint finite) noexcept nogil
    cdef intp_t bytes_of_leaves(self) noexcept nogil
    cdef intp_t n_forgetful(self) noexcept nogil
    cdef intp_t max_rows(self) noexcept nogil
    cdef void graft(
        self, intp_t node, Tree tree, LeafStore other, intp_t n_before
    ) noexcept nogil
    cdef void trade(self, LeafStore other) noexcept nogil
    cdef bytes write(self)
    cdef read(self, bytes data, Tree tree, bint with_boxes)
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
cdef int reserve_positions(Leaf* leaf, const Policy* policy) except -1 nogil
# Place of a row in a leaf's range; -1 if it is not there.
cdef intp_t index_in_pool(const Leaf* leaf, intp_t row) noexcept nogil
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
    intp_t feature, double value, bint equal,
) noexcept nogil:
    # The first place, from `low` on, of a value above this one, or at least as large if
    # `equal`; `high` if there is none. A missing value is above all, infinity included.
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


cdef inline intp_t next_beyond(
    const float32_t[:, ::1] pool, const int32_t* line, intp_t low, intp_t high,
    intp_t feature, double cut, intp_t step,
) noexcept nogil:
    # The first place of a value above `cut`, sooner if it lies about `step` behind `low`.
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
    return first_above(pool, line, low, high, feature, cut, False)


cdef inline bint is_beyond(
    const float32_t[:, ::1] pool, const int32_t* line, intp_t low, intp_t high,
    intp_t feature, double cut, intp_t place,
) noexcept nogil:
    # Whether it is the first place of a value above `cut`. Values below `low` are at most `cut`.
    return (
        low <= place <= high
        and (place == low or pool[line[place - 1], feature] <= cut)
        and (place == high or not pool[line[place], feature] <= cut)
    )
