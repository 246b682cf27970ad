"""Growth of a tree row by row."""

from copy import copy

import numpy as np

from skconftree.tree.stream._grower_state import (
    STATE_VERSION, GrowerState, read_state,
)
from skconftree.tree.split._kernels import make_kernels
from skconftree.tree.stream._recipe import check_recipe, read_recipe
from skconftree.utils._codec import damaged

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport rint, sqrt

from skconftree.bounds._contract cimport clear_evidence
from skconftree.tree._settings cimport NO_LIMIT, GrowthSettings
from skconftree.tree.leaves._bayes cimport Scratch
from skconftree.tree.leaves._contract cimport only_fresh
from skconftree.tree.leaves._counts cimport make_room
from skconftree.tree.leaves._drawn cimport policy_of, tell
from skconftree.tree.leaves._leaf cimport add_row
from skconftree.tree.leaves._leaf_store cimport LeafStore
from skconftree.tree.leaves._pool_rows cimport leave_pool, place_in_pool
from skconftree.tree.leaves._predictor cimport LeafPredictor
from skconftree.tree.nodes._routing cimport Node
from skconftree.tree.nodes._shrinkage cimport count_above
from skconftree.tree.nodes._tree cimport Tree, room_for_code
from skconftree.tree.split._node cimport RootFacts
from skconftree.tree.split._splitter cimport Splitter
from skconftree.tree.stream._growing_tree cimport require_fit
from skconftree.tree.stream._leaf_source cimport LeafSource
from skconftree.tree.stream._memory_limit cimport bytes_of
from skconftree.utils._lock cimport Lockable, ModelLock
from skconftree.utils._memory cimport Arena
from skconftree.utils._spare_memory cimport give_way, let_go_of_much, set_aside
from skconftree.utils._typedefs cimport int32_t, int64_t

cdef enum:
    BOUNDARY = 1024     # rows
    TABLES = 4096       # whole counts up to here come from tables


def with_state(Grower grower, state):
    """Give a new grower its state, without which it has no leaves, and return it."""
    grower.__setstate__(state)
    return grower


