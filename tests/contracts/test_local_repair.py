"""With ``drift="local"`` no more than the part of a tree that broke is replaced.

What is promised of growth holds for the trees that grow beside it as well: chunks and
copies do not matter, ids stay, limits are kept, states are not believed. And where no
drift is, or another tree would be no better, next to nothing is replaced.
"""

import copy
import pickle

import numpy as np
import pytest
from reference.effort import NIGHT, crossed, examples
from reference.leaf_state import COUNTED_ROWS, read_leaves
from reference.registries import MEMORIES
from scipy.sparse import csr_matrix

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.drift import LocalRepair
from skconftree.tree import _parameters, export_text, node_table

CLASSES = [0, 1]
CHANGE, ROWS = 1500, 2600
REMOVED = -2


def turned(seed, *, everywhere=True, missing=False):
    """Rows whose rule becomes another one, everywhere or where a column is high."""
    rng = np.random.default_rng(seed)
    X = rng.random((ROWS, 4)).astype(np.float32)
    X[:, 3] = rng.integers(0, 9, ROWS)
    a, b, c = X[:, :3].T
    y = np.where(a > 0.5, b > 0.15, c > 0.85)
    late = np.arange(ROWS) >= CHANGE
    changed = late & (everywhere | (a > 0.5))
    y = np.where(changed, (c > 0.5) ^ (b > 0.9), y).astype(int)
    y = np.where(rng.random(ROWS) < 0.03, 1 - y, y)
    X[late, 3] += 9  # categories that nobody has met
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def models():
    for memory in MEMORIES:
        yield {"leaf_memory": memory}
        yield {"leaf_memory": memory, "leaf_prediction": "majority"}
    yield {"categorical_features": [3]}
    yield {"categorical_features": [3], "nominal_splits": "multiway"}
    for bound in ("evalue", "credible", "hoeffding", None):
        yield {"bound": bound}
    yield {"max_features": 3, "random_state": 0}
    yield {"max_depth": 3}
    yield {"max_leaf_nodes": 6}
    yield {"max_bytes": 2**17}
    yield {"class_weight": {0: 2.0, 1: 0.5}}


def make(options):
    return ConfidenceTreeClassifier(
        **{"drift": "local", "grace_period": 20, "bound": "gtest"} | options
    )


def pieces_of(model, X, y, size, weight=None):
    model = copy.deepcopy(model)
    for i in range(0, len(y), size):
        part = slice(i, i + size)
        w = None if weight is None else weight[part]
        model.partial_fit(X[part], y[part], CLASSES, sample_weight=w)
        model = pickle.loads(pickle.dumps(model))
    return model


def is_dead(tree):
    return tree.parent == REMOVED


@pytest.mark.parametrize(
    ("options", "missing"), crossed(models(), [False, True]), ids=str
)
def test_chunks_and_copies(options, missing):
    X, y = turned(1, missing=missing)
    whole = make(options).partial_fit(X, y, CLASSES)
    assert whole.n_drifts_ > 0
    expected = pickle.dumps(whole)
    for size in (190, 500) if NIGHT else (190,):
        assert pickle.dumps(pieces_of(make(options), X, y, size)) == expected


@pytest.mark.parametrize("seed", [0, 2])
def test_stored_rows_are_shared_again_after_a_repair(monkeypatch, seed):
    """What a leaf may keep follows from the leaves there are, as after a pickle."""
    monkeypatch.setattr(_parameters, "AUTO_STORED_VALUES", 4 * 2000)
    rng = np.random.default_rng(seed)
    X = rng.random((8000, 4), dtype=np.float32)
    a, b, c = X[:, :3].T
    late = np.arange(len(X)) >= 2000
    y = np.where(late, c > 0.5, (a > 0.7) | (b > 0.7) | (c > 0.8)).astype(int)
    y = np.where(rng.random(len(X)) < 0.3, 1 - y, y)
    model = ConfidenceTreeClassifier("gtest", drift="local")
    whole = copy.deepcopy(model).partial_fit(X, y, CLASSES)
    assert whole.n_drifts_ > 0
    leaves = read_leaves(whole).values()
    assert any(leaf.memory == COUNTED_ROWS and leaf.dropped for leaf in leaves)
    for size in (500, 1300):
        assert pickle.dumps(pieces_of(model, X, y, size)) == pickle.dumps(whole)


