"""The generators against what their sources say.

Studies of stream learners stand or fall with their data: labels must follow the
published rule exactly, noise must have the stated rate, and one seed must give one
stream. The rules are written again here, row by row.
"""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from skconftree import datasets
from skconftree.datasets import (
    grid_concept_proba,
    grid_concept_risk,
    make_diced,
    make_grid_concept,
    make_random_tree_stream,
    make_sea,
)

GENERATORS = [getattr(datasets, n) for n in datasets.__all__ if n.startswith("make_")]
DRIFTING = [make_random_tree_stream, make_sea]


@pytest.mark.parametrize("make", GENERATORS)
def test_common(make):
    X, y = make(300, random_state=3)
    assert X.dtype == np.float32
    assert y.dtype == np.intp
    assert X.ndim == 2
    assert len(X) == len(y) == 300
    assert np.isfinite(X).all()
    again = make(300, random_state=3)
    np.testing.assert_array_equal(again[0], X)
    np.testing.assert_array_equal(again[1], y)
    state = np.random.RandomState(3)
    np.testing.assert_array_equal(make(300, random_state=state)[0], X)
    other = make(300, random_state=4)
    assert (other[0] != X).any()
    assert (other[1] != y).any()
    for wrong, error in ((0, ValueError), (2.5, TypeError), ("10", TypeError)):
        with pytest.raises(error, match="n_samples"):
            make(wrong)


@pytest.mark.parametrize("make", DRIFTING)
def test_label_noise(make):
    clean = make(20_000, noise=0, random_state=0)
    noisy = make(20_000, noise=0.2, random_state=0)
    np.testing.assert_array_equal(clean[0], noisy[0])
    rate = np.mean(clean[1] != noisy[1])
    assert rate == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / 20_000))


@pytest.mark.parametrize("make", DRIFTING)
@pytest.mark.parametrize("noise", [-0.1, 1.1, math.nan, "0.1"])
def test_bad_noise(make, noise):
    with pytest.raises((ValueError, TypeError), match="noise"):
        make(noise=noise)


@pytest.mark.parametrize("make", DRIFTING)
def test_concepts_change_where_they_should(make):
    first, second = 0, 3
    rows = {"n_samples": 4000, "random_state": 0}
    drifting = make(**rows, concept=[first, second, first], drift_at=[1000, 0.75])
    parts = [make(**rows, concept=one) for one in (first, second)]
    if make is not make_sea:  # four thresholds that differ little
        assert any((a != b).mean() > 0.01 for a, b in zip(*parts, strict=True))
    old = np.r_[0:1000, 3000:4000]
    if make is make_random_tree_stream:
        # Rows are drawn concept by concept: compare how well a model transfers.
        tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
        X, y = drifting
        tree.fit(X[:1000], y[:1000])
        assert tree.score(X[3000:], y[3000:]) > tree.score(X[1000:3000], y[1000:3000])
    else:
        for got, one, two in zip(drifting, *parts, strict=True):
            np.testing.assert_array_equal(got[old], one[old])
            np.testing.assert_array_equal(got[1000:3000], two[1000:3000])


# -- SEA ------------------------------------------------------------------------------


@pytest.mark.parametrize("concept", range(4))
def test_sea(concept):
    X, y = make_sea(5000, concept=concept, random_state=0)
    threshold = [8, 9, 7, 9.5][concept]
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] > threshold)
    assert X.shape == (5000, 3)
    assert X.min() >= 0
    assert X.max() <= 10
    # P(x1 + x2 <= t) = t^2 / 200 below 10.
    assert 1 - y.mean() == pytest.approx(threshold**2 / 200, abs=0.03)


# -- random trees (C10) ---------------------------------------------------------------


def test_random_tree_rates():
    # Leaves are equally frequent, and the Bayes tree is right in 70 %.
    X, y = make_random_tree_stream(
        40_000, n_leaves=8, p_left=1.0, p_right=0.0, random_state=5
    )
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.get_n_leaves() <= 40
    noisy, labels = make_random_tree_stream(40_000, n_leaves=8, random_state=5)
    np.testing.assert_array_equal(X, noisy)
    for side, rate in ((1, 0.7), (0, 0.3)):
        assert labels[y == side].mean() == pytest.approx(rate, abs=0.02)
    shares = make_random_tree_stream(
        40_000, n_leaves=8, p_left=0.9, p_right=0.2, random_state=5
    )[1]
    assert shares[y == 1].mean() == pytest.approx(0.9, abs=0.02)
    assert shares[y == 0].mean() == pytest.approx(0.2, abs=0.02)


def test_random_tree_boxes():
    for seed in range(20):
        low, high, is_left = datasets._generators.random_boxes(
            30, 3, np.random.RandomState(seed)
        )
        volume = np.prod(high - low, axis=1)
        assert (high > low).all()
        assert volume.sum() == pytest.approx(1)
        # Disjoint: the center of a box is in no other.
        center = (low + high) / 2
        inside = (center[:, None] >= low) & (center[:, None] < high)
        assert inside.all(axis=2).sum() == 30
        assert 0 < is_left.sum() < 30


