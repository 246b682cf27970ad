"""The nodes of a tree: structure, counts, evidence and state, whatever the tests."""

import copy
import pickle
import threading

import numpy as np
import pytest
from reference.streams import grown, make_stream
from skconftree.tree._settings import GrowthSettings
from skconftree.tree.nodes._node_table import NodeTable
from skconftree.tree.nodes._tree import Tree
from skconftree.tree.stream._grower import Grower

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import GTestBound
from skconftree.tables._training_data import TrainingData
from skconftree.tree import node_table
from skconftree.tree.batch._grow import grow
from skconftree.tree.nodes._derived import NONE
from skconftree.tree.nodes._node_state import COSTS_DTYPE, NODE_ARRAYS
from skconftree.tree.nodes._tree_state import BRANCHING_DTYPE, NODE_DTYPE, TEST_ARRAYS

STREAM = make_stream(3, 900, 3, kinds=["continuous", "ties", "one_hot"], signal=1.5)


def make_model(**settings):
    settings = {"bound": "gtest", "delta": 0.5, "grace_period": 20} | settings
    return ConfidenceTreeClassifier(**settings)


# -- another kind of test ----------------------------------------------------------


class CentroidTree(NodeTable):
    """Rows go to the child whose centroid is the nearest."""

    def __init__(self, *arguments, **options):
        self.centroids = {}

    def split_by(self, node, centroids, counts, evidence=None):
        rows = np.sum(counts, axis=1)
        self.centroids[node] = np.asarray(centroids)
        return self.divide(node, counts, rows, evidence=evidence)

    def find(self, row):
        node = 0
        while len(self.children(node)):
            gap = self.centroids[node] - row
            node = self.children(node)[(gap**2).sum(axis=1).argmin()]
        return int(node)

    def __getstate__(self):
        return super().__getstate__(), self.centroids

    def __setstate__(self, state):
        super().__setstate__(state[0])
        self.centroids = state[1]


def centroid_tree(**options):
    tree = CentroidTree(2, 3, **options)
    tree.add_root()
    said = NONE.copy()
    said["score"], said["rival_feature"] = 0.25, 1
    tree.split_by(0, [[0, 0], [4, 0], [0, 4]], [[9, 0, 1], [0, 6, 2], [2, 2, 4]], said)
    tree.split_by(2, [[4, -1], [4, 1]], [[0, 6, 0], [0, 0, 2]])
    return tree


def test_tests_of_another_kind_share_all_but_routing():
    tree = centroid_tree()
    assert (tree.node_count, tree.n_leaves, tree.max_depth) == (6, 4, 2)
    assert [tree.find(row) for row in ([0, 1], [4, -2], [5, 3], [1, 9])] == [1, 4, 5, 3]
    np.testing.assert_array_equal(tree.parent, [-1, 0, 0, 0, 2, 2])
    np.testing.assert_array_equal(tree.depth, [0, 1, 1, 1, 2, 2])
    np.testing.assert_array_equal(tree.n_children, [3, 0, 2, 0, 0, 0])
    np.testing.assert_array_equal(tree.children_left, [-2, -1, 4, -1, -1, -1])
    np.testing.assert_array_equal(tree.children_right, [-2, -1, 5, -1, -1, -1])
    np.testing.assert_array_equal(tree.value[2], [0, 0.75, 0.25])
    assert tree.evidence["score"][0] == 0.25
    assert np.isnan(tree.evidence["score"][1:]).all()
    assert tree.evidence["rival_feature"].tolist() == [1, -2, -2, -2, -2, -2]
    path = tree.path(np.array([5, 1])).toarray()
    np.testing.assert_array_equal(path, [[1, 0, 1, 0, 0, 1], [1, 1, 0, 0, 0, 0]])
    again = pickle.loads(pickle.dumps(tree))
    assert type(again) is CentroidTree
    assert again.find([5, 3]) == 5
    assert pickle.dumps(again) == pickle.dumps(tree)
    pruned = tree.pruned(np.arange(6) == 2)
    assert (pruned.node_count, pruned.n_leaves, pruned.max_depth) == (4, 3, 1)
    assert pruned.evidence["score"][0] == 0.25


