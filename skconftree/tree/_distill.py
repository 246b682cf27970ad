"""Distillation: a tree fitted to the predictions of another classifier.

The tree is trained on real rows, those that the user passes, and on synthetic rows. A
*schema* has the names, types and categories of the columns. *Competitors* are the best
splits on other features.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import InvalidParameterError, _safe_indexing
from ..tables._frames import library_of
from ..tables._growth_data import stream_weights
from ..tables._labels import Classes, split_labels
from ..tables._schema import Schema
from ..utils._codec import is_count
from ..utils._lock import reads_argument  # locks the estimator
from ..utils._types import Estimator, LabelsLike, Seed, TableLike
from ..utils._warnings import warn
from ._classes import ConfidenceTreeClassifier
from .nodes._derived import sum_of_leaves
from .reading._evidence import format_rows


def real_competitors(tree, rows, codes, weight, n_real):
    """Compare the split of each node with its runner-up, the best of another feature.

    `codes` are the class indices of the rows. All rows are used to select splits, as in
    training; only the real rows, the first `n_real`, are used to test whether the gains
    differ. Returns for each node the feature of the other split, negative if there is
    none, and the difference of the gains in standard errors; NaN if there is nothing to
    compare.
    """
    nodes = tree.tree_
    competitors = nodes.evidence["runner_up_feature"].astype(np.intp)
    z = np.full(nodes.node_count, np.nan)
    paths = tree.decision_path(rows).tocsc()
    is_nominal = tree.is_categorical_
    columns = {}
    for node in np.flatnonzero(competitors >= 0).tolist():
        competitor = int(competitors[node])
        if competitor not in columns:
            column = _safe_indexing(rows, [competitor], axis=1)
            columns[competitor] = column.tocsr() if hasattr(column, "tocsr") else column
        node_rows = np.sort(_rows_of_node(paths, node))
        branch = np.empty(len(node_rows), dtype=np.intp)
        for index, child in enumerate(nodes.children(node).tolist()):
            branch[np.searchsorted(node_rows, _rows_of_node(paths, child))] = index
        column = _safe_indexing(columns[competitor], node_rows)
        nominal = is_nominal is not None and is_nominal[competitor]
        stump = ConfidenceTreeClassifier(
            bound=None,
            criterion="entropy",
            max_depth=1,
            pruning=None,
            categorical_features=[0] if nominal else None,
            sample_weight_kind="frequency",
        ).fit(column, codes[node_rows], sample_weight=weight[node_rows])
        if stump.get_n_leaves() < 2:
            continue
        n = np.searchsorted(node_rows, n_real)
        z[node] = _preference(
            branch[:n],
            stump.apply(column)[:n],
            codes[node_rows[:n]],
            weight[node_rows[:n]],
        )
    return competitors, z


def _rows_of_node(paths, node):
    return paths.indices[paths.indptr[node] : paths.indptr[node + 1]]


def _preference(first, second, codes, weight):
    # Difference of the gains in standard errors. The contribution of a row to a gain is
    # the logarithm of the share of its class among the rows of its branch.
    if not len(codes):
        return np.nan
    difference = _log_share(first, codes, weight) - _log_share(second, codes, weight)
    n = weight.sum()
    mean = (weight * difference).sum() / n
    variance = (weight * difference**2).sum() / n - mean**2
    if variance <= 1e-14:  # both split the rows in the same way
        return 0.0
    return mean * np.sqrt(n / variance)


def _log_share(branch, codes, weight):
    # Logarithm of the share of each row's class among the rows of its branch.
    joint = np.zeros((branch.max() + 1, codes.max() + 1))
    np.add.at(joint, (branch, codes), weight)
    n_class = joint[branch, codes]
    return np.log(n_class / joint.sum(axis=1)[branch])


N_NEIGHBORS = 5
SHARE_CHANGED = 0.5  # share of the values of a row that are replaced


def can_make_synthetic_rows(X):
    """Whether synthetic rows are supported: for arrays and pandas frames."""
    if library_of(X) is not None:  # a data frame
        return hasattr(X, "iloc")
    return isinstance(X, np.ndarray) and X.ndim == 2


def make_synthetic_rows(X, codes, nominal, n_rows, weight, rng):
    """Generate synthetic rows between those of a table and their neighbors.

    A row is sampled by weight, and one of its nearest neighbors. Half of the values are
    replaced: a category by that of the neighbor, a number by a normal random number
    with the neighbor's value as mean and the difference of the two values as standard
    deviation. Columns of integers get integers, and no value is outside the range of
    its column. If a value is missing in one of the two rows, it is not replaced.

    `codes` are the values of X with codes of categories, NaN or below 0 if missing.
    Returns an array or frame like X.
    """
    share = None if weight is None else weight / weight.sum()
    sampled = rng.choice(len(codes), n_rows, p=share)
    neighbors = _neighbors(_coordinates(codes, nominal), sampled, rng)
    known = ~(
        _is_missing(codes[sampled], nominal) | _is_missing(codes[neighbors], nominal)
    )
    changed = known & (rng.random_sample(known.shape) < SHARE_CHANGED)
    steps = rng.standard_normal(known.shape)
    synthetic, neighbor_rows = _safe_indexing(X, sampled), _safe_indexing(X, neighbors)
    if isinstance(synthetic, np.ndarray):
        for j, changes in enumerate(changed.T):
            value, new_value = synthetic[:, j], neighbor_rows[:, j]
            if not nominal[j]:
                new_value = _normal_around(value, new_value, steps[:, j], X[:, j])
            synthetic[:, j] = np.where(changes, new_value, value)
        return synthetic
    columns = {}
    for j, changes in enumerate(changed.T):
        value, new_value = (
            part.iloc[:, j].reset_index(drop=True)
            for part in (synthetic, neighbor_rows)
        )
        if nominal[j]:
            columns[j] = value.mask(changes, new_value)
        else:
            value, new_value = _numbers(value), _numbers(new_value)
            new_value = _normal_around(
                value, new_value, steps[:, j], _numbers(X.iloc[:, j])
            )
            columns[j] = np.where(changes, new_value, value)
    synthetic = type(synthetic)(columns)
    synthetic.columns = X.columns
    return synthetic


def _numbers(column):
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _normal_around(value, mean, steps, column):
    # Normal random numbers around `mean` with standard deviation |value - mean|.
    value, mean, column = (
        np.asarray(part, np.float64) for part in (value, mean, column)
    )
    drawn, known = mean + steps * np.abs(value - mean), column[~np.isnan(column)]
    if not len(known):
        return drawn
    drawn = drawn if np.any(known % 1.0) else np.round(drawn)
    return np.clip(drawn, known.min(), known.max())


def _is_missing(codes, nominal):
    return np.isnan(codes) | ((codes < 0.0) & nominal)


def _coordinates(codes, nominal):
    # Coordinates of rows: standardized numbers, and an indicator column per category.
    # Two different categories have the distance sqrt(2), as two numbers that differ by
    # sqrt(2) standard deviations.
    numbers = codes[:, ~nominal].astype(np.float64)
    missing = np.isnan(numbers)
    n_known = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, numbers).sum(axis=0) / n_known
    numbers = np.where(missing, 0.0, numbers - mean)
    scale = np.sqrt((numbers**2).sum(axis=0) / n_known)
    numbers /= np.where(scale > 0.0, scale, 1.0)
    if not nominal.any():
        return numbers
    parts = [sparse.csr_array(numbers)]
    for j in np.flatnonzero(nominal):
        known = np.flatnonzero(codes[:, j] >= 0.0)
        category = codes[known, j].astype(np.intp)
        shape = len(codes), int(category.max(initial=0)) + 1
        parts.append(sparse.csr_array((np.ones(len(known)), (known, category)), shape))
    return sparse.hstack(parts, format="csr")


def _neighbors(coordinates, sampled, rng):
    # A random near neighbor of each sampled row; the row itself if there is no other.
    n = min(N_NEIGHBORS, coordinates.shape[0] - 1)
    if n == 0:
        return sampled
    rows, inverse = np.unique(sampled, return_inverse=True)
    nearest = NearestNeighbors(n_neighbors=n + 1).fit(coordinates)
    neighbors = nearest.kneighbors(coordinates[rows], return_distance=False)
    # Among duplicates the row itself may be missing: remove it, or else the farthest.
    is_row_itself = neighbors == rows[:, None]
    is_row_itself[~is_row_itself.any(axis=1), -1] = True
    neighbors = neighbors[~is_row_itself].reshape(len(rows), n)
    return neighbors[inverse, rng.randint(n, size=len(sampled))]


MIN_DEFAULT_LEAVES = 16  # minimum of the default `max_leaf_nodes`
MIN_REAL_ROWS = 50  # with fewer, there is a warning
PRIOR = 20  # weight, in real rows, of the mean of all rows of a leaf


@reads_argument
def distill(
    classifier: Estimator,
    X: TableLike,
    y: LabelsLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    max_leaf_nodes: int | None = None,
    n_rows: int | None = 20_000,
    categorical_features: ArrayLike | None = "from_dtype",
    random_state: Seed = None,
) -> ConfidenceTreeClassifier:
    """Distill a classifier into a decision tree.

    A forest, a boosted model or a neural network may be more accurate than a tree that
    is trained on the same labels, but it is not interpretable. The surrogate tree is
    trained on predictions of the classifier for many rows: those of `X`, which may be
    unlabeled, and synthetic rows between them and their neighbors (MUNGE [1]_). Splits
    are chosen by the most probable class of each row. A leaf predicts the mean of the
    class probabilities of its real rows, shrunk toward the mean of all its rows, which
    has the weight of 20 real rows.

    Use it if labels are scarce and were selected with a forest, see
    :meth:`skconftree.active.ActiveLearner.to_tree`, or to explain an existing model.

    Parameters
    ----------
    classifier : estimator
        Fitted classifier with `predict_proba` and at least two `classes_`; may be a
        pipeline.
    X : array-like, sparse or frame of shape (n_samples, n_features)
        Real rows, in the format of the classifier: an unlabeled pool, or its training
        rows.
    y : array-like of shape (n_samples,), default=None
        Labels of the rows; None for an unknown label. A known label is used instead of
        the prediction of the classifier.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, as frequencies.
    max_leaf_nodes : int, default=None
        Maximum number of leaves; more leaves increase the fidelity and are harder to
        read. None uses the number of leaves of a default tree that is trained on the
        rows alone, with `y` if there are labels, but at least 16.
    n_rows : int or None, default=20_000
        Number of rows to predict with the classifier. A larger X is subsampled;
        synthetic rows are added to a smaller one. None, or a sparse X, uses the rows of
        X only.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Nominal columns, as in :class:`ConfidenceTreeClassifier`. Synthetic rows only
        have combinations of existing categories.
    random_state : int, RandomState instance or None, default=None
        Seed for sampling the rows.

    Returns
    -------
    ConfidenceTreeClassifier
        Fitted, with two differences to a tree that is trained on labels: it has
        `fidelity_`, and its splits have no p-values (``tree_.evidence`` is NaN),
        because synthetic rows are not observations. Counts are of real rows, so
        ``tree_.n_node_samples`` of a leaf may be 0. `partial_fit` raises an error.

    Raises
    ------
    TypeError
        If the classifier has no `predict_proba`.
    ValueError
        If the classifier has only one class, or if another argument is invalid.

    See Also
    --------
    skconftree.ConfidenceForestClassifier.to_tree : Distillation of a forest.

    Notes
    -----
    `fidelity_` is the share of rows for which tree and classifier predict the same
    class: among the rows of X that were not sampled, if there are any, else among the
    training rows of the tree, for which it is slightly optimistic.

    References
    ----------
    .. [1] C. Bucila, R. Caruana and A. Niculescu-Mizil, "Model compression", KDD 2006,
       section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skconftree.tree import distill
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> tree = distill(forest, X, max_leaf_nodes=8, random_state=0)
    >>> tree.get_n_leaves(), tree.fidelity_ > 0.9
    (8, True)
    """
    classes = _check_classifier(classifier)
    _check_sizes(max_leaf_nodes, n_rows, classes)
    rng = check_random_state(random_state)
    X = X if hasattr(X, "shape") else np.asarray(X)
    # the values of X, with codes of categories; "distill" is for error messages
    codes, _, schema = Schema.first(X, "distill", categorical_features)
    known = _known_classes(y, X, classes)
    weight = np.ones(X.shape[0])
    if sample_weight is not None:  # weight_seen=0.0: no earlier rows
        weight = stream_weights(sample_weight, codes, kind="frequency", weight_seen=0.0)
        if not weight.any():
            raise ValueError("sample_weight must be above 0 for at least one row.")
    sampled, rest = _subsample(np.flatnonzero(weight), n_rows, rng)
    real, known = _safe_indexing(X, sampled), known[sampled]
    rows, weights = real, weight[sampled]
    proba = _predict_proba(classifier, real, classes)
    proba[known >= 0] = np.eye(len(classes))[known[known >= 0]]
    common = {
        "categorical_features": categorical_features,
        "sample_weight_kind": "frequency",
    }
    if max_leaf_nodes is None:
        default_rows = np.flatnonzero(known >= 0 if (known >= 0).any() else known < 0)
        default = ConfidenceTreeClassifier(**common).fit(
            _safe_indexing(real, default_rows),
            classes[proba[default_rows].argmax(axis=1)],
            sample_weight=weights[default_rows],
        )
        max_leaf_nodes = max(MIN_DEFAULT_LEAVES, default.get_n_leaves())
    n_real = len(sampled)
    n_synthetic = 0 if n_rows is None else n_rows - n_real
    if n_synthetic and can_make_synthetic_rows(X):
        if n_real < MIN_REAL_ROWS:
            warn(
                f"X has only {format_rows(n_real)} to synthesize {n_synthetic} others "
                "from. Pass more rows, which need no labels, or n_rows=None."
            )
        nominal = schema.is_categorical
        nominal = np.zeros(X.shape[1], dtype=bool) if nominal is None else nominal
        synthetic = make_synthetic_rows(
            real, codes[sampled], nominal, n_synthetic, weights, rng
        )
        rows = _concatenate(real, synthetic)
        proba = np.concatenate([proba, _predict_proba(classifier, synthetic, classes)])
        weights = np.concatenate([weights, np.ones(n_synthetic)])
    tree = ConfidenceTreeClassifier(
        max_leaf_nodes=max_leaf_nodes,
        pruning=None,
        random_state=rng.randint(2**31 - 1),
        **common,
    ).fit(rows, classes[proba.argmax(axis=1)], sample_weight=weights)
    counts, n_node_samples = _node_counts(tree, rows, proba, weights, n_real)
    competitors = real_competitors(tree, rows, proba.argmax(axis=1), weights, n_real)
    evaluated = rest if len(rest) else sampled
    evaluated, weight = _safe_indexing(X, evaluated), weight[evaluated]
    predicted = _predict_proba(classifier, evaluated, classes).argmax(axis=1)
    agree = counts[tree.apply(evaluated)].argmax(axis=1) == predicted
    fidelity = float(np.average(agree, weights=weight))
    # the counts of the nodes become those of the predictions
    tree._predict_as(Classes(classes), counts, n_node_samples, competitors, fidelity)
    return tree


def _check_classifier(classifier):
    if not hasattr(classifier, "predict_proba"):
        raise TypeError(
            f"The classifier must have predict_proba; {type(classifier).__name__} has "
            "none."
        )
    check_is_fitted(classifier)
    classes = getattr(classifier, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise TypeError(
            "The classifier must have classes_, an array of the classes of one output; "
            f"{type(classifier).__name__} has {classes!r}."
        )
    classes = np.asarray(classes)
    if len(classes) < 2:
        raise ValueError(
            f"The classifier must have at least two classes; "
            f"{type(classifier).__name__} has {classes!r}."
        )
    return classes


def _check_sizes(max_leaf_nodes, n_rows, classes):
    for name, value, minimum, why in (
        ("max_leaf_nodes", max_leaf_nodes, 2, ""),
        ("n_rows", n_rows, len(classes), ", the number of classes"),
    ):
        if value is not None and not (is_count(value) and value >= minimum):
            raise InvalidParameterError(
                f"The {name!r} parameter of distill must be None or an int of at least "
                f"{minimum}{why}. Got {value!r} instead."
            )


def _known_classes(y, X, classes):
    # Class of each row by its label, -1 where there is none.
    known = np.full(X.shape[0], -1, dtype=np.intp)
    if y is not None:
        labels, has_label = split_labels(y)
        check_consistent_length(X, has_label)
        is_unknown = ~np.isin(labels, classes)
        if is_unknown.any():
            raise ValueError(
                f"y has labels that are not classes of the classifier: "
                f"{np.unique(labels[is_unknown])[:5]}. Its classes are {classes!r}. "
                "Pass None for a row without a label."
            )
        known[has_label] = Classes(classes).codes(labels, np.intp)
    return known


def _subsample(rows, n_rows, rng):
    # A random sample of at most `n_rows` rows, and the others.
    if n_rows is None or len(rows) <= n_rows:
        return rows, rows[:0]
    order = rng.permutation(len(rows))
    return rows[np.sort(order[:n_rows])], rows[np.sort(order[n_rows:])]


def _predict_proba(classifier, rows, classes):
    proba = np.array(classifier.predict_proba(rows), dtype=np.float64)
    shape = rows.shape[0], len(classes)
    if proba.shape != shape or not (proba >= 0.0).all() or not np.isfinite(proba).all():
        raise ValueError(
            f"predict_proba of {type(classifier).__name__} must return an array of "
            f"probabilities of shape {shape}. Got one of shape {proba.shape} with "
            f"values from {proba.min(initial=np.inf)} to {proba.max(initial=-np.inf)}."
        )
    return proba


def _concatenate(real, synthetic):
    if isinstance(real, np.ndarray):
        return np.concatenate([real, synthetic])
    return sys.modules["pandas"].concat([real, synthetic], ignore_index=True)


def _node_counts(tree, rows, proba, weight, n_real):
    # Sums of the predicted probabilities in each node, scaled to the number of real
    # rows that is expected there; and the actual number of real rows, which are first.
    leaves, n_nodes = tree.apply(rows), tree.tree_.node_count
    predicted = proba * weight[:, None]
    real = _sums(n_nodes, leaves[:n_real], predicted)
    all_rows = _sums(n_nodes, leaves, predicted)
    n_all = all_rows.sum(axis=1, keepdims=True)
    # real rows have priority, because synthetic rows may be unlike any of them
    all_rows /= np.where(n_all > 0.0, n_all, 1.0)
    counts = real + PRIOR * all_rows
    counts *= n_all / (real.sum(axis=1, keepdims=True) + PRIOR)
    counts *= weight[:n_real].sum() / weight.sum()
    n_rows = _sums(n_nodes, leaves[:n_real], np.ones((n_real, 1)))
    # adds the values of leaves to those of their ancestors
    return sum_of_leaves(counts, tree.tree_), sum_of_leaves(n_rows, tree.tree_)[:, 0]


def _sums(n_nodes, leaves, values):
    # Sums of the values in each leaf; `leaves` are those of the first rows.
    columns = values[: len(leaves)].T
    return np.column_stack([np.bincount(leaves, column, n_nodes) for column in columns])
