"""Monotonicity constraints: trees of scikit-learn, order of predictions, fitted values.

With clipped values only, a tree without a bound is scikit-learn's tree.
"""

import copy
import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.isotonic import bounds_of_nodes, comparable_nodes
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import LeafReason, PessimisticPruning, _isotonic, _monotonic
from skconftree.tree.nodes._derived import shrunk
from skconftree.utils import _model_file

SIGNS = (-1, 0, 1)


def random_table(rng, n_rows=None, n_features=4, decimals=None):
    n = rng.integers(50, 400) if n_rows is None else n_rows
    X = rng.random((n, n_features))
    if decimals is not None:
        X = X.round(decimals)
    score = X @ rng.normal(size=n_features) * 4 + rng.normal()
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    y[:2] = 0, 1
    return X.astype(np.float32), y


def random_pairs(rng, X, signs, n_pairs=200):
    """Rows, and other rows whose probability must not be lower."""
    rows = rng.integers(len(X), size=(2, n_pairs))
    low, high = X[rows[0]].copy(), X[rows[0]].copy()
    others = X[rows[1]]
    for j in np.flatnonzero(signs):
        values = np.sort([low[:, j], others[:, j]], axis=0)[:: signs[j]]
        changed = rng.random(n_pairs) < 0.7
        low[changed, j], high[changed, j] = values[:, changed]
    return low, high


def assert_in_order(model, low, high):
    low, high = model.predict_proba(low), model.predict_proba(high)
    assert (low[:, 1] <= high[:, 1]).all()
    assert (low[:, 0] >= high[:, 0]).all()


def preorder(tree):
    nodes = [0]
    while nodes:
        node = nodes.pop()
        yield node
        if tree.children_left[node] >= 0:
            nodes += [tree.children_right[node], tree.children_left[node]]


@pytest.fixture
def clipped(monkeypatch):
    """No isotonic values, as in scikit-learn."""
    monkeypatch.setattr(_monotonic, "MAX_LEAVES", 0)


def gain(tree, node):
    impurity = tree.weighted_n_node_samples * tree.impurity
    children = tree.children_left[node], tree.children_right[node]
    return impurity[node] - sum(impurity[child] for child in children)


