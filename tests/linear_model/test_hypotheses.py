"""Planes drawn from the posterior as hypotheses: alike in weight, each a copy.

The slow version resamples by the printed steps, with the random number written out.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.draws import mix
from reference.oasis import systematic_resample, unit

from skconftree import OASISClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
Y = (X @ RNG.normal(size=5) > 0).astype(float)


def learned(n, m=60, **parameters):
    model = OASISClassifier(
        **{
            "n_particles": m,
            "standardize": False,
            "fit_intercept": False,
            "resample": False,
            "random_state": 3,
            **parameters,
        }
    )
    return model.partial_fit(X[:n], Y[:n], classes=[0, 1])


@pytest.mark.parametrize("m", [2, 7, 60, 1000])
@pytest.mark.parametrize("n", [1, 12, 100])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_planes_are_drawn_systematically(m, n, fit_intercept):
    model = learned(n, m, fit_intercept=fit_intercept)
    outcomes, weights, groups = model.hypotheses(X)
    key = mix(mix(mix(mix(model._model.seed) ^ 0) ^ n) ^ 2 * m + 1)
    expected = systematic_resample(model.weights_[0], unit(key))
    assert_array_equal(groups, expected)
    assert_array_equal(weights, np.full(m, 1 / m))
    planes = model.particles_[0][groups]
    assert_array_equal(model.hypothesis_points(), planes)
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    assert_array_equal(outcomes, planes @ rows.T > 0)


def test_equal_weights_draw_each_plane_once():
    """Particles of the prior: a row of weight 0 is not learned."""
    model = OASISClassifier(standardize=False, random_state=0)
    model.partial_fit(X[:1], [None], classes=[0, 1], sample_weight=[0.0])
    assert model.n_rows_seen_ == 0
    assert_array_equal(model.hypotheses(X[:2])[2], np.arange(1000))


def test_rows_do_not_matter_to_each_other():
    """Rows scored a few at a time have the outcomes that they have all at once."""
    model = learned(40, 300)
    outcomes = model.hypotheses(X)[0]
    for rows in (slice(0, 1), slice(7, 9), slice(20, 290)):
        assert_array_equal(model.hypotheses(X[rows])[0], outcomes[:, rows])


def test_reading_changes_nothing():
    model = learned(40)
    before = pickle.dumps(model)
    first = model.hypotheses(X)
    second = pickle.loads(before).hypotheses(X)
    assert pickle.dumps(model) == before
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)


def test_a_row_on_no_side():
    """The origin is on every plane: not on the positive side, as `sides` has it."""
    assert not learned(10).hypotheses(np.zeros((1, 5)))[0].any()


def test_what_is_no_hypothesis():
    many = OASISClassifier().fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="one-vs-rest"):
        many.hypotheses(X)
    with pytest.raises(ValueError, match="one-vs-rest"):
        many.hypothesis_points()
    waiting = OASISClassifier().partial_fit(X[:5], Y[:5], classes=[0, 1])
    with pytest.raises(ValueError, match="no particles yet"):
        waiting.hypotheses(X)
    with pytest.raises(ValueError, match="5 features"):
        learned(10).hypotheses(X[:, :3])


def test_resampling_switched_off_later():
    """A run that moves, then labels that change weights alone."""
    model = learned(100, resample=True)
    moves = model.n_moves_[0]
    assert moves > 0
    model.set_params(resample=False)
    model = pickle.loads(pickle.dumps(model))
    particles = model.particles_
    model.partial_fit(X[100:], Y[100:])
    assert_array_equal(model.particles_, particles)
    assert model.n_moves_[0] == moves
    assert model.ess_[0] < 30
    assert (
        not pickle.loads(pickle.dumps(model))
        .set_params(resample=True)
        .partial_fit(X[:1], Y[:1])
        .ess_[0]
        < 30
    )
