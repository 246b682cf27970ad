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
    make_agrawal,
    make_diced,
    make_grid_concept,
    make_led,
    make_random_rbf,
    make_random_tree_stream,
    make_sea,
)

GENERATORS = [
    getattr(datasets, name)
    for name in datasets.__all__
    if name.startswith("make_") and name != "make_record_pairs"  # has two sizes
]
DRIFTING = [make_agrawal, make_led, make_random_rbf, make_random_tree_stream, make_sea]
WITH_LABEL_NOISE = [make_agrawal, make_random_rbf, make_random_tree_stream, make_sea]


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


@pytest.mark.parametrize("make", WITH_LABEL_NOISE)
def test_label_noise(make):
    clean = make(20_000, noise=0, random_state=0)
    noisy = make(20_000, noise=0.2, random_state=0)
    np.testing.assert_array_equal(clean[0], noisy[0])
    rate = np.mean(clean[1] != noisy[1])
    assert rate == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / 20_000))


@pytest.mark.parametrize("make", [*WITH_LABEL_NOISE, make_led])
@pytest.mark.parametrize("noise", [-0.1, 1.1, math.nan, "0.1"])
def test_bad_noise(make, noise):
    with pytest.raises((ValueError, TypeError), match="noise"):
        make(noise=noise)


@pytest.mark.parametrize("make", DRIFTING)
def test_concepts_change_where_they_should(make):
    first, second = (1, 9) if make is make_agrawal else (0, 3)
    rows = {"n_samples": 4000, "random_state": 0}
    drifting = make(**rows, concept=[first, second, first], drift_at=[1000, 0.75])
    parts = [make(**rows, concept=one) for one in (first, second)]
    if make is not make_sea:  # four thresholds that differ little
        assert any((a != b).mean() > 0.01 for a, b in zip(*parts, strict=True))
    old = np.r_[0:1000, 3000:4000]
    if make in (make_random_rbf, make_random_tree_stream):
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


# -- Agrawal --------------------------------------------------------------------------


def in_group_a(rule, row):
    """Write the ten predicates out, one applicant at a time."""
    salary, commission, age, elevel, _, _, hvalue, hyears, loan = map(float, row)
    total = salary + commission
    k = 1000
    if rule == 1:
        return age < 40 or age >= 60
    if rule == 7:
        return 0.67 * total - 0.2 * loan - 20 * k > 0
    if rule == 8:
        return 0.67 * total - 5 * k * elevel - 20 * k > 0
    if rule == 9:
        return 0.67 * total - 5 * k * elevel - 0.2 * loan - 10 * k > 0
    if rule == 10:
        equity = 0 if hyears < 20 else 0.1 * hvalue * (hyears - 20)
        return 0.67 * total - 5 * k * elevel + 0.2 * equity - 10 * k > 0
    if age < 40:
        return {
            2: 50 * k <= salary <= 100 * k,
            3: elevel in (0, 1),
            4: 25 * k <= salary <= 75 * k
            if elevel in (0, 1)
            else 50 * k <= salary <= 100 * k,
            5: 100 * k <= loan <= 300 * k
            if 50 * k <= salary <= 100 * k
            else 200 * k <= loan <= 400 * k,
            6: 50 * k <= total <= 100 * k,
        }[rule]
    if age < 60:
        return {
            2: 75 * k <= salary <= 125 * k,
            3: elevel in (1, 2, 3),
            4: 50 * k <= salary <= 100 * k
            if elevel in (1, 2, 3)
            else 75 * k <= salary <= 125 * k,
            5: 200 * k <= loan <= 400 * k
            if 75 * k <= salary <= 125 * k
            else 300 * k <= loan <= 500 * k,
            6: 75 * k <= total <= 125 * k,
        }[rule]
    return {
        2: 25 * k <= salary <= 75 * k,
        3: elevel in (2, 3, 4),
        4: 50 * k <= salary <= 100 * k
        if elevel in (2, 3, 4)
        else 25 * k <= salary <= 75 * k,
        5: 300 * k <= loan <= 500 * k
        if 25 * k <= salary <= 75 * k
        else 100 * k <= loan <= 300 * k,
        6: 25 * k <= total <= 75 * k,
    }[rule]


@pytest.mark.parametrize("rule", range(1, 11))
def test_agrawal_rules(rule):
    X, y = make_agrawal(2000, concept=rule, random_state=rule)
    want = [0 if in_group_a(rule, row) else 1 for row in X]
    np.testing.assert_array_equal(y, want)
    assert 0 < y.mean() < 1


def test_agrawal_features():
    X, _ = make_agrawal(20_000, random_state=0)
    salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan = X.T
    np.testing.assert_array_equal(commission == 0, salary >= 75_000)
    assert commission[commission > 0].min() >= 10_000
    assert set(elevel) == set(range(5))
    assert set(car) == set(range(1, 21))
    assert set(zipcode) == set(range(9))
    assert set(hyears) == set(range(1, 31))
    assert set(age) == set(range(20, 81))
    ratio = hvalue / (9 - zipcode) / 100_000
    assert ratio.min() == pytest.approx(0.5, abs=0.01)
    assert ratio.max() == pytest.approx(1.5, abs=0.01)
    for values, low, high in ((salary, 20_000, 150_000), (loan, 0, 500_000)):
        assert low <= values.min() < values.max() <= high


