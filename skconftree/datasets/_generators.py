"""Generators of tables and streams with known class probabilities (concepts)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, check_scalar

from ..utils._types import Floats, Indices, Seed, TableLike

SEA_THRESHOLDS = np.array([8.0, 9.0, 7.0, 9.5])
MAX_POINTS = 2**31  # number of points at which a classifier predicts
MAX_WIDTH = 1e100  # of a drift; its product with a row index is a finite float


def make_sea(
    n_samples: int = 1000,
    *,
    concept: int | Sequence[int] = 0,
    drift_at: float | Sequence[Any] | None = None,
    drift_width: float = 0,
    noise: float = 0.0,
    random_state: Seed = None,
) -> tuple[NDArray[np.float32], Indices]:
    """Make a stream whose class depends on the sum of two of three features.

    Features are uniform in [0, 10]. The label is 1 if the sum of the first two exceeds
    a threshold; the third is irrelevant. The decision boundary is oblique, which is
    difficult for trees, and shifts when the concept changes.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    concept : int or sequence of int, default=0
        Threshold: 0, 1, 2 and 3 stand for 8, 9, 7 and 9.5. With a sequence, the stream
        drifts from one to the next.
    drift_at : int, float, sequence of them, or None, default=None
        First row of each concept except the first: a row index (int) or a fraction of
        the rows (float). None divides the rows equally among the concepts.
    drift_width : float, default=0
        Approximate number of rows in which the rows of two concepts are mixed. 0 is an
        abrupt change.
    noise : float, default=0.0
        Probability that a label is flipped.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible rows.

    Returns
    -------
    X : ndarray of shape (n_samples, 3), float32
        Features.
    y : ndarray of shape (n_samples,), intp
        Labels 0 and 1.

    References
    ----------
    W. N. Street and Y. Kim, "A streaming ensemble algorithm (SEA) for large-scale
    classification", KDD 2001, section 4.

    Examples
    --------
    >>> from skconftree.datasets import make_sea
    >>> X, y = make_sea(4000, concept=[0, 3], drift_at=1000, random_state=0)
    >>> total = X[:, 0] + X[:, 1]
    >>> bool((y[:1000] == (total[:1000] > 8)).all())
    True
    >>> bool((y[1000:] == (total[1000:] > 9.5)).all())
    True
    """
    check_count("n_samples", n_samples)
    check_share("noise", noise)
    rng = check_random_state(random_state)
    concepts = concept_of_rows(
        n_samples, concept, drift_at, drift_width, rng, first=0, last=3
    )
    X = rng.uniform(0, 10, size=(n_samples, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > SEA_THRESHOLDS[concepts]).astype(np.intp)
    return X, flip_labels(y, noise, 2, rng)


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
    """Make a stream whose labels are drawn from the leaves of a random tree.

    The unit cube is split into boxes, the leaves of the tree. A node with n leaves has
    a uniformly random number of them on its left side; its feature is drawn uniformly,
    and its threshold uniformly within the box. Each leaf has the same number of rows,
    uniform in its box, so that small boxes are dense. A row has label 1 with
    probability `p_left` in a left leaf, and `p_right` in a right leaf. With the default
    settings, the best possible accuracy is 70% for any number of rows, so that a tree
    with more leaves fits noise.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=5
        Number of features.
    n_leaves : int, default=50
        Number of leaves of the tree, at least 2.
    n_classes : int, default=2
        Number of classes. With more than two (an extension of the publication), rows of
        leaf j from the left have class ``j % n_classes`` with probability `p_left` if
        it is a left leaf, or ``1 - p_right`` if it is a right leaf, and otherwise one
        of the other classes.
    p_left : float, default=0.7
        Probability of label 1 in left leaves.
    p_right : float, default=0.3
        Probability of label 1 in right leaves.
    concept : int or sequence of int, default=0
        Index of the random tree. With a sequence, the stream drifts from one tree to
        the next.
    drift_at : int, float, sequence of them, or None, default=None
        First row of each concept except the first: a row index (int) or a fraction of
        the rows (float). None divides the rows equally among the concepts.
    drift_width : float, default=0
        Approximate number of rows in which the rows of two concepts are mixed. 0 is an
        abrupt change.
    noise : float, default=0.0
        Probability that a label is replaced by another one, in addition to the noise of
        the leaves.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible rows.

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
    algorithm 4. In this version, no box and no subtree is empty.

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
    for tree_index in np.unique(concepts):
        rows = np.flatnonzero(concepts == tree_index)
        low, high, is_left = random_boxes(
            n_leaves, n_features, np.random.RandomState([seed, tree_index])
        )
        leaf = rng.permutation(np.arange(len(rows)) % n_leaves)
        points = rng.random_sample((len(rows), n_features))
        points *= (high - low)[leaf]
        points += low[leaf]
        X[rows] = points
        if n_classes == 2:
            main_class = is_left.astype(np.intp)
        else:
            main_class = np.arange(n_leaves) % n_classes
        wrong = np.where(is_left, 1.0 - p_left, p_right)[leaf]
        labels = main_class[leaf]
        other = rng.random_sample(len(rows)) < wrong
        labels[other] += rng.randint(1, n_classes, size=other.sum())
        y[rows] = labels % n_classes
    return X, flip_labels(y, noise, n_classes, rng)


