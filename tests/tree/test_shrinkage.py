"""Probabilities of a fitted tree, shrunk toward those of the nodes above."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from reference.node_tables import node_table_of
from sklearn.base import clone
from sklearn.datasets import load_iris

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import GTestBound
from skconftree.bounds._registry import BOUNDS
from skconftree.drift import DDM
from skconftree.tree import export_text, node_table


def shrunk_slowly(tree, shrinkage):
    """Each node from the root down, as the formula is written."""
    raw, counts, above = tree.raw_proba, tree.counts, tree.parent
    value = raw.copy()
    for node in range(1, tree.node_count):
        parent = above[node]
        step = raw[node] - raw[parent]
        n = counts[parent].sum()
        value[node] = value[parent] + (step / (1.0 + shrinkage / n) if n else 0.0)
    return value


def noisy(n=400, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.4)
    y = np.where(rng.random(n) < 0.2, rng.integers(0, k, n), y)
    return X, y


def mixed(n=500):
    X, y = noisy(n)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = pd.Categorical(rng.choice(list("uvwxyz"), n))
    y = np.where(frame["e"] == "u", 2, y)
    return frame, y


def test_worked_example():
    # 12 rows, 8 of them left. Shrinkage 4: a step from the root counts 12 / 16.
    X = np.r_[np.zeros(8), np.ones(4)][:, np.newaxis]
    y = np.r_[np.zeros(7), np.ones(1), np.ones(4)].astype(int)
    tree = ConfidenceTreeClassifier(bound=None, max_depth=1, shrinkage=4).fit(X, y)
    root, left, right = tree.tree_.proba
    np.testing.assert_allclose(root, [7 / 12, 5 / 12])
    np.testing.assert_allclose(left[0], 7 / 12 + (7 / 8 - 7 / 12) * 0.75)
    np.testing.assert_allclose(right[0], 7 / 12 - 7 / 12 * 0.75)
    np.testing.assert_array_equal(tree.tree_.raw_proba[1], [7 / 8, 1 / 8])
    np.testing.assert_array_equal(tree.tree_.counts[1], [7, 1])


@pytest.mark.parametrize("shrinkage", [1e-6, 0.5, 10, 1e9])
@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("weights", [None, {0: 1.0, 1: 3.5, 2: 0.25}])
def test_as_the_formula_is_written(shrinkage, splits, weights):
    X, y = mixed()
    model = ConfidenceTreeClassifier(
        bound=None,
        shrinkage=shrinkage,
        nominal_splits=splits,
        class_weight=weights,
        min_samples_leaf=3,
    ).fit(X, y)
    value = model.tree_.proba
    assert model.tree_.node_count > 20
    expected = shrunk_slowly(model.tree_, shrinkage)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(value.sum(axis=1), 1.0, rtol=1e-14)
    assert (value >= 0.0).all()
    np.testing.assert_array_equal(model.predict_proba(X), value[model.apply(X)])
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[value.argmax(axis=1)][model.apply(X)]
    )


def test_a_step_never_falls_below_zero_by_rounding():
    X = np.arange(6.0)[:, np.newaxis]
    weight = np.array([1.0, 3.0, 1e15, 7.0, 1e15, 1e15])
    model = ConfidenceTreeClassifier(bound=None, shrinkage=1e-5)
    model.fit(X, [0, 1, 0, 2, 1, 2], sample_weight=weight)
    value = model.tree_.proba
    assert (value >= 0.0).all()
    assert (value <= 1.0).all()


def test_auto_is_ten_for_the_default_bound_and_none_for_others():
    X, y = noisy()
    assert ConfidenceTreeClassifier().fit(X, y).shrinkage_ == 10.0
    assert ConfidenceTreeClassifier(bound=GTestBound()).fit(X, y).shrinkage_ == 10.0
    for bound in [None, *BOUNDS]:
        model = ConfidenceTreeClassifier(bound=bound).fit(X, y)
        if bound != "gtest":
            assert model.shrinkage_ == 0.0, bound
            tree = model.tree_
            n = tree.weighted_n_node_samples[:, np.newaxis]
            np.testing.assert_array_equal(tree.proba, tree.counts / n)


def test_tests_and_counts_are_the_same_with_and_without():
    X, y = noisy()
    plain = ConfidenceTreeClassifier(shrinkage=0).fit(X, y).tree_
    shrunk = ConfidenceTreeClassifier(shrinkage=25.0).fit(X, y).tree_
    assert plain.node_count > 3
    for name in ("feature", "threshold", "parent", "counts", "impurity"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(shrunk, name))
    assert plain.evidence.tobytes() == shrunk.evidence.tobytes()
    np.testing.assert_array_equal(plain.proba, shrunk.raw_proba)
    assert plain.n_bytes == shrunk.n_bytes
    assert not np.array_equal(plain.proba, shrunk.proba)


def test_weight_k_equals_k_rows():
    X, y = noisy(200)
    weight = np.random.default_rng(2).integers(0, 4, 200)
    a = ConfidenceTreeClassifier().fit(X, y, sample_weight=weight)
    b = ConfidenceTreeClassifier().fit(X.repeat(weight, 0), y.repeat(weight))
    assert a.tree_.node_count > 1
    np.testing.assert_array_equal(a.tree_.proba, b.tree_.proba)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("bound", ["gtest", None])
def test_sklearn_has_the_same_probabilities_bit_for_bit(splits, bound):
    X, y = noisy()
    model = ConfidenceTreeClassifier(bound, shrinkage=10.0).fit(X, y)
    other = model.to_sklearn()
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    X, y = mixed()
    model = ConfidenceTreeClassifier(bound, shrinkage=10.0, nominal_splits=splits)
    model.fit(X, y)
    assert model.tree_.is_nominal.any()
    X["e"] = X["e"].astype(object)
    X.loc[:40, "e"] = "never seen"
    other = model.to_sklearn()
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    values = other[-1].tree_.value[:, 0]
    np.testing.assert_allclose(values.sum(axis=-1), 1.0)


def overruled():
    """A tree with a leaf whose most frequent class is not its most probable one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (rng.random(60) < 0.25).astype(int)
    return ConfidenceTreeClassifier(None, shrinkage=60.0, max_depth=3).fit(X, y), X


