"""Growth of a tree from a table, depth-first or best-first.

A `FrontierNode` is a leaf that may still split. Its record (`NodeRecord`) has the id, depth, range
of rows and limits of the node; its segments are the ranges of its rows in sparse columns. A
source divides the rows of a node among its children; an outcome is the index of a child.
Look-ahead chooses a split by the costs of trial trees that are grown below it. The weight W of
a node includes unlabeled rows, or is its volume: that of its box, its limits in feature space.
`Stop` is the reason why a node is a leaf, `Competitor` a split on another feature that was not
chosen, and `runner_up` compares it with the chosen split. An arena owns arrays. See _builder.pxd.
"""

from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY
from libc.string cimport memcpy

from skconftree.tree.split._scan cimport sum_of
# reasons why a node remains a leaf, see LeafReason; NO_LIMIT is None in Python
from skconftree.tree._settings cimport (
    MAX_DEPTH, MAX_LEAF_NODES, MIN_SAMPLES_LEAF, MIN_SAMPLES_SPLIT, MAX_STORED_COMPETITORS,
    NO_LEAF, NO_LIMIT, PURE, GrowthSettings,
)
from skconftree.tree.batch._table_source cimport IS_CONSTANT, IN_SEGMENT, ChildRows
from skconftree.tree.nodes._node_table cimport Competitor, Stop
from skconftree.tree.split._split cimport Children
from skconftree.utils._box cimport cut_box


cdef enum:
    INITIAL_CAPACITY = 512        # nodes: small trees are not reallocated


cdef class Helpers:
    """Other threads that participate in the growth of a tree."""

    cdef bint defer(self, Builder builder, const FrontierNode* leaf) except -1 nogil:
        return False    # True: they grow the tree below the leaf, at the latest in finish()

    cdef int finish(self, Builder builder) except -1 nogil:
        return 0

    cdef int check(self) except -1 nogil:
        return 0        # or raises an error of these threads


