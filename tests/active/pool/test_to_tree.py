"""A learner's forest as a tree to read."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from skconftree import ConfidenceForestClassifier
from skconftree.active import ActiveLearner


@pytest.fixture
def learner():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(20, random_state=0)
    learner = ActiveLearner(forest, random_state=0).fit(X)
    while learner.n_labeled_ < 15:
        rows = learner.query()
        learner.teach(rows, y[rows])
    return learner, X, y


def test_the_tree_is_that_of_the_pool_and_its_labels(learner):
    learner, X, y = learner
    labels = np.full(150, None)
    rows = np.concatenate([[one.row] for one in learner.history_]).astype(int)
    labels[rows] = y[rows]
    tree = learner.to_tree(n_rows=None)
    same = learner.estimator_.to_tree(X, labels, n_rows=None)
    np.testing.assert_array_equal(tree.predict_proba(X), same.predict_proba(X))
    assert tree.score(X, y) > 0.9


def test_it_needs_a_forest_and_two_classes():
    X, y = load_iris(return_X_y=True)
    other = ActiveLearner(RandomForestClassifier()).fit(X, y)
    with pytest.raises(TypeError, match="takes any classifier"):
        other.to_tree()
    forest = ConfidenceForestClassifier(5)
    learner = ActiveLearner(forest).fit(X)
    with pytest.raises(ValueError, match="no label yet"):
        learner.to_tree()
    learner.teach([0], [0])
    with pytest.raises(ValueError, match="two classes"):
        learner.to_tree()
