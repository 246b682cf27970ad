"""Streams labelled by a random tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..utils._types import Indices, Seed
from ._concepts import check_count, check_share, concept_of_rows, flip_labels


def make_random_tree_stream(
    n_samples: int = 1000,
    *,
    n_features: int = 5,
    n_leaves: int = 50,
    n_classes: int = 2,
    p_left: float = 0.7,
    p_right: float = 0.3,
    concept: int | Sequence[int] = 0,
    drift_at: float | Sequence[Any] | None = None,
    drift_width: float = 0,
    noise: float = 0.0,
    random_state: Seed = None,
) -> tuple[NDArray[np.float32], Indices]:
    """Make a stream that a random tree with noisy leaves has labelled.

    The unit cube is cut into boxes: a box that is to hold n leaves gives a uniformly
    random number of them to its left part; the feature is drawn uniformly, the cut
    uniformly inside the box. Every leaf gets the same number of rows, uniform in its
    box, so that small boxes are dense. A row in a left leaf has label 1 with
    probability `p_left`, in a right leaf with `p_right`. With the defaults the best
    possible classifier is right in 70 % of the rows, however many there are: a tree
    that goes on splitting fits noise.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    n_features : int, default=5
        Columns.
    n_leaves : int, default=50
        Leaves of the tree, at least 2.
    n_classes : int, default=2
        Classes. With more than two, not in the publication, leaf j from the left has
        class ``j % n_classes`` with probability `p_left` if it is a left leaf, with
        ``1 - p_right`` if it is a right leaf, else any of the others.
    p_left : float, default=0.7
        Probability of label 1 in left leaves.
    p_right : float, default=0.3
        Probability of label 1 in right leaves.
    concept : int or sequence of int, default=0
        Which random tree: each number stands for another one. A sequence makes the
        stream drift from one to the next.
    drift_at : int, float, sequence of them, or None, default=None
        First row of each concept but the first: a row if an integer, a share of the
        rows if a float. None makes all concepts equally long.
    drift_width : float, default=0
        Rows that a change takes: how long about two concepts are mixed. 0 is abrupt.
    noise : float, default=0.0
        Probability that a label is replaced by another one, on top of the leaves' own.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
        Features in [0, 1].
    y : ndarray of shape (n_samples,), intp
        Labels 0 to ``n_classes - 1``.

    References
    ----------
    R. De Rosa and N. Cesa-Bianchi, "Confidence decision trees via online and active
    learning for streaming data", Journal of Artificial Intelligence Research 60, 2017,
    algorithm 4. A box and a part of the tree cannot be empty here.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skconftree.datasets import make_random_tree_stream
    >>> X, y = make_random_tree_stream(
    ...     20_000, n_leaves=10, p_left=1, p_right=0, random_state=0
    ... )
    >>> DecisionTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """
    check_count("n_samples", n_samples)
    check_count("n_features", n_features)
    check_count("n_leaves", n_leaves, 2)
    check_count("n_classes", n_classes, 2)
    for name, share in (("p_left", p_left), ("p_right", p_right), ("noise", noise)):
        check_share(name, share)
    rng = check_random_state(random_state)
    seed = rng.randint(2**31 - 1)
    concepts = concept_of_rows(
        n_samples, concept, drift_at, drift_width, rng, first=0, last=2**31 - 1
    )
    X = np.empty((n_samples, n_features), dtype=np.float32)
    y = np.empty(n_samples, dtype=np.intp)
    for one in np.unique(concepts):
        rows = np.flatnonzero(concepts == one)
        low, high, is_left = random_boxes(
            n_leaves, n_features, np.random.RandomState([seed, one])
        )
        leaf = rng.permutation(np.arange(len(rows)) % n_leaves)
        points = rng.random_sample((len(rows), n_features))
        points *= (high - low)[leaf]
        points += low[leaf]
        X[rows] = points
        if n_classes == 2:
            favourite = is_left.astype(np.intp)
        else:
            favourite = np.arange(n_leaves) % n_classes
        wrong = np.where(is_left, 1.0 - p_left, p_right)[leaf]
        labels = favourite[leaf]
        other = rng.random_sample(len(rows)) < wrong
        labels[other] += rng.randint(1, n_classes, size=other.sum())
        y[rows] = labels % n_classes
    return X, flip_labels(y, noise, n_classes, rng)


def random_boxes(n_leaves, n_features, random_state):
    """Corners of the boxes of a random tree's leaves, and which are left children."""
    low = np.zeros((n_leaves, n_features))
    high = np.ones((n_leaves, n_features))
    is_left = np.ones(n_leaves, dtype=bool)
    waiting = [(0, n_leaves)]  # ranges of leaves that share a box
    while waiting:
        start, end = waiting.pop()
        n = end - start
        middle = start + min(max(int(n * random_state.random_sample()), 1), n - 1)
        feature = random_state.randint(n_features)
        cut = random_state.uniform(low[start, feature], high[start, feature])
        high[start:middle, feature] = cut
        low[middle:end, feature] = cut
        is_left[start:middle] = True
        is_left[middle:end] = False
        waiting += [
            part for part in ((start, middle), (middle, end)) if part[1] - part[0] > 1
        ]
    return low, high, is_left
