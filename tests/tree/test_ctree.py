"""Conditional inference trees against their definition and against partykit's."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import ctree as reference
from reference.effort import examples
from scipy import sparse
from sklearn.datasets import load_iris

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMTreeClassifier,
    large,
)
from skconftree.bounds import CTreeBound
from skconftree.tree import export_text

# Inner nodes of the tree of partykit 1.2.16 (R 4.2, default settings) for iris, depth
# first: feature, threshold, adjusted p-value of the feature.
IRIS = [
    (2, 1.9, 1.39327080653331e-30),
    (3, 1.7, 6.90097247053341e-16),
    (2, 4.8, 0.000785487841596096),
]
LIKE_PARTYKIT = {
    "min_samples_split": 20,
    "min_samples_leaf": 7,
    "pruning": None,
    "shrinkage": 0,
}


def preorder(tree, node=0):
    """Yield the inner nodes depth first."""
    if tree.children_left[node] >= 0:
        yield node
        yield from preorder(tree, tree.children_left[node])
        yield from preorder(tree, tree.children_right[node])


def test_iris_has_the_tree_of_partykit():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier("ctree", **LIKE_PARTYKIT).fit(X, y).tree_
    for node, (feature, threshold, p) in itertools.zip_longest(preorder(tree), IRIS):
        assert tree.feature[node] == feature
        below = X[X[:, feature] <= tree.threshold[node], feature]
        assert below.max() == threshold
        # values are single floats here, doubles there
        assert tree.evidence["statistic"][node] == pytest.approx(p, rel=1e-5)


@st.composite
def tables(draw):
    n, d = draw(st.integers(4, 60)), draw(st.integers(1, 4))
    n_classes = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    nominal = draw(arrays(bool, d))
    X = np.empty((n, d))
    for j in range(d):
        if nominal[j]:
            X[:, j] = rng.integers(0, draw(st.integers(2, 5)), n)
            signal = (X[:, j] + y) % 3 == 0
            X[signal & (rng.random(n) < 0.5), j] = 0
        else:
            X[:, j] = (
                rng.normal(size=n) + y * draw(st.sampled_from([0, 0.5, 2]))
            ).round(draw(st.sampled_from([0, 1, 6]))) + draw(st.sampled_from([0, 1000]))
            if draw(st.booleans()):
                X[rng.random(n) < 0.2, j] = np.nan
    weight = np.ones(n)
    if draw(st.booleans()):
        weight = rng.integers(0, 4, n).astype(float)
        weight[:n_classes] = 1
    return X.astype(np.float32).astype(float), nominal, y, weight


@given(
    tables(), st.sampled_from(["quadratic", "maximum"]), st.sampled_from([0.05, 0.5, 1])
)
@settings(max_examples=examples(150))
def test_every_node_is_split_as_defined(table, form, delta):
    X, nominal, y, weight = table
    model = ConfidenceTreeClassifier(
        CTreeBound(delta, form=form),
        min_samples_leaf=3,
        pruning=None,
        shrinkage=0,
        categorical_features=nominal,
    )
    model.fit(X, y, weight)
    reference.assert_defined(model, X, nominal, y, weight, delta, 3, form)


def table(n=400, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 5))
    X[:, 3] += y
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 3.0}])
def test_many_features_are_tested_as_few(n_classes, class_weight):
    """A dense table has rough tests first; a sparse one and one with weights do not."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(600, 20))
    X[:, ::2] = X[:, ::2].round(2)
    X[:, 7] = X[:, 3]  # equal p-values
    y = np.digitize(X[:, 3] + X[:, 12] + rng.normal(size=600), [0, 1][: n_classes - 1])
    model = ConfidenceTreeClassifier(CTreeBound(0.5), class_weight=class_weight)
    tree = model.fit(X, y).tree_
    assert tree.n_leaves > 5
    assert pickle.dumps(model.fit(sparse.csr_array(X), y).tree_) == pickle.dumps(tree)
    weighted = model.fit(X, y, np.full(600, 2.0)).tree_
    repeated = model.fit(np.tile(X, (2, 1)), np.tile(y, 2)).tree_
    np.testing.assert_array_equal(weighted.threshold, repeated.threshold)
    for name in ("statistic", "score"):
        np.testing.assert_array_equal(weighted.evidence[name], repeated.evidence[name])


