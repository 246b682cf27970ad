"""From a table's rows and the settings of a growth to a grown tree."""

import math
from typing import NamedTuple

import numpy as np

from ..nodes._tree import Tree
from ..split._kernels import make_kernels
from ..split._node import RootFacts
from ..split._splitter import Splitter
from ._builder import Builder
from ._drawn_source import DrawnSource
from ._lookahead import LookaheadBuilder
from ._node_rows import NodeRows
from ._runner_up import RunnerUp
from ._table_source import TableSource


class Lookahead(NamedTuple):
    """How far, and by what, a growth looks ahead."""

    leaf_cost: object  # LeafCost, of one worker
    first: int  # depth from which on it does
    n_levels: int  # depths at which it does
    width: int  # tests tried at a node
    told: object = None  # called with a level and its parts that are done
    n_parts: int = 1  # of a level


# Weight of the rows up to which all splits are compared with runners-up; in larger
# tables those of nodes with this share of it, as more would be felt.
LARGEST_COMPARED, COMPARED_SHARE = 10_000.0, 0.25
LARGEST = 2**62  # weight for which tables are asked; they end long before it


def grow(
    data,
    counts,
    settings,
    seed=0,
    *,
    left_out=None,
    distinct=None,
    spends=False,
    lookahead=None,
):
    """Grow a tree in batch.

    Any number of threads may grow trees from the same data at once.

    `counts`, an array of whole numbers or None, say how often each row of the table is
    in the tree's sample. Rows are never copied: the tree, its evidence included, is
    that of a table in which the rows are repeated; `n_node_samples` counts a row once.
    Where rows are repeated more than four times on average, sums of evidence may differ
    in their last bits. Features that are `left_out`, a mask, are not searched.
    `distinct` is what the rows weigh for the bound, as in `RootFacts`, if not as much
    as in the sample; not with a `lookahead`, which needs `serves_lookahead`. Who
    `spends` the data, which saves a copy of the table's arrays, cannot use it again.
    """
    sample = data.sample(counts)
    class_weight = data.class_weight
    root_weight = float(sample.class_counts.sum())
    total_weight = root_weight
    if class_weight is not None:
        total_weight = float((sample.class_counts * class_weight).sum())
    by_volume = settings.by_volume
    has_pool = by_volume or sample.pool > 0.0
    box = data.limits(sample) if by_volume else None

    largest = None
    if data.is_whole and class_weight is None:
        largest = int(min(root_weight, LARGEST))
    criterion, bound = make_kernels(settings, data.n_classes, largest)
    root = RootFacts(
        data.n_features,
        data.n_classes,
        class_weight=class_weight,
        n_categories=data.n_categories,
        distinct=distinct,
        seed=seed,
        has_pool=has_pool,
        integral=data.is_whole,
        weighted=sample.weight is not None,
        largest_count=int(sample.n_rows_repeated),
        weight=root_weight if distinct is None else float(distinct.sum()),
        total_weight=total_weight,
        min_weight=_weight(settings.min_samples_leaf, root_weight),
        min_seen_weight=settings.min_weight_fraction_leaf * total_weight,
    )
    source = None
    in_counts = sample.weight is None and not has_pool and not data.is_sparse
    if in_counts and lookahead is None and looks_up(data, settings):
        source = DrawnSource(data.row_codes, data.y, sample.count, settings, root)
    if source is None or not source.fits:
        rows = NodeRows(
            data.table, data.y, sample.count, sample.weight, settings.multiway, spends
        )
        source = TableSource(rows, settings, root)
    splitter = Splitter(source, criterion, bound, lookahead is not None)
    min_split_weight = _weight(settings.min_samples_split, root_weight)
    runner_up = None
    if (
        bound is not None
        and settings.max_features == data.n_features
        and isinstance(source, TableSource)  # the other has no rows in node order
    ):
        least = COMPARED_SHARE * root_weight if root_weight > LARGEST_COMPARED else 0.0
        runner_up = RunnerUp(splitter, source.rows, least)
    if lookahead is None:
        builder = Builder(splitter, settings, min_split_weight, runner_up)
    else:
        trial = Tree(data.n_features, data.n_classes, class_weight, False)
        builder = LookaheadBuilder(
            splitter, settings, min_split_weight, trial, *lookahead, runner_up
        )
    tree = Tree(
        data.n_features,
        data.n_classes,
        class_weight,
        settings.bound is not None,
        keep_costs=lookahead is not None,
        keep_rivals=runner_up is not None,
    )
    root_pool = 1.0 if by_volume else root_weight + sample.pool
    searched = np.arange(data.n_features, dtype=np.int32)
    if left_out is not None:
        searched = searched[~left_out]
    builder.build(
        tree, sample.class_counts, sample.n_labelled, root_pool, box, searched
    )
    return tree


def looks_up(data, settings):
    """Whether nodes look up the codes of features, instead of dividing all of them.

    What a row costs at a node has been measured: to divide a sorted feature takes three
    times as long as a coded one; to look up and sort takes six times as long as to
    divide, to look up and count half as long again.
    """
    n_coded = data.table.n_coded
    n_sorted = data.n_features - n_coded
    share = settings.max_features / data.n_features
    return share * (18.0 * n_sorted + 1.5 * n_coded) <= 3.0 * n_sorted + n_coded


def _weight(limit, total):
    # Below 0 it is minus a fraction of the total.
    return limit if limit >= 0.0 else float(math.ceil(-limit * total))
