"""Features of mean 0 and standard deviation 1/2, which a prior can be made for."""

import numpy as np

SPREAD = 0.5
FAR = 1e100  # no value or coordinate is further out: products of two stay finite


def measure(X):
    """Mean of features, and what to divide by for a standard deviation of 1/2.

    That is infinite, so that nothing is left, for a feature without differences, or
    with greater ones than floats hold.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (X / len(X)).sum(axis=0)
        scale = np.sqrt(((X - mean) ** 2 / len(X)).sum(axis=0)) / SPREAD
    useless = ~np.isfinite(scale) | (scale == 0.0) | (X.max(axis=0) == X.min(axis=0))
    scale[useless] = np.inf
    return mean, scale


def scaled(X, mean, scale, intercept):
    """Move and stretch features, and put a constant behind them if asked for."""
    n, d = X.shape
    found = np.ones((n, d + intercept))
    with np.errstate(over="ignore", under="ignore"):
        moved = np.clip(X - mean, -1e300, 1e300)
        found[:, :d] = np.clip(moved / scale, -FAR, FAR)
    return found
