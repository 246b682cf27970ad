"""The number expected by chance does not depend on the rule that made the split."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cases import CASES
from reference.effort import examples
from reference.registries import BOUNDS

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import gtest_pvalue
from skconftree.tree import export_text, node_table

RULES = {"none": None} | {
    case: BOUNDS[name](**parameters) for case, (name, parameters, _) in CASES.items()
}


def number_of(row):
    """All that says how strong the evidence of a split is."""
    one = row.evidence
    log10_expected = round(one.log10_expected_by_chance, 8)
    return one.level, log10_expected, one.n_candidates, one.multiplicity


def numbers(model, X):
    """Number of each split, by the rows of its node and its test."""
    path = model.decision_path(X).tocsc()
    return {
        (tuple(path[:, row.node].indices.tolist()), row.test): number_of(row)
        for row in node_table(model)
        if row.branches
    }


@st.composite
def tables(draw):
    """Few values, so that rules agree about many splits; holes, categories, weights."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    n, k = draw(st.sampled_from([40, 150])), draw(st.sampled_from([2, 3]))
    X = rng.integers(0, draw(st.sampled_from([2, 4])), (n, 4)).astype(float)
    X[:, 3] = rng.integers(0, 3, n)
    y = np.where(rng.random(n) < 0.9, X[:, 0] > 0, rng.integers(0, k, n)).astype(int)
    y = np.where((X[:, 3] == 2) & (rng.random(n) < 0.5), k - 1, y)
    if draw(st.booleans(), label="holes"):
        X[rng.random(n) < 0.1, 1] = np.nan
    parameters = {
        "class_weight": draw(st.sampled_from([None, {0: 3.0}]), label="class_weight"),
        "categorical_features": draw(st.sampled_from([None, [3]]), label="nominal"),
        "nominal_splits": draw(st.sampled_from(["binary", "multiway"])),
        "max_depth": draw(st.sampled_from([1, 3])),
    }
    weight = draw(st.sampled_from([None, rng.integers(1, 4, n)]), label="weight")
    return X, y, weight, parameters


@pytest.mark.filterwarnings("ignore")
@settings(deadline=None, max_examples=examples(15))
@given(table=tables())
def test_the_same_split_has_the_same_number_under_every_bound(table):
    X, y, weight, parameters = table
    known, owners = {}, {}
    for rule, bound in RULES.items():
        model = ConfidenceTreeClassifier(bound, pruning=None, shrinkage=0.0)
        model.set_params(**parameters).fit(X, y, sample_weight=weight)
        for split, number in numbers(model, X).items():
            owner = owners.setdefault(split, rule)
            assert number == known.setdefault(split, number), (rule, owner, split)


def flag_and_noise(n=1000):
    """One binary column that says something, and three that do not."""
    rng = np.random.default_rng(7)
    half = n // 2
    y = np.r_[np.arange(half) < 0.45 * half, np.arange(half) < 0.558 * half].astype(int)
    X = np.c_[np.repeat([0.0, 1.0], half), rng.normal(size=(n, 3))]
    return X, y


def test_rules_that_agree_print_one_level():
    X, y = flag_and_noise()
    found = set()
    for bound, delta in (("gtest", None), ("chi2", 0.5), (None, None)):
        model = ConfidenceTreeClassifier(bound, delta=delta, max_depth=1, pruning=None)
        found.add(export_text(model.fit(X, y)).splitlines()[3])
    assert found == {"|--- x0 <= 0  strong    0.003"}


def test_the_number_is_a_times_n_times_p():
    """Features without a candidate do not count, nor do candidates of others."""
    X, y = flag_and_noise()
    X = np.c_[X, np.zeros(len(X))]
    model = ConfidenceTreeClassifier(None, max_depth=1).fit(X, y)
    one = node_table(model)[0].evidence
    p = gtest_pvalue(model.tree_.counts[1:])
    n_values = [len(np.unique(column.astype(np.float32))) for column in X.T]
    assert one.multiplicity == 4 * 1
    assert one.n_candidates == sum(n_values) - len(n_values)
    assert one.expected_by_chance == pytest.approx(4 * p)


def test_streams_of_equal_attempts_have_the_same_number():
    """One attempt at the last row; what comes later does not change the number."""
    rng = np.random.default_rng(0)
    n = 400
    X = np.c_[rng.integers(0, 2, n), rng.normal(size=(n, 2))]
    y = np.where(rng.random(n) < 0.02, 1 - X[:, 0], X[:, 0]).astype(int)
    fitted = ConfidenceTreeClassifier(None, max_depth=1).fit(X, y)
    at_once = node_table(fitted)[0].evidence
    found = {1.0: set(), 3.0: set()}  # j (j + 1) / 2 of the first attempt, see below
    n_rules = 0
    for rule, bound in RULES.items():
        if rule == "credible-volume":  # needs a pool to begin with
            continue
        model = ConfidenceTreeClassifier(
            bound, grace_period=n, max_depth=1, leaf_memory="rows", pruning=None
        )
        model.partial_fit(X, y, classes=[0, 1])
        root = node_table(model)[0]
        if root.feature != 0:
            continue
        one = root.evidence
        # rows that a parent hands over were there at an attempt before the first one
        factor = one.multiplicity / at_once.multiplicity
        found[factor].add((one.level, round(one.log10_expected_by_chance, 7)))
        n_rules += 1
        model.partial_fit(X[:50], 1 - y[:50])
        assert number_of(node_table(model)[0]) == number_of(root)
        assert "of the moment when it was made" in export_text(model)
    assert n_rules >= 6
    for factor, numbers in found.items():
        ((level, log10_expected),) = numbers
        expected = at_once.log10_expected_by_chance + math.log10(factor)
        assert log10_expected == pytest.approx(expected, abs=1e-6)
        assert level == "overwhelming"
    assert "of the moment when it was made" not in export_text(fitted)


def test_a_later_attempt_counts_for_more():
    """The leaf is examined at every tenth row until its number is below delta."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (900, 1)).astype(float)
    y = np.where(rng.random(900) < 0.4, 1 - X[:, 0], X[:, 0]).astype(int)
    multiplicity = []
    for delta in (0.5, 1e-3):
        model = ConfidenceTreeClassifier(
            "gtest", delta=delta, grace_period=10, max_depth=1
        )
        model.partial_fit(X, y, classes=[0, 1])
        one = node_table(model)[0].evidence
        assert one.expected_by_chance == pytest.approx(one.statistic)
        assert one.statistic < delta
        multiplicity.append(one.multiplicity)
    attempts = [(math.sqrt(8 * one + 1) - 1) / 2 for one in multiplicity]
    assert [attempt == int(attempt) for attempt in attempts] == [True, True]
    assert attempts[0] < attempts[1]
