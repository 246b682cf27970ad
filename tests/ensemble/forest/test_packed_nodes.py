"""Many rows go through packed nodes, few through the trees as they are: same bytes.

What a row meets in packed nodes are integers in place of floats, so values that are
close, signed zeros, infinities and missing values are looked at by themselves.
"""

import numpy as np
import pytest

from skconftree import ConfidenceForestClassifier


def by_trees(forest, X):
    """Mean of what the trees say of the leaves that they name, in their order."""
    total = np.zeros((len(X), len(forest.classes_)))
    for tree in forest.estimators_:
        total += tree.tree_.proba[tree.apply(X)]
    return total / len(forest.estimators_)


def noisy(n, d, n_classes=2, seed=0):
    """Rows whose classes are noise, which trees without a bound have many nodes for."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)).astype("f4"), rng.integers(0, n_classes, n)


def grown(X, y, n_trees=12, **parameters):
    return ConfidenceForestClassifier(
        n_trees, bound=None, random_state=0, **parameters
    ).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n", [1, 7, 8, 23, 1000, 5003])
def test_any_number_of_rows(n, n_classes):
    forest = grown(*noisy(1500, 5, n_classes))
    X, _ = noisy(n, 5, seed=1)
    assert forest.predict_proba(X).tobytes() == by_trees(forest, X).tobytes()


def test_blocks_and_threads():
    forest = grown(*noisy(400, 3))
    X, _ = noisy(270_001, 3, seed=1)  # blocks have 131,072
    proba = forest.predict_proba(X)
    assert proba.tobytes() == by_trees(forest, X).tobytes()
    forest.set_params(n_jobs=2)
    assert forest.predict_proba(X).tobytes() == proba.tobytes()


def test_thresholds_between_neighboring_floats():
    # Midpoints that no float32 has, on both sides of zero.
    steps = np.arange(16, dtype=np.uint32)
    values = (np.float32(1.0).view(np.uint32) + steps).view(np.float32)
    column = np.concatenate([-values, values, [0.0, -0.0, 1e-45, -1e-45]])
    X = np.tile(column, 60).astype("f4")[:, np.newaxis]
    y = np.unique(X, return_inverse=True)[1].ravel() % 2
    forest = grown(X, y, bootstrap=False)
    assert forest.score(X, y) == 1.0
    assert forest.predict_proba(X).tobytes() == by_trees(forest, X).tobytes()


def test_missing_values_go_both_ways():
    X, y = noisy(3000, 4)
    X[np.random.default_rng(2).random(X.shape) < 0.3] = np.nan
    forest = grown(X, y)
    there = [tree.tree_.missing_go_to_left for tree in forest.estimators_]
    assert any(one.any() for one in there)
    assert not all(one.all() for one in there)
    Z, _ = noisy(4000, 4, seed=3)
    Z[np.random.default_rng(4).random(Z.shape) < 0.3] = np.nan
    assert forest.predict_proba(Z).tobytes() == by_trees(forest, Z).tobytes()


def test_trees_with_and_without_tests_of_categories():
    """Only the latter have packed nodes, and both may be in one forest."""
    X, y = noisy(2000, 4)
    X[:, 3] = X[:, 3] > 0
    forest = grown(X, y, categorical_features=[3], max_features=1, max_depth=2)
    nominal = [
        np.isnan(tree.tree_.threshold[tree.tree_.children_left >= 0]).any()
        for tree in forest.estimators_
    ]
    assert 0 < sum(nominal) < len(nominal)
    Z, _ = noisy(4000, 4, seed=3)
    Z[:, 3] = Z[:, 3] > 0
    assert forest.predict_proba(Z).tobytes() == by_trees(forest, Z).tobytes()


def test_few_trees_of_many_columns():
    """Packing the rows would take longer than it saves."""
    forest = grown(*noisy(200, 60), n_trees=2)
    X, _ = noisy(3000, 60, seed=1)
    assert forest.predict_proba(X).tobytes() == by_trees(forest, X).tobytes()


def test_values_beyond_those_of_training():
    X, y = noisy(1000, 3)
    forest = grown(X, y)
    big = np.finfo(np.float32).max
    Z = np.random.default_rng(5).choice([-big, -1.0, -0.0, 0.0, 1.0, big], (2000, 3))
    Z = Z.astype("f4")
    assert forest.predict_proba(Z).tobytes() == by_trees(forest, Z).tobytes()


@pytest.mark.parametrize("d", [128, 129, 256, 257])
def test_wide_tables(d):
    X, y = noisy(300, d)
    forest = grown(X, y, 40)
    Z, _ = noisy(600, d, seed=1)
    assert forest.predict_proba(Z).tobytes() == by_trees(forest, Z).tobytes()
    Z[::3, ::5] = np.nan
    X[::4, ::7] = np.nan
    forest = grown(X, y, 40)
    assert forest.predict_proba(Z).tobytes() == by_trees(forest, Z).tobytes()


def test_a_tree_like_a_chain():
    # Half of the rows leave at each level: far deeper than balanced trees are.
    n = 400
    X = np.arange(n, dtype="f4")[:, np.newaxis]
    y = np.arange(n) % 2
    forest = grown(X, y, 2, bootstrap=False, criterion="error")
    X = np.tile(X, (20, 1))
    assert forest.predict_proba(X).tobytes() == by_trees(forest, X).tobytes()
