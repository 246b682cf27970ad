"""KSWIN: its window, its samples, its test."""

import pickle
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import hypergeom

from skconftree.drift import KSWIN, DriftState
from skconftree.drift._kswin import smallest_difference


def slow_states(detector, losses, draws):
    """States by a list of rows, given the errors in each sample of older rows."""
    n, r = detector.window_size, detector.stat_size
    drift = smallest_difference(r, detector.drift_delta)
    warning = smallest_difference(r, detector.warning_delta)
    window, draws = [], iter(draws)
    for loss in losses:
        window = [*window, loss][-n:]
        state = DriftState.STABLE
        if len(window) == n:
            rise = sum(window[-r:]) - next(draws)
            if abs(rise) >= drift:
                window = window[-r:]
            if rise >= drift:
                state = DriftState.DRIFT
            elif drift > rise >= warning:
                state = DriftState.WARNING
        yield state


@pytest.mark.parametrize("seed", range(3))
def test_the_window_is_what_is_published(seed):
    rng = np.random.default_rng(seed)
    # where older rows are all right or all wrong no sample is in doubt
    lengths = rng.integers(60, 200, 12)
    losses = np.repeat(np.arange(12) % 2, lengths).astype(float)
    detector = KSWIN(window_size=50, stat_size=25, drift_delta=0.001)
    window, expected, draws = [], [], []
    for loss in losses:
        window = [*window, loss][-50:]
        if len(window) == 50:
            draws.append(sum(window[:25]))
            if abs(sum(window[25:]) - draws[-1]) >= smallest_difference(25, 0.001):
                window = window[25:]
    expected = list(slow_states(detector, losses.tolist(), draws))
    assert detector.update_many(losses).tolist() == expected
    assert DriftState.DRIFT in expected
    assert DriftState.WARNING in expected


def chance(n, k):
    """Of empirical distributions of two samples of `n` to be `k / n` or more apart."""
    paths = {0: 1}  # rows of the first sample beyond those of the second -> orders
    for _ in range(2 * n):
        longer = {}
        for place, ways in paths.items():
            for step in (place - 1, place + 1):
                if abs(step) < k:
                    longer[step] = longer.get(step, 0) + ways
        paths = longer
    return 1 - Fraction(paths.get(0, 0), comb(2 * n, n))


@pytest.mark.parametrize("n", [1, 5, 30, 47])
@pytest.mark.parametrize("delta", [0.05, 0.005, 1e-6])
def test_the_difference_is_that_of_the_exact_test(n, delta):
    k = smallest_difference(n, delta)
    assert k == n + 1 or chance(n, k) <= delta
    assert chance(n, k - 1) > delta


def test_samples_are_drawn_without_replacement():
    # one look, at 70 older rows with 20 errors and 30 later ones with 14
    losses = np.r_[np.ones(20), np.zeros(50), np.repeat([1.0, 0.0], [14, 16])]
    n_warnings = 0
    for seed in range(2000):
        detector = KSWIN(warning_delta=0.9, random_state=seed)
        n_warnings += detector.update_many(losses)[-1] == DriftState.WARNING
    share = hypergeom(70, 20, 30).cdf(14 - smallest_difference(30, 0.9))
    assert 0.2 < share < 0.8
    assert abs(n_warnings / 2000 - share) < 4 * np.sqrt(share * (1 - share) / 2000)


def test_keys_tell_draws_apart():
    losses = (np.random.default_rng(0).random(5000) < 0.4).astype(float)
    one, other, same = (
        KSWIN(warning_delta=0.9, random_state=seed).update_many(losses)
        for seed in (0, 1, 0)
    )
    assert (one != other).any()
    np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"drift_delta": 0.0}, "drift_delta"),
        ({"warning_delta": 1e-4}, "at least drift_delta"),
        ({"stat_size": 0}, "stat_size"),
        ({"window_size": 59}, "window_size"),
        ({"window_size": 10_001}, "window_size"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        KSWIN(**parameters).update(0)


def test_a_damaged_state_raises():
    detector = KSWIN()
    detector.update_many(np.tile([0.0, 1.0], 70))
    make, arguments, state = detector._running.__reduce__()
    for damage in (
        {"version": 0},
        {"rows": [0, 1]},
        {"rows": bytes(8 * 101)},
        {"rows": b"\x02"},
        {"rows": np.array([np.inf]).tobytes()},
    ):
        with pytest.raises(ValueError, match="state of this drift detector"):
            make(*arguments).__setstate__({**state, **damage})
    for wrong, words in (
        ((10, 6, 1, 1, 0), "do not fit"),
        ((10, 5, -1, 1, 0), "64 bits"),
        ((10, 5, 1, 2**63, 0), "64 bits"),
        ((10, 5, 1, 1, -1), "seed"),
        ((10, 5, 1, 1, 2**64), "seed"),
    ):
        with pytest.raises(ValueError, match=words):
            make(*wrong)
    other = make(*arguments)
    other.__setstate__(state)
    assert pickle.dumps(other) == pickle.dumps(detector._running)


def largest_step(one, other):
    """Rows that `one` has above some number more than `other` has, at most."""
    return max(max(np.sum(one >= x) - np.sum(other >= x) for x in np.r_[one, other]), 0)


def test_numbers_are_compared_by_their_distributions():
    """Where all rows before the latest are drawn no draw is in doubt."""
    rng = np.random.default_rng(3)
    numbers = np.round(np.r_[rng.normal(size=150), rng.normal(4.0, 1.0, size=150)], 1)
    detector = KSWIN(0.3, 0.01, window_size=40, stat_size=20)
    drift, warning = (smallest_difference(20, delta) for delta in (0.01, 0.3))
    window, expected = [], []
    for number in numbers:
        window, state = [*window, number][-40:], DriftState.STABLE
        if len(window) == 40:
            old, new = np.array(window[:20]), np.array(window[20:])
            rise, fall = largest_step(new, old), largest_step(old, new)
            if max(rise, fall) >= drift:
                window = window[20:]
            if rise >= drift:
                state = DriftState.DRIFT
            elif fall < drift and rise >= warning:
                state = DriftState.WARNING
        expected.append(state)
    assert detector.update_many(numbers).tolist() == expected
    assert {*expected} == {*DriftState}
    assert KSWIN(0.3, 0.01, 40, 20).update_many(-numbers).max() < DriftState.DRIFT


def test_the_unit_of_numbers_does_not_matter():
    """Zeros and ones are drawn as they are where they are any two numbers."""
    errors = (np.random.default_rng(0).random(3000) < 0.3).astype(float)
    errors[1500:1600] = 1.0
    states = KSWIN(warning_delta=0.5).update_many(errors)
    assert DriftState.DRIFT in states
    for scale, start in ((7.0, 3.0), (1e-30, 0.0), (1e90, -1e90)):
        other = KSWIN(warning_delta=0.5).update_many(start + scale * errors)
        np.testing.assert_array_equal(other, states)
