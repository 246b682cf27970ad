"""Row-by-row training (growth) of a tree within a memory limit.

The memory of a leaf is the form in which it stores the statistics of its rows; evidence is what
the split rule (bound) uses of them. The pool is the unlabeled rows (`X_pool`); a field `pool` is a
weight that includes them, or a volume. Codes are the integers of categories; an outcome of a split
is the index of a child. A recipe has the arguments from which a grower is made, a state is the
data in a pickle. At a checkpoint, after a fixed number of rows, the memory limit is enforced and
stored exceptions are raised. Before the rows up to the next checkpoint, memory is reserved; it is
released if an allocation fails in the middle of a row. A monitored tree detects concept drift;
challengers are trees that may replace its subtrees. A bare leaf has released its statistics. A
policy has the settings that the leaves share. With shrinkage, probabilities are shrunk toward
those of the ancestors. In a forest, a leaf draws a subset of the features when it is created, and
has a policy of its own for them. See _grower.pxd.
"""

import numpy as np
from copy import copy
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport rint, sqrt
from libc.string cimport memset

from skconftree.bounds._contract cimport clear_evidence
from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.leaves._contract cimport LeafSplit, uses_fresh_only
from skconftree.tree.leaves._counts cimport ensure_capacity
from skconftree.tree.leaves._leaf cimport (
    LEAF_COUNTS, add_row, convert, new_leaf, release_leaf, start_child,
)
from skconftree.tree.leaves._leaf_store cimport (
    remove_from_pool, partition_pool, index_in_pool, pool_bytes,
)
from skconftree.tree.leaves._predictor cimport make_scratch
from skconftree.tree.leaves._rows cimport policy_of, update_subset_policy
from skconftree.tree.nodes._routing cimport Node
from skconftree.tree.nodes._shrinkage cimport count_above, fill_shrunk
from skconftree.tree.nodes._tree cimport capacity_for_code
from skconftree.tree.split._kernels import make_kernels
from skconftree.tree.split._node cimport RootStats
from skconftree.tree.split._split cimport Children
from skconftree.tree.stream._state import (
    STATE_VERSION,
    GrowerState,
    check_recipe,
    read_recipe,
    read_state,
)
from skconftree.utils._codec import corrupt_state
from skconftree.utils._lock cimport Lockable
from skconftree.utils._memory cimport (
    RESERVE_BYTES, release_all, release_reserve, trim_reserve, resize_array, reserve_bytes,
)
from skconftree.utils._typedefs cimport int16_t

cdef bint _is_summed(Grower grower, const Leaf* leaf, intp_t stopped_at) noexcept nogil:
    # Whether the prediction of a row uses the counts of several leaves: those below a node at
    # which its category is unknown (`stopped_at`), or below an ancestor if its leaf has no rows.
    cdef intp_t c
    if stopped_at >= 0:
        return True
    for c in range(grower.policy.n_classes):
        if grower.tree.counts[leaf.node * grower.policy.n_classes + c] > 0.0:
            return False
    return True


cdef int _predict_by_tree(Grower grower, intp_t node, float64_t* out) except -1:
    # The class probabilities of `Tree.proba`, so that sums of fractional counts are rounded in the
    # same way.
    while True:
        try:
            return grower.tree.fill_value(node, out)
        except MemoryError:
            release_reserve()


cdef void _fill_node_proba(Grower grower, intp_t node, float64_t* out) noexcept nogil:
    # Class probabilities of an internal node.
    cdef intp_t c
    cdef float64_t total = 0.0
    if grower.tree.shrinkage > 0.0:
        fill_shrunk(
            grower.tree.counts, grower.policy.n_classes, grower.tree.parent,
            grower.tree.depth, grower.tree.shrinkage, grower.class_weight, node, out,
        )
        return
    memset(out, 0, grower.policy.n_classes * sizeof(float64_t))
    grower.tree.add_counts(node, out)
    for c in range(grower.policy.n_classes):
        if grower.class_weight != NULL:
            out[c] *= grower.class_weight[c]
        total += out[c]
    for c in range(grower.policy.n_classes):
        out[c] = out[c] / total if total > 0.0 else 1.0 / grower.policy.n_classes


cdef intp_t _majority_of_node(Grower grower, intp_t node) noexcept nogil:
    # The most probable class of an internal node.
    cdef intp_t best = 0
    cdef intp_t c
    _fill_node_proba(grower, node, grower.node_proba)
    for c in range(1, grower.policy.n_classes):
        if grower.node_proba[c] > grower.node_proba[best]:
            best = c
    return best


cdef int _check_stored(
    Grower grower, intp_t n_features, const int32_t[::1] column_indices, const int64_t[::1] starts,
    const float32_t[::1] stored, const label_t[::1] y, const float64_t[::1] weight,
) except -1:
    # _check_rows() for the stored values of a sparse table, which has no categories.
    cdef intp_t n = starts.shape[0] - 1
    cdef intp_t i
    cdef bint valid = (
        n_features == grower.policy.n_features and y.shape[0] == n
        and (weight is None or weight.shape[0] == n)
        and grower.policy.n_nominal == 0 and starts[0] == 0
        and column_indices.shape[0] >= starts[n] and stored.shape[0] >= starts[n]
    )
    if valid:
        with nogil:
            for i in range(n):
                valid = valid and (y[i] < grower.policy.n_classes and starts[i] <= starts[i + 1])
            for i in range(starts[n]):
                valid = valid and 0 <= column_indices[i] < n_features
    return check_sizes(valid)


