"""Growth of a tree row by row, within a limit of memory."""

import numpy as np
from copy import copy
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport rint, sqrt
from libc.string cimport memset

from skconftree.bounds._contract cimport clear_evidence
from skconftree.tree._settings cimport NO_LIMIT
from skconftree.tree.leaves._contract cimport Parting, only_fresh
from skconftree.tree.leaves._counts cimport ensure_capacity
from skconftree.tree.leaves._leaf cimport (
    LEAF_COUNTS, add_row, convert, new_leaf, release_leaf, start_child,
)
from skconftree.tree.leaves._leaf_store cimport (
    leave_pool, part_pool, index_in_pool, pool_bytes,
)
from skconftree.tree.leaves._predictor cimport make_scratch
from skconftree.tree.leaves._rows cimport policy_of, tell
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
from skconftree.utils._codec import damaged
from skconftree.utils._lock cimport Lockable
from skconftree.utils._memory cimport (
    RESERVE_BYTES, release_all, give_way, let_go_of_much, resize_array, reserve_bytes,
)
from skconftree.utils._typedefs cimport int16_t

cdef bint _is_summed(
    Grower self, const Leaf* leaf, intp_t stopped_at
) noexcept nogil:
    # Whether the prediction of a row rests on a sum over several leaves.
    cdef intp_t c
    if stopped_at >= 0:
        return True
    for c in range(self.policy.n_classes):
        if self.tree.counts[leaf.node * self.policy.n_classes + c] > 0.0:
            return False
    return True


cdef int _ask_tree(Grower self, intp_t node, float64_t* out) except -1:
    # It predicts where no leaf learns how; sums of fractions round as they do there.
    while True:
        try:
            return self.tree.fill_value(node, out)
        except MemoryError:
            give_way()


cdef void _fill_below(Grower self, intp_t node, float64_t* out) noexcept nogil:
    # What an internal node predicts.
    cdef intp_t c
    cdef float64_t total = 0.0
    if self.tree.shrinkage > 0.0:
        fill_shrunk(
            self.tree.counts, self.policy.n_classes, self.tree.parent,
            self.tree.depth, self.tree.shrinkage, self.class_weight, node, out,
        )
        return
    memset(out, 0, self.policy.n_classes * sizeof(float64_t))
    self.tree.add_counts(node, out)
    for c in range(self.policy.n_classes):
        if self.class_weight != NULL:
            out[c] *= self.class_weight[c]
        total += out[c]
    for c in range(self.policy.n_classes):
        out[c] = out[c] / total if total > 0.0 else 1.0 / self.policy.n_classes


cdef intp_t _majority_below(Grower self, intp_t node) noexcept nogil:
    cdef intp_t best = 0
    cdef intp_t c
    _fill_below(self, node, self.below)
    for c in range(1, self.policy.n_classes):
        if self.below[c] > self.below[best]:
            best = c
    return best


cdef int _check_stored(
    Grower self, intp_t n_features, const int32_t[::1] places,
    const int64_t[::1] starts, const float32_t[::1] stored, const label_t[::1] y,
    const float64_t[::1] weight,
) except -1:
    # As _check_rows, for what a sparse table stores; it has no categories.
    cdef intp_t n = starts.shape[0] - 1
    cdef intp_t i
    cdef bint sound = (
        n_features == self.policy.n_features and y.shape[0] == n
        and (weight is None or weight.shape[0] == n)
        and self.policy.n_nominal == 0 and starts[0] == 0
        and places.shape[0] >= starts[n] and stored.shape[0] >= starts[n]
    )
    if sound:
        with nogil:
            for i in range(n):
                sound = sound and (
                    y[i] < self.policy.n_classes and starts[i] <= starts[i + 1]
                )
            for i in range(starts[n]):
                sound = sound and 0 <= places[i] < n_features
    return require_fit(sound)


cdef int require_fit(bint fits) except -1:
    if not fits:
        raise ValueError(
            "Rows do not fit the growing tree: the estimator's attributes have been "
            "changed."
        )
    return 0


cdef enum:
    MAX_RETAINED_BYTES = 268435456     # bytes kept back


