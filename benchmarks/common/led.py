"""Digits of a seven-segment display."""

import numpy as np
from sklearn.utils import check_random_state

from skconftree.datasets._generators import concept_of_rows

# Segments of each digit: top, upper left, upper right, middle, lower left,
# lower right, bottom.
SEGMENTS = np.array(
    [
        [1, 1, 1, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1, 1, 1],
        [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ],
    dtype=np.float32,
)


def make_led(
    n_samples=1000,
    *,
    n_irrelevant=17,
    concept=0,
    drift_at=None,
    drift_width=0,
    noise=0.0,
    random_state=None,
):
    """Make a stream of digits shown on a display with broken segments.

    Ten classes, seven binary features that show the digit, and irrelevant ones that
    are fair coins. With ``noise=0.1``, the published setting, the best possible
    classifier is right in 74 % of the rows.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    n_irrelevant : int, default=17
        Features that tell nothing.
    concept : int or sequence of int, default=0
        How many of the segments have changed places with as many irrelevant
        features: segment j with feature 7 + j. A sequence makes the stream drift
        from one to the next.
    drift_at : int, float, sequence of them, or None, default=None
        First row of each concept but the first: a row if an integer, a share of the
        rows if a float. None makes all concepts equally long.
    drift_width : float, default=0
        Rows that a change takes: how long about two concepts are mixed. 0 is abrupt.
    noise : float, default=0.0
        Probability that a segment shows its opposite.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 7 + n_irrelevant), float32
        Features, 0 or 1.
    y : ndarray of shape (n_samples,), intp
        The digit.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and regression
    trees", 1984, section 2.6.1.

    Examples
    --------
    >>> from common.led import make_led
    >>> X, y = make_led(1000, random_state=0)
    >>> X[y == 1][0, :7]
    array([0., 0., 1., 0., 0., 1., 0.], dtype=float32)
    """
    rng = check_random_state(random_state)
    moved = concept_of_rows(
        n_samples,
        concept,
        drift_at,
        drift_width,
        rng,
        first=0,
        last=min(7, n_irrelevant),
    )
    y = rng.randint(0, 10, size=n_samples).astype(np.intp)
    X = np.empty((n_samples, 7 + n_irrelevant), dtype=np.float32)
    X[:, :7] = SEGMENTS[y]
    X[:, 7:] = rng.randint(0, 2, size=(n_samples, n_irrelevant), dtype=np.uint8)
    if noise > 0:
        X[:, :7] = np.abs(X[:, :7] - (rng.random_sample((n_samples, 7)) < noise))
    for j in range(moved.max()):
        rows = np.flatnonzero(moved > j)
        X[rows, j], X[rows, 7 + j] = X[rows, 7 + j], X[rows, j]
    return X, y
