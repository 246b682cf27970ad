"""Growth of a tree from rows that are stored in parts (out-of-core or distributed)."""

import numpy as np
from libc.string cimport memset
from typing import NamedTuple

from skconftree.tree.split._scan cimport sum_of
from skconftree.tables._encoded_table cimport Column, lower_edge_of    # smallest value of a code
from skconftree.tree._settings cimport GrowthSettings
from skconftree.tree.batch._builder cimport Builder, FrontierNode, Helpers
from skconftree.tree.batch._near_ties cimport RunnerUp, Sides
from skconftree.tree.batch._node_rows cimport NodeRows
from skconftree.tree.batch._sparse_rows cimport Segment     # rows of a sparse column; unused
from skconftree.tree.batch._subtrees cimport append_tree, join_trees
# RowSource: its methods walk_levels(), add_levels() and sum_levels() read a histogram
from skconftree.tree.batch._table_source cimport RowSource, index_of_level
from skconftree.tree.nodes._tree cimport Tree
from skconftree.tree.split._node cimport ExaminedNode, NodeRecord, RootStats
# a walk over more than REPEATS copies of a row, on average, counts them together
# ValueCounts: class counts of the rows with a value and of those without (missing)
from skconftree.tree.split._scan cimport REPEATS, Scan, ValueCounts
from skconftree.tree.split._split cimport Children, Split
from skconftree.tree.split._splitter cimport Splitter
from skconftree.utils._inline cimport midpoint      # the threshold between two values
from skconftree.utils._memory cimport Arena         # owns arrays
from skconftree.utils._typedefs cimport float32_t, float64_t, int32_t, int64_t, intp_t

