"""What "auto" means in a forest that is fitted, and in one that grows row by row."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier


@pytest.fixture(scope="module")
def rows():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return np.tile(X[order], (4, 1)), np.tile(y[order], 4)


def test_a_fitted_forest_draws_the_root_of_the_features(rows):
    auto = ConfidenceForestClassifier(5, random_state=0).fit(*rows)
    root = ConfidenceForestClassifier(5, max_features="sqrt", random_state=0)
    assert auto.max_features_ == 2
    assert (auto.predict_proba(rows[0]) == root.fit(*rows).predict_proba(rows[0])).all()
    assert all(tree.max_features == "sqrt" for tree in auto.estimators_)


def test_its_trees_are_those_of_fit_by_themselves(rows):
    X, y = rows
    forest = ConfidenceForestClassifier(3, bootstrap=False, random_state=0).fit(X, y)
    for tree in forest.estimators_:
        alone = clone(tree).fit(X, y)
        assert (alone.tree_.feature == tree.tree_.feature).all()
        assert alone.max_features_ == tree.max_features_ == 2


def test_a_growing_forest_remembers_all_features(rows):
    X, y = rows
    auto = ConfidenceForestClassifier(5, random_state=0).partial_fit(X, y, [0, 1, 2])
    every = ConfidenceForestClassifier(5, max_features=None, random_state=0)
    every.partial_fit(X, y, [0, 1, 2])
    assert auto.max_features_ == 4
    assert (auto.predict_proba(X) == every.predict_proba(X)).all()
    assert all(tree.max_features is None for tree in auto.estimators_)


def test_a_fitted_forest_that_continues_uses_all_features(rows):
    X, y = rows
    forest = ConfidenceForestClassifier(3, random_state=0).fit(X, y)
    forest.partial_fit(X, y)
    assert forest.max_features_ == 4
    assert all(tree.max_features_ == 4 for tree in forest.estimators_)
    few = ConfidenceForestClassifier(3, max_features=1, random_state=0).fit(X, y)
    assert few.partial_fit(X, y).max_features_ == 1


def test_a_tree_by_itself_takes_all(rows):
    X, y = rows
    auto = ConfidenceTreeClassifier(max_features="auto")
    assert auto.fit(X, y).max_features_ == 4
    assert clone(auto).partial_fit(X, y, [0, 1, 2]).max_features_ == 4
