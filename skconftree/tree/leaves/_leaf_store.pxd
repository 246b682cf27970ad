from skconftree.tree.leaves._contract cimport Leaf, LeafSplit, Policy
from skconftree.tree.nodes._tree cimport Tree
from skconftree.utils._memory cimport Blocks
from skconftree.utils._typedefs cimport float32_t, int32_t, intp_t, uint32_t, uint64_t

# LeafStore: the statistics of the leaves of a growing tree, by node.
#
# A node has a leaf in the store if, and only if, it is a leaf of the tree; only the store
# allocates and releases its leaves. `policy` has the settings that the leaves share, and the
# categories seen so far. Its address never changes. A cut is a candidate threshold. A growing tree
# is trained row by row. Leaves are described in _contract.pxd.
#
# The pool is the unlabeled rows, X_pool. It has several lists of all these rows,
# [n_lists, n_rows]: list 0 is in ascending order within each leaf, each other list in the
# order of one numeric feature. The rows of a leaf have the same range in every list; a position
# is an index in this range. The box of a leaf is its range of each feature, [n_features, 2]; it
# exists only if children are weighted by the volume of their boxes.

cdef class LeafStore:
    cdef Blocks blocks                  # arrays freed together: leaves with their boxes
                                        # and pools, and `at`
    cdef Policy policy
    cdef Leaf** at                      # [capacity] by node; NULL at internal nodes
    cdef intp_t capacity
    cdef intp_t n_leaves
    cdef intp_t stored_rows             # limit of the rows stored by all leaves that also
                                        # count them in histograms
    cdef int32_t[::1] _nominal          # nominal features
    cdef int32_t[::1] _n_codes          # [n_features] categories seen, -1 if numeric
    cdef int32_t[::1] _pool_list        # [n_features] index of its list, 0 if nominal

    cdef int reserve(self, intp_t n_nodes) except -1 nogil      # capacity for these nodes
    # Replace a leaf by its children, which get the nodes from `first` on.
    cdef void replace(
        self, Leaf* leaf, Leaf** children, intp_t first, intp_t n_children
    ) noexcept nogil
    # Release the statistics of a leaf to save memory; returns the bytes freed.
    cdef intp_t release_memory(self, intp_t node) noexcept nogil
    # Record new categories and, unless the row is finite, missing values.
    cdef void observe(self, const float32_t* x, bint finite) noexcept nogil
    cdef intp_t bytes_of_leaves(self) noexcept nogil
    # Number of leaves whose statistics have been released.
    cdef intp_t n_without_memory(self) noexcept nogil
    # Largest number of rows that a leaf stores.
    cdef intp_t max_rows(self) noexcept nogil
    # Move the leaves of another store below a node of a tree that had n_before nodes.
    cdef void replace_subtree(
        self, intp_t node, Tree tree, LeafStore other, intp_t n_before
    ) noexcept nogil
    cdef void swap(self, LeafStore other) noexcept nogil
    # The leaves as bytes, for pickles.
    cdef bytes write(self)
    cdef read(self, bytes data, Tree tree, bint with_boxes)
cdef intp_t pool_bytes(const Policy* policy) noexcept nogil     # size of the lists
# Sort the rows of a leaf by each feature. `column`, `keys` and `order` are scratch for
# its rows; `keys` has size 2 * n.
cdef void sort_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool,
    float32_t* column, uint64_t* keys, uint32_t* order,
) noexcept nogil
cdef void partition_pool(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split,
    const float32_t[:, ::1] pool, Leaf** children,
) noexcept nogil        # divide the rows of a leaf among its children
# Allocate the positions, in the list of a feature, of the candidate threshold (cut) above
# each labeled row. The search of the next split attempt starts at these positions; -1 if
# unknown.
cdef int reserve_positions(Leaf* leaf, const Policy* policy) except -1 nogil
# Position of a row in a leaf's range of list 0; -1 if it is not there.
cdef intp_t index_in_pool(const Leaf* leaf, intp_t row) noexcept nogil
cdef void remove_from_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool, intp_t position
) noexcept nogil


cdef inline const int32_t* pool_list_of(
    const Leaf* leaf, const Policy* policy, intp_t feature
) noexcept nogil:
    # The leaf's rows in the order of a numeric feature.
    return leaf.pool + policy.pool_list[feature] * policy.pool.n_rows


cdef inline intp_t first_above(
    const float32_t[:, ::1] pool, const int32_t* row_list, intp_t low, intp_t high,
    intp_t feature, double value, bint equal,
) noexcept nogil:
    # The first position from `low` on whose value is above `value`, or at least as large
    # if `equal`; `high` if there is none. Missing values are above all, even infinity.
    cdef intp_t middle
    cdef float32_t x
    while low < high:
        middle = low + ((high - low) >> 1)
        x = pool[row_list[middle], feature]
        if x < value or (x == value and not equal):
            low = middle + 1
        else:
            high = middle
    return low


cdef inline intp_t next_beyond(
    const float32_t[:, ::1] pool, const int32_t* row_list, intp_t low, intp_t high,
    intp_t feature, double cut, intp_t step,
) noexcept nogil:
    # The first position of a value above `cut`; fast if it is about `step` after `low`.
    cdef intp_t position
    while True:
        position = low + step - 1
        if position >= high:
            break
        if pool[row_list[position], feature] <= cut:
            low = position + 1
            step *= 2
        else:
            high = position
            break
    return first_above(pool, row_list, low, high, feature, cut, False)


cdef inline bint is_beyond(
    const float32_t[:, ::1] pool, const int32_t* row_list, intp_t low, intp_t high,
    intp_t feature, double cut, intp_t position,
) noexcept nogil:
    # Whether `position` is the first of a value above `cut`. Values before `low` are not.
    return (
        low <= position <= high
        and (position == low or pool[row_list[position - 1], feature] <= cut)
        and (position == high or not pool[row_list[position], feature] <= cut)
    )
