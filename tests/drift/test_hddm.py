"""HDDM-A and HDDM-W: what is published, step by step."""

import math
import pickle
import random

import numpy as np
import pytest

from skconftree.drift import HDDMA, HDDMW, DriftState


def slow_means(losses, warning_delta, drift_delta):
    rows, best = [], None
    for loss in losses:
        rows.append(loss)
        n, mean = len(rows), sum(rows) / len(rows)
        radius = math.sqrt(math.log(1 / drift_delta) / (2 * n))
        if best is None or mean + radius <= best[1] + best[2]:
            best = n, mean, radius
        k = best[0]
        state = DriftState.STABLE
        if k < n:
            share = (n - k) / (2 * k * n)
            if mean - best[1] >= math.sqrt(share * math.log(2 / drift_delta)):
                state = DriftState.DRIFT
                rows, best = [], None
            elif mean - best[1] >= math.sqrt(share * math.log(2 / warning_delta)):
                state = DriftState.WARNING
        yield state


def weighted(losses, smoothing):
    """Mean of losses whose weights fall with age, and the sum of squared weights."""
    n = len(losses)
    weights = smoothing * (1 - smoothing) ** np.arange(n - 1, -1, -1)
    weights[0] = (1 - smoothing) ** (n - 1)
    return np.dot(weights, losses), np.dot(weights, weights)


def slow_averages(losses, warning_delta, drift_delta, smoothing):
    rows, best, later = [], None, []
    for loss in losses:
        rows.append(loss)
        later.append(loss)
        mean, squares = weighted(rows, smoothing)
        limit = mean + math.sqrt(squares / 2 * math.log(1 / drift_delta))
        if best is None or limit < best[2]:
            best, later = (mean, squares, limit), []
        state = DriftState.STABLE
        if later:
            mean, squares = weighted(later, smoothing)
            rise, squares = mean - best[0], (squares + best[1]) / 2
            if rise > math.sqrt(squares * math.log(1 / drift_delta)):
                state = DriftState.DRIFT
                rows, best, later = [], None, []
            elif rise > math.sqrt(squares * math.log(1 / warning_delta)):
                state = DriftState.WARNING
        yield state


def stream(seed):
    rng = np.random.default_rng(seed)
    rates = np.repeat(rng.uniform(0.05, 0.8, 5), rng.integers(50, 400, 5))
    return (rng.random(len(rates)) < rates).astype(float)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("deltas", [(0.005, 0.001), (0.05, 0.05), (0.3, 0.02)])
def test_they_are_what_is_published(seed, deltas):
    losses = stream(seed)
    found = HDDMA(*deltas).update_many(losses).tolist()
    assert found == list(slow_means(losses.tolist(), *deltas))
    assert DriftState.DRIFT in found
    found = HDDMW(*deltas, 0.1).update_many(losses).tolist()
    assert found == list(slow_averages(losses.tolist(), *deltas, 0.1))
    assert DriftState.DRIFT in found


@pytest.mark.parametrize(("method", "drift"), [(HDDMA, 1206), (HDDMW, 1077)])
def test_they_say_what_others_say(method, drift):
    """The stream of river's documentation, and what it prints."""
    rng = random.Random(42)
    losses = rng.choices([0, 1], k=1000) + rng.choices([0, 1], k=1000, weights=[3, 7])
    states = method().update_many(losses)
    assert np.flatnonzero(states)[0] == 451
    assert states[451] == DriftState.WARNING
    assert np.flatnonzero(states == DriftState.DRIFT).tolist() == [drift]


def test_a_fall_of_the_error_is_no_drift():
    losses = np.repeat([1.0, 0.0], 2000)
    for method in (HDDMA, HDDMW):
        assert not method().update_many(losses).any()


def test_error_rates():
    detector = HDDMA()
    assert np.isnan(detector.error_rate_)
    detector.update_many([1, 0, 0, 0])
    assert detector.error_rate_ == 0.25
    detector = HDDMW(smoothing=0.5)
    assert np.isnan(detector.error_rate_)
    detector.update_many([1, 0, 1])
    assert detector.error_rate_ == 0.75


@pytest.mark.parametrize(
    ("detector", "words"),
    [
        (HDDMA(drift_delta=0.0), "drift_delta"),
        (HDDMA(warning_delta=1e-4), "at least drift_delta"),
        (HDDMW(warning_delta=1.0), "warning_delta"),
        (HDDMW(smoothing=1.0), "smoothing"),
    ],
)
def test_wrong_parameters_are_named(detector, words):
    with pytest.raises(ValueError, match=words):
        detector.update(0)


@pytest.mark.parametrize(
    ("method", "damages"),
    [
        (HDDMA, [{"n_best": 101}, {"best": 70.0, "n_best": 60}, {"total": np.nan}]),
        (HDDMW, [{"averages": None}, {"averages": [(0.0, 0.0), (2.0, 1.0), (0.0, 1)]}]),
    ],
)
def test_a_damaged_state_raises(method, damages):
    detector = method()
    detector.update_many(np.tile([0.0, 1.0], 50))
    make, arguments, state = detector._running.__reduce__()
    for damage in ({"version": 0}, {"n": -1}, *damages):
        with pytest.raises(ValueError, match="state of this drift detector"):
            make(*arguments).__setstate__({**state, **damage})
    other = make(*arguments)
    other.__setstate__(state)
    assert pickle.dumps(other) == pickle.dumps(detector._running)
