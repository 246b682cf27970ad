"""Every leaf reports why it is a leaf."""

import copy
import pickle
import re

import numpy as np
import pytest
from reference.golden import table as make_table
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import GTestBound
from skconftree.tree import (
    CostComplexityPruning,
    LeafReason,
    PessimisticPruning,
    distill,
    export_html,
    node_table,
)

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(300, 4)), RNG.integers(0, 2, 300)
STEP = np.repeat([[0.0], [1.0]], [1, 9], axis=0), np.repeat([0, 1], [1, 9])
GREEDY = {"bound": None, "pruning": None}
# A split that no prediction needs, with strong and with weak evidence.
UNEQUAL = (
    np.repeat([[0.0], [1.0]], 500, axis=0),
    np.arange(1000) % 10 < np.repeat([1, 4], 500),
)


def reasons(tree):
    """Reasons of the leaves; at other nodes there is none."""
    codes = tree.tree_.leaf_reason
    is_leaf = tree.tree_.leaf_mask()
    assert (codes[~is_leaf] == LeafReason.NO_LEAF).all()
    assert (codes[is_leaf] != LeafReason.NO_LEAF).all()
    return [LeafReason(code).name for code in codes[is_leaf]]


@pytest.mark.parametrize(
    ("reason", "parameters", "table", "words"),
    [
        ("PURE", GREEDY, STEP, "all rows of the leaf are of one class"),
        (
            "MIN_SAMPLES_SPLIT",
            {**GREEDY, "min_samples_split": 11},
            STEP,
            "10 rows are too few by min_samples_split",
        ),
        (
            "MIN_SAMPLES_LEAF",
            {**GREEDY, "min_samples_leaf": 6},
            STEP,
            "min_samples_leaf",
        ),
        (
            "MIN_SAMPLES_LEAF",
            {**GREEDY, "min_samples_leaf": 2},
            STEP,
            "min_samples_leaf",
        ),
        (
            "MIN_WEIGHT_FRACTION_LEAF",
            {**GREEDY, "min_weight_fraction_leaf": 0.2},
            STEP,
            "min_weight_fraction_leaf",
        ),
        (
            "MIN_IMPURITY_DECREASE",
            {**GREEDY, "min_impurity_decrease": 0.4},
            STEP,
            "min_impurity_decrease",
        ),
        (
            "NO_CANDIDATE",
            {},
            (np.ones((10, 1)), STEP[1]),
            "have no candidate split",
        ),
        (
            "MONOTONIC_CST",
            {"monotonic_cst": [-1]},
            STEP,
            "every candidate split violates monotonic_cst",
        ),
        (
            "REJECTED",
            {},
            NOISE,
            "no candidate split had fewer than 1 expected by chance",
        ),
        (
            "REJECTED",
            {"bound": "derosa"},
            NOISE,
            r"the bound .*; the best, x\d .* by chance",
        ),
        ("REJECTED", {"bound": "credible"}, NOISE, "the bound rejected all candidate"),
        (
            "REJECTED",  # in the order that monotonic_cst requires
            {"bound": "credible", "monotonic_cst": [1]},
            (NOISE[0][:, :1], NOISE[1]),
            "the bound rejected all candidate",
        ),
        (
            "REJECTED",
            {"bound": "derosa", "monotonic_cst": [1]},
            (NOISE[0][:, :1], NOISE[1]),
            r"the bound .*; the best, x\d .* by chance",
        ),
        (
            "REJECTED",
            {"bound": "hoeffding"},
            NOISE,
            r"the bound .*, x\d <= .* by chance",
        ),
        (
            "PRUNED",
            {"bound": None, "pruning": "pessimistic"},
            UNEQUAL,
            r"by x0 <= 0\.5, overwhelming evidence \(.* by chance\), was pruned",
        ),
    ],
)
def test_a_root_that_does_not_split(reason, parameters, table, words):
    tree = ConfidenceTreeClassifier(**parameters).fit(*table)
    if reason != "PURE":
        assert reasons(tree) == [reason]
    leaf = node_table(tree)[-1]
    assert leaf.leaf_reason == LeafReason[reason]
    assert re.search(words, leaf.why_leaf)
    text = " ".join(tree.explain_text(table[0][-1]).split())
    assert re.search(words, text)
    assert re.search(words.replace("<", "&lt;"), export_html(tree))
    if reason == "PURE":
        (step,) = tree.explain(table[0][-1:])[0]
        assert (step["leaf_reason"], step["why_leaf"]) == (
            leaf.leaf_reason,
            leaf.why_leaf,
        )
    else:
        assert re.search(words, " ".join(tree.summary().split()))


