"""When a growing leaf attempts a split, and which rows are evidence then."""

import pickle

import numpy as np
import pytest
from reference.leaf_state import GAUSSIAN, HISTOGRAM, ROWS, read_leaves
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import (
    BayesFactorBound,
    Chi2Bound,
    EValueBound,
    GTestBound,
    HoeffdingBound,
)

NEVER = GTestBound(1e-300)


def noise(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, 3), dtype=np.float32), rng.integers(0, 2, n)


def steps(n, seed=0):
    """Four boxes of two features, of which the first alone tells most."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4), dtype=np.float32)
    return X, (X[:, 0] > 0.5) * 2 + (X[:, 1] > 0.5)


def attempts_of(weight, least, most):
    """Number of looks at a leaf that never splits."""
    looks, last, seen = 0, 0.0, 0.0
    for w in weight:
        seen += w
        if seen - last >= min(max(least, np.sqrt(seen)), most):
            looks, last = looks + 1, seen
    return looks


@pytest.mark.parametrize("n", [49, 50, 2_600, 15_000])
def test_attempts_follow_the_root_of_the_rows(n):
    X, y = noise(n)
    tree = ConfidenceTreeClassifier(NEVER).partial_fit(X, y, [0, 1])
    assert read_leaves(tree)[0].attempt == attempts_of(np.ones(n), 50, 100)
    fixed = ConfidenceTreeClassifier(NEVER, grace_period=40).partial_fit(X, y, [0, 1])
    assert read_leaves(fixed)[0].attempt == n // 40


def test_attempts_count_weight():
    X, y = noise(3_000)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    tree = ConfidenceTreeClassifier(NEVER)
    tree.partial_fit(X, y, [0, 1], sample_weight=weight)
    assert read_leaves(tree)[0].attempt == attempts_of(weight, 50, 100)


def test_a_bound_that_judges_by_a_leaf_s_own_rows_waits():
    X, y = noise(1_000)
    tree = ConfidenceTreeClassifier(EValueBound(1e-300)).partial_fit(X, y, [0, 1])
    assert read_leaves(tree)[0].attempt == 10


def test_the_root_in_a_forest_waits_for_sixty_rows():
    X, y = noise(5_000)
    forest = ConfidenceForestClassifier(2, bound=NEVER, bootstrap=False)
    for tree in forest.partial_fit(X, y, [0, 1]).estimators_:
        assert read_leaves(tree)[0].attempt == attempts_of(np.ones(5_000), 60, 100)
    fixed = clone(forest).set_params(grace_period=25).partial_fit(X, y, [0, 1])
    assert read_leaves(fixed.estimators_[0])[0].attempt == 5_000 // 25


def test_small_leaves_of_a_forest_attempt_sooner():
    """A leaf waits for its share of what the root would wait for."""
    X, y = noise(600)
    few = X[:, 0] > 0.9
    y = y + 2 * few
    forest = ConfidenceForestClassifier(1, bound=GTestBound(1e-12), bootstrap=False)
    (tree,) = forest.partial_fit(X, y, range(4)).estimators_
    most, least = (read_leaves(tree)[node] for node in (1, 2))
    assert tree.tree_.node_count == 3
    assert most.attempt == pytest.approx((600 - 60) / 60, abs=1)
    assert least.attempt == least.n_fresh // 25 > 0
    assert least.n_fresh < 60


def test_a_row_repeated_six_times_causes_one_attempt():
    X, y = noise(3_000)
    expected = attempts_of(np.ones(3_000), 60, 100)
    for settings in ({}, {"leaf_prediction": "nba"}):
        forest = ConfidenceForestClassifier(
            2, bound=NEVER, online_rate=6.0, random_state=0, **settings
        )
        for start in (None, 300):  # one goes on growing
            if start:
                forest = clone(forest).fit(X[:start], y[:start])
            for tree in forest.partial_fit(X[start:], y[start:], [0, 1]).estimators_:
                looks = read_leaves(tree)[0].attempt
                assert abs(looks - expected) <= 8
                assert looks > 30
    fixed = ConfidenceForestClassifier(
        1, bound=NEVER, online_rate=6.0, grace_period=40, random_state=0
    )
    (tree,) = fixed.partial_fit(X, y, [0, 1]).estimators_
    assert read_leaves(tree)[0].attempt > 6 * 3_000 / 40 * 0.8


def test_attempts_do_not_depend_on_pickles_and_chunks():
    X, y = steps(4_000)
    whole = ConfidenceTreeClassifier().partial_fit(X, y, range(4))
    parts = ConfidenceTreeClassifier()
    for start in range(0, len(y), 333):
        rows = slice(start, start + 333)
        parts.partial_fit(X[rows], y[rows], range(4))
        parts = pickle.loads(pickle.dumps(parts))
    assert whole.tree_.node_count > 5
    assert pickle.dumps(parts._model) == pickle.dumps(whole._model)


@pytest.mark.parametrize(
    "bound", [GTestBound(), Chi2Bound(), BayesFactorBound()], ids=str
)
def test_inherited_rows_are_evidence(bound):
    """The children of the first split look at all rows that they have."""
    X, y = steps(300)
    tree = ConfidenceTreeClassifier(bound, grace_period=100, leaf_memory="rows")
    for begin, end in ((0, 200), (200, 300)):
        tree.partial_fit(X[begin:end], y[begin:end], range(4))
    first = tree.tree_
    assert first.node_count >= 3
    leaf = next(iter(read_leaves(tree).values()))
    assert leaf.handed
    assert leaf.n_inherited > 0
    assert leaf.fresh_moments
    forest = ConfidenceForestClassifier(1, bound=bound, bootstrap=False)
    forest.partial_fit(X, y, range(4))
    leaf = next(iter(read_leaves(forest.estimators_[0]).values()))
    assert leaf.handed
    assert not leaf.fresh_moments


@pytest.mark.parametrize(
    ("bound", "memory", "expected"),
    [
        (GTestBound(), "rows", {(ROWS, True)}),
        (GTestBound(), "gaussian", {(GAUSSIAN, False)}),
        (
            GTestBound(),
            "histogram",
            {(ROWS, True), (HISTOGRAM, True), (HISTOGRAM, False)},
        ),
        (EValueBound(), "rows", {(ROWS, False)}),
        (HoeffdingBound(tie_threshold=0.2), "rows", {(ROWS, False)}),
        (None, "rows", {(ROWS, False)}),
    ],
    ids=str,
)
def test_which_rows_are_inherited(bound, memory, expected):
    """Never fractions, and never what a promise forbids; no bound counts all anyway."""
    X, y = steps(4_000)
    tree = ConfidenceTreeClassifier(bound, leaf_memory=memory, grace_period=20)
    tree.partial_fit(X, y, range(4))
    leaves = read_leaves(tree).values()
    assert len(leaves) > 1
    found = {(leaf.memory, leaf.handed) for leaf in leaves}
    assert found == expected
    for leaf in leaves:
        whole = (leaf.held == np.rint(leaf.held)).all()
        assert whole or not leaf.handed
