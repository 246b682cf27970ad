"""The arrays of a tree are read-only, because routing does not check them."""

import sys

import numpy as np
import pytest
from reference.streams import make_stream
from skconftree.utils._memory import read_only

from skconftree import ConfidenceTreeClassifier

ARRAYS = (
    "children_left",
    "children_right",
    "class_weight",
    "counts",
    "depth",
    "evidence",
    "feature",
    "impurity",
    "is_nominal",
    "leaf_reason",
    "missing_go_to_left",
    "missing_seen",
    "n_children",
    "n_node_samples",
    "parent",
    "proba",
    "raw_proba",
    "stops",
    "threshold",
    "value",
    "weighted_n_node_samples",
)


def models():
    stream = make_stream(0, 300, kinds=["continuous", "ties"], signal=2.0)
    X, y = stream.X, stream.y
    weight = {"class_weight": {0: 1.0, 1: 2.0}}
    yield ConfidenceTreeClassifier(None).fit(X, y)
    yield ConfidenceTreeClassifier(None, **weight).fit(X, y)
    yield ConfidenceTreeClassifier(None, grace_period=20).partial_fit(X, y, [0, 1])


def owners(array):
    """The array, and every array on which it rests."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_a_tree(name):
    for model in models():
        before = model.tree_.__getstate__()
        array = getattr(model.tree_, name)
        if array is None:  # a tree that began with partial_fit has no stops
            continue
        array = array() if callable(array) else array
        assert not array.flags.writeable
        shown = [one for one in owners(array) if np.shares_memory(one, array)]
        for one in shown:
            with pytest.raises(ValueError, match="WRITEABLE flag"):
                one.flags.writeable = True
            with pytest.raises(ValueError, match="WRITEABLE flag"):
                one.setflags(write=True)
            with pytest.raises(ValueError, match="read-only"):
                one[...] = 0
        assert model.tree_.__getstate__() == before


def test_every_array_is_tested():
    tree = next(models()).tree_
    found = [
        name
        for name in dir(tree)
        if not name.startswith("_") and isinstance(getattr(tree, name), np.ndarray)
    ]
    assert sorted(found) == sorted(ARRAYS)


def test_read_only():
    array = np.arange(6.0).reshape(2, 3)
    shown = read_only(array)
    array[1, 2] = 9.0
    np.testing.assert_array_equal(shown, array)
    with pytest.raises(TypeError, match="read-only"):
        memoryview(shown)[0, 0] = 1.0
    assert read_only(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(ValueError, match="C order"):
        read_only(array.T)


def test_an_array_that_is_shown_is_freed():
    """Nothing holds it when its views are gone."""
    array = np.zeros(5)
    before = sys.getrefcount(array)
    for _ in range(3):
        read_only(array)
    assert sys.getrefcount(array) == before
