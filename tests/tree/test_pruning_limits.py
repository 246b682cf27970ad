"""Prunings at the limits of their rules: ties, tolerances, ranges and caches."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import pruning as reference
from reference.contingency import UndecidedError
from reference.golden import table as make_table
from reference.registries import PRUNINGS
from skconftree.tree.pruning._pruning import (
    PessimisticCost,
    c45_errors,
    cheaper_as_leaf,
    merge_leaves,
)

from skconftree import ConfidenceTreeClassifier
from skconftree._compat import InvalidParameterError
from skconftree.bounds import GTestBound, TreeDefaults, binomial_upper
from skconftree.tree import C45Pruning, LeafReason, PessimisticPruning

RANGES = {
    "pessimistic": ("(", 0.0, 1.0, ")"),
    "c45": ("(", 0.0, 0.5, "]"),
    "chi2": ("(", 0.0, 1.0, ")"),
    "ec2": ("[", 0.0, 1.0, "]"),
    "possibilistic": ("(", 0.0, 1.0, ")"),
    "cost_complexity": ("[", 0.0, None, ")"),
}


@pytest.mark.parametrize("name", RANGES)
def test_range_of_the_strength(name):
    opening, low, high, closing = RANGES[name]
    kind = PRUNINGS[name]
    valid = [low + 1e-9] + [low] * (opening == "[")
    invalid = [low - 1e-9] + [low] * (opening == "(")
    if high is None:
        valid.append(1e9)
    else:
        valid += [high - 1e-9] + [high] * (closing == "]")
        invalid += [high + 1e-9] + [high] * (closing == ")")
    for value in valid:
        kind(value).check_parameters()
    for value in invalid:
        with pytest.raises(InvalidParameterError):
            kind(value).check_parameters()


def test_declarations():
    assert {name for name in RANGES if PRUNINGS[name].limits_errors} == {
        *("pessimistic", "c45")
    }
    for value, is_valid in [(None, True), (1e-300, True), (9.0, True), (0.0, False)]:
        pruning = PessimisticPruning(protect_below=value)
        if is_valid:
            pruning.check_parameters()
        else:
            with pytest.raises(InvalidParameterError, match="protect_below"):
                pruning.check_parameters()
    assert GTestBound.defaults == TreeDefaults(
        pruning="pessimistic",
        pruning_confidence=0.1,
        shrinkage=10.0,
        lookahead=8,
        lookahead_confidence=0.02,
        nominal_splits="binary",
    )


def grown(seed, **parameters):
    """A tree of three classes with splits of two and more outcomes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, 90), rng.normal(size=90).round(1)])
    y = (X[:, 0] + rng.integers(0, 3, 90)) % 3
    return ConfidenceTreeClassifier(
        None,
        categorical_features=[0],
        nominal_splits="multiway",
        max_depth=5,
        **parameters,
    ).fit(X, y)


def cheapest(tree, cost, node, as_leaf):
    """Cost of the cheapest tree at a node; sets whether it is a leaf."""
    children = tree.children(node)
    if len(children) == 0:
        return cost[node]
    below = sum(cheapest(tree, cost, child, as_leaf) for child in children)
    as_leaf[node] = cost[node] <= below
    return min(cost[node], below)


def test_cheapest_trees_with_many_ties():
    tree = grown(0).tree_
    rng = np.random.default_rng(1)
    assert tree.n_children.max() > 2
    for _ in range(20):
        cost = rng.integers(0, 4, tree.node_count).astype(float)
        cost[tree.n_children > 0] += rng.integers(0, 5, (tree.n_children > 0).sum())
        expected = np.zeros(tree.node_count, dtype=bool)
        cheapest(tree, cost, 0, expected)
        assert_array_equal(cheaper_as_leaf(tree, cost), expected)
    for n in (tree.node_count - 1, tree.node_count + 1):
        with pytest.raises(ValueError, match=f"cost must have {tree.node_count} elem"):
            cheaper_as_leaf(tree, np.zeros(n))


