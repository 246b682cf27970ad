"""Columns as binary tests: their values, their names, and trees trained on them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from skconftree import BinaryTests, ConfidenceTreeClassifier
from skconftree.tree import export_text

nan = np.nan


def mixed(library=pd):
    """A table of every kind of column."""
    columns = {
        "age": [1.5, 2.0, nan, 3.0, 2.0],
        "color": ["red", None, "blue", "red", "green"],
        "site": ["north"] * 5,
        "old": [True, False, True, True, False],
    }
    if library is pd:
        return pd.DataFrame(columns).astype({"color": "category", "site": "category"})
    columns["age"][2] = None
    return pa.table(columns) if library is pa else pl.DataFrame(columns)


OUTCOMES = {
    "[age > 1.75]": [0, 1, 0, 1, 1],
    "[age > 2.5]": [0, 0, 0, 1, 0],
    "[age is missing]": [0, 0, 1, 0, 0],
    "[color = blue]": [0, 0, 1, 0, 0],
    "[color = green]": [0, 0, 0, 0, 1],
    "[color = red]": [1, 0, 0, 1, 0],
    "[color is missing]": [0, 1, 0, 0, 0],
    "[old > 0.5]": [1, 0, 1, 1, 0],
}


@pytest.mark.parametrize("library", [pd, pl, pa], ids=["pandas", "polars", "pyarrow"])
def test_tests_of_a_frame(library):
    X = mixed(library)
    tests = BinaryTests().fit(X)
    assert tests.get_feature_names_out().tolist() == list(OUTCOMES)
    found = tests.transform(X)
    assert found.dtype == np.uint8
    assert_array_equal(found, np.column_stack(list(OUTCOMES.values())))
    assert tests.n_tests_.tolist() == [3, 4, 0, 1]
    assert tests.missing_.tolist() == [True, True, False, False]
    assert tests.categories_ == [None, ["blue", "green", "red"], [], None]
    assert_array_equal(pickle.loads(pickle.dumps(tests)).transform(X), found)


@pytest.mark.parametrize(("name", "library"), [("pandas", pd), ("polars", pl)])
def test_set_output(name, library):
    X = mixed()
    found = BinaryTests().set_output(transform=name).fit_transform(X)
    assert isinstance(found, library.DataFrame)
    assert list(found.columns) == list(OUTCOMES)


def test_rows_unlike_those_of_fit():
    """New categories and values missing for the first time fail every test."""
    X = mixed().iloc[[0, 3]]
    tests = BinaryTests().fit(X)
    assert tests.get_feature_names_out().tolist() == ["[age > 2.25]"]
    more = pd.DataFrame(
        {
            "age": [nan, 9.0],
            "color": pd.Categorical(["violet", None]),
            "site": pd.Categorical(["south", "north"]),
            "old": [True, False],
        }
    )
    assert_array_equal(tests.transform(more), [[0], [1]])
    full = BinaryTests().fit(mixed()).transform(more)
    names = list(OUTCOMES)
    assert [names[j] for j in np.flatnonzero(full[0])] == [
        "[age is missing]",
        "[old > 0.5]",
    ]
    assert [names[j] for j in np.flatnonzero(full[1])] == [
        "[age > 1.75]",
        "[age > 2.5]",
        "[color is missing]",
    ]


def test_thresholds_halve_the_rows_not_the_range():
    X = np.array([0.0] * 50 + [1, 2, 3] + [1000.0] * 50)[:, np.newaxis]
    assert BinaryTests(1).fit(X).thresholds_[0].tolist() == [1.5]
    assert BinaryTests(3).fit(X).thresholds_[0].tolist() == [0.5, 1.5, 501.5]
    assert len(BinaryTests(4).fit(X).thresholds_[0]) == 4
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(1000, 1))
    (cuts,) = BinaryTests(9).fit(X).thresholds_
    groups = np.bincount(np.searchsorted(cuts, X[:, 0].astype(np.float32)))
    assert len(groups) == 10
    assert np.all(np.abs(groups - 100) <= 1)
    assert len(BinaryTests(None).fit(X).thresholds_[0]) == 999


def test_most_frequent_categories():
    X = np.array(list("aabbbccccd"), dtype=object)[:, np.newaxis]
    tests = BinaryTests(2, categorical_features=[0]).fit(X)
    assert tests.categories_ == [["b", "c"]]
    assert tests.get_feature_names_out(["letter"]).tolist() == [
        "[letter = b]",
        "[letter = c]",
    ]


def test_names_distinguish_close_thresholds():
    X = np.array([1.0, 1.0001, 1.0002, 1.0003])[:, np.newaxis]
    names = BinaryTests().fit(X).get_feature_names_out().tolist()
    assert names == ["[x0 > 1.0001]", "[x0 > 1.0002]", "[x0 > 1.0003]"]


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_a_tree_of_all_tests_is_the_tree(load):
    """Its cuts are those of the numeric columns, in the same order."""
    X, y = load(return_X_y=True, as_frame=True)
    plain = ConfidenceTreeClassifier(bound=None, criterion="entropy").fit(X, y)
    tests = BinaryTests(None).set_output(transform="pandas")
    tree = ConfidenceTreeClassifier(bound=None, criterion="entropy")
    pipe = make_pipeline(tests, tree).fit(X, y)
    assert_array_equal(tree.tree_.counts, plain.tree_.counts)
    inner = plain.tree_.feature >= 0
    names = [
        f"[{X.columns[feature]} > {threshold:.4g}]"
        for feature, threshold in zip(
            plain.tree_.feature[inner], plain.tree_.threshold[inner], strict=True
        )
    ]
    asked = tree.feature_names_in_[tree.tree_.feature[inner]].tolist()
    assert [one.split(" > ")[0] for one in asked] == [
        one.split(" > ")[0] for one in names
    ]
    assert_array_equal(pipe.predict(X), plain.predict(X))
    assert f"|--- {asked[0]} <= 0 " in export_text(tree)


def test_failed_fit_changes_nothing():
    tests = BinaryTests().fit(mixed())
    before = dict(vars(tests))
    with pytest.raises(ValueError, match="infinity"):
        tests.fit(np.array([[1.0], [np.inf]]))
    assert vars(tests) == before


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_tests": 0}, "max_tests"),
        ({"max_tests": 2.5}, "max_tests"),
        ({"categorical_features": "all"}, "categorical_features"),
        ({"categorical_features": [7]}, "indices in"),
        ({"categorical_features": ["size"]}, "'size', which is not a column"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        BinaryTests(**parameters).fit(mixed())


def test_a_sparse_table_and_tests_that_are_not_fitted():
    with pytest.raises(TypeError, match=r"dense data is required .*toarray"):
        BinaryTests().fit(csr_array(np.eye(3)))
    copied = pickle.loads(pickle.dumps(BinaryTests(max_tests=3)))
    assert copied.get_params() == BinaryTests(max_tests=3).get_params()


def test_bad_tables():
    with pytest.raises(NotFittedError):
        BinaryTests().transform(mixed())
    tests = BinaryTests().fit(mixed())
    with pytest.raises(ValueError, match="feature names"):
        tests.transform(mixed().rename(columns={"age": "size"}))
    with pytest.raises(ValueError, match="'age' is not numeric"):
        tests.transform(mixed().assign(age="old"))
    with pytest.raises(ValueError, match="infinity"):
        tests.transform(mixed().assign(age=np.inf))
    with pytest.raises(ValueError, match="input_features"):
        tests.get_feature_names_out(["age"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_tested", {0: [1.75]}),
        ("_tested", {1: np.array([-1])}),
        ("_tested", {1: np.array([4])}),
        ("_tested", {1: np.array([0.0])}),
        ("_tested", np.zeros(4)),
        ("missing_", np.array([True] * 5)),
        ("missing_", np.zeros(4)),
        ("_schema", None),
    ],
    ids=repr,
)
def test_a_damaged_state_is_refused(name, value):
    state = BinaryTests().fit(mixed()).__getstate__()
    BinaryTests().__setstate__(state)
    if isinstance(value, dict):
        value = [value.get(j, one) for j, one in enumerate(state["_tested"])]
    with pytest.raises(ValueError, match="corrupt"):
        BinaryTests().__setstate__(state | {name: value})
    del state[name]
    with pytest.raises(ValueError, match=f"'{name}' is not valid"):
        BinaryTests().__setstate__(state)


def test_what_follows_from_the_tests_is_made_again():
    tests = BinaryTests().fit(mixed())
    state = tests.__getstate__() | {"n_tests_": np.array([9] * 4)}
    other = BinaryTests()
    other.__setstate__(state)
    assert_array_equal(other.n_tests_, tests.n_tests_)
    assert pickle.dumps(other) == pickle.dumps(tests)
