"""The nodes of a tree: structure, counts, evidence and state, whatever the tests."""

import copy
import pickle
import threading

import numpy as np
import pytest
from reference.node_tables import node_table_of
from reference.streams import grown, make_stream
from skconftree.tree.nodes._node_table import NodeTable, proportions

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import node_table
from skconftree.tree.nodes._derived import NO_COMPETITOR, NO_STOP, NONE
from skconftree.tree.nodes._state import (
    BRANCHING_DTYPE,
    BY_CHANCE_DTYPE,
    COSTS_DTYPE,
    NODE_ARRAYS,
    NODE_DTYPE,
    SPLIT_ARRAYS,
)

STREAM = make_stream(3, 900, 3, kinds=["continuous", "ties", "one_hot"], signal=1.5)


def make_model(**settings):
    settings = {"bound": "gtest", "delta": 0.5, "grace_period": 20} | settings
    return ConfidenceTreeClassifier(**settings)


# -- class proportions -------------------------------------------------------------


@pytest.mark.parametrize("root", [0.0, 1.0])
def test_a_node_without_rows_has_the_proportions_of_its_nearest_ancestor(root):
    rng = np.random.default_rng(0)
    n, class_weight = 200, np.array([1.0, 2.5, 0.0])
    parent = np.array([-1, *(rng.integers(i) for i in range(1, n))], dtype=np.int32)
    counts = rng.integers(4, size=(n, 3)) * (rng.random((n, 1)) < 0.5)
    counts = counts.astype(float)
    counts[0] = root
    found = proportions(counts, class_weight, parent)
    for node in range(n):
        source = node
        while source >= 0 and not (counts[source] * class_weight).any():
            source = parent[source]
        share = counts[source] * class_weight if source >= 0 else np.ones(3)
        np.testing.assert_array_equal(found[node], share / share.sum())
    # summed in the order of the classes
    many = rng.random((n, 40))
    found = proportions(many, np.ones(40), parent)
    total = np.add.accumulate(many, axis=1)[:, -1:]
    np.testing.assert_array_equal(found, many / total)


# -- bytes -------------------------------------------------------------------------

FIT = STREAM.X, STREAM.y
OF_A_NODE = 4 * 4 + 8 + 8 + 8 * 3 + NODE_DTYPE.itemsize + BRANCHING_DTYPE.itemsize
OF_A_SPLIT = NONE.nbytes
WITHOUT_A_BOUND = BY_CHANCE_DTYPE.itemsize
OF_A_LOOK = COSTS_DTYPE.itemsize
OF_COMPETITORS = 3 * NO_COMPETITOR.nbytes
OF_A_STOP = NO_STOP.nbytes


@pytest.mark.parametrize("how", ["fit", "stream", "pruned", "pickled"])
def test_bytes_are_those_of_the_arrays(how):
    """A leaf has no evidence, and a tree that is finished no room to spare."""
    model = make_model()
    model = grown(model, STREAM, [900]) if how == "stream" else model.fit(*FIT)
    tree = model.tree_
    if how == "pruned":
        tree = tree._pruned(np.arange(tree.node_count) == tree.children_left[0])
    elif how == "pickled":
        tree = pickle.loads(pickle.dumps(tree))
    n_splits = tree.node_count - tree.n_leaves
    assert n_splits >= 2
    of_a_node, of_a_split = OF_A_NODE, OF_A_SPLIT
    if how != "stream":
        of_a_node += OF_A_STOP
        of_a_split += OF_A_LOOK + OF_COMPETITORS
    assert tree.n_bytes == tree.node_count * of_a_node + n_splits * of_a_split
    state = dict(zip(NODE_ARRAYS, tree.__getstate__()[1:], strict=False))
    assert len(state["evidence"]) == n_splits * OF_A_SPLIT
    if how != "stream":
        shown = tree.counts
        while isinstance(shown.base, np.ndarray):
            shown = shown.base
        assert shown.nbytes == tree.counts.nbytes


GROWN_WITHOUT_A_BOUND = {
    "fit": lambda model: model.fit(*FIT),
    "stream": lambda model: grown(model, STREAM, [900]),
    "go on": lambda model: grown(model.fit(*FIT), STREAM, [900]),
    "drift": lambda model: grown(model.set_params(drift="ddm"), STREAM, [900]),
    "forest": lambda model: (
        ConfidenceForestClassifier(3, bound=None).fit(*FIT).estimators_[1]
    ),
}