def random_boxes(n_leaves, n_features, random_state):
    """Return the lower and upper corners of the leaves, and which are left children."""
    low = np.zeros((n_leaves, n_features))
    high = np.ones((n_leaves, n_features))
    is_left = np.ones(n_leaves, dtype=bool)
    nodes = [(0, n_leaves)]  # nodes to be split, as ranges of leaves
    while nodes:
        start, end = nodes.pop()
        n = end - start
        middle = start + min(max(int(n * random_state.random_sample()), 1), n - 1)
        feature = random_state.randint(n_features)
        threshold = random_state.uniform(low[start, feature], high[start, feature])
        high[start:middle, feature] = threshold
        low[middle:end, feature] = threshold
        is_left[start:middle] = True
        is_left[middle:end] = False
        nodes += [
            part for part in ((start, middle), (middle, end)) if part[1] - part[0] > 1
        ]
    return low, high, is_left


def make_diced(
    n_samples: int = 500, n_features: int = 2, *, random_state: Seed = None
) -> tuple[NDArray[np.float32], Indices]:
    r"""Make a table of separated cubes, whose class is the side of one of the gaps.

    Each feature is uniform in the union of [-1/2, -e] and [e, 1/2] with
    :math:`e = \frac{1}{2} (n / 10)^{-1/d}` for n rows and d features. The label is 1 if
    the first feature is positive. Without labels, the gaps of all features look alike,
    so that an active learner has to find the relevant one.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows, more than 10.
    n_features : int, default=2
        Number of features.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible rows.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
        Features.
    y : ndarray of shape (n_samples,), intp
        Labels 0 and 1.

    References
    ----------
    A. Goldberg, X. Zhu, A. Furger and J.-M. Xu, "OASIS: online active semi-supervised
    learning", AAAI 2011; B. Rupprechter, "Noisy active learning from a Bayesian
    perspective", 2012, appendix A.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.datasets import make_diced
    >>> X, y = make_diced(500, random_state=0)
    >>> bool(np.abs(X).min() > 0.0707)
    True
    >>> bool((y == (X[:, 0] > 0)).all())
    True
    """
    check_count("n_samples", n_samples, 11)
    check_count("n_features", n_features)
    rng = check_random_state(random_state)
    gap = 0.5 * (n_samples / 10) ** (-1 / n_features)
    X = rng.uniform(gap, 0.5, size=(n_samples, n_features)).astype(np.float32)
    X *= 2 * rng.randint(0, 2, size=X.shape) - 1
    return X, (X[:, 0] > 0).astype(np.intp)


