"""The contract between a change detector and what it watches.

A new detector is one file and one row: the tree must take it as it takes the ones of
this package, and a warning that is a signal of its own must not end with the next row.
"""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.drift import BaseDetector
from skconftree.drift._registry import DETECTORS, resolve_detector


@pytest.mark.parametrize("name", DETECTORS)
def test_a_tree_takes_every_detector_by_name_and_as_an_object(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[2000:] = 1 - y[2000:]
    by_name = ConfidenceTreeClassifier(drift=name, leaf_prediction="majority")
    by_object = clone(by_name).set_params(drift=DETECTORS[name]())
    for model in (by_name, by_object):
        model.partial_fit(X, y, classes=[0, 1])
        assert model.n_drifts_ >= 1
    np.testing.assert_array_equal(by_name.predict_proba(X), by_object.predict_proba(X))


def test_a_detector_that_is_not_finished_says_what_it_lacks():
    class Unfinished(BaseDetector):
        pass

    with pytest.raises(NotImplementedError, match="must define _make_kernel"):
        Unfinished().kernel()


def test_the_users_detector_is_left_alone():
    detector = DETECTORS["ddm"]()
    detector.update_many([0, 1, 0])
    assert resolve_detector(detector) is not detector
    X = np.zeros((50, 1))
    ConfidenceTreeClassifier(drift=detector).partial_fit(X, X[:, 0], classes=[0, 1])
    assert detector.n_rows_seen_ == 3


@pytest.mark.parametrize("name", DETECTORS)
def test_what_the_last_row_gave_reads_as_in_river(name):
    detector = DETECTORS[name]()
    errors = np.r_[np.zeros(500), np.ones(500)]
    told = []
    for error in errors:
        detector.update(error)
        told.append((detector.drift_detected, detector.warning_detected))
    states = DETECTORS[name]().update_many(errors)
    assert told == [(one == 2, one == 1) for one in states.tolist()]
    assert any(drift for drift, _ in told)


def test_adwin_watches_any_numbers():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=2000) + np.repeat([0.0, 3.0], 1000)
    parts = DETECTORS["adwin"]()
    states = parts.update_many(numbers)
    assert (np.flatnonzero(states == 2) >= 1000).all()
    assert 1000 <= np.flatnonzero(states == 2)[0] < 1150
    again, found = DETECTORS["adwin"](), []
    for part in np.array_split(numbers, 5):
        again = pickle.loads(pickle.dumps(again))
        found.append(again.update_many(part))
    np.testing.assert_array_equal(np.concatenate(found), states)
    assert pickle.dumps(again) == pickle.dumps(parts)
    for wrong, message in (
        ([np.nan], "numbers between -1e\\+100 and 1e\\+100. Got nan"),
        ([-np.inf], "Got -inf"),
        ([1e101], "Got 1e\\+101"),
        (["a"], "errors must be numbers"),
        ([[1.0]], "errors must be 1d"),
    ):
        with pytest.raises(ValueError, match=message):
            parts.update_many(wrong)
    parts.update_many([1e100, -1e100] * 50)


def test_ddm_watches_errors_alone():
    with pytest.raises(ValueError, match="booleans, or 0 and 1. Got 0.5"):
        DETECTORS["ddm"]().update(0.5)


def test_adwin_sees_small_steps_of_large_numbers():
    rng = np.random.default_rng(0)
    numbers = rng.random(3000) + np.repeat([0.0, 0.3], 1500)
    states = DETECTORS["adwin"]().update_many(numbers)
    far = DETECTORS["adwin"]()
    np.testing.assert_array_equal(far.update_many(numbers + 2.0**30), states)
    assert 2 in states
    assert far.error_rate_ == pytest.approx(2.0**30 + 0.8, abs=0.05)
