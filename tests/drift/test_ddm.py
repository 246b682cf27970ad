"""DDM against its definition (C9), written as a slow loop that shares no code.

The tree replaces its model when DDM says so, hence a wrong detector would silently
throw models away; the compiled one must also go on from a pickle and reject what is
no outcome.
"""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from skconftree.drift import DDM, DriftState


def reference(errors, min_samples=30, warning=2.0, drift=3.0, min_errors=0):
    """C9, word by word."""
    states = []
    i = wrong = 0
    best = None
    for error in errors:
        i, wrong = i + 1, wrong + int(error)
        state = 0
        if i >= min_samples and wrong >= min_errors:
            p = wrong / i
            s = math.sqrt(p * (1 - p) / i)
            if best is None or p + s < best[0] + best[1]:
                best = p, s
            if p + s > best[0] + drift * best[1]:
                state = 2
                i = wrong = 0
                best = None
            elif p + s > best[0] + warning * best[1]:
                state = 1
        states.append(state)
    return np.array(states)


def stream(seed, rates, rows=400):
    p = np.repeat(rates, rows)
    return np.random.default_rng(seed).random(len(p)) < p


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_samples": 1},
        {"min_samples": 100, "warning_level": 1.0, "drift_level": 1.5},
        {"warning_level": 3.0, "drift_level": 3.0},
        {"min_errors": 10},
    ],
)
def test_against_the_definition(params):
    found = np.zeros(3, dtype=int)
    for seed in range(20):
        errors = stream(seed, [0.3, 0.1, 0.4, 0.02, 0.2])
        named = {
            "min_samples": params.get("min_samples", 30),
            "warning": params.get("warning_level", 2.0),
            "drift": params.get("drift_level", 3.0),
            "min_errors": params.get("min_errors", 0),
        }
        want = reference(errors, **named)
        got = DDM(**params).update_many(errors)
        np.testing.assert_array_equal(got, want)
        found += np.bincount(got, minlength=3)
    assert found[0] > 0
    assert found[2] > 0
    assert (found[1] > 0) == (params.get("warning_level", 2.0) < 3.0)


@given(
    errors=st.lists(st.booleans(), max_size=120),
    cut=st.integers(0, 120),
    min_samples=st.integers(1, 8),
)
def test_chunks_rows_and_pickles_do_not_matter(errors, cut, min_samples):
    params = {"min_samples": min_samples, "warning_level": 0.8, "drift_level": 1.2}
    whole = DDM(**params)
    states = whole.update_many(np.array(errors, dtype=bool))
    rows = DDM(**params)
    assert [rows.update(error) for error in errors] == states.tolist()
    cut = min(cut, len(errors))
    part = DDM(**params)
    first = part.update_many(np.array(errors[:cut], dtype=bool))
    part = pickle.loads(pickle.dumps(part))
    second = part.update_many(np.array(errors[cut:], dtype=bool))
    np.testing.assert_array_equal(np.concatenate([first, second]), states)
    for detector in (rows, part):
        assert detector.state_ == whole.state_
        assert detector.n_rows_ == whole.n_rows_
        assert detector.n_rows_seen_ == whole.n_rows_seen_ == len(errors)
        assert detector.n_drifts_ == whole.n_drifts_ == np.sum(states == 2)
        assert detector.drift_limit_ == whole.drift_limit_


def test_attributes():
    detector = DDM(min_samples=10)
    assert detector.state_ is DriftState.STABLE
    assert math.isnan(detector.error_rate_)
    assert detector.drift_limit_ == detector.warning_limit_ == math.inf
    assert "_running" not in vars(detector)  # looking is not starting
    detector.update_many([1] + 9 * [0])
    assert detector.error_rate_ == 0.1
    s = math.sqrt(0.09 / 10)
    assert detector.warning_limit_ == pytest.approx(0.1 + 2 * s)
    assert detector.drift_limit_ == pytest.approx(0.1 + 3 * s)
    assert (detector.n_rows_, detector.n_rows_seen_) == (10, 10)
    while detector.update(True) is not DriftState.DRIFT:
        pass
    assert detector.n_rows_ == 0
    assert detector.state_ is DriftState.DRIFT
    assert detector.drift_limit_ == math.inf
    assert detector.n_drifts_ == 1
    assert detector.reset() is detector
    assert detector.n_drifts_ == detector.n_rows_seen_ == 0


