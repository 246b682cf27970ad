"""From validated arrays and parameters to a grown tree."""

import numpy as np

from ._builder import Builder
from ._column_splitter import ColumnSplitter
from ._columns import Columns
from ._criterion import CRITERIA
from ._sparse import column_limits, stack_rows
from ._tree import Tree

LARGEST = 2**62  # weight for which tables are asked; they end long before it


def grow(
    X,
    y,
    n_classes,
    *,
    criterion,
    bound,
    sample_weight=None,
    class_weight=None,
    X_pool=None,
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
    n_categories=None,
    multiway=False,
    left_out=None,
):
    """Grow a tree in batch.

    Parameters
    ----------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,)
        Class indices.
    n_classes : int
    criterion : str
    bound : BaseBound or None
        Checked parameter object.
    sample_weight : ndarray of shape (n_rows,), float64, or None
        Positive weights.
    class_weight : ndarray of shape (n_classes,), float64, or None
    X_pool : ndarray or sparse of shape (n_pool, n_features), float32, or None
        Rows without label.
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
    n_categories : ndarray of shape (n_features,), int32, or None
        0 for a numeric feature, in which NaN is a missing value; else its values are
        codes below this number, or -1 in rows without label. None: all are numeric.
    multiway : bool
        Whether nominal tests have a branch for every category.
    left_out : ndarray of shape (n_features,), bool, or None
        Features that are not searched.

    Returns
    -------
    Tree
    """
    n_rows, n_features = X.shape
    whole = sample_weight is None or bool(
        np.all(sample_weight == np.rint(sample_weight))
    )
    if sample_weight is not None and np.all(sample_weight == 1.0):
        sample_weight = None
    counts = np.bincount(y, weights=sample_weight, minlength=n_classes).astype(float)
    root_weight = counts.sum()
    reweighted = counts if class_weight is None else counts * class_weight

    rows, labels, weights = X, y, sample_weight
    if X_pool is not None and pool_weight != "labelled":
        rows = stack_rows(X, X_pool)
        labels = np.concatenate([y, np.full(X_pool.shape[0], n_classes)])
        if sample_weight is not None:
            weights = np.concatenate([sample_weight, np.ones(X_pool.shape[0])])
    by_volume = pool_weight == "volume"
    box = column_limits(rows) if by_volume else None

    columns = Columns(rows, labels.astype(np.uint16), weights, n_categories, multiway)
    score = CRITERIA[criterion](n_classes)
    kernel = None if bound is None else bound.kernel(criterion, n_classes)
    if hasattr(kernel, "tie_threshold"):
        kernel.tie_threshold = tie_threshold
    if whole and class_weight is None:
        largest = int(min(root_weight, LARGEST))
        score.reserve(largest)
        if kernel is not None and kernel.score is not None:
            kernel.score.reserve(largest)
    options = {
        "max_features": n_features if max_features is None else max_features,
        "random_cuts": splitter == "random",
        "has_pool": by_volume or len(labels) > n_rows,
        "by_volume": by_volume,
        "integral": whole,
        "weighted": weights is not None,
        "largest_count": len(labels),
        "min_weight": float(min_samples_leaf),
        "min_seen_weight": min_weight_fraction_leaf * float(reweighted.sum()),
        "min_impurity_decrease": min_impurity_decrease,
        "total_weight": float(reweighted.sum()),
        "time": float(root_weight),
        "seed": seed,
        "n_categories": n_categories,
        "multiway": multiway,
    }
    builder = Builder(
        ColumnSplitter(columns, score, kernel, options, class_weight),
        np.iinfo(np.int32).max if max_depth is None else max_depth,
        float(min_samples_split),
        -1 if max_leaf_nodes is None else max_leaf_nodes,
    )
    tree = Tree(n_features, n_classes, class_weight)
    root_pool = 1.0 if by_volume else root_weight + len(labels) - n_rows
    searched = np.arange(n_features, dtype=np.int32)
    if left_out is not None:
        searched = searched[~left_out]
    builder.build(tree, counts, n_rows, root_pool, box, searched)
    return tree
