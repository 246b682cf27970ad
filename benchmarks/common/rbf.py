"""Gaussian balls around random centers."""

import numpy as np
from sklearn.utils import check_random_state

from skconftree.datasets._generators import concept_of_rows, flip_labels


def make_random_rbf(
    n_samples=1000,
    *,
    n_features=10,
    n_classes=2,
    n_centroids=50,
    speed=0.0,
    concept=0,
    drift_at=None,
    drift_width=0,
    noise=0.0,
    random_state=None,
):
    """Make a stream of Gaussian balls around random centers, which may move.

    Every center has a class, a weight and a width. A row picks a center in proportion
    to the weights, a direction uniformly, and lies in it at a normally distributed
    distance times the width. No border is parallel to an axis, and classes overlap.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    n_features : int, default=10
        Columns.
    n_classes : int, default=2
        Classes; each has a center.
    n_centroids : int, default=50
        Centers, at least `n_classes`.
    speed : float, default=0.0
        How far every center moves from row to row, in a direction of its own; it turns
        back at the walls of the unit cube. The usual way to make a stream drift
        without an end: 0.0001 is slow, 0.001 fast.
    concept : int or sequence of int, default=0
        Which set of centers: each number stands for other ones. A sequence makes the
        stream drift from one to the next.
    drift_at : int, float, sequence of them, or None, default=None
        First row of each concept but the first: a row if an integer, a share of the
        rows if a float. None makes all concepts equally long.
    drift_width : float, default=0
        Rows that a change takes: how long about two concepts are mixed. 0 is abrupt.
    noise : float, default=0.0
        Probability that a label is replaced by another one.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
        Features.
    y : ndarray of shape (n_samples,), intp
        Labels 0 to ``n_classes - 1``.

    References
    ----------
    A. Bifet, G. Holmes, R. Kirkby and B. Pfahringer, "Data stream mining: a practical
    approach", 2011, section 2.5.3: the idea; the numbers are ours.

    Examples
    --------
    >>> from common.rbf import make_random_rbf
    >>> X, y = make_random_rbf(1000, n_features=5, n_classes=3, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 5), [0, 1, 2])
    """
    rng = check_random_state(random_state)
    seed = rng.randint(2**31 - 1)
    concepts = concept_of_rows(
        n_samples, concept, drift_at, drift_width, rng, first=0, last=2**31 - 1
    )
    X = np.empty((n_samples, n_features), dtype=np.float32)
    y = np.empty(n_samples, dtype=np.intp)
    for one in np.unique(concepts):
        rows = np.flatnonzero(concepts == one)
        balls = Balls(n_features, n_classes, n_centroids, speed, [seed, one])
        X[rows], y[rows] = balls.draw(rows, rng)
    return X, flip_labels(y, noise, n_classes, rng)


class Balls:
    """One set of centers."""

    def __init__(self, n_features, n_classes, n_centroids, speed, seed):
        rng = np.random.RandomState(seed)
        self.speed = float(speed)
        self.center = rng.random_sample((n_centroids, n_features))
        self.heading = unit(rng.standard_normal((n_centroids, n_features)))
        self.label = rng.permutation(n_centroids) % n_classes
        self.width = rng.random_sample(n_centroids)
        weight = rng.random_sample(n_centroids)
        self.share = np.cumsum(weight / weight.sum())

    def draw(self, times, rng):
        """Return a row and its label for each of the times."""
        ball = np.searchsorted(self.share[:-1], rng.random_sample(len(times)))
        X = unit(rng.standard_normal((len(times), self.center.shape[1])))
        X *= (rng.standard_normal(len(times)) * self.width[ball])[:, np.newaxis]
        if self.speed:
            way = (self.speed * times)[:, np.newaxis] * self.heading[ball]
            way = np.mod(self.center[ball] + way, 2.0)
            X += np.minimum(way, 2.0 - way)
        else:
            X += self.center[ball]
        return X, self.label[ball]


def unit(vectors):
    """Scale rows to length one."""
    return vectors / np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, np.newaxis]