# PartitionedSource: the nodes of a tree whose rows are stored in parts, elsewhere: in files or on
# other machines. The outcome of a split for a row is the index of the row's child. A source reads
# the rows of a node, and walks over a feature: it emits the candidate splits, in ascending order
# of the value. A FrontierNode is a leaf that may still split; its record has the range of its
# rows.
#
# A code of a feature is the index of a value, bin or category. The source uses the class counts
# of a node by codes. They are sums over the parts, which are exact in any order. Trees below
# nodes of few rows are grown elsewhere (PartitionedSubtrees), unless growth is best-first.
#
# The position of a cut is the largest code that goes left. The pool of a node is its weight with
# unlabeled rows, or its volume (NodeRecord.pool).
#
# `nodes` is a Python object with
#   column_metadata of the columns, such as their levels (distinct values): a CodedColumn
#                   of one row for each feature
#   n_rows, repeated    number of rows of the sample; whether some rows are repeated
#   max_gathered    largest number of rows of a node whose rows are gathered
#   counts(node)    int64 [codes of all features, classes], with the number of rows in one
#                   more column if some are repeated; and the weight without repeats, or
#                   None if it is the number of rows
#   divide(requests, limit)    requests are (node, feature, outcomes by code, children to
#                   create); children are (outcome, node, number of rows), and those with
#                   more rows than the limit are counted. The nodes are dropped
#   count_cells(node, splits)   int64 [cells, classes], where a cell is a combination of
#                   outcomes of all splits; splits are (feature, outcomes by code, number
#                   of outcomes), the last one varies fastest
#   grow(node, open_node)   start to grow a tree below the node, elsewhere; returns a handle,
#                   by which gather() knows the tree
#   gather(handles)     wait for trees and return them
#   drop(node)      forget a node, which is not needed any more
# If such a call raises an exception, `error` stores it until it can be raised.
cdef class PartitionedSource(RowSource):
    """The nodes of a tree whose rows are stored in parts; `metadata` is that of columns."""

    cdef readonly object nodes
    cdef readonly NodeRows metadata  # of the columns, as a table of one row
    cdef object error
    cdef Arena arena
    cdef intp_t* first              # first index of each feature in [codes of all features]
    cdef float64_t* histogram       # [codes of a feature, n_classes + 1]

    # The node.
    cdef const int64_t[:, ::1] node_counts
    cdef const int64_t* cells       # its counts, `width` for each code
    cdef intp_t width
    cdef intp_t row_column          # column of the number of rows; -1 = it is their weight
    cdef float64_t distinct         # weight without repeats

    cdef list pending       # requests for divide(), of splits that have been made

    def __init__(self, nodes, NodeRows metadata not None, GrowthSettings settings, RootStats root):
        super().__init__(ExaminedNode(settings, root))
        cdef intp_t n_codes = 0, widest = 2, f
        self.nodes = nodes
        self.pending = []
        self.metadata = metadata
        self.n_rows = nodes.n_rows
        self.longest_walk = REPEATS * self.n_rows   # largest number of rows, with repeats
        self.complete = True        # no numeric value is missing
        self.arena = Arena()
        self.first = <intp_t*> self.arena.take(root.n_features, sizeof(intp_t))
        for f in range(root.n_features):
            self.first[f] = n_codes
            n_codes += metadata.columns[f].n_levels
            widest = max(widest, metadata.columns[f].n_levels)
            if metadata.columns[f].has_missing:
                self.complete = False
                self.node.only_thresholds = False  # missing values add candidates
        self.histogram = <float64_t*> self.arena.take(
            widest * (root.n_classes + 1), sizeof(float64_t)
        )
        self.width = root.n_classes + <bint> nodes.repeated
        self.row_column = root.n_classes if nodes.repeated else -1
        self._set_counts(np.zeros((n_codes, self.width), dtype=np.int64))

    def _set_counts(self, const int64_t[:, ::1] counts):
        self.node_counts = counts
        self.cells = &counts[0, 0]

    cdef void enter(self, intp_t node, const Segment* segments, intp_t n_segments) noexcept nogil:
        with gil:
            try:
                counts, weight = self.nodes.counts(node)
                self._set_counts(counts)
                self.distinct = -1.0 if weight is None else weight  # -1: the number of rows
            except BaseException as error:
                self.error = error

    cdef void divide(
        self, const NodeRecord* record, const Split* split, const intp_t* starts
    ) noexcept nogil:
        with gil:
            try:
                self.pending.append((record.id, split.feature, self.outcomes_by_code(split), []))
            except BaseException as error:
                self.error = error

    cdef int add_child(self, intp_t outcome, intp_t node, intp_t n_rows) except -1:
        # Request a child of the node divided last, which will be grown further.
        cdef list children = self.pending[len(self.pending) - 1][3]
        children.append((outcome, node, n_rows))
        return 0

    cdef int divide_parts(self, intp_t limit) except -1:
        # Divide the pending nodes in all parts.
        if self.pending:
            requests, self.pending = self.pending, []
            self.nodes.divide(requests, limit)
        return 0

    cdef int check_parts(self) except -1:
        # Raise the exception that the parts have raised, if any.
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0

    cdef outcomes_by_code(self, const Split* split):
        cdef const Column* column = &self.metadata.columns[split.feature]
        cdef const Children* children = &split.children
        cdef intp_t code
        outcomes = np.zeros(column.n_levels, dtype=np.uint16)
        for code in range(column.n_levels):
            if children.child_of_code == NULL:  # numeric
                outcomes[code] = code > split.cut.position
            elif code < children.n_codes and children.child_of_code[code] >= 0:
                outcomes[code] = children.child_of_code[code]
            else:
                outcomes[code] = children.unknown  # categories that the node has no rows of
        if column.has_missing:
            outcomes[column.n_levels - 1] = not children.missing_left
        return outcomes

    cdef void begin(self) noexcept nogil:
        # Called when the node has been entered.
        if self.row_column >= 0:
            self.node.n_repeated = self.node.n      # rows, with repeats

    cdef float64_t weight_without_repeats(self) noexcept nogil:
        if self.distinct >= 0.0:
            return self.distinct
        return <float64_t> (self.node.record.end - self.node.record.start)

    cdef inline int64_t n_rows_of(self, const int64_t* cell) noexcept nogil:
        cdef int64_t n = 0
        cdef intp_t c
        if self.row_column >= 0:
            return cell[self.row_column]
        for c in range(self.node.n_classes):
            n += cell[c]
        return n

    cdef void fill(self, intp_t feature, intp_t width, float64_t* out) noexcept nogil:
        # Class weights of each code, [codes, width]; all rows are labeled.
        cdef intp_t K = self.node.n_classes
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t _b, c
        for _b in range(self.metadata.columns[feature].n_levels):
            for c in range(K):
                out[c] = <float64_t> cell[c]
            if width > K:
                out[K] = 0.0
            out += width
            cell += self.width

    cdef intp_t walk(self, intp_t feature, Scan scan) noexcept nogil:
        cdef const Column* column = &self.metadata.columns[feature]
        # count_values() has filled the histogram otherwise; has_pool: some rows are unlabeled
        if not column.has_missing:
            self.fill(feature, self.node.n_classes + self.node.has_pool, self.histogram)
        return self.walk_levels(column, self.histogram, scan)

    cdef void sum_by_class(self, intp_t feature, float64_t* sums) noexcept nogil:
        self.fill(feature, self.node.n_classes, self.histogram)
        self.add_levels(&self.metadata.columns[feature], self.histogram, sums)

    cdef bint count_values(self, intp_t feature, ValueCounts* values) noexcept nogil:
        cdef const Column* column = &self.metadata.columns[feature]
        if not column.has_missing:
            return False
        self.fill(feature, self.node.n_classes + self.node.has_pool, self.histogram)
        self.sum_levels(column, self.histogram, values)
        return True

    cdef intp_t end_position(self, intp_t feature) noexcept nogil:
        # The largest code of a value that is not missing.
        cdef const Column* column = &self.metadata.columns[feature]
        return column.n_levels - 1 - column.has_missing

    cdef void labeled_range(self, intp_t feature, float32_t* low, float32_t* high) noexcept nogil:
        cdef const Column* column = &self.metadata.columns[feature]
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t low_code = 0
        cdef intp_t high_code = self.end_position(feature)
        while low_code < high_code and self.n_rows_of(cell + low_code * self.width) == 0:
            low_code += 1
        while high_code > low_code and self.n_rows_of(cell + high_code * self.width) == 0:
            high_code -= 1
        low[0] = column.levels[low_code]
        high[0] = column.levels[high_code]

    cdef intp_t index_of(self, intp_t feature, float64_t threshold) noexcept nogil:
        return index_of_level(&self.metadata.columns[feature], threshold)

    cdef float64_t threshold(self, intp_t feature, intp_t position) noexcept nogil:
        cdef const Column* column = &self.metadata.columns[feature]
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t low = position
        cdef intp_t high = position + 1
        while low > 0 and self.n_rows_of(cell + low * self.width) == 0:
            low -= 1
        while (
            high < self.end_position(feature)
            and self.n_rows_of(cell + high * self.width) == 0
        ):
            high += 1
        return midpoint(column.levels[low], lower_edge_of(column, high))

    cdef bint count_sides(
        self, intp_t feature, intp_t position, Children* children, ValueCounts* values
    ) noexcept nogil:
        cdef const Column* column = &self.metadata.columns[feature]
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t K = self.node.n_classes
        cdef intp_t code, side, c
        if column.has_missing:
            memset(values.missing, 0, (K + 1) * sizeof(float64_t))
            values.rows_missing = 0
            values.labeled_missing = 0
        for code in range(column.n_levels):
            if column.has_missing and code == column.n_levels - 1:
                values.rows_missing = <intp_t> self.n_rows_of(cell)
                values.labeled_missing = values.rows_missing
                for c in range(K):
                    values.missing[c] += <float64_t> cell[c]
            else:
                side = code > position
                children.rows[side] += <intp_t> self.n_rows_of(cell)
                for c in range(K):
                    children.counts[side * K + c] += <float64_t> cell[c]
                    children.pool[side] += <float64_t> cell[c]
            cell += self.width
        for side in range(2):
            children.n_labeled[side] = children.rows[side]
        if not column.has_missing:
            return False
        values.n_missing = sum_of(values.missing, K)
        return True

    cdef intp_t count_categories(self, intp_t feature, float64_t* counts) noexcept nogil:
        self.fill(feature, self.node.n_classes + 1, counts)
        return self.metadata.columns[feature].n_levels

    cdef void count_branches(self, intp_t feature, Children* children) noexcept nogil:
        cdef const int64_t* cell = self.cells + self.first[feature] * self.width
        cdef intp_t n, z, code
        for code in range(self.metadata.columns[feature].n_levels):
            n = <intp_t> self.n_rows_of(cell)
            z = children.child_of_code[code] if n > 0 else 0
            if z < 0:
                z = children.unknown
            children.rows[z] += n
            children.n_labeled[z] += n
            cell += self.width


