"""What partial_fit promises about splits, counts and weights, whatever the settings.

Active learning relies on splits that stay and on ids that are appended; evidence relies
on weights that are counted once and enter at once.
"""

import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from reference.effort import crossed, examples
from reference.leaf_state import read_leaves
from reference.registries import MEMORIES, STREAM_BOUNDS
from reference.streams import (
    Stream,
    grown,
    learn,
    make_stream,
    problems,
    problems_in_chunks,
    state_of,
)

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound

some = settings(
    max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
)


# --- splits stay ------------------------------------------------------------


@some
@given(problem=problems_in_chunks(min_rows=10))
def test_splits_stay_and_ids_are_appended(problem):
    model, stream, ends = problem
    model = copy.deepcopy(model)
    begin, before = 0, None
    for end in ends:
        tree = learn(model, stream, [end], begin).tree_
        begin = end
        after = {
            name: getattr(tree, name).copy()
            for name in ("feature", "threshold", "children_left", "parent", "depth")
        }
        after["evidence"] = tree.evidence.copy()
        if before is not None:
            n = len(before["parent"])
            split = np.flatnonzero(before["feature"] >= 0)
            assert n <= tree.node_count
            assert (after["feature"][split] >= 0).all()
            for name, values in before.items():
                if name in ("parent", "depth"):
                    np.testing.assert_array_equal(after[name][:n], values)
                else:
                    assert after[name][split].tobytes() == values[split].tobytes()
        # children follow each other, in the order of the splits
        n_splits = np.count_nonzero(after["feature"] >= 0)
        families = np.count_nonzero(np.diff(after["parent"][1:], prepend=-1))
        assert families == n_splits
        before = after


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize(
    "parameters",
    [{"pruning": "pessimistic"}, {"pruning": "c45"}, {"class_weight": "balanced"}],
)
def test_settings_that_need_all_rows_have_no_partial_fit(parameters, memory, fitted):
    stream = make_stream(0, 60)
    model = ConfidenceTreeClassifier(
        bound=None, leaf_memory=memory, criterion="entropy", **parameters
    )
    if fitted:
        model.fit(stream.X, stream.y)
    before = state_of(model)
    for name in ("partial_fit", "partial_fit_predict"):
        with pytest.raises(AttributeError, match=next(iter(parameters))):
            getattr(model, name)
        assert state_of(model) == before


# --- counts -----------------------------------------------------------------


@some
@given(problem=problems_in_chunks(min_rows=10))
def test_leaves_count_every_row_once(problem):
    """Their counts add up to the weight of each class, exactly if it is whole."""
    model, stream, ends = problem
    model = copy.deepcopy(model)
    begin = 0
    used = stream.weights.copy()
    if model.class_weight is not None:
        ignored = [c for c, w in model.class_weight.items() if w == 0.0]
        used[np.isin(stream.y, ignored)] = 0.0
    for end in ends:
        tree = learn(model, stream, [end], begin).tree_
        begin = end
        expected = np.bincount(stream.y[:end], used[:end], stream.n_classes)
        leaves = tree.feature < 0
        together = tree.counts[leaves].sum(axis=0)
        np.testing.assert_allclose(together, expected, rtol=1e-12)
        np.testing.assert_allclose(tree.counts[0], together, rtol=1e-12)
        if model.leaf_memory != "gaussian" and not (used % 1).any():
            np.testing.assert_array_equal(tree.counts[0], expected)
        assert tree.n_node_samples[leaves].sum() == np.count_nonzero(used[:end])
        assert model.n_rows_seen_ == np.count_nonzero(used[:end])
        if model.leaf_memory == "rows" and not (used % 1).any():
            np.testing.assert_array_equal(together, expected)
            if stream.nominal:
                continue  # a category that a node has not met stops there
            reached = np.zeros_like(tree.counts)
            np.add.at(reached, (tree.apply(stream.X[:end]), stream.y[:end]), used[:end])
            np.testing.assert_array_equal(tree.counts[leaves], reached[leaves])


