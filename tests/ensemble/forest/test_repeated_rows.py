"""Rows that a sample repeats: whether a bound counts them as evidence."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference.cases import PAIRS, settings_of
from reference.effort import examples
from reference.forest import Sampling, grow_forest
from reference.tables import assert_same
from scipy import sparse

from skconftree import ConfidenceForestClassifier
from skconftree.ensemble.forest._model import Sampler

CASES = [("none", "gini"), *dict(PAIRS).items()]  # each bound with one criterion


@st.composite
def problems(draw):
    """Draw a table with equal rows, and what its trees are grown with."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16), label="seed"))
    K = draw(st.sampled_from([2, 3]), label="classes")
    n = draw(st.integers(K + 4, 30), label="rows")
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    X = rng.normal(size=(n, 3)) + y[:, np.newaxis] * rng.choice([0.0, 2.0])
    X[:, :2] = np.rint(X[:, :2])
    if draw(st.booleans(), label="few values"):
        X[:, 2] = X[:, 1] > 0
    if draw(st.booleans(), label="holes"):
        X[rng.random(n) < 0.2, 1] = np.nan
    weight = draw(st.sampled_from([None, "whole", "quarters"]), label="weight")
    if weight is not None:
        weight = rng.integers(1, 20, n) / (4 if weight == "quarters" else 1)
    X_pool = None
    if draw(st.booleans(), label="pool"):
        X_pool = rng.normal(size=(20, 3)).astype(np.float32)
    class_weight = None
    if draw(st.sampled_from([False, False, True]), label="class weight"):
        class_weight = dict(enumerate(rng.uniform(0.3, 3, K).tolist()))
    growth = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "min_samples_leaf": st.sampled_from([2, 5]),
                "max_leaf_nodes": st.integers(2, 6),
            },
        ),
        label="growth",
    )
    return {
        "X": X.astype(np.float32),
        "y": y,
        "K": K,
        "weight": weight,
        "n_draws": draw(st.sampled_from([None, n // 2]), label="draws"),
        "X_pool": X_pool,
        "class_weight": class_weight,
        "max_features": draw(st.integers(1, 3), label="features"),
        "growth": growth,
    }


def grow_both(problem, bound, expected, criterion, count_repeats, n_trees=3):
    """Grow a forest and the reference's."""
    forest = ConfidenceForestClassifier(
        n_trees,
        bound=bound,
        criterion=criterion,
        max_features=problem["max_features"],
        max_samples=problem["n_draws"],
        class_weight=problem["class_weight"],
        sample_weight_kind="frequency",
        count_repeats=count_repeats,
        random_state=0,
        **problem["growth"],
    ).fit(problem["X"], problem["y"], problem["weight"], X_pool=problem["X_pool"])
    class_weight = problem["class_weight"]
    if class_weight is not None:
        class_weight = [class_weight[k] for k in range(problem["K"])]
    roots = grow_forest(
        problem["X"],
        problem["y"],
        seed=forest._model.seed,
        n_trees=n_trees,
        max_features=problem["max_features"],
        weight=problem["weight"],
        n_draws=problem["n_draws"],
        # without a bound, repeats are rows like others also in the evidence
        count_repeats=count_repeats or bound is None,
        n_classes=problem["K"],
        criterion=criterion,
        bound=expected,
        X_pool=problem["X_pool"],
        class_weight=class_weight,
        **problem["growth"],
    )
    return [tree.tree_ for tree in forest.estimators_], roots


@pytest.mark.parametrize(("case", "criterion"), CASES)
@settings(max_examples=examples(20, by_day=2))
@given(problem=problems(), count_repeats=st.booleans())
def test_same_forest(case, criterion, problem, count_repeats):
    bound, expected = settings_of(case, criterion, problem["K"])
    trees, roots = grow_both(problem, bound, expected, criterion, count_repeats)
    assume(not any(root.ambiguous for root in roots))
    for tree, root in zip(trees, roots, strict=True):
        assert_same(tree, root)


@pytest.mark.parametrize(
    ("case", "criterion"), [c for c in CASES if c[0] in ("credible", "possibilistic")]
)
@pytest.mark.parametrize("K", [2, 3])
def test_scores_of_a_bound_with_unlabeled_rows(case, criterion, K):
    """All counts of a node are scaled, and the weights of its children, too."""
    n_compared = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, K, 40)
        X = (rng.normal(size=(40, 3)) + 1.5 * y[:, np.newaxis]).astype(np.float32)
        problem = {
            "X": X,
            "y": y,
            "K": K,
            "weight": None,
            "n_draws": None,
            "X_pool": (3.0 * rng.normal(size=(40, 3))).astype(np.float32),
            "class_weight": None,
            "max_features": 2,
            "growth": {},
        }
        bound, expected = settings_of(case, criterion, K)
        trees, roots = grow_both(problem, bound, expected, criterion, False, 2)
        for tree, root in zip(trees, roots, strict=True):
            if not root.ambiguous:
                assert_same(tree, root)
                n_compared += len(tree.feature) > 1
    assert n_compared > 2


@pytest.mark.parametrize("max_features", [1, 4])
@pytest.mark.parametrize("weight", [None, 3.0])
def test_sorted_features(max_features, weight):
    """Whether few or all features are drawn, and the rows looked up or divided."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(450, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=450) > 0).astype(int)
    problem = {
        "X": X,
        "y": y,
        "K": 2,
        "weight": None if weight is None else np.full(450, weight),
        "n_draws": None,
        "X_pool": None,
        "class_weight": None,
        "max_features": max_features,
        "growth": {"max_depth": 2},
    }
    bound, expected = settings_of("derosa", "gini", 2)
    (tree,), (root,) = grow_both(problem, bound, expected, "gini", False, 1)
    assert_same(tree, root)
    assert len(tree.feature) > 3


def make_table(seed, n_rows=150):
    rng = np.random.default_rng(seed)
    X = np.maximum(rng.normal(size=(n_rows, 6)), 0.0).astype(np.float32)
    y = (X[:, 0] > X[:, 1]).astype(int) ^ (rng.random(n_rows) < 0.2)
    return X, y, rng.integers(1, 5, n_rows).astype(float)


def trees_of(X, y, weight=None, **parameters):
    forest = ConfidenceForestClassifier(
        6, **{"count_repeats": False, "random_state": 1, **parameters}
    )
    return pickle.dumps([t.tree_ for t in forest.fit(X, y, weight).estimators_])


@pytest.mark.parametrize("bound", ["gtest", "credible", "evalue"])
@pytest.mark.parametrize("max_features", ["sqrt", None])
def test_sparse_rows_give_the_forest_of_dense_ones(bound, max_features):
    X, y, weight = make_table(0)
    parameters = {"bound": bound, "max_features": max_features}
    expected = trees_of(X, y, weight, **parameters)
    assert trees_of(sparse.csr_array(X), y, weight, **parameters) == expected


def test_no_repeats_or_no_request():
    X, y, weight = make_table(1)
    for parameters in (
        {"bound": None},
        {"bootstrap": False},
        {"bootstrap": False, "bound": "credible"},
    ):
        expected = trees_of(X, y, weight, count_repeats=True, **parameters)
        assert trees_of(X, y, weight, **parameters) == expected
    assert trees_of(X, y) != trees_of(X, y, count_repeats=True)


def test_less_evidence_makes_smaller_trees():
    X, y, _ = make_table(2, 800)
    n_leaves = [
        np.mean(
            [
                tree.get_n_leaves()
                for tree in ConfidenceForestClassifier(
                    10, bound="gtest", count_repeats=repeats, random_state=0
                )
                .fit(X, y)
                .estimators_
            ]
        )
        for repeats in (True, False)
    ]
    assert n_leaves[0] > 1.2 * n_leaves[1] > 1.2


def test_the_mean_number_of_distinct_rows():
    sampler = Sampler(np.cumsum([1.0, 3.0, 0.5, 2.0, 1e9]), 100, 0)
    counts = np.array([4, 2, 3, 0, 7, 1, 1], dtype=np.uint32)
    found = sampler.distinct_weights(counts)
    # two of three rows: the second is another one in two of three draws
    assert found == pytest.approx([1.0, 5 / 3, 1.0, 0.0, 7.0, 0.0, 0.0], abs=1e-6)
    assert (found * 2**20 == np.rint(found * 2**20)).all()
    rng = np.random.default_rng(0)
    drawn = [len(set(rng.integers(0, 8, 12))) for _ in range(20_000)]
    sampler = Sampler(np.array([8.0]), 12, 0)
    expected = sampler.distinct_weights(np.array([12], dtype=np.uint32))
    assert np.mean(drawn) == pytest.approx(expected[0], abs=0.03)


def test_the_slow_samples_are_the_fast_ones():
    X, y, weight = make_table(3, 40)
    slow = Sampling(X, y, weight, None, 5)
    fast = Sampler(np.array(slow.ends), slow.n_draws, 5)
    for tree in range(3):
        counts = fast.counts(tree)
        assert (counts == slow.counts(tree)).all()
        assert (fast.distinct_weights(counts) == slow.distinct(counts)).all()


def test_scores_of_a_large_block_of_candidates():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 130)
    problem = {
        "X": (rng.normal(size=(130, 1)) + y[:, np.newaxis]).astype(np.float32),
        "y": y,
        "K": 2,
        "weight": rng.integers(1, 4, 130),
        "n_draws": None,
        "X_pool": (3.0 * rng.normal(size=(150, 1))).astype(np.float32),
        "class_weight": None,
        "max_features": 1,
        "growth": {"max_leaf_nodes": 2},
    }
    bound, expected = settings_of("credible", "gini", 2)
    (tree,), (root,) = grow_both(problem, bound, expected, "gini", False, 1)
    assert len(tree.feature) > 1
    assert_same(tree, root)