cdef class Builder:
    """Grows a tree from a splitter whose source is a RowSource.

    Growth is best-first if the number of leaves is limited, otherwise depth-first. Nodes
    with less weight than `min_split_weight` are not split. A `runner_up` compares each
    split with the best candidates of other features (competitors), if the tree stores them.
    `helpers` are other threads.
    """

    def __init__(
        self, Splitter splitter, GrowthSettings settings, float64_t min_split_weight,
        RunnerUp runner_up=None, Helpers helpers=None,
    ):
        self.splitter = splitter
        self.helpers = helpers
        self.runner_up = runner_up
        self.source = splitter.source
        self.max_depth = settings.max_depth
        self.min_samples_split = min_split_weight
        # `node.min_weight`: minimum weight of a leaf
        self.min_split_weight = max(min_split_weight, 2.0 * splitter.node.min_weight)
        self.max_leaves = settings.max_leaves
        self.best_first = settings.max_leaves != NO_LIMIT
        cdef intp_t capacity = splitter.candidates.child_capacity   # of a split, at most
        self.arena = Arena()
        self.starts = <intp_t*> self.arena.take(capacity + 1, sizeof(intp_t))
        self.child_pools = <float64_t*> self.arena.take(capacity, sizeof(float64_t))
        self.new_children = <FrontierNode*> self.arena.take(capacity, sizeof(FrontierNode))
        self.child_features = NULL
        self.segments = NULL
        if self.source.has_segments:
            self.child_features = <int32_t*> self.arena.take(
                splitter.node.n_features, sizeof(int32_t)
            )
            self.segments = <Segment*> self.arena.take(splitter.node.n_features, sizeof(Segment))

    def build(
        self, Tree tree, const float64_t[::1] counts, intp_t n_labeled, float64_t pool,
        const float64_t[:, ::1] box, const int32_t[::1] features, intp_t depth=0,
        float64_t low=-INFINITY, float64_t high=INFINITY,
    ):
        """Grow `tree`, which has no node yet, from the class weights of its root.

        Return the tree, or another one that replaces it. `pool` is the root's weight W,
        see NodeRecord, and `box` has its limits if W is a volume, else None. `features`,
        ascending, are searched. `depth` is the depth of the root, if the tree will be joined
        below another one; `low` and `high` are its limits by monotonicity constraints.
        """
        cdef intp_t d = self.splitter.node.n_features
        cdef FrontierNode leaf
        cdef NodeRecord* root = &leaf.record
        cdef intp_t f
        self.tree = tree
        # `stops` are kept, which also have the best candidate of a leaf that was rejected
        self.splitter.stores_rejected = tree.keeps_stops
        self.n_root = self.source.n_rows
        leaf.segments = NULL
        leaf.n_segments = 0
        leaf.trial_nodes = NULL     # trial tree of look-ahead below the leaf
        root.id = 0
        root.start = 0
        root.end = self.source.n_rows
        root.depth = depth
        root.pool = pool
        root.n_features = features.shape[0]
        root.features = <int32_t*> self.arena.take(d, sizeof(int32_t))
        root.box = NULL
        root.low = low
        root.high = high
        for f in range(root.n_features):
            root.features[f] = features[f]
        if box is not None:
            root.box = _copied_box(self, &box[0, 0])
        tree.reserve(min(self.source.n_rows // 4, <intp_t> INITIAL_CAPACITY))
        # -1: no parent
        tree.add_leaf(-1, &counts[0], n_labeled, self.splitter.impurity(&counts[0]))
        tree.depth[0] = depth
        self.splitter.check()
        with nogil:
            if self._may_split(0):
                self._add(&leaf)
            else:
                self._release(&leaf)
            if self.best_first:
                _grow_best_first(self)
            else:
                self._grow_depth_first()
        self.tree.shrink_to_fit()
        return self.tree

    cdef int grow_below(self, const FrontierNode* leaf, Tree other) except -1 nogil:
        # Grow a tree of its own below a leaf of the tree `other`.
        cdef FrontierNode root = leaf[0]
        cdef intp_t K = self.tree.n_classes
        cdef intp_t node = leaf.record.id
        root.record.id = 0
        self.splitter.stores_rejected = self.tree.keeps_stops
        self._copy_arrays(&root)
        self.tree.add_leaf(
            -1, other.counts + node * K, other.n_node_samples[node], other.impurity[node],
        )
        self.tree.depth[0] = other.depth[node]
        self._add(&root)
        return self._grow_depth_first()

    cdef void copy_lookahead(self, Builder other) noexcept:
        pass    # a builder with look-ahead copies the depths at which the other one looks ahead

    cdef int _copy_arrays(self, FrontierNode* leaf) except -1 nogil:
        cdef NodeRecord* record = &leaf.record
        record.features = _copied(self, record.features, record.n_features)
        if record.box != NULL:
            record.box = _copied_box(self, record.box)
        leaf.trial_nodes = NULL
        return 0

    cdef bint _defers(self, const FrontierNode* leaf) except -1 nogil:
        return self.helpers.defer(self, leaf)

    cdef int _grow_node(self, FrontierNode* leaf) except -1 nogil:
        if self.helpers is not None and self._defers(leaf):
            return 0
        self._examine(leaf)
        if leaf.split.feature >= 0:
            self._split_leaf(leaf)
        else:
            _record_stop(self, leaf)
        self._release(leaf)
        return 0

    cdef int _grow_depth_first(self) except -1 nogil:
        cdef FrontierNode leaf
        while self.n_frontier > 0:
            self.n_frontier -= 1
            leaf = self.frontier[self.n_frontier]
            self._grow_node(&leaf)
        if self.helpers is not None:
            self.helpers.finish(self)
        return 0

    cdef void _enter(self, const FrontierNode* leaf) noexcept nogil:
        self.source.enter(leaf.record.id, leaf.segments, leaf.n_segments)

    cdef int _examine(self, FrontierNode* leaf) except -1 nogil:
        self._enter(leaf)
        leaf.split = self.splitter.find(
            &leaf.record, self.tree.counts + leaf.record.id * self.tree.n_classes,
        )
        if self.helpers is not None:
            self.helpers.check()
        return self.splitter.check()

    cdef bint _may_split(self, intp_t node) noexcept nogil:
        cdef const float64_t* counts = self.tree.counts + node * self.tree.n_classes
        cdef float64_t n = sum_of(counts, self.tree.n_classes)
        cdef int32_t reason = NO_LEAF
        if not self.tree.impurity[node] > DBL_EPSILON:
            reason = PURE
        elif self.tree.depth[node] >= self.max_depth:
            reason = MAX_DEPTH
        elif n < self.min_split_weight:
            reason = MIN_SAMPLES_SPLIT if n < self.min_samples_split else MIN_SAMPLES_LEAF
        if self.tree.stops != NULL:
            self.tree.stops[node].reason = reason
        return reason == NO_LEAF

    cdef int _split_leaf(self, FrontierNode* leaf) except -1 nogil:
        # Split the node and add its children that may split to the frontier.
        cdef NodeRecord* record = &leaf.record
        cdef Split* split = &leaf.split
        cdef const Children* children = &split.children
        cdef intp_t K = self.tree.n_classes
        cdef intp_t r = children.n_outcomes
        cdef intp_t first = self.tree.node_count
        cdef intp_t n_frontier = 0, z
        if self.runner_up is not None:
            # before the tree is reallocated, which moves the counts of the node
            self.runner_up.compare(record, split)
        if first + r > self.tree.capacity:
            with gil:
                self.tree.reserve(first + r)
        self._write_split(record.id, split)
        _set_middle(self, split)
        self.starts[0] = 0
        for z in range(r):
            self.starts[z + 1] = self.starts[z] + children.rows[z]
            self.child_pools[z] = children.pool[z]
            self.tree.add_leaf(
                record.id, children.counts + z * K, children.n_labeled[z],
                self.splitter.impurity(children.counts + z * K),
            )
            n_frontier += self._may_split(first + z)
        self.splitter.check()
        if n_frontier == 0:
            return 0
        self.source.divide(record, split, self.starts)
        if self.helpers is not None:
            self.helpers.check()
        # the source's columns store the segments until the next node is entered
        self.arena.release(leaf.segments)
        leaf.segments = NULL
        # all children are created before one is examined, which changes the columns; in
        # reverse order, so that the first child is on top of the stack
        for z in range(r):
            if self._may_split(first + z):
                self._make_child(leaf, first + z, z)
        while self.n_new_children > 0:
            self.n_new_children -= 1
            self._add(&self.new_children[self.n_new_children])
        return 0

    cdef int _write_split(self, intp_t node, const Split* split) except -1 nogil:
        # Write the split into the tree.
        cdef const Children* children = &split.children
        cdef intp_t position = self.tree.n_splits()     # index of this split, the next one
        # mapped codes: entries of child_of_code, of all splits on nominal features
        if self.tree.n_mapped_codes + children.n_codes > self.tree.mapped_code_capacity:
            with gil:
                self.tree.reserve_mapped_codes(self.tree.n_mapped_codes + children.n_codes)
        self.tree.split(
            node, split.feature, split.threshold, children.missing_left, children.missing_seen,
            children.child_of_code, children.n_codes, children.unknown, &split.evidence,
        )
        if self.runner_up is not None:
            memcpy(
                self.tree.competitors + position * MAX_STORED_COMPETITORS,
                self.runner_up.competitors, MAX_STORED_COMPETITORS * sizeof(Competitor),
            )
        return 0

    cdef int _make_child(self, FrontierNode* parent, intp_t node, intp_t outcome) except -1 nogil:
        cdef FrontierNode child
        cdef NodeRecord* record = &child.record
        record.id = node
        record.start = parent.record.start + self.starts[outcome]
        record.end = parent.record.start + self.starts[outcome + 1]
        record.depth = parent.record.depth + 1
        record.pool = self.child_pools[outcome]
        record.box = NULL
        record.low = parent.record.low
        record.high = parent.record.high
        if self.sign != 0:
            if outcome == (self.sign > 0):      # the child of larger probabilities
                record.low = self.middle
            else:
                record.high = self.middle
        child.trial_nodes = NULL
        _set_child_features(self, &parent.record, &child, outcome)
        if parent.record.box != NULL:
            record.box = _copied_box(self, parent.record.box)
            cut_box(record.box, parent.split.feature, parent.split.threshold, outcome)
        self.new_children[self.n_new_children] = child
        self.n_new_children += 1
        return 0

    cdef void _release(self, FrontierNode* leaf) noexcept nogil:
        self.arena.release(leaf.record.features)
        self.arena.release(leaf.record.box)
        self.arena.release(leaf.segments)
        self.arena.release(leaf.trial_nodes)

    cdef int _add(self, FrontierNode* leaf) except -1 nogil:
        # Add a leaf to the stack or, with its split, to the heap.
        if self.best_first:
            self._examine(leaf)
            if leaf.split.feature < 0:
                _record_stop(self, leaf)
                self._release(leaf)
                return 0
            if self.tree.stops != NULL:     # the reason applies unless it is split later
                self.tree.stops[leaf.record.id].reason = MAX_LEAF_NODES
        if self.n_frontier == self.frontier_capacity:
            self.frontier_capacity = 2 * self.frontier_capacity + 16
            self.frontier = <FrontierNode*> self.arena.resize(
                self.frontier, self.frontier_capacity, sizeof(FrontierNode)
            )
        self.frontier[self.n_frontier] = leaf[0]
        self.n_frontier += 1
        if self.best_first:
            _sift_up(self)
        return 0


cdef void _set_middle(Builder builder, const Split* split) noexcept nogil:
    # The limit between the probabilities of a split's children on a feature with a monotonicity
    # constraint, as in scikit-learn.
    cdef const float64_t* counts = split.children.counts
    builder.sign = 0
    # infinite threshold: the split is "is the value missing?", which is not constrained
    if builder.splitter.node.signs == NULL or split.threshold == INFINITY:
        return
    builder.sign = builder.splitter.node.signs[split.feature]
    if builder.sign != 0:
        builder.middle = 0.5 * (
            builder.splitter.node.probability(counts[0], counts[1])
            + builder.splitter.node.probability(counts[2], counts[3])
        )


cdef void _record_stop(Builder builder, const FrontierNode* leaf) noexcept nogil:
    # Record why a leaf is not split.
    cdef const Split* split = &leaf.split
    cdef Stop* stop
    if builder.tree.stops == NULL:
        return
    stop = builder.tree.stops + leaf.record.id
    stop.reason = <int32_t> split.reason
    if split.rejected >= 0:     # the feature of the best candidate, which the bound rejected
        stop.feature = <int32_t> split.rejected
        stop.threshold = split.threshold
        stop.log10_expected = split.evidence.by_chance.log10_expected


cdef int32_t* _copied(
    Builder builder, const int32_t* features, intp_t n_features
) except NULL nogil:
    cdef size_t n_bytes = n_features * sizeof(int32_t)
    return <int32_t*> memcpy(builder.arena.take(n_bytes, 1), features, n_bytes)


cdef float64_t* _copied_box(Builder builder, const float64_t* box) except NULL nogil:
    cdef size_t n_bytes = 2 * builder.splitter.node.n_features * sizeof(float64_t)
    return <float64_t*> memcpy(builder.arena.take(n_bytes, 1), box, n_bytes)


cdef int _grow_best_first(Builder builder) except -1 nogil:
    # Every node of the frontier has a split. The largest weighted decrease of impurity
    # comes first; among equals, the smaller id.
    cdef FrontierNode leaf
    cdef intp_t n_leaves = 1
    while builder.n_frontier > 0 and n_leaves < builder.max_leaves:
        leaf = builder.frontier[0]
        builder.n_frontier -= 1
        builder.frontier[0] = builder.frontier[builder.n_frontier]
        _sift_down(builder)
        builder._enter(&leaf)
        # the splitter has the children of the last split that it found, not of this one
        builder.splitter.recount_children(
            &leaf.record, builder.tree.counts + leaf.record.id * builder.tree.n_classes,
            &leaf.split,
        )
        # a split may have more branches than the number of leaves that are left
        if n_leaves + leaf.split.children.n_outcomes - 1 <= builder.max_leaves:
            n_leaves += leaf.split.children.n_outcomes - 1
            builder._split_leaf(&leaf)
        builder._release(&leaf)
    return 0


cdef int _set_child_features(
    Builder builder, const NodeRecord* parent, FrontierNode* leaf, intp_t outcome
) except -1 nogil:
    # The features of a child, and the segments of its sparse columns. If all features are
    # visited, columns that are zero in the child are dropped immediately, so that the lists
    # of the whole frontier together are not longer than the entries of the table. If features
    # are sampled, the list must not depend on how they are stored.
    cdef bint stores_all_features = builder.splitter.samples_features
    cdef NodeRecord* child = &leaf.record
    cdef intp_t n_features = 0, n_segments = 0, j
    cdef ChildRows child_rows
    leaf.segments = NULL
    leaf.n_segments = 0
    if not builder.source.has_segments:
        child.n_features = parent.n_features
        child.features = _copied(builder, parent.features, parent.n_features)
        return 0
    for j in range(parent.n_features):
        builder.child_features[n_features] = parent.features[j]
        child_rows = builder.source.rows_of_child(
            parent.features[j], outcome, &builder.segments[n_segments]
        )
        n_segments += child_rows == IN_SEGMENT
        n_features += child_rows != IS_CONSTANT or stores_all_features
    child.n_features = n_features
    child.features = _copied(builder, builder.child_features, n_features)
    leaf.segments = <Segment*> builder.arena.take(n_segments, sizeof(Segment))
    memcpy(leaf.segments, builder.segments, n_segments * sizeof(Segment))
    leaf.n_segments = n_segments
    return 0


cdef void _sift_up(Builder builder) noexcept nogil:
    cdef intp_t i = builder.n_frontier - 1
    while i > 0 and _before(&builder.frontier[i], &builder.frontier[(i - 1) // 2]):
        _swap(&builder.frontier[i], &builder.frontier[(i - 1) // 2])
        i = (i - 1) // 2


cdef void _sift_down(Builder builder) noexcept nogil:
    cdef intp_t i = 0, child
    while 2 * i + 1 < builder.n_frontier:
        child = 2 * i + 1
        if child + 1 < builder.n_frontier and _before(
            &builder.frontier[child + 1], &builder.frontier[child]
        ):
            child += 1
        if not _before(&builder.frontier[child], &builder.frontier[i]):
            return
        _swap(&builder.frontier[child], &builder.frontier[i])
        i = child


cdef bint _before(const FrontierNode* a, const FrontierNode* b) noexcept nogil:
    if a.split.improvement != b.split.improvement:
        return a.split.improvement > b.split.improvement
    return a.record.id < b.record.id


cdef void _swap(FrontierNode* a, FrontierNode* b) noexcept nogil:
    cdef FrontierNode saved = a[0]
    a[0] = b[0]
    b[0] = saved