cdef int check_sizes(bint fits) except -1:
    if not fits:
        raise ValueError(
            "Rows do not fit the growing tree: attributes of the estimator were changed. "
            "Fit it again."
        )
    return 0


cdef enum:
    MAX_LEAF_RESERVE = 268435456     # largest number of bytes that are reserved for leaves


cdef class MemoryLimit:
    """Memory limit of a growing tree.

    If the tree is monitored for drift, half of `max_bytes` is for the trees that may replace
    it or its subtrees. The lists of the unlabeled rows in `leaves` have a fixed size.
    """

    def __init__(self, GrowthSettings settings, Tree tree, LeafStore leaves, bint with_boxes):
        self.requested = settings.max_bytes
        self.max_bytes = settings.max_bytes
        if settings.max_bytes != NO_LIMIT and settings.drift is not None:
            self.max_bytes //= 2
        self.node_bytes = tree.node_bytes() + sizeof(Leaf*)
        self.split_bytes = tree.split_bytes()
        # a leaf always keeps its LEAF_COUNTS arrays of class counts
        self.bare_bytes = (sizeof(Leaf) + LEAF_COUNTS * tree.n_classes * sizeof(float64_t))
        if with_boxes:      # the limits of a leaf in feature space, and its volume
            self.bare_bytes += (2 * tree.n_features + 1) * sizeof(float64_t)
        self.pool_bytes = pool_bytes(&leaves.policy)

    cdef void update_full(self, Tree tree, LeafStore leaves) noexcept nogil:
        # Update whether the tree is full.
        self.full = not self.has_capacity(tree, leaves, 2, 0)

    cdef bint has_capacity(
        self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
    ) noexcept nogil:
        # Whether there is memory to split a leaf.
        return self.max_bytes == NO_LIMIT or (
            _min_bytes(self, tree, leaves, n_outcomes, n_codes) <= self.max_bytes
        )

    def check(self, Tree tree, LeafStore leaves):
        """Raise ValueError if the limit is below the size of the tree."""
        min_bytes = _min_bytes(self, tree, leaves, 0, 0)
        if self.max_bytes < min_bytes:
            is_halved = self.max_bytes < self.requested
            raise ValueError(
                f"max_bytes={self.requested} is too small: the tree takes {min_bytes} bytes "
                f"before its first row"
                f"{', and as much is kept for its replacement after a drift' * is_halved}. "
                f"Pass at least {self.requested // self.max_bytes * min_bytes}."
            )

    def check_challengers(self, intp_t n_trees):
        """Raise ValueError if the limit is too small for `n_trees` challengers."""
        min_bytes = self.node_bytes + self.bare_bytes + self.pool_bytes
        if self.max_bytes // n_trees < min_bytes:
            raise ValueError(
                f"max_bytes={self.requested} is too small: half of it is for {n_trees} "
                f"alternate subtrees after drifts, each of which takes {min_bytes} bytes before "
                f"its first row. "
                f"Pass at least {2 * n_trees * min_bytes}."
            )

    cdef enforce(self, Tree tree, LeafStore leaves):
        # Leaves with the fewest training errors release their statistics first.
        cdef intp_t total, node
        if self.max_bytes == NO_LIMIT:
            return
        total = bytes_of(tree, leaves) + tree.node_count * self.monitor_bytes
        if total <= self.max_bytes:
            return
        counts = tree.counts_of_leaves()
        errors = counts.sum(axis=1) - counts.max(axis=1)
        for node in np.argsort(errors, kind="stable"):
            if leaves.at[node] == NULL:
                continue
            total -= leaves.release_memory(node)
            if total <= self.max_bytes:
                break

    cdef intp_t n_reserve_bytes(self, Tree tree, LeafStore leaves, intp_t max_rows) noexcept nogil:
        # Memory to learn rows up to the next checkpoint: the arrays of the tree may grow, which
        # copies them, and so may the rows of the largest leaf; some leaves may split.
        cdef intp_t d = tree.n_features
        cdef intp_t leaf = (2 * d * leaves.policy.max_bins * tree.n_classes * sizeof(float64_t))
        cdef intp_t rows = max_rows * (d * sizeof(float32_t) + sizeof(label_t) + sizeof(float64_t))
        return (
            RESERVE_BYTES + 4 * rows
            + 3 * tree.capacity
            * (self.node_bytes + self.split_bytes + self.monitor_bytes)
            + min(4 * leaf, <intp_t> MAX_LEAF_RESERVE)
        )


cdef intp_t _min_bytes(
    MemoryLimit limit, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
) noexcept nogil:
    # Size if every leaf releases its statistics, after a split if n_outcomes > 0. A mapped code is
    # an entry of a nominal split: the child of a category.
    cdef intp_t n_nodes = tree.node_count + n_outcomes
    cdef intp_t n_leaves = leaves.n_leaves + n_outcomes - (n_outcomes > 0)
    return (
        n_nodes * (limit.node_bytes + limit.monitor_bytes)
        + (n_nodes - tree.n_removed - n_leaves) * limit.split_bytes
        + (tree.n_mapped_codes + n_codes) * sizeof(int16_t)
        + n_leaves * limit.bare_bytes + limit.pool_bytes
    )


cdef intp_t bytes_of(Tree tree, LeafStore leaves):
    # Size of the nodes and of the statistics of the leaves.
    return (
        tree.bytes_of_nodes() + tree.node_count * sizeof(Leaf*)
        + leaves.bytes_of_leaves() + pool_bytes(&leaves.policy)
    )


