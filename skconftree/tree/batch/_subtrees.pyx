"""Growth of one tree by several threads."""

from libc.string cimport memcpy

from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._builder cimport Builder, FrontierNode, Helpers
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.batch._table_source cimport TableSource
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.split._node cimport NodeRecord, RootStats
from skconftree.tree.split._selection cimport Best, BestSplits   # best split of a feature; of all
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._memory cimport Arena
from skconftree.utils._typedefs cimport float64_t, int16_t, int32_t, intp_t

# Workers: the threads that grow one tree. Each has a splitter, which finds the best split of a
# node, with its own copies of the compiled criterion and bound, and scratch memory. A bound is a
# split rule: it decides whether the evidence for a split is sufficient. The source of a splitter
# reads the rows of the node. The sources share the arrays of the rows. A selection stores the best
# split of each feature. A FrontierNode is a leaf that may still split, and its record has the
# range of its rows. An Arena owns arrays.
#
# In large nodes the workers share the columns: SharedSplitter lets them scan the features
# (score the candidate splits), SharedSource lets them divide the columns. The scan of a feature
# does not depend on earlier scans, and features are compared in ascending order. The tree is
# therefore the same as that of a single thread. Scans that depend on each other are not shared:
# the number of sampled features depends on how many are constant, some bounds sum the evidence
# of candidates in order (evidence bounds), and others discard candidates that are worse than an
# earlier one (interval bounds).
#
# Subtrees lets the workers grow the subtrees below smaller nodes.

cdef struct ScanResult:
    intp_t n_candidates     # candidate splits; 0 = the feature is constant in the node
    Best best


cdef enum:
    FEATURE_PARTS_PER_WORKER = 16  # groups of features: many, so that all workers end together
    INITIAL_CAPACITY = 512        # nodes: small trees are not reallocated


cdef class Workers:
    """The threads that grow one tree, those of a `thread_team`.

    They share the columns of nodes with at least `min_shared_values` values.
    """

    cdef readonly object thread_team
    cdef readonly intp_t n_workers
    cdef intp_t min_shared_values   # values of a node
    cdef list splitters             # [n_workers]
    cdef Arena arena
    cdef bint failed                # the last task has failed
    cdef object failure             # with this exception

    # The node whose columns are shared.
    cdef NodeRecord* record
    cdef const float64_t* counts
    cdef ScanResult* results        # [n_features] by index in record.features
    cdef intp_t split_feature
    cdef intp_t n_others            # work items of the task other than groups of columns
    cdef intp_t n_parts             # work items of the task that are groups of columns
    cdef intp_t n_nodes             # number of nodes that have been scanned
    cdef intp_t* entered            # [n_workers] number of the node entered last

    def __init__(self, thread_team, intp_t n_features, intp_t min_shared_values):
        self.thread_team = thread_team
        self.min_shared_values = min_shared_values
        self.n_workers = thread_team.n_threads
        self.splitters = []
        self.arena = Arena()
        self.results = <ScanResult*> self.arena.take(n_features, sizeof(ScanResult))
        self.entered = <intp_t*> self.arena.take_zeros(self.n_workers, sizeof(intp_t))

    def add(self, Splitter splitter not None):
        """Add the splitter of the next worker; its source is a TableSource."""
        self.splitters.append(splitter)

    cdef int check(self) except -1 nogil:
        if self.failed:
            with gil:
                raise self.failure
        return 0

    cdef bint shares_columns(self, const NodeRecord* record) noexcept nogil:
        return (record.end - record.start) * record.n_features >= self.min_shared_values

    cdef bint scan(self, NodeRecord* record, const float64_t* counts) noexcept nogil:
        # Set `results`; False if it has failed.
        self.record = record
        self.counts = counts
        self.n_nodes += 1
        return self._run("_scan_part", 0)

    cdef bint divide(self, const NodeRecord* record, intp_t feature, bint by_rows) noexcept nogil:
        self.record = <NodeRecord*> record      # only read
        self.split_feature = feature
        # by_rows: one more work item divides the rows, labels and weights
        return self._run("_divide_part", by_rows)

    cdef bint _run(self, str part, intp_t n_others) noexcept with gil:
        # Let the threads call the method named `part` for each work item of a task.
        self.n_others = n_others
        self.n_parts = min(self.record.n_features, FEATURE_PARTS_PER_WORKER * self.n_workers)
        if not self.failed:
            try:
                self.thread_team.run(getattr(self, part), n_others + self.n_parts)
            except BaseException as error:
                self.failure = error
                self.failed = True
        return not self.failed

    def _scan_part(self, intp_t worker, intp_t part):
        cdef Splitter splitter = self.splitters[worker]
        cdef ScanResult* results
        cdef intp_t j
        with nogil:
            if self.entered[worker] != self.n_nodes:
                self.entered[worker] = self.n_nodes
                # prepare the worker's splitter for the node
                splitter._enter(self.record, self.counts)
                splitter.selection.begin()
            for j in range(self._first(part), self._first(part + 1)):
                results = &self.results[j]
                results.n_candidates = splitter.selection.examine(
                    self.record.features[j], splitter.candidates
                )
                results.best = splitter.selection.best[0]
        splitter.check()

    def _divide_part(self, intp_t worker, intp_t part):
        cdef Splitter splitter = self.splitters[worker]
        cdef TableSource source = splitter.source
        cdef intp_t j
        with nogil:
            if part < self.n_others:
                source.rows.partition_rows(self.record.start, self.record.end, source.scratch)
            else:
                part -= self.n_others
                for j in range(self._first(part), self._first(part + 1)):
                    source.rows.partition_column(
                        self.record.features[j], self.split_feature,
                        self.record.start, self.record.end, source.scratch,
                    )

    cdef intp_t _first(self, intp_t part) noexcept nogil:
        return part * self.record.n_features // self.n_parts


