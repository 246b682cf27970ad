"""Leaves of a growing tree count their rows and store some for their children."""

import pickle

import numpy as np
import pytest
from reference.leaf_state import COUNTED_ROWS, HISTOGRAM, NOMINAL, ROWS, read_leaves

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import EValueBound, GTestBound
from skconftree.tree import _parameters

NEVER = GTestBound(1e-300)
LIMIT = 512  # rows that are kept without being counted


def late(n, seed=0, kind="numbers"):
    """Noise in four features; two of them tell the class of every tenth row."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4), dtype=np.float32)
    y = rng.integers(0, 2, n)
    told = rng.random(n) < 0.2
    y[told] = ((X[:, 0] > 0.6) & (X[:, 1] > 0.4))[told]
    if kind == "holes":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "codes":
        X[:, 1:3] = np.floor(X[:, 1:3] * 6)
    return X, y


def a_tree(kind="numbers", bound="gtest", **parameters):
    nominal = [1, 2] if kind == "codes" else None
    parameters = {"refit_rows": 0, "categorical_features": nominal} | parameters
    return ConfidenceTreeClassifier(bound, **parameters)


@pytest.fixture
def keep(monkeypatch):
    """Let the leaves of trees keep that many values."""
    return lambda n: monkeypatch.setattr(_parameters, "AUTO_STORED_VALUES", n)


def test_a_leaf_that_does_not_split_keeps_its_rows_and_their_counts():
    X, y = late(3_000)
    (leaf,) = read_leaves(a_tree(bound=NEVER).partial_fit(X, y, [0, 1])).values()
    assert leaf.memory == COUNTED_ROWS
    assert not leaf.dropped
    np.testing.assert_array_equal(leaf.X, X)
    np.testing.assert_array_equal(leaf.y, y)
    for f in range(4):
        np.testing.assert_array_equal(leaf.counts_of(f).sum(axis=0), np.bincount(y))
        below = X[:, f] <= leaf.bins_of(f)[0]
        np.testing.assert_array_equal(leaf.counts_of(f)[0], np.bincount(y[below]))


def test_a_leaf_keeps_its_latest_rows(keep):
    keep(4 * 1_000)
    X, y = late(2_800)
    (leaf,) = read_leaves(a_tree(bound=NEVER).partial_fit(X, y, [0, 1])).values()
    assert leaf.dropped
    assert 500 <= len(leaf.X) < 1_000
    np.testing.assert_array_equal(leaf.X, X[-len(leaf.X) :])
    np.testing.assert_array_equal(leaf.y, y[-len(leaf.y) :])
    np.testing.assert_array_equal(leaf.held, np.bincount(y))  # all are counted
    np.testing.assert_array_equal(leaf.counts_of(2).sum(axis=0), np.bincount(y))


@pytest.mark.parametrize("kind", ["numbers", "holes", "codes"])
def test_children_begin_with_the_rows_of_a_late_split(kind):
    """Every row that the leaf kept is evidence in one of them."""
    X, y = late(30_000, kind=kind)
    tree = a_tree(kind)
    before = 0
    while tree.partial_fit(X[before : before + 1], y[before : before + 1], [0, 1]):
        before += 1
        if tree.get_n_leaves() > 1:
            break
    assert before > LIMIT
    leaves = list(read_leaves(tree).values())
    home = tree.apply(X[:before])
    assert sum(leaf.n_inherited for leaf in leaves) == before
    for leaf in leaves:
        own = home == leaf.node
        assert leaf.handed
        assert leaf.memory == (COUNTED_ROWS if own.sum() >= LIMIT else ROWS)
        plain = [0, 3] if kind == "codes" else range(4)  # others are numbered again
        np.testing.assert_array_equal(leaf.X[:, plain], X[:before][own][:, plain])
        np.testing.assert_array_equal(leaf.held, np.bincount(y[:before][own]))
        np.testing.assert_array_equal(tree.tree_.counts[leaf.node], leaf.held)


def test_children_of_a_leaf_that_dropped_rows_begin_with_the_latest(keep):
    keep(4 * LIMIT)
    X, y = late(30_000)
    tree = a_tree()
    n = 0
    while tree.get_n_leaves() == 1 if n else True:
        tree.partial_fit(X[n : n + 1], y[n : n + 1], [0, 1])
        n += 1
    assert n > LIMIT
    leaves = list(read_leaves(tree).values())
    kept = sum(leaf.n_inherited for leaf in leaves)
    assert LIMIT // 2 <= kept < LIMIT
    for leaf in leaves:
        own = tree.apply(X[n - kept : n]) == leaf.node
        np.testing.assert_array_equal(leaf.X, X[n - kept : n][own])
        np.testing.assert_array_equal(leaf.held, np.bincount(y[n - kept : n][own]))
    counts = tree.tree_.counts[[leaf.node for leaf in leaves]]  # those of all rows
    np.testing.assert_allclose(counts.sum(axis=0), np.bincount(y[:n]))


def test_rows_in_all_are_limited(keep):
    keep(4 * 8_000)
    X, y = late(40_000, seed=1)
    tree = a_tree().partial_fit(X, y, [0, 1])
    leaves = read_leaves(tree).values()
    assert len(leaves) > 3
    assert any(leaf.dropped for leaf in leaves)
    share = 8_000 // len(leaves)
    assert sum(len(leaf.X) for leaf in leaves) < 2 * 8_000
    assert min(len(leaf.X) for leaf in leaves if leaf.dropped) >= min(share, LIMIT) // 2


@pytest.mark.parametrize("kind", ["numbers", "holes", "codes"])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_and_pickles_do_not_matter(keep, kind, weighted):
    keep(4 * 2_000)
    X, y = late(9_000, kind=kind)
    weight = None
    if weighted:
        weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0, 0.3], len(y))
    whole = a_tree(kind).partial_fit(X, y, [0, 1], sample_weight=weight)
    leaves = read_leaves(whole).values()
    assert any(leaf.memory == COUNTED_ROWS for leaf in leaves)
    parts = a_tree(kind)
    for start in range(0, len(y), 700):
        rows = slice(start, start + 700)
        parts.partial_fit(
            X[rows],
            y[rows],
            [0, 1],
            sample_weight=None if weight is None else weight[rows],
        )
        parts = pickle.loads(pickle.dumps(parts))
    assert parts.n_bytes_ == whole.n_bytes_
    assert pickle.dumps(parts._model) == pickle.dumps(whole._model)


@pytest.mark.parametrize(
    "model",
    [
        a_tree(max_bytes=10**7),
        a_tree(leaf_memory="histogram"),
        a_tree(bound=EValueBound(1e-300)),
        ConfidenceForestClassifier(1, bound=NEVER, bootstrap=False),
    ],
    ids=["limited memory", "histogram", "own rows", "forest"],
)
def test_others_forget_rows_that_they_have_counted(model):
    X, y = late(2_000)
    tree = model.partial_fit(X, y, [0, 1])
    tree = getattr(tree, "estimators_", [tree])[0]
    memories = {leaf.memory for leaf in read_leaves(tree).values()}
    assert HISTOGRAM in memories
    assert COUNTED_ROWS not in memories


@pytest.mark.parametrize("kind", ["numbers", "holes", "codes", "many classes"])
@pytest.mark.parametrize("weighted", [False, True])
def test_children_count_inherited_rows(kind, weighted):
    """Class counts of every bin, and the range of every feature, are those of the rows.

    Columns of two values, and of one until late, are counted in another way.
    """
    X, y = late(30_000, seed=2, kind=kind)
    X[:, 3] = X[:, 3] > 0.8
    X = np.column_stack([X, np.zeros(len(X)), np.zeros(len(X))]).astype(np.float32)
    X[LIMIT + 100 :: 300, 5] = np.arange(len(X[LIMIT + 100 :: 300])) % 5 - 2
    K = 2
    if kind == "many classes":
        y, K = y + 2 * (np.arange(len(y)) % 7), 14
    weight = np.random.default_rng(0).choice([1.0, 2.0], len(y)) if weighted else None
    tree = a_tree(kind, max_leaf_nodes=6)
    tree.partial_fit(X, y, range(K), sample_weight=weight)
    leaves = [
        leaf
        for leaf in read_leaves(tree).values()
        if leaf.memory == COUNTED_ROWS and not leaf.dropped
    ]
    assert any(leaf.n_inherited > 0 for leaf in leaves)
    for leaf in leaves:
        w = np.ones(len(leaf.y)) if leaf.weight is None else leaf.weight
        for f in range(X.shape[1]):
            told = ~np.isnan(leaf.X[:, f])
            values, edges = leaf.X[told, f], leaf.bins_of(f)
            place = np.searchsorted(edges, values)
            counts = np.zeros((len(edges), K))
            np.add.at(counts, (place, leaf.y[told]), w[told])
            np.testing.assert_array_equal(leaf.counts_of(f), counts)
            if leaf.kind[f] != NOMINAL:
                assert leaf.low[f] == values.min()
                assert leaf.high[f] == values.max()
            if leaf.fresh_histogram is not None:
                late_ones = np.arange(len(leaf.y))[told] >= leaf.n_inherited
                counts[:] = 0.0
                np.add.at(
                    counts,
                    (place[late_ones], leaf.y[told][late_ones]),
                    w[told][late_ones],
                )
                np.testing.assert_array_equal(leaf.counts_of(f, fresh=True), counts)