@pytest.mark.parametrize(
    ("node", "counts", "n_rows", "error"),
    [
        (0, np.ones((2, 3)), [3, 3], "has split"),
        (6, np.ones((2, 3)), [3, 3], "tree with 6 nodes"),
        (1, np.ones((1, 3)), [3], "two children at least"),
        (1, np.ones((2, 2)), [3, 3], "must have shape"),
        (1, np.ones((2, 3)), [3], "must have shape"),
        (1, np.ones(3), [3], "must have shape"),
    ],
)
def test_splits_that_cannot_be(node, counts, n_rows, error):
    tree = centroid_tree()
    before = pickle.dumps(tree)
    with pytest.raises((ValueError, IndexError), match=error):
        tree.divide(node, counts, n_rows)
    assert pickle.dumps(tree) == before


def test_a_tree_of_axis_tests_is_not_split_without_a_test():
    tree = Tree(2, 3)
    tree.add_root()
    with pytest.raises(TypeError, match="written when it is grown"):
        tree.divide(0, np.ones((2, 3)), [3, 3])


def test_many_splits():
    """Rooms are enlarged, and what is in them is kept."""
    tree = NodeTable(1, 2, keep_refusals=True)
    tree.add_root()
    said = np.repeat(NONE, 300)
    said["score"] = np.arange(300)
    for i in range(300):
        tree.divide(2 * i, [[i, 0], [0, i]], [i, i], [0.0, 0.5], said[i])
    assert (tree.node_count, tree.n_leaves) == (601, 301)
    inner = np.arange(0, 600, 2)
    np.testing.assert_array_equal(tree.evidence["score"][inner], np.arange(300))
    np.testing.assert_array_equal(tree.counts[1::2, 0], np.arange(300))
    np.testing.assert_array_equal(tree.impurity[2::2], np.full(300, 0.5))
    again = pickle.loads(pickle.dumps(tree))
    assert again.evidence.tobytes() == tree.evidence.tobytes()
    assert again.refused_evidence.tobytes() == tree.refused_evidence.tobytes()


# -- classes -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [centroid_tree, lambda: make_model().fit(*FIT).tree_])
def test_classes_are_appended(make):
    tree = make()
    before = {name: getattr(tree, name) for name in ("counts", "value", "parent")}
    bytes_before = {name: array.tobytes() for name, array in before.items()}
    n_bytes = tree.n_bytes
    tree.append_classes(2, [2.0, 3.0])
    assert tree.n_classes == 5
    np.testing.assert_array_equal(tree.class_weight, [1, 1, 1, 2, 3])
    np.testing.assert_array_equal(tree.counts[:, :3], before["counts"])
    known = before["counts"].any(axis=1)
    np.testing.assert_array_equal(tree.value[known, :3], before["value"][known])
    assert not tree.value[known, 3:].any()
    assert not tree.counts[:, 3:].any()
    assert tree.n_bytes == n_bytes + 2 * 8 * tree.node_count
    for name, array in before.items():
        assert array.tobytes() == bytes_before[name]
    again = pickle.loads(pickle.dumps(tree))
    assert again.n_classes == 5
    np.testing.assert_array_equal(again.counts, tree.counts)


def test_rows_of_classes_that_came_later():
    tree = centroid_tree()
    tree.append_classes(1)
    first = tree.divide(5, [[0, 0, 0, 4], [0, 0, 2, 0]], [4, 2])
    np.testing.assert_array_equal(tree.value[first], [0, 0, 0, 1])