cdef class SharedSplitter(Splitter):
    """A splitter that lets `workers` scan the features of large nodes."""

    cdef Workers workers
    cdef bint shares
    cdef bint scanned           # the workers have scanned the features of the node

    def __init__(
        self, source, criterion, bound, bint stores_all_features, Workers workers not None
    ):
        super().__init__(source, criterion, bound, stores_all_features)
        self.workers = workers
        # other selections, also subclasses of BestSplits, are not shared (see above)
        self.shares = not self.samples_features and type(self.selection) is BestSplits

    # Scan the features of the node, and count the candidate splits.
    cdef void _visit_features(self) noexcept nogil:
        cdef NodeRecord* record = self.node.record
        self.scanned = self.shares and self.workers.shares_columns(record)
        if self.scanned and not self.workers.scan(record, self.node.counts):
            self.n_visited = 0      # check() raises the error
            self.node.stats.n_candidates = 0.0
            return
        Splitter._visit_features(self)

    # Find the best split of feature j of the node; return the number of candidates.
    cdef intp_t _examine(self, intp_t j, int32_t feature) noexcept nogil:
        if not self.scanned:
            return Splitter._examine(self, j, feature)
        self.selection.feature = feature
        # `step` is 0 if only the best split of the last feature is stored
        self.selection.best = self.selection.best_of + feature * self.selection.step
        self.selection.best[0] = self.workers.results[j].best
        return self.workers.results[j].n_candidates


cdef class SharedSource(TableSource):
    """The rows of a node of a table; `workers` divide the columns of large nodes."""

    cdef Workers workers

    def __init__(
        self, NodeRows rows not None, GrowthSettings settings, RootStats root,
        Workers workers not None,
    ):
        super().__init__(rows, settings, root)
        self.workers = workers

    cdef void partition(self, const NodeRecord* record, intp_t feature) noexcept nogil:
        cdef bint by_rows
        if not self.workers.shares_columns(record):
            TableSource.partition(self, record, feature)
            return
        # Mark the side of each row; False if no column needs the marks (all are in sorted order).
        by_rows = self.rows.set_sides(record.features, record.n_features, record.start, record.end)
        self.workers.divide(record, feature, by_rows)


cdef enum:
    # The rows of the root divided by the number of parts: nodes with more rows are large.
    # Parts are larger if columns are not shared.
    PARTS_PER_WORKER = 8
    LARGE_PARTS_PER_WORKER = 2


