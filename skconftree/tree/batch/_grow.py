"""Growth of a tree from encoded rows, in memory or stored in parts.

A bound is the split rule of a tree. The pool is the weight of unlabeled rows, or the
volume of a node's box (its limits in feature space) if `by_volume`; some bounds use it.
Look-ahead (_lookahead.pyx) chooses a split by the trees that can be grown below it, its
trials; LeafCost is the cost of a leaf by which they are compared. If repeated rows do
not count as evidence, `distinct` has the weight of each row for the bound.

Rows are in node order if each node is a range of the arrays. Parts of a table are in
files or on other machines; the rows of a small node are gathered from them, and the
node, an OpenNode, is passed to `GrowBelow` (_parts.pyx). Kernels are the compiled
criterion and bound. A feature with few values is *coded*: each row has the index of its
value; all others are sorted. A *source* gives a splitter the rows of a node.
*Competitors* are the best splits on other features, and the *runner-up* is the best of
them. A bound that `tests_features` first selects the feature with the smallest p-value.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ...tables._encoded_table import EncodedTable, RowCodes
from ..nodes._tree import Tree
from ..split._kernels import make_kernels
from ..split._node import RootStats
from ..split._splitter import Splitter
from ._builder import Builder
from ._lookahead import LookaheadBuilder
from ._near_ties import RunnerUp
from ._node_rows import NodeRows
from ._parts import (
    PartitionedBuilder,
    PartitionedRunnerUp,
    PartitionedSource,
    PartitionedSubtrees,
)
from ._sampled_source import SampledSource
from ._subtrees import SharedSource, SharedSplitter, Subtrees, Workers
from ._table_source import TableSource


def make_partitioned_builder(nodes, growth, root, root_stats, uses_lookup):
    """Return the builder of a tree from nodes in parts, see `_parts.pyx`.

    `growth` is a `_Growth`, `root` the `RootStats` (statistics of the rows) of the
    tree, and `root_stats` makes those of the trees below its nodes. `uses_lookup` is
    the result of the function of this name.
    """
    settings = growth.settings
    table = EncodedTable.of_codes(1, nodes.column_metadata)
    label = np.zeros(1, np.uint16)  # the metadata are those of a table of one row
    metadata = NodeRows(table, label, multiway=settings.multiway)
    source = PartitionedSource(nodes, metadata, settings, root)
    splitter = growth.splitter(source)
    runner_up = None
    if growth.may_compare and not uses_lookup:
        runner_up = PartitionedRunnerUp(splitter, source, growth.min_compared_weight)
    nodes.set_grow_below(GrowBelow(growth, root_stats, uses_lookup))
    return PartitionedBuilder(
        splitter,
        settings,
        growth.min_split_weight,
        runner_up,
        PartitionedSubtrees(source, growth.is_randomized),
    )


class GrowBelow:
    """Grows the tree below a node with gathered rows, in any process or thread."""

    def __init__(self, growth, root_stats, uses_lookup):
        self.growth, self.root_stats, self.uses_lookup = growth, root_stats, uses_lookup
        self._kernels = []  # those that no thread uses at present

    def __reduce__(self):
        return GrowBelow, (self.growth, self.root_stats, self.uses_lookup)

    def __call__(self, node, columns, y, counts, distinct):
        """Grow the tree below an `OpenNode`.

        The arguments are coded columns, class indices, how often each row occurs, and
        the `distinct` weights. `node.bounds` are the limits that monotonicity
        constraints set for the probability of the second class. Random draws depend on
        node ids: `node.id_offset` is added to those of the tree below it.
        """
        try:
            kernels = self._kernels.pop()
        except IndexError:
            kernels = self.growth.kernels()
        growth = self.growth._replace(kernels=lambda: kernels)
        settings = growth.settings
        table = EncodedTable.of_codes(len(y), columns)
        root = self.root_stats(
            distinct=distinct, root_id=node.id, id_offset=node.id_offset
        )
        source = None
        if self.uses_lookup:
            source = SampledSource(RowCodes(table), y, counts, settings, root)
        if source is None or not source.is_supported:
            rows = NodeRows(table, y, counts, multiway=settings.multiway, consumes=True)
            source = TableSource(rows, settings, root)
        tree = Tree(
            growth.n_features,
            growth.n_classes,
            growth.class_weight,
            keep_evidence=settings.bound is not None,
            keep_competitors=growth.may_compare and not self.uses_lookup,
            keep_stops=growth.keeps_stops,
        )
        tree = growth.builder(growth.splitter(source), source).build(
            tree,
            node.counts,
            node.n_labeled,
            node.pool,
            node.box,
            node.features,
            node.depth,
            *node.bounds,
        )
        self._kernels.append(kernels)
        return tree


class Lookahead(NamedTuple):
    """Settings of look-ahead: upper splits are chosen by the subtrees below them."""

    leaf_cost: object  # LeafCost, of one worker
    first: int  # first depth
    n_levels: int  # number of depths
    width: int  # splits tried per node
    on_progress: object = None  # called with a level and its parts that are done
    n_parts: int = 1  # of a level
    make_leaf_cost: object = None  # returns the LeafCost of another worker


# Up to this weight of a table, all splits are compared with their runners-up (the best
# splits of other features). In larger tables, only those of nodes with at least this
# share of the weight are compared, to save time.
MAX_COMPARED_WEIGHT, MIN_COMPARED_SHARE = 10_000.0, 0.25
# Smallest number of values (rows times features) of a node whose columns are shared
# among threads (about 1 ms of work), and of a node whose subtree is the task of a
# single thread.
MIN_SHARED_VALUES, MIN_TASK_VALUES = 65_536, 4_096
# In larger tables, large nodes sort few of their rows (_sampled_source.pyx).
MIN_PRUNED_ROWS = 20_000
MAX_RESERVED_WEIGHT = 2**62  # largest count for tables of functions of counts


def grow(
    data,
    settings,
    seed=0,
    *,
    left_out=None,
    consumes=False,
    lookahead=None,
    thread_team=None,
    keeps_stops=False,
):
    """Grow a tree in batch from `GrowthData` (tables/_growth_data.py).

    Any number of threads may grow trees from the same data at once.

    The sample of the data has the number of occurrences of each row. Rows are never
    copied. The tree and the statistics of its splits are those of a table in which each
    row is repeated as often as it occurs in the sample, but `n_node_samples` counts
    each row once. If rows are repeated more than four times on average, these
    statistics may differ in their last bits. A `lookahead` requires a bound that
    decides about each split alone, and a sample without `distinct` weights (all
    conditions: `resolve_lookahead` in tree/_parameters.py). Features in the mask
    `left_out` are not searched. `consumes` saves a copy of the table's arrays; the data
    cannot be used again. The threads of a `thread_team` share the work, unless the
    table is sparse or nodes look up codes (see `uses_lookup`); the tree is the same.
    With `keeps_stops`, the tree stores why each leaf was not split.
    """
    sample = data.sample()
    distinct = sample.distinct
    class_weight = data.class_weight
    root_weight = float(sample.class_counts.sum())
    total_weight = root_weight
    if class_weight is not None:
        total_weight = float((sample.class_counts * class_weight).sum())
    by_volume = settings.by_volume
    has_pool = by_volume or sample.pool > 0.0
    nodes = None
    if lookahead is None:
        nodes = data.nodes(sample, thread_team)  # None if the rows are in memory
    box = None
    if by_volume:
        box = data.limits(sample) if nodes is None else nodes.limits()

    largest = None
    if data.is_whole and class_weight is None:  # all weights are integers
        largest = int(min(root_weight, MAX_RESERVED_WEIGHT))
    root_stats = partial(
        RootStats,
        data.n_features,
        data.n_classes,
        class_weight=class_weight,
        n_categories=data.n_categories,
        seed=seed,
        has_pool=has_pool,
        integral=data.is_whole,
        weighted=sample.weight is not None,
        largest_count=int(root_weight + sample.pool),
        weight=root_weight if distinct is None else float(distinct.sum()),
        total_weight=total_weight,
        min_weight=_weight(settings.min_samples_leaf, root_weight),
        min_reweighted=settings.min_weight_fraction_leaf * total_weight,
    )
    examines_all = settings.max_features == data.n_features
    growth = _Growth(
        settings,
        partial(make_kernels, settings, data.n_classes, largest),
        lookahead,
        data.n_features,
        data.n_classes,
        class_weight,
        is_randomized=settings.random_cuts or settings.max_features < data.n_features,
        may_compare=settings.bound is not None and examines_all,
        min_compared_weight=(
            MIN_COMPARED_SHARE * root_weight
            if root_weight > MAX_COMPARED_WEIGHT
            else 0.0
        ),
        min_split_weight=_weight(settings.min_samples_split, root_weight),
        keeps_stops=keeps_stops,
    )
    root = root_stats(distinct=distinct)
    source = workers = None
    has_counts = sample.weight is None and not has_pool and not data.is_sparse
    uses_codes = has_counts and lookahead is None and uses_lookup(data, settings)
    if nodes is None:
        if uses_codes:
            source = SampledSource(
                data.row_codes(), data.y, sample.count, settings, root
            )
        if source is None or not source.is_supported:
            rows = NodeRows(
                data.columns(),
                data.y,
                sample.count,
                sample.weight,
                settings.multiway,
                consumes,
            )
            if thread_team is None or data.is_sparse:
                source = TableSource(rows, settings, root)
            else:
                workers = Workers(thread_team, data.n_features, MIN_SHARED_VALUES)
                source = SharedSource(rows, settings, root, workers)
        compares = growth.compares(source)
    else:
        compares = growth.may_compare and not uses_codes
    if nodes is not None:
        builder = make_partitioned_builder(nodes, growth, root, root_stats, uses_codes)
    elif workers is None:
        splitter = growth.splitter(source)
        builder = growth.builder(splitter, source)
    else:
        builder = _shared_builder(growth, source, workers, root)
    tree = Tree(
        data.n_features,
        data.n_classes,
        class_weight,
        keep_evidence=settings.bound is not None,
        keep_costs=lookahead is not None,
        keep_competitors=compares,
        keep_stops=keeps_stops,
    )
    root_pool = 1.0 if by_volume else root_weight + sample.pool
    searched = np.arange(data.n_features, dtype=np.int32)
    if left_out is not None:
        searched = searched[~left_out]
    return builder.build(
        tree, sample.class_counts, sample.n_labeled, root_pool, box, searched
    )


class _Growth(NamedTuple):
    """Arguments that the splitters and builders of one tree have in common.

    `is_randomized`: features or thresholds are drawn at random, depending on node ids.
    Splits of nodes with at least the weight `min_compared_weight` are compared with
    runners-up, if rows are in node order. Nodes with at least the weight
    `min_split_weight` may be split.
    """

    settings: object
    kernels: object  # returns the criterion and the bound of a worker
    lookahead: Lookahead | None
    n_features: int
    n_classes: int
    class_weight: np.ndarray | None
    is_randomized: bool
    may_compare: bool
    min_compared_weight: float
    min_split_weight: float
    keeps_stops: bool

    def splitter(self, source, kind=Splitter, *shared):
        criterion, bound = self.kernels()
        stores_all_features = self.lookahead is not None  # their best splits
        return kind(source, criterion, bound, stores_all_features, *shared)

    def compares(self, source):
        # only a TableSource has rows in node order
        return self.may_compare and isinstance(source, TableSource)

    def builder(self, splitter, source, helpers=None, trial_helpers=None):
        # helpers: threads that grow the subtrees that a builder (of trials) defers
        min_split_weight = self.min_split_weight
        runner_up = None
        if self.compares(source):
            runner_up = RunnerUp(splitter, source.rows, self.min_compared_weight)
        if self.lookahead is None:
            return Builder(
                splitter, self.settings, min_split_weight, runner_up, helpers
            )
        *options, _ = self.lookahead  # without make_leaf_cost
        trial = Tree(
            self.n_features, self.n_classes, self.class_weight, keep_evidence=False
        )
        return LookaheadBuilder(
            splitter,
            self.settings,
            min_split_weight,
            trial,
            *options,
            runner_up,
            helpers,
            trial_helpers,
        )

    def of_another_worker(self):
        """Return these arguments for another worker, which does not report progress."""
        if self.lookahead is None:
            return self
        cost = self.lookahead.make_leaf_cost()
        return self._replace(
            lookahead=self.lookahead._replace(leaf_cost=cost, on_progress=None)
        )


def _shared_builder(growth, source, workers, root):
    # Every worker, including the calling thread, has a builder, in addition to the
    # builder that defers nodes for them. Random draws depend on node ids, which are not
    # known until the end, and best-first growth does not defer nodes.
    builders = []
    for _ in range(workers.n_workers):
        worker_growth = growth.of_another_worker()
        worker_source = TableSource(source.rows, growth.settings, root)
        splitter = worker_growth.splitter(worker_source)
        workers.add(splitter)
        builders.append(worker_growth.builder(splitter, worker_source))
    if growth.is_randomized:
        builders = []
    splitter = growth.splitter(source, SharedSplitter, workers)
    subtrees = Subtrees(workers, builders, MIN_TASK_VALUES)
    trials = None
    if growth.lookahead is not None:
        trial_builders = [builder.trials for builder in builders]
        trials = Subtrees(workers, trial_builders, MIN_TASK_VALUES)
    return growth.builder(splitter, source, subtrees, trials)


def uses_lookup(data, settings):
    """Whether nodes look up the codes of features, instead of dividing all columns.

    A column is divided between the children of every node, so that the rows of a node
    are adjacent. This is wasted for features that the node does not examine.

    The factors are measured costs per row of a node. Dividing a sorted feature takes 3
    times as long as dividing a coded one. Looking up and sorting takes 6 times as long
    as dividing, looking up and counting 1.5 times. Large nodes of two classes sort few
    of their rows, which saves a third.
    """
    n_coded = data.n_coded
    n_sorted = data.n_features - n_coded
    if getattr(settings.bound, "tests_features", False):
        return False  # such nodes sum values of columns
    share = settings.max_features / data.n_features
    sorting = 18.0
    if n_sorted > 0 and data.n_classes == 2 and data.n_rows >= MIN_PRUNED_ROWS:
        sorting = 12.0
    return share * (sorting * n_sorted + 1.5 * n_coded) <= 3.0 * n_sorted + n_coded


def _weight(limit, total):
    # A negative limit is a fraction of the total, with the sign reversed.
    return limit if limit >= 0.0 else float(math.ceil(-limit * total))
