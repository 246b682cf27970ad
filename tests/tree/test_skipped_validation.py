"""Values that are known to be valid are not checked again, without any effect."""

import warnings
from numbers import Integral, Real

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from skconftree import ConfidenceTreeClassifier, _compat
from skconftree._compat import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameters,
)
from skconftree.tables._labels import Classes, check_labels, encode_labels
from skconftree.tables._schema import Schema
from skconftree.tree import BasePruning
from skconftree.tree._growth import TableRequest, read_training

ROWS = np.array([[0.5, 1.0], [1.5, -1.0], [2.5, 0.0], [3.5, 4.0]])


class Model(BaseEstimator):
    _parameter_constraints = {
        "size": [Interval(Integral, 1, None, closed="left")],
        "level": [Interval(Real, 0, 1, closed="both")],
        "kind": [StrOptions({"a", "b"}), None],
    }

    def __init__(self, size=3, *, level=None, kind=None, free=()):
        self.size = size
        self.level = level
        self.kind = kind
        self.free = free


class Stricter(Model):
    _parameter_constraints = {
        **Model._parameter_constraints,
        "size": [Interval(Integral, 5, None, closed="left")],
    }


def test_no_signature_is_read_without_parameters(monkeypatch):
    """A Python that is built without docstrings knows none of `object.__init__`."""

    class Plain(BaseEstimator):
        _parameter_constraints = {}

    monkeypatch.setattr(_compat, "signature", None)
    validate_parameters(Plain())


@pytest.mark.parametrize(
    ("made", "parameters", "name"),
    [
        (Model, {}, "level"),  # a default need not be valid
        (Model, {"level": 0.5}, None),
        (Model, {"level": 0.5, "free": object()}, None),
        (Model, {"level": 2.0}, "level"),
        (Model, {"level": 0.5, "size": 0}, "size"),
        (Model, {"level": 0.5, "size": 3.0}, "size"),
        (Model, {"level": 0.5, "kind": "c"}, "kind"),
        (Model, {"level": 0.5, "size": 10**400}, "size"),
        (Stricter, {"level": 0.5}, "size"),
        (Stricter, {"level": 0.5, "size": 5}, None),
    ],
)
def test_defaults_that_are_valid_need_no_check(made, parameters, name):
    for _ in range(2):
        if name is None:
            validate_parameters(made(**parameters))
        else:
            with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of"):
                validate_parameters(made(**parameters))


@pytest.mark.parametrize(
    ("dtype", "n_rows", "labels"),
    crossed(
        [bool, np.int8, np.uint8, np.int64, np.uint64, ">i4", np.float64, "U3"],
        [1, 30, 2000],
        [[0, 1], [3, 5, 9], [-100, 0, 100], [0, 2**40]],
    ),
)
def test_labels_are_encoded_as_by_sorting(labels, n_rows, dtype):
    y = np.random.default_rng(0).choice(labels, n_rows)
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        y = np.clip(y, limits.min, limits.max)
    y = y.astype(dtype)
    classes, index = encode_labels(y)
    expected, expected_index = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(index, expected_index)
    assert (classes.dtype, index.dtype) == (expected.dtype, expected_index.dtype)


@pytest.mark.parametrize("largest", [-(2**63), 2**63 - 1])
def test_labels_at_the_end_of_their_type_are_encoded(largest):
    y = largest - np.sign(largest) * np.arange(1000) % 3
    y = np.array(y, dtype=np.int64)
    classes, index = encode_labels(y)
    np.testing.assert_array_equal(classes[index], y)


@pytest.mark.parametrize(
    ("kind", "n_classes", "n_rows"),
    crossed(
        [int, bool, float, str, object], [1, 2, 10, 11, 12, 30, 60], [1, 20, 21, 22, 60]
    ),
)
def test_labels_that_are_not_looked_at_are_classes(n_rows, n_classes, kind):
    def verdict(check, *given):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                check(*given)
            except ValueError as error:
                return str(error)
        return [str(one.message) for one in caught]

    y = (np.arange(n_rows) % n_classes).astype(kind)
    assert verdict(check_labels, y, y) == verdict(check_classification_targets, y)


def read(X, y):
    request = TableRequest("Tree", "from_dtype", None, "frequency")
    return read_training(X, y, None, None, request)


@pytest.mark.parametrize(
    "X",
    [
        ROWS,
        ROWS.astype(np.float32),
        np.asfortranarray(ROWS),
        ROWS[::-1, ::-1],
        ROWS.astype(">f8"),
    ],
)
def test_plain_arrays_are_read_as_lists_are(X):
    y = np.array([3, 1, 3, 1])
    found, expected = read(X, y), read(X.tolist(), y.tolist())
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            assert one.flags.c_contiguous
        if isinstance(one, Classes):
            one, other = one.names, other.names
        if isinstance(one, Schema):
            assert one == other
            continue
        np.testing.assert_array_equal(one, other)
    assert found.schema.n_features == 2


def test_plain_arrays_end_the_names_of_columns():
    y = np.array([0, 1, 0, 1])
    tree = ConfidenceTreeClassifier(None).fit(pd.DataFrame(ROWS, columns=["a", "b"]), y)
    assert tree.feature_names_in_.tolist() == ["a", "b"]
    tree.fit(ROWS[:, :1], y)
    assert not hasattr(tree, "feature_names_in_")
    assert tree.n_features_in_ == 1


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (ROWS * 1e300, [0, 1, 0, 1], "infinity or a value too large"),
        (np.where(ROWS > 2, np.inf, -np.inf), [0, 1, 0, 1], "infinity"),
        (ROWS[:0], [], "0 sample"),
        (ROWS[:, :0], [0, 1, 0, 1], "0 feature"),
        (ROWS, [0, 1, 0], "inconsistent numbers of samples"),
        (ROWS, [[0, 1], [0, 1], [0, 1], [0, 1]], "y should be a 1d array"),
    ],
)
def test_plain_arrays_with_faults_raise(X, y, message):
    with pytest.raises(ValueError, match=message):
        ConfidenceTreeClassifier(None).fit(X, np.array(y, dtype=int))


def test_nothing_pruned_is_the_same_tree():
    class Nothing(BasePruning):
        def cost(self, tree, rows):
            return np.where(np.asarray(tree.n_children) > 0, 2.0, 0.0)

    tree = ConfidenceTreeClassifier(None).fit(ROWS, np.array([0, 1, 0, 1])).tree_
    assert tree.node_count > 1
    assert Nothing().prune(tree, None) is tree
