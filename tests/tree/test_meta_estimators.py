"""The tree in meta-estimators of scikit-learn: it works, or raises a clear error."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import ConfidenceTreeClassifier
from skconftree.tables import _schema
from skconftree.tree import export_text

X, Y = load_iris(return_X_y=True, as_frame=True)


def pets():
    """A frame with a column of strings, missing values included."""
    rng = np.random.default_rng(0)
    fur = rng.choice(["smooth", "rough", "none"], 240)
    size = rng.normal(size=240)
    kind = np.where((size > 0.2) ^ (fur == "rough"), "cat", "dog")
    frame = pd.DataFrame({"size": size, "fur": pd.Series(fur, dtype="category")})
    return frame.where(pd.Series(rng.random(240) > 0.05), np.nan), kind


ENSEMBLES = {
    "bagging": lambda tree: BaggingClassifier(tree, 5, random_state=0),
    "boosting": lambda tree: AdaBoostClassifier(tree, n_estimators=5, random_state=0),
    "stacking": lambda tree: StackingClassifier([("tree", tree)], cv=3),
    "voting": lambda tree: VotingClassifier([("tree", tree)], voting="soft"),
    "calibrated": lambda tree: CalibratedClassifierCV(tree, cv=3),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_of_scikit_learn_take_trees(name):
    tree = ConfidenceTreeClassifier()
    if name == "boosting":  # whose weights are no frequencies
        tree = ConfidenceTreeClassifier(
            None, max_depth=1, sample_weight_kind="relative"
        )
    model = ENSEMBLES[name](tree).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert model.predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize("name", ["stacking", "voting", "calibrated"])
def test_those_that_leave_frames_alone_take_frames_of_strings(name):
    frame, kind = pets()
    model = ENSEMBLES[name](ConfidenceTreeClassifier()).fit(frame, kind)
    assert model.score(frame, kind) > 0.85


@pytest.mark.parametrize("name", ["bagging", "boosting"])
def test_those_that_make_numbers_of_frames_say_so(name):
    frame, kind = pets()
    with pytest.raises(ValueError, match="could not convert string|Input contains NaN"):
        ENSEMBLES[name](ConfidenceTreeClassifier(None, max_depth=1)).fit(frame, kind)


def test_importances_and_dependences():
    tree = ConfidenceTreeClassifier().fit(X, Y)
    found = permutation_importance(tree, X, Y, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 3
    curve = partial_dependence(tree, X, ["petal width (cm)"], grid_resolution=5)
    assert curve["average"].shape == (3, 5)
    frame, kind = pets()
    tree = ConfidenceTreeClassifier().fit(frame, kind)
    found = permutation_importance(tree, frame, kind, n_repeats=2, random_state=0)
    assert (found.importances_mean > 0.05).all()


def test_set_output_in_a_pipeline_keeps_the_names_of_columns():
    model = make_pipeline(StandardScaler(), ConfidenceTreeClassifier())
    model.set_output(transform="pandas").fit(X, Y)
    assert model[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert "petal width (cm) <= " in export_text(model[-1])


def test_searches_take_bounds():
    grid = {"bound": ["gtest", "credible", None]}
    search = GridSearchCV(ConfidenceTreeClassifier(), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    assert cross_val_score(ConfidenceTreeClassifier(), X, Y).mean() > 0.9


def test_stacked_on_others():
    others = [("tree", ConfidenceTreeClassifier())]
    model = StackingClassifier(others, LogisticRegression(), passthrough=True, cv=3)
    assert model.fit(X, Y).score(X, Y) > 0.9


def test_tools_for_scikit_learns_trees_accept_to_sklearn():
    tree = ConfidenceTreeClassifier().fit(X, Y)
    copy = tree.to_sklearn()
    assert sklearn.tree.export_text(copy).count("class:") == tree.get_n_leaves()
    assert "digraph" in sklearn.tree.export_graphviz(copy)
    for tool in (sklearn.tree.export_text, sklearn.tree.plot_tree):
        with pytest.raises(ValueError, match="must be an instance of"):
            tool(tree)
    assert "digraph" in sklearn.tree.export_graphviz(tree)


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[s]"])
def test_a_column_of_dates_is_named(kind):
    days = pd.Series(pd.date_range("2024-01-01", periods=150).astype(kind))
    with pytest.raises(ValueError, match="Column 'day' is not numeric .*of the week"):
        ConfidenceTreeClassifier().fit(X.assign(day=days), Y)
    numeric = X.assign(day=(days - pd.Timestamp("1970-01-01")).dt.days)
    assert ConfidenceTreeClassifier().fit(numeric, Y).score(numeric, Y) > 0.9


def test_tables_of_dates_alone_are_refused():
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=150)})
    frames = [days, days - days.min(), pl.from_pandas(days), pa.Table.from_pandas(days)]
    for frame in frames:
        with pytest.raises(ValueError, match="Column 'day' is not numeric .*the month"):
            ConfidenceTreeClassifier().fit(frame, Y)
    with pytest.raises(ValueError, match=r"X is not numeric .its dtype is datetime64"):
        ConfidenceTreeClassifier().partial_fit(days.to_numpy(), Y, classes=[0, 1, 2])
    tree = ConfidenceTreeClassifier().fit(X.iloc[:, :1].set_axis(["day"], axis=1), Y)
    with pytest.raises(ValueError, match="Column 'day' is not numeric"):
        tree.predict(days)


def test_dates_of_any_kind_are_errors_with_a_remedy():
    days = pd.Series(pd.date_range("2024-01-01", periods=150))
    objects = days.dt.date.astype(object)
    for column in (days.dt.to_period("D"), objects, objects.where(days.dt.day > 3)):
        with pytest.raises(ValueError, match="Column 'day' is not numeric .*the month"):
            ConfidenceTreeClassifier().fit(X.assign(day=column), Y)
    with pytest.raises(
        ValueError, match="Column 'day' is not numeric .*category, enum"
    ):
        ConfidenceTreeClassifier().fit(X.assign(day=[*"abc"] * 50).astype(object), Y)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d %H:%M"])
def test_dates_that_are_strings_are_distinguished_from_names(form):
    days = pd.Series(pd.date_range("2024-01-01", periods=150)).dt.strftime(form)
    with pytest.warns(UserWarning, match="Dates may be in 'day'. Convert dates"):
        ConfidenceTreeClassifier().fit(X.assign(day=days), Y)
    with pytest.warns(UserWarning, match="which no new row has.$"):
        ConfidenceTreeClassifier().fit(X.assign(day="n" + days), Y)
    tree = ConfidenceTreeClassifier()
    many = pd.date_range("2000-01-01", periods=5000).strftime(form).astype("str")
    with pytest.raises(
        ValueError, match="categories; .* They look like dates. Convert"
    ):
        tree.partial_fit(pd.DataFrame({"day": many}), np.arange(5000) % 2, [0, 1])


@pytest.mark.parametrize("dtype", [object, str])
def test_strings_in_arrays_are_errors_with_a_remedy(dtype):
    strings = np.array([["a", "b"]] * 50 + [["b", "c"]] * 50, dtype=dtype)
    y = np.repeat([0, 1], 50)
    with pytest.raises(ValueError, match="X has strings .*in categorical_features"):
        ConfidenceTreeClassifier().fit(strings, y)
    with pytest.raises(ValueError, match="X has strings"):
        ConfidenceTreeClassifier().fit(X.to_numpy(), Y).predict(strings[:1, [0] * 4])
    assert ConfidenceTreeClassifier(categorical_features=[0, 1]).fit(strings, y)


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([["a"], ["b"]], ValueError, "X has strings"),
        ([["1"], [None]], ValueError, "^other words$"),
        ([{"a": 1}, {"a": 2}], TypeError, "Convert rows that are dictionaries"),
        ([[object()], [1]], TypeError, "^other words$"),
    ],
)
def test_advice_depends_on_the_values(monkeypatch, rows, error, words):
    def refuse(*given, **options):
        raise error("other words")

    monkeypatch.setattr(_schema, "check_array", refuse)
    with pytest.raises(error, match=words):
        ConfidenceTreeClassifier().fit(rows, [0, 1])


def test_missing_labels_are_counted():
    y = np.array([None if y == 1 else str(y) for y in Y], dtype=object)
    with pytest.raises(ValueError, match="Input y contains None in 50 of 150 rows"):
        ConfidenceTreeClassifier().fit(X, y)
