"""The Page-Hinkley test: its sum, its thresholds."""

import pickle
import random

import numpy as np
import pytest

from skconftree.drift import DriftState, PageHinkley


def slow_states(losses, min_samples, delta, threshold, warning_threshold, alpha):
    rows, sums = [], []
    for loss in losses:
        rows.append(loss)
        last = sums[-1] if sums else 0.0
        sums.append(alpha * last + loss - sum(rows) / len(rows) - delta)
        excess = sums[-1] - min(sums)
        state = DriftState.STABLE
        if len(rows) >= min_samples and excess > threshold:
            state = DriftState.DRIFT
            rows, sums = [], []
        elif len(rows) >= min_samples and excess > warning_threshold:
            state = DriftState.WARNING
        yield state


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "parameters", [(30, 0.005, 20.0, 10.0, 0.9999), (5, 0.0, 3.0, 3.0, 1.0)]
)
def test_it_is_what_is_published(seed, parameters):
    rng = np.random.default_rng(seed)
    rates = np.repeat(rng.uniform(0.05, 0.8, 6), rng.integers(50, 400, 6))
    losses = (rng.random(len(rates)) < rates).astype(float)
    *first, warning, alpha = parameters
    detector = PageHinkley(*first, warning_threshold=warning, alpha=alpha)
    found = detector.update_many(losses).tolist()
    assert found == list(slow_states(losses.tolist(), *parameters))
    assert DriftState.DRIFT in found


def test_it_says_what_others_say():
    """The stream of river's documentation, in sevenths, and what it prints."""
    rng = random.Random(12345)
    values = rng.choices([0, 1], k=1000) + rng.choices(range(4, 8), k=1000)
    kernel = PageHinkley(
        delta=0.005 / 7, threshold=50 / 7, warning_threshold=7
    ).kernel()
    states = kernel.update_many(np.array(values) / 7)
    assert np.flatnonzero(states == DriftState.DRIFT)[0] == 1006


def test_a_fall_of_the_error_is_no_drift():
    assert not PageHinkley().update_many(np.repeat([1.0, 0.0], 2000)).any()


def test_excess():
    detector = PageHinkley(delta=0.0, alpha=1.0)
    assert detector.excess_ == 0.0
    detector.update_many([0, 0, 1])
    assert detector.excess_ == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"min_samples": 0}, "min_samples"),
        ({"delta": -0.1}, "delta"),
        ({"threshold": 0.0}, "threshold"),
        ({"alpha": 1.5}, "alpha"),
        ({"threshold": 20.0}, "at least warning_threshold"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        PageHinkley(**parameters).update(0)


def test_a_damaged_state_raises():
    detector = PageHinkley()
    detector.update_many(np.tile([0.0, 1.0], 50))
    make, arguments, state = detector._running.__reduce__()
    for damage in (
        {"version": 0},
        {"total": np.inf},
        {"excess": np.inf},
        {"lowest": 0},
    ):
        with pytest.raises(ValueError, match="state of this drift detector"):
            make(*arguments).__setstate__({**state, **damage})
    with pytest.raises(ValueError, match="64 bits"):
        make(2**63, *arguments[1:])
    other = make(*arguments)
    other.__setstate__(state)
    assert pickle.dumps(other) == pickle.dumps(detector._running)