def test_agrawal_perturbation():
    clean, y = make_agrawal(5000, random_state=0)
    moved, still = make_agrawal(5000, perturbation=0.2, random_state=0)
    np.testing.assert_array_equal(y, still)
    np.testing.assert_array_equal(moved[:, [3, 4, 5]], clean[:, [3, 4, 5]])
    for j, low, high in ((0, 20_000, 150_000), (2, 20, 80), (8, 0, 500_000)):
        shift = np.abs(moved[:, j] - clean[:, j])
        assert 0.09 * (high - low) < shift.max() <= 0.1001 * (high - low)
        assert moved[:, j].min() >= low
        assert moved[:, j].max() <= high
    np.testing.assert_array_equal(moved[:, 1] == 0, clean[:, 1] == 0)
    with pytest.raises(ValueError, match="perturbation"):
        make_agrawal(perturbation=2)


# -- LED ------------------------------------------------------------------------------


def test_led_digits():
    X, y = make_led(3000, random_state=0)
    assert X.shape == (3000, 24)
    shown = {digit: {tuple(row) for row in X[y == digit, :7]} for digit in range(10)}
    lit = {digit: int(sum(next(iter(rows)))) for digit, rows in shown.items()}
    assert all(len(rows) == 1 for rows in shown.values())
    assert len(set.union(*shown.values())) == 10
    assert [lit[digit] for digit in range(10)] == [6, 2, 5, 5, 4, 5, 6, 3, 7, 6]
    assert np.abs(X[:, 7:].mean(axis=0) - 0.5).max() < 0.05


def test_led_best_accuracy():
    # The published 26 % of errors at 10 % noise, from the 2^7 possible displays.
    digits = make_led(2000, n_irrelevant=0, random_state=0)
    digits = np.array([digits[0][digits[1] == d][0] for d in range(10)])
    displays = np.array([[b >> j & 1 for j in range(7)] for b in range(128)])
    off = np.abs(displays[:, np.newaxis] - digits).sum(axis=2)
    likelihood = 0.1**off * 0.9 ** (7 - off)
    assert likelihood.max(axis=1).sum() / 10 == pytest.approx(0.74, abs=0.005)
    X, y = make_led(50_000, n_irrelevant=0, noise=0.1, random_state=1)
    best = likelihood[(X @ 2 ** np.arange(7)).astype(int)].argmax(axis=1)
    assert np.mean(best == y) == pytest.approx(0.74, abs=0.01)


def test_led_segments_change_places():
    still = make_led(500, random_state=0)[0]
    moved = make_led(500, concept=2, random_state=0)[0]
    np.testing.assert_array_equal(moved[:, [7, 8]], still[:, [0, 1]])
    np.testing.assert_array_equal(moved[:, [0, 1]], still[:, [7, 8]])
    rest = [*range(2, 7), *range(9, 24)]
    np.testing.assert_array_equal(moved[:, rest], still[:, rest])
    with pytest.raises(ValueError, match="from 0 to 1"):
        make_led(concept=2, n_irrelevant=1)


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
        low, high, is_left = datasets._random_tree.random_boxes(
            30, 3, np.random.RandomState(seed)
        )
        volume = np.prod(high - low, axis=1)
        assert (high > low).all()
        assert volume.sum() == pytest.approx(1)
        # Disjoint: the centre of a box is in no other.
        centre = (low + high) / 2
        inside = (centre[:, None] >= low) & (centre[:, None] < high)
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
        (make_random_rbf, {"n_centroids": 2, "n_classes": 3}, "n_centroids.*3.*Got 2"),
        (make_random_rbf, {"speed": -1}, "speed"),
        (make_random_rbf, {"speed": math.inf}, "speed must be finite"),
        (make_random_rbf, {"speed": 1.7e308}, r"speed must be .* at most 1e\+100"),
        (make_sea, {"drift_width": 1e308}, "drift_width must be .* at most"),
        (make_led, {"n_irrelevant": -1}, "n_irrelevant"),
        (make_diced, {"n_samples": 10}, "n_samples == 10, must be >= 11"),
        (make_grid_concept, {"depth": -1}, "depth"),
        (make_grid_concept, {"box": [0, 1]}, r"box.*Got \[0, 1\]"),
        (make_grid_concept, {"box": [[0, 1], [0.5, 0.5]]}, "box must hold"),
        (make_grid_concept, {"box": "all"}, "box must hold"),
    ],
)
def test_bad_parameters(make, params, words):
    with pytest.raises(ValueError, match=words):
        make(**params)


# -- radial basis functions -----------------------------------------------------------


def test_rbf():
    X, y = make_random_rbf(
        4000, n_features=3, n_classes=4, n_centroids=4, random_state=1
    )
    assert set(y) == set(range(4))
    # One ball a class: its rows lie around one point.
    means = np.array([X[y == c].mean(axis=0) for c in range(4)])
    assert ((means > -0.1) & (means < 1.1)).all()
    still, _ = make_random_rbf(4000, n_features=3, n_centroids=4, random_state=1)
    moving, _ = make_random_rbf(
        4000, n_features=3, n_centroids=4, speed=1e-3, random_state=1
    )
    assert np.abs(still[0] - moving[0]).max() < 1e-6
    # Centres stay in the unit cube however far they have come.
    gap = np.abs(still - moving).max(axis=1)
    assert gap.max() <= 1 + 1e-6
    assert gap[:1000:100].max() <= 1.0
    step = np.linalg.norm(still[:50] - moving[:50], axis=1)
    assert (step <= 1e-3 * np.arange(50) + 1e-6).all()


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
