"""OASIS against its definition (D1 to D4), in slow NumPy that shares no code.

The compiled filter keeps log weights, sums by lanes and has an exponential of its own;
what it makes of rows must be what the printed formulas make of them, moves included.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference.effort import crossed, examples
from reference.oasis import SlowFilter, likelihood, systematic_resample

from skconftree import OASISClassifier
from skconftree.datasets import make_diced

SHAPES = {"normal": (0.5, 0.2), "steep": (0.1, 0.1), "flat": (0.7, 0.3)}


def make_rows(seed, n, d, n_classes=2, labeled=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, n_classes))).argmax(axis=1).astype(object)
    y[rng.random(n) >= labeled] = None
    return X, y


def model(**parameters):
    given = {"n_particles": 60, "fit_intercept": False, "random_state": 3}
    return OASISClassifier(**{**given, **parameters})


def seed_of(random_state=3):
    return np.random.RandomState(random_state).randint(2**31 - 1)


# -- worked numbers ---------------------------------------------------------------


def test_likelihood_of_the_published_shape():
    """D1: .1 on the wrong side, .2828 on the plane, .8 on the right side."""
    assert_allclose(
        likelihood(1, np.array([-3, -1, 0, 1, 9]), 0.5, 0.2)[2], 0.28284, 1e-4
    )
    for margin, expected in [(-1, 0.1), (-5, 0.1), (0, 0.2828427), (1, 0.8), (7, 0.8)]:
        found = likelihood(1, np.float64(margin), 0.5, 0.2)
        assert_allclose(found, expected, rtol=1e-6)
        assert_allclose(likelihood(-1, np.float64(-margin), 0.5, 0.2), found)
    assert_allclose(likelihood(0, np.float64(2.0), 0.5, 0.2), 0.9)
    assert_allclose(likelihood(0, np.float64(0.0), 0.5, 0.2), 0.565685, rtol=1e-5)


@pytest.mark.parametrize(
    ("margin", "label", "shape"),
    crossed(
        [-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0], [0, 1, None], [*SHAPES, (0.9, 0.4)]
    ),
)
def test_one_row_multiplies_weights_by_the_likelihood(margin, label, shape):
    """Two planes: the ratio of their weights is that of their likelihoods."""
    oasis = model(n_particles=2, standardize=False, resample=False, likelihood=shape)
    oasis.partial_fit([[0.0]], [None], classes=[0, 1])
    w = oasis.particles_[0, :, 0]
    x = margin / w[0]
    oasis.partial_fit([[x]], np.array([label], dtype=object))
    y = {0: -1, 1: 1, None: 0}[label]
    alpha, gamma = SHAPES.get(shape, shape)
    expected = likelihood(y, w * x, alpha, gamma)
    assert_allclose(oasis.weights_[0], expected / expected.sum(), rtol=1e-12)


def test_prediction_is_the_ratio_of_weighted_sums():
    """D2: not the mean of each particle's ratio, which is another number."""
    oasis = model(n_particles=7, standardize=False, resample=False)
    X, y = make_rows(0, 12, 3)
    oasis.partial_fit(X, y, classes=[0, 1])
    margins = oasis.particles_[0] @ X.T
    weights = oasis.weights_[0]
    positive = likelihood(1, margins, 0.5, 0.2)
    both = likelihood(0, margins, 0.5, 0.2)
    expected = weights @ positive / (weights @ both)
    assert_allclose(oasis.predict_proba(X)[:, 1], expected, rtol=1e-8)
    assert np.abs(weights @ (positive / both) - expected).max() > 0.01


def test_scores():
    """D3, and GBS = (1 - OASIS) / 2 where no plane runs through the row."""
    oasis = model(standardize=False)
    X, y = make_rows(1, 40, 3)
    oasis.partial_fit(X, y, classes=[0, 1])
    margins, weights = oasis.particles_[0] @ X.T, oasis.weights_[0]
    above, below = weights @ (margins > 0), weights @ (margins < 0)
    found = oasis.query_score(X, "oasis")
    assert_allclose(found, np.abs(above - below), atol=1e-12)
    assert_allclose(oasis.query_score(X, "gbs"), np.minimum(above, below), atol=1e-12)
    assert_allclose(oasis.query_score(X, "gbs"), (1 - found) / 2, atol=1e-12)
    uc = np.abs(oasis.predict_proba(X)[:, 1] - 0.5)
    assert_allclose(oasis.query_score(X, "uc"), uc, atol=1e-12)
    # a row on every plane: neither side has a weight
    origin = np.zeros((1, 3))
    assert oasis.query_score(origin, "oasis") == oasis.query_score(origin, "gbs") == 0