class OpenNode(NamedTuple):
    """A node below which a tree is grown elsewhere, without its rows.

    `id_offset` is the difference between the ids of the nodes below it and those in a tree
    of their own; random draws depend on it. `bounds` are the limits of the probability
    of the second class that monotonicity constraints set (NodeRecord.low and high). `box`
    has the limits of the node in feature space, `features` those that it may split on.
    """

    id: int
    id_offset: int
    depth: int
    counts: np.ndarray
    n_labeled: int
    pool: float
    box: np.ndarray | None
    features: np.ndarray
    bounds: tuple[float, float]


# PartitionedSubtrees: the subtrees below small nodes of a tree whose rows are stored in parts.
#
# The rows of a small node are gathered somewhere, and a builder grows a tree from them there,
# while the upper tree continues to grow. In the end the trees are joined, with the node ids
# that a single builder would have used. If features or thresholds are drawn at random, they
# depend on these ids: each subtree is then waited for immediately. Best-first growth revisits
# nodes in any order and does not use subtrees.
cdef class PartitionedSubtrees(Helpers):
    """Grows the trees below the small nodes of a PartitionedSource elsewhere.

    A builder calls defer() before it examines a leaf, and finish() when no leaf is left.
    `draws`: features or thresholds are drawn at random, depending on node ids.
    """

    cdef PartitionedSource partitioned
    cdef bint draws
    cdef Py_ssize_t max_gathered    # rows of a node that is small
    cdef dict handles               # by node, the handle of its tree

    def __init__(self, PartitionedSource partitioned not None, bint draws):
        self.partitioned = partitioned
        self.draws = draws
        self.max_gathered = partitioned.nodes.max_gathered
        self.handles = {}

    cdef int check(self) except -1 nogil:
        with gil:
            return self.partitioned.check_parts()

    cdef bint defer(self, Builder builder, const FrontierNode* leaf) except -1 nogil:
        if leaf.record.end - leaf.record.start > self.max_gathered:
            return False
        with gil:
            self._defer(builder, leaf)
        return True

    cdef int _defer(self, Builder builder, const FrontierNode* leaf) except -1:
        cdef FrontierNode taken = leaf[0]
        cdef intp_t node = leaf.record.id
        cdef Tree tree
        handle = self.partitioned.nodes.grow(node, open_node(builder, leaf))
        self.partitioned.nodes.drop(node)
        builder._release(&taken)    # frees the arrays of the leaf
        if not self.draws:
            self.handles[node] = handle
            return 0
        [tree] = self.partitioned.nodes.gather([handle])
        if builder.tree.node_count + tree.node_count > builder.tree.capacity:
            builder.tree.reserve(builder.tree.node_count + tree.node_count)
        append_tree(builder.tree, node, tree)
        return 0

    cdef int finish(self, Builder builder) except -1 nogil:
        with gil:
            return self._join(builder)

    cdef int _join(self, Builder builder) except -1:
        if self.handles:
            trees = self.partitioned.nodes.gather(list(self.handles.values()))
            builder.tree = join_trees(builder.tree, dict(zip(self.handles, trees, strict=True)))
            self.handles = {}
        return 0


