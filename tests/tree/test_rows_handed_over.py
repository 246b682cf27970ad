"""Children start with rows of their parent, and tests count them as evidence.

A leaf that turned into a histogram keeps its latest rows for its children. Were those
rows the wrong ones, or forgotten, trees would only be a little worse.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from reference.leaf_state import HISTOGRAM, ROWS, read_leaves
from reference.streams import KINDS, grown, learn, make_stream, streams
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.datasets import make_random_tree_stream
from skconftree.tree import _online

LIMIT = 24


@pytest.fixture
def early(monkeypatch):
    """Leaves turn into histograms at `LIMIT` rows."""
    monkeypatch.setattr(_online, "AUTO_ROWS", (LIMIT, LIMIT))


def latest(rows):
    """What a leaf keeps of its rows, given in the order of their arrival."""
    if len(rows) < LIMIT:
        return rows
    half = LIMIT // 2
    return rows[len(rows) - half - (len(rows) - LIMIT) % half :]


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(stream=streams(max_rows=120, pool=False))
def test_a_histogram_keeps_its_latest_rows(early, stream):
    model = ConfidenceTreeClassifier(bound="gtest", grace_period=1e12)
    learn(model, stream)
    leaf = read_leaves(model)[0]
    rows = np.flatnonzero(stream.weights)
    assert leaf.memory == (ROWS if len(rows) < LIMIT else HISTOGRAM)
    kept = latest(rows)
    np.testing.assert_array_equal(leaf.X, stream.X[kept])
    np.testing.assert_array_equal(leaf.y, stream.y[kept])
    if stream.weight is not None and leaf.weight is not None:
        np.testing.assert_array_equal(leaf.weight, stream.weight[kept])
    expected = np.bincount(stream.y, stream.weights, stream.n_classes)
    np.testing.assert_allclose(leaf.held, expected)


@pytest.mark.parametrize("bound", ["gtest", "possibilistic", None])
@pytest.mark.parametrize("kinds", [["continuous", "skewed"], KINDS])
@pytest.mark.parametrize("weight", [None, "quarters"])
def test_children_start_with_them(early, bound, kinds, weight):
    """And with nothing else: their class counts are those of the rows."""
    n_checked = 0
    for seed in range(3):
        stream = make_stream(seed, 400, 3, kinds=kinds, signal=1.5, weight=weight)
        model = ConfidenceTreeClassifier(bound=bound, grace_period=10)
        for row in range(len(stream)):
            n_nodes = model.tree_.node_count if row else 1
            learn(model, stream, [row + 1], row)
            if model.tree_.node_count != n_nodes + 2:
                continue
            node = int(model.tree_.parent[n_nodes])
            parent = read_leaves(grown(clone(model), stream, [row]))[node]
            if parent.memory != HISTOGRAM:
                continue
            X = np.vstack([parent.X, stream.X[row]])
            y = np.append(parent.y, stream.y[row])
            first = 0 if len(y) < LIMIT else LIMIT // 2
            X, y = X[first:], y[first:]
            right = X[:, model.tree_.feature[node]] > model.tree_.threshold[node]
            leaves = read_leaves(model)
            for side, inside in enumerate((~right, right)):
                child = leaves[n_nodes + side]
                assert child.memory == ROWS
                assert child.n_fresh == 0.0
                assert child.n_inherited == inside.sum()
                np.testing.assert_array_equal(child.X, X[inside])
                np.testing.assert_array_equal(child.y, y[inside])
                w = np.ones(len(child.y)) if child.weight is None else child.weight
                np.testing.assert_allclose(
                    child.held, np.bincount(child.y, w, stream.n_classes)
                )
                n_checked += 1
    assert n_checked >= 10


@pytest.mark.parametrize("bound", ["hoeffding", "derosa", "evalue"])
def test_where_a_promise_needs_new_rows_nothing_is_handed_over(early, bound):
    """The histogram of a race or of evidence keeps no rows."""
    stream = make_stream(0, 200)
    model = ConfidenceTreeClassifier(bound=bound, grace_period=1e12)
    leaf = read_leaves(learn(model, stream))[0]
    assert leaf.memory == HISTOGRAM
    assert len(leaf.y) == 0


def test_noise_below_a_true_split_is_left_alone():
    """Rows that chose a split are looked at again below it: that finds no more.

    One cut separates the class probabilities. Three leaves, among them those that cut
    makes, may each meet less than 2 delta false cuts.
    """
    delta, n_streams = 0.2, 60
    false_cuts = 0
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        X = rng.random((2500, 6))
        X[:, 1] = X[:, 0] + 0.3 * rng.random(2500)
        y = rng.random(2500) < np.where(X[:, 0] > 0.5, 0.85, 0.15)
        tree = ConfidenceTreeClassifier(bound="gtest", delta=delta)
        tree.partial_fit(X, y, classes=[False, True])
        assert tree.get_n_leaves() > 1
        false_cuts += tree.get_n_leaves() - 2
    assert false_cuts <= 3 * 2 * delta * n_streams


def test_noisy_deep_concepts_need_them():
    """Without a hint at the root, evidence from new rows alone comes too late."""
    X, y = make_random_tree_stream(
        60_000, n_features=10, n_leaves=60, p_left=0.9, p_right=0.1, random_state=5
    )
    X, y, X_new, y_new = X[:50_000], y[:50_000], X[50_000:], y[50_000:]
    scores = {
        memory: ConfidenceTreeClassifier(leaf_memory=memory)
        .partial_fit(X, y, classes=[0, 1])
        .score(X_new, y_new)
        for memory in ("auto", "histogram")
    }
    assert scores["auto"] > scores["histogram"] + 0.02
