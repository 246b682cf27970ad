"""Quantiles of Beta distributions, also where those of SciPy are wrong."""

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, ndtri

# Above it the law is normal but for its skewness, and SciPy's quantile grows worse: off
# by tens of standard deviations at 1e13, NaN at 1e16.
MANY = 1e8


def beta_lower(a, b, delta):
    """Points below which Beta(a, b) variables are with probability `delta`."""
    a, b, delta = np.broadcast_arrays(a, b, delta)
    x = np.asarray(betaincinv(a, b, delta))
    many = (a > MANY) & (b > MANY)
    if many.any():
        x[many] = _normal_point(ndtri(delta[many]), a[many], b[many])
    lost = np.isnan(x)  # now and then, for delta below 1e-100
    if lost.any():
        a, b, delta = a[lost], b[lost], delta[lost]
        x[lost] = _bisected(lambda x: betainc(a, b, x) < delta, len(a))
    return x


def beta_upper(a, b, delta):
    """Points that Beta(a, b) variables exceed with probability `delta`.

    One minus such a point of Beta(b, a) would lose digits. See `beta_lower`.
    """
    a, b, delta = np.broadcast_arrays(a, b, delta)
    x = np.asarray(betainccinv(a, b, delta))
    many = (a > MANY) & (b > MANY)
    if many.any():
        x[many] = _normal_point(-ndtri(delta[many]), a[many], b[many])
    lost = np.isnan(x)
    if lost.any():
        a, b, delta = a[lost], b[lost], delta[lost]
        x[lost] = _bisected(lambda x: betaincc(a, b, x) > delta, len(a))
    return x


def _normal_point(z, a, b):
    """Point of a Beta variable of many rows that corresponds to a normal deviate."""
    n = a + b
    skew = (b - a) / n / n * (z * z - 1.0) / 3.0
    return a / n + z * np.sqrt(a / n * (b / n) / n) + skew


def _bisected(is_below, n):
    low, high = np.zeros(n), np.ones(n)
    for _ in range(60):
        middle = (low + high) / 2.0
        below = is_below(middle)
        low[below] = middle[below]
        high[~below] = middle[~below]
    return high
