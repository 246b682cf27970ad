"""What comes out of a pickle of a model that learns to sample is not believed."""

import pickle

import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeRegressor

from skconftree.active import LearningToSampleClassifier


@pytest.fixture(scope="module")
def fitted():
    """A fitted model as its bytes, of which each test damages a copy."""
    X, y = make_blobs(100, random_state=0)
    model = LearningToSampleClassifier(30, random_state=0).fit(X, y)
    return pickle.dumps(model)


def test_equal_models_have_equal_bytes():
    X, y = make_blobs(100, random_state=0)
    sampler = DecisionTreeRegressor(max_depth=2)
    model = LearningToSampleClassifier(30, sampler=sampler, random_state=0).fit(X, y)
    data = pickle.dumps(model)
    assert pickle.dumps(pickle.loads(data)) == data
    assert pickle.dumps(clone(model).fit(X, y)) == data


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("roots", 0, -1),
        ("roots", 0, 10**6),
        ("targets", 0, 3),
        ("targets", 0, -1),
        ("features", 0, 2),
        ("left", 0, 0),  # a walk without an end
        ("left", 0, 10**6),
        ("left", 0, -(2**31)),
        ("thresholds", slice(1, None), None),
        ("features", slice(1, None), None),
        ("values", slice(None), "float32"),
    ],
)
def test_damaged_trees_are_refused(fitted, name, place, value):
    model = pickle.loads(fitted)
    array = getattr(model._trees, name).copy()
    assert model._trees.features[0] >= 0
    if value is None:
        array = array[place]
    elif isinstance(value, str):
        array = array.astype(value)
    else:
        array[place] = value
    setattr(model._trees, name, array)
    with pytest.raises(ValueError, match="'_trees' does not fit"):
        pickle.loads(pickle.dumps(model))
