"""Random small tables with categories and holes, and trees grown from them twice."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from skconftree import ConfidenceTreeClassifier

from .tree import Grower, grow, kept


@st.composite
def problems(draw, max_rows=30, max_categories=6, classes=(2, 3, 4), multiway=None):
    """Draw arguments of fit, which columns are nominal, and growth parameters."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16), label="seed"))
    K = draw(st.sampled_from(classes), label="classes")
    n = draw(st.integers(K + 2, max_rows), label="rows")
    n_pool = draw(st.sampled_from([0, 0, 12]), label="pool")
    signal = draw(st.sampled_from([0.0, 1.0, 3.0]), label="signal")
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    labels = np.concatenate([y, rng.integers(0, K, n_pool)])
    kinds = draw(
        st.lists(
            st.sampled_from(["nominal", "holes", "coded holes"]),
            min_size=1,
            max_size=3,
        ),
        label="features",
    )

    def column(kind):
        values = rng.normal(size=len(labels)) + signal * labels * rng.random()
        if kind == "nominal":
            m = rng.integers(2, max_categories + 1)
            values = rng.permutation(m)[np.clip(np.rint(values), 0, m - 1).astype(int)]
            holes = rng.random(len(labels)) < rng.choice([0.0, 0.2])
            return np.where(holes, np.nan, values)
        if kind == "coded holes":
            values = np.rint(values)
        holes = rng.random(len(labels)) < rng.choice([0.0, 0.1, 0.5])
        holes |= (labels == 1) & (rng.random(len(labels)) < rng.choice([0.0, 0.7]))
        return np.where(holes, np.nan, values)

    table = np.column_stack([column(kind) for kind in kinds]).astype(np.float32)
    weight = draw(st.sampled_from([None, "small", "quarters", "any"]), label="weight")
    sample_weight = {
        None: None,
        "small": rng.integers(1, 4, n).astype(float),
        "quarters": rng.integers(1, 12, n) / 4,
        "any": rng.uniform(0.5, 30, n),
    }[weight]
    class_weight = draw(st.sampled_from([None, None, "dict"]), label="class weight")
    if class_weight == "dict":
        class_weight = dict(enumerate(rng.uniform(0.3, 3, K).tolist()))
    total = n if sample_weight is None else sample_weight.sum()
    growth = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "max_depth": st.integers(1, 4),
                "min_samples_leaf": st.sampled_from([1, 2, int(total / 6) + 1]),
                "min_weight_fraction_leaf": st.sampled_from([0.0, 0.0937]),
                "max_leaf_nodes": st.integers(2, 8),
            },
        ),
        label="growth",
    )
    return {
        "X": table[:n],
        "y": y,
        "K": K,
        "X_pool": table[n:] if n_pool else None,
        "sample_weight": sample_weight,
        "class_weight": class_weight,
        "nominal": [j for j, kind in enumerate(kinds) if kind == "nominal"],
        "multiway": draw(st.booleans(), label="multiway")
        if multiway is None
        else multiway,
        "growth": growth,
    }


def grow_both(problem, bound, expected, criterion, make=Grower, **parameters):
    """Fit a tree to a problem; return it and the slow tree that `make` grows."""
    estimator = ConfidenceTreeClassifier(
        bound=bound,
        criterion=criterion,
        class_weight=problem["class_weight"],
        sample_weight_kind="frequency",
        categorical_features=problem["nominal"],
        nominal_splits="multiway" if problem["multiway"] else "binary",
        **{"pruning": None, **problem["growth"], **parameters},
    ).fit(
        problem["X"],
        problem["y"],
        sample_weight=problem["sample_weight"],
        X_pool=problem["X_pool"],
    )
    X, pool = problem["X"].copy(), problem["X_pool"]
    pool = None if pool is None else pool.copy()
    # codes are places in the sorted categories, a hole is the last of them; what only
    # pool rows have is a stray
    for j in problem["nominal"]:
        X[np.isnan(X[:, j]), j] = np.inf
        if pool is not None:
            pool[np.isnan(pool[:, j]), j] = np.inf
        codes = {c: k for k, c in enumerate(np.unique(X[:, j]).tolist())}
        if pool is not None:
            pool[:, j] = [codes.get(c, len(codes)) for c in pool[:, j].tolist()]
        X[:, j] = [codes[c] for c in X[:, j].tolist()]
    class_weight = problem["class_weight"]
    if class_weight is not None:
        class_weight = [class_weight[k] for k in range(problem["K"])]
    root = grow(
        X,
        problem["y"],
        n_classes=problem["K"],
        criterion=criterion,
        bound=expected,
        sample_weight=problem["sample_weight"],
        X_pool=pool,
        class_weight=class_weight,
        nominal=problem["nominal"],
        multiway=problem["multiway"],
        make=make,
        **problem["growth"],
    )
    return estimator, root


def assert_same(tree, node, i=0):
    """Compare the subtree at node i with the reference's."""
    where = f"node {i} (depth {node.depth}, counts {node.counts})"
    np.testing.assert_allclose(
        tree.counts[i], node.raw_counts, rtol=1e-12, err_msg=where
    )
    assert tree.depth[i] == node.depth, where
    assert tree.n_node_samples[i] == len(node.rows), where
    children = tree.children(i)
    if node.split is None:
        assert len(children) == 0, f"{where} was split"
        return
    test = node.split.test
    assert len(children) == len(node.children), where
    assert tree.feature[i] == test.feature, where
    if test.branches is None:
        assert tree.branches(i) is None
        assert tree.threshold[i] == test.threshold, where
        assert tree.missing_seen[i] == (test.missing_left is not None), where
        if test.missing_left is None:
            larger = node.left.weight > node.right.weight
            assert tree.missing_go_to_left[i] == larger, where
        else:
            assert tree.missing_go_to_left[i] == test.missing_left, where
    else:
        leads_to = {
            code: int(np.flatnonzero(children == child)[0])
            for code, child in enumerate(tree.branches(i))
            if child != i
        }
        assert leads_to == test.branches, where
    for name, value in kept(tree, node.split.evidence).items():
        if name != "runner_up_feature" and not math.isnan(value):
            assert tree.evidence[i][name] == pytest.approx(value, rel=1e-7, abs=1e-9), (
                f"{name}, {where}"
            )
    for child, expected in zip(children, node.children, strict=True):
        assert tree.parent[child] == i
        assert_same(tree, expected, child)
