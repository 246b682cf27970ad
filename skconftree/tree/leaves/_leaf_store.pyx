"""Store of the statistics of a growing tree's leaves, including unlabeled rows.

A growing tree is trained row by row. The memory of a leaf is the form in which it stores the
statistics of its rows. The pool is the unlabeled rows (`X_pool`); the box of a leaf is its limits
in feature space. Cuts are candidate thresholds, codes the integers of categories; an outcome of
a split is the index of a child. A policy has the settings that the leaves share, and a state is
the bytes in a pickle. `Blocks` own arrays that are freed together. See _leaf_store.pxd and
_contract.pxd.
"""

import numpy as np
from libc.math cimport INFINITY
from libc.string cimport memcpy, memmove, memset

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.leaves._contract cimport outcome_of
from skconftree.tree.leaves._leaf cimport (
    NOTHING, drop_inherited_model, release_statistics, leaf_bytes, move_leaf, new_leaf,
    read_leaf, release_leaf, start_fresh, write_leaf,
)
from skconftree.tree.leaves._gaussian cimport GAUSSIAN
from skconftree.tree.leaves._histogram cimport COUNTED_ROWS, HISTOGRAM
from skconftree.tree.leaves._rows cimport ROWS, draw_subset, policy_of
from skconftree.tree.leaves._state cimport StateReader, StateWriter
from skconftree.tree.nodes._routing cimport REMOVED, Node
from skconftree.utils._box cimport cut_box, share_below
from skconftree.utils._codec import corrupt_state
from skconftree.utils._memory cimport release_all, resize_array, take_array
from skconftree.utils._sorting cimport presort
from skconftree.utils._typedefs cimport float64_t, int16_t

cdef int allocate_pool(Policy* policy, intp_t n_rows) except -1:
    # Allocate the lists of the unlabeled rows (X_pool).
    #
    # The first list is a permutation of all rows, in which each leaf owns a range in
    # ascending order. After the first split attempt of a leaf, the same range of a
    # feature's list has these rows in the order of the feature's values; rows of equal
    # value are in ascending order, and missing values are last. A split partitions only
    # the ranges of its leaf and keeps the order.
    #
    # The positions of the cuts between labeled rows are stored, because the search of the
    # next attempt starts there. Most cuts do not move, so two comparisons replace a binary
    # search.
    #
    # A row whose category is unknown at a node continues with one child. A row that gets
    # its label is removed from the lists.
    cdef Blocks* blocks = policy.blocks
    cdef intp_t n_lists = 1
    cdef intp_t f
    for f in range(policy.n_features):
        n_lists += policy.pool_list[f] > 0
    policy.pool.rows = <int32_t*> take_array(blocks, n_lists * n_rows, sizeof(int32_t))
    policy.pool.scratch = <int32_t*> take_array(blocks, n_rows, sizeof(int32_t))
    policy.pool.outcome = <int16_t*> take_array(blocks, n_rows, sizeof(int16_t))
    policy.pool.n_rows = n_rows
    policy.pool.n_lists = n_lists
    return 0


cdef intp_t pool_bytes(const Policy* policy) noexcept nogil:
    return policy.pool.n_rows * ((policy.pool.n_lists + 1) * sizeof(int32_t) + sizeof(int16_t))


cdef void sort_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool,
    float32_t* column, uint64_t* keys, uint32_t* order,
) noexcept nogil:
    cdef intp_t n = leaf.n_pool
    cdef intp_t f, i
    cdef int32_t* row_list
    for f in range(policy.n_features):
        if policy.pool_list[f] == 0:
            continue
        row_list = <int32_t*> pool_list_of(leaf, policy, f)
        for i in range(n):
            column[i] = pool[leaf.pool[i], f]
        presort(column, n, keys, keys + n, order)
        for i in range(n):      # an element of `order` is 2 * index, plus a flag
            row_list[i] = leaf.pool[order[i] >> 1]
    leaf.pool_sorted = True


cdef int reserve_positions(Leaf* leaf, const Policy* policy) except -1 nogil:
    cdef size_t size = (policy.pool.n_lists - 1) * sizeof(int32_t)
    cdef intp_t n = leaf.n_positioned       # number of labeled rows that have positions
    if leaf.n_rows <= n or size == 0:
        return 0
    n = max(2 * n, leaf.n_rows)
    leaf.cut_positions = <int32_t*> resize_array(policy.blocks, leaf.cut_positions, n, size)
    # bytes of 255: -1, which means unknown
    memset(
        leaf.cut_positions + leaf.n_positioned * (policy.pool.n_lists - 1), 255,
        (n - leaf.n_positioned) * size,
    )
    leaf.n_positioned = n
    return 0


