"""The grown tree: plain arrays, routing and state."""

import numpy as np
from scipy.sparse import csr_matrix

from libc.math cimport INFINITY, NAN

from skconftree.utils._typedefs cimport uint8_t

EVIDENCE_DTYPE = np.dtype(
    [
        ("score", np.float64),
        ("rival_score", np.float64),
        ("rival_feature", np.intp),
        ("parent_limit", np.float64),
        ("child_limit", np.float64),
        ("radius", np.float64),
        ("confidence", np.float64),
        ("n_tests", np.float64),
    ],
    align=True,
)
NODE_DTYPE = np.dtype(
    [("threshold", np.float64), ("feature", np.int32), ("left", np.int32)], align=True
)
STATE_VERSION = 3

cdef enum:
    NO_CHILD = -1   # as in scikit-learn
    UNDEFINED = -2
    LANES = 8       # rows routed in step: their cache misses overlap


cdef void clear_evidence(SplitEvidence* evidence) noexcept nogil:
    evidence.score = NAN
    evidence.rival_score = NAN
    evidence.rival_feature = UNDEFINED
    evidence.parent_limit = NAN
    evidence.child_limit = NAN
    evidence.radius = NAN
    evidence.confidence = NAN
    evidence.n_tests = NAN


cdef class Tree:
    """A decision tree as read-only arrays, one element a node.

    Internal nodes and leaves share one numbering. Ids are append-only: children
    have larger ids than their parent, the right child follows the left one.

    Attributes
    ----------
    node_count, max_depth, n_features, n_classes : int
    children_left, children_right : ndarray of shape (node_count,), intp
        Children of each node; -1 at a leaf.
    parent : ndarray of shape (node_count,), int32
        Parent of each node; -1 at the root.
    depth : ndarray of shape (node_count,), int32
    feature : ndarray of shape (node_count,), int32
        Feature tested; -2 at a leaf.
    threshold : ndarray of shape (node_count,), float64
        Rows with a value at most this go left; -2 at a leaf.
    counts : ndarray of shape (node_count, n_classes), float64
        Weight of the training rows of each class, without `class_weight`.
    value : ndarray of shape (node_count, n_classes), float64
        Class proportions with `class_weight`.
    impurity : ndarray of shape (node_count,), float64
    n_node_samples : ndarray of shape (node_count,), intp
    weighted_n_node_samples : ndarray of shape (node_count,), float64
        With `class_weight`.
    evidence : ndarray of shape (node_count,), structured
        Why each split was installed: ``score`` of the test, ``rival_score``,
        ``rival_feature`` (-1 = no split), ``parent_limit``, ``child_limit``,
        ``radius``, ``confidence`` and ``n_tests``. NaN where a field does not
        apply; at a leaf all of them, and ``rival_feature`` is -2.
    """

    def __init__(self, intp_t n_features, intp_t n_classes, class_weight=None):
        if n_features < 1 or n_classes < 1:
            raise ValueError("A tree needs at least one feature and one class.")
        self.n_features = n_features
        self.n_classes = n_classes
        if class_weight is None:
            class_weight = np.ones(n_classes)
        self.class_weight = np.array(class_weight, dtype=np.float64)
        if self.class_weight.shape != (n_classes,):
            raise ValueError(
                f"class_weight must have shape ({n_classes},), "
                f"got {self.class_weight.shape}."
            )
        self.class_weight.flags.writeable = False
        self._arrays = {}
        self.reserve(8)

    cdef void reserve(self, intp_t capacity) except *:
        # Room for `capacity` nodes, at least doubling what there is.
        if capacity <= self.capacity:
            return
        capacity = max(capacity, 2 * self.capacity)
        if capacity > 2147483647:
            raise ValueError("The tree has more nodes than its index type holds.")
        shapes = {
            "nodes": ((capacity,), NODE_DTYPE),
            "parent": ((capacity,), np.int32),
            "depth": ((capacity,), np.int32),
            "n_node_samples": ((capacity,), np.intp),
            "counts": ((capacity, self.n_classes), np.float64),
            "impurity": ((capacity,), np.float64),
            "evidence": ((capacity,), EVIDENCE_DTYPE),
        }
        arrays = {}
        for name, (shape, dtype) in shapes.items():
            arrays[name] = np.zeros(shape, dtype=dtype)
            if self.node_count:
                arrays[name][: self.node_count] = self._arrays[name][: self.node_count]
        self._hold(arrays)

    cdef _hold(self, dict arrays):
        # Own these arrays and point into them.
        cdef Py_ssize_t address
        self._arrays = arrays
        self.capacity = len(arrays["parent"])
        address = arrays["nodes"].ctypes.data
        self.nodes = <Node*> address
        address = arrays["parent"].ctypes.data
        self.parent = <int32_t*> address
        address = arrays["depth"].ctypes.data
        self.depth = <int32_t*> address
        address = arrays["n_node_samples"].ctypes.data
        self.n_node_samples = <intp_t*> address
        address = arrays["counts"].ctypes.data
        self.counts = <float64_t*> address
        address = arrays["impurity"].ctypes.data
        self.impurity = <float64_t*> address
        address = arrays["evidence"].ctypes.data
        self.evidence = <SplitEvidence*> address

    # -- growth -------------------------------------------------------------------

    def plant(self):
        """Start with a root that no row has reached."""
        cdef float64_t[::1] counts = np.zeros(self.n_classes)
        self.add_leaf(-1, &counts[0], 0, 0.0)

    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil:
        # The caller has reserved room.
        cdef intp_t node = self.node_count
        cdef intp_t c
        self.nodes[node].threshold = INFINITY
        self.nodes[node].feature = UNDEFINED
        self.nodes[node].left = <int32_t> node
        self.parent[node] = <int32_t> parent
        self.depth[node] = 0
        if parent >= 0:
            self.depth[node] = self.depth[parent] + 1
        self.n_node_samples[node] = n_rows
        self.impurity[node] = impurity
        for c in range(self.n_classes):
            self.counts[node * self.n_classes + c] = counts[c]
        clear_evidence(&self.evidence[node])
        if self.depth[node] > self.max_depth:
            self.max_depth = self.depth[node]
        self.node_count += 1
        return node

    cdef void split(
        self, intp_t node, intp_t feature, float64_t threshold,
        const SplitEvidence* evidence,
    ) noexcept nogil:
        # The next two leaves added are the children of this node.
        self.nodes[node].feature = <int32_t> feature
        self.nodes[node].threshold = threshold
        self.nodes[node].left = <int32_t> self.node_count
        self.evidence[node] = evidence[0]

    # -- pruning ------------------------------------------------------------------

    def pruned(self, keep_as_leaf):
        """Copy the tree with some nodes turned into leaves.

        Parameters
        ----------
        keep_as_leaf : array-like of shape (node_count,), bool
            Internal nodes that become leaves, if they are still in the tree: what
            lies below them goes. True at a leaf changes nothing.

        Returns
        -------
        Tree
            The nodes left keep their order, and the splits their evidence.
        """
        leaf = np.array(keep_as_leaf, dtype=np.bool_)
        if leaf.shape != (self.node_count,):
            raise ValueError(
                f"keep_as_leaf must have shape ({self.node_count},), "
                f"got {leaf.shape}."
            )
        leaf |= self.feature < 0
        alive = np.zeros(self.node_count, dtype=np.bool_)
        parent = np.full(self.node_count, -1, dtype=np.int32)
        depth = np.zeros(self.node_count, dtype=np.int32)
        cdef const uint8_t[::1] is_leaf = leaf.view(np.uint8)
        cdef uint8_t[::1] is_alive = alive.view(np.uint8)
        cdef int32_t[::1] above = parent
        cdef int32_t[::1] level = depth
        cdef intp_t node, child
        is_alive[0] = True
        for node in range(self.node_count):
            if is_alive[node] and not is_leaf[node]:
                for child in range(self.nodes[node].left, self.nodes[node].left + 2):
                    is_alive[child] = True
                    above[child] = <int32_t> node
                    level[child] = level[node] + 1

        leaf = leaf[alive]
        new_id = (np.cumsum(alive) - 1).astype(np.int32)
        arrays = {name: self._view(name)[alive] for name in self._arrays}
        nodes = arrays["nodes"]
        nodes["left"] = np.where(leaf, new_id[alive], new_id[nodes["left"]])
        nodes["feature"][leaf] = UNDEFINED
        nodes["threshold"][leaf] = INFINITY
        arrays["parent"] = new_id[parent[alive]]
        arrays["parent"][0] = -1
        arrays["depth"] = depth[alive]

        cdef Tree tree = Tree(self.n_features, self.n_classes, self.class_weight)
        tree._hold(arrays)
        tree.node_count = len(leaf)
        tree.max_depth = arrays["depth"].max()
        for node in range(tree.node_count):
            if tree.nodes[node].feature < 0:
                clear_evidence(&tree.evidence[node])
        return tree

    # -- arrays -------------------------------------------------------------------

    def refresh(self):
        """Derive what follows from the counts of the leaves, once these have grown."""
        cdef intp_t K = self.n_classes
        cdef intp_t node, above, c
        if not self.stale:
            return
        self.stale = False
        self._value = None
        for node in range(self.node_count):
            if self.nodes[node].feature >= 0:
                self.n_node_samples[node] = 0
                for c in range(K):
                    self.counts[node * K + c] = 0.0
        for node in range(self.node_count - 1, 0, -1):
            above = self.parent[node]
            self.n_node_samples[above] += self.n_node_samples[node]
            for c in range(K):
                self.counts[above * K + c] += self.counts[node * K + c]
        if self.criterion is not None:
            self._arrays["impurity"][: self.node_count] = self.criterion.impurities(
                self._arrays["counts"][: self.node_count] * self.class_weight
            )

    def counts_of_leaves(self):
        """Counts of every node, up to date at the leaves only."""
        return self._arrays["counts"][: self.node_count]

    @property
    def n_bytes(self):
        """Bytes of the nodes."""
        return self.node_count * sum(
            array.itemsize * (array.size // len(array))
            for array in self._arrays.values()
        )

    def _view(self, name):
        self.refresh()
        view = self._arrays[name][: self.node_count]
        view.flags.writeable = False
        return view

    @property
    def feature(self):
        return self._view("nodes")["feature"]

    @property
    def threshold(self):
        nodes = self._view("nodes")
        return np.where(nodes["feature"] < 0, <float64_t> UNDEFINED, nodes["threshold"])

    @property
    def children_left(self):
        nodes = self._view("nodes")
        return np.where(nodes["feature"] < 0, NO_CHILD, nodes["left"]).astype(np.intp)

    @property
    def children_right(self):
        nodes = self._view("nodes")
        return np.where(nodes["feature"] < 0, NO_CHILD, nodes["left"] + 1).astype(np.intp)

    @property
    def parent(self):
        return self._view("parent")

    @property
    def depth(self):
        return self._view("depth")

    @property
    def counts(self):
        return self._view("counts")

    @property
    def impurity(self):
        return self._view("impurity")

    @property
    def n_node_samples(self):
        return self._view("n_node_samples")

    @property
    def evidence(self):
        return self._view("evidence")

    @property
    def weighted_n_node_samples(self):
        return self._view("counts") @ self.class_weight

    @property
    def n_leaves(self):
        return int(np.count_nonzero(self.feature < 0))

    @property
    def value(self):
        self.refresh()
        if self._value is None or len(self._value) != self.node_count:
            value = self._view("counts") * self.class_weight
            total = value.sum(axis=1, keepdims=True)
            for node in np.flatnonzero(total == 0.0):
                # nothing has come this way: what the parent says, if anything
                value[node] = value[self.parent[node]] if node > 0 else 1.0
                total[node] = value[node].sum()
            value /= total
            value.flags.writeable = False
            self._value = value
        return self._value

    # -- routing ------------------------------------------------------------------

    def apply(self, const float32_t[:, ::1] X not None):
        """Leaf reached by each row.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float32, C-contiguous

        Returns
        -------
        ndarray of shape (n_rows,), intp
        """
        cdef intp_t n = X.shape[0]
        leaves = np.empty(n, dtype=np.intp)
        cdef intp_t[::1] out = leaves
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, the tree has {self.n_features}."
            )
        if n > 0:
            with nogil:
                self._route(&X[0, 0], n, &out[0])
        return leaves

    cdef void _route(self, const float32_t* x, intp_t n, intp_t* out) noexcept nogil:
        cdef const Node* nodes = self.nodes
        cdef const Node* node
        cdef intp_t d = self.n_features
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

    def path(self, leaves):
        """Indicator of the nodes above, and including, the given ones.

        Parameters
        ----------
        leaves : ndarray of shape (n_rows,), intp

        Returns
        -------
        csr_matrix of shape (n_rows, node_count)
        """
        parent = self._view("parent")
        lengths = self._view("depth")[leaves].astype(np.int64) + 1
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(lengths.sum(), dtype=np.int64)
        rows = np.arange(len(leaves))
        nodes = np.asarray(leaves)
        position = indptr[1:] - 1
        while len(rows):
            indices[position[rows]] = nodes
            position[rows] -= 1
            nodes = parent[nodes]
            above = nodes >= 0
            rows = rows[above]
            nodes = nodes[above]
        return csr_matrix(
            (np.ones(len(indices), dtype=np.int64), indices, indptr),
            shape=(len(leaves), self.node_count),
        )

    def feature_importances(self):
        """Share of each feature in the decrease of impurity, as in scikit-learn."""
        mass = self.weighted_n_node_samples * self._view("impurity")
        nodes = self._view("nodes")
        split = np.flatnonzero(nodes["feature"] >= 0)
        left = nodes["left"][split]
        importances = np.bincount(
            nodes["feature"][split],
            weights=mass[split] - mass[left] - mass[left + 1],
            minlength=self.n_features,
        )
        total = importances.sum()
        return importances / total if total > 0.0 else importances

    # -- state --------------------------------------------------------------------
    #
    # Bytes and numbers only: equal states give equal pickles, as nothing in them
    # can be one object here and two equal ones there.

    def __reduce__(self):
        return (
            Tree,
            (self.n_features, self.n_classes, tuple(self.class_weight.tolist())),
            self.__getstate__(),
        )

    def __getstate__(self):
        self.refresh()
        return (
            STATE_VERSION,
            *(array[: self.node_count].tobytes() for array in self._arrays.values()),
        )

    def __setstate__(self, state):
        if not isinstance(state, tuple) or not state or state[0] != STATE_VERSION:
            raise ValueError(
                f"The state of this tree is not of version {STATE_VERSION}; "
                f"it was written by another release."
            )
        if len(state) != 1 + len(self._arrays):
            raise ValueError("The state of this tree is damaged: its arrays.")
        arrays = {}
        for data, (name, template) in zip(
            state[1:], self._arrays.items(), strict=True
        ):
            shape = (-1, *template.shape[1:])
            if not isinstance(data, bytes) or len(data) % template[:1].nbytes:
                raise ValueError(f"The state of this tree is damaged: {name!r}.")
            arrays[name] = np.frombuffer(data, template.dtype).reshape(shape).copy()
        count = len(arrays["parent"])
        for name, array in arrays.items():
            if len(array) != count:
                raise ValueError(f"The state of this tree is damaged: {name!r}.")
        if not _are_nodes_of_tree(arrays, self.n_features):
            raise ValueError("The state of this tree is damaged: its nodes.")
        counts = arrays["counts"]
        if not (np.isfinite(counts).all() and (counts >= 0.0).all()):
            raise ValueError("The state of this tree is damaged: 'counts'.")
        self.node_count = count
        self.max_depth = arrays["depth"].max()
        self._value = None
        self._hold(arrays)


def _are_nodes_of_tree(arrays, n_features):
    # Every node but the root is a child of the node that it calls its parent.
    nodes = arrays["nodes"]
    parent = arrays["parent"]
    depth = arrays["depth"]
    ids = np.arange(len(nodes))
    leaf = nodes["feature"] == UNDEFINED
    split = np.flatnonzero(~leaf)
    left = nodes["left"][split].astype(np.intp)
    children = np.concatenate([left, left + 1])
    if not (
        len(nodes) > 0
        and np.all(nodes["left"][leaf] == ids[leaf])
        and np.all(np.isposinf(nodes["threshold"][leaf]))
        and np.all(np.isfinite(nodes["threshold"][split]))
        and np.all(nodes["feature"][split] >= 0)
        and np.all(nodes["feature"][split] < n_features)
        and np.all(left > split)
        and np.array_equal(np.sort(children), ids[1:])
    ):
        return False
    return bool(
        parent[0] == -1
        and depth[0] == 0
        and np.array_equal(parent[children], np.concatenate([split, split]))
        and np.array_equal(depth[1:], depth[parent[1:]] + 1)
    )