def make_grid_concept(
    n_samples: int = 1000,
    *,
    depth: int = 6,
    box: ArrayLike | None = None,
    random_state: Seed = None,
) -> tuple[NDArray[np.float32], Indices]:
    r"""Make a table with noisy labels on a grid of cells and a curved boundary.

    The unit square is halved `depth` times along alternating axes, starting with the
    first: 64 cells by default. A row is uniform in the square. Its label is 1 with
    probability :math:`\sigma(5 (x_2 - \sqrt{x_1}))` at the center of its cell, where
    :math:`\sigma` is the logistic function. The true risk of a classifier can therefore
    be computed without a test set (`grid_concept_risk`). The smallest possible risk is
    0.21395, and that of a single leaf 0.36917.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    depth : int, default=6
        Number of times the square is halved.
    box : array-like of shape (2, 2) or None, default=None
        Lower and upper limit of each feature, to draw rows from a part of the square,
        for example in active learning. None is the whole square.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible rows.

    Returns
    -------
    X : ndarray of shape (n_samples, 2), float32
        Features in [0, 1).
    y : ndarray of shape (n_samples,), intp
        Labels 0 and 1.

    See Also
    --------
    grid_concept_proba : The true probabilities.
    grid_concept_risk : The true risk of a classifier.

    References
    ----------
    T. Collet and O. Pietquin, "Bayesian credible intervals for online and active
    learning of classification trees", ADPRL 2015, section V.A.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.datasets import grid_concept_risk, make_grid_concept
    >>> X, y = make_grid_concept(2000, random_state=0)
    >>> tree = ConfidenceTreeClassifier("credible").fit(X, y)
    >>> risk = grid_concept_risk(tree.predict, resolution=16)
    >>> 0.21395 < risk < 0.25
    True
    """
    check_count("n_samples", n_samples)
    check_count("depth", depth, 0, 100)
    low, high = check_box(box)
    rng = check_random_state(random_state)
    X = rng.uniform(low, high, size=(n_samples, 2)).astype(np.float32)
    np.minimum(X, np.nextafter(np.float32(1), np.float32(0)), out=X)
    p = grid_concept_proba(X, depth=depth)
    return X, (rng.random_sample(n_samples) < p).astype(np.intp)


def grid_concept_proba(X: TableLike, *, depth: int = 6) -> Floats:
    """Compute the true probability of label 1 in `make_grid_concept`.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Features in [0, 1].
    depth : int, default=6
        Number of times the square is halved.

    Returns
    -------
    ndarray of shape (n_samples,), float64
        Probability of label 1 at the center of each row's cell.

    Examples
    --------
    >>> from skconftree.datasets import grid_concept_proba
    >>> grid_concept_proba([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]).round(3)
    array([0.011, 0.281, 0.969])
    """
    check_count("depth", depth, 0, 100)
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2 or not np.all((X >= 0) & (X <= 1)):
        raise ValueError(
            "X must have shape (n_samples, 2) and values in [0, 1]. "
            f"Got shape {X.shape}"
            + (f" and {X.min()} to {X.max()}." if X.size else ".")
        )
    sides = grid_sides(depth)
    center = (np.minimum(np.floor(X * sides), sides - 1) + 0.5) / sides
    return 1 / (1 + np.exp(-5 * (center[:, 1] - np.sqrt(center[:, 0]))))


def grid_concept_risk(
    predict: Callable[..., Any], *, depth: int = 6, resolution: int = 1
) -> float:
    """Compute the true risk of a classifier on `make_grid_concept`.

    Parameters
    ----------
    predict : callable
        Maps rows of shape (n, 2) to labels 0 and 1, such as a model's ``predict``.
    depth : int, default=6
        Number of times the square is halved.
    resolution : int, default=1
        Number of parts of a cell along each axis, at whose centers the classifier
        predicts. 1 is exact if predictions are constant in each cell. Larger values
        approximate the risk of other classifiers better.

    Returns
    -------
    float
        Probability that a label differs from its prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.datasets import grid_concept_proba, grid_concept_risk
    >>> best = lambda X: grid_concept_proba(X) > 0.5
    >>> round(grid_concept_risk(best), 5)
    0.21395
    >>> round(grid_concept_risk(lambda X: np.zeros(len(X))), 5)
    0.36917
    """
    check_count("depth", depth, 0, 100)
    check_count("resolution", resolution)
    sides = [int(side) * int(resolution) for side in grid_sides(depth)]
    if sides[0] * sides[1] > MAX_POINTS:
        raise ValueError(
            f"depth={depth} and resolution={resolution} need "
            f"{sides[0] * sides[1]} points, more than {MAX_POINTS}. "
            "Pass smaller values."
        )
    axes = [(np.arange(side) + 0.5) / side for side in sides]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    labels = np.asarray(predict(points.astype(np.float32)))
    if labels.shape != (len(points),) or not np.isin(labels, (0, 1)).all():
        raise ValueError(
            "predict must return one label, 0 or 1, for each row. "
            f"Got an array of shape {labels.shape} for {len(points)} rows."
        )
    p = grid_concept_proba(points, depth=depth)
    return float(np.where(labels == 1, 1 - p, p).mean())


