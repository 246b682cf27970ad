"""A concept on a grid, whose true risk is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..utils._types import Floats, Indices, Seed, TableLike
from ._concepts import check_count

MOST_POINTS = 2**31  # at which a classifier is asked


def make_grid_concept(
    n_samples: int = 1000,
    *,
    depth: int = 6,
    box: ArrayLike | None = None,
    random_state: Seed = None,
) -> tuple[NDArray[np.float32], Indices]:
    r"""Make noisy labels on a grid of cells, with a curved border.

    The unit square is halved `depth` times along alternating axes, the first one
    first: 64 cells by default. A row is uniform in the square; its label is 1 with
    probability :math:`\sigma(5 (x_2 - \sqrt{x_1}))` taken at the centre of its cell.
    As this probability is known, so is the true risk of any classifier
    (`grid_concept_risk`), and no test set is needed: 0.21395 is the smallest one
    possible, 0.36917 that of a single leaf.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    depth : int, default=6
        How often the square is halved.
    box : array-like of shape (2, 2) or None, default=None
        Lower and upper end of either coordinate, to draw rows from a part of the
        square, as an active learner does. None is the whole square.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same rows on every call.

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
    """Tell the true probability of label 1 in `make_grid_concept`.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Features in [0, 1].
    depth : int, default=6
        How often the square is halved.

    Returns
    -------
    ndarray of shape (n_samples,), float64
        Probability of label 1 at the centre of each row's cell.

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
    centre = (np.minimum(np.floor(X * sides), sides - 1) + 0.5) / sides
    return 1 / (1 + np.exp(-5 * (centre[:, 1] - np.sqrt(centre[:, 0]))))


def grid_concept_risk(
    predict: Callable[..., Any], *, depth: int = 6, resolution: int = 1
) -> float:
    """Tell the true risk of a classifier on `make_grid_concept`.

    Parameters
    ----------
    predict : callable
        Maps rows of shape (n, 2) to labels 0 and 1, such as a model's ``predict``.
    depth : int, default=6
        How often the square is halved.
    resolution : int, default=1
        The classifier is asked at the centres of this many parts of a cell along
        either axis. 1 is exact for predictions that are constant in every cell, as
        those of a tree that cuts between cells only.

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
    if sides[0] * sides[1] > MOST_POINTS:
        raise ValueError(
            f"depth={depth} and resolution={resolution} ask for "
            f"{sides[0] * sides[1]} points, more than {MOST_POINTS}."
        )
    axes = [(np.arange(side) + 0.5) / side for side in sides]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    found = np.asarray(predict(points.astype(np.float32)))
    if found.shape != (len(points),) or not np.isin(found, (0, 1)).all():
        raise ValueError(
            "predict must return one label, 0 or 1, for every row. "
            f"Got an array of shape {found.shape} for {len(points)} rows."
        )
    p = grid_concept_proba(points, depth=depth)
    return float(np.where(found == 1, 1 - p, p).mean())


def grid_sides(depth):
    """Return the number of cells along either axis."""
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
            "box must hold a lower and a larger upper end in [0, 1] for either "
            f"coordinate. Got {box!r} instead."
        )
    return ends[:, 0], ends[:, 1]
