"""The node of each row of a pool equals the result of `apply` after any change."""

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import crossed, examples
from scipy.sparse import csc_array, csr_array, csr_matrix

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import RowIndex


def rows_of(rng, n, kind):
    """A table with two numeric columns, and a nominal one."""
    X = rng.integers(0, 12, size=(n, 3)).astype(np.float64)
    if kind == "missing":
        X[rng.random((n, 3)) < 0.2] = np.nan
    if kind == "nominal":
        letters = np.array(list("abcdefghijkl"))
        table = pd.DataFrame(X[:, :2], columns=["u", "v"])
        table["w"] = pd.Series(letters[X[:, 2].astype(int)], dtype="category")
        return table[["w", "u", "v"]]
    return X


def labels_of(X):
    if isinstance(X, pd.DataFrame):
        first = X["w"].astype(object).map(lambda w: ord(w) - ord("a")).to_numpy()
        return ((first // 3) % 2) ^ (X["u"].to_numpy() > 6)
    return (np.nan_to_num(X[:, 0], nan=3.0) > 5).astype(int) ^ (
        np.nan_to_num(X[:, 1], nan=9.0) > 6
    )


def grower(**options):
    return ConfidenceTreeClassifier(
        bound="gtest",
        delta=0.9,
        grace_period=5,
        leaf_memory="rows",
        random_state=0,
        **options,
    )


def check(index, tree, pool, taken):
    """The index says what `apply` says, and says it in every way."""
    leaves = tree.apply(pool)
    left = np.setdiff1d(np.arange(len(leaves)), sorted(taken))
    n_nodes = tree.tree_.node_count
    np.testing.assert_array_equal(index.apply(), leaves)
    np.testing.assert_array_equal(
        index.counts(), np.bincount(leaves[left], minlength=n_nodes)
    )
    for node in range(n_nodes):
        members = index.members(node)
        np.testing.assert_array_equal(members, left[leaves[left] == node])
        if len(members):
            assert index.draw(node, key=n_nodes) in members
            drawn = index.draw(node, key=n_nodes, size=len(members))
            np.testing.assert_array_equal(np.sort(drawn), members)
    fresh = tree.index_rows(pool)
    fresh.take(sorted(taken))
    occupied = np.flatnonzero(fresh.counts())
    for node in occupied.tolist():  # whatever the way here was
        assert index.draw(node, key=7) == fresh.draw(node, key=7)


@pytest.mark.parametrize("kind", ["plain", "missing", "nominal"])
@pytest.mark.parametrize("options", [{}, {"nominal_splits": "multiway"}])
@settings(max_examples=examples(12))
@given(data=st.data())
def test_index_equals_apply(kind, options, data):
    """Splits, categories learned late, a refit, rows taken and put back."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    pool = rows_of(rng, 60, kind)
    tree = grower(**options)
    X = rows_of(rng, 4, kind)
    tree.partial_fit(X, labels_of(X), classes=[0, 1])
    index = tree.index_rows(pool)
    np.testing.assert_array_equal(index.update(), np.arange(tree.tree_.node_count))
    taken = set()
    check(index, tree, pool, taken)
    steps = st.sampled_from(["grow", "grow", "grow", "take", "back", "fit"])
    for step in data.draw(st.lists(steps, min_size=3, max_size=8)):
        before = index.apply()
        index.update()
        n_before, changed = len(index.counts()), set()
        if step == "grow":
            X = rows_of(rng, int(rng.integers(1, 60)), kind)
            tree.partial_fit(X, labels_of(X))
        elif step == "fit":
            X = rows_of(rng, 80, kind)
            tree.fit(X, labels_of(X))
        elif step == "take":
            chosen = rng.integers(0, 60, size=5)
            changed = set(before[[r for r in set(chosen.tolist()) - taken]].tolist())
            taken |= set(chosen.tolist())
            index.take(chosen)
        elif taken:
            row = sorted(taken)[0]
            changed = {int(before[row])}
            taken.remove(row)
            index.put_back(row)
        after = tree.apply(pool)
        if step == "fit":
            changed = set(range(tree.tree_.node_count))
        elif step == "grow":
            moved = before != after
            changed = {*before[moved].tolist(), *after[moved].tolist()}
            changed |= set(range(n_before, tree.tree_.node_count))
            found = set(index.update().tolist())
            # and the nodes that have split, even without rows
            assert changed <= found
            assert found - changed <= set(
                tree.tree_.parent[list(range(n_before, tree.tree_.node_count))].tolist()
            )
        if step != "grow":
            assert set(index.update().tolist()) == changed
        assert len(index.update()) == 0
        check(index, tree, pool, taken)


def test_rows_wait_at_a_node_for_their_category():
    """Once it is known there they go on, and no split is needed for that."""
    tree = ConfidenceTreeClassifier(
        bound="gtest", max_depth=1, categorical_features=[0], leaf_memory="rows"
    )
    X = np.array([["a"], ["b"]] * 60, dtype=object)
    tree.partial_fit(X, np.arange(120) % 2, classes=[0, 1])
    assert tree.tree_.node_count == 3
    pool = np.array([["c"], ["a"], ["d"], ["b"], ["c"]], dtype=object)
    index = tree.index_rows(pool)
    np.testing.assert_array_equal(index.members(0), [0, 2, 4])
    index.update()
    tree.partial_fit(np.array([["c"]], dtype=object), [0])
    assert tree.tree_.node_count == 3
    child = int(tree.apply(pool)[0])
    assert child > 0
    np.testing.assert_array_equal(index.members(0), [2])
    np.testing.assert_array_equal(index.update(), [0, child])
    check(index, tree, pool, set())


def test_a_node_that_gets_as_many_rows_as_it_loses_has_changed():
    tree = ConfidenceTreeClassifier(
        bound="gtest", max_depth=2, categorical_features=[0, 1]
    )
    rows = ["aa", "ab", "aa", "ab", "ba", "bb"]
    X = np.array([list(row) for row in rows * 200], dtype=object)
    tree.partial_fit(X, [0, 1, 0, 1, 2, 2] * 200, classes=[0, 1, 2])
    pool = np.array([["c", "z"], ["a", "c"]], dtype=object)
    index = tree.index_rows(pool)
    index.update()
    np.testing.assert_array_equal(index.apply(), [0, 1])
    tree.partial_fit(np.array([["c", "a"], ["a", "c"]], dtype=object), [0, 0])
    leaf = int(tree.apply(pool)[1])
    np.testing.assert_array_equal(index.apply(), [1, leaf])
    np.testing.assert_array_equal(index.update(), [0, 1, leaf])
    check(index, tree, pool, set())


def test_a_drift_replaces_the_tree():
    rng = np.random.default_rng(0)
    pool = rng.random((500, 2))
    tree = ConfidenceTreeClassifier(bound="hoeffding", drift="ddm", grace_period=20)
    X = rng.random((4000, 2))
    y = np.where(np.arange(4000) < 2000, X[:, 0] > 0.5, X[:, 1] > 0.5).astype(int)
    tree.partial_fit(X[:1000], y[:1000], classes=[0, 1])
    index = tree.index_rows(pool)
    index.update()
    for start in range(1000, 4000, 100):
        tree.partial_fit(X[start : start + 100], y[start : start + 100])
        np.testing.assert_array_equal(index.apply(), tree.apply(pool))
    assert tree.n_drifts_ > 0
    np.testing.assert_array_equal(index.update(), np.arange(tree.tree_.node_count))


@pytest.mark.parametrize("make", [csr_array, csr_matrix, csc_array])
def test_sparse_tables(make):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 5)).astype(np.float32)
    y = (X[:, 0] > 1).astype(int) ^ (X[:, 3] > 0)
    tree = grower().partial_fit(X[:50], y[:50], classes=[0, 1])
    index, dense = tree.index_rows(make(X)), tree.index_rows(X)
    tree.partial_fit(X[50:], y[50:])
    assert tree.tree_.node_count > 3
    index.take([3, 5])
    dense.take([3, 5])
    np.testing.assert_array_equal(index.apply(), tree.apply(X))
    np.testing.assert_array_equal(index.counts(), dense.counts())


def test_draws_are_fair():
    """Each row of a node as often as any other, those taken never; one or many."""
    tree = ConfidenceTreeClassifier(bound=None, max_depth=1)
    tree.fit(np.arange(20.0)[:, None], np.arange(20) > 9)
    index = tree.index_rows(np.arange(40.0)[:, None] / 2.0)
    taken = [21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35]
    index.take(taken)
    leaf = int(tree.apply([[15.0]])[0])
    members = index.members(leaf)
    one = np.bincount([index.draw(leaf, key) for key in range(4000)], minlength=40)
    many = sum(
        np.bincount(index.draw(leaf, key, size=2), minlength=40) for key in range(2000)
    )
    assert one[taken].sum() == many[taken].sum() == 0
    expected = 4000 / len(members)
    for counts in (one, many):
        assert ((counts[members] - expected) ** 2 / expected).sum() < 3 * len(members)
    # all but one row of a large leaf are taken: those left are listed
    wide = tree.index_rows(np.full((5000, 1), 15.0))
    wide.take(np.arange(4999))
    assert {wide.draw(leaf, key) for key in range(20)} == {4999}


def test_bad_input():
    X = np.arange(20.0)[:, None]
    tree = ConfidenceTreeClassifier(bound=None, max_depth=1)
    with pytest.raises(ValueError, match="not fitted"):
        tree.index_rows(X)
    tree.fit(X, X[:, 0] > 9)
    with pytest.raises(ValueError, match="2 features"):
        tree.index_rows(np.zeros((3, 2)))
    index = tree.index_rows(X)
    for node in (-1, 3):
        with pytest.raises(ValueError, match=f"between 0 and 2. Got {node}"):
            index.members(node)
        with pytest.raises(ValueError, match=f"between 0 and 2. Got {node}"):
            index.draw(node, 0)
    with pytest.raises(ValueError, match="from node 0, which has 0"):
        index.draw(0, 0)
    with pytest.raises(ValueError, match="from node 1, which has 10"):
        index.draw(1, 0, size=11)
    with pytest.raises(ValueError, match="size must not be negative"):
        index.draw(1, 0, size=-1)
    with pytest.raises(ValueError, match="key must be"):
        index.draw(1, -1)
    for rows in ([3, 20], [3, -1]):
        with pytest.raises(ValueError, match="rows must be indices between"):
            index.take(rows)
    with pytest.raises(ValueError, match="rows must be integers"):
        index.take([1.5])
    assert index.counts().sum() == 20
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="index_rows"):
            copied(index)


def test_a_table_that_no_longer_fits_says_so():
    X = np.arange(40.0).reshape(20, 2)
    tree = ConfidenceTreeClassifier(bound=None).fit(X, X[:, 0] > 9)
    index = tree.index_rows(X)
    tree.fit(X[:, :1], X[:, 0] > 9)
    with pytest.raises(ValueError, match="does not have the features of the tree"):
        index.counts()
    tree.fit(X, X[:, 1] > 21)
    np.testing.assert_array_equal(index.apply(), tree.apply(X))


def test_an_index_takes_five_bytes_a_row():
    X = np.zeros((100_000, 3), dtype=np.float32)
    X[:, 0] = np.arange(100_000)
    tree = ConfidenceTreeClassifier(bound=None, max_depth=6)
    tree.fit(X[::50], np.arange(2000) % 7 > 3)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        index = tree.index_rows(X)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert index.n_bytes < 5.1 * len(X)
    assert grown < 5.5 * len(X)
    assert isinstance(index, RowIndex)


# -- forests ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "drift", "kind"),
    crossed(
        ["majority", "auto"], [None, "ddm", "local"], ["plain", "missing", "nominal"]
    ),
)
def test_sums_of_a_forest_have_the_bits_of_those_made_now(kind, drift, prediction):
    classes = [0, 1] if kind == "plain" else [0, 1, 2]

    def labels(X):
        y = labels_of(X)
        return y if kind == "plain" else np.where(np.arange(len(y)) % 5, y, 2)

    rng = np.random.default_rng(2)
    pool = rows_of(rng, 80, kind)
    X = rows_of(rng, 40, kind)
    forest = ConfidenceForestClassifier(
        n_estimators=5,
        grace_period=5,
        leaf_prediction=prediction,
        random_state=0,
        drift=drift,
    ).partial_fit(X, labels(X), classes)
    index = forest.index_rows(pool)
    grown = set()
    for step in range(14):
        found = index.predict_proba()
        fresh = forest.index_rows(pool).predict_proba()
        assert found.tobytes() == fresh.tobytes()
        np.testing.assert_allclose(found, forest.predict_proba(pool), atol=1e-12)
        grown.add(sum(tree.get_n_leaves() for tree in forest.estimators_))
        if step == 9:
            forest.set_params(n_estimators=7).fit(X, labels(X))
        else:
            X = rows_of(rng, 3 if step < 4 else 40, kind)
            y = labels(X)
            forest.partial_fit(X, y if step < 6 else (1 - y) % 3)
    assert len(grown) > 5
    assert index.n_bytes < 80 * (5 * 7 + 4 + 8 * len(classes))


def test_sums_of_a_forest_are_not_added_up_again():
    """Only rows of leaves that have changed add something."""
    rng = np.random.default_rng(3)
    X = rng.random((500, 2)).astype(np.float32)
    forest = ConfidenceForestClassifier(
        n_estimators=3, grace_period=20, leaf_prediction="majority", random_state=0
    ).partial_fit(X, X[:, 0] > 0.5, classes=[False, True])
    index = forest.index_rows(X)
    before = index.predict_proba()
    index._sums += 1 << 45
    forest.partial_fit(X[:1], X[:1, 0] > 0.5)
    assert (index.predict_proba() > before + 1).all()


@pytest.mark.parametrize("kind", ["plain", "missing", "nominal"])
@pytest.mark.parametrize("drift", [None, "ddm", "local"])
def test_forest_index_equals_apply(kind, drift):
    rng = np.random.default_rng(1)
    pool = rows_of(rng, 80, kind)
    X = rows_of(rng, 40, kind)
    forest = ConfidenceForestClassifier(
        n_estimators=4, grace_period=10, random_state=0, drift=drift
    ).partial_fit(X, labels_of(X), classes=[0, 1])
    index = forest.index_rows(pool)
    np.testing.assert_array_equal(index.update(), np.arange(80))
    for step in range(12):
        before = index.apply()
        if step == 8:
            forest.set_params(n_estimators=6).fit(X, labels_of(X))
        elif step == 10:
            forest.set_params(n_estimators=3).fit(X, labels_of(X))
        else:
            X = rows_of(rng, 40, kind)
            y = labels_of(X)
            forest.partial_fit(X, y if step < 5 else 1 - y)
        after = forest.apply(pool)
        np.testing.assert_array_equal(index.apply(), after)
        np.testing.assert_array_equal(index.leaves(1), after[:, 1])
        changed = index.update()
        if before.shape == after.shape:
            moved = np.flatnonzero((before != after).any(axis=1))
            assert np.isin(moved, changed).all()
        else:
            assert len(changed) == 80
        assert len(index.update()) == 0


def test_forest_index_of_a_sparse_table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(200, 5)).astype(np.float32)
    forest = ConfidenceForestClassifier(n_estimators=3, random_state=0)
    forest.fit(X, X[:, 0] > 1)
    index = forest.index_rows(csr_array(X))
    np.testing.assert_array_equal(index.apply(), forest.apply(X))
    forest.partial_fit(X, X[:, 0] > 1)
    np.testing.assert_array_equal(index.apply(), forest.apply(X))
    assert index.n_bytes == 200 * (3 * 4 + 1)
    with pytest.raises(TypeError, match="index_rows"):
        pickle.dumps(index)


def test_forest_bad_input():
    with pytest.raises(ValueError, match="not fitted"):
        ConfidenceForestClassifier().index_rows([[1.0]])