cdef open_node(Builder builder, const FrontierNode* leaf):
    cdef Tree tree = builder.tree
    cdef intp_t id = leaf.record.id
    cdef intp_t K = tree.n_classes
    cdef intp_t d = builder.splitter.node.n_features
    box = None
    if leaf.record.box != NULL:
        box = np.array(<float64_t[:d, :2]> leaf.record.box)
    features = np.empty(0, dtype=np.int32)
    if leaf.record.n_features > 0:
        features = np.array(<int32_t[:leaf.record.n_features]> leaf.record.features)
    return OpenNode(
        id, tree.node_count - 1, leaf.record.depth,
        np.array(<float64_t[:K]> (tree.counts + id * K)), tree.n_node_samples[id],
        leaf.record.pool, box, features, (leaf.record.low, leaf.record.high),
    )


cdef enum:
    MAX_BATCH_CELLS = 1048576  # counts of the nodes that are divided together (in one round)
    MAX_BATCH_NODES = 1024  # nodes that are divided together
    MIN_ROUNDS_PER_LEVEL = 4  # a round has at most a fourth of the rows, or one node


cdef class PartitionedRunnerUp(RunnerUp):
    """Compares a split with those of other features, for rows that are stored in parts.

    `Sides` has the outcomes of one split by code. Only nodes with at least the weight
    `min_weight` are compared.
    """

    cdef PartitionedSource partitioned

    def __init__(
        self, Splitter splitter not None, PartitionedSource partitioned not None,
        float64_t min_weight=0.0,
    ):
        super().__init__(splitter, partitioned.metadata, min_weight)
        self.partitioned = partitioned

    cdef void _count_cells(
        self, const NodeRecord* record, intp_t first, intp_t n, intp_t n_cells
    ) noexcept nogil:
        cdef intp_t K = self.splitter.node.n_classes
        cdef intp_t cell, c, k
        cdef const int64_t[:, ::1] counts
        # the counts of cells, [cells, K + 1]; the last column, of unlabeled rows, stays 0
        memset(self.int_tally, 0, n_cells * (K + 1) * sizeof(int32_t))
        with gil:
            try:
                splits = [_outcomes_by_code(&self.splits[0])]
                for k in range(first, first + n):
                    splits.append(_outcomes_by_code(&self.splits[k + 1]))
                counts = self.partitioned.nodes.count_cells(record.id, splits)
                for cell in range(n_cells):
                    for c in range(K):
                        self.int_tally[cell * (K + 1) + c] = <int32_t> counts[cell, c]
            except BaseException as error:
                self.partitioned.error = error