def test_classes_that_cannot_be_appended():
    tree = centroid_tree()
    before = pickle.dumps(tree)
    with pytest.raises(ValueError, match="n_new must be at least 1"):
        tree.append_classes(0)
    with pytest.raises(ValueError, match="classes; got"):
        tree.append_classes(2**16)
    with pytest.raises(ValueError, match="class_weight must have shape"):
        tree.append_classes(2, [1.0])
    assert pickle.dumps(tree) == before


# -- bytes -------------------------------------------------------------------------

FIT = STREAM.X, STREAM.y
OF_A_NODE = 4 * 4 + 8 + 8 + 8 * 3 + NODE_DTYPE.itemsize + BRANCHING_DTYPE.itemsize
OF_A_SPLIT = NONE.nbytes
WITHOUT_A_BOUND = 8  # the number of tests alone
OF_A_LOOK = COSTS_DTYPE.itemsize


@pytest.mark.parametrize("how", ["fit", "stream", "pruned", "pickled"])
def test_bytes_are_those_of_the_arrays(how):
    """A leaf has no evidence, and a tree that is finished no room to spare."""
    model = make_model()
    model = grown(model, STREAM, [900]) if how == "stream" else model.fit(*FIT)
    tree = model.tree_
    if how == "pruned":
        tree = tree.pruned(np.arange(tree.node_count) == tree.children_left[0])
    elif how == "pickled":
        tree = pickle.loads(pickle.dumps(tree))
    n_splits = tree.node_count - tree.n_leaves
    assert n_splits >= 2
    of_a_split = OF_A_SPLIT + (0 if how == "stream" else OF_A_LOOK)
    assert tree.n_bytes == tree.node_count * OF_A_NODE + n_splits * of_a_split
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
    """But the number of tests, without which no chance can be told."""
    plain = make_model(bound=None, delta=None, max_depth=4)
    model = GROWN_WITHOUT_A_BOUND[how](plain)
    tree = model.tree_
    inner = tree.n_children > 0
    assert inner.sum() >= 3
    assert tree.n_bytes == tree.node_count * OF_A_NODE + inner.sum() * WITHOUT_A_BOUND
    said = tree.evidence
    assert np.all(said["n_tests"][inner] >= 1)
    for name in set(said.dtype.names) - {"n_tests", "rival_feature"}:
        assert np.isnan(said[name]).all()
    assert np.all(said["rival_feature"] == NONE["rival_feature"])
    assert np.isnan(said["n_tests"][~inner]).all()
    for row in node_table(model):
        assert row.evidence == (
            {"n_tests": row.strength.n_tests} if row.branches else {}
        )
    pruned = tree.pruned(tree.depth == 1)
    assert pruned.evidence[0].tobytes() == said[0].tobytes()
    assert pickle.dumps(pickle.loads(pickle.dumps(tree))) == pickle.dumps(tree)


def test_evidence_that_a_tree_cannot_have():
    tree = make_model(bound=None, delta=None).fit(*FIT).tree_
    kind, (*size, weight, keeps, refuses, shrinkage), state = tree.__reduce__()
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
            kind(*size, weight, keeps, refuses, shrinkage).__setstate__(changed)
    claims = kind(*size, weight, True, refuses, shrinkage)
    claims.__setstate__((*state[:place], more, *state[place + 1 :]))
    for bound, other in ((None, claims), ("gtest", tree)):
        model = make_model(bound=bound, delta=None).fit(*FIT)
        model._model._tree = other
        with pytest.raises(ValueError, match="bound_"):
            pickle.loads(pickle.dumps(model))


def grow_tree(max_leaves=None, **options):
    data = TrainingData(STREAM.X, STREAM.y, 3)
    settings = GrowthSettings(bound=GTestBound(delta=0.01), max_leaves=max_leaves)
    return grow(data, None, settings, **options)


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
    pruned = tree.pruned(cut)
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
    assert pickle.dumps(pruned) == pickle.dumps(copy.copy(tree).pruned(cut))
    assert pickle.dumps(pickle.loads(pickle.dumps(pruned))) == pickle.dumps(pruned)


