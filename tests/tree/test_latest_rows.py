"""Adaptive leaves use their latest rows.

After a change of concept the frequencies of a leaf, and its naive Bayes model, stay
wrong for as long as the old concept lasted, unless something in the leaf forgets.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.registries import MEMORIES

from skconftree import ConfidenceTreeClassifier


def adaptive(**parameters):
    """A tree of one leaf."""
    return ConfidenceTreeClassifier(grace_period=1e9, **parameters)


def changing(n, at, seed=0):
    """Nine rows in ten are of one class, from row `at` on of the other."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    y[at:] = 1 - y[at:]
    return rng.normal(size=(n, 2)).astype(np.float32), y


@pytest.mark.parametrize("memory", [one for one in MEMORIES if one != "rows"])
def test_a_leaf_recovers_from_a_change(memory):
    X, y = changing(3000, 2000)
    tree = adaptive(leaf_memory=memory)
    right = tree.partial_fit_predict(X, y, classes=[0, 1]) == y
    assert right[1500:2000].mean() > 0.85
    assert right[2100:].mean() > 0.8
    assert_array_equal(tree.predict(X[:5]), [1] * 5)
    assert tree.predict_proba(X[:5])[:, 1].min() > 0.5
    assert (
        adaptive(leaf_prediction="majority").partial_fit(X, y, [0, 1]).predict(X) == 0
    ).all()


def test_nothing_is_lost_without_a_change():
    X, y = changing(3000, 3000)
    right = adaptive().partial_fit_predict(X, y, classes=[0, 1]) == y
    assert right.mean() > (y == 0).mean() - 0.01


def test_class_weights_count_in_the_latest_rows():
    X, y = changing(3000, 2000)
    tree = adaptive(class_weight={0: 100.0, 1: 1.0}).partial_fit(X, y, classes=[0, 1])
    assert tree.predict_proba(X[:5])[:, 0].min() > 0.5


def test_the_latest_rows_are_pickled():
    X, y = changing(2050, 2000)
    tree = adaptive().partial_fit(X[:2030], y[:2030], classes=[0, 1])
    copy = pickle.loads(pickle.dumps(tree))
    assert_array_equal(
        copy.partial_fit_predict(X[2030:], y[2030:]),
        tree.partial_fit_predict(X[2030:], y[2030:]),
    )
    assert pickle.dumps(copy) == pickle.dumps(tree)