def test_systematic_resampling():
    """D4: equal steps from one draw; a particle of weight k/m comes k times."""
    assert_allclose(systematic_resample([0.5, 0.25, 0.25, 0.0], 0.5), [0, 0, 1, 2])
    assert_allclose(systematic_resample([0.1, 0.2, 0.7], 0.9), [1, 2, 2])


# -- the whole filter -------------------------------------------------------------


@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 9),
    m=st.sampled_from([2, 3, 8, 40, 257]),
    tau=st.sampled_from([1, 5, 100]),
    shape=st.sampled_from([*SHAPES, (1.0, 0.3), (0.01, 0.5)]),
    prior=st.sampled_from(["cauchy", "normal"]),
    scale=st.sampled_from([0.3, 1.0, 4.0]),
    n_classes=st.sampled_from([2, 2, 3]),
    labeled=st.sampled_from([0.0, 0.3, 1.0]),
    weighted=st.booleans(),
    resample=st.sampled_from([True, True, False]),
)
def test_against_the_slow_filter(
    seed, d, m, tau, shape, prior, scale, n_classes, labeled, weighted, resample
):
    n = 12 if m > 100 else 40
    X, y = make_rows(seed, n, d, n_classes, labeled)
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n)
    oasis = model(
        fit_intercept=False,
        n_particles=m,
        buffer_size=tau,
        likelihood=shape,
        prior=prior,
        scale=scale,
        resample=resample,
        standardize=False,
    )
    classes = range(n_classes)
    told = oasis.partial_fit_predict(X, y, classes, weight if weighted else None)
    alpha, gamma = SHAPES.get(shape, shape)
    for problem in range(1 if n_classes == 2 else n_classes):
        slow = SlowFilter(
            d,
            m,
            tau,
            alpha=alpha,
            gamma=gamma,
            prior=prior,
            scale=scale,
            resample=resample,
            seed=seed_of(),
            problem=problem,
        )
        positive = 1 if n_classes == 2 else problem
        for i in range(n):
            if weighted and weight[i] == 0.0:
                continue
            if n_classes == 2:
                p = slow.probability(X[i])
                assert told[i] == (p > 0.5) or abs(p - 0.5) < 1e-9
            sign = 0 if y[i] is None else 1 if y[i] == positive else -1
            slow.learn(X[i], sign, weight[i] if weighted else 1.0)
            assume(slow.decided)
        assert oasis.n_moves_[problem] == slow.n_moves
        assert_allclose(oasis.particles_[problem], slow.particles, rtol=1e-9, atol=1e-9)
        assert_allclose(oasis.weights_[problem], slow.weights, rtol=1e-8, atol=1e-300)
        assert_allclose(oasis.ess_[problem], slow.ess if slow.n_rows else m, rtol=1e-8)
        if n_classes == 2:
            for x in X[:3]:
                scores = [
                    oasis.query_score(x[np.newaxis], s)[0]
                    for s in ("oasis", "gbs", "uc")
                ]
                assert_allclose(scores, slow.scores(x), atol=1e-8)


def test_moves_happen_in_the_comparison():
    """Else the test above would say nothing of resampling."""
    X, y = make_rows(0, 40, 4, labeled=1.0)
    assert model(standardize=False).fit(X, y.astype(int)).n_moves_[0] > 2


def test_the_move_keeps_the_target():
    """After many moves the particles are a sample of prior times likelihood.

    One feature, few rows: the posterior is integrated on a grid.
    """
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], 12) * rng.uniform(0.2, 1.5, 12)
    y = (x > 0).astype(int)
    y[[2, 7]] = 1 - y[[2, 7]]
    oasis = model(n_particles=20_000, standardize=False).partial_fit(
        x[:, np.newaxis], y, classes=[0, 1]
    )
    assert oasis.n_moves_[0] > 0
    grid = np.linspace(-400, 400, 800_001)
    density = 1 / (1 + grid**2)
    for one, label in zip(x, y, strict=True):
        density *= likelihood(2 * label - 1, grid * one, 0.5, 0.2)
    cumulative = np.cumsum(density) / density.sum()
    for q in (0.1, 0.3, 0.5, 0.7, 0.9):
        at = grid[np.searchsorted(cumulative, q)]
        share = oasis.weights_[0] @ (oasis.particles_[0, :, 0] <= at)
        assert abs(share - q) < 0.02