def test_models_that_hardly_err():
    # The docstring's figures: 1 % of errors throughout, then a real change.
    def drifts(detector, rates, rows, seed):
        errors = stream(seed, rates, rows)
        return np.flatnonzero(detector.update_many(errors) == DriftState.DRIFT)

    published, mended = (
        np.mean([len(drifts(DDM(min_errors=m), [0.01], 10_000, s)) for s in range(50)])
        for m in (0, 10)
    )
    assert published == pytest.approx(5, abs=0.5)
    assert mended == pytest.approx(1 / 7, abs=0.05)
    delays = [
        [drifts(DDM(min_errors=m), [0.01, 0.21], 5000, s) for s in range(50)]
        for m in (0, 10)
    ]
    published, mended = (
        np.median([rows[rows >= 5000][0] for rows in found]) for found in delays
    )
    assert mended <= published


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"min_samples": 0}, ValueError, "min_samples == 0, must be >= 1"),
        ({"min_samples": 3.5}, TypeError, "min_samples must be an instance of int"),
        ({"min_errors": -1}, ValueError, "min_errors == -1"),
        ({"warning_level": 0}, ValueError, "warning_level == 0, must be > 0"),
        ({"drift_level": "3"}, TypeError, "drift_level"),
        ({"drift_level": math.nan}, ValueError, "drift_level=nan"),
        ({"drift_level": math.inf}, ValueError, "drift_level == inf"),
        (
            {"warning_level": 3, "drift_level": 2.5},
            ValueError,
            r"drift_level must be at least warning_level.*2\.5.*3",
        ),
    ],
)
def test_bad_parameters(params, error, words):
    for start in (DDM.reset, DDM.kernel, lambda d: d.update(0), lambda d: d.state_):
        with pytest.raises(error, match=words):
            start(DDM(**params))


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ([0, 1, 2], "Got 2"),
        ([0.0, 0.5], r"Got 0\.5"),
        ([0.0, math.nan], "Got nan"),
        (["0", "1"], "booleans, or 0 and 1"),
        ([None, True], "booleans, or 0 and 1"),
        ([[0, 1]], r"1d, with one.*\(1, 2\)"),
        (1, r"1d, with one.*\(\)"),
    ],
)
def test_bad_outcomes_leave_the_detector_as_it_was(errors, words):
    detector = DDM()
    detector.update_many(stream(0, [0.2]))
    before = pickle.dumps(detector)
    with pytest.raises(ValueError, match=words):
        detector.update_many(errors)
    assert pickle.dumps(detector) == before


def test_outcomes_of_every_kind():
    errors = stream(3, [0.1, 0.5])
    want = DDM().update_many(errors)
    for given_ in (
        errors.tolist(),
        errors.astype(float),
        errors.astype(np.int64),
        np.repeat(errors, 2)[::2],
    ):
        np.testing.assert_array_equal(DDM().update_many(given_), want)
    assert DDM().update_many([]).shape == (0,)


def test_parameters_of_a_copy():
    detector = DDM(min_samples=5, drift_level=4.0)
    detector.update_many([0, 1, 0])
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert copy.n_rows_seen_ == 0
    assert repr(copy) == "DDM(drift_level=4.0, min_samples=5)"
    # A running detector keeps what it was started with until the reset.
    detector.set_params(min_samples=50)
    assert DriftState.DRIFT in detector.update_many(20 * [0] + 5 * [1])
    assert DriftState.DRIFT not in detector.reset().update_many(20 * [0] + 5 * [1])


def test_states_of_another_version():
    detector = DDM()
    detector.update_many([0, 1, 0])
    make, arguments, state = detector._running.__reduce__()
    for wrong in ({**state, "version": 1}, None):
        with pytest.raises(ValueError, match="version 2"):
            make(*arguments).__setstate__(wrong)
    copy = make(*arguments)
    copy.__setstate__(state)
    assert copy.__reduce__() == detector._running.__reduce__()