@pytest.mark.parametrize("confidence", [0.25, 0.02, 1e-12, 1e-200])
@pytest.mark.parametrize("n_leaves", [1, 10, 5000])
def test_pessimistic_cost_is_the_limit_times_the_rows(confidence, n_leaves):
    """Of more leaves than the cache has slots, twice, also of very large ones."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 30, (300, 3)).astype(float)
    counts[100:] *= rng.random((200, 1))
    counts[:9] = np.diag([0.0, 1.0, 7.5]).repeat(3, axis=0)
    large = [[3e8, 2e8, 0], [3e8, 0.5e8, 0], [2e8, 0.2e8, 0.9e8], [5e9, 4e9, 1e9]]
    counts = np.vstack([counts, large, counts[::-1]])
    n = counts.sum(axis=1)
    errors = n - counts.max(axis=1)
    known = np.maximum(n, 1e-9)
    expected = n * binomial_upper(np.minimum(errors, known), known, confidence)
    expected[n == 0] = 0.0
    cost = PessimisticCost(confidence, n_leaves)
    assert_allclose(cost.of_nodes(counts), expected, rtol=1e-9)


@pytest.mark.parametrize("cf", [0.5, 0.25, 1e-3])
def test_c45_errors_at_the_ends_of_their_formulas(cf):
    n = np.array([1.0, 2.0, 3.5, 10.0, 200.0])
    near = [0.0, 1e-9, 0.3, 0.999, 1.0, 1.001, 1.5, 2.0]
    cases = [(m, e) for m, e in product(n, near) if e <= m]
    cases += [(m, m - gap) for m, gap in product(n, [0.0, 0.4, 0.5, 0.6, 0.9])]
    n, errors = np.array(cases).T.copy()
    expected = [reference.c45_errors(e, m, cf) for m, e in cases]
    assert_allclose(c45_errors(n, errors, cf), expected, rtol=1e-9)


@pytest.mark.parametrize(("weight", "n_leaves"), [(3.0001, 2), (3.00005, 1)])
def test_c45_first_drops_splits_that_gain_less_than_the_tolerance(weight, n_leaves):
    """The split makes 15 * weight - 45 errors fewer, and the tolerance is 0.001."""
    X = np.repeat([[0.0], [0.0], [1.0], [1.0]], [45, 15, 45, 5], axis=0)
    y = np.repeat([0, 1, 0, 1], [45, 15, 45, 5])
    tree = ConfidenceTreeClassifier(
        None, class_weight={0: 1.0, 1: weight}, pruning=C45Pruning(0.5)
    )
    assert tree.fit(X, y).get_n_leaves() == n_leaves


def same_tree(tree, expected, node=0):
    """Whether a pruned tree has the splits and rows of the reference."""
    children = tree.children(node)
    return (
        len(children) == len(expected.children)
        and tree.n_node_samples[node] == len(expected.rows)
        and (len(children) == 0 or tree.feature[node] == expected.test.feature)
        and all(map(same_tree, [tree] * 9, expected.children, children))
    )


@pytest.mark.parametrize(
    ("confidence", "nominal_splits"),
    list(product([0.5, 0.25, 0.1], ["binary", "multiway"])),
)
def test_c45_prunes_many_tables_as_defined(confidence, nominal_splits):
    """Small trees, whose expected errors often differ by less than the tolerance."""
    sizes = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(12, 60))
        X = np.column_stack(
            [rng.integers(0, 4, n), rng.integers(0, 3, n), rng.normal(size=n).round(1)]
        ).astype(np.float32)
        y = ((X[:, 0] == 2) ^ (X[:, 2] > 0.5) ^ (rng.random(n) < 0.25)).astype(int)
        y[:2] = 0, 1
        options = {"categorical_features": [0, 1], "nominal_splits": nominal_splits}
        tree = ConfidenceTreeClassifier(None, **options).fit(X, y).tree_
        nested = reference.nested(tree, reference.Data(X, y, np.ones(n), np.ones(2)))
        pruned = ConfidenceTreeClassifier(
            None, pruning=C45Pruning(confidence), **options
        ).fit(X, y)
        try:
            expected = reference.prune(nested, "c45", confidence, "gini")
        except UndecidedError:
            continue
        assert same_tree(pruned.tree_, expected)
        sizes.add(pruned.get_n_leaves())
    assert len(sizes) > 2


def test_the_first_of_equally_large_branches_is_raised():
    """On this table, the branches of a node have as many rows, and one is raised."""
    rng, n = np.random.default_rng(1250), 40
    X = np.column_stack(
        [
            np.arange(n) % 2,
            rng.integers(0, 3, (n, 3))[:, 0],
            rng.normal(size=n).round(1),
        ]
    ).astype(np.float32)
    rate = np.where(X[:, 0] > 0, 0.8, 0.2)
    y = (rng.random(n) < rate).astype(int) ^ (X[:, 2] > 1)
    y[:2] = 0, 1
    tree = ConfidenceTreeClassifier(None).fit(X, y).tree_
    nested = reference.nested(tree, reference.Data(X, y, np.ones(n), np.ones(2)))
    expected = reference.prune(nested, "c45", 0.45)
    pruned = ConfidenceTreeClassifier(None, pruning=C45Pruning(0.45)).fit(X, y)
    assert same_tree(pruned.tree_, expected)
    assert pruned.get_n_leaves() == 8 < tree.n_leaves


def merged_nodes(tree):
    """Nodes that become leaves, by the definition."""
    leaf, label = tree.n_children == 0, tree.proba.argmax(axis=1)
    merged = np.zeros(tree.node_count, dtype=bool)
    for node in np.flatnonzero(~leaf)[::-1]:
        children = tree.children(node)
        is_weak = tree.evidence["log10_expected_by_chance"][node] >= -2.0
        if not is_weak or not (leaf | merged)[children].all():
            continue
        if len(set(label[children])) > 1:
            continue
        if tree.keeps_values and label[node] != label[children[0]]:
            continue
        merged[node] = True
    return merged


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("four nominal", {}),
        ("four nominal", {"shrinkage": 40.0}),
        ("four multiway missing", {"shrinkage": 0.0}),
        ("four multiway missing", {"shrinkage": 3.0}),
        ("plain", {"monotonic_cst": [1, 0, 0, 0, 0], "shrinkage": 0.0}),
        ("plain", {"monotonic_cst": [1, 1, 0, 0, 0], "shrinkage": 40.0}),
        ("plain", {"monotonic_cst": [-1, 0, -1, 0, 0], "shrinkage": 5.0}),
    ],
)
def test_weak_splits_are_merged_as_defined(name, parameters):
    X, y, _, settings = make_table(name, 500)
    rng = np.random.default_rng(4)
    n_merged = 0
    for delta in (1.0, 30.0, 300.0):
        noisy = np.where(rng.random(500) < 0.15, rng.permutation(y), y)
        model = ConfidenceTreeClassifier(
            GTestBound(delta), lookahead=0, pruning=None, **settings, **parameters
        )
        tree = model.fit(X, noisy).tree_
        merged = merged_nodes(tree)
        pruned = merge_leaves(tree)
        expected = tree._pruned(merged, LeafReason.MERGED)
        assert_array_equal(pruned.feature, expected.feature)
        assert_array_equal(pruned.counts, expected.counts)
        assert_array_equal(pruned.leaf_reason, expected.leaf_reason)
        assert (pruned is tree) == (not merged.any())
        n_merged += merged.sum()
    assert n_merged > 0