def test_text_and_table_name_the_class_that_is_predicted():
    model, X = overruled()
    tree = model.tree_
    leaf = tree.n_children == 0
    best, frequent = tree.proba.argmax(axis=1), tree.raw_proba.argmax(axis=1)
    assert (best != frequent)[leaf].any()
    predicted = dict(zip(model.apply(X), model.predict(X), strict=True))
    table = node_table(model)
    for node in np.flatnonzero(leaf):
        assert table[node].label == predicted[node] == best[node]
        assert table[node].value == tuple(tree.proba[node])
        assert table[node].share == tree.raw_proba[node, best[node]]
    told = [line for line in export_text(model).splitlines() if "--- class " in line]
    assert sorted(line.split("--- class ")[1][0] for line in told) == sorted(
        str(best[node]) for node in np.flatnonzero(leaf)
    )


def ancestors(parent, node):
    found = [node]
    while parent[found[-1]] >= 0:
        found.append(parent[found[-1]])
    return found


@pytest.mark.parametrize(
    ("prediction", "weight"), crossed(["majority", "nba"], [1.0, 2.5])
)
def test_a_row_hardly_changes_the_probabilities_of_other_leaves(prediction, weight):
    X, y = noisy()
    model = ConfidenceTreeClassifier(bound=None, max_depth=5, shrinkage=10.0)
    model.set_params(leaf_prediction=prediction).fit(X[:200], y[:200])
    assert model.get_n_leaves() > 10
    for i in range(200, 240):
        before, leaf = model.predict_proba(X), model.apply(X)
        counts, parent = model.tree_.counts.sum(axis=1), model.tree_.parent
        model.partial_fit(X[[i]], y[[i]], sample_weight=[weight])
        change = np.abs(model.predict_proba(X) - before).max(axis=1)
        path = ancestors(parent, leaf[i])
        for j in np.flatnonzero(leaf != leaf[i]):
            common = next(one for one in ancestors(parent, leaf[j]) if one in path)
            assert change[j] <= weight / counts[common]
    assert model.shrinkage_ == 10.0