def test_random_tree_classes():
    X, y = make_random_tree_stream(
        30_000, n_leaves=12, n_classes=5, p_left=1, p_right=0, random_state=0
    )
    assert np.bincount(y).tolist() == [7500, 7500, 5000, 5000, 5000]
    assert DecisionTreeClassifier(random_state=0).fit(X, y).score(X, y) == 1.0
    _, noisy = make_random_tree_stream(30_000, n_leaves=12, n_classes=5, random_state=0)
    assert np.mean(y == noisy) == pytest.approx(0.7, abs=0.02)
    wrong = (noisy - y)[y != noisy] % 5
    assert np.bincount(wrong)[1:] / len(wrong) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("make", "params", "words"),
    [
        (make_random_tree_stream, {"n_leaves": 1}, "n_leaves == 1, must be >= 2"),
        (make_random_tree_stream, {"n_features": 0}, "n_features"),
        (make_random_tree_stream, {"n_classes": 1}, "n_classes"),
        (make_random_tree_stream, {"p_left": 1.5}, "p_left"),
        (make_random_tree_stream, {"p_right": -1}, "p_right"),
        (make_sea, {"drift_width": 1e308}, "drift_width must be .* at most"),
        (make_diced, {"n_samples": 10}, "n_samples == 10, must be >= 11"),
        (make_grid_concept, {"depth": -1}, "depth"),
        (make_grid_concept, {"box": [0, 1]}, r"box.*Got \[0, 1\]"),
        (make_grid_concept, {"box": [[0, 1], [0.5, 0.5]]}, "box must contain"),
        (make_grid_concept, {"box": "all"}, "box must contain"),
    ],
)
def test_bad_parameters(make, params, words):
    with pytest.raises(ValueError, match=words):
        make(**params)


# -- DICED (D5) -----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "gap"), [(500, 2, 0.0707107), (80, 3, 0.25)])
def test_diced(n, d, gap):
    X, y = make_diced(n, d, random_state=0)
    assert X.shape == (n, d)
    assert np.abs(X).min() >= gap - 1e-6
    assert np.abs(X).max() <= 0.5
    np.testing.assert_array_equal(y, X[:, 0] > 0)
    assert ((X > 0).mean(axis=0) > 0.3).all()
    assert ((X > 0).mean(axis=0) < 0.7).all()


# -- the grid concept (A8) ------------------------------------------------------------


def test_grid_risks():
    # A8's two numbers.
    best = grid_concept_risk(lambda X: grid_concept_proba(X) > 0.5)
    assert best == pytest.approx(0.21395, abs=5e-6)
    leaf = min(grid_concept_risk(lambda X, c=c: np.full(len(X), c)) for c in (0, 1))
    assert leaf == pytest.approx(0.36917, abs=5e-6)


def test_grid_cells():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 2))
    for depth, sides in ((0, (1, 1)), (1, (2, 1)), (6, (8, 8)), (7, (16, 8))):
        want = []
        for x in X:
            a, b = ((int(v * s) + 0.5) / s for v, s in zip(x, sides, strict=True))
            want.append(1 / (1 + math.exp(-5 * (b - math.sqrt(a)))))
        np.testing.assert_allclose(grid_concept_proba(X, depth=depth), want)
    np.testing.assert_array_equal(
        grid_concept_proba([[1.0, 1.0]]), grid_concept_proba([[0.95, 0.95]])
    )


def test_grid_risk_of_a_tree_is_its_error():
    X, y = make_grid_concept(100_000, random_state=0)
    np.testing.assert_array_less(X, 1)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:5000], y[:5000])
    true = grid_concept_risk(tree.predict, resolution=32)
    seen = np.mean(tree.predict(X[5000:]) != y[5000:])
    assert true == pytest.approx(seen, abs=0.006)


def test_grid_box():
    X, y = make_grid_concept(5000, box=[(0.25, 0.5), (0, 0.125)], random_state=0)
    assert ((X >= [0.25, 0]) & (X <= [0.5, 0.125])).all()
    assert y.mean() == pytest.approx(grid_concept_proba(X).mean(), abs=0.02)


def test_grid_bad_input():
    for X in ([0.5, 0.5], [[0.5, 1.5]], [[0.5, np.nan]], [[0.1, 0.2, 0.3]]):
        with pytest.raises(ValueError, match="X must have shape"):
            grid_concept_proba(X)
    for predict in (lambda X: np.full(len(X), 2), lambda X: np.zeros((len(X), 2))):
        with pytest.raises(ValueError, match="predict must return one label"):
            grid_concept_risk(predict)
    with pytest.raises(ValueError, match="resolution"):
        grid_concept_risk(lambda X: np.zeros(len(X)), resolution=0)
    for depth, resolution in ((100, 2**31 - 1), (62, 1), (6, 2**31 - 1)):
        with pytest.raises(ValueError, match="points, more than 2147483648"):
            grid_concept_risk(
                lambda X: np.zeros(len(X)), depth=depth, resolution=resolution
            )
