"""A forest as one of scikit-learn's."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier


def make_table(seed=0, n_rows=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", np.where(X[:, 2] > 1, "no", "so"))
    return X, y


def forest_of(**parameters):
    return ConfidenceForestClassifier(12, random_state=0, **parameters)


@pytest.mark.parametrize("bound", ["gtest", None, ["chi2", "credible"]])
def test_it_predicts_the_same_bits(bound):
    X, y = make_table()
    forest = forest_of(bound=bound).fit(X, y)
    copied = forest.to_sklearn()
    assert type(copied) is RandomForestClassifier
    assert (copied.predict_proba(X) == forest.predict_proba(X)).all()
    assert (copied.predict(X) == forest.predict(X)).all()
    assert (copied.apply(X) == forest.apply(X)).all()
    assert copied.score(X, y) > 0.8


def test_the_criterion_is_that_of_the_forest_if_scikit_learn_has_it():
    X, y = make_table()
    for criterion, expected in (("entropy", "entropy"), ("kearns_mansour", "gini")):
        copied = forest_of(criterion=criterion).fit(X, y).to_sklearn()
        assert copied.criterion == expected


def test_names_of_columns_need_a_library_of_frames(monkeypatch):
    frame = pd.DataFrame({"a": pd.Categorical(list("xyz") * 20)})
    tree = ConfidenceTreeClassifier().fit(frame, frame["a"] == "x")
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="needs pandas or polars. Install one"):
        tree.to_sklearn()


def test_names_of_columns_are_those_of_the_forest():
    X, y = make_table()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    copied = forest_of().fit(frame, y).to_sklearn()
    assert copied.feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_missing_values_are_warned_of():
    X, y = make_table()
    X[X[:, 0] > 1, 0] = np.nan
    forest = forest_of(bound=None).fit(X, y)
    with pytest.warns(UserWarning, match="skl2onnx"):
        copied = forest.to_sklearn()
    assert (copied.predict_proba(X) == forest.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
def test_trees_share_the_encoder_of_nominal_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "color": pd.Categorical(rng.choice(list("abcdef"), 400)),
            "size": rng.normal(size=400),
            "form": pd.Categorical(rng.choice(["round", "flat", None], 400)),
        }
    )
    y = (X["color"].isin(["a", "c"]) ^ (X["size"] > 0)).astype(int)
    forest = forest_of(max_features=None).fit(X, y)
    copied = forest.to_sklearn()
    new = X.assign(color="unknown")
    for rows in (X, new):
        assert (copied.predict_proba(rows) == forest.predict_proba(rows)).all()
    assert isinstance(copied[-1], RandomForestClassifier)
    assert len(copied) == 2


def test_what_has_no_counterpart():
    X, y = make_table()
    with pytest.raises(
        ValueError, match=r"naive Bayes .* Fit it with leaf_prediction="
    ):
        forest_of(leaf_prediction="nb").fit(X, y).to_sklearn()
    forest = forest_of(leaf_prediction="majority", vote="accuracy")
    with pytest.raises(ValueError, match="vote"):
        forest.partial_fit(X, y, ["no", "so", "yes"]).to_sklearn()
    forest = forest_of(leaf_prediction="majority")
    forest.partial_fit(X, y, ["no", "so", "yes"])
    assert (forest.to_sklearn().predict_proba(X) == forest.predict_proba(X)).all()
