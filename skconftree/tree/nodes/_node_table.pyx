"""Nodes of a tree: arrays of its structure, its class counts and the evidence for its splits.

A tree is growing while it is trained row by row, under the lock of its owner; it is
finished if `fit` has grown it. A snapshot has the arrays of a tree at one moment, and
values computed from them. Evidence is what a split rule stored about a split; ByChance
is the part that all split rules share: how many candidate splits are expected to look
as good by chance. Costs are estimates by which growth with look-ahead chose a split,
competitors the best splits on other features, stops the reasons why nodes are leaves. A
removed node keeps its id, but has no parent. With shrinkage, class probabilities are shrunk
toward those of the ancestors. A state is the data in a pickle. See _node_table.pxd.
"""

import numpy as np
from copy import copy
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.string cimport memcpy

from skconftree.bounds._contract cimport clear_evidence
from skconftree.tree._settings cimport MAX_STORED_COMPETITORS, PRUNED
from skconftree.tree.nodes._derived import (
    children_left,
    children_right,
    costs_of_nodes,
    evidence_of_nodes,
    leaf_reasons,
    paths,
    proportions_of_leaves,
    pruned_stops,
    competitors_of_nodes,
    reasons_of_growing_leaves,
    shrunk,
    unpickled,
    weights,
)
from skconftree.tree.nodes._shrinkage cimport fill_shrunk
from skconftree.tree.nodes._state import (
    COSTS,
    COSTS_DTYPE,
    EVIDENCE_DTYPE,
    NODE_ARRAYS,
    OF_SPLITS,
    COMPETITORS,
    COMPETITOR_DTYPE,
    STATE_VERSION,
    STOP_DTYPE,
    STOPS,
    VALUES,
    BY_CHANCE_DTYPE,
    check_nodes,
    check_size,
    checked_class_weight,
    checked_shrinkage,
    read_arrays,
)
from skconftree.utils._codec import corrupt_state, own_version
from skconftree.utils._guard cimport leave_guard, take_guard
from skconftree.utils._memory import read_only


def structure_of(int32_t[::1] parent not None):
    """Return `depth`, `first_child` (-1 at a leaf) and `n_children` for parent ids.

    None unless the parents define a tree whose siblings are adjacent and whose splits
    have at least two children. A removed node has no parent and no depth.
    """
    cdef intp_t n = parent.shape[0]
    depths = np.zeros(n, dtype=np.int32)
    firsts = np.full(n, -1, dtype=np.int32)
    numbers = np.zeros(n, dtype=np.int32)
    cdef int32_t[::1] depth = depths
    cdef int32_t[::1] first_child = firsts
    cdef int32_t[::1] n_children = numbers
    cdef intp_t node, above
    if n == 0 or n > 2147483647 or parent[0] != -1:
        return None
    for node in range(1, n):
        above = parent[node]
        if above == REMOVED:
            continue
        if not 0 <= above < node or parent[above] == REMOVED:
            return None
        if n_children[above] == 0:
            first_child[above] = <int32_t> node
        elif parent[node - 1] != above:
            return None
        n_children[above] += 1
        depth[node] = depth[above] + 1
    for node in range(n):
        if n_children[node] == 1:
            return None
    return {"depth": depths, "first_child": firsts, "n_children": numbers}


def retained_nodes(
    const int32_t[::1] first_child not None, const int32_t[::1] n_children not None,
    const uint8_t[::1] is_leaf not None,
):
    """Return the nodes of a pruned tree: ascending ids, and indices of their parents.

    The index of the root's parent is -1.
    """
    cdef intp_t n = n_children.shape[0]
    parent = np.full(n, -1, dtype=np.int32)
    retained = np.empty(n, dtype=np.intp)
    cdef int32_t[::1] above = parent    # by id at first, then by index
    cdef intp_t[::1] ids = retained
    cdef intp_t n_retained = 0
    cdef intp_t node, child
    for node in range(n):
        if node > 0 and above[node] < 0:
            continue
        if not is_leaf[node]:
            for child in range(first_child[node], first_child[node] + n_children[node]):
                above[child] = <int32_t> n_retained
        above[n_retained] = above[node]
        ids[n_retained] = node
        n_retained += 1
    return retained[:n_retained].copy(), parent[:n_retained].copy()