def grid_sides(depth):
    """Return the number of cells along each axis."""
    return np.array([2 ** ((depth + 1) // 2), 2 ** (depth // 2)])


def check_box(box):
    """Return the lower and upper corner of a part of the unit square, or raise."""
    if box is None:
        return np.zeros(2), np.ones(2)
    try:
        ends = np.asarray(box, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        ends = np.empty(0)
    if ends.shape != (2, 2) or not np.all(
        (ends[:, 0] >= 0) & (ends[:, 0] < ends[:, 1]) & (ends[:, 1] <= 1)
    ):
        raise ValueError(
            "box must contain a lower and a larger upper limit in [0, 1] for each "
            f"feature. Got {box!r} instead."
        )
    return ends[:, 0], ends[:, 1]


def check_count(name, value, low=1, high=2**31 - 1):
    """Raise unless the value is an integer from `low` to `high`."""
    check_scalar(value, name, Integral, min_val=low, max_val=high)


def check_share(name, value):
    """Raise unless the value is a number in [0, 1]."""
    check_scalar(value, name, Real, min_val=0, max_val=1)
    if np.isnan(value):
        raise ValueError(f"{name} must be in [0, 1]. Got nan instead.")


def check_size(name, value):
    """Raise unless the value is a number from 0 to `MAX_WIDTH`."""
    check_scalar(value, name, Real, min_val=0)
    if not value <= MAX_WIDTH:
        raise ValueError(
            f"{name} must be finite and at most {MAX_WIDTH:g}. Got {value} instead."
        )


def concept_of_rows(
    n_samples, concept, drift_at, drift_width, random_state, *, first, last=None
):
    """Return the concept, from `first` to `last`, of each row.

    Row ``t`` near a change at row ``b`` has the new concept with probability ``1 / (1 +
    exp(-4 (t - b) / drift_width))``, a curve with slope ``1 / drift_width`` at `b`. To
    draw it for all changes at once, the time of each row is shifted by a logistic
    random number. No numbers are drawn for abrupt changes (width 0).
    """
    concepts = check_concepts(concept, first, last)
    check_size("drift_width", drift_width)
    changes = check_changes(drift_at, len(concepts), n_samples)
    time = np.arange(n_samples)
    if drift_width > 0 and len(changes):
        time = time + drift_width / 4 * random_state.logistic(size=n_samples)
    return concepts[np.searchsorted(changes, time, side="right")]


def check_concepts(concept, first, last):
    """Return the concepts as an array, or raise."""
    values = [concept] if isinstance(concept, Integral) else concept
    valid = f"at least {first}" if last is None else f"from {first} to {last}"
    try:
        concepts = list(values)
    except TypeError:
        concepts = []
    if not concepts or not all(
        isinstance(value, Integral)
        and value >= first
        and (last is None or value <= last)
        for value in concepts
    ):
        raise ValueError(
            f"concept must be an integer or a sequence of integers {valid}. "
            f"Got {concept!r} instead."
        )
    return np.array(concepts, dtype=np.intp)


def check_changes(drift_at, n_concepts, n_samples):
    """Return the first row of each concept except the first, or raise."""
    if drift_at is None:
        return np.arange(1, n_concepts) * n_samples / n_concepts
    entries = [drift_at] if isinstance(drift_at, Real) else drift_at
    try:
        entries = list(entries)
        rows = [
            entry if isinstance(entry, Integral) else float(entry) * n_samples
            for entry in entries
        ]
    except (TypeError, ValueError):
        entries, rows = None, []
    if entries is None or len(rows) != n_concepts - 1:
        raise ValueError(
            f"drift_at must have one entry for each change of concept, "
            f"{n_concepts - 1} here. Got {drift_at!r} instead."
        )
    if not all(0 < row < n_samples for row in rows) or not all(
        a < b for a, b in pairwise(rows)
    ):
        raise ValueError(
            "drift_at must contain ascending rows between 0 and "
            f"n_samples={n_samples}, or fractions of the rows between 0 and 1. "
            f"Got {drift_at!r} instead."
        )
    return np.array(rows, dtype=np.float64)


def flip_labels(y, noise, n_classes, random_state):
    """Replace each label by another class with probability `noise`, in place."""
    if noise > 0:
        wrong = np.flatnonzero(random_state.random_sample(len(y)) < noise)
        y[wrong] += random_state.randint(1, n_classes, size=len(wrong))
        y[wrong] %= n_classes
    return y