cdef class Grower(GrowingTree):
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
        tree.grows(criterion, self.lock)
        self.recipe = recipe
        n_categories = None     # as if each nominal feature had one
        if recipe.nominal:
            n_categories = np.zeros(d, dtype=np.int32)
            n_categories[list(recipe.nominal)] = 1
        root = RootFacts(
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
        self.predictor.bayes.n_codes = self.policy.n_codes
        self.installer = Installer(self.leaves, self.source, self.predictor)
        self.limit = MemoryLimit(
            settings, tree, self.leaves, settings.by_volume
        )
        self.grace = settings.grace_period
        self.grace_limit = settings.grace_limit
        self.row_weight = settings.row_weight
        self.root_grace = settings.root_grace
        self.recurses = settings.recurses
        self.max_depth = settings.max_depth
        self.max_leaves = settings.max_leaves
        self.min_split = settings.min_samples_split
        self.min_leaf = settings.min_samples_leaf
        self.min_seen_fraction = settings.min_weight_fraction_leaf
        self.leaving = -1
        self.n_before = -1
        self.arena = Arena()
        self.below = <float64_t*> self.arena.take_zeros(K, sizeof(float64_t))
        if class_weight is not None:
            self.class_weight = self.source.node.class_weight

    def share_lock(self, Lockable owner):
        """Take the lock of the model whose part this is, before others see it."""
        self.lock = owner._lock
        self.tree.lock = owner._lock

    def open_leaves(self):
        """Give every leaf of the tree an empty memory, and the pool's rows to theirs."""
        leaves = self.tree.leaf_mask()
        self.leaves.open(self.tree)
        self.total_weight = float(
            (self.tree.counts_of_leaves() @ self.tree.class_weight)[
                leaves
            ].sum()
        )
        self.weight_seen = float(
            self.tree.counts_of_leaves()[leaves].sum()
        )
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
            make_room(leaf, policy_of(leaf, self.policy), row)
            if weight is not None:
                w = weight[i]
            if w != rint(w):
                self.source.whole = False
            row = self.predictor.locate(leaf, &X[i, 0], &self.predictor.scratch)
            add_row(leaf, self.policy, row, y[i], w, self.predictor.scratch.places)
            leaf.memory.convert(leaf, policy_of(leaf, self.policy))
            self.most_rows = max(self.most_rows, leaf.n_rows)

    def settle(self):
        """Hold what is remembered, but not as evidence."""
        self.leaves.settle()

    # -- learning -----------------------------------------------------------------

    def set_memory_aside(self):
        """Keep memory back for rows up to the next boundary, or raise MemoryError.

        `learn` does so too: what fails here has changed nothing.
        """
        set_aside(self._spare_bytes())

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
            self._check_stored(X.shape[1], places, starts, stored, y, weight)
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
        set_aside(self._spare_bytes())
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
                            self._let_go()
                            PyErr_CheckSignals()
                            set_aside(self._spare_bytes())
            self._let_go()
        finally:
            self.leaving = -1
            let_go_of_much()

    cdef int _let_go(self) except -1:
        # Raise, where the model is whole, what came up in the middle of a row.
        held = self.held
        self.held = None
        if held is not None:
            raise held
        return 0

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
            if not judging and self._is_summed(leaf, stopped_at):
                with gil:
                    self._ask_tree(stopped_at if stopped_at >= 0 else node, proba)
            elif stopped_at >= 0:
                self._fill_below(stopped_at, proba)
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
                    predicted[0] = self._majority_below(stopped_at)
        if weight == 0.0:
            return 0    # as if it were absent
        self.leaves.observe(x, self.finite)
        if stopped_at >= 0:
            with gil:
                self._admit(x)
        if leaf.drawn != NULL:
            tell(leaf, self.policy)
        if self.policy.n_nominal > 0:
            make_room(leaf, policy_of(leaf, self.policy), row)
            row = self.predictor.locate(leaf, x, scratch)
        add_row(leaf, self.policy, row, y, weight, scratch.places)
        if leaf.n_rows > self.most_rows:
            self.most_rows = leaf.n_rows
        if self.leaving >= 0:
            leave_pool(
                leaf, self.policy, self.source.pool, place_in_pool(leaf, self.leaving)
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
        leaf.memory.convert(leaf, policy_of(leaf, self.policy))
        if self._due(leaf):
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
            if not self._has_room_for_code(node, code):
                node = at.left + self.tree.branching[node].missing_left
                continue
            try:
                self.tree.admit(node, code)
            except MemoryError:
                give_way()
        return 0

    cdef bint _has_room_for_code(self, intp_t node, intp_t code) noexcept nogil:
        return code < self.tree.branching[node].n_codes or (
            self.limit.has_room(self.tree, self.leaves, 0, room_for_code(code))
        )

    # -- growth -------------------------------------------------------------------

    cdef bint _due(self, const Leaf* leaf) noexcept nogil:
        cdef float64_t wait = self.grace
        if wait < self.grace_limit:     # a split that comes early is there to stay
            wait = max(wait, sqrt(self.row_weight * self.weight_seen))
            wait = max(wait, self.root_grace * leaf.n_held / self.weight_seen)
            wait = min(wait, self.grace_limit)
        return leaf.n_fresh - leaf.n_examined >= wait and self._may_split(leaf)

    cdef bint _may_split(self, const Leaf* leaf) noexcept nogil:
        # A pure leaf is not examined, nor is one that nothing is known about.
        cdef bint separate = only_fresh(leaf, self.policy)
        cdef const float64_t* counts = leaf.fresh if separate else leaf.held
        cdef float64_t n = leaf.n_fresh if separate else leaf.n_held
        cdef float64_t least = self.min_split
        cdef intp_t n_present = 0
        cdef intp_t c
        if not leaf.memory.remembers or self.limit.full:
            return False
        if self.leaves.n_leaves >= self.max_leaves:
            return False
        if least < 0.0:
            least *= -self.weight_seen
        for c in range(self.policy.n_classes):
            n_present += counts[c] > 0.0
        return (
            n_present > 1 and n >= least
            and self.tree.depth[leaf.node] + self.depth_above < self.max_depth
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
                if split.feature >= 0 and self._has_room(&split):
                    self.installer.install(self.tree, leaf, &split)
                    self.limit.look(self.tree, self.leaves)
            if not self.recurses:
                break
            node = self.tree.next_below(top, node)
        return 0

    cdef bint _has_room(self, const Split* split) noexcept nogil:
        # A test may have more branches than leaves or bytes are left.
        cdef intp_t r = split.children.n_outcomes
        cdef intp_t n_codes = 0
        if r == 2 and self.policy.n_codes == NULL:
            return True     # `_may_split` has looked
        if self.policy.n_codes != NULL:
            n_codes = max(self.policy.n_codes[split.feature], 0)
        return self.leaves.n_leaves - 1 + r <= self.max_leaves and (
            self.limit.has_room(self.tree, self.leaves, r, n_codes)
        )

    cdef int _examine(self, Leaf* leaf, Split* split) except -1 nogil:
        leaf.attempt += 1
        leaf.n_examined = leaf.n_fresh
        self.source.node.time = self.weight_seen
        self.source.node.min_weight = self.min_leaf
        if self.min_leaf < 0.0:
            self.source.node.min_weight *= -self.weight_seen
        self.source.node.min_seen_weight = self.min_seen_fraction * self.total_weight
        self.splitter.total_weight = self.total_weight
        self.source.enter(leaf, self.tree.depth[leaf.node] + self.depth_above)
        split.feature = -1
        clear_evidence(&split.evidence)
        if self.source.record.pool != 0.0:      # else outside the box: nothing to gain
            split[0] = self.splitter.find(&self.source.record, self.source.counts)
        return 0

    # -- the whole tree -----------------------------------------------------------

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

    cdef intp_t _spare_bytes(self) noexcept nogil:
        return self.limit.spare_bytes(self.tree, self.leaves, self.most_rows)

    # -- state --------------------------------------------------------------------

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
            learnt=self.learnt_bits(),
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
        self.most_rows = self.leaves.most_rows()
        self.n_rows_seen = state.n_rows_seen
        self.weight_seen = state.weight_seen
        self.total_weight = state.total_weight
        self.limit.full = state.full
        self.source.whole = state.whole