def test_weights_and_sparse_rows():
    X, y = turned(2)
    weight = np.random.default_rng(0).integers(0, 4, ROWS).astype(float)
    whole = make({}).partial_fit(X, y, CLASSES, sample_weight=weight)
    assert whole.n_drifts_ > 0
    parts = pieces_of(make({}), csr_matrix(X), y, 300, weight)
    assert pickle.dumps(parts) == pickle.dumps(whole)


def test_predictions_are_made_before_training():
    X, y = turned(3)
    model, other = make({}), make({})
    guess = model.partial_fit_predict(X, y, CLASSES)
    one_by_one = [
        other.partial_fit_predict(X[i : i + 1], y[i : i + 1], CLASSES)[0]
        for i in range(ROWS)
    ]
    np.testing.assert_array_equal(guess, one_by_one)
    # what was right in 19 of 20 rows is so soon again
    assert np.mean(guess[CHANGE - 500 : CHANGE] == y[CHANGE - 500 : CHANGE]) > 0.9
    assert np.mean(guess[-500:] == y[-500:]) > 0.9
    still = make({"drift": None}).partial_fit_predict(X, y, CLASSES)
    assert np.mean(guess[CHANGE:] == y[CHANGE:]) > np.mean(still[CHANGE:] == y[CHANGE:])


@pytest.mark.parametrize("options", list(models()), ids=str)
def test_a_dead_row_is_no_node(options):
    X, y = turned(4)
    model = make(options).partial_fit(X, y, CLASSES)
    tree = model.tree_
    dead = is_dead(tree)
    assert model.n_drifts_ > 0
    assert np.count_nonzero(dead) == tree.n_removed
    assert tree.n_removed > 0 or options == {
        "bound": "hoeffding"
    }  # a leaf was replaced
    assert (tree.children_left[dead] == -1).all()
    assert (tree.feature[dead] == -2).all()
    assert not tree.counts[dead].any()
    # all others hang together, and rows come to leaves among them
    nodes = np.flatnonzero(~dead)
    below = [child for node in nodes for child in tree.children(node)]
    assert sorted(below) == nodes[1:].tolist()
    assert [tree.parent[child] for child in below] == [
        node for node in nodes for _ in tree.children(node)
    ]
    leaves = ~dead & (tree.n_children == 0)
    assert model.get_n_leaves() == np.count_nonzero(leaves)
    assert tree.max_depth == tree.depth[nodes].max() == model.get_depth()
    assert (is_dead(tree)[model.apply(X)] == 0).all()
    np.testing.assert_allclose(tree.counts[0], tree.counts[leaves].sum(axis=0))
    path = model.decision_path(X).toarray()
    assert not path[:, dead].any()
    assert path[:, 0].all()
    assert [row.node for row in node_table(model)] == nodes.tolist()
    assert len(export_text(model).splitlines()) > 1
    importances = model.feature_importances_
    assert np.isclose(importances.sum(), 1.0)
    assert (importances >= 0.0).all()
    if options.get("leaf_prediction") == "majority":
        other = model.to_sklearn()
        assert other.tree_.node_count == len(nodes)
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_limits_of_a_tree_are_those_of_its_parts():
    X, y = turned(5)
    shallow = make({"max_depth": 3}).partial_fit(X, y, CLASSES)
    few = make({"max_leaf_nodes": 6}).partial_fit(X, y, CLASSES)
    assert shallow.n_drifts_
    assert few.n_drifts_
    assert shallow.get_depth() <= 3
    assert few.get_n_leaves() <= 6


def test_what_did_not_break_stays():
    """A part is replaced: other nodes keep ids, tests and rows."""
    X, y = turned(6, everywhere=False)
    model = make({"grace_period": 100})
    model.partial_fit(X[:CHANGE], y[:CHANGE], CLASSES)
    before = model.tree_
    threshold, feature = before.threshold, before.feature
    children = before.children_left
    assert feature[0] == 0
    assert abs(threshold[0] - 0.5) < 0.02
    model.partial_fit(X[CHANGE:], y[CHANGE:])
    drifts = model.drifts_
    assert drifts
    assert len(drifts) == model.n_drifts_
    assert all(one.detector == "local" and one.node > 0 for one in drifts)
    assert all(CHANGE < one.row < ROWS for one in drifts)
    tree, left = model.tree_, children[0]
    assert tree.feature[0] == 0
    assert tree.threshold[0] == threshold[0]
    waiting = [left]  # of the half that stays
    while waiting:
        node = waiting.pop()
        assert tree.parent[node] != REMOVED
        if children[node] >= 0:
            assert tree.feature[node] == feature[node]
            assert tree.threshold[node] == threshold[node]
            assert tree.children_left[node] == children[node]
            waiting += before.children(node).tolist()