@some
@given(problem=problems(min_rows=10))
def test_leaves_know_what_they_hold(problem):
    """Memory and counts of a leaf agree, and fresh rows are among those held."""
    model, stream = problem
    model = grown(model, stream)
    for node, leaf in read_leaves(model).items():
        counts = model.tree_.counts[node]
        assert leaf.n_held == pytest.approx(leaf.held.sum())
        assert leaf.n_fresh == pytest.approx(leaf.fresh.sum())
        assert (leaf.fresh <= leaf.held * (1 + 1e-9) + 1e-9).all()
        assert (leaf.held <= counts * (1 + 1e-9) + 1e-9).all()
        if model.leaf_memory == "rows":
            np.testing.assert_allclose(leaf.held, counts)
            if stream.nominal is None:
                assert (model.tree_.apply(leaf.X) == node).all()


# --- weights ----------------------------------------------------------------


@some
@given(problem=problems(min_rows=5))
def test_weight_zero_is_absence(problem):
    model, stream = problem
    assume(stream.weight is not None)
    assume(stream.nominal is None)  # the categories of such a row are known from it
    kept = stream.weight > 0
    assume(kept.any())
    without = Stream(
        stream.X[kept],
        stream.y[kept],
        stream.n_classes,
        stream.weight[kept],
        stream.X_pool,
    )
    assert state_of(grown(model, stream)) == state_of(grown(model, without))


@some
@given(problem=problems(min_rows=5))
def test_weight_one_equals_no_weight(problem):
    model, stream = problem
    stream.weight = None
    expected = state_of(grown(model, stream))
    stream.weight = np.ones(len(stream))
    assert state_of(grown(model, stream)) == expected


@pytest.mark.parametrize(("bound", "memory"), crossed([None, *STREAM_BOUNDS], MEMORIES))
def test_a_row_is_atomic(memory, bound):
    """Its weight enters at once, followed by at most one attempt."""
    stream = make_stream(9, 40, kinds=["continuous", "ties"], signal=0.3)
    stream.weight = np.random.default_rng(0).integers(1, 40, 40).astype(float)
    model = ConfidenceTreeClassifier(bound=bound, grace_period=1, leaf_memory=memory)
    after = {}
    for row in range(len(stream)):
        before = after
        leaf = int(model.apply(stream.X[row : row + 1])[0]) if row else 0
        counts = model.tree_.counts[0].copy() if row else np.zeros(2)
        learn(model, stream, [row + 1], row)
        gained = model.tree_.counts[0] - counts
        assert gained.sum() == pytest.approx(stream.weight[row])
        after = read_leaves(model)
        for node, now in after.items():
            attempts = before[node].attempt if node in before else 0
            assert now.attempt - attempts <= (node == leaf or node not in before)
        # the other leaves are as they were
        assert not set(before) - set(after) - {leaf}


# --- fit and partial_fit ----------------------------------------------------


@pytest.mark.filterwarnings("ignore:The tree is a single leaf")
@some
@given(problem=problems(min_rows=10))
def test_fit_starts_afresh(problem):
    model, stream = problem
    assume(stream.weights.any())
    expected = copy.deepcopy(model)
    refitted = grown(model, stream)
    for tree in (expected, refitted):
        tree.fit(stream.X, stream.y, stream.weight, X_pool=stream.X_pool)
    assert pickled_tree(refitted) == pickled_tree(expected)
    assert refitted.n_rows_seen_ == expected.n_rows_seen_
    # and goes on like the other one
    assume(getattr(model.bound, "pool_weight", "pool") != "volume")
    assume(len(expected.classes_) == stream.n_classes)
    for tree in (expected, refitted):
        learn(tree, Stream(stream.X, stream.y, stream.n_classes))
    assert pickled_tree(refitted) == pickled_tree(expected)


@pytest.mark.parametrize("pool", [None, np.array([[5.0, 0.0], [0.0, 9.0]])])
def test_volumes_after_fit(pool):
    """The box of a fitted tree holds the rows it was fitted to."""
    stream = make_stream(5, 400, kinds=["continuous"] * 2, signal=3.0)
    X, X_pool = stream.X[:200], None if pool is None else pool.astype(np.float32)
    model = ConfidenceTreeClassifier(
        bound=CredibleBound(delta=0.1, pool_weight="volume"), leaf_memory="rows"
    ).fit(X, stream.y[:200], X_pool=X_pool)
    assert model.get_n_leaves() > 1
    table = X if pool is None else np.vstack([X, X_pool])
    box = np.column_stack([table.min(axis=0), table.max(axis=0)])

    def volume(limits):
        return np.prod(np.diff(limits) / np.diff(box))

    leaves = read_leaves(model).values()
    assert sum(volume(leaf.box) for leaf in leaves) == pytest.approx(1.0)
    for leaf in leaves:
        assert leaf.volume == pytest.approx(volume(leaf.box))
        assert (leaf.X >= leaf.box[:, 0]).all()
        assert (leaf.X <= leaf.box[:, 1]).all()


