"""Prunings by name: what a leaf costs, or which tests are not worth keeping."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from .._compat import InvalidParameterError
from ..bounds import (
    EC2Bound,
    binomial_upper,
    chi2_pvalue,
    ec2_confidence,
    possibilistic_entropy,
)
from ._criterion import CRITERIA
from ._pruning import SubtreeRaising, cheaper_as_leaf


class Strength(NamedTuple):
    """What `pruning_confidence` means for a pruning: default and range."""

    default: float
    low: float
    high: float
    closed: str

    def contains(self, value):
        above = value >= self.low if self.closed[0] == "[" else value > self.low
        below = value <= self.high if self.closed[1] == "]" else value < self.high
        return above and below

    def __str__(self):
        return f"{self.closed[0]}{self.low:g}, {self.high:g}{self.closed[1]}"


PRUNINGS = {
    "pessimistic": Strength(0.25, 0.0, 1.0, "()"),
    "c45": Strength(0.25, 0.0, 0.5, "(]"),
    "chi2": Strength(0.05, 0.0, 1.0, "()"),
    "ec2": Strength(0.5, 0.0, 1.0, "[]"),
    "possibilistic": Strength(0.05, 0.0, 1.0, "()"),
    "cost_complexity": Strength(0.0, 0.0, np.inf, "[)"),
}


def resolve_pruning(pruning, confidence, bound):
    """Name and strength of the pruning that the parameters ask for.

    Parameters
    ----------
    pruning : str or None
        A name, ``"auto"`` or None.
    confidence : float or None
    bound : BaseBound or None
        Recommends a pruning for ``"auto"``.

    Returns
    -------
    tuple of (str or None, float or None)
    """
    recommended = None
    if pruning == "auto":
        pruning = getattr(bound, "pruning", None)
        recommended = getattr(bound, "pruning_confidence", None)
    if pruning is None:
        return None, None
    strength = PRUNINGS[pruning]
    if confidence is None:
        confidence = strength.default if recommended is None else recommended
    if not strength.contains(confidence):
        raise InvalidParameterError(
            f"The 'pruning_confidence' parameter with pruning={pruning!r} must be "
            f"None or a float in {strength}. Got {confidence!r} instead."
        )
    return pruning, float(confidence)


def prune(
    tree, pruning, confidence, X, y, *, criterion, bound=None, sample_weight=None
):
    """Prune a grown tree.

    Parameters
    ----------
    tree : Tree
    pruning : str or None
        A name of `PRUNINGS`.
    confidence : float
        In the range of that pruning.
    X : ndarray or sparse matrix or array
    y, sample_weight : ndarray or None
        What the tree was grown from, see `grow`; used by ``"c45"``.
    criterion : str
        What the tree was grown by.
    bound : BaseBound or None, default=None
        Its label noise is that of ``"ec2"``, if it has any.

    Returns
    -------
    Tree
    """
    if pruning is None or tree.node_count == 1:
        return tree
    if pruning == "c45":
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        score = CRITERIA[criterion](tree.n_classes)
        y = y.astype(np.intp, copy=False)
        X = X.tocsr() if issparse(X) else X
        return SubtreeRaising(tree, score, X, y, weight, confidence).prune()
    if pruning == "pessimistic":
        keep_as_leaf = cheaper_as_leaf(tree, _pessimistic_errors(tree, confidence))
    elif pruning == "possibilistic":
        counts = _proportionate_counts(tree)
        cost = counts.sum(axis=1) * possibilistic_entropy(counts, confidence)
        keep_as_leaf = cheaper_as_leaf(tree, cost)
    elif pruning == "cost_complexity":
        if confidence == 0.0:
            return tree  # as scikit-learn, which else would merge equal leaves
        weight = tree.weighted_n_node_samples
        cost = tree.impurity * (weight / weight[0])
        keep_as_leaf = cheaper_as_leaf(tree, cost + confidence)
    elif pruning == "chi2":
        # Exact p-values are ratios of small numbers: they meet .05 and rounding.
        limit = confidence * (1.0 + 1e-9)
        keep_as_leaf = _unsupported(
            tree, lambda tables, depth: chi2_pvalue(tables) > limit
        )
    else:
        noise = bound if isinstance(bound, EC2Bound) else EC2Bound()

        def stops(tables, depth):
            sure = ec2_confidence(
                tables,
                depth,
                noise.noise,
                error_outcomes=noise.error_outcomes,
                margin=noise.margin,
            )
            return sure < confidence

        keep_as_leaf = _unsupported(tree, stops)
    return tree.pruned(keep_as_leaf)


def _proportionate_counts(tree):
    # Class counts as a bound sees them: the proportions with `class_weight`, on the
    # scale of the rows behind them.
    if (tree.class_weight == 1.0).all():
        return tree.counts
    return tree.value * tree.counts.sum(axis=1, keepdims=True)


def _pessimistic_errors(tree, confidence):
    """Errors of each node as a leaf, at their upper confidence limit."""
    counts = _proportionate_counts(tree)
    n = counts.sum(axis=1)
    errors = np.maximum(n - counts.max(axis=1), 0.0)
    # A tree has few different leaves, and the limit is costly.
    pairs, node = np.unique(errors + 1j * n, return_inverse=True)
    limit = pairs.imag * binomial_upper(pairs.real, pairs.imag, confidence)
    return limit[node]


def _unsupported(tree, stops):
    """Bottom-up, the nodes above two leaves whose test does not earn its place.

    Parameters
    ----------
    tree : Tree
    stops : callable
        Of tables of shape (n, n_outcomes, n_classes) and the depths of their nodes;
        True where the node becomes a leaf.
    """
    counts = _proportionate_counts(tree)
    parent, depth, n_children = tree.parent, tree.depth, tree.n_children
    first = np.zeros(tree.node_count, dtype=np.intp)
    first[parent[:0:-1]] = np.arange(tree.node_count - 1, 0, -1)
    keep_as_leaf = np.zeros(tree.node_count, dtype=bool)
    internal = n_children > 0
    n_internal_children = np.bincount(
        parent[1:][internal[1:]], minlength=tree.node_count
    )
    nodes = np.flatnonzero(internal & (n_internal_children == 0))
    while len(nodes):
        stopped = []
        for r in np.unique(n_children[nodes]):
            same = nodes[n_children[nodes] == r]
            tables = counts[first[same][:, np.newaxis] + np.arange(r)]
            stopped.append(same[stops(tables, depth[same])])
        nodes = np.concatenate(stopped)
        keep_as_leaf[nodes] = True
        nodes = parent[nodes[nodes > 0]]
        np.subtract.at(n_internal_children, nodes, 1)
        nodes = np.unique(nodes[n_internal_children[nodes] == 0])
    return keep_as_leaf
