"""SHAP values equal their definition, and those of the shap package."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.effort import examples
from reference.shapley import shapley_values
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    PartiallyLinearTreeClassifier,
)
from skconftree.inspection import shap_values

EXACT = {"rtol": 0, "atol": 1e-12}


def table_of(random, n, n_more=0, missing=0.0):
    """Rows with two numbers, text and codes; the last categories are rare."""
    frame = pd.DataFrame(
        {
            "a": random.normal(size=n).round(1),
            "b": random.integers(0, 4, n).astype(float),
            "text": random.choice(list("pqrstuv")[: 4 + n_more], n),
            "code": random.choice([0.0, 2.0, 5.0, 9.0][: 3 + n_more], n),
        }
    )
    for name in frame:
        frame.loc[random.random(n) < missing, name] = np.nan
    return frame


@st.composite
def models(draw):
    """A tree and rows to explain, some of them with unknown categories."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes = int(random.integers(10, 80)), draw(st.integers(2, 4))
    X = table_of(random, n, missing=draw(st.sampled_from([0.0, 0.2])))
    y = (X.a > 0) + (X.text > "q") * (X.b > 1) + 2 * (X.code == 2.0)
    y = (y + (random.random(n) < 0.2)).to_numpy() % n_classes
    tree = ConfidenceTreeClassifier(
        draw(st.sampled_from([None, "credible", "gtest"])),
        max_depth=draw(st.integers(1, 6)),
        nominal_splits=draw(st.sampled_from(["binary", "multiway"])),
        shrinkage=draw(st.sampled_from([0.0, 5.0])),
        categorical_features=["text", "code"],
        class_weight=draw(st.sampled_from([None, {0: 3.0}])),
        grace_period=5,
        leaf_prediction="majority",
        random_state=0,
    )
    weight = random.integers(1, 4, n) if draw(st.booleans()) else None
    if draw(st.booleans()):
        half = n // 2
        tree.partial_fit(X[:half], y[:half], range(n_classes))
        tree.partial_fit(X[half:], y[half:])
    else:
        tree.fit(X, y, weight)
    return tree, table_of(random, 8, 3, 0.2)


@given(model=models())
@settings(max_examples=examples(150), deadline=None)
def test_values_equal_the_definition(model):
    tree, rows = model
    values, base_values = shap_values(tree, rows)
    codes = tree._rows(rows).X
    for row, found in zip(codes, values, strict=True):
        expected, base = shapley_values(tree.tree_, row)
        assert_allclose(found, expected, **EXACT)
        assert_allclose(base_values, base, **EXACT)
    total = base_values + values.sum(axis=1)
    assert_allclose(total, tree.predict_proba(rows), **EXACT)


def test_values_of_a_tree_with_two_splits():
    """Worked by hand, with the value v of each set of columns."""
    X = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 25, axis=0)
    y = X[:, 0] & X[:, 1]
    X, y = np.vstack([X, X[75:]]), np.append(y, y[75:])
    tree = ConfidenceTreeClassifier(None, pruning=None, shrinkage=0.0).fit(X, y)
    assert tree.get_n_leaves() == 3
    values, base_values = shap_values(tree, [[1, 1], [0, 1]])
    first, second = tree.tree_.feature[0], 1 - tree.tree_.feature[0]
    # 50 of 125 rows are of class 1
    assert_allclose(base_values, [0.6, 0.4], **EXACT)
    # 75 rows have a one in the first column: v(first) = 50/75, v(second) = 75/125
    assert_allclose(values[0, first, 1], (2 / 3 - 2 / 5 + 1 - 3 / 5) / 2, **EXACT)
    assert_allclose(values[0, second, 1], (3 / 5 - 2 / 5 + 1 - 2 / 3) / 2, **EXACT)
    assert_allclose(values[:, :, 0], -values[:, :, 1], **EXACT)


FORESTS = {
    "tree": ConfidenceTreeClassifier(),
    "cart": ConfidenceTreeClassifier(None, pruning=None),
    "forest": ConfidenceForestClassifier(7, random_state=0),
    "threads": ConfidenceForestClassifier(7, n_jobs=2, random_state=0),
}


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.filterwarnings("ignore:Some splits send missing values to the left")
def test_values_equal_those_of_shap(name, missing):
    shap = pytest.importorskip("shap", reason="shap is not installed")
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = FORESTS[name].fit(X, y)
    values, base_values = shap_values(model, X[::7])
    explainer = shap.TreeExplainer(model.to_sklearn())
    assert_allclose(values, explainer.shap_values(X[::7]), **EXACT)
    assert_allclose(base_values, explainer.expected_value, **EXACT)
    total = base_values + values.sum(axis=1)
    assert_allclose(total, model.predict_proba(X[::7]), **EXACT)


def test_values_of_sparse_rows_and_of_weighted_votes():
    X, y = load_iris(return_X_y=True)
    X = np.where(X < 2.0, 0.0, X)
    forest = ConfidenceForestClassifier(
        3, vote="accuracy", leaf_prediction="majority", random_state=0
    )
    order = np.random.default_rng(0).permutation(150)
    forest.partial_fit(X[order], y[order], [0, 1, 2])
    values, base_values = shap_values(forest, X)
    total = base_values + values.sum(axis=1)
    assert_allclose(total, forest.predict_proba(X), **EXACT)
    sparse, base_of_sparse = shap_values(forest, csr_array(X))
    assert_array_equal(sparse, values)
    assert_array_equal(base_of_sparse, base_values)


def test_a_tree_without_splits_attributes_nothing():
    tree = ConfidenceTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert tree.get_n_leaves() == 1
    values, base_values = shap_values(tree, [[0.0], [5.0]])
    assert not values.any()
    assert_array_equal(base_values, tree.predict_proba([[0.0]])[0])


def test_values_are_exact_in_deep_trees():
    """A path of 60 columns: all products of factors are positive, nothing cancels."""
    X = np.triu(np.ones((60, 60)))[np.repeat(np.arange(60), 2)]
    y = np.repeat(np.arange(60) % 2, 2)
    tree = ConfidenceTreeClassifier(None, pruning=None, shrinkage=0.0).fit(X, y)
    assert tree.get_depth() >= 25
    values, base_values = shap_values(tree, X)
    total = base_values + values.sum(axis=1)
    assert_allclose(total, tree.predict_proba(X), **EXACT)


def test_models_without_values_are_refused():
    X, y = load_iris(return_X_y=True)
    bayes = ConfidenceTreeClassifier(leaf_prediction="nb").partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="by SHAP.* Fit it with leaf_prediction="):
        shap_values(bayes, X)
    with pytest.raises(ValueError, match="with a linear score are not available"):
        shap_values(PartiallyLinearTreeClassifier(random_state=0).fit(X, y), X)
    with pytest.raises(TypeError, match="must be a fitted ConfidenceTreeClassifier"):
        shap_values(NCMForestClassifier(2, random_state=0).fit(X, y), X)
    with pytest.raises(ValueError, match="X has 2 features"):
        shap_values(ConfidenceTreeClassifier().fit(X, y), X[:, :2])