cdef void partition_pool(
    const Leaf* parent, const Policy* policy, const LeafSplit* leaf_split,
    const float32_t[:, ::1] pool, Leaf** children,
) noexcept nogil:
    # Partition the unlabeled rows of the parent in every list. This cannot fail.
    cdef intp_t n = parent.n_pool
    cdef intp_t r = leaf_split.n_outcomes
    cdef intp_t n_lists = policy.pool.n_lists if parent.pool_sorted else 1
    cdef int32_t* row_list = parent.pool
    cdef int32_t* scratch = policy.pool.scratch
    cdef int16_t* outcome = policy.pool.outcome
    cdef Leaf* child
    cdef intp_t i, j, z, at
    if n == 0:
        return
    for i in range(n):
        z = outcome_of(leaf_split, pool[row_list[i], leaf_split.feature])
        outcome[row_list[i]] = <int16_t> z
        children[z].n_pool += 1
    at = 0
    for z in range(r):
        child = children[z]
        child.pool = row_list + at
        child.pool_sorted = parent.pool_sorted
        at += child.n_pool
    for j in range(n_lists):
        memcpy(scratch, row_list, n * sizeof(int32_t))
        for z in range(r):
            children[z].n_pool = 0
        for i in range(n):
            child = children[outcome[scratch[i]]]
            (child.pool + j * policy.pool.n_rows)[child.n_pool] = scratch[i]
            child.n_pool += 1
        row_list += policy.pool.n_rows


cdef intp_t index_in_pool(const Leaf* leaf, intp_t row) noexcept nogil:
    cdef intp_t position = _index_of(leaf.pool, 0, leaf.n_pool, row)
    if position < leaf.n_pool and leaf.pool[position] == row:
        return position
    return -1