def test_later_splits_are_shrunk_too():
    X, y = noisy(1200)
    model = ConfidenceTreeClassifier(bound=None, max_depth=2, shrinkage=7.0)
    model.set_params(grace_period=20, leaf_prediction="majority")
    model.fit(X[:200], y[:200])
    n = model.tree_.node_count
    model.set_params(max_depth=None).partial_fit(X[200:], y[200:])
    tree = model.tree_
    assert tree.node_count > n
    np.testing.assert_allclose(tree.proba, shrunk_slowly(tree, 7.0), atol=1e-12)
    np.testing.assert_allclose(tree.counts[0].sum(), 1200.0)
    assert pickle.dumps(pickle.loads(pickle.dumps(model))) == pickle.dumps(model)


@pytest.mark.parametrize("k", [2, 3, 7, 8, 9, 17, 140, 300])
def test_the_path_of_a_leaf_gives_what_the_whole_tree_gives(k):
    """To the bit: rows alone, rows in a table, before and after a look at the tree."""
    rng = np.random.default_rng(k)
    X = rng.normal(size=(3 * k + 200, 2)).astype(np.float32)
    y = np.concatenate([np.arange(k), rng.integers(0, k, len(X) - k)])
    weight = rng.uniform(0.5, 2.0, len(X))
    options = {"max_depth": 6, "shrinkage": 0.5, "leaf_prediction": "majority"}
    class_weight = dict(enumerate(rng.uniform(0.5, 2.0, k)))
    model = ConfidenceTreeClassifier(bound=None, class_weight=class_weight, **options)
    model.fit(X, y, weight)
    n_fitted = model.tree_.node_count
    for i in range(6):
        row = X[[i]] + np.float32(0.1)
        other = pickle.loads(pickle.dumps(model))
        alone = model.predict_proba(row)  # by its path
        assert model.predict(row) == alone.argmax(axis=1)
        whole = model.tree_.proba[model.apply(row)]
        np.testing.assert_array_equal(alone, whole)
        np.testing.assert_array_equal(model.predict_proba(row), whole)
        before = model.partial_fit_predict(
            row, y[[i]], sample_weight=weight[[i]], return_proba=True
        )
        np.testing.assert_array_equal(before, alone)
        other.partial_fit(row, y[[i]], sample_weight=weight[[i]])
        assert pickle.dumps(other) == pickle.dumps(model)
    assert model.tree_.node_count >= n_fitted > 3


def test_a_chain_that_is_deeper_than_a_block_of_the_path():
    X = np.arange(400.0)[:, None]
    y = np.arange(400) % 2
    model = ConfidenceTreeClassifier(bound=None, shrinkage=2.0, pruning=None)
    model.set_params(leaf_prediction="majority", max_features=1).fit(X, y)
    model.partial_fit(X[:1], y[:1])
    assert model.get_depth() > 256
    deepest = X[[int(model.tree_.depth[model.apply(X)].argmax())]]
    model.partial_fit(X[:1], y[:1])
    alone = model.predict_proba(deepest)
    np.testing.assert_array_equal(alone, model.tree_.proba[model.apply(deepest)])


def test_a_fitted_tree_that_can_grow_predicts_as_before():
    X, y = noisy()
    model = ConfidenceTreeClassifier(leaf_prediction="majority").fit(X, y)
    before = model.predict_proba(X)
    value = model.tree_.proba.copy()
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    np.testing.assert_array_equal(model.predict_proba(X[:1]), before[:1])
    np.testing.assert_array_equal(model.tree_.proba, value)