cdef _outcomes_by_code(const Sides* sides):
    # Return the feature, the outcomes by code, and the number of outcomes.
    cdef intp_t n_levels = sides.column.n_levels
    cdef intp_t code
    outcomes = np.empty(n_levels, dtype=np.uint16)
    for code in range(n_levels):
        if sides.nominal:
            outcomes[code] = sides.child_of_code[code]
        else:
            outcomes[code] = code > sides.position
    if sides.missing_code >= 0:  # -1: none
        outcomes[sides.missing_code] = not sides.missing_left
    return sides.feature, outcomes, sides.n_outcomes


cdef class PartitionedBuilder(Builder):
    """Grows a tree from a splitter whose source is a PartitionedSource.

    The parts count and divide large nodes, several at a time (a round) unless random draws
    depend on node ids. Depth-first growth leaves nodes of few rows to `helpers`.
    """

    cdef PartitionedSource partitioned
    cdef Py_ssize_t max_uncounted       # largest number of rows of a child without counts
    cdef Py_ssize_t n_per_round         # nodes that are divided in one round

    def __init__(
        self, Splitter splitter, GrowthSettings settings, float64_t min_split_weight,
        PartitionedRunnerUp runner_up, PartitionedSubtrees helpers not None,
    ):
        super().__init__(splitter, settings, min_split_weight, runner_up, helpers)
        self.partitioned = splitter.source
        # best-first growth counts every node here
        self.max_uncounted = 0 if self.best_first else helpers.max_gathered
        self.n_per_round = 1 if helpers.draws else self._capacity_for_counts()

    cdef intp_t _capacity_for_counts(self):
        cdef intp_t n_cells = self.partitioned.node_counts.size
        return min(max(1, MAX_BATCH_CELLS // n_cells), MAX_BATCH_NODES)

    cdef int _grow_depth_first(self) except -1 nogil:
        # A round takes its nodes from the top of the stack, so that the number of open nodes
        # with counts does not depend on the width of the tree.
        cdef FrontierNode* taken = <FrontierNode*> self.arena.take(
            self.n_per_round, sizeof(FrontierNode)
        )
        cdef intp_t i, n, n_rows
        while self.n_frontier > 0:
            n = n_rows = 0
            while self.n_frontier > 0 and n < self.n_per_round:
                taken[n] = self.frontier[self.n_frontier - 1]
                n_rows += taken[n].record.end - taken[n].record.start
                # their rows are stored twice until they have been divided; n_root: all rows
                if n > 0 and n_rows > self.n_root // MIN_ROUNDS_PER_LEVEL:
                    break
                self.n_frontier -= 1
                n += 1
            for i in range(n):
                self._grow_node(&taken[i])
            with gil:
                self.partitioned.divide_parts(self.max_uncounted)
        self.arena.release(taken)
        return self.helpers.finish(self)

    cdef int _examine(self, FrontierNode* leaf) except -1 nogil:
        Builder._examine(self, leaf)
        if leaf.split.feature < 0:
            with gil:
                self.partitioned.nodes.drop(leaf.record.id)
        return 0

    cdef int _split_leaf(self, FrontierNode* leaf) except -1 nogil:
        cdef intp_t n_waiting
        with gil:
            n_waiting = len(self.partitioned.pending)
        Builder._split_leaf(self, leaf)
        with gil:
            self.partitioned.check_parts()
            if len(self.partitioned.pending) == n_waiting:
                self.partitioned.nodes.drop(leaf.record.id)
        return 0

    cdef int _make_child(self, FrontierNode* parent, intp_t node, intp_t outcome) except -1 nogil:
        Builder._make_child(self, parent, node, outcome)
        with gil:
            self.partitioned.add_child(
                outcome, node, self.starts[outcome + 1] - self.starts[outcome]
            )
        return 0

    cdef int _add(self, FrontierNode* leaf) except -1 nogil:
        if self.best_first:     # needs the counts immediately
            with gil:
                self.partitioned.check_parts()
                self.partitioned.divide_parts(self.max_uncounted)
        return Builder._add(self, leaf)
