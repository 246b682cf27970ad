"""Text output of a forest: the votes of its trees and the features they split on."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError

from skconftree import ConfidenceForestClassifier


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return ConfidenceForestClassifier(25, random_state=0).fit(X, y), X, y


def numbers(text):
    return {name: int(n) for name, n in re.findall(r"([\w/]+) \((\d+)\)", text)}


def test_a_summary_counts_the_trees(wine):
    forest, X, _ = wine
    text = forest.summary()
    assert max(map(len, text.splitlines())) <= 100
    assert "25 trees, 13 columns, 3 classes" in text
    leaves = [one.get_n_leaves() for one in forest.estimators_]
    assert f"leaves of a tree: {min(leaves)} to {max(leaves)}" in text
    first = text[text.index("split at the root") : text.index("split anywhere")]
    roots = [X.columns[one.tree_.feature[0]] for one in forest.estimators_]
    told = re.findall(r"([\w/]+) at about ([\d.]+) \((\d+)\)", first)
    assert len(told) == min(5, len(set(roots)))
    for name, cut, n in told:
        assert int(n) == roots.count(name)
        cuts = [
            one.tree_.threshold[0]
            for one, root in zip(forest.estimators_, roots, strict=True)
            if root == name
        ]
        assert float(cut) == pytest.approx(np.median(cuts), rel=0.01)
    users = [
        {X.columns[j] for j in one.tree_.feature if j >= 0}
        for one in forest.estimators_
    ]
    for name, n in numbers(text[text.index("split anywhere") :]).items():
        assert n == sum(name in one for one in users)


def test_votes_are_those_of_the_trees(wine):
    forest, X, _ = wine
    proba = forest.predict_proba(X)
    row = int(np.argmin(proba.max(axis=1)))  # of which they disagree most
    text = forest.explain_text(X.iloc[row])
    votes = np.array([one.predict(X.iloc[[row]])[0] for one in forest.estimators_])
    best = forest.predict(X.iloc[[row]])[0]
    assert text.startswith(
        f"class {best}: probability {proba[row].max():.2f}, predicted by "
        f"{(votes == best).sum()} of 25 trees"
    )
    found = re.findall(r"(\d+) trees? predicts? (\d): ([\d, ]+\d)", text)
    assert sum(int(n) for n, _, _ in found) == (votes != best).sum() > 0
    for n, label, places in found:
        mine = np.flatnonzero(votes == int(label)).tolist()
        assert len(mine) == int(n)
        told = [int(one) for one in places.split(", ")]
        assert told == mine[: len(told)]
    on_the_way = [
        {X.columns[step["feature"]] for step in one.explain(X.iloc[[row]])[0]}
        for one in forest.estimators_
    ]
    for name, n in numbers(text[text.index("split on the path") :]).items():
        assert n == sum(name in one for one in on_the_way)


def test_several_rows_and_arrays():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(5, random_state=0).fit(X, y)
    assert forest.explain_text(X[0]) == forest.explain_text(X[:1])
    text = forest.explain_text(X[[0, 75]])
    assert text.startswith("row 0\nclass 0:")
    assert "\n\nrow 1\nclass 1:" in text
    assert re.search(r"x[0-3] \(\d\)", text)


def test_forests_without_splits_and_with_categories():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(3, min_samples_leaf=80, random_state=0)
    forest.fit(X, y)
    assert "3 trees without a split" in forest.summary()
    assert "no tree has a split" in forest.explain_text(X[0])
    fur = pd.DataFrame({"fur": ["red", "blue"] * 50, "n": np.arange(100)})
    labels = np.array(["yes", "no"] * 50)
    forest = ConfidenceForestClassifier(4, max_features=None, random_state=0)
    forest.fit(fur, labels)
    assert "fur (4)" in forest.explain_text(fur.iloc[0])
    assert "split at the root (number of trees of 4): fur (4)" in forest.summary()


def test_a_growing_forest_and_one_that_is_not_fitted():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(3, random_state=0)
    with pytest.raises(NotFittedError):
        forest.summary()
    with pytest.raises(NotFittedError):
        forest.explain_text(X[0])
    forest.partial_fit(X, y, classes=[0, 1, 2])
    assert "3 trees" in forest.summary()
    assert forest.explain_text(X[0]).startswith("class ")
