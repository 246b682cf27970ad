"""Quantiles of Beta distributions where SciPy fails, and values of the quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betainc, betaincc, betainccinv, betaincinv, ndtri
from scipy.stats import chi2

from skconftree.bounds import chi2_pvalue, excess_risk_upper, gtest_pvalue
from skconftree.bounds._limits import (
    LARGE_COUNT,
    _beta_quantile,
    beta_lower,
    beta_upper,
)


def fails(a, b, delta):
    return np.where(np.asarray(a) > 2.0, np.nan, betaincinv(a, b, delta))


def test_bisection_where_the_quantile_is_not_a_number():
    a, b = np.array([1.0, 3.0, 7.5, 40.0]), np.array([2.0, 1.0, 30.0, 5.0])
    delta = np.array([0.2, 0.01, 0.7, 0.05])
    found = _beta_quantile(a, b, delta, fails, betainc, 1.0)
    assert_allclose(found, betaincinv(a, b, delta), rtol=1e-12)
    found = _beta_quantile(
        a[1:], b[1:], delta[1:], lambda *_: np.full(3, np.nan), betaincc, -1.0
    )
    assert_allclose(found, betainccinv(a[1:], b[1:], delta[1:]), rtol=1e-12)


def test_quantiles_of_large_counts():
    """A normal approximation with a correction for skewness, if both are large."""
    delta, large = 0.05, 4.0 * LARGE_COUNT
    small = 0.25 * LARGE_COUNT
    for a, b in [(large, 2 * large), (large, large), (3 * large, large)]:
        n, z = a + b, ndtri(delta)
        step = z * np.sqrt(a * b / n) / n
        skew = (b - a) * (z**2 - 1) / (3 * n**2)
        assert beta_lower(a, b, delta) == pytest.approx(a / n + step + skew, rel=1e-15)
        assert beta_upper(a, b, delta) == pytest.approx(a / n - step + skew, rel=1e-15)
        assert beta_lower(a, b, delta) - a / n == pytest.approx(step + skew, rel=1e-6)
    for a, b in [(large, small), (small, large)]:
        assert beta_lower(a, b, delta) == betaincinv(a, b, delta)
        assert beta_upper(a, b, delta) == betainccinv(a, b, delta)


def test_values_of_the_quadrature():
    """To the digits of 64 nodes: one node more or fewer changes them."""
    assert excess_risk_upper([1, 1, 1, 1], 0.02) == pytest.approx(
        0.487979680253, rel=1e-8
    )
    assert excess_risk_upper([2, 1, 0, 0, 0], 0.05) == pytest.approx(
        0.316538380551, rel=1e-8
    )


def test_expectations_that_underflow():
    """A perfect split of a row and of a weight whose product with a share is 0."""
    tables = [[[0.0, 1e-200], [1.0, 0.0]], [[1e-200, 0.0], [0.0, 1.0]]]
    assert_allclose(chi2_pvalue(tables), chi2.sf(1.0, 1))
    assert_allclose(chi2_pvalue([[0.0, 1e-200], [4.0, 0.0]]), chi2.sf(4.0, 1))
    assert_allclose(gtest_pvalue(tables), 1.0)
