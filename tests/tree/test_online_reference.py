"""partial_fit grows the tree of a slow, simple reference, node for node.

With leaf_memory="rows" the published online algorithms are reproduced exactly: Update
of BOCT with its recursion and its rows without label (A3), O-PiTree (B5), the race of
VFDT and C-Tree (C5), evidence on fixed cuts (G1). A failure is shrunk to the smallest
stream that shows it.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference.cases import CASES, PAIRS
from reference.effort import cases, crossed, examples
from reference.online_comparison import (
    FIXED_CUTS,
    assert_same,
    family,
    grow_both,
    in_order_of_appearance,
)
from reference.streams import KINDS, make_stream, streams

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound


def set_limits(stream):
    """Rows without label that span every feature, for weights that are volumes."""
    widths = np.ptp(stream.X_pool, axis=0) if stream.X_pool is not None else [0.0]
    if not np.all(np.asarray(widths) > 0.0):
        stream.X_pool = stream.X.copy()
        assume(not np.isnan(stream.X).all(axis=0).any())


GROWTH = {
    "grace_period": st.sampled_from([1, 3, 10]),
    "max_depth": st.integers(1, 4),
    "max_leaf_nodes": st.integers(2, 8),
    "min_samples_split": st.sampled_from([2, 5, 0.21]),
    "min_samples_leaf": st.sampled_from([1, 3, 0.07]),
    "min_weight_fraction_leaf": st.sampled_from([0.0, 0.0937]),
    "min_impurity_decrease": st.sampled_from([0.0, 0.0123]),
    "tie_threshold": st.sampled_from([0.05, 0.5]),
}


@pytest.mark.parametrize("case", ["none", *CASES])
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_same_tree(case, data):
    criteria = [c for name, c in PAIRS if name == case] or [
        "gini",
        "entropy",
        "gain_ratio",
        "ec2",
        "balance",
        "imbalance",
    ]
    criterion = data.draw(st.sampled_from(criteria), label="criterion")
    fixed = family(case, FIXED_CUTS)
    kinds = KINDS if fixed else (*KINDS, "holes")
    stream = data.draw(
        streams(max_rows=70 if fixed else 30, kinds_of_features=kinds), label="stream"
    )
    assume(stream.weights.any())
    if case == "credible-volume":
        set_limits(stream)
    class_weight = data.draw(st.sampled_from([None, None, 0.75]), label="class weight")
    if class_weight is not None:
        class_weight = {c: 0.5 + class_weight * c for c in range(stream.n_classes)}
    growth = data.draw(st.fixed_dictionaries({}, optional=GROWTH), label="growth")
    found, expected = grow_both(case, criterion, stream, class_weight, **growth)
    assume(not expected.ambiguous)
    assert_same(found, expected)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_same_tree_with_categories(case, data):
    """Which come one by one, and each of which may have a branch of its own."""
    criterion = data.draw(st.sampled_from([c for name, c in PAIRS if name == case]))
    fixed = family(case, FIXED_CUTS)
    kinds = ["nominal", "ties" if fixed else "holes"]
    stream = data.draw(
        streams(max_rows=70 if fixed else 40, kinds_of_features=kinds), label="stream"
    )
    assume(stream.weights.any() and stream.nominal)
    if case == "credible-volume":
        set_limits(stream)
    in_order_of_appearance(stream)
    multiway = data.draw(st.booleans(), label="multiway")
    growth = data.draw(st.fixed_dictionaries({}, optional=GROWTH), label="growth")
    found, expected = grow_both(case, criterion, stream, None, multiway, **growth)
    assume(not expected.ambiguous)
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("case", "multiway"),
    crossed(
        ["none", "credible-perks", "credible-volume", "possibilistic", "gtest"],
        [False, True],
    ),
)
def test_trees_with_categories_grow(case, multiway):
    """With rows without label, and with fewer leaves than a test has branches."""
    sizes = []
    for seed in range(examples(12, by_day=2)):
        stream = make_stream(
            seed, 60, kinds=["nominal", "nominal"], signal=4.0, n_pool=20
        )
        in_order_of_appearance(stream)
        growth = {"max_leaf_nodes": 2 + seed} if seed % 2 else {}
        found, expected = grow_both(
            case, "entropy", stream, None, multiway, grace_period=3, **growth
        )
        if not expected.ambiguous:
            assert_same(found, expected)
            assert found.n_leaves <= growth.get("max_leaf_nodes", np.inf)
            sizes.append(found.node_count)
    assert np.mean(sizes) > 2


def test_volumes_after_fit_are_those_of_a_stream():
    """The rows that were fitted give the limits, and nothing is known of a pool."""
    stream = make_stream(3, 500, kinds=["continuous", "nominal"], signal=2.0, n_pool=0)
    in_order_of_appearance(stream)
    first = slice(0, 10)
    stream.y[first] = np.arange(10) == 0  # so that nothing is split yet
    settings = {
        "bound": CredibleBound(delta=0.2, pool_weight="volume"),
        "leaf_memory": "rows",
        "leaf_prediction": "majority",
        "grace_period": 1,
        "categorical_features": stream.nominal,
    }
    fitted = ConfidenceTreeClassifier(**settings, pruning=None)
    fitted.fit(stream.X[first], stream.y[first])
    assert fitted.tree_.node_count == 1
    fitted.partial_fit(stream.X[10:], stream.y[10:])
    streamed = ConfidenceTreeClassifier(**settings)
    streamed.partial_fit(
        stream.X, stream.y, np.unique(stream.y), X_pool=stream.X[first]
    )
    found, expected = fitted.tree_, streamed.tree_
    assert expected.node_count > 3
    assert expected.is_nominal.any()
    np.testing.assert_array_equal(found.feature, expected.feature)
    np.testing.assert_array_equal(found.threshold, expected.threshold)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for name in ("score", "parent_limit", "child_limit"):
        np.testing.assert_array_equal(found.evidence[name], expected.evidence[name])


def test_a_cell_may_be_as_small_as_it_likes():
    """Costs of volumes are compared on their own scale, not on that of the rows."""
    low, high = np.linspace(0.0, 10.0, 200), np.geomspace(11.0, 1e12, 200)
    X = np.concatenate([low, high])[:, np.newaxis]
    y = np.concatenate([low > 5.0, np.full(200, 2)]).astype(int)
    bound = CredibleBound(pool_weight="volume")
    fitted = ConfidenceTreeClassifier(bound, pruning=None).fit(X, y)
    assert fitted.tree_.threshold[fitted.tree_.feature >= 0].tolist() == [10.5, 5.0]
    order = np.random.default_rng(0).permutation(len(y))
    streamed = ConfidenceTreeClassifier(bound, leaf_memory="rows", grace_period=50)
    streamed.partial_fit(X[order], y[order], [0, 1, 2], X_pool=X)
    assert streamed.get_n_leaves() == 3


# Longer streams, on which the published systems really grow: case, criterion, rows,
# features, weight of every row, leaves at least.
GROWING = [
    ("credible", "entropy", 120, ["continuous", "ties"], 1.0, 3),
    ("credible-perks", "gini", 120, ["continuous", "ties"], 1.0, 4),
    ("credible-volume", "kearns_mansour", 120, ["continuous"], 1.0, 3),
    ("possibilistic", "entropy", 60, ["continuous"], 1.0, 4),
    ("hoeffding", "gini", 120, ["continuous", "ties"], 40.0, 3),
    ("mcdiarmid", "gini", 120, ["continuous", "ties"], 4000.0, 3),
    ("derosa", "gini", 120, ["continuous", "ties"], 1.0, 3),
    ("derosa-paper", "gini", 120, ["continuous", "ties"], 30000.0, 3),
    ("derosa-tight", "entropy", 120, ["continuous", "ties"], 1e6, 2),
    ("derosa-anytime", "gini", 120, ["continuous", "ties"], 3000.0, 3),
    ("evalue", "gini", 300, ["continuous", "ties", "constant"], 1.0, 3),
    ("evalue-criterion", "gini", 300, ["continuous", "ties"], 1.0, 4),
    ("bayes_factor", "entropy", 150, ["continuous", "ties"], 1.0, 4),
    ("gtest", "gini", 150, ["continuous", "ties"], 1.0, 4),
    ("chi2-tests", "gini", 150, ["continuous", "ties"], 1.0, 4),
]


@pytest.mark.parametrize(
    ("case", "criterion", "n_rows", "kinds", "weight", "n_leaves"),
    cases(GROWING, GROWING[::3]),
)
def test_published_trees_grow(case, criterion, n_rows, kinds, weight, n_leaves):
    """Otherwise the test above might compare leaves with leaves."""
    stream = make_stream(
        seed=4, n_rows=n_rows, n_classes=3, kinds=kinds, signal=2.0, n_pool=60
    )
    stream.weight = np.full(n_rows, weight)
    found, expected = grow_both(case, criterion, stream)
    assert_same(found, expected)
    assert found.n_leaves >= n_leaves