cdef class MemoryLimit:
    """A limit to the memory of a growing tree.

    If the tree is watched, another one shares its `max_bytes` equally. The rows of
    `leaves` without label take as much as they will ever do.
    """

    def __init__(
        self, GrowthSettings settings, Tree tree, LeafStore leaves, bint with_boxes
    ):
        self.given = settings.max_bytes
        self.max_bytes = settings.max_bytes
        if settings.max_bytes != NO_LIMIT and settings.drift is not None:
            self.max_bytes //= 2
        self.node_bytes = tree.node_bytes() + sizeof(Leaf*)
        self.split_bytes = tree.split_bytes()
        self.bare_bytes = (
            sizeof(Leaf) + LEAF_COUNTS * tree.n_classes * sizeof(float64_t)
        )
        if with_boxes:
            self.bare_bytes += (2 * tree.n_features + 1) * sizeof(float64_t)
        self.pool_bytes = pool_bytes(&leaves.policy)

    cdef void look(self, Tree tree, LeafStore leaves) noexcept nogil:
        # Whether the tree is full.
        self.full = not self.has_capacity(tree, leaves, 2, 0)

    cdef bint has_capacity(
        self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
    ) noexcept nogil:
        # For a split of a leaf.
        return self.max_bytes == NO_LIMIT or (
            _least_bytes(self, tree, leaves, n_outcomes, n_codes) <= self.max_bytes
        )

    def check(self, Tree tree, LeafStore leaves):
        """Raise if the tree as it is has no room."""
        least = _least_bytes(self, tree, leaves, 0, 0)
        if self.max_bytes < least:
            raise ValueError(
                f"max_bytes={self.given} is too small: the tree takes {least} bytes "
                f"before its first row"
                f"{', and a second one is needed' if self.max_bytes < self.given else ''}."
            )

    def check_beside(self, intp_t n_trees):
        """Raise if there is no room for so many empty trees that share the rest."""
        least = self.node_bytes + self.bare_bytes + self.pool_bytes
        if self.max_bytes // n_trees < least:
            raise ValueError(
                f"max_bytes={self.given} is too small: half of it is for {n_trees} trees "
                f"that grow beside, each of which takes {least} bytes before its first "
                f"row."
            )

    cdef enforce(self, Tree tree, LeafStore leaves):
        # Leaves with the fewest errors to save forget first.
        cdef intp_t total, node
        if self.max_bytes == NO_LIMIT:
            return
        total = bytes_of(tree, leaves) + tree.node_count * self.watch_bytes
        if total <= self.max_bytes:
            return
        counts = tree.counts_of_leaves()
        errors = counts.sum(axis=1) - counts.max(axis=1)
        for node in np.argsort(errors, kind="stable"):
            if leaves.at[node] == NULL:
                continue
            total -= leaves.make_forget(node)
            if total <= self.max_bytes:
                break

    cdef intp_t n_reserve_bytes(
        self, Tree tree, LeafStore leaves, intp_t max_rows
    ) noexcept nogil:
        # To learn rows up to the next boundary: the arrays of the tree may be copied,
        # and so may the rows of the largest leaf; some leaves may part.
        cdef intp_t d = tree.n_features
        cdef intp_t leaf = (
            2 * d * leaves.policy.max_bins * tree.n_classes * sizeof(float64_t)
        )
        cdef intp_t rows = max_rows * (
            d * sizeof(float32_t) + sizeof(label_t) + sizeof(float64_t)
        )
        return (
            RESERVE_BYTES + 4 * rows
            + 3 * tree.capacity
            * (self.node_bytes + self.split_bytes + self.watch_bytes)
            + min(4 * leaf, <intp_t> MAX_RETAINED_BYTES)
        )


cdef intp_t _least_bytes(
    MemoryLimit self, Tree tree, LeafStore leaves, intp_t n_outcomes, intp_t n_codes
) noexcept nogil:
    # What is left if every leaf forgets, after a split if n_outcomes > 0.
    cdef intp_t n_nodes = tree.node_count + n_outcomes
    cdef intp_t n_leaves = leaves.n_leaves + n_outcomes - (n_outcomes > 0)
    return (
        n_nodes * (self.node_bytes + self.watch_bytes)
        + (n_nodes - tree.n_dead - n_leaves) * self.split_bytes
        + (tree.n_ordinals + n_codes) * sizeof(int16_t)
        + n_leaves * self.bare_bytes + self.pool_bytes
    )


cdef intp_t bytes_of(Tree tree, LeafStore leaves):
    # Of the nodes and of what the leaves remember.
    return (
        tree.bytes_of_nodes() + tree.node_count * sizeof(Leaf*)
        + leaves.bytes_of_leaves() + pool_bytes(&leaves.policy)
    )


cdef enum:
    BOUNDARY = 1024     # rows
    TABLES = 4096       # whole counts up to here come from tables


