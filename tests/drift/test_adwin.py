"""ADWIN: its buckets, its cuts, its two windows."""

import math
import pickle

import numpy as np
import pytest

from skconftree.drift import ADWIN, DriftState


class SlowWindow:
    """The window as a list of buckets (rows, sum, sum of squares), oldest first."""

    def __init__(self, delta):
        self.delta = delta
        self.buckets = []

    def add(self, loss):
        self.buckets.append((1, loss, loss * loss))
        size = 1
        while sum(bucket[0] == size for bucket in self.buckets) > 5:
            i = next(i for i, one in enumerate(self.buckets) if one[0] == size)
            first, second = self.buckets[i : i + 2]
            both = tuple(a + b for a, b in zip(first, second, strict=True))
            self.buckets[i : i + 2] = [both]
            size *= 2

    def change(self):
        n, total, squares = map(sum, zip(*self.buckets, strict=True))
        if n < 10:
            return 0
        variance = max(squares / n - (total / n) ** 2, 0.0)
        slack = math.log(2 * math.log(n) / self.delta)
        n_old, old = 0, 0.0
        for size, loss, _ in self.buckets:
            n_old, old = n_old + size, old + loss
            n_new = n - n_old
            if n_old < 5 or n_new < 5:
                continue
            share = 1 / n_old + 1 / n_new
            radius = math.sqrt(2 * share * variance * slack) + 2 / 3 * share * slack
            difference = (total - old) / n_new - old / n_old
            if abs(difference) > radius:
                return 1 if difference > 0 else -1
        return 0

    def rises(self):
        risen = False
        while change := self.change():
            risen |= change > 0
            self.buckets.pop(0)
        return risen


def slow_states(losses, warning_delta=0.01, drift_delta=0.001):
    warning, drift, n = SlowWindow(warning_delta), SlowWindow(drift_delta), 0
    for loss in losses:
        n += 1
        warning.add(loss)
        drift.add(loss)
        state = DriftState.STABLE
        if n % 32 == 0:
            if drift.rises():
                state = DriftState.DRIFT
                warning, drift, n = (
                    SlowWindow(warning_delta),
                    SlowWindow(drift_delta),
                    0,
                )
            elif warning.rises():
                state = DriftState.WARNING
                warning = SlowWindow(warning_delta)
        yield state


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_is_published(seed):
    rng = np.random.default_rng(seed)
    rates = np.repeat(rng.uniform(0.05, 0.8, 8), rng.integers(50, 700, 8))
    errors = (rng.random(len(rates)) < rates).astype(float)
    expected = list(slow_states(errors.tolist()))
    assert DriftState.DRIFT in expected
    detector = ADWIN()
    assert detector.update_many(errors).tolist() == expected


def test_a_fall_of_the_error_shrinks_the_window_alone():
    errors = np.repeat([1.0, 0.0], 2000)
    detector = ADWIN()
    assert not detector.update_many(errors).any()
    assert 1000 < detector.width_ <= 2100
    assert detector.error_rate_ < 0.1


def test_a_warning_comes_before_a_slow_drift():
    rng = np.random.default_rng(0)
    errors = rng.random(20_000) < np.linspace(0.1, 0.5, 20_000)
    states = ADWIN().update_many(errors)
    drifts = np.flatnonzero(states == DriftState.DRIFT)
    warnings = np.flatnonzero(states == DriftState.WARNING)
    assert 0 < warnings[0] < drifts[0]


def test_no_alarm_without_a_change():
    rng = np.random.default_rng(1)
    drifts = sum(
        np.count_nonzero(ADWIN().update_many(rng.random(20_000) < 0.2) == 2)
        for _ in range(10)
    )
    assert drifts <= 1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"drift_delta": 0.0}, "drift_delta"),
        ({"warning_delta": 1.0}, "warning_delta"),
        ({"warning_delta": 1e-4}, "at least drift_delta"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        ADWIN(**parameters).update(0)


def test_a_damaged_state_raises():
    detector = ADWIN()
    detector.update_many(np.ones(100))
    make, arguments, state = detector._running.__reduce__()
    for damage in (
        {"version": 0},
        {"drift": (6.0, 6.0, [[(1.0, 1.0)] * 6])},
        {"warning": (0.0, 0.0, [[]])},
        {"warning": (1.0, 1.0, [[(1.0, 1.0)]] * 49)},
    ):
        with pytest.raises(ValueError, match="state of this drift detector"):
            make(*arguments).__setstate__({**state, **damage})
    other = make(*arguments)
    other.__setstate__(state)
    assert pickle.dumps(other) == pickle.dumps(detector._running)