# Subtrees: the subtrees below smaller nodes, grown by many threads.
#
# Depth-first growth below a node depends on its rows only, except for random draws, which
# depend on node ids. Different nodes have separate ranges of rows. A builder therefore defers
# the nodes that are small compared with its root, and continues with the large ones. Then the
# workers grow a separate tree below each deferred node. The trees are joined, with the node
# ids that a single builder would have used.
cdef class Subtrees(Helpers):
    """Lets workers grow the subtrees below smaller nodes, each with its own builder.

    Nodes with fewer than `min_task_values` values are grown immediately. Without builders,
    the workers only scan and divide the columns of large nodes. Look-ahead needs a second
    object for its trial trees, which are grown to estimate the cost of a candidate split.
    """

    cdef Workers workers
    cdef list builders          # one per worker, or none
    cdef bint defers_nodes
    cdef intp_t min_task_values  # smallest number of values of a deferred node
    cdef Arena arena
    cdef FrontierNode* leaves   # [n_leaves] deferred nodes; the builder owns their arrays
    cdef intp_t n_leaves
    cdef intp_t capacity
    cdef Tree top_tree          # the tree above them
    cdef list order             # indices of the leaves, in the order of their growth
    cdef list trees             # [n_leaves] the subtrees below the deferred nodes

    def __init__(self, Workers workers not None, list builders not None, intp_t min_task_values):
        self.workers = workers
        self.min_task_values = min_task_values
        self.builders = builders
        self.defers_nodes = len(builders) > 0
        self.arena = Arena()

    cdef int check(self) except -1 nogil:
        return self.workers.check()

    cdef bint defer(self, Builder builder, const FrontierNode* leaf) except -1 nogil:
        cdef intp_t n = leaf.record.end - leaf.record.start
        cdef intp_t n_parts = LARGE_PARTS_PER_WORKER
        if self.workers.shares_columns(&leaf.record):
            n_parts = PARTS_PER_WORKER
        if (
            not self.defers_nodes
            # n_root: rows of the root of the builder's tree
            or n * n_parts * self.workers.n_workers > builder.n_root
            or n * leaf.record.n_features < self.min_task_values
        ):
            return False
        if self.n_leaves == self.capacity:
            self.capacity = 2 * self.capacity + 16
            self.leaves = <FrontierNode*> self.arena.resize(
                self.leaves, self.capacity, sizeof(FrontierNode)
            )
        self.leaves[self.n_leaves] = leaf[0]
        self.n_leaves += 1
        return True

    cdef int finish(self, Builder builder) except -1 nogil:
        if self.n_leaves > 0:
            with gil:
                self._grow_all(builder)
        return 0

    cdef int _grow_all(self, Builder builder) except -1:
        cdef Builder other
        cdef intp_t i
        for other in self.builders:
            other.copy_lookahead(builder)       # the depths at which it looks ahead
        self.top_tree = builder.tree
        self.trees = [None] * self.n_leaves
        # largest first, so that all workers end at about the same time
        self.order = sorted(range(self.n_leaves), key=self._rows_of, reverse=True)
        self.workers.thread_team.run(self._grow, self.n_leaves)
        builder.tree = join_trees(
            self.top_tree, {self.leaves[i].record.id: self.trees[i] for i in range(self.n_leaves)},
        )
        for i in range(self.n_leaves):
            builder._release(&self.leaves[i])
        self.n_leaves = 0
        self.top_tree = None
        self.trees = None
        return 0

    def _rows_of(self, intp_t leaf_idx):
        return self.leaves[leaf_idx].record.end - self.leaves[leaf_idx].record.start

    def _grow(self, intp_t worker, intp_t part):
        cdef intp_t leaf_idx = self.order[part]
        cdef Builder builder = self.builders[worker]
        cdef Tree before = builder.tree     # a builder of trial trees keeps its own
        cdef Tree tree = empty_copy(
            self.top_tree, min(self._rows_of(leaf_idx) // 4, INITIAL_CAPACITY)
        )
        cdef const FrontierNode* root = &self.leaves[leaf_idx]
        builder.tree = tree
        with nogil:
            builder.grow_below(root, self.top_tree)
        builder.tree = before
        self.trees[leaf_idx] = tree


cdef Tree empty_copy(Tree tree, intp_t capacity):
    # A tree without nodes that has the same arrays.
    cdef Tree empty = type(tree)(*tree._arguments())    # arguments of its __init__
    empty.reserve(capacity)
    return empty


cdef Tree join_trees(Tree top_tree, dict below):
    # Ids are assigned when the parent splits, parents before children and the first child
    # first.
    cdef Arena arena = Arena()
    cdef int32_t* new_ids = <int32_t*> arena.take(top_tree.node_count, sizeof(int32_t))
    cdef int32_t* splits = <int32_t*> arena.take(top_tree.node_count, sizeof(int32_t))
    cdef intp_t n_nodes = top_tree.node_count
    cdef intp_t node, i, child
    cdef Tree tree, target
    for tree in below.values():
        n_nodes += tree.node_count
    target = empty_copy(top_tree, n_nodes)
    _number_splits(top_tree, splits)
    add_node(target, -1, top_tree, 0)       # the root, which has no parent
    new_ids[0] = 0
    node = 0
    while node >= 0:
        if top_tree.n_children[node] > 0:
            copy_split(target, new_ids[node], top_tree, node, splits[node])
            for i in range(top_tree.n_children[node]):
                child = top_tree.first_child[node] + i
                new_ids[child] = <int32_t> add_node(target, new_ids[node], top_tree, child)
        elif node in below:
            append_tree(target, new_ids[node], below[node])
        node = top_tree.next_below(0, node)     # in preorder; -1 at the end
    return target


cdef void _number_splits(Tree tree, int32_t* splits) noexcept nogil:
    # Number the splits in the order of their first children.
    cdef int32_t n = 0
    cdef intp_t node, parent
    for node in range(1, tree.node_count):
        parent = tree.parent[node]
        if tree.first_child[parent] == node:
            splits[parent] = n
            n += 1


cdef int append_tree(Tree target, intp_t leaf, Tree tree) except -1:
    cdef intp_t id_offset = target.node_count - 1
    cdef intp_t split = 0, node, parent, above
    copy_reason(target, leaf, tree, 0)
    for node in range(1, tree.node_count):
        parent = tree.parent[node]
        above = leaf if parent == 0 else parent + id_offset
        if tree.first_child[parent] == node:
            copy_split(target, above, tree, parent, split)
            split += 1
        add_node(target, above, tree, node)
    return 0


cdef intp_t add_node(Tree target, intp_t parent, Tree tree, intp_t node) noexcept:
    # Copy a node, as a leaf; return its id.
    cdef intp_t added = target.add_leaf(
        parent, tree.counts + node * tree.n_classes, tree.n_node_samples[node],
        tree.impurity[node],
    )
    if parent < 0:
        target.depth[added] = tree.depth[node]
    copy_reason(target, added, tree, node)
    return added


cdef inline void copy_reason(Tree target, intp_t target_node, Tree tree, intp_t node) noexcept:
    # `stops` has the reason why each node is a leaf, and the split that was rejected.
    if target.stops != NULL:
        target.stops[target_node] = tree.stops[node]


cdef int copy_split(
    Tree target, intp_t target_node, Tree tree, intp_t node, intp_t split
) except -1:
    # Copy a split, whose statistics have the index `split`; its children are added next.
    # `child_of_code` has the child of each category; `first` is the start of this split's part of
    # it, negative if the feature is numeric.
    cdef intp_t first = tree.branching[node].first
    cdef intp_t n_codes = tree.branching[node].n_codes
    tree._copy_evidence(target, split)      # its statistics
    target.nodes[target_node] = tree.nodes[node]
    target.nodes[target_node].left = <int32_t> target.node_count  # first child
    target.branching[target_node] = tree.branching[node]
    if first >= 0:
        target.reserve_mapped_codes(target.n_mapped_codes + n_codes)
        target.branching[target_node].first = <int32_t> target.n_mapped_codes
        memcpy(
            target.child_of_code + target.n_mapped_codes, tree.child_of_code + first,
            n_codes * sizeof(int16_t),
        )
        target.n_mapped_codes += n_codes
    return 0
