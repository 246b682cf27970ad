"""Limits of class probabilities, and the rows that they rest on."""

import numpy as np

from .._compat import InvalidParameterError
from ..bounds._beta import beta_lower
from ..bounds._sequence import confidence_sequence
from .nodes._apply import find_leaves
from .nodes._derived import sum_of_leaves

METHODS = ("conditional", "honest", "sequence")


def limits_in_leaves(model, rows, confidence_level, method):
    """Limits of the class proportions in the leaves that rows reach."""
    tree = model.tree
    leaves, row = np.unique(model.leaves(rows), return_inverse=True)
    if method == "sequence":
        counts = _counts_of_sequence(model)[leaves]
        alpha = 1.0 - confidence_level
        return limits_of_sequence(counts, tree.class_weight, alpha)[row]
    if method == "conditional":
        n = tree.counts[leaves].sum(axis=1, keepdims=True)
        return credible_limits(tree.raw_value[leaves] * n, n, confidence_level)[row]
    if model.honest_counts is None:
        raise ValueError(
            "Honest limits need rows that had no say in the tree, and there "
            "are none: call recount_leaves with such rows, after fit or "
            "partial_fit, or set honest_share before fit."
        )
    counts = model.honest_counts[leaves]
    n = counts.sum(axis=1, keepdims=True)
    counts = counts * tree.class_weight
    weight = counts.sum(axis=1, keepdims=True)
    counts = np.divide(counts, weight, out=counts, where=weight > 0.0) * n
    return credible_limits(counts, n, confidence_level)[row]


def _counts_of_sequence(model):
    if not model.grows or model.n_rows_seen == model.n_rows_before > 0:
        raise ValueError(
            "method='sequence' needs rows that came after a leaf was made, and "
            "this tree has learnt none: fit grows all leaves at once. Call "
            "partial_fit with further rows, or use method='honest'."
        )
    return model.leaf_counts(fresh=True)


def count_rows(tree, X, y, weight, finite):
    """Count rows in the nodes of a tree."""
    place = find_leaves(tree, X, finite) * tree.n_classes + y
    size = tree.node_count * tree.n_classes
    counts = np.bincount(place, weights=weight, minlength=size).astype(np.float64)
    counts = sum_of_leaves(counts.reshape(-1, tree.n_classes), tree)
    counts.flags.writeable = False
    return counts


def check_limits(confidence_level, method, methods):
    """Raise unless limits can be asked for like that."""
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(
            f"confidence_level must be in (0, 1), got {confidence_level!r}."
        )
    if not (isinstance(method, str) and method in methods):
        raise InvalidParameterError(
            f"method must be one of {list(methods)}, got {method!r}."
        )


def credible_limits(counts, n, confidence_level):
    """Limits of class probabilities from a Dirichlet posterior."""
    n_classes = counts.shape[1]
    if n_classes == 1:
        return np.ones((len(counts), 1, 2))
    prior = 1.0 / n_classes
    # the sum of what has been divided and multiplied may be the larger one
    a, b = counts + prior, np.maximum(n - counts, 0.0) + (1.0 - prior)
    tail = (1.0 - confidence_level) / 2.0
    limits = np.stack([beta_lower(a, b, tail), beta_lower(a, b, 1.0 - tail)], axis=2)
    limits[..., 0][counts == 0.0] = 0.0
    limits[..., 1][counts == n] = 1.0
    return limits


def limits_of_sequence(counts, class_weight, alpha):
    """Limits of reweighted class probabilities that hold at all times at once.

    The proportion of class k is ``w_k p_k / sum(w_j p_j)``. For two classes these are
    the limits of p_k, mapped; for more they are what is possible between them, the
    other classes having the largest or the smallest of their weights. The last axis is
    (lower, upper).
    """
    n_classes = counts.shape[1]
    if n_classes == 1:
        return np.ones((len(counts), 1, 2))
    limits = confidence_sequence(counts, alpha)
    if (class_weight == class_weight[0]).all():
        return limits
    for k, weight in enumerate(class_weight):
        others = np.delete(class_weight, k)
        for side, other in enumerate((others.max(), others.min())):
            part = weight * limits[:, k, side]
            whole = part + other * (1.0 - limits[:, k, side])
            # a class without weight is never predicted
            limits[:, k, side] = np.divide(
                part, whole, out=np.zeros(len(part)), where=whole > 0.0
            )
    return limits