def sum_leaves(
    const int32_t[::1] parent not None, const int32_t[::1] n_children not None,
    float64_t[:, ::1] counts not None, intp_t[::1] n_rows not None,
):
    """Set the counts of internal nodes to the sums over their leaves, in place."""
    cdef intp_t node, above, c
    for node in range(parent.shape[0]):
        if n_children[node] > 0:
            n_rows[node] = 0
            for c in range(counts.shape[1]):
                counts[node, c] = 0.0
    for node in range(parent.shape[0] - 1, 0, -1):
        above = parent[node]
        if above == REMOVED:
            continue
        n_rows[above] += n_rows[node]
        for c in range(counts.shape[1]):
            counts[above, c] += counts[node, c]


def proportions(
    const float64_t[:, ::1] counts not None, const float64_t[::1] class_weight not None,
    const int32_t[::1] parent not None,
):
    """Class proportions of all nodes.

    A node without rows has those of its nearest ancestor that has rows.
    """
    cdef intp_t n = counts.shape[0], K = counts.shape[1]
    cdef intp_t node, above, c
    cdef float64_t total
    values = np.empty((n, K))
    cdef float64_t[:, ::1] value = values
    with nogil:
        for node in range(n):
            total = 0.0
            for c in range(K):
                value[node, c] = counts[node, c] * class_weight[c]
                total += value[node, c]
            above = max(parent[node], 0)    # parents have smaller ids
            for c in range(K):
                if total != 0.0:
                    value[node, c] /= total
                else:
                    value[node, c] = value[above, c] if node > 0 else 1.0 / <float64_t> K
    return values


cdef class Snapshot:
    """Arrays of a tree, and values computed from them."""

    def __cinit__(self):
        self.arrays = {}
        self.structural = {}
        self.counted = {}

    cdef object array(self, str name):
        # An array to return, read-only from now on.
        array = _array_of(self, name)
        if array.flags.writeable:
            array = self.arrays[name] = read_only(array)
        return array

    cdef dict all_arrays(self):
        # For internal use; they may be the tree's own arrays.
        _array_of(self, "impurity")
        return self.arrays

    cdef object of_structure(self, object make):
        # Result of a function of the arrays other than counts.
        result = self.structural.get(make)
        if result is None:
            result = self.structural[make] = read_only(make(self.arrays))
        return result

    cdef object of_counts(self, object make):
        # Result of a function of counts, `class_weight` and parents.
        result = self.counted.get(make)
        if result is None:
            result = self.counted[make] = read_only(
                make(self.arrays["counts"], self.class_weight, self.arrays["parent"])
            )
        return result

    cdef object values(self):
        # Predicted class probabilities of the nodes: stored values, or class proportions,
        # shrunk if the tree has shrinkage.
        if VALUES in self.arrays:
            return self.array(VALUES)
        if self.shrinkage == 0.0:
            return self.of_counts(proportions)
        result = self.counted.get("values")
        if result is None:
            result = read_only(
                shrunk(
                    self.of_counts(proportions), self.arrays["counts"].sum(axis=1),
                    self.arrays["parent"], self.arrays["depth"], self.shrinkage,
                )
            )
            self.counted["values"] = result
        return result


cdef object _array_of(Snapshot snapshot, str name):
    array = snapshot.arrays.get(name)
    if array is None:   # the impurity of a growing tree
        array = snapshot.arrays[name] = snapshot.criterion.impurities(
            snapshot.arrays["counts"] * snapshot.class_weight
        )
    return array


cdef enum:
    INITIAL_CAPACITY = 64     # nodes; a larger one would slow down many small trees

ADDRESSED = (   # arrays with a pointer, in the order of the pointers
    "parent", "depth", "first_child", "n_children", "n_node_samples", "counts",
    "impurity", "evidence", COSTS, COMPETITORS, STOPS,
)
OF_ROWS = ("counts", "n_node_samples", "impurity")  # arrays that change with every row


cdef void* address_of(array) except? NULL:
    # Address of the values, from the buffer: `array.ctypes` is Python code, in which a
    # signal handler may raise, and a growing tree calls this in the middle of a row.
    cdef Py_buffer buffer
    cdef void* address
    PyObject_GetBuffer(array, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)
    address = buffer.buf
    PyBuffer_Release(&buffer)
    return address