def test_evidence_of_leaves_that_were_refused_a_split():
    """How close they were; of a leaf that was never examined, nothing is known."""
    plain, tree = grow_tree(), grow_tree(keep_refusals=True)
    assert plain.refused_evidence is None
    assert tree.evidence.tobytes() == plain.evidence.tobytes()
    assert tree.n_bytes == plain.n_bytes + OF_A_SPLIT * tree.node_count
    refused, leaf = tree.refused_evidence, tree.n_children == 0
    examined = refused["rival_feature"] != -2
    assert not examined[~leaf].any()
    assert examined[leaf].any()
    # there was a test, and its chance was too large
    assert np.all(refused["n_tests"][examined] > 0)
    assert np.nanmin(refused["confidence"][examined]) > 0.01
    again = pickle.loads(pickle.dumps(tree))
    assert again.refused_evidence.tobytes() == refused.tobytes()
    best_first = grow_tree(keep_refusals=True, max_leaves=10**6)
    assert (best_first.refused_evidence["n_tests"] > 0).sum() == examined.sum()
    pruned = tree.pruned(np.arange(tree.node_count) == tree.children_left[0])
    known = pruned.refused_evidence["n_tests"] > 0
    assert not known[pruned.n_children > 0].any()


def test_evidence_of_leaves_that_grow():
    stream = make_model(delta=1e-3, leaf_prediction="majority")
    stream.partial_fit(STREAM.X[:10], STREAM.y[:10], STREAM.classes)
    tree = Tree(stream.n_features_in_, stream.n_classes_, keep_refusals=True)
    tree.add_root()
    grower = Grower(tree, stream._model.grower.recipe)
    grower.open_leaves()
    seen = set()
    for i in range(len(STREAM.y)):
        row = slice(i, i + 1)
        grower.learn(STREAM.X[row], STREAM.y[row].astype(np.uint16), None, True)
        refused = tree.refused_evidence
        seen.add(refused["confidence"].tobytes())
        assert np.isnan(refused["n_tests"][tree.n_children > 0]).all()
    assert tree.node_count > 3
    assert len(seen) > 5


@pytest.mark.parametrize("damage", [-3, 3, 2**40])
def test_damaged_refusals(damage):
    tree = grow_tree(keep_refusals=True)
    kind, arguments, state = tree.__reduce__()
    place = 1 + tree_arrays(tree).index("refused")
    refused = np.frombuffer(state[place], NONE.dtype).copy()
    refused["rival_feature"][1] = damage
    for data in (refused.tobytes(), refused[:-1].tobytes(), b""):
        changed = (*state[:place], data, *state[place + 1 :])
        with pytest.raises(ValueError, match="'refused'"):
            kind(*arguments).__setstate__(changed)


def tree_arrays(tree):
    return [*NODE_ARRAYS, *(["refused"] if tree.keeps_refusals else []), *TEST_ARRAYS]


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
def test_few_rows_get_what_all_get(n_classes):
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
        assert copied.tree_.value is copied.tree_.value  # it has been looked at
        np.testing.assert_array_equal(few, copied.predict_proba(rows))
        np.testing.assert_array_equal(best, copied.predict(rows))
    assert model.tree_.node_count > 10


def test_empty_leaves_say_what_is_above():
    tree = NodeTable(1, 2)
    tree.add_root()
    np.testing.assert_array_equal(tree.value, [[0.5, 0.5]])
    tree.divide(0, [[3, 1], [0, 0]], [4, 0])
    tree.divide(2, [[0, 0], [0, 0], [0, 0]], [0, 0, 0])
    tree.divide(5, [[0, 0], [0, 2]], [0, 2])
    half, left, right = [0.5, 0.5], [0.75, 0.25], [0.0, 1.0]
    np.testing.assert_array_equal(
        tree.value, [half, left, half, half, half, half, half, right]
    )


def test_looks_beside_each_other():
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
