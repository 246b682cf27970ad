"""Growth of a tree row by row."""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, isfinite, rint
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from skconftree.bounds._contract cimport Bound
from skconftree.drift._ddm cimport DRIFT, STABLE, DDMKernel
from skconftree.tree._criterion cimport Criterion
from skconftree.tree._columns cimport missing_left_bit
from skconftree.tree._leaf cimport (
    GAUSSIAN, NOTHING, ROWS, Parting, add_row, forget, leaf_bytes, make_room, new_leaf,
    outcome_of, release_leaf, start_child, start_fresh,
)
from skconftree.tree._leaf_state cimport (
    StateReader, StateWriter, read_leaf, write_leaf,
)

cdef enum:
    BOUNDARY = 1024     # rows
    MOST_CODES = 65536  # categories of a feature

STATE_VERSION = 1


cdef class Grower:
    """Grows a tree row by row.

    Parameters
    ----------
    tree : Tree
        With at least a root. Its leaves go on from their counts.
    criterion : Criterion
    bound : Bound or None
    recipe : dict
        Plain values from which all this can be made again, for pickles.
    options : dict
        Growth parameters.
    class_weight : ndarray of shape (n_classes,), float64, or None
    pool : ndarray of shape (n_pool, n_features), float32, or None
        Rows without label.
    box : ndarray of shape (n_features, 2), float64, or None
        Limits of the features, if the weight of a leaf is its volume.
    detector : DDMKernel or None
        Watches the errors. On a warning a second tree starts to learn, on a drift
        it takes the place of the first.
    make : callable
        Makes a grower from a tree, a recipe and, if given, a state.
    """

    def __init__(
        self, Tree tree, Criterion criterion, Bound bound, dict recipe, dict options,
        const float64_t[::1] class_weight, const float32_t[:, ::1] pool,
        const float64_t[:, ::1] box, DDMKernel detector, make,
    ):
        cdef intp_t d = tree.n_features
        cdef intp_t K = tree.n_classes
        if not (
            (class_weight is None or class_weight.shape[0] == K)
            and (pool is None or pool.shape[1] == d)
            and (box is None or (box.shape[0] == d and box.shape[1] == 2))
            and (box is not None or not options["by_volume"])
            and 2 <= options["max_bins"] <= 65536
        ):
            raise ValueError("The recipe of this growing tree does not fit the tree.")
        self.tree = tree
        tree.criterion = criterion
        self.recipe = recipe
        self.detector = detector
        self.make = make
        self.splitter = LeafSplitter(
            d, criterion, bound, options, class_weight, pool, box
        )
        self.splitter.policy = &self.policy
        self.forecaster = Forecaster(d, K, options["leaf_prediction"], class_weight)
        self.forecaster.policy = &self.policy
        self.policy.n_features = d
        self.policy.n_classes = K
        self.policy.first = GAUSSIAN if options["gaussian"] else ROWS
        self.policy.row_limit = options["row_limit"]
        self.policy.max_bins = options["max_bins"]
        self.policy.separate = options["separate"]
        self.policy.fixed_cuts = options["fixed_cuts"]
        self.policy.bayes = self.forecaster.judging
        self.policy.inherited = options["inherited"]
        self._set_nominal(options["nominal"])
        self.grace = options["grace_period"]
        self.recurses = options["recurses"]
        self.max_depth = options["max_depth"]
        self.max_leaves = options["max_leaves"]
        self.min_split = options["min_samples_split"]
        self.min_leaf = options["min_samples_leaf"]
        self.min_seen_fraction = options["min_weight_fraction_leaf"]
        self.max_bytes = options["max_bytes"]
        if detector is not None and self.max_bytes >= 0:
            self.max_bytes //= 2        # the other half is for the second tree
        self.node_bytes = tree.n_bytes // tree.node_count + sizeof(Leaf*)
        self.bare_bytes = sizeof(Leaf) + 3 * K * sizeof(float64_t)
        if options["by_volume"]:
            self.bare_bytes += 2 * d * sizeof(float64_t)
        if pool is not None:
            self.pool_bytes = pool.shape[0] * sizeof(int32_t)

        self._reserve_outcomes(2)
        self.below = <float64_t*> calloc(K, sizeof(float64_t))
        if self.below == NULL:
            raise MemoryError()
        if class_weight is not None:
            self.class_weight = self.splitter.class_weight

    def _set_nominal(self, nominal):
        # Which features are nominal; no category has been met.
        if not nominal:
            return
        self._nominal = np.array(nominal, dtype=np.int32)
        self._n_codes = np.full(self.policy.n_features, -1, dtype=np.int32)
        np.asarray(self._n_codes)[nominal] = 0
        self.policy.n_nominal = len(nominal)
        self.policy.nominal = &self._nominal[0]
        self.policy.n_codes = &self._n_codes[0]
        self.forecaster.bayes.n_codes = self.policy.n_codes

    def __dealloc__(self):
        cdef intp_t node
        for node in range(self.room):
            release_leaf(self.leaves[node], &self.policy)
        free(self.leaves)
        free(self.share)
        free(self.children)
        free(self.below)

    def open_leaves(self):
        """Give every leaf of the tree an empty memory, the root all pool rows."""
        cdef intp_t node
        cdef Leaf* leaf
        self._reserve(self.tree.node_count)
        for node in range(self.tree.node_count):
            if self.tree.nodes[node].feature < 0:
                leaf = new_leaf(&self.policy, node)
                if leaf == NULL:
                    raise MemoryError()
                self.leaves[node] = leaf
                self.n_leaves += 1
        self.total_weight = float(
            (self.tree.counts_of_leaves() @ self.tree.class_weight)[
                self.tree.feature < 0
            ].sum()
        )
        self.weight_seen = float(
            self.tree.counts_of_leaves()[self.tree.feature < 0].sum()
        )
        if self.splitter.pool is not None:
            self._open_pool()
        if self.splitter.by_volume:
            self._open_boxes()
        self.full = self._is_full()
        if self.max_bytes >= 0 and self._least_bytes() > self.max_bytes:
            raise ValueError(
                f"max_bytes={self.recipe['options']['max_bytes']} is too small: the "
                f"tree takes {self._least_bytes()} bytes before its first row"
                f"{', and a second one is needed' if self.detector else ''}."
            )

    def _open_pool(self):
        # Rows without label, each in its leaf.
        cdef const float32_t[:, ::1] pool = self.splitter.pool
        cdef intp_t n = pool.shape[0]
        cdef intp_t[::1] home = np.empty(n, dtype=np.intp)
        cdef Leaf* leaf
        cdef intp_t i, node
        for i in range(n):
            home[i] = self._route_row(&pool[i, 0])
        sizes = np.bincount(home, minlength=self.tree.node_count)
        for node in np.flatnonzero(sizes):
            leaf = self.leaves[node]
            leaf.pool = <int32_t*> malloc(<intp_t> sizes[node] * sizeof(int32_t))
            if leaf.pool == NULL:
                raise MemoryError()
        for i in range(n):
            leaf = self.leaves[home[i]]
            leaf.pool[leaf.n_pool] = <int32_t> i
            leaf.n_pool += 1

    def _open_boxes(self):
        cdef intp_t d = self.policy.n_features
        cdef intp_t node, above
        cdef float64_t[:, :, ::1] boxes = np.empty((self.tree.node_count, d, 2))
        cdef Leaf* leaf
        boxes[0] = self.splitter.root_box
        for node in range(self.tree.node_count):
            if node > 0:
                above = self.tree.parent[node]
                boxes[node] = boxes[above]
                if isfinite(self.tree.nodes[above].threshold):
                    _cut_box(
                        &boxes[node, 0, 0], self.tree.nodes[above].feature,
                        self.tree.nodes[above].threshold,
                        node - self.tree.nodes[above].left,
                    )
            if self.tree.nodes[node].feature >= 0:
                continue
            leaf = self.leaves[node]
            leaf.box = <float64_t*> malloc(2 * d * sizeof(float64_t))
            if leaf.box == NULL:
                raise MemoryError()
            memcpy(leaf.box, &boxes[node, 0, 0], 2 * d * sizeof(float64_t))

    def remember(
        self, const float32_t[:, ::1] X, const label_t[::1] y,
        const float64_t[::1] weight,
    ):
        """Hand the leaves the rows that the tree was fitted to.

        After the last of them comes `settle`.

        Parameters
        ----------
        X, y, weight
            As in `learn`.
        """
        cdef intp_t i
        cdef float64_t w = 1.0
        cdef Leaf* leaf
        self.finite = False
        for i in range(X.shape[0]):
            leaf = self.leaves[self._route_row(&X[i, 0])]
            self._meet(&X[i, 0])
            if not make_room(leaf, &self.policy, &X[i, 0]):
                raise MemoryError("No memory to keep the rows of the leaves.")
            if weight is not None:
                w = weight[i]
            if w != rint(w):
                self.splitter.whole = False
            self.forecaster.locate(leaf, &X[i, 0])
            if not add_row(
                leaf, &self.policy, &X[i, 0], y[i], w, self.forecaster.places
            ):
                raise MemoryError("No memory to keep the rows of the leaves.")

    def settle(self):
        """Hold what is remembered, but not as evidence.

        Bounds that count only rows since the creation of a leaf have looked at these
        rows when the tree was fitted.
        """
        cdef intp_t K = self.policy.n_classes
        cdef intp_t c, node
        cdef Leaf* leaf
        for node in range(self.tree.node_count):
            leaf = self.leaves[node]
            if leaf == NULL:
                continue
            leaf.n_fresh = 0.0
            leaf.n_inherited = leaf.n_rows
            for c in range(K):
                leaf.fresh[c] = 0.0
            if self.policy.separate and not start_fresh(leaf, &self.policy):
                raise MemoryError("No memory to keep the rows of the leaves.")

    # -- learning -----------------------------------------------------------------

    def learn(
        self, const float32_t[:, ::1] X, const label_t[::1] y,
        const float64_t[::1] weight, intp_t[::1] foretold, bint finite,
    ):
        """Learn rows in their order.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float32
        y : ndarray of shape (n_rows,), uint16
            Class indices.
        weight : ndarray of shape (n_rows,), float64, or None
            Positive weights.
        foretold : ndarray of shape (n_rows,), intp, or None
            Filled with the class predicted for each row before it is learnt.
        finite : bool
            Whether no value is missing.
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t i
        cdef intp_t guess
        cdef intp_t* out = NULL
        cdef float64_t w = 1.0
        if foretold is not None or self.detector is not None:
            out = &guess
        self.finite = finite
        self.tree.stale = True
        with nogil:
            for i in range(n):
                if weight is not None:
                    w = weight[i]
                self.learn_row(&X[i, 0], y[i], w, out)
                if foretold is not None:
                    foretold[i] = guess
                if self.detector is not None and w > 0.0:
                    self._watch(guess != y[i], &X[i, 0], y[i], w)
                if self.n_rows_seen % BOUNDARY == 0:
                    with gil:
                        self._at_boundary()

    cdef int learn_row(
        self, const float32_t* x, label_t y, float64_t weight, intp_t* foretold
    ) except -1 nogil:
        # Foretell the class of a row, if asked for, then learn it.
        cdef intp_t node = self._route_row(x)
        cdef Leaf* leaf = self.leaves[node]
        cdef bint judging = self.forecaster.judging
        cdef float64_t* counts
        cdef intp_t* n_rows
        cdef intp_t guess
        self.forecaster.locate(leaf, x)
        if judging or foretold != NULL:
            guess = self.forecaster.foretell(self.tree, leaf, x)
            if foretold != NULL:
                foretold[0] = guess
                if self.stopped_at >= 0:
                    foretold[0] = self._majority_below(self.stopped_at)
        if weight == 0.0:
            return 0    # as if it were absent
        self._meet(x)
        if self.stopped_at >= 0:
            with gil:
                self._admit(x)
        if self.policy.n_nominal > 0:
            if not make_room(leaf, &self.policy, x):
                with gil:
                    raise MemoryError("No memory for another category of a leaf.")
            self.forecaster.locate(leaf, x)
        if not add_row(leaf, &self.policy, x, y, weight, self.forecaster.places):
            with gil:
                raise MemoryError("No memory for another row of a leaf.")
        if judging:
            self.forecaster.judge(leaf, y, weight)
        if weight != rint(weight):
            self.splitter.whole = False
        counts = self.tree.counts + node * self.policy.n_classes
        counts[y] += weight
        n_rows = self.tree.n_node_samples + node
        n_rows[0] += 1
        self.weight_seen += weight
        if self.class_weight != NULL:
            weight *= self.class_weight[y]
        self.total_weight += weight
        self.n_rows_seen += 1
        if self._due(leaf):
            self._grow(leaf)
        return 0

    cdef void _meet(self, const float32_t* x) noexcept nogil:
        # Take note of missing values and of categories.
        cdef intp_t i, f
        cdef int32_t* n_codes = self.policy.n_codes
        for i in range(self.policy.n_nominal):
            f = self.policy.nominal[i]
            if x[f] >= n_codes[f]:
                n_codes[f] = <int32_t> x[f] + 1
        if not self.finite and not self.policy.missing:
            for f in range(self.policy.n_features):
                if x[f] != x[f]:
                    self.policy.missing = True

    cdef int _admit(self, const float32_t* x) except -1:
        # Where a category was not known it is now: the row goes that way.
        cdef intp_t node = 0
        cdef intp_t to
        while self.tree.nodes[node].feature >= 0:
            to = self.tree.child(node, x)
            if to == node:
                self.tree.admit(node, <intp_t> x[self.tree.nodes[node].feature])
                to = self.tree.child(node, x)
            node = to
        return 0

    cdef intp_t _route_row(self, const float32_t* x) noexcept nogil:
        # The leaf of a row. A category that is not known at a node goes on with the
        # child that was the largest; the first such node is noted.
        cdef intp_t node = 0
        cdef intp_t to
        self.stopped_at = -1
        if not self.finite or self.tree.n_ordinals > 0:
            while self.tree.nodes[node].feature >= 0:
                to = self.tree.child(node, x)
                if to == node:
                    if self.stopped_at < 0:
                        self.stopped_at = node
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

    # -- prediction ---------------------------------------------------------------

    @property
    def predicts_by_bayes(self):
        """Whether leaves may predict by naive Bayes."""
        return self.forecaster.judging

    def predict_proba(self, const float32_t[:, ::1] X, bint finite):
        """Class probabilities of rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float32
        finite : bool
            Whether no value is missing.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), float64
        """
        cdef intp_t n = X.shape[0]
        cdef intp_t K = self.policy.n_classes
        proba = np.empty((n, K))
        cdef float64_t[:, ::1] out = proba
        cdef const Leaf* leaf
        cdef intp_t i
        self.finite = finite
        with nogil:
            for i in range(n):
                leaf = self.leaves[self._route_row(&X[i, 0])]
                if self.stopped_at < 0:
                    self.forecaster.fill_proba(self.tree, leaf, &X[i, 0], &out[i, 0])
                else:
                    self._fill_below(self.stopped_at, &out[i, 0])
        return proba

    cdef void _fill_below(self, intp_t node, float64_t* out) noexcept nogil:
        # Class proportions of an internal node.
        cdef intp_t c
        cdef float64_t total = 0.0
        memset(out, 0, self.policy.n_classes * sizeof(float64_t))
        self._add_below(node, out)
        for c in range(self.policy.n_classes):
            if self.class_weight != NULL:
                out[c] *= self.class_weight[c]
            total += out[c]
        for c in range(self.policy.n_classes):
            out[c] = out[c] / total if total > 0.0 else 1.0 / self.policy.n_classes

    cdef void _add_below(self, intp_t node, float64_t* counts) noexcept nogil:
        # Add up the counts of the leaves below: those of internal nodes are derived
        # only when somebody asks for them.
        cdef intp_t z, c
        if self.tree.nodes[node].feature < 0:
            for c in range(self.policy.n_classes):
                counts[c] += self.tree.counts[node * self.policy.n_classes + c]
            return
        for z in range(self.tree.branching[node].n_children):
            self._add_below(self.tree.nodes[node].left + z, counts)

    cdef intp_t _majority_below(self, intp_t node) noexcept nogil:
        cdef intp_t best = 0
        cdef intp_t c
        self._fill_below(node, self.below)
        for c in range(1, self.policy.n_classes):
            if self.below[c] > self.below[best]:
                best = c
        return best

    # -- growth -------------------------------------------------------------------

    cdef bint _due(self, const Leaf* leaf) noexcept nogil:
        return leaf.n_fresh - leaf.n_examined >= self.grace and self._may_split(leaf)

    cdef bint _may_split(self, const Leaf* leaf) noexcept nogil:
        # A pure leaf is not examined, nor is one that nothing is known about.
        cdef const float64_t* counts = (
            leaf.fresh if self.policy.separate else leaf.held
        )
        cdef float64_t n = leaf.n_fresh if self.policy.separate else leaf.n_held
        cdef float64_t least = self.min_split
        cdef intp_t n_present = 0
        cdef intp_t c
        if leaf.memory == NOTHING or self.full or self.n_leaves >= self.max_leaves:
            return False
        if least < 0.0:
            least *= -self.weight_seen
        for c in range(self.policy.n_classes):
            n_present += counts[c] > 0.0
        return (
            n_present > 1 and n >= least
            and self.tree.depth[leaf.node] < self.max_depth
        )

    cdef int _grow(self, Leaf* leaf) except -1 nogil:
        # Examine a leaf and, if the bound wants it, its children, left one first.
        cdef Split split
        cdef intp_t left
        self._examine(leaf, &split)
        if split.feature < 0:
            return 0
        left = self.tree.node_count
        self._install(leaf, &split)
        if self.recurses:
            if self._may_split(self.leaves[left]):
                self._grow(self.leaves[left])
            if self._may_split(self.leaves[left + 1]):
                self._grow(self.leaves[left + 1])
        return 0

    cdef int _examine(self, Leaf* leaf, Split* split) except -1 nogil:
        leaf.attempt += 1
        leaf.n_examined = leaf.n_fresh
        self.splitter.min_weight = self.min_leaf
        if self.min_leaf < 0.0:
            self.splitter.min_weight *= -self.weight_seen
        self.splitter.min_seen_weight = self.min_seen_fraction * self.total_weight
        if not self.splitter.examine(
            leaf, self.tree.depth[leaf.node], self.weight_seen, self.total_weight,
            split,
        ):
            with gil:
                raise MemoryError("No memory to examine a leaf.")
        return 0

    cdef int _install(self, Leaf* leaf, Split* split) except -1 nogil:
        cdef intp_t K = self.policy.n_classes
        cdef intp_t node = leaf.node
        cdef intp_t first = self.tree.node_count
        cdef intp_t r = self.splitter.n_outcomes
        cdef Leaf** children
        cdef Parting parting
        cdef intp_t z
        cdef bint done = True
        self._describe(split, &parting)
        with gil:
            self._reserve(first + r)
            self._reserve_outcomes(r)
            self.tree.reserve_ordinals(self.tree.n_ordinals + parting.n_codes)
        children = self.children
        for z in range(r):
            children[z] = new_leaf(&self.policy, first + z)
        for z in range(r):
            done = (
                done and children[z] != NULL
                and start_child(
                    leaf, &self.policy, &parting, z, self.share + z * K, children[z]
                )
                and self._part_pool(leaf, &parting, z, children[z])
            )
        if not done:
            for z in range(r):
                release_leaf(children[z], &self.policy)
            with gil:
                raise MemoryError("No memory to split a leaf.")
        if parting.ordinals == NULL:
            self.tree.split(node, split.feature, split.threshold, &split.evidence)
            self.tree.send_missing(
                node, self.splitter.missing_left, self.splitter.missing_seen
            )
        else:
            self.tree.split_nominal(
                node, split.feature, parting.ordinals, parting.n_codes, r,
                &split.evidence,
            )
            self.tree.send_strays(node, parting.stray)
        self._add_children(leaf, &parting)
        for z in range(r):
            self.forecaster.pass_on(leaf, children[z])
            self.leaves[first + z] = children[z]
        release_leaf(leaf, &self.policy)
        self.leaves[node] = NULL
        self.n_leaves += r - 1
        self.full = self._is_full()
        return 0

    cdef void _describe(self, const Split* split, Parting* parting) noexcept nogil:
        # The test that the splitter has just chosen.
        parting.feature = split.feature
        parting.n_outcomes = self.splitter.n_outcomes
        parting.threshold = split.threshold
        parting.cut = split.cut & (missing_left_bit() - 1)
        parting.missing_left = self.splitter.missing_left
        parting.ordinals = NULL
        parting.n_codes = 0
        parting.stray = 0
        if self.policy.n_codes != NULL and self.policy.n_codes[split.feature] >= 0:
            parting.ordinals = self.splitter.ordinals
            parting.n_codes = self.policy.n_codes[split.feature]
            parting.stray = self.splitter.stray_child

    cdef void _add_children(
        self, const Leaf* leaf, const Parting* parting
    ) noexcept nogil:
        # Leaves whose counts add up to those of the node: the last takes the rest.
        cdef intp_t K = self.policy.n_classes
        cdef intp_t r = parting.n_outcomes
        cdef const float64_t* counts = self.tree.counts + leaf.node * K
        cdef float64_t* rest = self.share + (r - 1) * K
        cdef float64_t* child
        cdef float64_t total = 0.0
        cdef float64_t n
        cdef intp_t n_rows = self.tree.n_node_samples[leaf.node]
        cdef intp_t rows_left = n_rows
        cdef intp_t rows, z, c
        for c in range(K):
            total += counts[c]
            rest[c] = counts[c]
        for z in range(r):
            child = self.share + z * K
            if z < r - 1:
                for c in range(K):
                    if leaf.memory == ROWS and counts[c] == leaf.held[c]:
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
                if leaf.memory == ROWS and leaf.n_rows == n_rows:
                    rows = self.children[z].n_rows
                rows = min(rows, rows_left)
            rows_left -= rows
            self.tree.add_leaf(leaf.node, child, rows, 0.0)

    cdef bint _part_pool(
        self, const Leaf* leaf, const Parting* parting, intp_t outcome, Leaf* child
    ) noexcept nogil:
        # The child's rows without label, and its box.
        cdef intp_t d = self.policy.n_features
        cdef intp_t n = 0
        cdef intp_t i, row
        if leaf.n_pool > 0:
            child.pool = <int32_t*> malloc(leaf.n_pool * sizeof(int32_t))
            if child.pool == NULL:
                return False
            for i in range(leaf.n_pool):
                row = leaf.pool[i]
                if outcome_of(parting, self.splitter.pool[row, parting.feature]) == outcome:
                    child.pool[n] = <int32_t> row
                    n += 1
            child.n_pool = n
        if leaf.box != NULL:
            child.box = <float64_t*> malloc(2 * d * sizeof(float64_t))
            if child.box == NULL:
                return False
            memcpy(child.box, leaf.box, 2 * d * sizeof(float64_t))
            if parting.ordinals == NULL and isfinite(parting.threshold):
                _cut_box(child.box, parting.feature, parting.threshold, outcome)
        return True

    def reserve_codes(self, intp_t n_codes):
        """Make room for tests of features with so many categories."""
        if self.policy.n_codes != NULL:
            self.splitter.reserve_categories(n_codes + 1)

    def _take_codes(self, n_codes):
        # Of a state: how many categories of each feature have been met.
        n_codes = np.array(n_codes, dtype=np.int32)
        numeric = np.asarray(self._n_codes) < 0
        if n_codes.shape != numeric.shape or not np.array_equal(n_codes < 0, numeric) or (
            n_codes.max() > MOST_CODES
        ):
            raise ValueError("The state of this growing tree is damaged.")
        np.asarray(self._n_codes)[:] = n_codes
        self.reserve_codes(n_codes.max())

    cdef int _reserve_outcomes(self, intp_t r) except -1:
        cdef void* larger
        if r <= self.outcome_room:
            return 0
        larger = realloc(self.share, r * self.policy.n_classes * sizeof(float64_t))
        if larger == NULL:
            raise MemoryError("No memory to split a leaf.")
        self.share = <float64_t*> larger
        larger = realloc(self.children, r * sizeof(Leaf*))
        if larger == NULL:
            raise MemoryError("No memory to split a leaf.")
        self.children = <Leaf**> larger
        self.outcome_room = r
        return 0

    cdef int _reserve(self, intp_t n_nodes) except -1:
        # Room for the tree's nodes and for their leaves.
        cdef Leaf** larger
        cdef intp_t room
        self.tree.reserve(n_nodes)
        if n_nodes > self.room:
            room = max(n_nodes, 2 * self.room)
            larger = <Leaf**> realloc(self.leaves, room * sizeof(Leaf*))
            if larger == NULL:
                raise MemoryError("No memory for more leaves.")
            memset(larger + self.room, 0, (room - self.room) * sizeof(Leaf*))
            self.leaves = larger
            self.room = room
        return 0

    # -- drift --------------------------------------------------------------------

    cdef int _watch(
        self, bint error, const float32_t* x, label_t y, float64_t weight
    ) except -1 nogil:
        # Between a warning and what follows it a second tree learns the same rows.
        cdef int state = self.detector.update(error)
        if state == STABLE:
            if self.background is not None:
                with gil:
                    self.background = None
            return 0
        if self.background is None:
            with gil:
                self.background = self._sapling()
        self.background.finite = self.finite
        self.background.learn_row(x, y, weight, NULL)
        if state == DRIFT:
            with gil:
                self._become(self.background)
                self.background = None
        return 0

    def _sapling(self):
        # An empty tree of the same kind, which watches nothing.
        tree = Tree(self.tree.n_features, self.tree.n_classes, self.tree.class_weight)
        tree.plant()
        options = {**self.recipe["options"], "max_bytes": self.max_bytes}
        grower = self.make(
            tree, {**self.recipe, "options": options, "drift": None}
        )
        grower.open_leaves()
        return grower

    cdef int _become(self, Grower other) except -1:
        # Trade trees; the other one, which is given up, gets ours.
        self.tree, other.tree = other.tree, self.tree
        self.leaves, other.leaves = other.leaves, self.leaves
        self.room, other.room = other.room, self.room
        self.n_leaves, other.n_leaves = other.n_leaves, self.n_leaves
        self.weight_seen = other.weight_seen
        self.total_weight = other.total_weight
        self.splitter.whole = other.splitter.whole
        self.full = other.full
        self.tree.stale = True
        return 0

    # -- the whole tree -----------------------------------------------------------

    cdef int _at_boundary(self) except -1:
        if self.max_bytes >= 0:
            self._limit_memory()
        PyErr_CheckSignals()
        return 0

    @property
    def n_bytes(self):
        """Bytes of the tree and of what its leaves remember."""
        cdef intp_t total = self._own_bytes()
        if self.background is not None:
            total += self.background.n_bytes
        return total

    def _own_bytes(self):
        cdef intp_t total = self.tree.n_bytes + self.tree.node_count * sizeof(Leaf*)
        cdef intp_t node
        for node in range(self.tree.node_count):
            if self.leaves[node] != NULL:
                total += leaf_bytes(self.leaves[node], &self.policy)
        return total

    def _least_bytes(self):
        # What is left if every leaf forgets.
        return (
            self.tree.node_count * self.node_bytes + self.n_leaves * self.bare_bytes
            + self.pool_bytes
        )

    cdef bint _is_full(self) noexcept nogil:
        # Whether two more leaves that remember nothing would be too many. Splits
        # stay, so that this must hold before the next one, not at the boundary.
        return self.max_bytes >= 0 and self.max_bytes < (
            (self.tree.node_count + 2) * self.node_bytes
            + (self.n_leaves + 1) * self.bare_bytes + self.pool_bytes
        )

    def _limit_memory(self):
        # Leaves with the fewest errors to save forget first.
        cdef intp_t total
        cdef intp_t i, node
        if self.background is not None:
            self.background._limit_memory()
        total = self._own_bytes()
        if total <= self.max_bytes:
            return
        counts = self.tree.counts_of_leaves()
        errors = counts.sum(axis=1) - counts.max(axis=1)
        for i in np.argsort(errors, kind="stable"):
            node = i
            if self.leaves[node] == NULL or self.leaves[node].memory == NOTHING:
                continue
            total -= leaf_bytes(self.leaves[node], &self.policy)
            forget(self.leaves[node], &self.policy)
            total += leaf_bytes(self.leaves[node], &self.policy)
            if total <= self.max_bytes:
                break

    # -- state --------------------------------------------------------------------

    def __reduce__(self):
        return self.make, (self.tree, self.recipe, self.__getstate__())

    def __getstate__(self):
        cdef StateWriter writer = StateWriter()
        cdef intp_t node
        for node in range(self.tree.node_count):
            if self.leaves[node] != NULL:
                write_leaf(writer, self.leaves[node], &self.policy)
        return (
            STATE_VERSION, self.n_rows_seen, self.weight_seen, self.total_weight,
            bool(self.full), bool(self.splitter.whole), bytes(writer.data),
            self.detector, self.background, bool(self.policy.missing),
            None if self.policy.n_codes == NULL else tuple(
                np.asarray(self._n_codes).tolist()
            ),
        )

    def _are_codes(self, n_codes):
        # Whether these are numbers of categories of the nominal features.
        if self.policy.n_codes == NULL:
            return n_codes is None
        return (
            isinstance(n_codes, tuple) and len(n_codes) == self.policy.n_features
            and all(
                isinstance(n, int) and n < 32768
                and (n >= 0 if self.policy.n_codes[f] >= 0 else n == -1)
                for f, n in enumerate(n_codes)
            )
        )

    def __setstate__(self, state):
        cdef StateReader reader
        cdef Leaf* leaf
        cdef intp_t n_pool = 0
        cdef intp_t node
        if not isinstance(state, tuple) or len(state) != 11 or (
            state[0] != STATE_VERSION
        ):
            raise ValueError(
                f"The state of this growing tree is not of version {STATE_VERSION}; "
                f"it was written by another release."
            )
        _, n_rows_seen, weight_seen, total_weight, full, whole, leaves = state[:7]
        if not (
            isinstance(n_rows_seen, int) and n_rows_seen >= 0
            and isinstance(weight_seen, float) and 0.0 <= weight_seen < INFINITY
            and isinstance(total_weight, float) and 0.0 <= total_weight < INFINITY
            and isinstance(leaves, bytes)
            and (state[7] is None or isinstance(state[7], DDMKernel))
            and (state[8] is None or isinstance(state[8], Grower))
            and self._are_codes(state[10])
        ):
            raise ValueError("The state of this growing tree is damaged.")
        if self.splitter.pool is not None:
            n_pool = self.splitter.pool.shape[0]
        self.policy.missing = bool(state[9])
        if self.policy.n_codes != NULL:
            self._take_codes(state[10])
        self._reserve(self.tree.node_count)
        reader = StateReader(leaves)
        for node in range(self.tree.node_count):
            if self.tree.nodes[node].feature < 0:
                leaf = read_leaf(reader, &self.policy, node, n_pool)
                release_leaf(self.leaves[node], &self.policy)
                self.leaves[node] = leaf
                if self.splitter.by_volume and leaf.box == NULL:
                    raise ValueError("The state of this growing tree has no boxes.")
        reader.finish()
        self.n_leaves = self.tree.n_leaves
        self.n_rows_seen = int(n_rows_seen)
        self.weight_seen = float(weight_seen)
        self.total_weight = float(total_weight)
        self.full = bool(full)
        self.splitter.whole = bool(whole)
        self.detector = state[7]
        self.background = state[8]


cdef void _cut_box(
    float64_t* box, intp_t feature, float64_t threshold, intp_t side
) noexcept nogil:
    # Rows may lie outside the root's box, and so may a cut between them.
    cdef float64_t* limits = box + 2 * feature
    limits[1 - side] = min(max(threshold, limits[0]), limits[1])