cdef object resized(array, tuple shape, dtype, intp_t n_used):
    # A new array: the first `n_used` elements of `array`, then zeros. NumPy would copy
    # structured arrays field by field, which slows down small trees.
    cdef Py_ssize_t n = shape[0]
    new = (np.empty if n_used == n else np.zeros)(shape, dtype=dtype)
    if n_used > 0:
        memcpy(address_of(new), address_of(array), n_used * (<Py_ssize_t> new.nbytes // n))
    return new


cdef class NodeArrays:
    """Read access to the arrays of a tree's nodes; its subclass `NodeTable` writes them."""

    def __cinit__(
        self, n_features, n_classes, class_weight=None, keep_evidence=True,
        shrinkage=0.0, keep_costs=False, keep_competitors=False, keep_stops=False,
        keep_values=False,
    ):
        check_size(n_features, n_classes)
        self.shrinkage = checked_shrinkage(shrinkage)
        self.n_features = n_features
        self.n_classes = n_classes
        self.class_weight = read_only(checked_class_weight(class_weight, n_classes))
        self.keeps_evidence = keep_evidence
        self.keeps_costs = keep_costs
        self.keeps_competitors = keep_competitors
        self.keeps_stops = keep_stops
        self.keeps_values = keep_values
        self._arrays = {}
        self.reserve(INITIAL_CAPACITY)

    cdef dict _shapes(self, intp_t capacity):
        # A split has two children or more.
        shapes = {
            "parent": ((capacity,), np.int32),
            "depth": ((capacity,), np.int32),
            "first_child": ((capacity,), np.int32),
            "n_children": ((capacity,), np.int32),
            "n_node_samples": ((capacity,), np.intp),
            "counts": ((capacity, self.n_classes), np.float64),
            "impurity": ((capacity,), np.float64),
            "evidence": (
                (capacity // 2,), EVIDENCE_DTYPE if self.keeps_evidence else BY_CHANCE_DTYPE
            ),
        }
        if self.keeps_costs:
            shapes[COSTS] = ((capacity // 2,), COSTS_DTYPE)
        if self.keeps_competitors:
            shapes[COMPETITORS] = ((capacity // 2, MAX_STORED_COMPETITORS), COMPETITOR_DTYPE)
        if self.keeps_stops:
            shapes[STOPS] = ((capacity,), STOP_DTYPE)
        if self.keeps_values:
            shapes[VALUES] = ((capacity, self.n_classes), np.float64)
        return shapes

    cdef tuple _names(self):
        # Names of the arrays in a state.
        cdef tuple names = NODE_ARRAYS
        if self.keeps_costs:
            names += (COSTS,)
        if self.keeps_competitors:
            names += (COMPETITORS,)
        if self.keeps_stops:
            names += (STOPS,)
        return (*names, VALUES) if self.keeps_values else names

    cdef intp_t _size(self, str name) except -1:
        # The number of used elements of an array.
        if name in OF_SPLITS:
            return self.n_splits()
        return self.node_count

    cdef dict _enlarged(self, intp_t capacity):
        cdef dict arrays = dict(self._arrays)
        for name, (shape, dtype) in self._shapes(capacity).items():
            if name in arrays and arrays[name].shape == shape:
                continue
            array = arrays.get(name)
            n_used = 0 if array is None else self._size(name)
            arrays[name] = resized(array, shape, dtype, n_used)
        return arrays

    cdef void reserve(self, intp_t capacity) except *:
        # Allocate at least `capacity` nodes, and at least double the capacity.
        if capacity <= self.capacity:
            return
        capacity = max(capacity, 2 * self.capacity)
        if capacity > 2147483647:
            raise ValueError("The tree has too many nodes: at most 2147483647.")
        self._set_arrays(self._enlarged(capacity))

    cdef void shrink_to_fit(self) except *:
        # Release the extra capacity of a finished tree.
        arrays = {}
        for name, array in self._arrays.items():
            size = self._size(name)
            if len(array) > size:
                array = resized(array, (size, *array.shape[1:]), array.dtype, size)
            arrays[name] = array
        self._set_arrays(arrays)
        self._store_snapshot(None)

    cdef object _set_arrays(self, dict arrays):
        # Own these arrays and set the pointers; if this fails, nothing changes.
        cdef void* address[11]
        cdef intp_t i
        for i, name in enumerate(ADDRESSED):
            address[i] = address_of(arrays[name]) if name in arrays else NULL
        self._arrays = arrays
        self.capacity = len(arrays["parent"])
        self.parent = <int32_t*> address[0]
        self.depth = <int32_t*> address[1]
        self.first_child = <int32_t*> address[2]
        self.n_children = <int32_t*> address[3]
        self.n_node_samples = <intp_t*> address[4]
        self.counts = <float64_t*> address[5]
        self.impurity = <float64_t*> address[6]
        self.evidence = <SplitEvidence*> (address[7] if self.keeps_evidence else NULL)
        self.by_chance = <ByChance*> (NULL if self.keeps_evidence else address[7])
        self.costs = <TrialCosts*> address[8]
        self.competitors = <Competitor*> address[9]
        self.stops = <Stop*> address[10]

    @property
    def n_bytes(self):
        """Bytes of the nodes, without extra capacity."""
        return self.bytes_of_nodes()

    cdef intp_t node_bytes(self) noexcept nogil:
        # Bytes of a node, without its split.
        return (
            4 * sizeof(int32_t) + sizeof(intp_t)
            + (self.n_classes * (1 + self.keeps_values) + 1) * sizeof(float64_t)
            + self.keeps_stops * sizeof(Stop)
        )

    cdef intp_t split_bytes(self) noexcept nogil:
        # Additional bytes of a node that has split.
        return (
            (sizeof(SplitEvidence) if self.keeps_evidence else sizeof(ByChance))
            + self.keeps_costs * sizeof(TrialCosts)
            + self.keeps_competitors * MAX_STORED_COMPETITORS * sizeof(Competitor)
        )

    cdef intp_t bytes_of_nodes(self) noexcept nogil:
        return (self.node_count * self.node_bytes() + self.n_splits() * self.split_bytes())

    cdef int _read(self) except -1:
        if self.lock is not None:
            self.lock.read()
        return 0

    cdef void _leave(self) noexcept:
        if self.lock is not None:
            self.lock.leave()

    cdef Snapshot _snapshot(self):
        # The latest snapshot, or a new one if the tree has changed since.
        cdef Snapshot snapshot
        self._read()
        try:
            snapshot = self._last_snapshot()
            if not _is_fresh(self, snapshot):
                snapshot = self._take_snapshot(snapshot)
                self._store_snapshot(snapshot)
            return snapshot
        finally:
            self._leave()

    cdef Snapshot _last_snapshot(self):
        # Under the mutex `guard`, because several readers may replace `_stored` at once.
        cdef Snapshot snapshot
        take_guard(&self.guard)
        snapshot = self._stored
        leave_guard(&self.guard)
        return snapshot

    cdef void _store_snapshot(self, Snapshot snapshot) noexcept:
        cdef Snapshot _old      # the replaced one: deallocated after the guard is released
        take_guard(&self.guard)
        _old = self._stored
        self._stored = snapshot
        leave_guard(&self.guard)

    cdef Snapshot _take_snapshot(self, Snapshot old):
        cdef Snapshot new = Snapshot()
        new.version = self.version
        new.node_count = self.node_count
        new.n_edits = self.n_edits
        new.class_weight = self.class_weight
        new.shrinkage = self.shrinkage
        if self.lock is None:
            for name, array in self._arrays.items():
                size = self._size(name)
                new.arrays[name] = array if len(array) == size else array[:size]
        else:
            _copy_to(self, new, old)
        return new

    cdef object counts_of_leaves(self):
        # A view of the counts, not a copy; in a growing tree they are valid at leaves only.
        return self._arrays["counts"][: self.node_count]

    def leaf_mask(self):
        """Mask of the nodes that are leaves: neither splits nor removed nodes."""
        self._read()
        try:
            n_children = self._arrays["n_children"][: self.node_count]
            return (n_children == 0) & (self._arrays["parent"][: self.node_count] != REMOVED)
        finally:
            self._leave()

    def leaf_counts(self):
        """`counts` of the leaves; 0 at internal nodes, whose sums are not computed."""
        self._read()
        try:
            counts = self.counts_of_leaves().copy()
            counts[self._arrays["n_children"][: self.node_count] > 0] = 0.0
        finally:
            self._leave()
        return counts

    cdef void add_counts(self, intp_t top, float64_t* counts) noexcept nogil:
        # Add the counts of a node, summed over its leaves.
        cdef intp_t node = top
        cdef intp_t c
        while node >= 0:    # next_below: in preorder, -1 after the last node below `top`
            if self.n_children[node] == 0:
                for c in range(self.n_classes):
                    counts[c] += self.counts[node * self.n_classes + c]
            node = self.next_below(top, node)

    def _rows_of_root(self):
        # `n_node_samples[0]` of a finished tree, without a snapshot.
        self._check_root()
        return int(self._arrays["n_node_samples"][0])

    def _check_root(self):
        if self.node_count == 0:
            raise ValueError("The tree has no root.")

    def _checked_node(self, node):
        if not 0 <= node < self.node_count:
            raise IndexError(f"node must be between 0 and {self.node_count - 1}, got {node}.")
        return node

    def children(self, node):
        """Ids of the children of a node, in order."""
        cdef intp_t first, n
        self._read()
        try:
            first = self.first_child[<intp_t> self._checked_node(node)]
            n = self.n_children[<intp_t> node]
        finally:
            self._leave()
        return np.arange(first, first + n, dtype=np.intp)

    @property
    def children_left(self):
        return self._snapshot().of_structure(children_left)

    @property
    def children_right(self):
        return self._snapshot().of_structure(children_right)

    @property
    def n_children(self):
        return self._snapshot().array("n_children")

    @property
    def parent(self):
        return self._snapshot().array("parent")

    @property
    def depth(self):
        return self._snapshot().array("depth")

    @property
    def counts(self):
        return self._snapshot().array("counts")

    @property
    def impurity(self):
        return self._snapshot().array("impurity")

    @property
    def n_node_samples(self):
        return self._snapshot().array("n_node_samples")

    @property
    def weighted_n_node_samples(self):
        return self._snapshot().of_counts(weights)

    @property
    def evidence(self):
        return self._snapshot().of_structure(evidence_of_nodes)

    @property
    def trial_costs(self):
        return self._snapshot().of_structure(costs_of_nodes) if self.keeps_costs else None

    @property
    def competitors(self):
        if not self.keeps_competitors:
            return None
        return self._snapshot().of_structure(competitors_of_nodes)

    @property
    def stops(self):
        return self._snapshot().array(STOPS) if self.keeps_stops else None

    @property
    def leaf_reason(self):
        cdef Snapshot snapshot = self._snapshot()
        if self.lock is None:
            return snapshot.of_structure(leaf_reasons) if self.keeps_stops else None
        reasons = snapshot.counted.get("reasons")
        if reasons is None:
            reasons = read_only(reasons_of_growing_leaves(snapshot.arrays, self.depth_limit))
            snapshot.counted["reasons"] = reasons
        return reasons

    @property
    def proba(self):
        return self._snapshot().values()

    @property
    def raw_proba(self):
        return self._snapshot().of_counts(proportions)

    @property
    def value(self):
        cdef Snapshot snapshot = self._snapshot()
        value = snapshot.counted.get("value")
        if value is None:
            value = snapshot.counted["value"] = snapshot.values()[:, np.newaxis]
        return value

    @property
    def max_n_classes(self):
        return self.n_classes

    def __getattr__(self, name):
        # Called for missing attributes: the C attribute `n_classes` is not visible in Python.
        if name == "n_classes":
            return np.array([self.n_classes], dtype=np.intp)
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    cdef int fill_value(self, intp_t node, float64_t* out) except -1:
        # A row of `proba`; the caller holds the write lock.
        cdef const float64_t[:, ::1] value
        cdef const float64_t[::1] class_weight = self.class_weight
        cdef intp_t c
        if self.shrinkage > 0.0 and not self.keeps_values:
            fill_shrunk(
                self.counts, self.n_classes, self.parent, self.depth, self.shrinkage,
                &class_weight[0], node, out,
            )
            return 0
        value = self._take_snapshot(self._last_snapshot()).values()
        for c in range(self.n_classes):
            out[c] = value[node, c]
        return 0

    def proba_of(self, nodes):
        """Rows of `proba`; for a small number of leaves without a snapshot."""
        value = _values_of_leaves(self, nodes)
        return self.proba.take(nodes, axis=0) if value is None else value

    def best_of(self, nodes):
        """Most probable class of nodes, the first in case of ties; see `proba_of`."""
        cdef Snapshot snapshot
        value = _values_of_leaves(self, nodes)
        if value is not None:
            return value.argmax(axis=1)
        snapshot = self._snapshot()
        best = snapshot.counted.get("best")
        if best is None:
            best = snapshot.values().argmax(axis=1)
            snapshot.counted["best"] = best
        return best.take(nodes)

    def _shrunk_rows(self, const intp_t[::1] nodes):
        # Rows of `proba`, computed along the paths; the caller holds the read lock.
        cdef const float64_t[::1] class_weight = self.class_weight
        cdef intp_t i
        value = np.empty((nodes.shape[0], self.n_classes))
        cdef float64_t[:, ::1] out = value
        for i in range(nodes.shape[0]):
            fill_shrunk(
                self.counts, self.n_classes, self.parent, self.depth, self.shrinkage,
                &class_weight[0], self._checked_node(nodes[i]), &out[i, 0],
            )
        return value

    def path(self, leaves):
        """CSR indicator of the nodes on the paths from the root to `leaves`."""
        cdef Snapshot snapshot = self._snapshot()
        return paths(snapshot.arrays["parent"], snapshot.arrays["depth"], leaves)


cdef bint _is_fresh(NodeArrays tree, Snapshot snapshot) noexcept:
    # `version` increases with every row, `n_edits` with every change of an existing
    # split.
    return (
        snapshot is not None
        and snapshot.version == tree.version
        and snapshot.node_count == tree.node_count
        and snapshot.n_edits == tree.n_edits
    )


cdef object _copy_to(NodeArrays tree, Snapshot new, Snapshot old):
    # Copy the arrays of a growing tree to a snapshot. Counts of internal nodes are summed over
    # the leaves, unless the tree updates them with every row, because it has shrinkage. The
    # structure is copied only after a split; otherwise, it is shared with the old snapshot.
    if (old is not None and old.node_count == tree.node_count and old.n_edits == tree.n_edits):
        new.structural = old.structural
        new.arrays = dict(old.arrays)
    else:
        for name, array in tree._arrays.items():
            if name not in OF_ROWS:
                new.arrays[name] = array[: tree._size(name)].copy()
    counts = tree._arrays["counts"][: tree.node_count].copy()
    n_rows = tree._arrays["n_node_samples"][: tree.node_count].copy()
    current = counts.copy() if tree.shrinkage > 0.0 else counts
    sum_leaves(new.arrays["parent"], new.arrays["n_children"], counts, n_rows)
    new.arrays["counts"] = current
    new.arrays["n_node_samples"] = n_rows
    new.arrays["impurity"] = None   # computed on first access
    new.criterion = tree.criterion


cdef object _values_of_leaves(NodeArrays tree, object nodes):
    # `proba` of nodes, without a new snapshot. None if a snapshot is needed or up to date.
    cdef Snapshot snapshot
    if tree.lock is None or len(nodes) >= tree.node_count:
        return None
    tree._read()
    try:
        snapshot = tree._last_snapshot()
        if _is_fresh(tree, snapshot):
            return None
        if tree.shrinkage > 0.0:
            return tree._shrunk_rows(np.asarray(nodes, dtype=np.intp))
        if tree._arrays["n_children"].take(nodes).any():
            return None
        counts = tree._arrays["counts"].take(nodes, axis=0)
    finally:
        tree._leave()
    return proportions_of_leaves(counts, tree.class_weight)


cdef TrialCosts NO_COSTS = TrialCosts(NAN, NAN, -2)     # -2: no feature


cdef class NodeTable(NodeArrays):
    """Nodes of a tree, without the splits that route rows.

    `Tree` adds splits on single features. Other kinds of tree add other splits and use
    the structure, counts, evidence, ids and state of this class.

    A split may store evidence, 88 bytes (24 bytes for `ByChance` without a split rule),
    the costs of look-ahead, 24 bytes (`keep_costs`), and competing splits, 40 bytes
    each (`keep_competitors`). A node may store why it is a leaf, 24 bytes
    (`keep_stops`).
    """

    def _add_root(self):
        """Add a root without rows."""
        if self.node_count > 0:
            raise ValueError("The tree already has a root.")
        cdef float64_t[::1] counts = np.zeros(self.n_classes)
        self.add_leaf(-1, &counts[0], 0, 0.0)

    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil:
        # The caller has reserved capacity, and adds all children of a node one after another.
        cdef intp_t node = self.node_count
        cdef intp_t c
        self.parent[node] = <int32_t> parent
        self.depth[node] = 0
        self.first_child[node] = -1
        self.n_children[node] = 0
        self.n_leaves += 1
        if parent >= 0:
            self.depth[node] = self.depth[parent] + 1
            if self.n_children[parent] == 0:
                self.first_child[parent] = <int32_t> node
                self.n_leaves -= 1
                if self.stops != NULL:
                    self.stops[parent] = no_stop()
            self.n_children[parent] += 1
        self.n_node_samples[node] = n_rows
        self.impurity[node] = impurity
        if self.stops != NULL:
            self.stops[node] = no_stop()
        for c in range(self.n_classes):
            self.counts[node * self.n_classes + c] = counts[c]
        if self.depth[node] > self.max_depth:
            self.max_depth = self.depth[node]
        self.node_count += 1
        return node

    cdef void store_evidence(self, const SplitEvidence* evidence) noexcept nogil:
        # Store the evidence of the split whose children are added next.
        cdef intp_t split = self.n_splits()
        cdef intp_t i
        if self.evidence != NULL:
            self.evidence[split] = evidence[0]
        else:
            self.by_chance[split] = evidence.by_chance
        if self.costs != NULL:
            self.costs[split] = NO_COSTS
        if self.competitors != NULL:
            for i in range(MAX_STORED_COMPETITORS):
                self.competitors[split * MAX_STORED_COMPETITORS + i] = no_competitor()

    cdef void clear(self) noexcept nogil:
        # Remove all nodes, but keep the capacity.
        self.node_count = 0
        self.n_leaves = 0
        self.n_removed = 0
        self.max_depth = 0

    cdef void start_growth(self, object criterion, ModelLock lock, intp_t depth_limit) except *:
        # Let the owner of the lock grow the tree row by row. Impurities are computed by
        # a new criterion, so that growth can use its own at the same time.
        make, arguments = criterion.__reduce__()
        self.criterion = make(*arguments)
        self.lock = lock
        self.depth_limit = depth_limit
        self._store_snapshot(None)

    def _pruned(self, keep_as_leaf, reason=PRUNED):
        """Copy the tree with the internal nodes of a mask turned into leaves.

        Their descendants are removed. The other nodes keep their order, and the splits
        their evidence. True at a leaf has no effect; new leaves get the `reason`.
        """
        self._check_root()
        # internal nodes of a growing tree have no counts; a copy of it is finished
        if self.lock is not None:
            return copy(self)._pruned(keep_as_leaf, reason)
        cdef intp_t n = self.node_count
        leaf = np.array(keep_as_leaf, dtype=np.bool_)
        if leaf.shape != (n,):
            raise ValueError(f"keep_as_leaf must have shape ({n},), got {leaf.shape}.")
        ids, parents = retained_nodes(
            self._arrays["first_child"][:n], self._arrays["n_children"][:n], leaf.view(np.uint8),
        )
        cdef const intp_t[::1] retained = ids
        cdef const int32_t[::1] parent = parents
        cdef NodeTable tree = type(self)(
            self.n_features, self.n_classes, self.class_weight, self.keeps_evidence,
            self.shrinkage, self.keeps_costs, self.keeps_competitors, self.keeps_stops,
            self.keeps_values,
        )
        cdef intp_t split = -1      # whose children were visited last
        cdef intp_t seen = 0
        cdef intp_t index, node
        tree.reserve(retained.shape[0])
        with nogil:
            for index in range(retained.shape[0]):
                node = retained[index]
                # The parent of a node may have been replaced, but siblings always have
                # the same parent, and are adjacent.
                while seen < node:
                    seen += 1
                    split += (
                        self.parent[seen] != REMOVED
                        and self.parent[seen] != self.parent[seen - 1]
                    )
                if index > 0 and tree.n_children[parent[index]] == 0:
                    self._copy_evidence(tree, split)
                tree.add_leaf(
                    parent[index], self.counts + node * self.n_classes,
                    self.n_node_samples[node], self.impurity[node],
                )
        self._copy_splits(tree, retained)
        tree.shrink_to_fit()
        if self.keeps_stops:
            tree._arrays[STOPS][:] = pruned_stops(self._arrays, n, ids, leaf, reason)
        if self.keeps_values:
            tree._arrays[VALUES][:] = self._arrays[VALUES][ids]
        return tree

    cdef void _copy_evidence(self, NodeTable tree, intp_t split) noexcept nogil:
        # Copy the evidence to the split of another tree whose children are added next.
        cdef SplitEvidence evidence
        cdef intp_t copied = tree.n_splits()
        clear_evidence(&evidence)
        if self.evidence != NULL:
            evidence = self.evidence[split]
        else:
            evidence.by_chance = self.by_chance[split]
        tree.store_evidence(&evidence)
        if self.costs != NULL:
            tree.costs[copied] = self.costs[split]
        if self.competitors != NULL:
            memcpy(
                tree.competitors + copied * MAX_STORED_COMPETITORS,
                self.competitors + split * MAX_STORED_COMPETITORS,
                MAX_STORED_COMPETITORS * sizeof(Competitor),
            )

    cdef void _copy_splits(self, NodeTable pruned, const intp_t[::1] retained) except *:
        # Copy the splits of the retained nodes to a pruned tree.
        return

    def _shrunk_by(self, shrinkage):
        """Shrink `proba` toward that of the parents, see `shrunk`; counts are unchanged.

        The caller holds the write lock or owns the tree. With 0, `proba` is `raw_proba`.
        """
        self.shrinkage = checked_shrinkage(shrinkage)
        self._store_snapshot(None)

    def _set_values(self, values):
        """Predict these class probabilities of the nodes, or None: those from counts.

        The caller owns the tree.
        """
        cdef dict arrays = dict(self._arrays)
        arrays.pop(VALUES, None)
        if values is not None:
            arrays[VALUES] = np.array(values)
        self._set_arrays(arrays)
        self.keeps_values = values is not None
        self._store_snapshot(None)

    # A state has only bytes and numbers, so that equal states give equal pickles: pickles
    # also depend on which objects are identical.

    def __reduce__(self):
        return type(self), self._arguments(), self.__getstate__()

    def __reduce_ex__(self, protocol):
        # for pickles of a tree alone, which name the version that wrote them
        return unpickled, (own_version(), *self.__reduce__())

    def _arguments(self):
        # Arguments to create a table with the same arrays. The last options are left out if they
        # are False; the first two only together.
        arguments = (
            self.n_features, self.n_classes, tuple(self.class_weight.tolist()),
            bool(self.keeps_evidence), self.shrinkage,
        )
        options = (self.keeps_costs, self.keeps_competitors, self.keeps_stops, self.keeps_values)
        n = 4 if options[3] else 3 if options[2] else 2 if options[0] or options[1] else 0
        return arguments + tuple(map(bool, options[:n]))

    def __getstate__(self):
        cdef dict snapshot = self._snapshot().all_arrays()
        return (STATE_VERSION, *[snapshot[name].tobytes() for name in self._names()])

    def __setstate__(self, state):
        if self.node_count > 0:
            raise ValueError("A state can only be set on an empty tree.")
        cdef dict arrays = read_arrays(state, self._names(), self._arrays)
        structure = structure_of(arrays["parent"])
        if structure is None:
            raise corrupt_state("tree", "its nodes")
        arrays.update(structure)
        self._check(arrays)
        self._use_arrays(arrays)

    cdef object _check(self, dict arrays):
        # Raise ValueError unless the arrays are valid.
        check_nodes(arrays, self.n_features)

    cdef object _use_arrays(self, dict arrays):
        # Use these arrays, whose structure was computed.
        self._set_arrays(arrays)
        self.node_count = len(arrays["parent"])
        self.n_removed = np.count_nonzero(arrays["parent"] == REMOVED)
        self.n_leaves = (self.node_count - self.n_removed - np.count_nonzero(arrays["n_children"]))
        self.max_depth = arrays["depth"].max()
        self._store_snapshot(None)
