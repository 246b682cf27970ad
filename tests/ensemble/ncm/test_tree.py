"""NCM trees: the worked numbers of E4, and node for node the slow reference."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ncm
from reference.effort import examples
from skconftree.ensemble.ncm._centroid_tree import NCMGrower
from sklearn.base import clone

from skconftree import NCMTreeClassifier
from skconftree.bounds import (
    Chi2Bound,
    DeRosaBound,
    EC2Bound,
    GTestBound,
    HoeffdingBound,
    McDiarmidBound,
    gtest_pvalue,
)
from skconftree.ensemble.ncm._model import resolve_plan
from skconftree.tables._content_order import ContentOrder, hash_rows


def make_table(seed, n_rows=60, n_features=5, n_classes=6, grid=None):
    rng = np.random.default_rng(seed)
    centers = 2.0 * rng.normal(size=(n_classes, n_features))
    y = rng.integers(0, n_classes, n_rows)
    X = (centers[y] + rng.normal(size=(n_rows, n_features))).astype(np.float32)
    if grid is not None:
        X = np.round(X * grid) / np.float32(grid)
    return X, y


def reference_of(tree, X, y, **growth):
    """The slow tree of what the estimator was fitted on."""
    y = np.searchsorted(tree.classes_, y).astype(np.uint16)
    hashes = hash_rows(np.ascontiguousarray(X, dtype=np.float32), y)
    order = ContentOrder(*hashes).row_indices
    once = np.ones(len(y), dtype=np.uint32)
    return ncm.Tree(
        X[order], y[order], once, tree.n_classes_, tree._model.seed, **growth
    )


def assert_same_nodes(found, wanted):
    assert found.node_count == len(wanted.nodes)
    assert np.array_equal(found.counts, [node.counts for node in wanted.nodes])
    ids = {id(node): place for place, node in enumerate(wanted.nodes)}
    for place, node in enumerate(wanted.nodes):
        children = [ids[id(child)] for child in node.children]
        assert found.children(place).tolist() == children
        if not children:
            continue
        means, classes, towards = found.centroids(place)
        assert np.array_equal(means, node.means)
        assert classes.tolist() == list(node.classes)
        assert towards.tolist() == [children[side] for side in node.sides]


# -- worked numbers --------------------------------------------------------------------


def test_gain_is_weighted_by_the_sides():
    """E4: printed without weights the gain of a useful test may be negative."""
    sides = np.array([[4, 0, 0], [0, 2, 2]])
    assert ncm.ncm_gain(sides) == pytest.approx(1.0)
    mixed = np.array([[3, 1], [1, 3]])
    unweighted = 1.0 - 2 * ncm.entropy([3, 1])
    assert unweighted < 0.0 < ncm.ncm_gain(mixed)
    assert ncm.ncm_gain(mixed) == pytest.approx(1.0 - ncm.entropy([3, 1]))


def test_one_split_by_hand():
    """Three classes on a line; every assignment gains the same, the first one wins."""
    X = np.array([[0.0], [1.0], [4.0], [5.0], [10.0], [11.0]])
    y = ["a", "a", "b", "b", "c", "c"]
    tree = NCMTreeClassifier(max_classes=None, max_depth=1).fit(X, y).tree_
    means, classes, children = tree.centroids(0)
    assert means.ravel().tolist() == [0.5, 4.5, 10.5]
    assert classes.tolist() == [0, 1, 2]
    assert children.tolist() == [1, 2, 1]
    assert tree.counts.tolist() == [[2, 2, 2], [2, 0, 2], [0, 2, 0]]
    assert tree.impurity == pytest.approx([math.log2(3), 1.0, 0.0])
    evidence = tree.evidence[0]
    # halves of bits, as everywhere in evidence: the gain is log2(3) - 2/3
    assert evidence["parent_limit"] == pytest.approx(0.5 * math.log2(3))
    assert evidence["score"] == pytest.approx(0.5 * 2 / 3)
    assert evidence["n_candidates"] == evidence["multiplicity"] == 3
    p = gtest_pvalue(tree.counts[1:])
    assert evidence["log10_expected_by_chance"] == pytest.approx(math.log10(3 * p))


def test_a_row_between_two_means_goes_to_the_first_class():
    tree = NCMTreeClassifier().fit([[0.0], [2.0]], [0, 1])
    assert tree.predict([[1.0], [1.0 - 1e-6], [1.0 + 1e-6]]).tolist() == [0, 0, 1]


def test_no_side_is_empty():
    """Where the rows of both classes are the same no test parts anything."""
    tree = NCMTreeClassifier().fit([[1.0], [1.0]], [0, 1])
    assert tree.tree_.node_count == 1
    assert tree.predict_proba([[5.0]]).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1e15, 1e30])
def test_any_scale_is_as_good(scale):
    """Squares of float32 would vanish or overflow at these."""
    X, y = make_table(3)
    power = 2.0 ** round(math.log2(scale))
    tree = NCMTreeClassifier(random_state=0).fit(X, y)
    other = NCMTreeClassifier(random_state=0).fit(X * power, y)
    assert np.array_equal(tree.tree_.counts, other.tree_.counts)


# -- the reference ---------------------------------------------------------------------

GROWTHS = {
    "default": {},
    "all": {"max_classes": None},
    "three": {"max_classes": 3},
    "share": {"max_classes": 0.6},
    "gini": {"criterion": "gini", "max_depth": 3},
    "error": {"criterion": "error"},
    "small": {"min_samples_split": 9, "min_samples_leaf": 3},
}


@pytest.mark.parametrize("growth", GROWTHS)
@settings(max_examples=examples(30, by_day=3))
@given(seed=st.integers(0, 10**6), grid=st.sampled_from([None, 2, 1]))
def test_nodes_are_those_of_the_reference(growth, seed, grid):
    X, y = make_table(seed, grid=grid)
    tree = NCMTreeClassifier(random_state=seed, **GROWTHS[growth]).fit(X, y)
    slow = reference_of(tree, X, y, **GROWTHS[growth])
    assert_same_nodes(tree.tree_, slow)
    proba = np.array([slow.proba(row) for row in X])
    assert np.array_equal(tree.predict_proba(X), proba)


@pytest.mark.parametrize("n_classes", [11, 40, 70])
def test_drawn_assignments_are_those_of_the_reference(n_classes):
    growth = {"max_classes": None, "n_assignments": 20, "max_depth": 2}
    X, y = make_table(n_classes, 150, n_classes=n_classes)
    tree = NCMTreeClassifier(random_state=1, **growth).fit(X, y)
    assert_same_nodes(tree.tree_, reference_of(tree, X, y, **growth))


@pytest.mark.parametrize(
    "bound", [Chi2Bound(1e-4), Chi2Bound(1e-4, correction="tests"), HoeffdingBound(0.1)]
)
def test_a_bound_decides_about_the_best_assignment(bound):
    X, y = make_table(5, 90)
    tree = NCMTreeClassifier(bound=bound, max_classes=3, random_state=0).fit(X, y)

    def accepts(sides, n_tests, depth):
        return bound.evaluate(
            sides,
            criterion=tree.criterion_,
            n_tests=n_tests,
            time=len(y),
            depth=depth,
        ).split

    slow = reference_of(tree, X, y, max_classes=3, accepts=accepts)
    assert 1 < tree.tree_.node_count < len(reference_of(tree, X, y).nodes)
    assert_same_nodes(tree.tree_, slow)
    evidence = tree.tree_.evidence
    split = tree.tree_.children_left >= 0
    assert not np.isnan(evidence["statistic"][split]).any()
    assert np.isnan(evidence["statistic"][~split]).all()


@pytest.mark.parametrize(
    "bound", [GTestBound(1e-4), EC2Bound(), McDiarmidBound(), DeRosaBound()]
)
def test_other_bounds_grow_smaller_trees(bound):
    X, y = make_table(6, 400, n_classes=3)
    y[::4] = 0  # noise
    tree = NCMTreeClassifier(random_state=0).fit(X, y)
    less = NCMTreeClassifier(bound=bound, random_state=0).fit(X, y)
    assert less.tree_.node_count < tree.tree_.node_count


# -- properties ------------------------------------------------------------------------


@settings(max_examples=examples(30, by_day=3))
@given(seed=st.integers(0, 10**6))
def test_the_order_of_the_rows_does_not_matter(seed):
    X, y = make_table(seed)
    shuffled = np.random.default_rng(seed).permutation(len(y))
    tree = NCMTreeClassifier(random_state=seed, update="rrn").fit(X, y)
    other = clone(tree).fit(X[shuffled], y[shuffled])
    assert pickle.dumps(tree) == pickle.dumps(other)
    tree.partial_fit(X, y)
    other.partial_fit(X[shuffled], y[shuffled])
    assert pickle.dumps(tree) == pickle.dumps(other)


@settings(max_examples=examples(30, by_day=3))
@given(seed=st.integers(0, 10**6))
def test_leaves_and_paths(seed):
    X, y = make_table(seed)
    tree = NCMTreeClassifier(random_state=seed).fit(X, y)
    leaves = tree.apply(X)
    nodes = tree.tree_
    assert (nodes.children_left[leaves] == -1).all()
    assert (nodes.parent[1:] < np.arange(1, nodes.node_count)).all()
    paths = tree.decision_path(X)
    assert (paths.sum(axis=1).A1 == nodes.depth[leaves] + 1).all()
    reached = paths.toarray().T @ np.eye(len(tree.classes_))[y]
    assert np.array_equal(reached, nodes.counts)
    assert tree.get_n_leaves() == len(np.unique(leaves))
    assert tree.get_depth() == nodes.depth.max()


def test_rows_of_a_new_class_are_counted_in_the_leaves_of_others():
    X, y = make_table(0, 120)
    old, new = y < 4, y >= 4
    tree = NCMTreeClassifier(random_state=0).fit(X[old], y[old])
    before = tree.tree_
    tree.partial_fit(X[new], y[new])
    after = tree.tree_
    assert tree.classes_.tolist() == [0, 1, 2, 3, 4, 5]
    assert (tree.n_rows_seen_, tree.n_updates_) == (120, 1)
    assert np.array_equal(after.parent, before.parent)
    assert np.array_equal(after.counts[:, :4], before.counts)
    reached = tree.decision_path(X[new]).toarray().T @ np.eye(6)[y[new]]
    assert np.array_equal(after.counts[:, 4:], reached[:, 4:])
    for node in range(after.node_count):
        for one, other in zip(
            after.centroids(node), before.centroids(node), strict=True
        ):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("update", ["leaves", "rrn"])
def test_classes_between_those_that_are_known(update):
    """Indices of classes move, and what is known of each moves along."""
    X, y = make_table(1, 120)
    names = np.array(["f", "b", "d", "a", "c", "e"])[y]
    known = np.isin(names, ["b", "d", "f"])
    tree = NCMTreeClassifier(random_state=0, update=update)
    tree.fit(X[known], names[known])
    means = tree.tree_.centroids(0)[1]
    tree.partial_fit(X[~known], names[~known])
    assert tree.classes_.tolist() == ["a", "b", "c", "d", "e", "f"]
    totals = [np.count_nonzero(names == one) for one in tree.classes_]
    assert tree.tree_.counts[0].tolist() == totals
    if update == "leaves":
        assert tree.tree_.centroids(0)[1].tolist() == [[1, 3, 5][c] for c in means]
    else:
        assert tree.score(X, names) > 0.95


def test_rrn_is_a_tree_of_all_rows():
    X, y = make_table(2, 100)
    tree = NCMTreeClassifier(random_state=0, update="rrn").fit(X[:50], y[:50])
    tree.partial_fit(X[50:], y[50:])
    assert tree.tree_.counts[0].tolist() == np.bincount(y).tolist()
    few = NCMTreeClassifier(random_state=0, update="rrn", max_stored_samples=30)
    few.fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert few.tree_.counts[0].tolist() == [5] * 6


@settings(max_examples=examples(20, by_day=2))
@given(seed=st.integers(0, 10**6), grid=st.sampled_from([None, 1]))
def test_a_tree_grows_on_like_the_reference(seed, grid):
    X, y = make_table(seed, 90, grid=grid)
    y[:50] %= 4  # two classes come later
    tree = NCMTreeClassifier(random_state=seed, update="igt", min_samples_split=4)
    tree.fit(X[:50], y[:50])
    slow = reference_of(tree, X[:50], y[:50], min_samples_split=4)
    known, (places, done) = slow.X, (tree.classes_, 50)
    labels = places[slow.y]
    for end in (51, 70, 90):
        tree.partial_fit(X[done:end], y[done:end])
        codes = np.searchsorted(tree.classes_, y[done:end]).astype(np.uint16)
        order = ContentOrder(*hash_rows(X[done:end], codes)).row_indices
        known = np.concatenate([known, X[done:end][order]])
        labels = np.append(labels, y[done:end][order])
        slow.grow_on(
            known,
            np.searchsorted(tree.classes_, labels),
            np.ones(end, int),
            tree.n_classes_,
            np.searchsorted(tree.classes_, places).tolist(),
            end - done,
        )
        places, done = tree.classes_, end
        assert_same_nodes(tree.tree_, slow)


def test_a_sample_of_other_rows_is_refused():
    X, y = make_table(2, 100)
    tree = NCMTreeClassifier(random_state=0).fit(X, y)
    labels, once = y.astype(np.uint16), np.ones(100, dtype=np.uint32)
    grower = NCMGrower(resolve_plan(tree).settings, 5, 6, None, 1, 0)
    leaves, less = tree.tree_.leaves_of(X), once.copy()
    less[0] = 0
    inner, absent = np.zeros_like(leaves), leaves.copy()
    absent[3] = -1
    for times, reached in ((less, leaves), (once, inner), (once, absent)):
        with pytest.raises(ValueError, match=r"nodes and classes of the tree|differs"):
            grower.grow(X, labels, times, tree.tree_, reached, 0)
    with pytest.raises(ValueError, match="Expected 100 counts of rows, got 99"):
        tree.tree_.leaves_of(X, None, once[1:])


def test_what_is_refused_changes_nothing():
    X, y = make_table(4)
    tree = NCMTreeClassifier(random_state=0).fit(X, y)
    before = pickle.dumps(tree)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tree.partial_fit(bad, y)
    with pytest.raises(ValueError, match="labels of the kind of the classes so far"):
        tree.partial_fit(X, y.astype(str))
    tree.update = "rrn"
    with pytest.raises(ValueError, match="update='rrn'"):
        tree.partial_fit(X, y)
    tree.update = "leaves"
    assert pickle.dumps(tree) == before


def test_bounds_that_scan_are_refused():
    X, y = make_table(4)
    for bound in ("credible", "possibilistic", "evalue", "bayes_factor"):
        with pytest.raises(ValueError, match="'bound' parameter of NCMTreeClassifier"):
            NCMTreeClassifier(bound=bound).fit(X, y)
    interval = HoeffdingBound(against="no_split", variant="interval")
    with pytest.raises(ValueError, match="'bound' parameter of NCMTreeClassifier"):
        NCMTreeClassifier(bound=interval).fit(X, y)


def test_a_criterion_is_checked_by_every_call():
    X, y = make_table(4)
    tree = NCMTreeClassifier(bound=None)
    for learn in (tree.fit, tree.set_params(criterion=None).fit(X, y).partial_fit):
        tree.criterion = "gain"
        with pytest.raises(ValueError, match="'criterion' parameter of NCMTree"):
            learn(X, y)


# -- state -----------------------------------------------------------------------------


def test_pickles_and_copies_go_on_alike():
    X, y = make_table(7, 120)
    for update in ("leaves", "igt", "rrn"):
        tree = NCMTreeClassifier(random_state=0, update=update).fit(X[:80], y[:80])
        data = pickle.dumps(tree)
        others = [pickle.loads(data), copy.copy(tree), copy.deepcopy(tree)]
        tree.partial_fit(X[80:], y[80:])
        wanted = pickle.dumps(tree)
        for other in others:
            assert pickle.dumps(other) == data
            assert pickle.dumps(other.partial_fit(X[80:], y[80:])) == wanted


def damaged_states(tree):
    """States of a tree in each of which one thing is wrong."""
    make, arguments, state = tree.__reduce__()
    names = (
        "version", "parent", "n_node_samples", "counts", "impurity", "evidence",
        "tests", "centroids", "owners", "sides",
    )  # fmt: skip
    parts = dict(zip(names, state, strict=True))
    arrays = {
        "tests": np.frombuffer(parts["tests"], np.int32).reshape(-1, 2),
        "centroids": np.frombuffer(parts["centroids"], np.float32),
        "sides": np.frombuffer(parts["sides"], np.uint8),
    }

    def state_with(name, change):
        array = arrays[name].copy()
        change(array)
        return make, arguments, (*{**parts, name: array.tobytes()}.values(),)

    def set_to(place, value):
        return lambda array: array.__setitem__(place, value)

    yield state_with("tests", set_to((0, 0), 1))
    yield state_with("tests", set_to((0, 0), -1))
    yield state_with("tests", set_to((0, 1), 0))
    yield state_with("tests", set_to((0, 1), 2**30))
    yield state_with("tests", set_to((-1, 1), 2))  # of a leaf
    yield state_with("centroids", set_to(0, np.nan))
    yield state_with("centroids", set_to(0, np.inf))
    yield state_with("sides", set_to(0, 2))
    for name in names[1:]:
        yield make, arguments, (*{**parts, name: parts[name][:-8]}.values(),)
        yield make, arguments, (*{**parts, name: None}.values(),)
    yield make, arguments, state[:-1]
    yield make, arguments, (state[0] + 1, *state[1:])


def test_damaged_states_raise():
    X, y = make_table(8)
    tree = NCMTreeClassifier(random_state=0).fit(X, y).tree_
    n_states = 0
    for make, arguments, state in damaged_states(tree):
        with pytest.raises(ValueError, match="state of this tree"):
            make(*arguments).__setstate__(state)
        n_states += 1
    assert n_states > 25


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes", np.arange(3)),
        ("schema", {"n_features": 4, "names": None, "features": None}),
        ("schema", {"n_features": "5", "names": None, "features": None}),
        ("tree", None),
    ],
)
def test_damaged_estimators_raise(name, value):
    X, y = make_table(8)
    tree = NCMTreeClassifier(random_state=0).fit(X, y)
    state = tree.__getstate__()
    parts = {**state["_model"], name: value}
    with pytest.raises(ValueError, match="is corrupt"):
        NCMTreeClassifier().__setstate__({**state, "_model": parts})


def test_what_is_shown_cannot_be_written_to():
    X, y = make_table(9)
    tree = NCMTreeClassifier().fit(X, y).tree_
    means, _, _ = tree.centroids(0)
    with pytest.raises(ValueError, match="read-only"):
        means[0, 0] = np.nan
