"""Missing values and nominal features: the tree is the slow reference's, node for node.

Random small tables in which columns of categories, columns with holes, weights, pool
rows, class weights, growth parameters and every bound meet. The reference writes out
every test with the rows of its outcomes, and checks on the way that the sets of
categories that the compiled search skips are no better.
"""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from reference.cases import CRITERIA, settings_of
from reference.cases import PAIRS as BOUND_PAIRS
from reference.contingency import UndecidedError
from reference.effort import crossed, examples
from reference.tables import assert_same, grow_both, problems

PAIRS = [("none", criterion) for criterion in CRITERIA] + BOUND_PAIRS


@pytest.mark.parametrize(("case", "criterion"), PAIRS)
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems())
def test_same_tree(case, criterion, problem):
    assert_grown_alike(case, criterion, problem)


def assert_grown_alike(case, criterion, problem):
    """Grow both trees and compare them, if rounding decides nothing."""
    bound, expected = settings_of(case, criterion, problem["K"])
    try:
        estimator, root = grow_both(problem, bound, expected, criterion)
    except UndecidedError:
        reject()
    assume(not root.ambiguous)
    assert_same(estimator.tree_, root)
    assert estimator.tree_.node_count == sum(1 for _ in root.walk())
    if problem["sample_weight"] is None:
        # rows arrive where they were counted
        arrived = np.zeros_like(estimator.tree_.counts)
        np.add.at(arrived, (estimator.apply(problem["X"]), problem["y"]), 1)
        leaf = estimator.tree_.n_children == 0
        np.testing.assert_array_equal(arrived[leaf], estimator.tree_.counts[leaf])


@pytest.mark.parametrize("case", ["chi2", "chi2-tests", "chi2-attributes"])
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(24, 4, classes=(3, 4), multiway=True))
def test_tables_of_many_classes_and_outcomes(case, problem):
    assert_grown_alike(case, "entropy", problem)


@pytest.mark.parametrize(
    ("case", "criterion"),
    crossed(["gtest", "chi2-attributes", "chi2-tests"], ["entropy", "gini"]),
)
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**16),
    K=st.sampled_from([2, 3]),
    weighted=st.booleans(),
    reweighted=st.booleans(),
    multiway=st.booleans(),
)
def test_attributes_with_very_different_numbers_of_tests(
    case, criterion, seed, K, weighted, reweighted, multiway
):
    """Numbers beside columns of 2 to 30 categories, all of which say something."""
    rng = np.random.default_rng(seed)
    exact = case != "gtest"  # exact tests are slow when written for reading
    n = int(rng.choice([12, 18] if exact else [12, 30, 90]))
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    fine = y + rng.normal(size=n) * rng.choice([0.5, 1.0, 3.0])
    coarse = np.rint(y + rng.normal(size=n))
    columns = [fine, coarse] + [
        (3 * y * rng.integers(0, 2) + rng.integers(0, m, n)) % m for m in (2, 7, 14, 30)
    ]
    problem = {
        "X": np.column_stack(columns).astype(np.float32),
        "y": y,
        "K": K,
        "X_pool": None,
        "sample_weight": rng.integers(1, 4, n).astype(float) if weighted else None,
        "class_weight": dict(enumerate(rng.uniform(0.3, 3.0, K).tolist()))
        if reweighted
        else None,
        "nominal": [2, 3, 4, 5],
        "multiway": multiway and not exact,
        "growth": {},
    }
    bound, expected = settings_of(case, criterion, K)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No split uses column")
        try:
            estimator, root = grow_both(problem, bound, expected, criterion)
        except UndecidedError:
            reject()
    assume(not root.ambiguous)
    assert_same(estimator.tree_, root)


@pytest.mark.parametrize(
    ("criterion", "case"),
    crossed(CRITERIA, ["none", "gtest", "possibilistic", "evalue"]),
)
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**16), K=st.sampled_from([2, 3, 5]))
def test_more_categories_than_are_enumerated(case, criterion, seed, K):
    if (case, criterion) not in PAIRS:
        pytest.skip("the bound does not take this criterion")
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(K), rng.integers(0, K, 70)])
    X = np.clip(3 * y + rng.integers(0, 9, len(y)), 0, 16).astype(np.float32)
    X = rng.permutation(300)[X.astype(int)][:, np.newaxis].astype(np.float32)
    problem = {
        "X": X,
        "y": y,
        "K": K,
        "X_pool": None,
        "sample_weight": None,
        "class_weight": None,
        "nominal": [0],
        "multiway": False,
        "growth": {},
    }
    bound, expected = settings_of(case, criterion, K)
    estimator, root = grow_both(problem, bound, expected, criterion)
    assume(not root.ambiguous)
    assert_same(estimator.tree_, root)
