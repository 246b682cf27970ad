"""Synthetic rows lie between rows and their neighbors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples

from skconftree.tables._schema import Schema
from skconftree.tree._distill import (
    _coordinates,
    _neighbors,
    can_make_synthetic_rows,
    make_synthetic_rows,
)


def table(rng, n, missing):
    """Numbers, whole numbers, and a category; some are missing."""
    X = np.empty((n, 3))
    X[:, 0] = rng.standard_normal(n)
    X[:, 1] = rng.integers(0, 4, n)
    X[:, 2] = rng.integers(0, 3, n)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def made_of(X, n_rows, seed, weight=None):
    codes, _, schema = Schema.first(X, "test", [2])
    made = make_synthetic_rows(
        X, codes, schema.is_categorical, n_rows, weight, np.random.RandomState(seed)
    )
    return made, codes


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([0.0, 0.3]))
def test_values_are_of_the_column(seed, n, missing):
    X = table(np.random.default_rng(seed), n, missing)
    made, _ = made_of(X, 50, seed)
    assert made.shape == (50, 3)
    for column, one in zip(X.T, made.T, strict=True):
        there, one = column[~np.isnan(column)], one[~np.isnan(one)]
        if len(one):
            assert there.min() <= one.min() <= one.max() <= there.max()
    whole = made[:, 1:][~np.isnan(made[:, 1:])]
    assert not (whole % 1.0).any()
    assert set(made[:, 2][~np.isnan(made[:, 2])]) <= set(X[:, 2])


def nearest(X, nominal, row, n):
    """The squared distances of the nearest other rows, slowly."""
    numbers = X[:, ~nominal]
    scaled = (numbers - np.nanmean(numbers, axis=0)) / np.nanstd(numbers, axis=0)
    scaled = np.nan_to_num(scaled)
    away = ((scaled - scaled[row]) ** 2).sum(axis=1)
    for column in X[:, nominal].T:
        for other in range(len(X)):
            one, two = column[other], column[row]
            if np.isnan(one) or np.isnan(two):
                away[other] += float(np.isnan(one) != np.isnan(two))
            else:
                away[other] += 2.0 * (one != two)
    return np.sort(np.delete(away, row))[:n], away


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_neighbors_are_the_nearest(missing):
    X = table(np.random.default_rng(3), 60, missing)
    codes, _, schema = Schema.first(X, "test", [2])
    nominal = schema.is_categorical
    drawn = np.repeat(np.arange(60), 200)
    near = _neighbors(_coordinates(codes, nominal), drawn, np.random.RandomState(0))
    codes = np.where(nominal & (codes < 0.0), np.nan, codes).astype(float)
    for row in range(60):
        found = np.unique(near[drawn == row])
        assert row not in found
        assert len(found) == 5
        expected, away = nearest(codes, nominal, row, 5)
        np.testing.assert_allclose(np.sort(away[found]), expected, atol=1e-5)


def test_half_of_the_values_move_as_far_as_the_rows_are_apart():
    # All neighbors of one row lie one step above it, in both columns.
    X = np.array([[0.5, 0.0]] + [[1.5, 0.0]] * 5 + [[-50.0, 0.0], [50.0, 0.0]])
    codes, _, _ = Schema.first(X, "test")
    weight = np.array([1.0] + [0.0] * 7)
    nominal = np.zeros(2, dtype=bool)
    made = make_synthetic_rows(
        X, codes, nominal, 4000, weight, np.random.RandomState(0)
    )
    moved = made[:, 0] != 0.5
    assert 0.46 < moved.mean() < 0.54
    assert abs(made[moved, 0].mean() - 1.5) < 0.1
    assert abs(made[moved, 0].std() - 1.0) < 0.1


def test_missing_values_are_those_of_the_row():
    X = table(np.random.default_rng(0), 80, 0.3)
    lone = np.flatnonzero(np.isnan(X[:, 0]) & ~np.isnan(X[:, 1:]).any(axis=1))[0]
    weight = np.zeros(80)
    weight[lone] = 1.0
    made, _ = made_of(X, 200, 0, weight)
    assert np.isnan(made[:, 0]).all()
    assert not np.isnan(made[:, 1:]).any()


def test_frames_and_arrays_agree():
    X = table(np.random.default_rng(0), 80, 0.2)
    made, codes = made_of(X, 100, 5)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["c"] = frame["c"].map({0.0: "u", 1.0: "v", 2.0: "w"}).astype("category")
    nominal = np.array([False, False, True])
    framed = make_synthetic_rows(
        frame, codes, nominal, 100, None, np.random.RandomState(5)
    )
    assert list(framed) == list("abc")
    assert (framed.dtypes == frame.dtypes).all()
    np.testing.assert_array_equal(framed[["a", "b"]].to_numpy(), made[:, :2])
    codes = framed["c"].map({"u": 0.0, "v": 1.0, "w": 2.0}).astype(float)
    np.testing.assert_array_equal(codes, made[:, 2])


def test_what_rows_can_be_made_up_of():
    X = np.zeros((3, 2))
    assert can_make_synthetic_rows(X)
    assert can_make_synthetic_rows(pd.DataFrame(X))
    assert not can_make_synthetic_rows([["a text"], ["another"]])


def test_a_single_row_has_no_neighbor():
    made, _ = made_of(np.array([[1.0, 2.0, 0.0]]), 3, 0)
    np.testing.assert_array_equal(made, [[1.0, 2.0, 0.0]] * 3)
