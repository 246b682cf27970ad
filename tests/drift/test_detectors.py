"""The contract between a change detector and what it watches.

A new detector is one file and one row: the tree must take it as it takes the ones of
this package, and a warning that is a signal of its own must not end with the next row.
"""

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

    with pytest.raises(NotImplementedError, match="Unfinished has no _make_kernel"):
        Unfinished().kernel()


def test_the_users_detector_is_left_alone():
    detector = DETECTORS["ddm"]()
    detector.update_many([0, 1, 0])
    assert resolve_detector(detector) is not detector
    X = np.zeros((50, 1))
    ConfidenceTreeClassifier(drift=detector).partial_fit(X, X[:, 0], classes=[0, 1])
    assert detector.n_rows_seen_ == 3