def with_state(Grower grower, state):
    """Give a new grower its state, without which it has no leaves, and return it."""
    grower.__setstate__(state)
    return grower


cdef class Grower:
    """Grows a tree row by row; ValueError if tree and recipe do not fit each other.

    The tree has at least a root. Its leaves go on from their counts.
    """

    def __init__(self, Tree tree, recipe):
        cdef intp_t d = tree.n_features
        cdef intp_t K = tree.n_classes
        check_recipe(recipe, tree)
        cdef GrowthSettings settings = recipe.settings
        cdef const float64_t[::1] class_weight = recipe.class_weight
        cdef const float32_t[:, ::1] pool = recipe.X_pool
        cdef intp_t n_drawn = 0
        if recipe.in_forest and settings.max_features < d:
            n_drawn = settings.max_features
        criterion, bound = make_kernels(settings, K, TABLES)
        self.tree = tree
        self.lock = ModelLock()
        tree.grows(criterion, self.lock, settings.max_depth)
        self.recipe = recipe
        self.settings = settings
        n_categories = None     # as if each nominal feature had one
        if recipe.nominal:
            n_categories = np.zeros(d, dtype=np.int32)
            n_categories[list(recipe.nominal)] = 1
        root = RootStats(
            d, K, class_weight=class_weight, n_categories=n_categories,
            seed=recipe.seed, has_pool=pool is not None or settings.by_volume,
        )
        self.source = LeafSource(settings, root, pool, recipe.box)
        self.splitter = Splitter(self.source, criterion, bound)
        self.predictor = LeafPredictor(
            d, K, settings.leaf_prediction, class_weight, recipe.in_forest
        )
        self.leaves = LeafStore(
            d, K, settings, recipe.nominal, self.predictor.judging,
            0 if pool is None else pool.shape[0], n_drawn, recipe.seed,
            recipe.in_forest,
        )
        self.policy = &self.leaves.policy
        self.source.policy = self.policy
        self.predictor.policy = self.policy
        self.limit = MemoryLimit(settings, tree, self.leaves, settings.by_volume)
        self.leaving = -1
        self.n_before = -1
        self.arena = Arena()
        self.below = <float64_t*> self.arena.take_zeros(K, sizeof(float64_t))
        if class_weight is not None:
            self.class_weight = self.source.node.class_weight

    def __dealloc__(self):
        release_all(&self.blocks)

    cdef intp_t _route_row(
        self, const float32_t* x, bint finite, intp_t* stopped_at
    ) noexcept nogil:
        # The leaf of a row. A category that is not known at a node goes on with the
        # child that was the largest; the first such node is noted.
        cdef intp_t node = 0
        cdef intp_t to
        stopped_at[0] = -1
        if not finite or self.tree.n_ordinals > 0:
            while self.tree.nodes[node].feature >= 0:
                to = self.tree.child(node, x)
                if to == node:
                    if stopped_at[0] < 0:
                        stopped_at[0] = node
                    to = self.tree.nodes[node].left + (
                        self.tree.branching[node].missing_left
                    )
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
        return self.predictor.judging

    def predict_proba(self, const float32_t[:, ::1] X, bint finite):
        """Class probabilities of rows, for whoever holds the lock to read."""
        cdef intp_t n = X.shape[0]
        cdef intp_t K = self.policy.n_classes
        require_fit(X.shape[1] == self.policy.n_features)
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
        # Class probabilities of a row at its leaf, or where its category is unknown.
        if stopped_at < 0:
            self.predictor.fill_proba(self.tree, leaf, x, scratch, out)
        else:
            _fill_below(self, stopped_at, out)

    cdef int _check_rows(
        self, const float32_t[:, ::1] X, const label_t[::1] y,
        const float64_t[::1] weight,
    ) except -1:
        # Before the first of them is learnt: labels and codes index arrays. A row that
        # is not learnt, as it weighs nothing, asks for predictions at most.
        cdef intp_t n = X.shape[0]
        cdef intp_t i, j, f
        cdef bint sound = (
            X.shape[1] == self.policy.n_features and y.shape[0] == n
            and (weight is None or weight.shape[0] == n)
        )
        if sound:
            with nogil:
                for i in range(n):
                    sound = sound and y[i] < self.policy.n_classes
                for j in range(self.policy.n_nominal):
                    f = self.policy.nominal[j]
                    for i in range(n):
                        sound = sound and (
                            self.splitter.tests.sets.has_capacity(X[i, f])
                            or X[i, f] == -1.0 and weight is not None
                            and weight[i] <= 0.0
                        )
        return require_fit(sound)

    cdef open_pool(self, const uint8_t[::1] learnt=None):
        # Hand the rows of `X_pool` to the leaves that they reach, but for those that
        # have been learnt.
        cdef const float32_t[:, ::1] pool = self.source.pool
        cdef intp_t[::1] home
        cdef intp_t i, stopped_at
        if pool is None:
            return
        home = np.full(pool.shape[0], -1, dtype=np.intp)
        for i in range(pool.shape[0]):
            if learnt is None or not learnt[i]:
                home[i] = self._route_row(&pool[i, 0], False, &stopped_at)
        self.leaves.open_pool(home)

    cdef learned_bits(self):
        # For a state: where the others lie, the tree says.
        waiting = self.unlabelled()
        return None if waiting is None else np.packbits(~waiting).tobytes()

    cdef take_pool(self, bits):
        # Hand out the rows as a state says.
        cdef const float32_t[:, ::1] pool = self.source.pool
        if (pool is None) != (bits is None):
            raise damaged("growing tree")
        if pool is None:
            return
        learnt = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))
        n = pool.shape[0]
        if len(learnt) != n + -n % 8 or learnt[n:].any():
            raise damaged("growing tree")
        self.open_pool(learnt)

    def fresh_counts(self):
        """Weight of the rows of each class since each leaf was made; 0 at inner nodes.
        """
        cdef intp_t node, c
        counts = np.zeros((self.tree.node_count, self.policy.n_classes))
        cdef float64_t[:, ::1] out = counts
        for node in range(self.tree.node_count):
            if self.leaves.at[node] != NULL:
                for c in range(self.policy.n_classes):
                    out[node, c] = self.leaves.at[node].fresh[c]
        return counts

    def unlabelled(self):
        """Which rows of `X_pool` have not been learnt, as a mask; None without one."""
        cdef const Leaf* leaf
        cdef intp_t node, i
        cdef uint8_t[::1] found
        if self.source.pool is None:
            return None
        mask = np.zeros(self.source.pool.shape[0], dtype=np.bool_)
        found = mask.view(np.uint8)
        for node in range(self.tree.node_count):
            leaf = self.leaves.at[node]
            if leaf != NULL:
                for i in range(leaf.n_pool):
                    found[leaf.pool[i]] = True
        return mask

    def are_unlabelled(self, const int32_t[::1] rows not None):
        """Which of some rows of `X_pool` have not been learnt, as a mask."""
        cdef intp_t i, stopped_at, node
        mask = np.zeros(rows.shape[0], dtype=np.bool_)
        for i in range(rows.shape[0]):
            node = self._route_row(&self.source.pool[rows[i], 0], False, &stopped_at)
            mask[i] = index_in_pool(self.leaves.at[node], rows[i]) >= 0
        return mask

    def leave_out(self, const int32_t[::1] rows not None):
        """Take rows out of `X_pool` that have been learnt elsewhere."""
        cdef Leaf* leaf
        cdef intp_t i, stopped_at
        for i in range(rows.shape[0]):
            leaf = self.leaves.at[
                self._route_row(&self.source.pool[rows[i], 0], False, &stopped_at)
            ]
            leave_pool(
                leaf, self.policy, self.source.pool, index_in_pool(leaf, rows[i])
            )

    def share_lock(self, Lockable owner):
        """Take the lock of the model whose part this is, before others see it."""
        self.lock = owner._lock
        self.tree.lock = owner._lock

    def open_leaves(self):
        """Give every leaf of the tree an empty memory, and the pool's rows to theirs."""
        leaves = self.tree.leaf_mask()
        self.leaves.open(self.tree)
        self.total_weight = float(
            (self.tree.counts_of_leaves() @ self.tree.class_weight)[leaves].sum()
        )
        self.weight_seen = float(self.tree.counts_of_leaves()[leaves].sum())
        self.open_pool()
        if self.source.node.by_volume:
            self.leaves.open_boxes(self.tree, self.source.root_box)
        self.limit.look(self.tree, self.leaves)
        self.limit.check(self.tree, self.leaves)

    def reserve_codes(self, intp_t n_codes):
        """Make room for tests of features with so many categories."""
        if self.policy.n_codes != NULL:
            self.splitter.reserve_categories(n_codes + 1)

    def remember(
        self, const float32_t[:, ::1] X, const label_t[::1] y,
        const float64_t[::1] weight,
    ):
        """Hand the leaves rows that the tree was fitted to; then `settle`."""
        cdef intp_t i, stopped_at
        cdef float64_t w = 1.0
        cdef const float32_t* row
        cdef Leaf* leaf
        self._check_rows(X, y, None)
        require_fit(weight is None or weight.shape[0] == X.shape[0])
        for i in range(X.shape[0]):
            leaf = self.leaves.at[self._route_row(&X[i, 0], False, &stopped_at)]
            self.leaves.observe(&X[i, 0], False)
            tell(leaf, self.policy)
            row = self.predictor.locate(leaf, &X[i, 0], &self.predictor.scratch)
            ensure_capacity(leaf, policy_of(leaf, self.policy), row)
            if weight is not None:
                w = weight[i]
            if w != rint(w):
                self.source.whole = False
            row = self.predictor.locate(leaf, &X[i, 0], &self.predictor.scratch)
            add_row(leaf, self.policy, row, y[i], w, self.predictor.scratch.places)
            convert(leaf, self.policy)
            self.max_rows = max(self.max_rows, leaf.n_rows)

    def settle(self):
        """Hold what is remembered, but not as evidence."""
        self.leaves.settle()

    def reserve_memory(self):
        """Keep memory back for rows up to the next boundary, or raise MemoryError.

        `learn` does so too: what fails here has changed nothing.
        """
        reserve_bytes(self._reserve_bytes())

    def learn(
        self, X, const label_t[::1] y, const float64_t[::1] weight, bint finite,
        intp_t[::1] predicted=None, float64_t[:, ::1] proba=None,
        const int32_t[::1] from_pool=None,
    ):
        """Learn rows in their order, for whoever holds the lock to learn.

        Nothing is raised between two rows, but at a boundary: it would end the call in
        between. What fails, or is interrupted, in Python meanwhile is `held` till then.

        X is float32, an array or CSR; a row of weight 0 is not learnt, only its
        categories may be unknown. `predicted` and `proba`, unless None, are filled with
        the class, and the probabilities, that each row has before it is learnt.
        `from_pool` are the places of the rows in `X_pool`, which they leave.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t i, j
        cdef intp_t guess
        cdef intp_t* out = NULL
        cdef float64_t* told = NULL
        cdef float64_t w = 1.0
        cdef const float32_t[:, ::1] rows = None
        cdef const float32_t[::1] stored = None
        cdef const int32_t[::1] places
        cdef const int64_t[::1] starts
        cdef float32_t[::1] row
        cdef const float32_t* x
        cdef bint is_sparse = not isinstance(X, np.ndarray)
        if is_sparse:
            stored = X.data
            places = X.indices.astype(np.int32, copy=False)
            starts = X.indptr.astype(np.int64, copy=False)
            row = np.zeros(self.policy.n_features, dtype=np.float32)
            x = &row[0]
            _check_stored(self, X.shape[1], places, starts, stored, y, weight)
        else:
            rows = X
            self._check_rows(rows, y, weight)
        require_fit(
            (predicted is None or predicted.shape[0] == n)
            and (
                proba is None
                or proba.shape[0] == n and proba.shape[1] == self.policy.n_classes
            )
            and (from_pool is None or from_pool.shape[0] == n)
        )
        if predicted is not None:
            out = &guess
        self.finite = finite
        self.held = None
        reserve_bytes(self._reserve_bytes())
        try:
            with nogil:
                for i in range(n):
                    if weight is not None:
                        w = weight[i]
                    if is_sparse:
                        for j in range(starts[i], starts[i + 1]):
                            row[places[j]] += stored[j]
                    else:
                        x = &rows[i, 0]
                    if proba is not None:
                        told = &proba[i, 0]
                    if from_pool is not None:
                        self.leaving = from_pool[i]
                    self.learn_row(x, y[i], w, out, told)
                    if is_sparse:
                        for j in range(starts[i], starts[i + 1]):
                            row[places[j]] = 0.0
                    if predicted is not None:
                        predicted[i] = guess
                    if self.n_rows_seen % BOUNDARY == 0:
                        with gil:
                            self.limit_memory()
                            _let_go(self)
                            PyErr_CheckSignals()
                            reserve_bytes(self._reserve_bytes())
            _let_go(self)
        finally:
            self.leaving = -1
            let_go_of_much()

    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* predicted,
        float64_t* proba,
    ) except -1 nogil:
        # Predict the class of a row, or their probabilities, if asked for, then learn
        # it.
        cdef intp_t stopped_at
        cdef intp_t node = self._route_row(x, self.finite, &stopped_at)
        cdef Leaf* leaf = self.leaves.at[node]
        cdef Scratch* scratch = &self.predictor.scratch
        cdef bint judging = self.predictor.judging
        cdef float64_t* asked = NULL    # to be filled with the guess
        cdef const float32_t* row
        cdef float64_t* counts
        cdef intp_t* n_rows
        cdef intp_t guess
        self.reached = node
        if proba != NULL:
            if not judging and _is_summed(self, leaf, stopped_at):
                with gil:
                    _ask_tree(self, stopped_at if stopped_at >= 0 else node, proba)
            elif stopped_at >= 0:
                _fill_below(self, stopped_at, proba)
            else:
                asked = proba
        row = self.predictor.locate(leaf, x, scratch)
        if judging or predicted != NULL or asked != NULL:
            guess = self.predictor.predict_before(
                self.tree, leaf, x, row, predicted != NULL, asked
            )
            if predicted != NULL:
                predicted[0] = guess
                if stopped_at >= 0:
                    predicted[0] = _majority_below(self, stopped_at)
        if weight == 0.0:
            return 0    # as if it were absent
        self.leaves.observe(x, self.finite)
        if stopped_at >= 0:
            with gil:
                self._admit(x)
        if leaf.drawn != NULL:
            tell(leaf, self.policy)
        if self.policy.n_nominal > 0:
            ensure_capacity(leaf, policy_of(leaf, self.policy), row)
            row = self.predictor.locate(leaf, x, scratch)
        add_row(leaf, self.policy, row, y, weight, scratch.places)
        if leaf.n_rows > self.max_rows:
            self.max_rows = leaf.n_rows
        if self.leaving >= 0:
            leave_pool(
                leaf, self.policy, self.source.pool, index_in_pool(leaf, self.leaving)
            )
        if judging:
            self.predictor.judge(leaf, y, weight)
        if weight != rint(weight):
            self.source.whole = False
        counts = self.tree.counts + node * self.policy.n_classes
        counts[y] += weight
        if self.tree.shrinkage > 0.0:
            count_above(
                self.tree.counts, self.policy.n_classes, self.tree.parent, node, y,
                weight,
            )
        self.tree.version += 1
        n_rows = self.tree.n_node_samples + node
        n_rows[0] += 1
        self.weight_seen += weight
        if self.class_weight != NULL:
            weight *= self.class_weight[y]
        self.total_weight += weight
        self.n_rows_seen += 1
        convert(leaf, self.policy)
        if _due(self, leaf):
            self._grow(leaf)
        return 0

    cdef int _admit(self, const float32_t* x) except -1:
        # Where a category was not known it is now, if there is room for it: the row
        # goes that way.
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
            if not _has_capacity_for_code(self, node, code):
                node = at.left + self.tree.branching[node].missing_left
                continue
            try:
                self.tree.admit(node, code)
            except MemoryError:
                give_way()
        return 0

    cdef bint _may_split(self, const Leaf* leaf) noexcept nogil:
        # A pure leaf is not examined, nor is one that nothing is known about.
        cdef bint separate = only_fresh(leaf, self.policy)
        cdef const float64_t* counts = leaf.fresh if separate else leaf.held
        cdef float64_t n = leaf.n_fresh if separate else leaf.n_held
        cdef float64_t least = self.settings.min_samples_split
        cdef intp_t n_present = 0
        cdef intp_t c
        if not leaf.memory.remembers or self.limit.full:
            return False
        if self.leaves.n_leaves >= self.settings.max_leaves:
            return False
        if least < 0.0:
            least *= -self.weight_seen
        for c in range(self.policy.n_classes):
            n_present += counts[c] > 0.0
        return (
            n_present > 1 and n >= least
            and self.tree.depth[leaf.node] + self.depth_above < self.settings.max_depth
        )

    cdef int _grow(self, Leaf* leaf) except -1 nogil:
        # Examine a leaf and, if the bound wants it, what becomes of it, the first child
        # of each node first.
        cdef intp_t top = leaf.node
        cdef intp_t node = top
        cdef Split split
        while node >= 0:
            leaf = self.leaves.at[node]
            if node == top or self._may_split(leaf):
                self._examine(leaf, &split)
                if split.feature >= 0 and _has_capacity(self, &split):
                    _install(self, leaf, &split)
                    self.limit.look(self.tree, self.leaves)
            if not self.settings.recurses:
                break
            node = self.tree.next_below(top, node)
        return 0

    cdef int _examine(self, Leaf* leaf, Split* split) except -1 nogil:
        leaf.attempt += 1
        leaf.n_examined = leaf.n_fresh
        self.source.node.time = self.weight_seen
        self.source.node.min_weight = self.settings.min_samples_leaf
        if self.settings.min_samples_leaf < 0.0:
            self.source.node.min_weight *= -self.weight_seen
        self.source.node.min_seen_weight = (
            self.settings.min_weight_fraction_leaf * self.total_weight
        )
        self.splitter.total_weight = self.total_weight
        self.source.enter(leaf, self.tree.depth[leaf.node] + self.depth_above)
        split.feature = -1
        clear_evidence(&split.evidence)
        if self.source.record.pool != 0.0:      # else outside the box: nothing to gain
            split[0] = self.splitter.find(&self.source.record, self.source.counts)
        return 0

    @property
    def n_bytes(self):
        """Bytes of the tree and of what its leaves remember."""
        return bytes_of(self.tree, self.leaves)

    @property
    def n_inactive_leaves(self):
        """Leaves that were made to forget, so that the memory suffices."""
        return self.leaves.n_forgetful() if self.limit.max_bytes != NO_LIMIT else 0

    @property
    def n_drifts(self):
        """Drifts found."""
        return len(self.drifts)

    @property
    def drifts(self):
        """Row by which each drift was found, and its node; this grower looks for none."""
        return ()

    cdef int limit_memory(self) except -1:
        while True:
            try:
                self.limit.enforce(self.tree, self.leaves)
                return 0
            except MemoryError:
                give_way()

    cdef intp_t _reserve_bytes(self) noexcept nogil:
        return self.limit.n_reserve_bytes(self.tree, self.leaves, self.max_rows)

    def __reduce__(self):
        # All parts at one moment, whenever each of them is written.
        self.lock.read()
        try:
            return type(self).read, (
                copy(self.tree), self.recipe.values(), self.__getstate__()
            )
        finally:
            self.lock.leave()

    @classmethod
    def read(cls, tree, values, state):
        """Make a grower from what was in a pickle; ValueError if that is damaged."""
        return with_state(cls(tree, read_recipe(values)), state)

    def __getstate__(self):
        return (STATE_VERSION, *self._state())

    def _state(self):
        return GrowerState(
            n_rows_seen=self.n_rows_seen,
            weight_seen=self.weight_seen,
            total_weight=self.total_weight,
            full=bool(self.limit.full),
            whole=bool(self.source.whole),
            leaves=self.leaves.write(),
            missing=bool(self.policy.missing),
            n_codes=self.leaves.n_codes,
            learnt=self.learned_bits(),
            losses=self.predictor.write_losses(),
        )

    def __setstate__(self, state):
        self._take(read_state(state))

    def _take(self, state):
        if (
            state.detector is not None or state.background is not None
            or state.watches is not None or state.beside or state.drifts
        ):
            raise damaged("growing tree")
        self.policy.missing = state.missing
        self.leaves.n_codes = state.n_codes
        if state.n_codes is not None:
            self.reserve_codes(max(state.n_codes))
        self.leaves.read(state.leaves, self.tree, self.source.node.by_volume)
        self.take_pool(state.learnt)
        self.predictor.read_losses(state.losses)
        self.max_rows = self.leaves.max_rows()
        self.n_rows_seen = state.n_rows_seen
        self.weight_seen = state.weight_seen
        self.total_weight = state.total_weight
        self.limit.full = state.full
        self.source.whole = state.whole


cdef int _let_go(Grower self) except -1:
    # Raise, where the model is whole, what came up in the middle of a row.
    held = self.held
    self.held = None
    if held is not None:
        raise held
    return 0


cdef bint _has_capacity_for_code(Grower self, intp_t node, intp_t code) noexcept nogil:
    return code < self.tree.branching[node].n_codes or (
        self.limit.has_capacity(self.tree, self.leaves, 0, capacity_for_code(code))
    )


cdef bint _due(Grower self, const Leaf* leaf) noexcept nogil:
    cdef float64_t wait = self.settings.grace_period
    if wait < self.settings.grace_limit:     # a split that comes early is there to stay
        wait = max(wait, sqrt(self.settings.row_weight * self.weight_seen))
        wait = max(wait, self.settings.root_grace * leaf.n_held / self.weight_seen)
        wait = min(wait, self.settings.grace_limit)
    return leaf.n_fresh - leaf.n_examined >= wait and self._may_split(leaf)


cdef bint _has_capacity(Grower self, const Split* split) noexcept nogil:
    # A test may have more branches than leaves or bytes are left.
    cdef intp_t r = split.children.n_outcomes
    cdef intp_t n_codes = 0
    if r == 2 and self.policy.n_codes == NULL:
        return True     # `_may_split` has looked
    if self.policy.n_codes != NULL:
        n_codes = max(self.policy.n_codes[split.feature], 0)
    return self.leaves.n_leaves - 1 + r <= self.settings.max_leaves and (
        self.limit.has_capacity(self.tree, self.leaves, r, n_codes)
    )


cdef int _install(Grower self, Leaf* leaf, const Split* split) except -1 nogil:
    # Turn a leaf into a test, which has just been found for it, and its memory into those
    # of new leaves. Either all of that happens or, if memory cannot be had, nothing but
    # allocation.
    cdef const Children* children = &split.children
    cdef intp_t first = self.tree.node_count
    cdef intp_t r = children.n_outcomes
    cdef Parting parting
    cdef intp_t z
    parting.feature = split.feature
    parting.n_outcomes = r
    parting.threshold = split.threshold
    parting.pool = children.pool
    parting.cut = split.cut.place
    parting.missing_left = children.missing_left
    parting.ordinals = children.ordinals
    parting.n_codes = children.n_codes
    parting.unknown = children.unknown
    _reserve(self, &parting)
    _part(self, leaf, &parting)
    # nothing fails from here on
    self.tree.split(
        leaf.node, split.feature, split.threshold, children.missing_left,
        children.missing_seen, children.ordinals, children.n_codes,
        children.unknown, &split.evidence,
    )
    _add_children(self, leaf, &parting)
    for z in range(r):
        self.predictor.pass_on(leaf, self.children[z])
    self.leaves.replace(leaf, self.children, first, r)
    return 0


cdef int _reserve(Grower self, const Parting* parting) except -1 nogil:
    cdef intp_t r = parting.n_outcomes
    with gil:
        while True:
            try:
                self.tree.reserve(self.tree.node_count + r)
                self.tree.reserve_ordinals(self.tree.n_ordinals + parting.n_codes)
                break
            except MemoryError:
                give_way()
    self.leaves.reserve(self.tree.node_count + r)
    if r > self.child_capacity:
        self.share = <float64_t*> resize_array(
            &self.blocks, self.share, r * self.policy.n_classes, sizeof(float64_t)
        )
        self.children = <Leaf**> resize_array(
            &self.blocks, self.children, r, sizeof(Leaf*)
        )
        self.child_capacity = r
    return 0


cdef int _part(Grower self, const Leaf* leaf, const Parting* parting) except -1 nogil:
    # Make the children; all of them go if one cannot be made.
    cdef intp_t r = parting.n_outcomes
    cdef bint done = False
    cdef intp_t z
    memset(self.children, 0, r * sizeof(Leaf*))
    try:
        for z in range(r):
            self.children[z] = new_leaf(self.policy, self.tree.node_count + z)
            start_child(
                leaf, self.policy, parting, z, self.share + z * self.policy.n_classes,
                self.children[z],
            )
        part_pool(leaf, self.policy, parting, self.source.pool, self.children)
        done = True
    finally:
        if not done:
            for z in range(r):
                release_leaf(self.children[z], self.policy)
    return 0


cdef void _add_children(
    Grower self, const Leaf* leaf, const Parting* parting
) noexcept nogil:
    # Leaves whose counts add up to those of the node: the last takes the rest.
    cdef intp_t K = self.tree.n_classes
    cdef intp_t r = parting.n_outcomes
    cdef const float64_t* counts = self.tree.counts + leaf.node * K
    cdef float64_t* rest = self.share + (r - 1) * K
    cdef float64_t* child
    cdef float64_t total = 0.0
    cdef float64_t n
    cdef intp_t n_rows = self.tree.n_node_samples[leaf.node]
    cdef intp_t rows_left = n_rows
    cdef intp_t rows, z, c
    # the children keep what was handed over
    cdef bint exact = (
        leaf.memory.keeps_rows and not leaf.dropped and leaf.drawn == NULL
    )
    for c in range(K):
        total += counts[c]
        rest[c] = counts[c]
    for z in range(r):
        child = self.share + z * K
        if z < r - 1:
            for c in range(K):
                if exact and counts[c] == leaf.held[c]:
                    child[c] = self.children[z].held[c]
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
                rows = self.children[z].n_rows
            rows = min(rows, rows_left)
        rows_left -= rows
        self.tree.add_leaf(leaf.node, child, rows, 0.0)
