"""The compiled tree equals a slow, simple reference, node for node.

Random small tables with everything that can interact: ties, weights, pool rows,
class weights, growth parameters, every bound and criterion. A failure is shrunk
to the smallest table that shows it.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference.cases import CASES, CRITERIA, settings_of
from reference.cases import PAIRS as BOUND_PAIRS
from reference.effort import cases, examples
from reference.registries import STREAM_BOUNDS
from reference.tree import assert_same_evidence, grow

from skconftree import ConfidenceTreeClassifier

PAIRS = [("none", criterion) for criterion in CRITERIA] + BOUND_PAIRS


def test_every_bound_has_a_reference():
    assert set(STREAM_BOUNDS) <= {name for name, _, _ in CASES.values()}


@st.composite
def problems(draw, n_classes=None, max_rows=26):
    """Draw arguments of fit and growth parameters."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16), label="seed"))
    K = (
        draw(st.sampled_from([2, 3, 5]), label="classes")
        if not n_classes
        else n_classes
    )
    n = draw(st.integers(K + 1, max_rows), label="rows")
    signal = draw(st.sampled_from([0.0, 1.0, 4.0]), label="signal")
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])

    def column(kind, labels):
        if kind == "ties":
            return np.rint(rng.normal(size=len(labels)) + signal * labels / 2)
        return rng.normal(size=len(labels)) + signal * labels * rng.random()

    kinds = draw(
        st.lists(st.sampled_from(["ties", "continuous"]), min_size=1, max_size=3),
        label="features",
    )
    X = np.column_stack([column(kind, y) for kind in kinds]).astype(np.float32)
    X_pool = None
    if draw(st.booleans(), label="pool"):
        unseen = rng.integers(0, K, rng.integers(1, 30))
        X_pool = np.column_stack([column(kind, unseen) for kind in kinds])
    weight = draw(
        st.sampled_from([None, "small", "large", "quarters", "any"]), label="weight"
    )
    sample_weight = {
        None: None,
        "small": rng.integers(0, 4, n).astype(float),
        "large": rng.integers(1, 5000, n).astype(float),
        "quarters": rng.integers(1, 12, n) / 4,
        "any": rng.uniform(0.5, 30, n),
    }[weight]
    if sample_weight is not None:
        sample_weight[:K] = np.maximum(sample_weight[:K], 1)  # every class is there
    class_weight = draw(
        st.sampled_from([None, None, "balanced", "dict"]), label="class weight"
    )
    if class_weight == "dict":
        class_weight = dict(enumerate(rng.uniform(0.3, 3, K).tolist()))
    total = n if sample_weight is None else sample_weight.sum()
    growth = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "max_depth": st.integers(1, 4),
                "min_samples_split": st.sampled_from([2, 5, int(total / 3) + 2, 0.21]),
                "min_samples_leaf": st.sampled_from([1, 2, int(total / 6) + 1, 0.07]),
                "min_weight_fraction_leaf": st.sampled_from([0.0, 0.11, 0.0937]),
                "max_leaf_nodes": st.integers(2, 8),
                "min_impurity_decrease": st.sampled_from([0.0, 0.0123, 0.0789]),
            },
        ),
        label="growth",
    )
    return {
        "X": X,
        "y": y,
        "K": K,
        "sample_weight": sample_weight,
        "X_pool": X_pool,
        "class_weight": class_weight,
        "growth": growth,
    }


def grow_both(problem, bound, expected, criterion):
    tree = (
        ConfidenceTreeClassifier(
            bound=bound,
            criterion=criterion,
            class_weight=problem["class_weight"],
            sample_weight_kind="frequency",
            pruning=None,
            shrinkage=0.0,  # which has a reference of its own, in test_shrinkage
            **problem["growth"],
        )
        .fit(
            problem["X"],
            problem["y"],
            sample_weight=problem["sample_weight"],
            X_pool=problem["X_pool"],
        )
        .tree_
    )
    class_weight = problem["class_weight"]
    if class_weight == "balanced":
        per_class = np.bincount(problem["y"], problem["sample_weight"])
        class_weight = per_class.sum() / (problem["K"] * per_class)
    elif class_weight is not None:
        class_weight = [class_weight[k] for k in range(problem["K"])]
    root = grow(
        problem["X"],
        problem["y"],
        n_classes=problem["K"],
        criterion=criterion,
        bound=expected,
        sample_weight=problem["sample_weight"],
        X_pool=problem["X_pool"],
        class_weight=class_weight,
        **problem["growth"],
    )
    return tree, root