@pytest.mark.parametrize("how", GROWN_WITHOUT_A_BOUND)
def test_no_evidence_without_a_bound(how):
    """Of a bound: what is expected by chance is there in any case."""
    plain = make_model(bound=None, delta=None, max_depth=4)
    model = GROWN_WITHOUT_A_BOUND[how](plain)
    tree = model.tree_
    inner = tree.n_children > 0
    assert inner.sum() >= 3
    of_a_node = OF_A_NODE + (OF_A_STOP if tree.keeps_stops else 0)
    assert tree.keeps_stops == (how in ("fit", "go on"))
    assert tree.n_bytes == tree.node_count * of_a_node + inner.sum() * WITHOUT_A_BOUND
    said = tree.evidence
    assert np.all(said["n_candidates"][inner] >= 1)
    for name in {*said.dtype.names} - {*BY_CHANCE_DTYPE.names, "runner_up_feature"}:
        assert np.isnan(said[name]).all()
    assert np.all(said["runner_up_feature"] == NONE["runner_up_feature"])
    for name in BY_CHANCE_DTYPE.names:
        assert np.isfinite(said[name][inner]).all()
        assert np.isnan(said[name][~inner]).all()
    for row in node_table(model):
        if row.branches:
            known = {*row.evidence.applying()}
            assert known == {"level", "expected_by_chance", *BY_CHANCE_DTYPE.names}
        else:
            assert row.evidence is None
    pruned = tree._pruned(tree.depth == 1)
    assert pruned.evidence[0].tobytes() == said[0].tobytes()
    assert pickle.dumps(pickle.loads(pickle.dumps(tree))) == pickle.dumps(tree)


def test_evidence_that_a_tree_cannot_have():
    tree = make_model(bound=None, delta=None).fit(*FIT).tree_
    kind, (n, K, weight, keeps, shrinkage, *others), state = tree.__reduce__()
    size = n, K
    assert not keeps
    n_splits = tree.node_count - tree.n_leaves
    place = 1 + NODE_ARRAYS.index("evidence")
    assert len(state[place]) == n_splits * WITHOUT_A_BOUND
    more = np.full(n_splits, NONE).tobytes()
    for keeps, data in (
        (False, more),
        (False, b""),
        (False, state[place][:-8]),
        (True, state[place]),
        (True, b""),
    ):
        changed = (*state[:place], data, *state[place + 1 :])
        with pytest.raises(ValueError, match="'evidence'"):
            kind(*size, weight, keeps, shrinkage, *others).__setstate__(changed)
    claims = kind(*size, weight, True, shrinkage, *others)
    claims.__setstate__((*state[:place], more, *state[place + 1 :]))
    for bound, other in ((None, claims), ("gtest", tree)):
        model = make_model(bound=bound, delta=None).fit(*FIT)
        model._model._tree = other
        with pytest.raises(ValueError, match="bound_"):
            pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("how", ["fit", "multiway", "stream"])
def test_tests_of_a_pruned_tree_are_those_of_the_tree(how):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 12, (900, 2)), rng.normal(size=(900, 2))])
    X[rng.random(900) < 0.2, 2] = np.nan
    y = (X[:, 0] * 7 % 12 + X[:, 1] * 5 % 12 + 6 * (X[:, 3] > 0) > 13).astype(int)
    model = make_model(
        bound="chi2", delta=0.1, pruning=None, categorical_features=[0, 1]
    )
    if how == "stream":
        model.set_params(pruning="auto").partial_fit(X, y, classes=[0, 1])
    else:
        splits = "binary" if how == "fit" else "multiway"
        model.set_params(nominal_splits=splits).fit(X, y)
    tree = model.tree_
    inner = np.flatnonzero(tree.n_children)
    cut = np.isin(np.arange(tree.node_count), inner[2::3])
    pruned = tree._pruned(cut)
    kept = [0]
    for node in range(1, tree.node_count):
        if tree.parent[node] in kept and not cut[tree.parent[node]]:
            kept.append(node)
    assert tree.is_nominal[kept].sum() >= 2
    assert 5 < pruned.node_count == len(kept) < tree.node_count
    np.testing.assert_array_equal(pruned.counts, tree.counts[kept])
    # a row ends where it has come through the tree when it reaches what is cut
    X[:50, 0] = 40  # no test knows it
    rows = X.astype(np.float32)
    passed = tree.path(tree.apply(rows)).toarray()[:, kept]
    last = len(kept) - 1 - passed[:, ::-1].argmax(axis=1)
    np.testing.assert_array_equal(pruned.apply(rows), last)
    assert pickle.dumps(pruned) == pickle.dumps(copy.copy(tree)._pruned(cut))
    assert pickle.dumps(pickle.loads(pickle.dumps(pruned))) == pickle.dumps(pruned)