def test_no_more_leaves():
    X, y = load_breast_cancer(return_X_y=True)
    tree = ConfidenceTreeClassifier(**GREEDY, max_leaf_nodes=4).fit(X, y)
    assert "MAX_LEAF_NODES" in reasons(tree)
    assert set(reasons(tree)) <= {"MAX_LEAF_NODES", "PURE"}


TREES = [
    {},
    {"lookahead": 0},
    {"bound": "credible"},
    {"bound": "evalue"},
    {"bound": None, "pruning": "c45"},
    {"bound": None, "pruning": CostComplexityPruning(0.02)},
    {"max_leaf_nodes": 7},
    {"max_bins": 16},
    {"max_features": 3},
    {"splitter": "random", "lookahead": 0},
    {"class_weight": "balanced", "min_samples_leaf": 3},
]


def grown(parameters, X, y):
    return ConfidenceTreeClassifier(random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("parameters", TREES)
def test_every_leaf_has_a_reason(parameters):
    X, y = load_breast_cancer(return_X_y=True)
    tree = grown(parameters, X, y)
    found = reasons(tree)
    for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert reasons(other) == found
        assert other.tree_.stops.tobytes() == tree.tree_.stops.tobytes()
    if "max_bins" not in parameters:
        assert reasons(grown(parameters, csr_array(X), y)) == found
    for row in node_table(tree):
        assert bool(row.why_leaf) == (row.leaf_reason is not None) == (not row.branches)
        if row.leaf_reason == LeafReason.PURE:
            assert max(row.counts) == row.weight


def test_the_number_is_that_of_the_best_split():
    X, y = load_breast_cancer(return_X_y=True)
    tree = ConfidenceTreeClassifier(lookahead=0, pruning=None).fit(X, y)
    leaves = tree.apply(X)
    rejected = np.flatnonzero(tree.tree_.leaf_reason == LeafReason.REJECTED)
    assert len(rejected) > 3
    lax = ConfidenceTreeClassifier(
        GTestBound(delta=1e300), lookahead=0, pruning=None, max_depth=1
    )
    for leaf in rejected:
        rows = leaves == leaf
        root = lax.fit(X[rows], y[rows]).tree_
        stop = tree.tree_.stops[leaf]
        assert stop["feature"] == root.feature[0]
        assert stop["threshold"] == root.threshold[0]
        expected = root.evidence["log10_expected_by_chance"][0]
        assert stop["log10_expected_by_chance"] == expected >= 0.0


def test_the_split_that_was_pruned():
    X, y = load_breast_cancer(return_X_y=True)
    pruning = PessimisticPruning(0.001, protect_below=None)
    tree = ConfidenceTreeClassifier(lookahead=0, pruning=pruning).fit(X, y)
    whole = ConfidenceTreeClassifier(lookahead=0, pruning=None).fit(X, y)
    pruned = np.flatnonzero(tree.tree_.leaf_reason == LeafReason.PRUNED)
    assert len(pruned)
    for leaf in pruned:
        row = np.flatnonzero(tree.apply(X) == leaf)[:1]
        path = whole.explain(X[row])[0]
        step = path[len(tree.explain(X[row])[0])]
        stop = tree.tree_.stops[leaf]
        assert stop["feature"] == step["feature"]
        assert stop["threshold"] == step["threshold"]
        assert stop["log10_expected_by_chance"] == step["log10_expected_by_chance"]


def test_names_of_categories_are_not_needed():
    X = np.array(list("abcabcabcabc" * 5), dtype=object)[:, np.newaxis]
    y = np.arange(len(X)) % 2
    tree = ConfidenceTreeClassifier(categorical_features=[0]).fit(X, y)
    assert re.search(r"; the best, x0, had [\d.]+$", node_table(tree)[0].why_leaf)


def test_a_tree_that_grows_waits():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(max_depth=1).fit(X, y)
    assert reasons(tree) == ["PURE", "MAX_DEPTH"]
    assert reasons(tree.partial_fit(X[:1], y[:1])) == ["PURE", "MAX_DEPTH"]
    assert reasons(tree.partial_fit(X[:1], y[-1:])) == ["MAX_DEPTH", "MAX_DEPTH"]
    tree = ConfidenceTreeClassifier().partial_fit(X, y, range(3))
    assert set(reasons(tree)) <= {"PURE", "WAITING"}
    assert "WAITING" in reasons(pickle.loads(pickle.dumps(tree)))
    text = tree.explain_text(X[119])
    assert "Stops here: it waits for more rows.\n" in text


def test_grown_after_fit():
    X, y = load_breast_cancer(return_X_y=True)
    tree = ConfidenceTreeClassifier(drift="local").fit(X[:300], y[:300])
    tree.partial_fit(X, y).partial_fit(X, 1 - y)
    assert len(tree.tree_.stops) == tree.tree_.node_count
    assert reasons(pickle.loads(pickle.dumps(tree))) == reasons(tree)


def test_trees_of_a_forest_keep_none():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(2, bound="gtest").fit(X, y)
    assert forest.estimators_[0].tree_.leaf_reason is None
    assert all(row.why_leaf == "" for row in node_table(forest.estimators_[0]))


def test_a_distilled_tree_knows_why():
    X, y = load_breast_cancer(return_X_y=True)
    tree = distill(ConfidenceForestClassifier(5).fit(X, y), X, y, max_leaf_nodes=4)
    assert set(reasons(tree)) <= {"MAX_LEAF_NODES", "PURE"}
    assert "by chance" not in "".join(row.why_leaf for row in node_table(tree))


# -- merged leaves --------------------------------------------------------------------


def unmerged(monkeypatch, tree, *table, **options):
    with monkeypatch.context() as patch:
        patch.setattr("skconftree.tree._parameters.merge_leaves", lambda tree: tree)
        return clone(tree).fit(*table, **options)


def mergeable(tree):
    """Splits without strong evidence whose children are leaves of one class."""
    nodes = node_table(tree)
    return [
        row.node
        for row in nodes
        if row.branches
        and row.evidence.is_weak
        and not any(nodes[branch.node].branches for branch in row.branches)
        and len({nodes[branch.node].label for branch in row.branches}) == 1
    ]


NOISY = make_table("four nominal", 600), make_table("four multiway missing", 600)


@pytest.mark.parametrize("table", NOISY, ids=["binary", "multiway"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"shrinkage": 0}, {"shrinkage": 40}, {"class_weight": "balanced"}],
)
def test_leaves_of_a_weak_split_differ(monkeypatch, table, parameters):
    X, y, _, settings = table
    tree = ConfidenceTreeClassifier(**settings, **parameters).fit(X, y)
    before = unmerged(monkeypatch, tree, X, y)
    assert mergeable(tree) == []
    merged = np.flatnonzero(tree.tree_.leaf_reason == LeafReason.MERGED)
    assert (len(merged) > 0) == (mergeable(before) != [])
    assert len(merged) > 0 or parameters.get("shrinkage", 10) < 40
    rows = np.concatenate([X, X[:, ::-1]])
    np.testing.assert_array_equal(tree.predict(rows), before.predict(rows))
    for leaf in merged:
        row = np.flatnonzero(tree.apply(X) == leaf)[:1]
        step = before.explain(X[row])[0][len(tree.explain(X[row])[0])]
        stop = tree.tree_.stops[leaf]
        assert stop["feature"] == step["feature"]
        assert (
            stop["log10_expected_by_chance"] == step["log10_expected_by_chance"] >= -2
        )
    assert all("were merged" in node_table(tree)[leaf].why_leaf for leaf in merged)


