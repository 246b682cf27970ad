"""The nodes of a tree: structure, counts and evidence in arrays."""

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
    proportions,
    proportions_of_leaves,
    pruned_stops,
    competitors_of_nodes,
    reasons_of_growing_leaves,
    shrunk,
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
    BY_CHANCE_DTYPE,
    check_nodes,
    check_size,
    checked_class_weight,
    checked_shrinkage,
    read_arrays,
)
from skconftree.utils._codec import damaged
from skconftree.utils._guard cimport leave_guard, take_guard
from skconftree.utils._memory import read_only


def structure_of(int32_t[::1] parent not None):
    """Arrays `depth`, `first_child` (-1 at a leaf) and `n_children`, from the parents.

    None unless the parents are those of a tree, in which siblings follow each other and
    a split has two children or more. A dead row has no parent, and no depth.
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
        if above == DEAD:
            continue
        if not 0 <= above < node or parent[above] == DEAD:
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


def survivors(
    const int32_t[::1] first_child not None, const int32_t[::1] n_children not None,
    const uint8_t[::1] is_leaf not None,
):
    """Nodes left when some become leaves: ascending ids, and places of their parents.

    The place of the root's parent is -1.
    """
    cdef intp_t n = n_children.shape[0]
    parent = np.full(n, -1, dtype=np.int32)
    kept = np.empty(n, dtype=np.intp)
    cdef int32_t[::1] above = parent    # by id; afterwards by place
    cdef intp_t[::1] left = kept
    cdef intp_t n_left = 0
    cdef intp_t node, child
    for node in range(n):
        if node > 0 and above[node] < 0:
            continue
        if not is_leaf[node]:
            for child in range(first_child[node], first_child[node] + n_children[node]):
                above[child] = <int32_t> n_left
        above[n_left] = above[node]
        left[n_left] = node
        n_left += 1
    return kept[:n_left].copy(), parent[:n_left].copy()


def sum_up(
    const int32_t[::1] parent not None, const int32_t[::1] n_children not None,
    float64_t[:, ::1] counts not None, intp_t[::1] n_rows not None,
):
    """Make the counts of internal nodes those of the leaves below, in place."""
    cdef intp_t node, above, c
    for node in range(parent.shape[0]):
        if n_children[node] > 0:
            n_rows[node] = 0
            for c in range(counts.shape[1]):
                counts[node, c] = 0.0
    for node in range(parent.shape[0] - 1, 0, -1):
        above = parent[node]
        if above == DEAD:
            continue
        n_rows[above] += n_rows[node]
        for c in range(counts.shape[1]):
            counts[above, c] += counts[node, c]


cdef class Snapshot:
    """The arrays of a tree, and what was built from them."""

    def __cinit__(self):
        self.arrays = {}
        self.structural = {}
        self.counted = {}

    cdef object array(self, str name):
        # To be handed out, from when on nobody can write to it.
        found = _found(self, name)
        if found.flags.writeable:
            found = self.arrays[name] = read_only(found)
        return found

    cdef dict all_arrays(self):
        # To be read here; they may be the tree's own.
        _found(self, "impurity")
        return self.arrays

    cdef object of_structure(self, object make):
        # What a function makes of the arrays, but for those of counts.
        found = self.structural.get(make)
        if found is None:
            found = self.structural[make] = read_only(make(self.arrays))
        return found

    cdef object of_counts(self, object make):
        # What a function makes of counts, `class_weight` and parents.
        found = self.counted.get(make)
        if found is None:
            found = self.counted[make] = read_only(
                make(self.arrays["counts"], self.class_weight, self.arrays["parent"])
            )
        return found

    cdef object values(self):
        # What the nodes predict: their proportions, shrunk if the tree does that.
        if self.shrinkage == 0.0:
            return self.of_counts(proportions)
        found = self.counted.get("values")
        if found is None:
            found = read_only(
                shrunk(
                    self.of_counts(proportions), self.arrays["counts"].sum(axis=1),
                    self.arrays["parent"], self.arrays["depth"], self.shrinkage,
                )
            )
            self.counted["values"] = found
        return found


cdef object _found(Snapshot self, str name):
    found = self.arrays.get(name)
    if found is None:   # the impurity of a tree that grows
        found = self.arrays[name] = self.criterion.impurities(
            self.arrays["counts"] * self.class_weight
        )
    return found


cdef enum:
    INITIAL_CAPACITY = 64     # nodes; more room costs many small arrays at a time

HELD = (    # in the order in which they are pointed at
    "parent", "depth", "first_child", "n_children", "n_node_samples", "counts",
    "impurity", "evidence", COSTS, COMPETITORS, STOPS,
)
OF_ROWS = ("counts", "n_node_samples", "impurity")  # arrays that every row changes


cdef void* address_of(array) except? NULL:
    # Of its values. By the buffer, as `array.ctypes` is written in Python, where a
    # signal handler may run and raise: a tree that grows asks in the middle of a row.
    cdef Py_buffer buffer
    cdef void* address
    PyObject_GetBuffer(array, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)
    address = buffer.buf
    PyBuffer_Release(&buffer)
    return address


cdef class NodeArrays:
    """The arrays of a tree's nodes, to be looked at; a `NodeTable` writes to them."""

    def __cinit__(
        self, n_features, n_classes, class_weight=None, keep_evidence=True,
        shrinkage=0.0, keep_costs=False, keep_competitors=False, keep_stops=False,
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
        return shapes

    cdef tuple _names(self):
        # Of the arrays in a state.
        cdef tuple names = NODE_ARRAYS
        if self.keeps_costs:
            names += (COSTS,)
        if self.keeps_competitors:
            names += (COMPETITORS,)
        return (*names, STOPS) if self.keeps_stops else names

    cdef intp_t _size(self, str name) except -1:
        # How much of an array is used.
        if name in OF_SPLITS:
            return self.n_splits()
        return self.node_count

    cdef dict _enlarged(self, intp_t capacity):
        cdef dict arrays = dict(self._arrays)
        for name, (shape, dtype) in self._shapes(capacity).items():
            if name in arrays and arrays[name].shape == shape:
                continue
            larger = np.zeros(shape, dtype=dtype)
            if name in arrays:
                used = self._size(name)
                larger[:used] = arrays[name][:used]
            arrays[name] = larger
        return arrays

    cdef void reserve(self, intp_t capacity) except *:
        # Room for `capacity` nodes, at least doubling what there is.
        if capacity <= self.capacity:
            return
        capacity = max(capacity, 2 * self.capacity)
        if capacity > 2147483647:
            raise ValueError("The tree has more nodes than its index type holds.")
        self._hold(self._enlarged(capacity))

    cdef void cut_to_size(self) except *:
        # Give back the room that a tree which is finished will not need.
        arrays = {}
        for name, array in self._arrays.items():
            size = self._size(name)
            arrays[name] = array if len(array) == size else array[:size].copy()
        self._hold(arrays)
        self._show(None)

    cdef object _hold(self, dict arrays):
        # Own these arrays and point into them: all of them, or none if it fails.
        cdef void* at[11]
        cdef intp_t i
        for i, name in enumerate(HELD):
            at[i] = address_of(arrays[name]) if name in arrays else NULL
        self._arrays = arrays
        self.capacity = len(arrays["parent"])
        self.parent = <int32_t*> at[0]
        self.depth = <int32_t*> at[1]
        self.first_child = <int32_t*> at[2]
        self.n_children = <int32_t*> at[3]
        self.n_node_samples = <intp_t*> at[4]
        self.counts = <float64_t*> at[5]
        self.impurity = <float64_t*> at[6]
        self.evidence = <SplitEvidence*> (at[7] if self.keeps_evidence else NULL)
        self.by_chance = <ByChance*> (NULL if self.keeps_evidence else at[7])
        self.costs = <TrialCosts*> at[8]
        self.competitors = <Competitor*> at[9]
        self.stops = <Stop*> at[10]

    @property
    def n_bytes(self):
        """Bytes of the nodes, without room for further ones."""
        return self.bytes_of_nodes()

    cdef intp_t node_bytes(self) noexcept nogil:
        # Of a node, whatever becomes of it.
        return (
            4 * sizeof(int32_t) + sizeof(intp_t)
            + (self.n_classes + 1) * sizeof(float64_t)
            + self.keeps_stops * sizeof(Stop)
        )

    cdef intp_t split_bytes(self) noexcept nogil:
        # That it takes in addition once it has split.
        return (
            (sizeof(SplitEvidence) if self.keeps_evidence else sizeof(ByChance))
            + self.keeps_costs * sizeof(TrialCosts)
            + self.keeps_competitors * MAX_STORED_COMPETITORS * sizeof(Competitor)
        )

    cdef intp_t bytes_of_nodes(self) noexcept nogil:
        return (
            self.node_count * self.node_bytes()
            + self.n_splits() * self.split_bytes()
        )

    cdef int _read(self) except -1:
        if self.lock is not None:
            self.lock.read()
        return 0

    cdef void _leave(self) noexcept:
        if self.lock is not None:
            self.lock.leave()

    cdef Snapshot _still(self):
        # All arrays at one moment; nobody writes to them.
        cdef Snapshot shown
        self._read()
        try:
            shown = self._last_shown()
            if not _is_fresh(self, shown):
                shown = self._look(shown)
                self._show(shown)
            return shown
        finally:
            self._leave()

    cdef Snapshot _last_shown(self):
        # Many threads look at once, and keep what they saw for the next one.
        cdef Snapshot shown
        take_guard(&self.guard)
        shown = self._shown
        leave_guard(&self.guard)
        return shown

    cdef void _show(self, Snapshot shown) noexcept:
        cdef Snapshot _old      # to be let go of when the guard has been left
        take_guard(&self.guard)
        _old = self._shown
        self._shown = shown
        leave_guard(&self.guard)

    cdef Snapshot _look(self, Snapshot old):
        cdef Snapshot new = Snapshot()
        new.version = self.version
        new.node_count = self.node_count
        new.n_edits = self.n_edits
        new.class_weight = self.class_weight
        new.shrinkage = self.shrinkage
        if self.lock is None:
            for name, array in self._arrays.items():
                new.arrays[name] = array[: self._size(name)]
        else:
            _copy_to(self, new, old)
        return new

    cdef object counts_of_leaves(self):
        # Counts of every node as they stand, up to date at the leaves only.
        return self._arrays["counts"][: self.node_count]

    def leaf_mask(self):
        """Which rows are leaves: no splits, and not dead."""
        self._read()
        try:
            n_children = self._arrays["n_children"][: self.node_count]
            return (n_children == 0) & (self._arrays["parent"][: self.node_count] != DEAD)
        finally:
            self._leave()

    def leaf_counts(self):
        """`counts` of the leaves, without adding up those of inner nodes: 0 there."""
        self._read()
        try:
            counts = self.counts_of_leaves().copy()
            counts[self._arrays["n_children"][: self.node_count] > 0] = 0.0
        finally:
            self._leave()
        return counts

    cdef void add_counts(self, intp_t top, float64_t* counts) noexcept nogil:
        # Add the counts of a node, which are those of the leaves below.
        cdef intp_t node = top
        cdef intp_t c
        while node >= 0:
            if self.n_children[node] == 0:
                for c in range(self.n_classes):
                    counts[c] += self.counts[node * self.n_classes + c]
            node = self.next_below(top, node)

    def _rows_of_root(self):
        # `n_node_samples[0]` of a tree that does not grow, without a look at all arrays.
        self._check_root()
        return int(self._arrays["n_node_samples"][0])

    def _check_root(self):
        if self.node_count == 0:
            raise ValueError("The tree has no root.")

    def _checked_node(self, node):
        if not 0 <= node < self.node_count:
            raise IndexError(f"node {node} of a tree with {self.node_count} nodes")
        return node

    def children(self, node):
        """Ids of the children of one node, the first one first."""
        cdef intp_t place, first, n
        self._read()
        try:
            place = self._checked_node(node)
            first = self.first_child[place]
            n = self.n_children[place]
        finally:
            self._leave()
        return np.arange(first, first + n, dtype=np.intp)

    @property
    def children_left(self):
        return self._still().of_structure(children_left)

    @property
    def children_right(self):
        return self._still().of_structure(children_right)

    @property
    def n_children(self):
        return self._still().array("n_children")

    @property
    def parent(self):
        return self._still().array("parent")

    @property
    def depth(self):
        return self._still().array("depth")

    @property
    def counts(self):
        return self._still().array("counts")

    @property
    def impurity(self):
        return self._still().array("impurity")

    @property
    def n_node_samples(self):
        return self._still().array("n_node_samples")

    @property
    def weighted_n_node_samples(self):
        return self._still().of_counts(weights)

    @property
    def evidence(self):
        return self._still().of_structure(evidence_of_nodes)

    @property
    def trial_costs(self):
        return self._still().of_structure(costs_of_nodes) if self.keeps_costs else None

    @property
    def competitors(self):
        return self._still().of_structure(competitors_of_nodes) if self.keeps_competitors else None

    @property
    def stops(self):
        return self._still().array(STOPS) if self.keeps_stops else None

    @property
    def leaf_reason(self):
        cdef Snapshot shown = self._still()
        if self.lock is None:
            return shown.of_structure(leaf_reasons) if self.keeps_stops else None
        reasons = shown.counted.get("reasons")
        if reasons is None:
            reasons = read_only(reasons_of_growing_leaves(shown.arrays, self.depth_limit))
            shown.counted["reasons"] = reasons
        return reasons

    @property
    def value(self):
        return self._still().values()

    @property
    def raw_value(self):
        return self._still().of_counts(proportions)

    cdef int fill_value(self, intp_t node, float64_t* out) except -1:
        # A row of `value`, for whoever holds the lock to learn.
        cdef const float64_t[:, ::1] value
        cdef const float64_t[::1] class_weight = self.class_weight
        cdef intp_t c
        if self.shrinkage > 0.0:
            fill_shrunk(
                self.counts, self.n_classes, self.parent, self.depth, self.shrinkage,
                &class_weight[0], node, out,
            )
            return 0
        value = self._look(self._last_shown()).of_counts(proportions)
        for c in range(self.n_classes):
            out[c] = value[node, c]
        return 0

    def value_of(self, nodes):
        """Rows of `value`; of few leaves without a look at all nodes."""
        found = _few(self, nodes)
        return self.value.take(nodes, axis=0) if found is None else found

    def best_of(self, nodes):
        """Most frequent class of nodes, the first one of equals; see `value_of`."""
        cdef Snapshot shown
        found = _few(self, nodes)
        if found is not None:
            return found.argmax(axis=1)
        shown = self._still()
        best = shown.counted.get("best")
        if best is None:
            best = shown.values().argmax(axis=1)
            shown.counted["best"] = best
        return best.take(nodes)

    def _shrunk_rows(self, const intp_t[::1] nodes):
        # Rows of `value` by the paths of the nodes, for whoever holds the lock to read.
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
        """CSR indicator of the nodes above, and including, the given ones."""
        cdef Snapshot shown = self._still()
        return paths(shown.arrays["parent"], shown.arrays["depth"], leaves)


cdef bint _is_fresh(NodeArrays self, Snapshot shown) noexcept:
    return (
        shown is not None
        and shown.version == self.version
        and shown.node_count == self.node_count
        and shown.n_edits == self.n_edits
    )


cdef object _copy_to(NodeArrays self, Snapshot new, Snapshot old):
    # Learning writes to the arrays: what is shown are copies, in which the counts
    # of internal nodes follow from those of the leaves, unless a tree with
    # shrinkage has kept them. Few looks come after a split; the others need new
    # counts alone.
    if (
        old is not None
        and old.node_count == self.node_count
        and old.n_edits == self.n_edits
    ):
        new.structural = old.structural
        new.arrays = dict(old.arrays)
    else:
        for name, array in self._arrays.items():
            if name not in OF_ROWS:
                new.arrays[name] = array[: self._size(name)].copy()
    counts = self._arrays["counts"][: self.node_count].copy()
    n_rows = self._arrays["n_node_samples"][: self.node_count].copy()
    kept = counts.copy() if self.shrinkage > 0.0 else counts
    sum_up(new.arrays["parent"], new.arrays["n_children"], counts, n_rows)
    new.arrays["counts"] = kept
    new.arrays["n_node_samples"] = n_rows
    new.arrays["impurity"] = None   # until somebody asks
    new.criterion = self.criterion


cdef object _few(NodeArrays self, object nodes):
    # `value` of fewer leaves than a look would cost nodes; or None.
    cdef Snapshot shown
    if self.lock is None or len(nodes) >= self.node_count:
        return None
    self._read()
    try:
        shown = self._last_shown()
        if _is_fresh(self, shown):
            return None
        if self.shrinkage > 0.0:
            return self._shrunk_rows(np.asarray(nodes, dtype=np.intp))
        if self._arrays["n_children"].take(nodes).any():
            return None
        counts = self._arrays["counts"].take(nodes, axis=0)
    finally:
        self._leave()
    return proportions_of_leaves(counts, self.class_weight)


cdef TrialCosts NOTHING_TRIED = TrialCosts(NAN, NAN, -2)


cdef class NodeTable(NodeArrays):
    """The nodes of a tree without the tests that send rows from one to another.

    `Tree` adds tests of single features. Another kind of tree adds others, and has
    structure, counts, evidence, ids and state from here.

    In addition a node may keep: the evidence of its split, 88 bytes (without a bound what
    is expected by chance, 24 bytes); what trees cost in which growth looked ahead, 24
    bytes (`keep_costs`); the tests that it was chosen over, 40 bytes each
    (`keep_competitors`); and why it is a leaf, 24 bytes (`keep_stops`).
    """

    def _add_root(self):
        """Start with a root that no row has reached."""
        if self.node_count > 0:
            raise ValueError("The tree has a root.")
        cdef float64_t[::1] counts = np.zeros(self.n_classes)
        self.add_leaf(-1, &counts[0], 0, 0.0)

    cdef intp_t add_leaf(
        self, intp_t parent, const float64_t* counts, intp_t n_rows, float64_t impurity
    ) noexcept nogil:
        # The caller has reserved room, and adds all children of a node at once.
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

    cdef void accept(self, const SplitEvidence* evidence) noexcept nogil:
        # Why the split is made whose children are added next.
        cdef intp_t place = self.n_splits()
        cdef intp_t i
        if self.evidence != NULL:
            self.evidence[place] = evidence[0]
        else:
            self.by_chance[place] = evidence.by_chance
        if self.costs != NULL:
            self.costs[place] = NOTHING_TRIED
        if self.competitors != NULL:
            for i in range(MAX_STORED_COMPETITORS):
                self.competitors[place * MAX_STORED_COMPETITORS + i] = no_competitor()

    cdef void forget(self) noexcept nogil:
        # Be without nodes again, with the room there is.
        self.node_count = 0
        self.n_leaves = 0
        self.n_dead = 0
        self.max_depth = 0

    cdef void grows(self, object criterion, ModelLock lock, intp_t depth_limit) except *:
        # From now on whoever holds the lock to learn may let it grow row by row. Looks
        # at the impurity take nothing from the criterion of the growth.
        self.criterion = type(criterion)(self.n_classes)
        self.lock = lock
        self.depth_limit = depth_limit
        self._show(None)

    def _pruned(self, keep_as_leaf, reason=PRUNED):
        """Copy the tree with the internal nodes of a mask turned into leaves.

        What lies below them goes; the nodes left keep their order, and the splits their
        evidence. True at a leaf changes nothing; the others get the `reason`.
        """
        self._check_root()
        if self.lock is not None:   # inner nodes of a tree that grows have no counts
            return copy(self)._pruned(keep_as_leaf, reason)
        cdef intp_t n = self.node_count
        leaf = np.array(keep_as_leaf, dtype=np.bool_)
        if leaf.shape != (n,):
            raise ValueError(f"keep_as_leaf must have shape ({n},), got {leaf.shape}.")
        left, above = survivors(
            self._arrays["first_child"][:n], self._arrays["n_children"][:n],
            leaf.view(np.uint8),
        )
        cdef const intp_t[::1] kept = left
        cdef const int32_t[::1] parent = above
        cdef NodeTable tree = type(self)(
            self.n_features, self.n_classes, self.class_weight, self.keeps_evidence,
            self.shrinkage, self.keeps_costs, self.keeps_competitors, self.keeps_stops,
        )
        cdef intp_t split = -1      # that the children come of which were seen last
        cdef intp_t seen = 0
        cdef intp_t place, node
        tree.reserve(kept.shape[0])
        with nogil:
            for place in range(kept.shape[0]):
                node = kept[place]
                # A branch may have taken the place of its parent, but siblings have
                # the parent that they were made with.
                while seen < node:
                    seen += 1
                    split += (
                        self.parent[seen] != DEAD
                        and self.parent[seen] != self.parent[seen - 1]
                    )
                if place > 0 and tree.n_children[parent[place]] == 0:
                    self._copy_split(tree, split)
                tree.add_leaf(
                    parent[place], self.counts + node * self.n_classes,
                    self.n_node_samples[node], self.impurity[node],
                )
        self._copy_tests(tree, kept)
        tree.cut_to_size()
        if self.keeps_stops:
            tree._arrays[STOPS][:] = pruned_stops(self._arrays, n, left, leaf, reason)
        return tree

    cdef void _copy_split(self, NodeTable tree, intp_t split) noexcept nogil:
        # Why it was made, for that of another tree whose children are added next.
        cdef SplitEvidence evidence
        cdef intp_t place = tree.n_splits()
        clear_evidence(&evidence)
        if self.evidence != NULL:
            evidence = self.evidence[split]
        else:
            evidence.by_chance = self.by_chance[split]
        tree.accept(&evidence)
        if self.costs != NULL:
            tree.costs[place] = self.costs[split]
        if self.competitors != NULL:
            memcpy(
                tree.competitors + place * MAX_STORED_COMPETITORS,
                self.competitors + split * MAX_STORED_COMPETITORS,
                MAX_STORED_COMPETITORS * sizeof(Competitor),
            )

    cdef void _copy_tests(self, NodeTable pruned, const intp_t[::1] kept) except *:
        # Give a tree that has its nodes the tests of those that have split there.
        return

    def _shrunk_by(self, shrinkage):
        """Draw `value` towards that of the parents, see `shrunk`; counts stay.

        For whoever grows the tree, or holds the lock to learn. At 0 `value` is the raw
        proportions.
        """
        self.shrinkage = checked_shrinkage(shrinkage)
        self._show(None)

    # Bytes and numbers only: equal states give equal pickles, as nothing in them
    # can be one object here and two equal ones there.

    def __reduce__(self):
        return type(self), self._arguments(), self.__getstate__()

    def _arguments(self):
        # That a table with the same arrays is made with.
        arguments = (
            self.n_features, self.n_classes, tuple(self.class_weight.tolist()),
            bool(self.keeps_evidence), self.shrinkage,
        )
        if self.keeps_costs or self.keeps_competitors or self.keeps_stops:
            arguments += (bool(self.keeps_costs), bool(self.keeps_competitors))
        return (*arguments, True) if self.keeps_stops else arguments

    def __getstate__(self):
        cdef dict shown = self._still().all_arrays()
        return (STATE_VERSION, *[shown[name].tobytes() for name in self._names()])

    def __setstate__(self, state):
        if self.node_count > 0:
            raise ValueError("A tree that has grown takes no state.")
        cdef dict arrays = read_arrays(state, self._names(), self._arrays)
        structure = structure_of(arrays["parent"])
        if structure is None:
            raise damaged("tree", "its nodes")
        arrays.update(structure)
        self._check(arrays)
        self._take(arrays)

    cdef object _check(self, dict arrays):
        # Raise unless these can be believed.
        check_nodes(arrays, self.n_features)

    cdef object _take(self, dict arrays):
        # Become the tree of these arrays, whose structure is known.
        self._hold(arrays)
        self.node_count = len(arrays["parent"])
        self.n_dead = np.count_nonzero(arrays["parent"] == DEAD)
        self.n_leaves = (
            self.node_count - self.n_dead - np.count_nonzero(arrays["n_children"])
        )
        self.max_depth = arrays["depth"].max()
        self._show(None)