@pytest.mark.parametrize("damage", [-3, 3, 2**30])
def test_damaged_competitors(damage):
    tree = make_model().fit(*FIT).tree_
    kind, arguments, state = tree.__reduce__()
    place = 1 + tree_arrays(tree).index("competitors")
    competitors = np.frombuffer(state[place], NO_COMPETITOR.dtype).copy()
    competitors["feature"][1] = damage
    for data in (
        competitors.tobytes(),
        competitors[:-1].tobytes(),
        competitors[:-3].tobytes(),
        b"",
    ):
        changed = (*state[:place], data, *state[place + 1 :])
        with pytest.raises(ValueError, match="'competitors'"):
            kind(*arguments).__setstate__(changed)


@pytest.mark.parametrize(("field", "damage"), [("feature", 3), ("reason", 14)])
def test_damaged_stops(field, damage):
    tree = make_model().fit(*FIT).tree_
    kind, arguments, state = tree.__reduce__()
    place = 1 + tree_arrays(tree).index("stops")
    stops = np.frombuffer(state[place], NO_STOP.dtype).copy()
    shorter = stops[:-1].tobytes()
    stops[field][1] = damage
    for data in (stops.tobytes(), shorter):
        changed = (*state[:place], data, *state[place + 1 :])
        with pytest.raises(ValueError, match="'stops'"):
            kind(*arguments).__setstate__(changed)


def tree_arrays(tree):
    kept = ("costs", "competitors", "stops")
    kept = [name for name in kept if getattr(tree, f"keeps_{name}")]
    return [*NODE_ARRAYS, *kept, *SPLIT_ARRAYS]


# -- looks -------------------------------------------------------------------------

NAMES = [
    name
    for name in dir(make_model().fit(*FIT).tree_)
    if not name.startswith("_")
    and isinstance(getattr(make_model().fit(*FIT).tree_, name, None), np.ndarray)
]


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "feature"])
def test_an_array_is_built_once(name, how):
    model = make_model()
    model = grown(model, STREAM, [900]) if how == "stream" else model.fit(*FIT)
    assert getattr(model.tree_, name) is getattr(model.tree_, name)


@pytest.mark.parametrize("n_classes", [2, 3, 9, 40])
def test_few_rows_get_the_results_of_all(n_classes):
    """Without a look at all nodes: leaves alone are asked. Bit for bit."""
    stream = make_stream(5, 2500, n_classes, kinds=["continuous"] * 3, signal=3.0)
    rng = np.random.default_rng(0)
    weight = rng.random(len(stream.y))
    model = make_model(
        leaf_prediction="majority",
        class_weight=dict(enumerate(rng.random(n_classes) + 0.5)),
    )
    for begin in range(0, 2500, 50):
        part = slice(begin, begin + 50)
        model.partial_fit(stream.X[part], stream.y[part], stream.classes, weight[part])
        rows = stream.X[rng.integers(0, 2500, min(5, model.tree_.node_count))]
        few, best = model.predict_proba(rows), model.predict(rows)
        copied = copy.deepcopy(model)
        assert copied.tree_.proba is copied.tree_.proba  # it has been looked at
        np.testing.assert_array_equal(few, copied.predict_proba(rows))
        np.testing.assert_array_equal(best, copied.predict(rows))
    assert model.tree_.node_count > 10


def test_empty_leaves_say_what_is_above():
    root = NodeTable(1, 2)
    root._add_root()
    np.testing.assert_array_equal(root.proba, [[0.5, 0.5]])
    counts = np.zeros((8, 2))
    counts[1], counts[7] = [3, 1], [0, 2]
    tree = node_table_of([-1, 0, 0, 2, 2, 2, 5, 5], counts)
    half, left, right = [0.5, 0.5], [0.75, 0.25], [0.0, 1.0]
    np.testing.assert_array_equal(
        tree.proba, [half, left, half, half, half, half, half, right]
    )


def test_concurrent_reads():
    """Many threads build what none of them has seen, and all see the same."""
    model = make_model(leaf_prediction="majority")
    names = [*NAMES, "n_leaves"]
    for begin in range(0, 900, 300):
        part = slice(begin, begin + 300)
        model.partial_fit(STREAM.X[part], STREAM.y[part], STREAM.classes)
        plain, found = copy.deepcopy(model), [None] * 8
        begin = threading.Barrier(len(found))

        def look(place, model=model, found=found, begin=begin):
            begin.wait(60)
            found[place] = (
                model.predict_proba(STREAM.X).tobytes(),
                model.predict(STREAM.X[:3]).tobytes(),
                *(np.asarray(getattr(model.tree_, name)).tobytes() for name in names),
            )

        threads = [threading.Thread(target=look, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        expected = [None]
        look(0, plain, expected, threading.Barrier(1))
        assert set(found) == set(expected)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [(np.ones(3), r"shape \(2,\)\. Got \(3,\)"), ([1.0, -1.0], "finite and not neg")],
)
def test_weights_of_classes_that_are_none(class_weight, message):
    with pytest.raises(ValueError, match=message):
        NodeTable(1, 2, class_weight)