def pickled_tree(model):
    return model.tree_.__reduce__()


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("prediction", ["auto", "majority"])
def test_fit_stores_rows_only_on_request(memory, prediction):
    stream = make_stream(1, 3000, kinds=["continuous"] * 4)
    model = ConfidenceTreeClassifier(
        bound="gtest", leaf_memory=memory, leaf_prediction=prediction
    ).fit(stream.X, stream.y)
    if memory == "rows":
        assert model.n_bytes_ >= model.tree_.n_bytes + stream.X.nbytes
    else:
        assert model.n_bytes_ == model.tree_.n_bytes


@pytest.mark.parametrize("memory", MEMORIES)
def test_leaves_predict_by_majority_after_fit(memory):
    """Whether or not they keep their rows."""
    stream = make_stream(4, 500, n_classes=3, kinds=["continuous"] * 2)
    model = ConfidenceTreeClassifier(leaf_memory=memory).fit(stream.X, stream.y)
    np.testing.assert_array_equal(
        model.predict_proba(stream.X), model.tree_.proba[model.apply(stream.X)]
    )
    genuine = model.to_sklearn()
    np.testing.assert_array_equal(genuine.predict(stream.X), model.predict(stream.X))


@pytest.mark.parametrize(("memory", "bound"), crossed(MEMORIES, [None, *STREAM_BOUNDS]))
def test_partial_fit_goes_on_from_the_fitted_leaves(memory, bound):
    stream = make_stream(2, 900, n_classes=3, kinds=["continuous", "ties"], signal=1.5)
    stream.y[:3] = [0, 1, 2]  # fit meets every class
    model = ConfidenceTreeClassifier(
        bound=bound, leaf_memory=memory, grace_period=60, pruning=None, max_depth=3
    ).fit(stream.X[:300], stream.y[:300])
    fitted = model.tree_.counts.copy()
    n_nodes = model.tree_.node_count
    leaves = np.flatnonzero(model.tree_.feature < 0)
    first = model.apply(stream.X[300:320])
    learn(model, stream, [320], 300)
    assert model.n_rows_seen_ == 320
    assert model.tree_.node_count == n_nodes
    added = np.zeros_like(fitted)
    np.add.at(added, (first, stream.y[300:320]), 1.0)
    np.testing.assert_array_equal(model.tree_.counts[leaves], (fitted + added)[leaves])
    np.testing.assert_array_equal(
        model.tree_.counts[0], np.bincount(stream.y[:320], minlength=3)
    )
    learn(model, stream, [900], 320)
    np.testing.assert_allclose(
        model.tree_.counts[0], np.bincount(stream.y, minlength=3), rtol=1e-12
    )
    assert (model.tree_.feature[:n_nodes][fitted_splits(fitted, leaves)] >= 0).all()


def fitted_splits(fitted, leaves):
    return np.setdiff1d(np.arange(len(fitted)), leaves)


def test_rows_of_fit_are_held_but_no_fresh_evidence():
    """A bound that counts every row splits on them, a race does not."""
    stream = make_stream(3, 200, kinds=["continuous"], signal=4.0)
    for bound, splits in ((CredibleBound(delta=0.1), True), ("gtest", False)):
        model = ConfidenceTreeClassifier(
            bound=bound, leaf_memory="rows", grace_period=2, max_leaf_nodes=None
        )
        model.set_params(min_samples_split=10_000).fit(stream.X, stream.y)
        assert model.get_n_leaves() == 1
        leaf = read_leaves(model)[0]
        assert leaf.n_held == 200
        assert leaf.n_fresh == 0
        model = ConfidenceTreeClassifier(
            bound=bound, leaf_memory="rows", grace_period=2, min_samples_leaf=90
        ).fit(stream.X[:100], stream.y[:100])
        learn(model, stream, [104], 100)
        assert (model.get_n_leaves() > 1) is False
        learn(model, stream, [200], 104)
        assert (model.get_n_leaves() > 1) is splits