def test_unrelated_features_are_selected_equally_often():
    rng = np.random.default_rng(0)
    selected = np.zeros(3)
    for _ in range(300):
        X = np.column_stack(
            [rng.normal(size=60), rng.integers(0, 2, 60), rng.integers(0, 4, 60)]
        )
        model = ConfidenceTreeClassifier(
            CTreeBound(1.0), max_depth=1, pruning=None, categorical_features=[2]
        )
        selected[model.fit(X, rng.integers(0, 2, 60)).tree_.feature[0]] += 1
    assert np.all(np.abs(selected / 300 - 1 / 3) < 0.1)


def test_class_weights_are_tested_as_proportions_of_the_same_rows():
    X, y = table(n_classes=2)
    plain = ConfidenceTreeClassifier("ctree").fit(X, y)
    equal = ConfidenceTreeClassifier("ctree", class_weight={0: 3, 1: 3}).fit(X, y)
    np.testing.assert_array_equal(equal.tree_.feature, plain.tree_.feature)
    np.testing.assert_allclose(
        equal.tree_.evidence["statistic"], plain.tree_.evidence["statistic"], rtol=1e-9
    )
    skewed = ConfidenceTreeClassifier("ctree", class_weight={0: 5, 1: 1}).fit(X, y)
    assert skewed.tree_.feature[0] == 3


@pytest.mark.parametrize("nominal_splits", ["binary", "multiway"])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_other_settings_of_a_tree(splitter, nominal_splits):
    X, y = table()
    X = pd.DataFrame(X, columns=list("abcde"))
    X["f"] = pd.Categorical(np.array(["u", "v", "w"])[y])
    model = ConfidenceTreeClassifier(
        "ctree", splitter=splitter, nominal_splits=nominal_splits, random_state=0
    )
    tree = model.fit(X, y).tree_
    assert tree.feature[0] == 5
    assert np.log10(tree.evidence["statistic"][0]) < -100
    text = export_text(model, verbose=True)
    assert "adjusted p-value" in text
    assert "by chance" in text


def test_binned_and_best_first_trees_and_forests():
    X, y = table()
    for setting in ({"max_bins": 32}, {"max_leaf_nodes": 3}):
        tree = ConfidenceTreeClassifier("ctree", **setting).fit(X, y).tree_
        assert tree.feature[0] == 3
    forest = ConfidenceForestClassifier(5, bound="ctree", max_features=3)
    forest.set_params(random_state=0)
    assert forest.fit(X, y).score(X, y) > 0.5


def test_what_is_not_for_such_trees():
    X, y = table()
    for bound in ("ctree", CTreeBound()):
        for kind in (ConfidenceTreeClassifier, ConfidenceForestClassifier):
            model = kind(bound=bound)
            assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="does not work with partial_fit"):
        ConfidenceTreeClassifier("ctree").partial_fit  # noqa: B018
    with pytest.raises(ValueError, match="'bound' parameter of NCMTreeClassifier"):
        NCMTreeClassifier(bound="ctree").fit(X, y)


def test_one_table_of_counts():
    """Without columns, the outcomes are the categories of a feature."""
    bound = CTreeBound()
    counts = np.array([[9, 2, 0], [3, 8, 0], [1, 1, 4]])
    z, c = (a.ravel() for a in np.indices(counts.shape))
    for form in ("quadratic", "maximum"):
        bound.set_params(form=form)
        log_p, _ = reference.log_pvalue(
            z.astype(float), True, c, counts.ravel().astype(float), form
        )
        got = bound.evaluate(counts, attributes=4)
        assert got.statistic == pytest.approx(reference.adjusted(log_p, 4), rel=1e-9)
        assert got.split


def test_tables_in_parts_grow_the_same_tree(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = table()
    frame = pd.DataFrame(X.round(1), columns=list("abcde"))
    frame["f"] = np.array(["u", "v", "w"])[(y + (X[:, 0] > 0)) % 3]
    frame.assign(y=y).to_parquet(tmp_path / "table.parquet")
    model = ConfidenceTreeClassifier("ctree", max_bins=16)
    parted = large.fit(model, tmp_path / "table.parquet", target="y").tree_
    whole = model.fit(frame, y).tree_
    assert whole.n_leaves > 2
    for key in ("feature", "threshold", "counts"):
        np.testing.assert_array_equal(getattr(parted, key), getattr(whole, key))
    np.testing.assert_array_equal(
        parted.evidence["statistic"], whole.evidence["statistic"]
    )