def test_row_index_follows():
    X, y = turned(7)
    model = make({})
    model.partial_fit(X[:200], y[:200], CLASSES)
    index = model.index_rows(X[:400])
    for i in range(200, ROWS, 50):
        model.partial_fit(X[i : i + 50], y[i : i + 50])
        np.testing.assert_array_equal(index.apply(), model.apply(X[:400]))
        assert index.counts().sum() == 400 or index.counts()[0] == 400
    assert model.n_drifts_


def test_forests():
    """Each tree repairs itself; rows are those of the forest."""
    X, y = turned(8)
    model = ConfidenceForestClassifier(
        4, drift="local", max_features=2, grace_period=20, random_state=0
    )
    whole = copy.deepcopy(model).partial_fit(X, y, CLASSES)
    parts = pieces_of(model, X, y, 333)
    assert pickle.dumps(parts) == pickle.dumps(whole)
    threads = copy.deepcopy(model).set_params(n_jobs=2).partial_fit(X, y, CLASSES)
    assert threads.drifts_ == whole.drifts_
    rows = [one.row for one in whole.drifts_]
    assert rows == sorted(rows)
    assert CHANGE < rows[0]
    assert rows[-1] <= ROWS
    assert {one.tree for one in whole.drifts_} <= set(range(4))
    assert whole.n_drifts_ == len(rows) > 0
    assert (whole.predict(X[-300:]) == y[-300:]).mean() > 0.9


@pytest.mark.parametrize("drift", ["ddm", "local"])
def test_drifts_are_reported(drift):
    X, y = turned(1)
    model = make({"drift": drift})
    assert not hasattr(model, "drifts_")
    model.partial_fit(X[:CHANGE], y[:CHANGE], CLASSES)
    before = len(model.drifts_)
    assert before == model.n_drifts_
    model.partial_fit(X[CHANGE:], y[CHANGE:])
    found = model.drifts_[before:]
    assert found
    assert all(one.detector == drift for one in found)
    assert all(CHANGE < one.row <= ROWS for one in found)
    again = pickle.loads(pickle.dumps(model))
    assert again.drifts_ == model.drifts_


def test_rows_before_are_those_of_fit():
    X, y = turned(10)
    model = make({}).fit(X[:1000], y[:1000])
    assert model.drifts_ == []
    model.partial_fit(X[1000:], y[1000:])
    assert model.drifts_
    assert min(one.row for one in model.drifts_) > CHANGE
    assert is_dead(model.tree_).any()


def test_a_fitted_tree_has_watched_no_row_yet():
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    tree = ConfidenceTreeClassifier(drift="local", leaf_memory="rows").fit(X, y)
    other = pickle.loads(pickle.dumps(tree))
    assert pickle.dumps(tree.partial_fit(X, y)) == pickle.dumps(other.partial_fit(X, y))


def test_rows_without_label_are_refused():
    X, y = turned(11)
    model = make({"bound": "credible"})
    with pytest.raises(ValueError, match="drift='local' does not support"):
        model.partial_fit(X, y, CLASSES, X_pool=X[:50])
    assert not hasattr(model, "tree_")


def state_of_one_challenger():
    """A grower, as it is written, beside a part of which another tree grows."""
    X, y = turned(12)
    model = make({})
    model.partial_fit(X[:CHANGE], y[:CHANGE], CLASSES)
    for i in range(CHANGE, ROWS):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        make_grower, (tree, recipe, state) = model._model.grower.__reduce__()
        if state[-5]:
            return make_grower, tree, recipe, state
    raise AssertionError("no tree has grown beside")


