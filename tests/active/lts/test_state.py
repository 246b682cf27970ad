"""Pickles of models that learn to sample."""

import pickle

from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeRegressor

from skconftree.active import LearningToSampleClassifier


def test_equal_models_have_equal_bytes():
    X, y = make_blobs(100, random_state=0)
    sampler = DecisionTreeRegressor(max_depth=2)
    model = LearningToSampleClassifier(
        30, n_rounds=2, trees_per_round=3, sampler=sampler, random_state=0
    ).fit(X, y)
    data = pickle.dumps(model)
    assert pickle.dumps(pickle.loads(data)) == data
    assert pickle.dumps(clone(model).fit(X, y)) == data
