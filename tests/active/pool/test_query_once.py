"""One query without a learner."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skconftree.active import ActiveLearner, MarginSampling, query_once

X, LABELS = load_iris(return_X_y=True)


@pytest.fixture
def y():
    known = np.full(150, None)
    known[::7] = LABELS[::7]
    return known


@pytest.mark.parametrize("strategy", ["margin", "auto", MarginSampling()], ids=str)
def test_the_rows_are_those_of_a_learner(y, strategy):
    rows = query_once(strategy, GaussianNB(), X, y, 5, random_state=3)
    learner = ActiveLearner(GaussianNB(), strategy=strategy, random_state=3)
    assert rows.tolist() == learner.fit(X, y).query(5).tolist()
    assert all(y[row] is None for row in rows)


def test_a_fitted_classifier_is_used_unchanged(y):
    model = GaussianNB().fit(X, LABELS)  # of all labels, not of those of y
    proba = np.sort(model.predict_proba(X), axis=1)
    margin = proba[:, -1] - proba[:, -2]
    margin[::7] = np.inf
    before = vars(model).copy()
    rows = query_once("margin", model, X, y, 4)
    assert rows.tolist() == np.argsort(margin, kind="stable")[:4].tolist()
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_without_labels_the_pool_is_covered():
    rows = query_once("margin", GaussianNB(), X, None, 3, random_state=0)
    assert len(set(LABELS[rows].tolist())) == 3
    fitted = DecisionTreeClassifier(max_depth=2).fit(X, LABELS)
    row = query_once("leaf_entropy", fitted, X, None)  # no label lies in any leaf
    assert 0 <= row < 150


def test_what_a_learner_refuses_is_refused(y):
    with pytest.raises(ValueError, match="LeafRiskSampling needs the leaves"):
        query_once("leaf_risk", GaussianNB(), X, y)
    with pytest.raises(ValueError, match="k must be an integer of 1 or more"):
        query_once("margin", GaussianNB(), X, y, 0)
    with pytest.raises(ValueError, match="X and y must have the same length"):
        query_once("margin", GaussianNB(), X, y[:9])
