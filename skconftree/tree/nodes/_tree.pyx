"""The grown tree."""

import numpy as np
from scipy.sparse import csr_matrix

from skconftree.tree.nodes._tree_state import (
    ARRAYS, BRANCHING_DTYPE, EVIDENCE_DTYPE, NODE_DTYPE, STATE_VERSION, check_size,
    read_arrays, row_bytes,
)
from skconftree.utils._readonly import read_only

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.math cimport INFINITY, NAN

from skconftree.tree.nodes._routing cimport child_of, route, route_any
from skconftree.utils._finite cimport FINITE, finiteness
from skconftree.utils._typedefs cimport uint8_t

cdef enum:
    NO_CHILD = -1   # as in scikit-learn
    UNDEFINED = -2


cdef void* address_of(array) except? NULL:
    # Of its values. By the buffer, as `array.ctypes` is written in Python, where a
    # signal handler may run and raise: a tree that grows asks in the middle of a row.
    cdef Py_buffer buffer
    cdef void* address
    PyObject_GetBuffer(array, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)
    address = buffer.buf
    PyBuffer_Release(&buffer)
    return address


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
    have larger ids than their parent and follow each other.

    Of a tree that is growing the arrays show one moment: those read later are others,
    and reading waits while another thread learns. ``copy.copy`` copies the tree with
    all its arrays at one moment.

    Attributes
    ----------
    node_count, max_depth, n_features, n_classes : int
    children_left, children_right : ndarray of shape (node_count,), intp
        Children of each node; -1 at a leaf, -2 at a node with a branch for every
        category, see `children`.
    n_children : ndarray of shape (node_count,), int32
        0 at a leaf, 2 at a binary test.
    parent : ndarray of shape (node_count,), int32
        Parent of each node; -1 at the root.
    depth : ndarray of shape (node_count,), int32
    feature : ndarray of shape (node_count,), int32
        Feature tested; -2 at a leaf.
    threshold : ndarray of shape (node_count,), float64
        Rows with a value at most this go left; -2 at a leaf, NaN at a nominal test,
        see `branches`; infinity at a test that only asks whether there is a value.
    missing_go_to_left : ndarray of shape (node_count,), bool
        Where a numeric test sends missing values.
    missing_seen : ndarray of shape (node_count,), bool
        Whether that was learnt from rows with missing values.
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

    def __cinit__(self, n_features, n_classes, class_weight=None):
        check_size(n_features, n_classes)
        self.n_features = n_features
        self.n_classes = n_classes
        if class_weight is None:
            class_weight = np.ones(n_classes)
        class_weight = np.array(class_weight, dtype=np.float64)
        if class_weight.shape != (n_classes,):
            raise ValueError(
                f"class_weight must have shape ({n_classes},), "
                f"got {class_weight.shape}."
            )
        if not (np.isfinite(class_weight).all() and (class_weight >= 0.0).all()):
            raise ValueError("class_weight must be finite and not negative.")
        self.class_weight = read_only(class_weight)
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
            "branching": ((capacity,), BRANCHING_DTYPE),
        }
        arrays = {"ordinals": self._arrays.get("ordinals", np.zeros(0, np.int16))}
        for name, (shape, dtype) in shapes.items():
            arrays[name] = np.zeros(shape, dtype=dtype)
            if self.node_count:
                arrays[name][: self.node_count] = self._arrays[name][: self.node_count]
        self._hold(arrays)

    cdef void reserve_ordinals(self, intp_t room) except *:
        if room <= self.ordinal_room:
            return
        room = max(room, 2 * self.ordinal_room)
        if room > 2147483647:
            raise ValueError("The tree has more branches than its index type holds.")
        ordinals = np.zeros(room, dtype=np.int16)
        ordinals[: self.n_ordinals] = self._arrays["ordinals"][: self.n_ordinals]
        self._hold(self._arrays | {"ordinals": ordinals})

    cdef _hold(self, dict arrays):
        # Own these arrays and point into them: all of them, or none if it fails.
        cdef void* nodes = address_of(arrays["nodes"])
        cdef void* parent = address_of(arrays["parent"])
        cdef void* depth = address_of(arrays["depth"])
        cdef void* n_node_samples = address_of(arrays["n_node_samples"])
        cdef void* counts = address_of(arrays["counts"])
        cdef void* impurity = address_of(arrays["impurity"])
        cdef void* evidence = address_of(arrays["evidence"])
        cdef void* branching = address_of(arrays["branching"])
        cdef void* ordinals = address_of(arrays["ordinals"])
        self._arrays = arrays
        self._shown = {}
        self.capacity = len(arrays["parent"])
        self.nodes = <Node*> nodes
        self.parent = <int32_t*> parent
        self.depth = <int32_t*> depth
        self.n_node_samples = <intp_t*> n_node_samples
        self.counts = <float64_t*> counts
        self.impurity = <float64_t*> impurity
        self.evidence = <SplitEvidence*> evidence
        self.branching = <Branching*> branching
        self.ordinals = <int16_t*> ordinals
        self.ordinal_room = len(arrays["ordinals"])

    # -- growth -------------------------------------------------------------------

    def add_root(self):
        """Start with a root that no row has reached."""
        if self.node_count > 0:
            raise ValueError("The tree has a root.")
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
        self._clear_branching(node)
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
        self.branching[node].n_children = 2
        self.evidence[node] = evidence[0]

    cdef void split_nominal(
        self, intp_t node, intp_t feature, const int16_t* ordinals, intp_t n_codes,
        intp_t n_children, const SplitEvidence* evidence,
    ) noexcept nogil:
        # The next n_children leaves added are the children of this node. The caller
        # has reserved room for n_codes ordinals.
        cdef Branching* branching = &self.branching[node]
        cdef intp_t code
        self.split(node, feature, NAN, evidence)
        branching.n_children = <int32_t> n_children
        branching.n_codes = <int32_t> n_codes
        branching.first = <int32_t> self.n_ordinals
        for code in range(n_codes):
            self.ordinals[self.n_ordinals + code] = ordinals[code]
        self.n_ordinals += n_codes

    cdef void send_missing(self, intp_t node, bint left, bint seen) noexcept nogil:
        self.branching[node].missing_left = left
        self.branching[node].missing_seen = seen

    cdef void admit(self, intp_t node, intp_t code) except *:
        # As `lead`, of a category that may have no ordinal yet.
        cdef intp_t first = self.branching[node].first
        cdef intp_t n_codes = self.branching[node].n_codes
        cdef intp_t room = n_codes
        cdef intp_t i
        if code >= n_codes:
            room = 2 * code + 2
            self.reserve_ordinals(self.n_ordinals + room)
            for i in range(room):
                self.ordinals[self.n_ordinals + i] = (
                    self.ordinals[first + i] if i < n_codes else -1
                )
            first = self.n_ordinals
            self.n_ordinals += room
            self.branching[node].first = <int32_t> first
            self.branching[node].n_codes = <int32_t> room
        self.lead(node, code)
        self.n_admitted += 1

    cdef void send_unknown(self, intp_t node, intp_t child) noexcept nogil:
        self.branching[node].missing_left = <int16_t> child

    cdef void _clear_branching(self, intp_t node) noexcept nogil:
        self.branching[node].first = -1
        self.branching[node].n_codes = 0
        self.branching[node].n_children = 0
        self.branching[node].missing_left = True     # so that rows stay at a leaf
        self.branching[node].missing_seen = False

    cdef void grows(self, object criterion, ModelLock lock) except *:
        # From now on whoever holds the lock to learn may let it grow row by row. Looks
        # at the impurity take nothing from the criterion of the growth.
        self.criterion = type(criterion)(self.n_classes)
        self.lock = lock
        self.stale = True

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
        self._check_root()
        cdef dict shown = self._still()
        leaf = np.array(keep_as_leaf, dtype=np.bool_)
        if leaf.shape != (self.node_count,):
            raise ValueError(
                f"keep_as_leaf must have shape ({self.node_count},), "
                f"got {leaf.shape}."
            )
        leaf |= shown["nodes"]["feature"] < 0
        alive = np.zeros(self.node_count, dtype=np.bool_)
        parent = np.full(self.node_count, -1, dtype=np.int32)
        depth = np.zeros(self.node_count, dtype=np.int32)
        cdef const uint8_t[::1] is_leaf = leaf.view(np.uint8)
        cdef uint8_t[::1] is_alive = alive.view(np.uint8)
        cdef int32_t[::1] above = parent
        cdef int32_t[::1] level = depth
        cdef intp_t node, left, child
        is_alive[0] = True
        for node in range(self.node_count):
            if is_alive[node] and not is_leaf[node]:
                left = self.nodes[node].left
                for child in range(left, left + self.branching[node].n_children):
                    is_alive[child] = True
                    above[child] = <int32_t> node
                    level[child] = level[node] + 1

        leaf = leaf[alive]
        new_id = (np.cumsum(alive) - 1).astype(np.int32)
        arrays = {
            name: shown[name][alive] for name in shown if name != "ordinals"
        }
        nodes = arrays["nodes"]
        nodes["left"] = np.where(leaf, new_id[alive], new_id[nodes["left"]])
        nodes["feature"][leaf] = UNDEFINED
        nodes["threshold"][leaf] = INFINITY
        arrays["parent"] = new_id[parent[alive]]
        arrays["parent"][0] = -1
        arrays["depth"] = depth[alive]
        branching = arrays["branching"]
        nominal = np.flatnonzero((branching["first"] >= 0) & ~leaf)
        kept = [
            self._arrays["ordinals"][first : first + size]
            for first, size in branching[["first", "n_codes"]][nominal]
        ]
        arrays["ordinals"] = np.concatenate([np.zeros(0, np.int16), *kept])
        size = branching["n_codes"][nominal]
        branching["first"][nominal] = np.cumsum(size) - size

        cdef Tree tree = Tree(self.n_features, self.n_classes, self.class_weight)
        tree._hold(arrays)
        tree.n_ordinals = len(arrays["ordinals"])
        tree.node_count = len(leaf)
        tree.max_depth = arrays["depth"].max()
        for node in range(tree.node_count):
            if tree.nodes[node].feature < 0:
                clear_evidence(&tree.evidence[node])
                tree._clear_branching(node)
        return tree

    # -- arrays -------------------------------------------------------------------

    cdef int _read(self) except -1:
        if self.lock is not None:
            self.lock.read()
        return 0

    cdef void _leave(self) noexcept:
        if self.lock is not None:
            self.lock.leave()

    cdef dict _still(self):
        # All arrays at one moment; nobody writes to them.
        if self.lock is None:
            return {name: self._show(name) for name in self._arrays}
        self._read()
        try:
            if self.stale:
                self._take_snapshot()
            return self._snapshot
        finally:
            self._leave()

    cdef void _take_snapshot(self) except *:
        # Learning writes to the arrays: what is shown are copies, in which the counts
        # of internal nodes follow from those of the leaves. Few looks come after a
        # split; the others need new counts alone.
        cdef intp_t K = self.n_classes
        cdef intp_t node, above, c
        cdef dict shown
        cdef tuple size = (self.node_count, self.n_admitted)
        if size == self._snapshot_size:
            shown = dict(self._snapshot)
        else:
            shown = {
                name: read_only(array[: self._size(name)].copy())
                for name, array in self._arrays.items()
            }
        counts = self._arrays["counts"][: self.node_count].copy()
        n_rows = self._arrays["n_node_samples"][: self.node_count].copy()
        cdef float64_t[:, ::1] weight = counts
        cdef intp_t[::1] rows = n_rows
        for node in range(self.node_count):
            if self.nodes[node].feature >= 0:
                rows[node] = 0
                for c in range(K):
                    weight[node, c] = 0.0
        for node in range(self.node_count - 1, 0, -1):
            above = self.parent[node]
            rows[above] += rows[node]
            for c in range(K):
                weight[above, c] += weight[node, c]
        shown["counts"] = read_only(counts)
        shown["n_node_samples"] = read_only(n_rows)
        shown["impurity"] = read_only(
            self.criterion.impurities(counts * self.class_weight)
        )
        self._snapshot = shown
        self._snapshot_size = size
        self._value = None
        self.stale = False

    cdef object counts_of_leaves(self):
        # Counts of every node as they stand, up to date at the leaves only.
        return self._arrays["counts"][: self.node_count]

    cdef void add_counts(self, intp_t top, float64_t* counts) noexcept nogil:
        # Add the counts of a node, which are those of the leaves below.
        cdef intp_t node = top
        cdef intp_t c
        while node >= 0:
            if self.nodes[node].feature < 0:
                for c in range(self.n_classes):
                    counts[c] += self.counts[node * self.n_classes + c]
            node = self.next_below(top, node)

    @property
    def n_bytes(self):
        """Bytes of the nodes."""
        return self.bytes_of_nodes()

    cdef intp_t bytes_of_nodes(self) except -1:
        return sum(
            self._size(name) * row_bytes(array)
            for name, array in self._arrays.items()
        )

    def _size(self, name):
        return self.n_ordinals if name == "ordinals" else self.node_count

    def _view(self, name):
        if self.lock is not None:
            return self._still()[name]
        return self._show(name)

    cdef object _show(self, name):
        # Of a tree that is finished.
        shown = self._shown.get(name)
        if shown is None:
            shown = self._shown[name] = read_only(self._arrays[name])
        return shown[: self._size(name)]

    @property
    def feature(self):
        return self._view("nodes")["feature"]

    @property
    def threshold(self):
        nodes = self._view("nodes")
        return read_only(
            np.where(nodes["feature"] < 0, <float64_t> UNDEFINED, nodes["threshold"])
        )

    @property
    def children_left(self):
        shown = self._still()
        return self._binary(shown, shown["nodes"]["left"])

    @property
    def children_right(self):
        shown = self._still()
        return self._binary(shown, shown["nodes"]["left"] + 1)

    cdef object _binary(self, dict shown, object child):
        n_children = shown["branching"]["n_children"]
        child = np.where(n_children == 2, child, UNDEFINED).astype(np.intp)
        child[n_children == 0] = NO_CHILD
        return read_only(child)

    def children(self, node):
        """Children of one node, the first one first.

        Parameters
        ----------
        node : int

        Returns
        -------
        ndarray of shape (n_children,), intp
        """
        cdef intp_t place, left, n
        self._read()
        try:
            place = self._checked_node(node)
            left = self.nodes[place].left
            n = self.branching[place].n_children
        finally:
            self._leave()
        return np.arange(left, left + n, dtype=np.intp)

    def branches(self, node):
        """Child that each category of a nominal test leads to.

        Parameters
        ----------
        node : int

        Returns
        -------
        ndarray of shape (n_codes,), intp, or None
            By code of the category. The node itself where no training row of the
            node had the category: then, and with a code that is not in the array, a
            row stays there. None if the test is not nominal.
        """
        cdef intp_t place, first, left
        self._read()
        try:
            place = self._checked_node(node)
            first = self.branching[place].first
            if first < 0:
                return None
            left = self.nodes[place].left
            ordinal = self._arrays["ordinals"][
                first : first + self.branching[place].n_codes
            ].astype(np.intp)
        finally:
            self._leave()
        return np.where(ordinal < 0, place, left + ordinal)

    def _check_root(self):
        if self.node_count == 0:
            raise ValueError("The tree has no root.")

    def _checked_node(self, node):
        if not 0 <= node < self.node_count:
            raise IndexError(f"node {node} of a tree with {self.node_count} nodes")
        return node

    @property
    def n_children(self):
        return self._view("branching")["n_children"]

    @property
    def is_nominal(self):
        return read_only(self._view("branching")["first"] >= 0)

    @property
    def missing_go_to_left(self):
        branching = self._view("branching")
        numeric = (branching["first"] < 0) & (branching["n_children"] > 0)
        return read_only(numeric & (branching["missing_left"] != 0))

    @property
    def missing_seen(self):
        return read_only(self._view("branching")["missing_seen"] != 0)

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
        return read_only(self._view("counts") @ self.class_weight)

    @property
    def n_leaves(self):
        return int(np.count_nonzero(self.feature < 0))

    @property
    def value(self):
        self._read()
        try:
            if self.stale or self._value is None or len(self._value) != self.node_count:
                self._value = self._proportions(self._still())
            return self._value
        finally:
            self._leave()

    cdef object _proportions(self, dict shown):
        value = shown["counts"] * self.class_weight
        total = value.sum(axis=1, keepdims=True)
        for node in np.flatnonzero(total == 0.0):
            # nothing has come this way: what the parent says, if anything
            value[node] = value[shown["parent"][node]] if node > 0 else 1.0
            total[node] = value[node].sum()
        value /= total
        return read_only(value)

    # -- routing ------------------------------------------------------------------

    def apply(self, const float32_t[:, ::1] X not None, finite=None):
        """Leaf reached by each row, or the node where its category is not known.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float32, C-contiguous
            Codes of the categories in nominal columns; NaN where a numeric value is
            missing.
        finite : bool or None, default=None
            Whether there is no NaN; None if nobody has looked.

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
        self._check_root()
        if n == 0:
            return leaves
        cdef bint plain
        self._read()
        try:
            plain = self.n_ordinals == 0
            if plain:
                plain = finiteness(X) == FINITE if finite is None else finite
            with nogil:
                if plain:
                    route(self.nodes, &X[0, 0], n, self.n_features, &out[0])
                else:
                    route_any(
                        self.nodes, self.branching, self.ordinals, &X[0, 0], n,
                        self.n_features, &out[0],
                    )
        finally:
            self._leave()
        return leaves

    cdef intp_t child(self, intp_t node, const float32_t* row) noexcept nogil:
        return child_of(self.nodes, self.branching, self.ordinals, node, row)

    def path(self, leaves):
        """Indicator of the nodes above, and including, the given ones.

        Parameters
        ----------
        leaves : ndarray of shape (n_rows,), intp

        Returns
        -------
        csr_matrix of shape (n_rows, node_count)
        """
        cdef dict shown = self._still()
        parent = shown["parent"]
        lengths = shown["depth"][leaves].astype(np.int64) + 1
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
            shape=(len(leaves), len(parent)),
        )

    def feature_importances(self):
        """Share of each feature in the decrease of impurity, as in scikit-learn."""
        cdef dict shown = self._still()
        mass = (shown["counts"] @ self.class_weight) * shown["impurity"]
        nodes = shown["nodes"]
        split = np.flatnonzero(nodes["feature"] >= 0)
        decrease = mass.copy()
        np.subtract.at(decrease, shown["parent"][1:], mass[1:])
        importances = np.bincount(
            nodes["feature"][split],
            weights=decrease[split],
            minlength=self.n_features,
        ).astype(np.float64)    # whole numbers if there is no split
        # what EC2 prefers may raise the impurity in all
        importances = np.maximum(importances, 0.0)
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
        cdef dict shown = self._still()
        return (STATE_VERSION, *(shown[name].tobytes() for name in ARRAYS))

    def __setstate__(self, state):
        if self.node_count > 0:
            raise ValueError("A tree that has grown takes no state.")
        arrays = read_arrays(state, self._arrays, self.n_features)
        self.node_count = len(arrays["parent"])
        self.n_ordinals = len(arrays["ordinals"])
        self.max_depth = arrays["depth"].max()
        self._value = None
        self._hold(arrays)