def test_unlabeled_rows_push_planes_out_of_the_data():
    """The gap: planes through data lose weight, whichever side a row is on."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-0.5, 0.5], 300), rng.normal(0, 0.5, 300)])
    oasis = model(n_particles=1000, standardize=False).partial_fit(
        X, [None] * 300, classes=[0, 1]
    )
    w = oasis.particles_[0]
    steep = np.abs(w[:, 0]) > np.abs(w[:, 1])
    assert oasis.weights_[0] @ steep > 0.9
    # both signs are left, as no label has told them apart
    assert 0.1 < oasis.weights_[0] @ (w[:, 0] > 0) < 0.9


def test_diced_with_few_labels():
    """D5: all gaps look alike; some labels tell which one matters."""
    X, y = make_diced(500, random_state=0)
    few = y.astype(object)
    few[np.arange(500) % 10 > 0] = None
    errors = [
        1 - OASISClassifier(random_state=seed).fit(X, few).score(X, y)
        for seed in range(5)
    ]
    assert np.median(errors) <= 0.01


# -- scaling and classes ----------------------------------------------------------


def test_fit_scales_by_all_rows():
    X, y = make_rows(0, 50, 3, labeled=1.0)
    X = X * [1.0, 100.0, 1e-3] + [0.0, 7.0, -2.0]
    oasis = model().fit(X, y.astype(int))
    assert_allclose(oasis.mean_, X.mean(axis=0))
    assert_allclose(oasis.scale_, 2 * X.std(axis=0))
    own = model(standardize=False).fit((X - oasis.mean_) / oasis.scale_, y.astype(int))
    assert_allclose(oasis.particles_, own.particles_, rtol=1e-9)


def test_partial_fit_scales_by_the_first_hundred_rows():
    X, y = make_rows(0, 250, 3)
    oasis = model().partial_fit(X[:99], y[:99], classes=[0, 1])
    assert not hasattr(oasis, "mean_")
    assert oasis.n_rows_seen_ == 99
    assert not hasattr(oasis, "particles_")
    assert (oasis.predict_proba(X) == 0.5).all()
    oasis.partial_fit(X[99:], y[99:])
    assert_allclose(oasis.mean_, X[:100].mean(axis=0))
    assert_allclose(oasis.scale_, 2 * X[:100].std(axis=0))
    assert oasis.n_rows_seen_ == 250


def test_constant_features_are_ignored():
    X, y = make_rows(0, 150, 3, labeled=1.0)
    y = y.astype(int)
    wide = np.column_stack([X, np.full(150, 0.1)])
    oasis = model().fit(wide, y)
    assert oasis.scale_[3] == np.inf
    other = wide + [0, 0, 0, 5.0]
    assert (oasis.predict_proba(wide) == oasis.predict_proba(other)).all()


@pytest.mark.parametrize("fit_intercept", [True, "auto"])
def test_an_intercept_is_a_last_coordinate(fit_intercept):
    X, y = make_rows(0, 150, 3, labeled=1.0)
    y = y.astype(int)
    oasis = model(fit_intercept=fit_intercept).fit(X, y)
    assert oasis.particles_.shape == (1, 60, 4)
    wide = np.column_stack([(X - oasis.mean_) / oasis.scale_, np.ones(150)])
    own = model(standardize=False).fit(wide, y)
    assert_allclose(oasis.particles_, own.particles_, rtol=1e-9)


def test_unequal_classes_that_overlap():
    """No plane through the mean guesses as well as always the larger class."""
    right = {False: [], "auto": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = (rng.random(600) < 0.28).astype(int)
        X = rng.normal(size=(600, 5))
        X[:, 0] += 0.5 * y
        for fit_intercept, found in right.items():
            oasis = OASISClassifier(fit_intercept=fit_intercept, random_state=seed)
            found.append(oasis.fit(X[:300], y[:300]).score(X[300:], y[300:]))
    assert np.mean(right[False]) < 0.65
    assert np.mean(right["auto"]) > 0.7


def test_classes_are_separated_from_the_rest():
    """Each class has particles, which are those of its own problem."""
    X, y = make_rows(0, 200, 3, n_classes=3, labeled=1.0)
    names = np.array(["ash", "elm", "fir"])[y.astype(int)]
    oasis = model().fit(X, names)
    assert oasis.particles_.shape == (3, 60, 3)
    decision = oasis.decision_function(X)
    share = 1 / (1 + np.exp(-decision))
    assert_allclose(oasis.predict_proba(X), share / share.sum(axis=1, keepdims=True))
    assert (oasis.predict(X) == oasis.classes_[decision.argmax(axis=1)]).all()
    lone = np.abs(share - 0.5).min(axis=1)
    assert_allclose(oasis.query_score(X, "uc"), lone, atol=1e-12)


def test_one_class():
    oasis = model().fit([[1.0], [2.0], [3.0]], [7, None, 7])
    assert (oasis.predict([[9.0]]) == 7).all()
    assert (oasis.predict_proba([[9.0]]) == 1).all()
    assert oasis.decision_function([[9.0]]).shape == (1, 1)
    assert oasis.particles_.shape == (0, 60, 1)
    assert [oasis.query_score([[9.0]], s)[0] for s in ("oasis", "gbs", "uc")] == [
        1.0,
        0.0,
        0.5,
    ]


def test_weight_is_a_power_of_the_likelihood():
    X, y = make_rows(0, 30, 3)
    quiet = model(standardize=False, resample=False)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    once = quiet.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    again = model(standardize=False, resample=False).partial_fit(
        X.repeat(weight, axis=0), y.repeat(weight), classes=[0, 1]
    )
    assert_allclose(once.weights_, again.weights_, rtol=1e-10)
    assert once.n_rows_seen_ == (weight > 0).sum()


def test_vanishing_weights_reset_the_particles():
    """Log weights of minus infinity: the prior again, and it is counted."""
    oasis = model(standardize=False, likelihood=(0.1, 0.9))
    oasis.partial_fit([[0.0, 0.0]], [1], classes=[0, 1], sample_weight=[1.7e308])
    assert oasis.n_restarts_[0] == 1
    assert_allclose(oasis.weights_, 1 / 60)
    assert np.isfinite(oasis.particles_).all()


def test_extreme_values_stay_numbers():
    X = np.array([[1e305, -1e305], [-1e305, 1e305], [0.0, 1e-308], [1.0, 2.0]] * 40)
    y = np.array([0, 1, 0, 1] * 40)
    for parameters in ({}, {"standardize": False}, {"fit_intercept": True}):
        oasis = model(**parameters).fit(X, y)
        assert np.isfinite(oasis.particles_).all()
        assert np.isfinite(oasis.weights_).all()
        assert np.isfinite(oasis.predict_proba(X)).all()
        oasis = model(**parameters).partial_fit(X, y, classes=[0, 1])
        assert np.isfinite(oasis.predict_proba(X)).all()


def test_exponential_is_that_of_the_library():
    """Weights far apart: log weights are kept, so that none is lost too early."""
    oasis = model(n_particles=500, standardize=False, resample=False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) * 3
    y = (X[:, 0] > 0).astype(int)
    oasis.partial_fit(X, y, classes=[0, 1])
    margins = oasis.particles_[0] @ X.T
    logs = np.log(likelihood(1, np.where(y == 1, margins, -margins), 0.5, 0.2))
    total = logs.sum(axis=1)
    expected = np.exp(total - total.max())
    expected /= expected.sum()
    assert expected.min() < 1e-200
    seen = expected > math.exp(-280)
    assert_allclose(oasis.weights_[0][seen], expected[seen], rtol=1e-9)


# -- copies -----------------------------------------------------------------------


def test_copies_are_counted_once():
    X, y = make_rows(0, 60, 3, n_classes=3, labeled=1.0)
    oasis = model(standardize=False, resample=False).fit(X, y.astype(int))
    assert (oasis.n_distinct_ == 60).all()
    moved = model(standardize=False).fit(X, y.astype(int))
    expected = [len(np.unique(planes, axis=0)) for planes in moved.particles_]
    assert moved.n_distinct_.tolist() == expected
    assert moved.n_distinct_.dtype == np.intp


def test_few_distinct_particles_warn():
    """One coordinate, a row that weighs as a thousand: nearly all are copies."""
    oasis = model(n_particles=200, standardize=False)
    with pytest.warns(UserWarning, match=r"n_particles.*another scale"):
        oasis.partial_fit([[1e6], [1.0], [-0.9]], [1, 0, 0], [0, 1], [1.0, 1e6, 1e6])
    assert oasis.n_distinct_[0] < 20


def test_logarithms_are_those_of_the_probabilities():
    X, y = make_diced(200, random_state=0)
    oasis = OASISClassifier(n_particles=50, random_state=0).fit(X, y)
    assert_allclose(np.exp(oasis.predict_log_proba(X)), oasis.predict_proba(X))
