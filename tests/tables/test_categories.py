"""Categories of any kind, early or late, wherever a fitted tree goes.

A model that was fitted is also one that can be saved, loaded, explained and copied, or
the call that cannot do so says why.
"""

import datetime
import decimal
import fractions
import pickle
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_text

Pair = namedtuple("Pair", "first second")

KINDS = {
    "tuple": lambda i: (i, "a"),
    "tuple of tuples": lambda i: ((i, 0.5), ("a", True)),
    "tuple of NumPy numbers": lambda i: (np.int32(i), np.float64(1)),
    "named tuple": lambda i: Pair(i, "a"),
    "date": lambda i: datetime.date(2020, 1, 1 + i),
    "timestamp": lambda i: pd.Timestamp(2020, 1, 1 + i),
    "datetime64": lambda i: np.datetime64("2020-01-01") + i,
    "decimal": decimal.Decimal,
    "fraction": lambda i: fractions.Fraction(i, 3),
    "bytes": lambda i: b"%d" % i,
    "text": lambda i: f"kind {i}",
    "NumPy text": lambda i: np.str_(f"kind {i}"),
    "truth values": lambda i: i < 2,
    "large number": lambda i: 10**30 + i,
    "number of 5,000 digits": lambda i: 10**5000 + i,
}


def column(make, n_rows=80, n_kinds=4):
    X = np.empty((n_rows, 1), dtype=object)
    for row in range(n_rows):
        X[row, 0] = make(row % n_kinds)
    return X, np.arange(n_rows) % n_kinds // 2


def learned(X, y, by_fit):
    model = ConfidenceTreeClassifier(
        bound=None,
        categorical_features=[0],
        grace_period=10,
        leaf_prediction="majority",
    )
    return model.fit(X, y) if by_fit else model.partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("by_fit", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_fitted_categories_can_be_saved(kind, by_fit):
    X, y = column(KINDS[kind])
    model = learned(X, y, by_fit)
    assert model.get_n_leaves() == 2
    data = pickle.dumps(model)
    again = pickle.loads(data)
    assert again.categories_ == model.categories_
    np.testing.assert_array_equal(again.predict(X), y)
    assert pickle.dumps(again) == data
    assert type(again.categories_[0][0]) is type(KINDS[kind](0)) or "NumPy" in kind


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "5,000" not in kind])
def test_a_copy_for_scikit_learn_predicts_or_says_why_not(kind):
    X, y = column(KINDS[kind])
    model = learned(X, y, True)
    if kind == "bytes" or "tuple" in kind:
        with pytest.raises(ValueError, match=r"Column 0 has categories .*objects such"):
            model.to_sklearn()
    else:
        copy = model.to_sklearn()
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("make", [complex, lambda i: (1, None if i else 2)])
def test_categories_without_order_are_named(make):
    X, y = column(make)
    with pytest.raises(ValueError, match=r"Column 0 has .* cannot be sorted"):
        learned(X, y, True)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_rows_that_stay_are_explained(splits):
    """Those of a category that came after the split, or never."""
    X = np.r_[np.arange(400) % 3, 3, np.full(200, 4)][:, None].astype(float)
    model = ConfidenceTreeClassifier(
        bound=None,
        categorical_features=[0],
        nominal_splits=splits,
        grace_period=10,
        max_depth=1,
    ).partial_fit(X, X[:, 0] > 0, classes=[False, True])
    known = model.categories_[0]
    assert len(model.tree_.branches(0)) > len(known)
    (step,) = model.explain([[77.0]])[0]
    assert (step["goes"], step["value"], step["categories"]) == ("stays", None, [])
    for value in known:
        (step,) = model.explain([[value]])[0]
        assert step["goes"] != "stays"
        assert step["value"] == value
        assert value in step["categories"]


def test_rows_that_stay_share_their_categories():
    """After fit, categories that did not occur at a node are known all the same."""
    X = np.array([[0, 0], [0, 1], [1, 2], [1, 3]] * 50)
    model = ConfidenceTreeClassifier(
        bound=None, categorical_features=[1], pruning=None, max_depth=2
    ).fit(X, [0, 1, 2, 3] * 50)
    steps = model.explain([[0, 2]])[0]
    assert steps[-1]["goes"] == "stays"
    assert steps[-1]["value"] == 2
    assert set(steps[-1]["categories"]) == {2, 3}


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("values", [["a", "b"], [1, 2], ["a", None], [None, None]])
def test_a_tree_without_a_split_has_a_copy(values, frame):
    X = np.array([values, values[::-1]] * 20, dtype=object)
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1] * 5)  # the values do not tell them apart
    if frame:
        X = pd.DataFrame(X, columns=["x", "y"]).astype("category")
    model = ConfidenceTreeClassifier(categorical_features=[0, 1]).fit(X, y)
    assert model.get_n_leaves() == 1
    copy = model.to_sklearn()
    rows = X[:1] if not frame else X.head(1)
    np.testing.assert_array_equal(copy.predict_proba(rows), [[0.75, 0.25]])
    unknown = np.array([["never", np.nan], [np.nan, "seen"]], dtype=object)
    if frame:
        unknown = pd.DataFrame(unknown, columns=["x", "y"])
    np.testing.assert_array_equal(copy.predict(unknown), [0, 0])
    assert "class" in export_text(model)


def test_a_tree_that_knows_no_category_has_a_copy():
    X = np.array([["a"], ["b"]], dtype=object)
    tree = ConfidenceTreeClassifier(categorical_features=[0])
    tree.partial_fit(X, [0, 1], classes=[0, 1], sample_weight=[0.0, 0.0])
    copy = tree.to_sklearn()
    np.testing.assert_array_equal(copy.predict_proba(X), tree.predict_proba(X))