def assert_same(tree, node, i=0):
    """Compare the subtree at node i with the reference's."""
    where = f"node {i} (depth {node.depth}, counts {node.counts})"
    np.testing.assert_allclose(
        tree.counts[i], node.raw_counts, rtol=1e-12, err_msg=where
    )
    np.testing.assert_allclose(
        tree.proba[i], node.counts / node.counts.sum(), rtol=1e-12, err_msg=where
    )
    assert tree.depth[i] == node.depth, where
    assert tree.impurity[i] == pytest.approx(node.impurity, abs=1e-12), where
    if node.split is None:
        assert tree.children_left[i] == -1, f"{where} was split"
        assert tree.children_right[i] == -1
        assert tree.feature[i] == -2
        return
    assert tree.children_left[i] != -1, f"{where} was not split"
    found = (tree.feature[i], tree.threshold[i])
    assert found == (node.split.feature, node.split.threshold), where
    assert_same_evidence(tree, i, node.split.evidence, where)
    for child, expected in (
        (tree.children_left[i], node.left),
        (tree.children_right[i], node.right),
    ):
        assert tree.parent[child] == i
        assert_same(tree, expected, child)


@pytest.mark.parametrize(("case", "criterion"), PAIRS)
@settings(
    max_examples=examples(25, by_day=3),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(problem=problems())
def test_same_tree(case, criterion, problem):
    bound, expected = settings_of(case, criterion, problem["K"])
    tree, root = grow_both(problem, bound, expected, criterion)
    assume(not root.ambiguous)
    assert_same(tree, root)
    assert len(tree.feature) == sum(1 for _ in root.walk())


@pytest.mark.parametrize(
    ("case", "criterion"),
    cases(PAIRS, {case: (case, one) for case, one in PAIRS}.values()),
)
def test_bound_answers_both_ways(case, criterion):
    """Otherwise the test above compares leaves with leaves.

    One attribute separates the classes, the other is noise; a heavy table splits
    and a light one does not split to the end.
    """
    rng = np.random.default_rng(5)
    y = np.arange(48) % 3
    X = np.column_stack([y + rng.normal(0, 0.4, 48), rng.normal(size=48)])
    sizes = []
    # Races need many rows; textbook moments of the others cancel there.
    heavy = 3e5 if case.startswith(("hoeffding", "mcdiarmid", "derosa")) else 100.0
    for weight in (1.0, heavy):
        bound, expected = settings_of(case, criterion, 3)
        problem = {
            "X": X,
            "y": y,
            "K": 3,
            "sample_weight": np.full(48, weight),
            "X_pool": None,
            "class_weight": None,
            "growth": {},
        }
        tree, root = grow_both(problem, bound, expected, criterion)
        assert_same(tree, root)
        sizes.append(len(tree.feature))
    full = grow(X, y, n_classes=3, criterion=criterion)
    assert sizes[1] > 1
    if case != "none":
        assert sizes[0] < sum(1 for _ in full.walk())


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_best_first_takes_the_older_of_equal_leaves(criterion):
    """The two children of the root are mirror images of each other."""
    X = np.arange(16.0).reshape(-1, 1)
    half = [0, 0, 0, 1, 0, 0, 0, 0]
    y = np.array(half + [1 - c for c in half[::-1]])
    tree = (
        ConfidenceTreeClassifier(bound=None, criterion=criterion, max_leaf_nodes=3)
        .fit(X, y)
        .tree_
    )
    root = grow(X, y, n_classes=2, criterion=criterion, max_leaf_nodes=3)
    assert root.left.split is not None
    assert root.right.split is None
    assert_same(tree, root)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, np.nextafter(np.float32(1), np.float32(2))],
        [-np.finfo(np.float32).max, np.finfo(np.float32).max],
        [-0.0, 0.0, 1.0],
        [np.finfo(np.float32).smallest_subnormal, 0.0],
        [16777216.0, 16777218.0],
    ],
)
def test_awkward_neighbors(values):
    X = np.repeat(np.array(values, dtype=np.float32), 3).reshape(-1, 1)
    y = (X[:, 0] == X[:, 0].max()).astype(int)
    estimator = ConfidenceTreeClassifier(bound=None).fit(X, y)
    root = grow(X, y, n_classes=2, criterion="gini")
    assert_same(estimator.tree_, root)
    np.testing.assert_array_equal(estimator.predict(X), y)


@pytest.mark.parametrize("scale", cases([1e-3, 1.0, 1e6], [1.0]))
def test_more_values_than_one_byte_can_encode(scale):
    """Coded, sorted and counted features find the same cut."""
    rng = np.random.default_rng(2)
    levels = np.column_stack([rng.integers(0, m, 400) for m in (3, 200, 300, 100_000)])
    X = (levels * scale).astype(np.float32)
    y = rng.integers(0, 2, 400) ^ (levels[:, 2] > 140)
    for growth in ({"max_depth": 2}, {"max_depth": 3, "min_samples_leaf": 9}):
        tree = ConfidenceTreeClassifier(bound=None, criterion="gini", **growth).fit(
            X, y
        )
        root = grow(X, y, n_classes=2, criterion="gini", **growth)
        assert_same(tree.tree_, root)
