"""A learner's forest as a tree to read."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ShuffleSplit

from skconftree import ConfidenceForestClassifier
from skconftree.active import ActiveLearner, simulate


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
    with pytest.raises(TypeError, match="for other classifiers"):
        other.to_tree()
    forest = ConfidenceForestClassifier(5)
    learner = ActiveLearner(forest).fit(X)
    with pytest.raises(ValueError, match="has no labels yet"):
        learner.to_tree()
    learner.teach([0], [0])
    with pytest.raises(ValueError, match="two classes"):
        learner.to_tree()


def test_simulation_has_the_curve_of_the_tree():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(5, random_state=0)
    cv = ShuffleSplit(2, test_size=0.5, random_state=0)
    options = {"cv": cv, "budget": 14, "batch_size": 4, "n_initial": 6}
    options["random_state"] = 3
    given = {"n_rows": None, "max_leaf_nodes": 4}
    alone = simulate(forest, X, y, **options)
    result = simulate(forest, X, y, to_tree=given, **options)
    assert result.strategies == ["random", "random, tree", "margin", "margin, tree"]
    np.testing.assert_array_equal(result.scores[::2], alone.scores)
    # By hand, the last run of margin sampling.
    pool, test = list(cv.split(X))[1]
    seed = np.random.RandomState(3).randint(2**31 - 1) + 1
    known = np.full(len(pool), None)
    first = np.random.default_rng(seed).choice(len(pool), 6, replace=False)
    known[first] = y[pool][first]
    learner = ActiveLearner(forest, strategy="margin", batch_size=4, random_state=seed)
    learner.fit(X[pool], known)
    for step in range(2):
        rows = learner.query()
        learner.teach(rows, y[pool][rows])
        tree = learner.to_tree(**given, random_state=seed)
        assert result.scores[3, 1, step] == tree.score(X[test], y[test])
    assert result.summary()[3].strategy == "margin, tree"


def test_simulation_without_a_tree_yet_scores_the_classifier():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(5, random_state=0)
    given = {"to_tree": {"n_rows": None}, "random_state": 0}
    result = simulate(forest, X, y, cv=2, budget=1, **given)
    np.testing.assert_array_equal(result.scores[::2], result.scores[1::2])


@pytest.mark.parametrize(
    ("estimator", "to_tree", "error", "message"),
    [
        (RandomForestClassifier(), True, TypeError, "with this method"),
        (ConfidenceForestClassifier(5), "yes", ValueError, "must be a bool, or a dict"),
        (ConfidenceForestClassifier(5), {"leaves": 3}, ValueError, "leaves"),
    ],
)
def test_simulation_with_a_bad_tree(estimator, to_tree, error, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        simulate(estimator, X, y, cv=2, budget=3, to_tree=to_tree)