def check_same_tree_as_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X, y = random_table(rng)
    weight = rng.integers(1, 1000, len(y))  # equal gains are unlikely
    parameters = {
        "criterion": ("gini", "entropy")[seed % 2],
        "max_depth": 5,
        "min_weight_fraction_leaf": 0.03,
        "max_leaf_nodes": (None, 9)[seed // 2 % 2],
        "class_weight": (None, {0: 1, 1: 3})[seed // 4 % 2],
        "monotonic_cst": rng.choice(SIGNS, X.shape[1]),
    }
    ours = ConfidenceTreeClassifier(bound=None, **parameters)
    theirs = DecisionTreeClassifier(random_state=0, **parameters)
    ours, theirs = (model.fit(X, y, weight).tree_ for model in (ours, theirs))
    here, there = list(preorder(ours)), list(preorder(theirs))
    for node, other in zip(here, there, strict=False):
        if ours.feature[node] != theirs.feature[other]:
            assert_allclose(gain(ours, node), gain(theirs, other), rtol=1e-9)
            return  # a tie decides
    assert_array_equal(ours.feature[here], theirs.feature[there])
    assert_allclose(ours.threshold[here], theirs.threshold[there])
    assert_allclose(ours.value[here], theirs.value[there], atol=1e-12)


def test_trees_are_those_of_scikit_learn(clipped):
    for seed in range(24):
        check_same_tree_as_scikit_learn(seed)


@pytest.mark.slow
def test_500_trees_are_those_of_scikit_learn(clipped):
    for seed in range(24, 524):
        check_same_tree_as_scikit_learn(seed)


def check_order(seed):
    rng = np.random.default_rng(seed)
    X, y = random_table(rng, decimals=(None, 1)[seed % 2])
    signs = rng.choice(SIGNS, X.shape[1])
    missing = rng.random(X.shape) < rng.choice([0.0, 0.1])
    X[missing] = np.nan
    parameters = {
        "monotonic_cst": signs,
        "bound": rng.choice([None, "gtest", "credible", "hoeffding", "evalue"]),
        "splitter": rng.choice(["best", "random"]),
        "max_features": rng.choice([None, 2]),
        "max_bins": rng.choice([None, 8]),
        "min_samples_leaf": int(rng.integers(1, 4)),
        "class_weight": rng.choice([None, "balanced"]),
        "random_state": 0,
    }
    if parameters["splitter"] == "random":
        parameters["max_bins"] = None
    pruning = {"pruning": rng.choice(["auto", "c45", None])}
    low, high = random_pairs(rng, X, signs)
    # a row without a value is not comparable with others
    known = ~(np.isnan(low) != np.isnan(high)).any(axis=1)
    low, high = low[known], high[known]
    for model in (
        ConfidenceTreeClassifier(**parameters | pruning),
        ConfidenceForestClassifier(3, **parameters),
    ):
        assert_in_order(model.fit(X, y), low, high)


def test_predictions_are_in_order():
    for seed in range(40):
        check_order(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree is a single leaf")  # with few rows
def test_predictions_of_10_000_tables_are_in_order():
    for seed in range(40, 10_040):
        check_order(seed)


def optimal_values(target, weight, order):
    """The least squares by the formula of maxima over upper and minima over lower sets.

    `order[i, j]`: value i must not be above value j.
    """
    n = len(target)
    sets = np.array(list(product([False, True], repeat=n)))
    closed = ~(sets[:, :, None] & ~sets[:, None, :] & order).any(axis=(1, 2))
    upper = sets[closed]
    means = np.full((len(upper), len(upper)), np.nan)
    both = upper[:, None] & ~upper[None]  # an upper set without another one
    size = both @ weight
    np.divide(both @ (weight * target), size, out=means, where=size > 0.0)
    value = np.empty(n)
    for i in range(n):
        some = means[np.ix_(upper[:, i], ~upper[:, i])]
        value[i] = some.min(axis=1).max()
    return value


def test_isotonic_regression():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = rng.integers(2, 8)
        target, weight = rng.random(n).round(1), rng.integers(1, 9, n).astype(float)
        order = np.triu(rng.random((n, n)) < rng.random(), 1)
        shuffled = rng.permutation(n)
        order = order[np.ix_(shuffled, shuffled)]
        value = _isotonic.isotonic_regression(target, weight, *np.nonzero(order))
        assert_allclose(value, optimal_values(target, weight, order), atol=1e-12)


def test_isotonic_regression_of_a_sequence():
    rng = np.random.default_rng(0)
    target, weight = rng.random(500) + np.linspace(0, 1, 500), rng.random(500) + 0.1
    chain = np.arange(499), np.arange(1, 500)
    expected = isotonic_regression(target, sample_weight=weight)
    value = _isotonic.isotonic_regression(target, weight, *chain)
    assert_allclose(value, expected, rtol=1e-12)


def test_isotonic_regression_of_many_values():
    rng = np.random.default_rng(0)
    for n_pairs in (0, 60, 300, 2000):
        target, weight = rng.random(80).round(2), rng.integers(1, 9, 80).astype(float)
        ranks = np.sort(rng.integers(80, size=(2, n_pairs)), axis=0)
        pairs = rng.permutation(80)[ranks[:, ranks[0] < ranks[1]]]
        value = _isotonic.isotonic_regression(target, weight, *pairs)
        assert (value[pairs[0]] <= value[pairs[1]]).all()
        # the projection on a cone: the residuals are orthogonal to the values, and have
        # no positive sum over a set that contains all values above its own
        residual = weight * (target - value)
        assert_allclose([residual.sum(), residual @ value], 0.0, atol=1e-9)
        below = np.zeros((pairs.shape[1] + 1, 80))
        below[np.arange(pairs.shape[1]), pairs[0]] = 1.0
        below[np.arange(pairs.shape[1]), pairs[1]] = -1.0
        best = linprog(-residual, below, np.zeros(len(below)), bounds=(0.0, 1.0))
        assert -best.fun < 1e-9


def random_tree(rng):
    """A tree with few rows per leaf, and the signs of its features."""
    n_features = int(rng.integers(1, 5))
    X, y = random_table(rng, rng.integers(30, 200), n_features, decimals=1)
    signs = rng.choice(SIGNS, n_features)
    X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = np.nan
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    for j in np.flatnonzero(signs == 0):
        if rng.random() < 0.7:
            codes = rng.integers(rng.choice([3, 9, 80]), size=len(y))
            columns[f"x{j}"] = pd.Categorical(codes.astype(str))
    model = ConfidenceTreeClassifier(
        None,
        max_depth=int(rng.integers(2, 7)),
        nominal_splits=rng.choice(["binary", "multiway"]),
        pruning=rng.choice([None, "c45"]),
        shrinkage=rng.choice([0.0, 3.0]),
        class_weight=rng.choice([None, "balanced"]),
    )
    names = dict(zip(columns, signs.tolist(), strict=True))
    tree = model.set_params(monotonic_cst=names).fit(pd.DataFrame(columns), y).tree_
    return tree, signs.astype(np.int8)


def check_values_of_a_tree(seed):
    tree, signs = random_tree(np.random.default_rng(seed))
    nodes, pairs = _isotonic.comparable_nodes(tree, signs)
    expected_nodes, expected = comparable_nodes(tree, signs)
    assert_array_equal(nodes, expected_nodes)
    assert_array_equal(pairs, expected)
    free = unconstrained(tree)
    found = _isotonic.clipped_values(tree, signs, tree.raw_proba, free)
    clipped = free[:, 1].clip(*bounds_of_nodes(tree, signs))
    assert_array_equal(found, np.column_stack([1.0 - clipped, clipped]))
    if not signs.any() or tree.node_count == 1:
        return
    weight = tree.weighted_n_node_samples[nodes]
    is_leaf, target = tree.n_children[nodes] == 0, free[nodes, 1]
    value = _isotonic.isotonic_regression(
        target, np.where(is_leaf & (weight > 0.0), weight, 1e-6), *expected
    )

    def loss(value):
        terms = xlogy(target, value) + xlogy(1.0 - target, 1.0 - value)
        return -(weight * terms)[is_leaf].sum()

    if loss(value) <= loss(clipped[nodes]):
        clipped[nodes] = value
    assert_array_equal(tree.proba, np.column_stack([1.0 - clipped, clipped]))


@pytest.mark.filterwarnings("ignore:No split uses column")
@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_values_are_those_of_the_slow_reference(seed):
    check_values_of_a_tree(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No split uses column")
def test_values_of_2_000_trees_are_those_of_the_slow_reference():
    for seed in range(2000):
        check_values_of_a_tree(seed)


@pytest.mark.parametrize("seed", range(6))
def test_order_of_leaves_is_that_of_their_cells(seed):
    rng = np.random.default_rng(seed)
    X, y = random_table(rng, 400, 3, decimals=1)
    X[rng.random(X.shape) < 0.05] = np.nan
    signs = ((1, -1, 0), (1, 0, 0), (-1, 1, 1))[seed % 3]
    model = ConfidenceTreeClassifier(None, max_depth=5, monotonic_cst=signs).fit(X, y)
    tree = model.tree_
    nodes, found = _isotonic.comparable_nodes(tree, np.array(signs, dtype=np.int8))
    assert_array_equal(nodes, np.flatnonzero(tree.n_children == 0))
    # all combinations of values
    points = np.array(list(product(*map(np.unique, X.T))))
    leaf = np.searchsorted(nodes, tree.apply(points))
    ordered = np.ones((len(points),) * 2, dtype=bool)
    for x, sign in zip(points.T, signs, strict=True):
        a, b = x[:, None], x[None]
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        ordered &= same | (sign * a < sign * b)
    low, high = np.nonzero(ordered)
    pairs = zip(leaf[low].tolist(), leaf[high].tolist(), strict=True)
    expected = {(a, b) for a, b in pairs if a != b}
    assert set(zip(*(side.tolist() for side in found), strict=True)) == expected
    value = tree.proba[nodes, 1]
    assert (value[found[0]] <= value[found[1]]).all()


@pytest.mark.parametrize("shrinkage", [0.0, 10.0])
@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 3.0}])
def test_isotonic_values_fit_better(monkeypatch, shrinkage, class_weight):
    better = 0
    for seed in range(20):
        X, y = random_table(np.random.default_rng(seed), 300, 3, decimals=1)
        tree = ConfidenceTreeClassifier(
            None, shrinkage=shrinkage, class_weight=class_weight, max_depth=5
        )
        free = tree.fit(X, y)
        tree = clone(tree).set_params(monotonic_cst=[1, 0, -1]).fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(_monotonic, "MAX_LEAVES", 0)
            clipped = clone(tree).fit(X, y)
        assert_array_equal(tree.tree_.counts, clipped.tree_.counts)
        leaves = tree.tree_.n_children == 0
        weight = tree.tree_.weighted_n_node_samples[leaves]
        target = unconstrained(tree.tree_)[leaves]

        def loss(model, weight=weight, target=target, leaves=leaves):
            return -(weight[:, None] * xlogy(target, model.tree_.proba[leaves])).sum()

        assert loss(tree) <= loss(clipped) * (1 + 1e-12)
        better += loss(tree) < loss(clipped) * (1 - 1e-6)
        if shrinkage == 0.0:
            rows = None if class_weight is None else np.where(y == 1, 3.0, 1.0)
            ours, theirs = (
                log_loss(y, model.predict_proba(X), sample_weight=rows)
                for model in (tree, clipped)
            )
            assert ours <= theirs * (1 + 1e-12)
        assert free.tree_.keeps_values is False
    assert better > 3


def test_trees_of_a_forest_have_isotonic_values(monkeypatch):
    X, y = random_table(np.random.default_rng(0), 300, 3, decimals=1)
    forest = ConfidenceForestClassifier(
        4, bound=None, max_depth=5, monotonic_cst=[1, 0, -1], random_state=0
    )

    def losses():
        for tree in (model.tree_ for model in forest.fit(X, y).estimators_):
            leaves = tree.n_children == 0
            yield -xlogy(tree.counts[leaves], tree.proba[leaves]).sum()

    isotonic = list(losses())
    monkeypatch.setattr(_monotonic, "MAX_LEAVES", 0)
    assert (np.array(isotonic) < list(losses())).all()


def unconstrained(tree):
    value = tree.raw_proba
    if tree.shrinkage > 0.0:
        n_rows = tree.counts.sum(axis=1)
        value = shrunk(value, n_rows, tree.parent, tree.depth, tree.shrinkage)
    return value


def nominal_table(seed, n_rows=400):
    rng = np.random.default_rng(seed)
    X, y = random_table(rng, n_rows, 4, decimals=1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["c"] = pd.Categorical(np.array(["u", "v", "w"])[rng.integers(3, size=n_rows)])
    y[frame["c"] == "u"] ^= rng.random((frame["c"] == "u").sum()) < 0.3
    return frame, y, rng


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("bound", [None, "gtest", "possibilistic"])
def test_nominal_columns_and_names(splits, bound):
    for seed in range(8):
        X, y, rng = nominal_table(seed)
        rare = (X["c"] == "w") & (X["a"] > 0.5)  # a category is unknown in some nodes
        X, y = X[~rare], y[~rare]
        tree = ConfidenceTreeClassifier(
            bound, nominal_splits=splits, monotonic_cst={"a": 1, "d": -1}
        ).fit(X, y)
        low = X.iloc[rng.integers(len(X), size=200)].reset_index(drop=True)
        low["c"] = np.array(["u", "v", "w", "new"])[rng.integers(4, size=200)]
        high = low.copy()
        high["a"] += np.float32(rng.random(200).round(1))
        high["d"] -= np.float32(rng.random(200).round(1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown category
            assert_in_order(tree, low, high)
        by_position = clone(tree).set_params(monotonic_cst=[1, 0, 0, -1]).fit(X, y)
        assert_array_equal(by_position.tree_.proba, tree.tree_.proba)


def fitted(X, y, signs, **parameters):
    return ConfidenceTreeClassifier(monotonic_cst=signs, **parameters).fit(X, y)


def test_the_same_tree_from_other_tables():
    rng = np.random.default_rng(5)
    X, y = random_table(rng, 3000, 8, decimals=2)
    X[rng.random(X.shape) < 0.5] = 0.0
    signs = [1, -1, 0, 1, 0, 0, -1, 1]
    for parameters in ({}, {"bound": None}, {"bound": None, "max_leaf_nodes": 30}):
        tree = fitted(X, y, signs, **parameters)
        for other in (sparse.csc_matrix(X), sparse.coo_matrix(X)):
            same = fitted(other, y, signs, **parameters)
            assert_array_equal(same.tree_.proba, tree.tree_.proba)
        threads = fitted(np.tile(X, (4, 1)), np.tile(y, 4), signs, n_jobs=2)
        one = fitted(np.tile(X, (4, 1)), np.tile(y, 4), signs)
        assert pickle.dumps(one.tree_) == pickle.dumps(threads.tree_)


def test_splits_in_the_wrong_order_count_as_candidates():
    X, y = random_table(np.random.default_rng(0), 200)
    for signs in (None, [1, 1, 1, 1], [-1, 1, -1, 1]):
        tree = fitted(X, y, signs, bound=None)
        assert tree.tree_.evidence["n_candidates"][0] == 4 * 199
    # the wrong sign leaves nothing
    step = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
    stump = fitted(*step, [-1], bound=None)
    assert list(stump.tree_.leaf_reason) == [LeafReason.MONOTONIC_CST]
    assert_allclose(stump.predict_proba([[0.0]]), [[0.5, 0.5]])
    assert fitted(*step, [1], bound=None).get_n_leaves() == 2


def test_no_sign_is_no_constraint():
    X, y = random_table(np.random.default_rng(0), 200)
    free = ConfidenceTreeClassifier().fit(X, y)
    for none in ([0, 0, 0, 0], np.zeros(4), None):
        same = fitted(X, y, none)
        assert pickle.dumps(same.tree_) == pickle.dumps(free.tree_)
    one_class = fitted(X, np.ones(200), [1, 0, 0, 0])
    assert_array_equal(one_class.predict_proba(X), np.ones((200, 1)))


@pytest.mark.parametrize(
    ("pruning", "parameters"),
    [
        ("c45", {}),
        (PessimisticPruning(0.02), {"lookahead": 3}),
        ("cost_complexity", {"bound": None, "ccp_alpha": 0.003}),
    ],
)
def test_order_after_pruning(pruning, parameters):
    if "ccp_alpha" in parameters:
        pruning = "auto"
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = random_table(rng, 400, decimals=1)
        tree = fitted(X, y, [1, 1, -1, 0], pruning=pruning, **parameters)
        assert_in_order(tree, *random_pairs(rng, X, [1, 1, -1, 0]))


def test_values_are_kept(tmp_path):
    X, y, _ = nominal_table(0)
    low, high = X.assign(a=0.0), X.assign(a=1.0)
    tree = fitted(X, y, {"a": 1})
    forest = ConfidenceForestClassifier(3, monotonic_cst={"a": 1}, random_state=0)
    for model in (tree, forest.fit(X, y)):
        assert_in_order(model, low, high)
        same = pickle.loads(pickle.dumps(model))
        assert_array_equal(same.predict_proba(X), model.predict_proba(X))
        theirs = model.to_sklearn()
        assert_allclose(theirs.predict_proba(X), model.predict_proba(X), atol=1e-15)
    assert_array_equal(copy.copy(tree.tree_).proba, tree.tree_.proba)
    for signs in ({"a": 1}, np.array([1, 0, 0, 0])):
        _model_file.save(tmp_path / "model", tree.set_params(monotonic_cst=signs), {})
        loaded, _ = _model_file.load(tmp_path / "model")
        assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))
        assert type(loaded.monotonic_cst) is type(signs)
    kind, arguments, (*arrays, values, nodes, branching, codes) = (
        tree.tree_.__reduce__()
    )
    wrong = (2.0 * np.frombuffer(values)).tobytes()
    with pytest.raises(ValueError, match="'values'"):
        kind(*arguments).__setstate__((*arrays, wrong, nodes, branching, codes))


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ([1, 0], "has shape 2 but the input data X has 4 features"),
        ([[1, 0, 0, 0]], r"has shape \(1, 4\) but"),
        ([2, 0, 0, 0], r"array-like of -1, 0 or 1, .* but got \[2\]"),
        ([0.5, 0, 0, 0], r"but got \[0.5\]"),
        (["a", 0, 0, 0], "but got"),
        ({"z": 1}, r"not feature names of X: \['z'\]. The names are \['a', "),
        ({"a": 3}, r"but got \[3\]"),
        ({"c": 1}, "must be 0 for the nominal column 'c'"),
        (1, "'monotonic_cst' parameter"),
    ],
)
def test_errors(signs, words):
    X, y, _ = nominal_table(0)
    for model in (ConfidenceTreeClassifier(), ConfidenceForestClassifier(2)):
        model.fit(X, y)
        before = model.predict_proba(X)
        with pytest.raises(ValueError, match=words):
            model.set_params(monotonic_cst=signs).fit(X, y)
        assert_array_equal(model.predict_proba(X), before)


def test_errors_of_combinations():
    X, y = random_table(np.random.default_rng(0), 60)
    with pytest.raises(ValueError, match="multiclass classification .* 3 classes"):
        fitted(X, np.arange(60) % 3, [1, 0, 0, 0])
    with pytest.raises(ValueError, match="X has no feature names"):
        fitted(X, y, {"a": 1})
    with pytest.raises(ValueError, match="'leaf_prediction' .* with monotonic_cst"):
        fitted(X, y, [1, 0, 0, 0], leaf_prediction="nb")
    # without the constraint, the tree may grow further
    tree = fitted(X, y, [1, 0, 0, 0], leaf_memory="rows")
    assert not hasattr(tree, "partial_fit")
    assert tree.tree_.keeps_values
    tree.set_params(monotonic_cst=None).partial_fit(X, y)
    assert not tree.tree_.keeps_values