def test_every_way_to_learn_and_read_agrees():
    X, y = mixed()
    codes = {"leaf_prediction": "majority", "nominal_splits": "multiway"}
    model = ConfidenceTreeClassifier(shrinkage=5.0, **codes).fit(X[:250], y[:250])
    alone = copy.deepcopy(model)
    told = model.partial_fit_predict(X[250:], y[250:])
    for i in range(250, 500):
        row = X.iloc[i : i + 1]
        assert alone.predict(row) == told[i - 250]
        alone.partial_fit(row, y[i : i + 1])
    assert pickle.dumps(alone) == pickle.dumps(model)
    new = X[:1].assign(e=pd.Categorical(["new"]))
    few = model.partial_fit(X[:1], y[:1]).predict_proba(new)
    assert model.to_sklearn().predict_proba(X) == pytest.approx(model.predict_proba(X))
    at = model.apply(new)
    np.testing.assert_array_equal(few, model.tree_.proba[at])


def test_drift_handling_ends_it():
    X, y = noisy()
    model = ConfidenceTreeClassifier(drift=DDM(), shrinkage=5.0).fit(X[:300], y[:300])
    assert model.shrinkage_ == 5.0
    model.partial_fit(X[300:], y[300:])
    assert model.shrinkage_ == 0.0
    np.testing.assert_array_equal(model.tree_.proba, model.tree_.raw_proba)


def test_a_tree_that_was_not_fitted_has_none():
    X, y = noisy()
    started = ConfidenceTreeClassifier(shrinkage=5.0, refit_rows=0)
    started.partial_fit(X, y, classes=[0, 1, 2])
    assert started.shrinkage_ == 0.0


def test_a_call_of_partial_fit_that_fails_changes_nothing():
    X, y = noisy()
    model = ConfidenceTreeClassifier().fit(X, y)
    before = model.tree_.proba
    with pytest.raises(ValueError, match="7"):
        model.partial_fit(X[:1], [7])
    assert model.shrinkage_ == 10.0
    np.testing.assert_array_equal(model.tree_.proba, before)


def test_stored_rows_change_nothing():
    X, y = noisy()
    plain = ConfidenceTreeClassifier().fit(X, y)
    keeps = ConfidenceTreeClassifier(leaf_memory="rows").fit(X, y)
    for few in (X[:1], X):
        np.testing.assert_array_equal(
            plain.predict_proba(few), keeps.predict_proba(few)
        )
        np.testing.assert_array_equal(plain.predict(few), keeps.predict(few))
    again = pickle.loads(pickle.dumps(keeps))
    assert again.shrinkage_ == 10.0


def test_copies_have_it():
    X, y = noisy()
    model = ConfidenceTreeClassifier(shrinkage=3.0).fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert again.shrinkage_ == 3.0
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert pickle.dumps(again) == pickle.dumps(model)
    assert not hasattr(clone(model), "shrinkage_")
    leaves = np.zeros(model.tree_.node_count, dtype=bool)
    leaves[0] = True
    assert model.tree_._pruned(leaves).shrinkage == 3.0


@pytest.mark.parametrize("given", [-1.0, np.nan, np.inf, "much"])
def test_hostile_states_are_refused(given):
    greedy = ConfidenceTreeClassifier(lookahead=0)
    tree = greedy.fit(*load_iris(return_X_y=True)).tree_
    kind, arguments, state = tree.__reduce__()
    with pytest.raises(ValueError, match="shrinkage|float"):
        kind(*arguments[:4], given, *arguments[5:]).__setstate__(state)


@pytest.mark.parametrize("given", [-1.0, np.nan, np.inf, "much", None])
def test_parameter_is_checked(given):
    with pytest.raises(ValueError, match="'shrinkage' parameter"):
        ConfidenceTreeClassifier(shrinkage=given).fit([[0], [1]], [0, 1])


def test_deep_trees():
    parent, counts, left = [-1], [[0.0, 0.0]], [2500, 2500]
    for depth in range(3000):
        first = depth % 3 // 2
        left[first] -= 1
        above = 2 * depth
        parent += [above, above]
        counts[above] = [0.0, 0.0]
        counts += [[1.0 - first, float(first)], list(left)]
    tree = node_table_of(parent, counts, shrinkage=1.0)
    np.testing.assert_allclose(tree.proba, shrunk_slowly(tree, 1.0), atol=1e-12)
