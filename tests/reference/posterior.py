"""The posterior over planes by long Markov chains: slow, and plain.

Many chains, each from a draw of the prior, that propose one coordinate at a time; no
particles, no weights, no buffer. What the filter says of a row is compared with it.
"""

import numpy as np

from .oasis import likelihood


def log_posterior(planes, X, y, shape, scale=1.0):
    """Cauchy prior times likelihood of all rows; y is 1, -1 or, without a label, 0."""
    margin = planes @ X.T
    known = np.where(y == 0, 1, y)
    found = likelihood(1, known * margin, *shape)
    found += (y == 0) * likelihood(-1, known * margin, *shape)
    return np.log(found).sum(axis=1) - np.log1p((planes / scale) ** 2).sum(axis=1)


def chains(X, y, n_chains, n_sweeps, seed, shape=(0.5, 0.2), scale=1.0):
    """Planes of the last half of the sweeps, every tenth one.

    A sweep takes a step along each coordinate, normal times a size between a hundredth
    and ten, and three that multiply a whole plane, as the posterior has a long tail.
    """
    rng = np.random.default_rng(seed)
    d = X.shape[1]
    planes = scale * rng.normal(size=(n_chains, d))
    known = log_posterior(planes, X, y, shape, scale)
    kept = []

    def take(moved, volume):
        found = log_posterior(moved, X, y, shape, scale)
        taken = np.log(1 - rng.random(n_chains)) < found - known + volume
        planes[taken], known[taken] = moved[taken], found[taken]

    for sweep in range(n_sweeps):
        for j in range(d):
            sizes = scale * 10.0 ** rng.uniform(-2, 1, n_chains)
            moved = planes.copy()
            moved[:, j] += sizes * rng.normal(size=n_chains)
            take(moved, 0.0)
        for width in (0.1, 0.3, 1.0):
            growth = width * rng.normal(size=n_chains)
            take(planes * np.exp(growth)[:, np.newaxis], d * growth)
        if sweep >= n_sweeps // 2 and sweep % 10 == 0:
            kept.append(planes.copy())
    return np.concatenate(kept)


def probability(planes, X, shape=(0.5, 0.2)):
    """P(+1 | x) by planes of equal weight."""
    margin = X @ planes.T
    positive = likelihood(1, margin, *shape).mean(axis=1)
    return positive / likelihood(0, margin, *shape).mean(axis=1)