cdef enum:
    CHECK_INTERVAL = 1024   # rows between two checkpoints
    MAX_TABULATED_COUNT = 4096  # functions of integer counts up to this one are tabulated


def with_state(Grower grower, state):
    """Set the state of a new grower, which has no leaves yet, and return the grower."""
    grower.__setstate__(state)
    return grower


cdef class Grower:
    """Grow a tree row by row; ValueError if tree and recipe do not match.

    The tree has at least a root. Its leaves continue from their counts. The recipe is a
    `Recipe` of _state.py.
    """

    def __init__(self, Tree tree, recipe):
        cdef intp_t d = tree.n_features
        cdef intp_t K = tree.n_classes
        check_recipe(recipe, tree)
        cdef GrowthSettings settings = recipe.settings
        cdef const float64_t[::1] class_weight = recipe.class_weight
        cdef const float32_t[:, ::1] pool = recipe.X_pool
        cdef intp_t subset_size = 0
        if recipe.in_forest and settings.max_features < d:
            subset_size = settings.max_features
        criterion, bound = make_kernels(settings, K, MAX_TABULATED_COUNT)
        self.tree = tree
        self.lock = ModelLock()
        tree.start_growth(criterion, self.lock, settings.max_depth)
        self.recipe = recipe
        self.settings = settings
        n_categories = None     # 1 for each nominal feature, 0 = numeric
        if recipe.nominal:
            n_categories = np.zeros(d, dtype=np.int32)
            n_categories[list(recipe.nominal)] = 1
        # with `by_volume`, the weight of a leaf is its volume in feature space
        root = RootStats(
            d, K, class_weight=class_weight, n_categories=n_categories,
            seed=recipe.seed, has_pool=pool is not None or settings.by_volume,
        )
        # `box`: the limits of the root in feature space, if `by_volume`
        self.source = LeafSource(settings, root, pool, recipe.box)
        self.splitter = Splitter(self.source, criterion, bound)
        self.predictor = LeafPredictor(
            d, K, settings.leaf_prediction, class_weight, recipe.in_forest
        )
        # `n_first`: number of features that existed from the start (None: all of them); the others
        # were added later
        self.leaves = LeafStore(
            d, K, settings, recipe.nominal, self.predictor.counts_hits,
            0 if pool is None else pool.shape[0], subset_size,
            d if recipe.n_first is None else recipe.n_first, recipe.seed, recipe.in_forest,
        )
        self.policy = &self.leaves.policy
        self.source.policy = self.policy
        self.predictor.policy = self.policy
        self.limit = MemoryLimit(settings, tree, self.leaves, settings.by_volume)
        self.pool_row = -1      # the current row is not in X_pool
        # rows of a forest's stream before the current one; -1: not in a forest's stream
        self.n_before = -1
        self.arena = Arena()
        self.node_proba = <float64_t*> self.arena.take_zeros(K, sizeof(float64_t))
        if class_weight is not None:
            self.class_weight = self.source.node.class_weight

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef intp_t _route_row(
        self, const float32_t* x, bint finite, intp_t* stopped_at
    ) noexcept nogil:
        # The leaf of a row. If a category is unknown at a node, the row continues with the
        # largest child; `stopped_at` is the first such node.
        cdef intp_t node = 0
        cdef intp_t to
        stopped_at[0] = -1
        if not finite or self.tree.n_mapped_codes > 0:      # missing values, or nominal splits
            while self.tree.nodes[node].feature >= 0:
                to = self.tree.child(node, x)
                if to == node:
                    if stopped_at[0] < 0:
                        stopped_at[0] = node
                    # at a nominal split, `missing_left` is the index of this child
                    to = self.tree.nodes[node].left + (self.tree.branching[node].missing_left)
                node = to
            return node
        while self.tree.nodes[node].feature >= 0:
            node = self.tree.nodes[node].left + (
                x[self.tree.nodes[node].feature] > self.tree.nodes[node].threshold
            )
        return node

    @property
    def predicts_by_bayes(self):
        """Whether leaves may predict by naive Bayes."""
        return self.predictor.counts_hits

    def predict_proba(self, const float32_t[:, ::1] X, bint finite):
        """Class probabilities of rows; the caller holds the read lock."""
        cdef intp_t n = X.shape[0]
        cdef intp_t K = self.policy.n_classes
        check_sizes(X.shape[1] == self.policy.n_features)
        proba = np.empty((n, K))
        cdef float64_t[:, ::1] out = proba
        cdef const Leaf* leaf
        cdef Arena arena = Arena()
        cdef Scratch scratch
        cdef intp_t i, stopped_at
        make_scratch(arena, &scratch, self.policy.n_features, K)
        with nogil:
            for i in range(n):
                leaf = self.leaves.at[self._route_row(&X[i, 0], finite, &stopped_at)]
                self._fill_proba(leaf, stopped_at, &X[i, 0], &scratch, &out[i, 0])
        return proba

    cdef void _fill_proba(
        self, const Leaf* leaf, intp_t stopped_at, const float32_t* x,
        Scratch* scratch, float64_t* out,
    ) noexcept nogil:
        # Class probabilities at a row's leaf, or at the node where a category is unknown.
        if stopped_at < 0:
            self.predictor.fill_proba(self.tree, leaf, x, scratch, out)
        else:
            _fill_node_proba(self, stopped_at, out)

    cdef int _check_rows(
        self, const float32_t[:, ::1] X, const label_t[::1] y, const float64_t[::1] weight,
    ) except -1:
        # Validate all rows first, because labels and codes index arrays. fits_code() tells whether
        # there is memory for a code. A row of weight 0 is not learned, so its categories may be
        # unknown.
        cdef intp_t n = X.shape[0]
        cdef intp_t i, j, f
        cdef bint valid = (
            X.shape[1] == self.policy.n_features and y.shape[0] == n
            and (weight is None or weight.shape[0] == n)
        )
        if valid:
            with nogil:
                for i in range(n):
                    valid = valid and y[i] < self.policy.n_classes
                for j in range(self.policy.n_nominal):
                    f = self.policy.nominal[j]
                    for i in range(n):
                        valid = valid and (
                            self.splitter.candidates.sets.fits_code(X[i, f])
                            # -1: unknown category
                            or X[i, f] == -1.0 and weight is not None
                            and weight[i] <= 0.0
                        )
        return check_sizes(valid)

    cdef assign_pool(self, const uint8_t[::1] learned=None):
        # Assign the rows of `X_pool` to the leaves that they reach, except for those that
        # were already learned.
        cdef const float32_t[:, ::1] pool = self.source.pool
        cdef intp_t[::1] leaf_of_row
        cdef intp_t i, stopped_at
        if pool is None:
            return
        leaf_of_row = np.full(pool.shape[0], -1, dtype=np.intp)
        for i in range(pool.shape[0]):
            if learned is None or not learned[i]:
                leaf_of_row[i] = self._route_row(&pool[i, 0], False, &stopped_at)
        self.leaves.assign_pool(leaf_of_row)

    cdef labeled_bits(self):
        # Bit mask of the rows of `X_pool` that were learned, for a state.
        is_unlabeled = self.unlabeled()
        return None if is_unlabeled is None else np.packbits(~is_unlabeled).tobytes()

    cdef load_pool(self, bits):
        # Assign the rows by the bits of a state.
        cdef const float32_t[:, ::1] pool = self.source.pool
        if (pool is None) != (bits is None):
            raise corrupt_state("growing tree")
        if pool is None:
            return
        learned = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))
        n = pool.shape[0]
        if len(learned) != n + -n % 8 or learned[n:].any():
            raise corrupt_state("growing tree")
        self.assign_pool(learned)

    def fresh_counts(self):
        """Weight of the rows of each class since each leaf's creation; 0 at internal nodes."""
        cdef intp_t node, c
        counts = np.zeros((self.tree.node_count, self.policy.n_classes))
        cdef float64_t[:, ::1] out = counts
        for node in range(self.tree.node_count):
            if self.leaves.at[node] != NULL:
                for c in range(self.policy.n_classes):
                    out[node, c] = self.leaves.at[node].fresh[c]
        return counts

    def unlabeled(self):
        """Mask of the rows of `X_pool` that were not learned; None without a pool."""
        cdef const Leaf* leaf
        cdef intp_t node, i
        cdef uint8_t[::1] is_unlabeled
        if self.source.pool is None:
            return None
        mask = np.zeros(self.source.pool.shape[0], dtype=np.bool_)
        is_unlabeled = mask.view(np.uint8)
        for node in range(self.tree.node_count):
            leaf = self.leaves.at[node]
            if leaf != NULL:
                for i in range(leaf.n_pool):
                    is_unlabeled[leaf.pool[i]] = True
        return mask

    def are_unlabeled(self, const int32_t[::1] rows not None):
        """Mask over `rows` of `X_pool`: which were not learned."""
        cdef intp_t i, stopped_at, node
        mask = np.zeros(rows.shape[0], dtype=np.bool_)
        for i in range(rows.shape[0]):
            node = self._route_row(&self.source.pool[rows[i], 0], False, &stopped_at)
            mask[i] = index_in_pool(self.leaves.at[node], rows[i]) >= 0
        return mask

    def remove_pool_rows(self, const int32_t[::1] rows not None):
        """Remove rows from `X_pool` that were learned by another tree."""
        cdef Leaf* leaf
        cdef intp_t i, stopped_at
        for i in range(rows.shape[0]):
            leaf = self.leaves.at[
                self._route_row(&self.source.pool[rows[i], 0], False, &stopped_at)
            ]
            remove_from_pool(leaf, self.policy, self.source.pool, index_in_pool(leaf, rows[i]))

    def share_lock(self, Lockable owner):
        """Use the lock of the owning model; called before other threads see this."""
        self.lock = owner._lock
        self.tree.lock = owner._lock

    def init_leaves(self):
        """Give every leaf an empty memory, and its rows of the pool."""
        leaves = self.tree.leaf_mask()
        self.leaves.init_leaves(self.tree)
        self.total_weight = float(
            (self.tree.counts_of_leaves() @ self.tree.class_weight)[leaves].sum()
        )
        self.weight_seen = float(self.tree.counts_of_leaves()[leaves].sum())
        self.assign_pool()
        if self.source.node.by_volume:
            self.leaves.compute_boxes(self.tree, self.source.root_box)
        self.limit.update_full(self.tree, self.leaves)
        self.limit.check(self.tree, self.leaves)

    def reserve_codes(self, intp_t n_codes):
        """Allocate memory for splits of features with `n_codes` categories."""
        if self.policy.n_codes != NULL:
            # one more for the categories that no labeled row has
            self.splitter.reserve_categories(n_codes + 1)

    def add_fitted_rows(
        self, const float32_t[:, ::1] X, const label_t[::1] y, const float64_t[::1] weight,
    ):
        """Add rows that the tree was fitted to. Call `retire_evidence` after the last row."""
        cdef intp_t i, stopped_at
        cdef float64_t w = 1.0
        cdef const float32_t* row
        cdef Leaf* leaf
        self._check_rows(X, y, None)
        check_sizes(weight is None or weight.shape[0] == X.shape[0])
        for i in range(X.shape[0]):
            leaf = self.leaves.at[self._route_row(&X[i, 0], False, &stopped_at)]
            self.leaves.observe(&X[i, 0], False)
            update_subset_policy(leaf, self.policy)
            # the features that the leaf uses; finds their bins, to which categories may be added
            row = self.predictor.locate(leaf, &X[i, 0], &self.predictor.scratch)
            ensure_capacity(leaf, policy_of(leaf, self.policy), row)
            if weight is not None:
                w = weight[i]
            if w != rint(w):
                self.source.all_integer = False
            row = self.predictor.locate(leaf, &X[i, 0], &self.predictor.scratch)
            add_row(leaf, self.policy, row, y[i], w, self.predictor.scratch.bin_indices)
            convert(leaf, self.policy)      # to another memory, if it has enough rows
            self.max_rows = max(self.max_rows, leaf.n_rows)

    def retire_evidence(self):
        """Keep the statistics of the leaves for predictions, but not as evidence."""
        self.leaves.retire_evidence()

    def reserve_memory(self):
        """Reserve memory for rows up to the next checkpoint, or raise MemoryError.

        `learn` does so, too. A failure has no effect.
        """
        reserve_bytes(self._reserve_bytes())

    def learn(
        self, X, const label_t[::1] y, const float64_t[::1] weight, bint finite,
        intp_t[::1] predicted=None, float64_t[:, ::1] proba=None,
        const int32_t[::1] from_pool=None,
    ):
        """Learn rows in their order; the caller holds the write lock.

        Errors and interrupts in the middle of a row are stored in `pending_error` and raised at
        a checkpoint, so that a call ends after a multiple of `CHECK_INTERVAL` rows.

        `X` is float32, an array or CSR. A row of weight 0 is not learned, and only its
        categories may be unknown. `predicted` and `proba`, unless None, are filled with
        the class and the class probabilities predicted before each row is learned.
        `from_pool` has the indices of the rows in `X_pool`, from which they are removed.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t i, j
        cdef intp_t predicted_class
        cdef intp_t* out = NULL
        cdef float64_t* proba_row = NULL
        cdef float64_t w = 1.0
        cdef const float32_t[:, ::1] rows = None
        cdef const float32_t[::1] stored = None
        cdef const int32_t[::1] column_indices
        cdef const int64_t[::1] starts
        cdef float32_t[::1] row
        cdef const float32_t* x
        cdef bint is_sparse = not isinstance(X, np.ndarray)
        if is_sparse:
            stored = X.data
            column_indices = X.indices.astype(np.int32, copy=False)
            starts = X.indptr.astype(np.int64, copy=False)
            row = np.zeros(self.policy.n_features, dtype=np.float32)
            x = &row[0]
            _check_stored(self, X.shape[1], column_indices, starts, stored, y, weight)
        else:
            rows = X
            self._check_rows(rows, y, weight)
        check_sizes(
            (predicted is None or predicted.shape[0] == n)
            and (proba is None or proba.shape[0] == n and proba.shape[1] == self.policy.n_classes)
            and (from_pool is None or from_pool.shape[0] == n)
        )
        if predicted is not None:
            out = &predicted_class
        self.finite = finite
        self.pending_error = None
        reserve_bytes(self._reserve_bytes())
        try:
            with nogil:
                for i in range(n):
                    if weight is not None:
                        w = weight[i]
                    if is_sparse:
                        for j in range(starts[i], starts[i + 1]):
                            row[column_indices[j]] += stored[j]
                    else:
                        x = &rows[i, 0]
                    if proba is not None:
                        proba_row = &proba[i, 0]
                    if from_pool is not None:
                        self.pool_row = from_pool[i]
                    self.learn_row(x, y[i], w, out, proba_row)
                    if is_sparse:
                        for j in range(starts[i], starts[i + 1]):
                            row[column_indices[j]] = 0.0
                    if predicted is not None:
                        predicted[i] = predicted_class
                    if self.n_rows_seen % CHECK_INTERVAL == 0:
                        with gil:
                            self.limit_memory()
                            _raise_pending(self)
                            PyErr_CheckSignals()
                            reserve_bytes(self._reserve_bytes())
            _raise_pending(self)
        finally:
            self.pool_row = -1
            trim_reserve()

    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* predicted, float64_t* proba,
    ) except -1 nogil:
        # Predict the class of a row, and class probabilities unless `proba` is NULL, then
        # learn the row.
        cdef intp_t stopped_at
        cdef intp_t node = self._route_row(x, self.finite, &stopped_at)
        cdef Leaf* leaf = self.leaves.at[node]
        cdef Scratch* scratch = &self.predictor.scratch
        # `counts_hits`: leaves may predict by naive Bayes, and count the hits (right predictions)
        # of each of their models
        cdef bint counts_hits = self.predictor.counts_hits
        cdef float64_t* leaf_proba = NULL   # `proba` if the predictor has to fill it
        cdef const float32_t* row
        cdef float64_t* counts
        cdef intp_t* n_rows
        cdef intp_t predicted_class
        self.row_leaf = node
        if proba != NULL:
            if not counts_hits and _is_summed(self, leaf, stopped_at):
                with gil:
                    _predict_by_tree(self, stopped_at if stopped_at >= 0 else node, proba)
            elif stopped_at >= 0:
                _fill_node_proba(self, stopped_at, proba)
            else:
                leaf_proba = proba
        # the features that the leaf uses; their bins are stored in `scratch`
        row = self.predictor.locate(leaf, x, scratch)
        if counts_hits or predicted != NULL or leaf_proba != NULL:
            # the fifth argument is whether the class is returned
            predicted_class = self.predictor.predict_before(
                self.tree, leaf, x, row, predicted != NULL, leaf_proba
            )
            if predicted != NULL:
                predicted[0] = predicted_class
                if stopped_at >= 0:
                    predicted[0] = _majority_of_node(self, stopped_at)
        if weight == 0.0:
            return 0    # the row is ignored
        self.leaves.observe(x, self.finite)     # record new categories and missing values
        if stopped_at >= 0:
            with gil:
                self._add_categories(x)
        if leaf.subset != NULL:     # new categories and missing values, to the leaf's policy
            update_subset_policy(leaf, self.policy)
        if self.policy.n_nominal > 0:
            ensure_capacity(leaf, policy_of(leaf, self.policy), row)
            row = self.predictor.locate(leaf, x, scratch)
        add_row(leaf, self.policy, row, y, weight, scratch.bin_indices)
        if leaf.n_rows > self.max_rows:
            self.max_rows = leaf.n_rows
        if self.pool_row >= 0:
            remove_from_pool(
                leaf, self.policy, self.source.pool, index_in_pool(leaf, self.pool_row)
            )
        if counts_hits:
            self.predictor.update_hits(leaf, y, weight)
        if weight != rint(weight):
            self.source.all_integer = False
        counts = self.tree.counts + node * self.policy.n_classes
        counts[y] += weight
        if self.tree.shrinkage > 0.0:
            # add the weight to the counts of the ancestors
            count_above(self.tree.counts, self.policy.n_classes, self.tree.parent, node, y, weight)
        self.tree.version += 1      # values computed from earlier counts are out of date
        n_rows = self.tree.n_node_samples + node
        n_rows[0] += 1
        self.weight_seen += weight
        if self.class_weight != NULL:
            weight *= self.class_weight[y]
        self.total_weight += weight
        self.n_rows_seen += 1
        convert(leaf, self.policy)      # to another memory, if it has enough rows
        if _is_split_due(self, leaf):
            self._grow(leaf)
        return 0

    cdef int _add_categories(self, const float32_t* x) except -1:
        # Add an unknown category of a row to a split, if the limit permits. The row then
        # continues with the child of unknown categories.
        cdef const Node* at
        cdef intp_t node = 0
        cdef intp_t to, code
        while self.tree.nodes[node].feature >= 0:
            to = self.tree.child(node, x)
            if to != node:
                node = to
                continue
            at = &self.tree.nodes[node]
            code = <intp_t> x[at.feature]
            if not _fits_limit_with_code(self, node, code):
                node = at.left + self.tree.branching[node].missing_left
                continue
            try:
                self.tree.add_category(node, code)
            except MemoryError:
                release_reserve()
        return 0

    cdef bint _may_split(self, const Leaf* leaf) noexcept nogil:
        # Whether a leaf may try to split. A pure leaf, or one without statistics, may not.
        # `separate`: only the fresh rows, since the leaf's creation, are evidence
        cdef bint separate = uses_fresh_only(leaf, self.policy)
        cdef const float64_t* counts = leaf.fresh if separate else leaf.total
        cdef float64_t n = leaf.n_fresh if separate else leaf.n_total
        cdef float64_t min_weight = self.settings.min_samples_split
        cdef intp_t n_present = 0
        cdef intp_t c
        if not leaf.memory.may_split or self.limit.full:
            return False
        if self.leaves.n_leaves >= self.settings.max_leaves:
            return False
        if min_weight < 0.0:    # minus a fraction of the weight of all rows
            min_weight *= -self.weight_seen
        for c in range(self.policy.n_classes):
            n_present += counts[c] > 0.0
        # `depth_above`: depth of the root of the subtree that this tree may replace, or 0
        return (
            n_present > 1 and n >= min_weight
            and self.tree.depth[leaf.node] + self.depth_above < self.settings.max_depth
        )

    cdef int _grow(self, Leaf* leaf) except -1 nogil:
        # Try to split a leaf, and then its descendants in preorder.
        cdef intp_t top = leaf.node
        cdef intp_t node = top
        cdef Split split
        while node >= 0:
            leaf = self.leaves.at[node]
            if node == top or self._may_split(leaf):
                self._examine(leaf, &split)
                if split.feature >= 0 and _fits_limits(self, &split):
                    _split_leaf(self, leaf, &split)
                    self.limit.update_full(self.tree, self.leaves)
            if not self.settings.recurses:      # children wait for more rows
                break
            node = self.tree.next_below(top, node)
        return 0

    cdef int _examine(self, Leaf* leaf, Split* split) except -1 nogil:
        cdef float64_t n_examined = leaf.n_examined
        leaf.attempt += 1
        leaf.n_examined = leaf.n_fresh
        self.source.node.time = self.weight_seen    # some bounds depend on it
        self.source.node.min_weight = self.settings.min_samples_leaf
        if self.settings.min_samples_leaf < 0.0:    # minus a fraction
            self.source.node.min_weight *= -self.weight_seen
        self.source.node.min_reweighted = (
            self.settings.min_weight_fraction_leaf * self.total_weight
        )
        self.splitter.total_weight = self.total_weight
        self.source.enter(leaf, self.tree.depth[leaf.node] + self.depth_above)
        split.feature = -1
        clear_evidence(&split.evidence)
        if self.source.record.pool != 0.0:      # the weight of the leaf, or its volume
            split[0] = self.splitter.find(&self.source.record, self.source.counts)
        if self.splitter.holds():       # an exception, which is raised at the next checkpoint
            if self.splitter.has_failed():      # without a result: the next row tries again
                split.feature = -1
                leaf.attempt -= 1
                leaf.n_examined = n_examined
            with gil:
                error = self.splitter.release()
                if self.pending_error is None:
                    self.pending_error = error
        return 0

    @property
    def n_bytes(self):
        """Bytes of the tree and of the statistics of its leaves."""
        return bytes_of(self.tree, self.leaves)

    @property
    def n_inactive_leaves(self):
        """Number of leaves whose statistics were released because of the memory limit."""
        return self.leaves.n_without_memory() if self.limit.max_bytes != NO_LIMIT else 0

    @property
    def n_drifts(self):
        """Number of detected drifts."""
        return len(self.drifts)

    @property
    def drifts(self):
        """Row and node of each detected drift; this grower does not detect any."""
        return ()

    cdef object take_pending(self):
        error, self.pending_error = self.pending_error, None
        return error

    cdef int limit_memory(self) except -1:
        while True:
            try:
                self.limit.enforce(self.tree, self.leaves)
                return 0
            except MemoryError:
                release_reserve()

    cdef intp_t _reserve_bytes(self) noexcept nogil:
        return self.limit.n_reserve_bytes(self.tree, self.leaves, self.max_rows)

    def __reduce__(self):
        # Under the lock, so that tree and leaves are consistent.
        self.lock.read()
        try:
            return type(self).read, (copy(self.tree), self.recipe.values(), self.__getstate__())
        finally:
            self.lock.leave()

    @classmethod
    def read(cls, tree, values, state):
        """Make a grower from the parts of a pickle; ValueError if they are corrupt."""
        return with_state(cls(tree, read_recipe(values)), state)

    def __getstate__(self):
        return (STATE_VERSION, *self._state())

    def _state(self):
        # `losses`: past log loss of naive Bayes in the leaves, by which the predictor is tuned
        return GrowerState(
            n_rows_seen=self.n_rows_seen, weight_seen=self.weight_seen,
            total_weight=self.total_weight, full=bool(self.limit.full),
            whole=bool(self.source.all_integer), leaves=self.leaves.write(),
            missing=bool(self.policy.missing), n_codes=self.leaves.n_codes,
            learned=self.labeled_bits(), losses=self.predictor.write_losses(),
        )

    def __setstate__(self, state):
        self._load(read_state(state))

    def _load(self, state):
        # these parts belong to growers that detect drift
        if (
            state.detector is not None or state.background is not None
            or state.monitors is not None or state.challengers or state.drifts
        ):
            raise corrupt_state("growing tree")
        self.policy.missing = state.missing
        self.leaves.n_codes = state.n_codes
        if state.n_codes is not None:
            self.reserve_codes(max(state.n_codes))
        self.leaves.read(state.leaves, self.tree, self.source.node.by_volume)
        self.load_pool(state.learned)
        self.predictor.read_losses(state.losses)
        self.max_rows = self.leaves.max_rows()
        self.n_rows_seen = state.n_rows_seen
        self.weight_seen = state.weight_seen
        self.total_weight = state.total_weight
        self.limit.full = state.full
        self.source.all_integer = state.whole


cdef int _raise_pending(Grower grower) except -1:
    # Raise the exception of an earlier row; the model is consistent now.
    error = grower.take_pending()
    if error is not None:
        raise error
    return 0


cdef bint _fits_limit_with_code(Grower grower, intp_t node, intp_t code) noexcept nogil:
    # Whether the memory limit permits a category with this code in the split of a node.
    return code < grower.tree.branching[node].n_codes or (
        grower.limit.has_capacity(grower.tree, grower.leaves, 0, capacity_for_code(code))
    )


cdef bint _is_split_due(Grower grower, const Leaf* leaf) noexcept nogil:
    # The grace period is the weight that a leaf receives between split attempts. `row_weight` is
    # the mean weight of a row, `root_grace` the grace period of the root: that of another leaf is
    # at least its share of the rows times this.
    cdef float64_t wait = grower.settings.grace_period
    # longer later, up to `grace_limit`: splits are permanent
    if wait < grower.settings.grace_limit:
        wait = max(wait, sqrt(grower.settings.row_weight * grower.weight_seen))
        wait = max(wait, grower.settings.root_grace * leaf.n_total / grower.weight_seen)
        wait = min(wait, grower.settings.grace_limit)
    return leaf.n_fresh - leaf.n_examined >= wait and grower._may_split(leaf)


cdef bint _fits_limits(Grower grower, const Split* split) noexcept nogil:
    # Whether the limits of leaves and memory permit a split with several outcomes.
    cdef intp_t r = split.children.n_outcomes
    cdef intp_t n_codes = 0
    if r == 2 and grower.policy.n_codes == NULL:    # no nominal features
        return True     # `_may_split` has checked this
    if grower.policy.n_codes != NULL:
        n_codes = max(grower.policy.n_codes[split.feature], 0)
    return grower.leaves.n_leaves - 1 + r <= grower.settings.max_leaves and (
        grower.limit.has_capacity(grower.tree, grower.leaves, r, n_codes)
    )


cdef int _split_leaf(Grower grower, Leaf* leaf, const Split* split) except -1 nogil:
    # Split a leaf and create the memories of its children. If an allocation fails, the
    # tree is unchanged.
    cdef const Children* children = &split.children
    cdef intp_t first = grower.tree.node_count
    cdef intp_t r = children.n_outcomes
    cdef LeafSplit leaf_split
    cdef intp_t z
    leaf_split.feature = split.feature
    leaf_split.n_outcomes = r
    leaf_split.threshold = split.threshold
    leaf_split.pool = children.pool         # weight with unlabeled rows, or volume, of each child
    leaf_split.cut = split.cut.position     # last bin on the left, if the leaf has bins
    leaf_split.missing_left = children.missing_left
    leaf_split.child_of_code = children.child_of_code
    leaf_split.n_codes = children.n_codes
    leaf_split.unknown = children.unknown   # child of the categories that the leaf has not seen
    _reserve(grower, &leaf_split)
    _make_children(grower, leaf, &leaf_split)
    # nothing fails from here on
    grower.tree.split(
        leaf.node, split.feature, split.threshold, children.missing_left, children.missing_seen,
        children.child_of_code, children.n_codes, children.unknown, &split.evidence,
    )
    _add_children(grower, leaf, &leaf_split)
    for z in range(r):
        grower.predictor.inherit_hits(leaf, grower.children[z])
    grower.leaves.replace(leaf, grower.children, first, r)
    return 0


cdef int _reserve(Grower grower, const LeafSplit* leaf_split) except -1 nogil:
    # Reserve capacity for the children of a split.
    cdef intp_t r = leaf_split.n_outcomes
    with gil:
        while True:
            try:
                grower.tree.reserve(grower.tree.node_count + r)
                grower.tree.reserve_mapped_codes(grower.tree.n_mapped_codes + leaf_split.n_codes)
                break
            except MemoryError:
                release_reserve()
    grower.leaves.reserve(grower.tree.node_count + r)
    if r > grower.child_capacity:
        grower.child_shares = <float64_t*> resize_array(
            &grower.blocks, grower.child_shares, r * grower.policy.n_classes, sizeof(float64_t)
        )
        grower.children = <Leaf**> resize_array(&grower.blocks, grower.children, r, sizeof(Leaf*))
        grower.child_capacity = r
    return 0


cdef int _make_children(
    Grower grower, const Leaf* leaf, const LeafSplit* leaf_split
) except -1 nogil:
    # Make the children; release all of them if one fails.
    cdef intp_t r = leaf_split.n_outcomes
    cdef bint done = False
    cdef intp_t z
    memset(grower.children, 0, r * sizeof(Leaf*))
    try:
        for z in range(r):
            grower.children[z] = new_leaf(grower.policy, grower.tree.node_count + z)
            start_child(
                leaf, grower.policy, leaf_split, z,
                grower.child_shares + z * grower.policy.n_classes, grower.children[z],
            )
        partition_pool(leaf, grower.policy, leaf_split, grower.source.pool, grower.children)
        done = True
    finally:
        if not done:
            for z in range(r):
                release_leaf(grower.children[z], grower.policy)
    return 0


cdef void _add_children(
    Grower grower, const Leaf* leaf, const LeafSplit* leaf_split
) noexcept nogil:
    # Add child nodes whose counts sum to those of the node. They are the exact counts of stored
    # rows, or the estimated shares of the node's counts; the last child gets the rest.
    cdef intp_t K = grower.tree.n_classes
    cdef intp_t r = leaf_split.n_outcomes
    cdef const float64_t* counts = grower.tree.counts + leaf.node * K
    cdef float64_t* rest = grower.child_shares + (r - 1) * K
    cdef float64_t* child
    cdef float64_t total = 0.0
    cdef float64_t n
    cdef intp_t n_rows = grower.tree.n_node_samples[leaf.node]
    cdef intp_t rows_left = n_rows
    cdef intp_t rows, z, c
    # the children have all rows of the leaf: it has stored them and has not dropped old ones
    cdef bint exact = (leaf.memory.stores_rows and not leaf.dropped and leaf.subset == NULL)
    for c in range(K):
        total += counts[c]
        rest[c] = counts[c]
    for z in range(r):
        child = grower.child_shares + z * K
        if z < r - 1:
            for c in range(K):
                if exact and counts[c] == leaf.total[c]:
                    child[c] = grower.children[z].total[c]
                else:
                    child[c] = min(child[c] * counts[c], rest[c])
                rest[c] = max(rest[c] - child[c], 0.0)
        n = 0.0
        for c in range(K):
            n += child[c]
        rows = rows_left
        if z < r - 1:
            rows = <intp_t> rint(n_rows * (n / total)) if total > 0.0 else 0
            if exact and leaf.n_rows == n_rows:
                rows = grower.children[z].n_rows
            rows = min(rows, rows_left)
        rows_left -= rows
        grower.tree.add_leaf(leaf.node, child, rows, 0.0)   # the impurity is computed when read
