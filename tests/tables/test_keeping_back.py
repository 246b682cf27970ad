"""Rows that are kept back: which, by what they hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binom

from skconftree.tables import _keeping_back
from skconftree.tables._keeping_back import keep_back


def few_values(n=400, seed=0, levels=3):
    """Make rows of which many are equal."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, 2)).astype(np.float32)
    return X, rng.integers(0, 2, n)


def of_each_group(X, y, kept):
    """Sum what is kept back over equal rows."""
    sums = {}
    for row, label, one in zip(X.tolist(), y.tolist(), kept.tolist(), strict=True):
        key = (*row, label)
        sums[key] = sums.get(key, 0.0) + one
    return sums


def test_the_share_is_a_probability():
    X = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32)
    y = np.arange(20_000) % 3
    for share in (0.05, 0.3, 0.9):
        kept = keep_back(X, y, None, share)
        assert set(kept.tolist()) == {0.0, 1.0}
        assert abs(kept.mean() - share) < 5 * np.sqrt(share * (1 - share) / 20_000)
        # whether a row is kept back has nothing to do with what it is like
        assert abs(np.corrcoef(kept, X[:, 0])[0, 1]) < 0.035
        assert abs(np.corrcoef(kept, y)[0, 1]) < 0.035


def test_neither_order_nor_other_rows_matter():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3)).astype(np.float32), rng.integers(0, 2, 300)
    kept = keep_back(X, y, None, 0.4)
    order = rng.permutation(300)
    np.testing.assert_array_equal(keep_back(X[order], y[order], None, 0.4), kept[order])
    np.testing.assert_array_equal(keep_back(X[:99], y[:99], None, 0.4), kept[:99])
    less = keep_back(X, y, None, 0.2)
    assert (less <= kept).all()  # a larger share takes further rows


@pytest.mark.parametrize("seed", range(3))
def test_weight_k_equals_k_rows(seed):
    X, y = few_values(200, seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 6, 200).astype(float)
    times = weight.astype(int)
    kept = keep_back(X, y, weight, 0.3)
    assert (kept == np.rint(kept)).all()
    assert ((kept >= 0) & (kept <= weight)).all()
    rows, labels = X.repeat(times, 0), y.repeat(times)
    repeated = keep_back(rows, labels, None, 0.3)
    assert of_each_group(X, y, kept) == of_each_group(rows, labels, repeated)
    order = rng.permutation(200)
    other = keep_back(X[order], y[order], weight[order], 0.3)
    assert of_each_group(X[order], y[order], other) == of_each_group(X, y, kept)


def test_of_equal_rows_a_binomial_number_is_kept_back():
    # else the rows kept back would tell what the other ones are
    X = np.arange(3000, dtype=np.float32)[:, None]
    kept = keep_back(X, np.zeros(3000, int), np.full(3000, 10.0), 0.3)
    found = np.bincount(kept.astype(int), minlength=11) / 3000
    expected = binom.pmf(np.arange(11), 10, 0.3)
    assert (abs(found - expected) < 5 * np.sqrt(expected / 3000) + 1e-9).all()


@given(
    st.lists(st.tuples(st.floats(0.0, 1.0 - 2.0**-53), st.integers(1, 400))),
    st.floats(0.01, 0.99),
)
def test_quantiles_are_those_of_scipy(cases, share):
    draws = np.array([one for one, _ in cases])
    sizes = np.array([n for _, n in cases], dtype=float)
    found = _keeping_back._binomial_quantiles(draws, sizes, share)
    assert ((found >= 0) & (found <= sizes)).all()
    above, below = binom.cdf(found, sizes, share), binom.cdf(found - 1, sizes, share)
    assert (above >= draws - 1e-12).all()
    assert (below <= draws + 1e-12).all()


def test_large_weights():
    X = np.arange(200, dtype=np.float32)[:, None]
    weight = np.full(200, 2.0**45)
    kept = keep_back(X, np.zeros(200, int), weight, 0.25)
    assert (kept == np.rint(kept)).all()
    off = (kept - 0.25 * weight) / np.sqrt(weight * 0.25 * 0.75)
    assert abs(off).max() < 5
    assert 0.7 < off.std() < 1.3


def test_weights_that_are_no_whole_numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 2)).astype(np.float32)
    y, weight = rng.integers(0, 2, 500), rng.uniform(0.1, 3.0, 500)
    kept = keep_back(X, y, weight, 0.3)
    assert ((kept >= 0) & (kept <= weight)).all()
    small = weight < 1
    assert (kept[small] == np.where(kept[small] > 0, weight[small], 0)).all()
    assert abs(kept.sum() / weight.sum() - 0.3) < 0.08
    # two halves are one row
    one = keep_back(X, y, None, 0.3)
    halves = keep_back(X.repeat(2, 0), y.repeat(2), np.full(1000, 0.5), 0.3)
    np.testing.assert_array_equal(halves.reshape(500, 2).sum(axis=1), one)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_sparse_rows_are_the_dense_ones(make):
    X, y = few_values(levels=4)
    kept = keep_back(X, y, None, 0.3)
    np.testing.assert_array_equal(keep_back(make(X), y, None, 0.3), kept)