def test_damaged_states():
    make_grower, tree, recipe, state = state_of_one_challenger()
    make_grower(copy.deepcopy(tree), recipe, state)
    watches, beside = state[-6], state[-5]
    first = beside[0]
    nodes, seen = watches
    damage = [
        (-6, None),
        (-6, (nodes[:-1], seen)),
        (-6, (nodes, seen[:-8])),
        (-6, (b"\xff" * len(nodes), seen)),
        (-5, ()),
        (-5, (first, first)),
        (-5, ((tree.node_count, *first[1:]),)),
        (-5, ((first[0], 8, *first[2:]),)),
        (-5, ((*first[:2], -1, *first[3:]),)),
        (-5, (first[:-1],)),
        (-3, 0),
    ]
    for place, other in damage:
        end = state[place + 1 :] if place < -1 else ()
        with pytest.raises(ValueError, match=r"state of this .* is corrupt"):
            make_grower(copy.deepcopy(tree), recipe, (*state[:place], other, *end))


def coins(seed, n, n_classes=2):
    """Labels that say nothing."""
    rng = np.random.default_rng(seed)
    return rng.random((n, 3)), rng.integers(0, n_classes, n)


def one_cut(seed, n, noise=0.2):
    """Labels that one cut explains, but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, ((X[:, 0] > 0.5) ^ (rng.random(n) < noise)).astype(int)


@pytest.mark.parametrize("make_rows", [coins, one_cut])
@pytest.mark.slow
def test_false_replacements(make_rows):
    """At most .05 of the nodes are ever replaced where nothing changes."""
    n_found = n_nodes = 0
    for seed in range(examples(40, 10)):
        X, y = make_rows(seed, 10_000)
        model = ConfidenceTreeClassifier(drift="local").partial_fit(X, y, CLASSES)
        n_found += model.n_drifts_
        n_nodes += model.tree_.node_count
    assert n_found <= 0.05 * n_nodes


def test_splits_are_confirmed_by_rows_that_came_later():
    X, y = one_cut(0, 2000, noise=0.05)
    tree = make({"grace_period": 100}).partial_fit(X, y, CLASSES)
    root = node_table(tree)[0]
    assert root.confirmed
    assert root.evidence.since > np.log(20)
    assert "confirmed so far" in root.evidence_text
    assert "confirmed so far" in export_text(tree)
    legend = export_text(tree).splitlines()[-1]
    assert "confirmed so far: rows that came" in legend
    assert legend.endswith("(p <= 0.05 at any time)")
    still = make({"drift": None}).partial_fit(X, y, CLASSES)
    assert "since" not in node_table(still)[0].evidence
    assert not any(row.confirmed for row in node_table(tree) if not row.n_children)


def test_splits_in_noise_are_not_confirmed():
    """One in twenty at most, though all of them were made by chance."""
    n_splits = n_confirmed = 0
    for seed in range(20):
        X, y = coins(seed, 3000)
        tree = make({"bound": None, "max_leaf_nodes": 20}).partial_fit(X, y, CLASSES)
        rows = [row for row in node_table(tree) if row.n_children]
        n_splits += len(rows)
        n_confirmed += sum(row.confirmed for row in rows)
    assert n_splits > 100
    assert n_confirmed <= 0.05 * n_splits


def test_delta_is_set_by_an_object():
    X, y = turned(0)
    named, made, surer = (
        ConfidenceTreeClassifier(drift=drift, grace_period=20).partial_fit(
            X, y, CLASSES
        )
        for drift in ("local", LocalRepair(), LocalRepair(1e-12))
    )
    assert pickle.dumps(made._model) == pickle.dumps(named._model)
    assert named.drifts_
    assert {drift.detector for drift in surer.drifts_} <= {"local"}
    rows = [drift.row for drift in named.drifts_ if drift.row > CHANGE]
    later = [drift.row for drift in surer.drifts_ if drift.row > CHANGE]
    assert not later or min(rows) < min(later)


@pytest.mark.parametrize("delta", [0.0, 1.0, "much"])
def test_a_delta_that_is_none_is_refused(delta):
    X, y = turned(0)
    tree = ConfidenceTreeClassifier(drift=LocalRepair(delta))
    with pytest.raises((TypeError, ValueError), match="delta"):
        tree.partial_fit(X[:50], y[:50], CLASSES)
    assert not hasattr(tree, "classes_")
