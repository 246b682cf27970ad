"""Particle moves against exact results: integrals, the prior, Markov chains."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.effort import cases
from reference.oasis import likelihood
from reference.posterior import chains, probability

from skconftree import OASISClassifier


def rows(seed, n, d):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    X = rng.normal(0, 0.5, size=(n + 200, d))
    return X[:n], (X[:n] @ w > 0).astype(int), X[n:], X[n:] @ w > 0


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n_sweeps"), [(12, 800), (30, 1000)])
def test_against_long_chains(d, n_sweeps):
    """In many dimensions: the mean of the posterior at new rows, and who is right."""
    X, y, new, truth = rows(d, 2 * d, d)
    exact = probability(chains(X, 2 * y - 1, 60, n_sweeps, seed=0), new)
    model = OASISClassifier(
        standardize=False, fit_intercept=False, n_particles=2000, random_state=0
    )
    found = model.fit(X, y).predict_proba(new)[:, 1]
    assert model.n_distinct_[0] > 1900
    assert np.abs(found - exact).mean() < 0.05
    right = [((one > 0.5) == truth).mean() for one in (found, exact)]
    assert abs(right[0] - right[1]) <= 0.03


@pytest.mark.slow
def test_sixty_features_are_learned():
    """Steps of one size for all were refused: right on hardly more than half."""
    right = []
    for seed in range(2):
        X, y, new, truth = rows(seed, 200, 60)
        model = OASISClassifier(
            standardize=False, fit_intercept=False, random_state=seed
        ).fit(X, y)
        assert model.n_distinct_[0] > 900
        right.append((model.predict(new) == truth).mean())
    assert np.mean(right) > 0.8


@pytest.mark.parametrize("prior", ["cauchy", "normal"])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_uninformative_rows_leave_the_prior(prior, scale):
    """Far rows on two axes keep a quarter of the planes, and tell nothing of sizes."""
    model = OASISClassifier(
        standardize=False,
        fit_intercept=False,
        n_particles=40_000,
        prior=prior,
        scale=scale,
        likelihood=(1e-3, 0.1),
        random_state=0,
    ).partial_fit(1e6 * np.eye(2, 4), [1, 1], [0, 1])
    assert model.n_moves_[0] > 0
    planes = model.particles_[0]
    assert model.weights_[0] @ (planes[:, :2] > 0).all(axis=1) > 0.99
    assert abs((planes[:, 2:] > 0).mean() - 0.5) < 0.015
    middle = {"normal": 0.67449, "cauchy": 1.0}[prior]
    assert_allclose(np.median(np.abs(planes)), scale * middle, rtol=0.05)


@pytest.mark.parametrize("labeled", cases([1.0, 0.5], [0.5]))
def test_two_features_against_an_integral(labeled):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(14, 2))
    y = (X @ [1.0, -2.0] > 0).astype(int)
    known = rng.random(14) < labeled
    given = np.where(known, y, -1)
    model = OASISClassifier(
        standardize=False,
        fit_intercept=False,
        n_particles=20_000,
        missing_label=-1,
        random_state=0,
    ).partial_fit(X, given, classes=[0, 1])
    assert model.n_moves_[0] > 0
    # equal steps of the prior's distribution function
    half = np.tan(np.pi * ((np.arange(400) + 0.5) / 400 - 0.5))
    grid = np.stack(np.meshgrid(half, half), axis=-1).reshape(-1, 2)
    density = np.ones(len(grid))
    for x, label, is_known in zip(X, y, known, strict=True):
        density *= likelihood((2 * label - 1) * is_known, grid @ x, 0.5, 0.2)
    density /= density.sum()
    new = rng.normal(size=(20, 2))
    margin = new @ grid.T
    exact = likelihood(1, margin, 0.5, 0.2) @ density
    exact /= likelihood(0, margin, 0.5, 0.2) @ density
    assert_allclose(model.predict_proba(new)[:, 1], exact, atol=0.02)