@pytest.mark.parametrize(
    "parameters",
    [
        {"bound": None, "min_samples_leaf": 20},
        {"pruning": None},
        {"pruning": "pessimistic", "shrinkage": 40},
    ],
)
def test_nothing_is_merged_unless_pruning_is_auto(parameters):
    X, y, _, settings = NOISY[0]
    tree = ConfidenceTreeClassifier(**settings, **parameters).fit(X, y)
    assert LeafReason.MERGED not in tree.tree_.leaf_reason
    assert mergeable(tree)


def test_merged_by_weights_as_by_repeats():
    X, y, _, settings = NOISY[0]
    weight = RNG.integers(0, 3, len(y))
    tree = ConfidenceTreeClassifier(**settings, shrinkage=40)
    weighted = clone(tree).fit(X, y, sample_weight=weight).tree_
    repeated = tree.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).tree_
    assert LeafReason.MERGED in weighted.leaf_reason
    assert weighted.stops.tobytes() == repeated.stops.tobytes()
    for name in ("counts", "feature", "value"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_merged_leaves_go_on_growing():
    X, y, _, settings = NOISY[0]
    tree = ConfidenceTreeClassifier(**settings, grace_period=20).fit(X, y)
    n_nodes, shrinkage = tree.tree_.node_count, tree.tree_.shrinkage
    assert shrinkage > 0.0
    for _ in range(8):
        tree.partial_fit(X, y)
    assert tree.tree_.node_count > n_nodes
    assert tree.tree_.shrinkage == shrinkage
    assert set(reasons(tree)) <= {"PURE", "WAITING"}
