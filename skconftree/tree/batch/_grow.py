"""From a table's rows and parameters to a grown tree."""

import numpy as np

from ..nodes._tree import Tree
from ..split._criterion import CRITERIA
from ._builder import Builder
from ._column_splitter import ColumnSplitter
from ._node_rows import NodeRows

LARGEST = 2**62  # weight for which tables are asked; they end long before it


def grow(
    data,
    counts=None,
    *,
    criterion,
    bound,
    pool_weight="pool",
    splitter="best",
    max_depth=None,
    min_samples_split=2.0,
    min_samples_leaf=1.0,
    min_weight_fraction_leaf=0.0,
    max_features=None,
    max_leaf_nodes=None,
    min_impurity_decrease=0.0,
    tie_threshold=0.0,
    seed=0,
    multiway=False,
    left_out=None,
    spends=False,
):
    """Grow a tree in batch.

    Any number of threads may grow trees from the same data at once.

    Parameters
    ----------
    data : TrainingData
    counts : ndarray of shape (n_rows,), uint8, uint16 or uint32, or None
        How often each row of the table is in the tree's sample; 0 is absence. None:
        every row once. Rows are never copied. The tree, its evidence included, is that
        of a table in which the rows are repeated; `n_node_samples` counts a row once.
        Where rows are repeated more than four times on average, sums of evidence may
        differ in their last bits.
    criterion : str
    bound : BaseBound or None
        Checked parameter object.
    pool_weight : {"pool", "labelled", "volume"}
        What the weight W of a node is.
    splitter, max_depth, max_leaf_nodes, min_impurity_decrease, \
            min_weight_fraction_leaf
        As in `ConfidenceTreeClassifier`.
    min_samples_split, min_samples_leaf : float
        Weights.
    max_features : int or None
    tie_threshold : float
        Of race bounds.
    seed : int
    multiway : bool
        Whether nominal tests have a branch for every category.
    left_out : ndarray of shape (n_features,), bool, or None
        Features that are not searched.
    spends : bool
        Take over the arrays of the table, which saves their copy; `data` cannot be
        used any more.

    Returns
    -------
    Tree
    """
    sample = data.sample(counts)
    class_weight = data.class_weight
    root_weight = float(sample.class_counts.sum())
    reweighted = sample.class_counts
    if class_weight is not None:
        reweighted = reweighted * class_weight
    by_volume = pool_weight == "volume"
    box = data.limits(sample) if by_volume else None

    rows = NodeRows(data.table, data.y, sample.count, sample.weight, multiway, spends)
    score = CRITERIA[criterion](data.n_classes)
    kernel = None
    if bound is not None:
        kernel = bound.kernel(criterion, data.n_classes, tie_threshold=tie_threshold)
    if data.is_whole and class_weight is None:
        largest = int(min(root_weight, LARGEST))
        score.reserve(largest)
        if kernel is not None and kernel.score is not None:
            kernel.score.reserve(largest)
    options = {
        "max_features": data.n_features if max_features is None else max_features,
        "random_cuts": splitter == "random",
        "has_pool": by_volume or sample.pool > 0.0,
        "by_volume": by_volume,
        "integral": data.is_whole,
        "weighted": sample.weight is not None,
        "largest_count": int(sample.n_rows_repeated),
        "min_weight": float(min_samples_leaf),
        "min_seen_weight": min_weight_fraction_leaf * float(reweighted.sum()),
        "min_impurity_decrease": min_impurity_decrease,
        "total_weight": float(reweighted.sum()),
        "time": root_weight,
        "seed": seed,
        "n_categories": data.n_categories,
        "multiway": multiway,
    }
    builder = Builder(
        ColumnSplitter(rows, score, kernel, options, class_weight),
        np.iinfo(np.int32).max if max_depth is None else max_depth,
        float(min_samples_split),
        -1 if max_leaf_nodes is None else max_leaf_nodes,
    )
    tree = Tree(data.n_features, data.n_classes, class_weight)
    root_pool = 1.0 if by_volume else root_weight + sample.pool
    searched = np.arange(data.n_features, dtype=np.int32)
    if left_out is not None:
        searched = searched[~left_out]
    builder.build(
        tree, sample.class_counts, sample.n_labelled, root_pool, box, searched
    )
    return tree