cdef intp_t _index_of(const int32_t* row_list, intp_t low, intp_t high, intp_t row) noexcept nogil:
    # The first position of a value of at least `row` in an ascending part of a list.
    cdef intp_t middle
    while low < high:
        middle = low + ((high - low) >> 1)
        if row_list[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


cdef void remove_from_pool(
    Leaf* leaf, const Policy* policy, const float32_t[:, ::1] pool, intp_t position
) noexcept nogil:
    # Remove the row at a position of list 0 from all lists. The later rows of the leaf's range
    # move up, and the range keeps its start. A negative position: the row is not in the pool.
    cdef intp_t n = leaf.n_pool
    cdef intp_t n_lists = policy.pool.n_lists - 1
    cdef intp_t f, i, low, high, row
    cdef int32_t* row_list
    cdef int32_t* cut
    cdef float32_t value
    if position < 0:
        return
    row = leaf.pool[position]
    _remove_at(leaf.pool, position, n)
    if leaf.pool_sorted:
        for f in range(policy.n_features):
            if policy.pool_list[f] == 0:
                continue
            row_list = <int32_t*> pool_list_of(leaf, policy, f)
            value = pool[row, f]
            if value == value:
                # first position of this value (True), and of larger values (False)
                low = first_above(pool, row_list, 0, n, f, value, True)
                high = first_above(pool, row_list, low, n, f, value, False)
            else:
                low = first_above(pool, row_list, 0, n, f, INFINITY, False)
                high = n
            low = _index_of(row_list, low, high, row)
            _remove_at(row_list, low, n)
            for i in range(leaf.n_positioned):
                cut = leaf.cut_positions + i * n_lists + policy.pool_list[f] - 1
                cut[0] -= cut[0] > low
    leaf.n_pool -= 1


cdef void _remove_at(int32_t* row_list, intp_t position, intp_t n) noexcept nogil:
    memmove(row_list + position, row_list + position + 1, (n - position - 1) * sizeof(int32_t))


cdef enum:
    MAX_CODES = 32768      # of a feature, in a state


cdef class LeafStore:
    """Leaves by node; empty at first.

    `nominal` features are ascending. If `bayes`, leaves may predict by naive Bayes.
    `n_pool` rows have no label. Each leaf draws a subset of `subset_size` features with
    `seed`; 0 means that it uses all. The first `n_first` features existed from the start,
    the others were added later. If `single_bayes`, a leaf that inherited rows has one
    naive Bayes model of all its rows.
    """

    def __init__(
        self, intp_t n_features, intp_t n_classes, GrowthSettings settings, tuple nominal,
        bint bayes, intp_t n_pool, intp_t subset_size, intp_t n_first, uint64_t seed,
        bint single_bayes,
    ):
        self.policy.n_features = n_features
        self.policy.n_classes = n_classes
        self.policy.blocks = &self.blocks
        # Memories: GAUSSIAN stores means and variances; ROWS rows, up to `row_limit`; then
        # HISTOGRAM class counts of bins, and COUNTED_ROWS the latest rows as well.
        self.policy.initial_memory = &GAUSSIAN if settings.gaussian else &ROWS
        self.policy.counts_only = &HISTOGRAM
        self.policy.counts_with_rows = &COUNTED_ROWS
        self.policy.row_limit = settings.row_limit
        self.stored_rows = settings.stored_rows     # of all COUNTED_ROWS together
        self.policy.max_bins = settings.max_bins
        self.policy.separate = settings.separate    # only rows since creation are evidence
        # except that inherited stored rows are evidence, too
        self.policy.inherited_is_evidence = settings.inherited_is_evidence
        self.policy.single_bayes = single_bayes
        self.policy.fixed_cuts = settings.fixed_cuts    # a leaf sets its cuts only once
        self.policy.bayes = bayes
        self.policy.max_inherited = settings.inherited  # largest weight, except as rows
        self.policy.subset_size = subset_size
        self.policy.n_first = n_first
        self.policy.seed = seed
        if nominal:
            self._nominal = np.array(nominal, dtype=np.int32)
            self._n_codes = np.full(n_features, -1, dtype=np.int32)
            np.asarray(self._n_codes)[list(nominal)] = 0
            self.policy.n_nominal = len(nominal)
            self.policy.nominal = &self._nominal[0]
            self.policy.n_codes = &self._n_codes[0]
        if n_pool > 0:
            is_numeric = np.ones(n_features, dtype=np.int32)
            is_numeric[list(nominal)] = 0
            # index of the list of each numeric feature: 1, 2, ...; 0 if nominal
            self._pool_list = np.cumsum(is_numeric, dtype=np.int32) * is_numeric
            self.policy.pool_list = &self._pool_list[0]
            allocate_pool(&self.policy, n_pool)

    def __dealloc__(self):
        cdef intp_t node
        for node in range(self.capacity):
            release_leaf(self.at[node], &self.policy)
        release_all(&self.blocks)

    cdef int reserve(self, intp_t n_nodes) except -1 nogil:
        cdef intp_t capacity
        if n_nodes > self.capacity:
            capacity = max(n_nodes, 2 * self.capacity)
            self.at = <Leaf**> resize_array(&self.blocks, self.at, capacity, sizeof(Leaf*))
            memset(self.at + self.capacity, 0, (capacity - self.capacity) * sizeof(Leaf*))
            self.capacity = capacity
        return 0

    def init_leaves(self, Tree tree):
        """Give every leaf of the tree an empty memory."""
        cdef intp_t node
        cdef Leaf* leaf
        self.reserve(tree.node_count)
        for node in range(tree.node_count):
            if tree.is_leaf(node):
                leaf = new_leaf(&self.policy, node)
                self.at[node] = leaf
                self.n_leaves += 1
                draw_subset(leaf, &self.policy)
                leaf.memory = self.policy.initial_memory
                # policy_of: the policy for the features that the leaf uses
                leaf.memory.open(leaf, policy_of(leaf, &self.policy))
        _distribute_stored_rows(self)

    def assign_pool(self, const intp_t[::1] leaf_of_row):
        """Assign unlabeled rows to the leaves they reach; -1: the row has a label."""
        cdef Leaf* leaf
        cdef intp_t i, node
        cdef intp_t start = 0
        reached = np.asarray(leaf_of_row)
        for node, size in enumerate(np.bincount(reached[reached >= 0])):
            if size > 0:
                leaf = self.at[node]
                leaf.pool = self.policy.pool.rows + start
                start += size
        for i in range(leaf_of_row.shape[0]):
            if leaf_of_row[i] < 0:
                continue
            leaf = self.at[leaf_of_row[i]]
            leaf.pool[leaf.n_pool] = <int32_t> i
            leaf.n_pool += 1

    def compute_boxes(self, Tree tree, const float64_t[:, ::1] root_box):
        """Compute every leaf's box, and its volume, from the root's."""
        cdef intp_t d = self.policy.n_features
        cdef intp_t node, above
        cdef float64_t[:, ::1] boxes = np.empty((tree.node_count, 2 * d + 1))
        cdef Leaf* leaf
        memcpy(&boxes[0, 0], &root_box[0, 0], 2 * d * sizeof(float64_t))
        boxes[0, 2 * d] = 1.0       # the last element is the volume, as a share of the root's
        for node in range(tree.node_count):
            if tree.parent[node] >= 0:
                above = tree.parent[node]
                boxes[node] = boxes[above]
                boxes[node, 2 * d] *= _share_of_box(tree, above, node, &boxes[above, 0])
                cut_box(
                    &boxes[node, 0], tree.nodes[above].feature,
                    tree.nodes[above].threshold, node - tree.nodes[above].left,
                )
            if self.at[node] == NULL:
                continue
            leaf = self.at[node]
            leaf.box = <float64_t*> take_array(&self.blocks, 2 * d + 1, sizeof(float64_t))
            memcpy(leaf.box, &boxes[node, 0], (2 * d + 1) * sizeof(float64_t))

    def retire_evidence(self):
        """Keep the statistics for predictions, but not as evidence for splits.

        Split rules (bounds) that count only rows since the creation of a leaf have used
        these rows when the tree was fitted.
        """
        cdef intp_t c, node
        cdef Leaf* leaf
        for node in range(self.capacity):
            leaf = self.at[node]
            if leaf == NULL:
                continue
            leaf.n_fresh = 0.0      # weight of the fresh rows: those since its creation
            leaf.n_inherited = leaf.n_rows      # number of stored rows that are not fresh
            for c in range(self.policy.n_classes):
                leaf.fresh[c] = 0.0
            if self.policy.separate:
                start_fresh(leaf, &self.policy)

    cdef void replace(
        self, Leaf* leaf, Leaf** children, intp_t first, intp_t n_children
    ) noexcept nogil:
        # Children take the nodes from `first` on, for which there is capacity; the leaf
        # is released.
        cdef intp_t node = leaf.node
        cdef intp_t z
        for z in range(n_children):
            self.at[first + z] = children[z]
        release_leaf(leaf, &self.policy)
        self.at[node] = NULL
        self.n_leaves += n_children - 1
        _distribute_stored_rows(self)

    cdef intp_t release_memory(self, intp_t node) noexcept nogil:
        # Release a leaf's statistics; returns the number of bytes freed.
        cdef intp_t before = leaf_bytes(self.at[node], &self.policy)
        release_statistics(self.at[node])
        # the parent's statistics, with which a leaf with a feature subset may predict
        drop_inherited_model(self.at[node], &self.policy)
        return before - leaf_bytes(self.at[node], &self.policy)

    cdef void observe(self, const float32_t* x, bint finite) noexcept nogil:
        # Record missing values and categories.
        cdef intp_t i, f
        cdef int32_t* n_codes = self.policy.n_codes
        for i in range(self.policy.n_nominal):
            f = self.policy.nominal[i]
            if x[f] >= n_codes[f]:
                n_codes[f] = <int32_t> x[f] + 1
        if not finite and not self.policy.missing:
            for f in range(self.policy.n_features):
                if x[f] != x[f]:
                    self.policy.missing = True

    cdef intp_t bytes_of_leaves(self) noexcept nogil:
        cdef intp_t total = 0
        cdef intp_t node
        for node in range(self.capacity):
            if self.at[node] != NULL:
                total += leaf_bytes(self.at[node], &self.policy)
        return total

    cdef intp_t n_without_memory(self) noexcept nogil:
        # Leaves that have released their statistics.
        cdef intp_t n = 0
        cdef intp_t node
        for node in range(self.capacity):
            if self.at[node] != NULL:
                n += self.at[node].memory == &NOTHING
        return n

    cdef intp_t max_rows(self) noexcept nogil:
        # Largest number of rows that a leaf stores.
        cdef intp_t largest = 0
        cdef intp_t node
        for node in range(self.capacity):
            if self.at[node] != NULL:
                largest = max(largest, self.at[node].n_rows)
        return largest

    cdef void replace_subtree(
        self, intp_t node, Tree tree, LeafStore other, intp_t n_before
    ) noexcept nogil:
        # Move the leaves of another store of the same policy to a node of a tree that
        # has replaced a subtree and had `n_before` nodes before. They replace all leaves below
        # the node. There is enough capacity.
        cdef intp_t i
        cdef Leaf* leaf
        for i in range(n_before):
            if i == node or tree.parent[i] == REMOVED:
                release_leaf(self.at[i], &self.policy)
                self.at[i] = NULL
        for i in range(other.capacity):
            leaf = other.at[i]
            if leaf != NULL:
                other.at[i] = NULL
                move_leaf(leaf, &other.blocks, &self.blocks)
                leaf.node = node if i == 0 else n_before + i - 1
                self.at[leaf.node] = leaf
        self.n_leaves = tree.n_leaves
        other.n_leaves = 0
        _distribute_stored_rows(self)

    cdef void swap(self, LeafStore other) noexcept nogil:
        # Swap leaves with a store of the same policy.
        self.blocks, other.blocks = other.blocks, self.blocks
        self.at, other.at = other.at, self.at
        self.capacity, other.capacity = other.capacity, self.capacity
        self.n_leaves, other.n_leaves = other.n_leaves, self.n_leaves
        self.policy.pool, other.policy.pool = other.policy.pool, self.policy.pool
        self.policy.seed, other.policy.seed = other.policy.seed, self.policy.seed
        _distribute_stored_rows(self)
        _distribute_stored_rows(other)

    cdef bytes write(self):
        cdef StateWriter writer = StateWriter()
        cdef intp_t node
        for node in range(self.capacity):
            if self.at[node] != NULL:
                write_leaf(writer, self.at[node], &self.policy)
        return bytes(writer.data)

    cdef read(self, bytes data, Tree tree, bint with_boxes):
        # Read the leaves of a tree; they replace the present ones.
        cdef StateReader reader = StateReader(data)
        cdef Leaf* leaf
        cdef intp_t node
        self.reserve(tree.node_count)
        for node in range(tree.node_count):
            if tree.is_leaf(node):
                leaf = read_leaf(reader, &self.policy, node)
                release_leaf(self.at[node], &self.policy)
                self.at[node] = leaf
                if with_boxes and leaf.box == NULL:
                    raise corrupt_state("growing tree", "its boxes")
        reader.finish()
        self.n_leaves = tree.n_leaves
        _distribute_stored_rows(self)

    @property
    def n_codes(self):
        """Number of categories seen per feature, -1 if numeric; None if all are."""
        if self.policy.n_codes == NULL:
            return None
        return tuple(np.asarray(self._n_codes).tolist())

    @n_codes.setter
    def n_codes(self, n_codes):
        if not self._are_codes(n_codes):
            raise corrupt_state("growing tree")
        if n_codes is not None:
            np.asarray(self._n_codes)[:] = n_codes

    def _are_codes(self, n_codes):
        if self.policy.n_codes == NULL:
            return n_codes is None
        return (
            isinstance(n_codes, tuple) and len(n_codes) == self.policy.n_features
            and all([
                isinstance(n, int) and n < MAX_CODES
                and (n >= 0 if self.policy.n_codes[f] >= 0 else n == -1)
                for f, n in enumerate(n_codes)
            ])
        )


cdef void _distribute_stored_rows(LeafStore store) noexcept nogil:
    # All leaves together store no more rows in addition to counts than the limit, but
    # each leaf may store as many as a leaf without counts.
    if store.stored_rows > 0:
        store.policy.stored_rows = max(
            store.stored_rows // max(store.n_leaves, 1), store.policy.row_limit
        )


cdef float64_t _share_of_box(
    Tree tree, intp_t node, intp_t child, const float64_t* box
) noexcept nogil:
    # Share of a node's volume that a child has; a nominal split divides it by the numbers of
    # categories. The split search uses the same rule.
    cdef const Node* split = &tree.nodes[node]
    cdef intp_t first = tree.branching[node].first
    cdef intp_t n_known = 0
    cdef intp_t n_own = 0
    cdef intp_t code
    cdef float64_t share
    if first >= 0:      # nominal: start of its codes in `child_of_code`, -1 for unseen ones
        for code in range(tree.branching[node].n_codes):
            n_known += tree.child_of_code[first + code] >= 0
            n_own += tree.child_of_code[first + code] == child - split.left
        return <float64_t> n_own / max(n_known, 1)
    share = share_below(box, split.feature, split.threshold)
    return share if child == split.left else 1.0 - share
