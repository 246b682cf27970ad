"""P-values and levels of an audit agree with what can be written down in full."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples
from scipy import stats

from skconftree.bounds import fisher_pvalue, log_evalue
from skconftree.inspection._audit import (
    _max_evidence,
    countable,
    drawn_pvalue,
    holm,
    least_pvalue,
    pvalue_of,
    top_down,
)


def fillings(total, room):
    """Every way to put so many rows into parts with so much room."""
    for some in itertools.product(*(range(most + 1) for most in room)):
        if sum(some) == total:
            yield some


def all_tables(branches, classes):
    """All tables of these margins, and the chance of each."""
    if not branches:
        yield ()
        return
    for first in fillings(branches[0], classes):
        left = [most - taken for most, taken in zip(classes, first, strict=True)]
        for others in all_tables(branches[1:], left):
            yield (first, *others)


def chance(table):
    def product(counts):
        return math.prod(map(math.factorial, counts))

    branches = [sum(row) for row in table]
    classes = [sum(column) for column in zip(*table, strict=True)]
    cells = [cell for row in table for cell in row]
    return Fraction(
        product(branches) * product(classes),
        math.factorial(sum(branches)) * product(cells),
    )


def pvalues(table):
    """P-value of a table, and the smallest of all tables of its margins."""
    branches = [sum(row) for row in table]
    classes = [sum(column) for column in zip(*table, strict=True)]
    chances = [chance(one) for one in all_tables(branches, classes)]
    assert sum(chances) == 1
    own, least = chance(table), min(chances)
    as_unlikely = sum(one for one in chances if one <= own)
    return float(as_unlikely), float(sum(one for one in chances if one == least))


SMALL = st.integers(2, 3).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=2, max_size=3
    )
)


@given(table=SMALL)
@settings(max_examples=examples(80))
def test_exact_tests_and_their_smallest_values(table):
    p, least = pvalues(table)
    assert fisher_pvalue(table) == pytest.approx(p)
    found = least_pvalue(np.array(table, float))
    assert found <= least * (1 + 1e-9)
    sums = np.sum(table, axis=1), np.sum(table, axis=0)
    if min((some > 0).sum() for some in sums) <= 2:
        assert found == pytest.approx(least)
    # an e-value has an upper limit in the same way
    most = max(log_evalue([*all_tables(*(some.tolist() for some in sums))]))
    assert _max_evidence(np.array(table, float)) >= most - 1e-9


def test_exact_test_of_many_and_of_invalid_tables():
    p = fisher_pvalue([[[9, 2], [3, 8]], [[4, 0], [5, 0]]])
    assert p[0] == pytest.approx(stats.fisher_exact([[9, 2], [3, 8]]).pvalue)
    assert p[1] == 1.0
    assert np.isnan(fisher_pvalue(np.full((6, 8), 40)))
    with pytest.raises(ValueError, match="integer counts. Got 0.5"):
        fisher_pvalue([[0.5, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="finite counts"):
        fisher_pvalue([[-1, 1], [1, 2]])


def test_random_tables_come_close_to_the_exact_test():
    rng = np.random.RandomState(0)
    table = np.array([[7.0, 2.0, 4.0], [3.0, 9.0, 1.0]])
    exact = float(fisher_pvalue(table))
    drawn = drawn_pvalue(table, 0.05, rng)
    assert abs(drawn - exact) < 4 * np.sqrt(exact * (1 - exact) / 9_999)
    # strong evidence: none of the draws, as many of which are made as the level needs
    table = np.array([[90.0, 0.0, 4.0], [0.0, 90.0, 8.0]])
    assert drawn_pvalue(table, 0.05, rng) == 1 / 10_000
    assert drawn_pvalue(table, 0.0005, rng) == pytest.approx(1 / 20_001)


def test_which_test_is_said():
    rng = np.random.RandomState(0)
    small = np.array([[3.0, 1.0], [1.0, 3.0]])
    many = np.full((5, 9), 30.0) + np.eye(5, 9) * 8
    sparse = np.full((5, 30), 2.0) + np.eye(5, 30) * 3
    assert pvalue_of(small, 0.05, rng).method == "exact"
    chi2 = pvalue_of(many, 0.05, rng)
    assert chi2.method == "chi-squared"
    assert chi2.p == pytest.approx(stats.chi2_contingency(many).pvalue)
    first = pvalue_of(sparse, 0.05, np.random.RandomState(3))
    assert first.method == "permutations"
    assert first == pvalue_of(sparse, 0.05, np.random.RandomState(3))


def test_what_cannot_be_reached_is_not_corrected_for():
    # at most 1 can reach .05, but 3 can; 3 can reach .05 / 2; at .05 / 3 there are 2
    least = np.array([0.001, 0.01, 0.02, 0.3, 1.0])
    np.testing.assert_array_equal(countable(least, 0.05), [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(countable(np.full(3, 0.2), 0.05), [0, 0, 0])
    np.testing.assert_array_equal(countable(np.zeros(3), 0.05), [1, 1, 1])
    assert countable(np.array([]), 0.05).shape == (0,)


@given(
    least=st.lists(st.floats(0, 1), min_size=1, max_size=8),
    alpha=st.sampled_from([0.2, 0.05]),
)
def test_countable_as_defined(least, alpha):
    k = next(
        k
        for k in range(1, len(least) + 1)
        if sum(one <= alpha / k for one in least) <= k
    )
    expected = [one <= alpha / k for one in least]
    assert countable(np.array(least), alpha).tolist() == expected


def test_levels_of_holm():
    p = np.array([0.02, 0.001, 0.03, 0.9])
    levels = holm(p, 0.05)
    # .001 <= .05 / 4, then .02 > .05 / 3: it ends there
    np.testing.assert_allclose(levels, [0.05 / 3, 0.05 / 4, 0.05 / 3, 0.05 / 3])
    np.testing.assert_allclose(holm(np.array([0.01, 0.02]), 0.05), [0.025, 0.05])


def test_levels_from_the_root_down():
    # 0 has 1 and 4; 1 has 2 and 3: five splits, of which 1 with all below has three
    parent = np.array([-1, 0, 1, 1, 0])
    every = np.ones(5, bool)
    p = np.array([0.01, 0.03, 0.01, 0.5, 0.5])
    levels = top_down(p, every, parent, 0.05)
    # 0 hands on 3/4 and 1/4 of .05; 1 hands on halves; 2 is confirmed, 3 inherits it
    np.testing.assert_allclose(levels, [0.05, 0.0375, 0.01875, 0.0375, 0.0125])
    # where the root is not confirmed nothing below is reached
    levels = top_down(np.array([0.2, 0, 0, 0, 0]), every, parent, 0.05)
    np.testing.assert_allclose(levels, [0.05, 0, 0, 0, 0])
    # all below 1 are confirmed: 4 has the whole level
    levels = top_down(np.array([0.01, 0, 0, 0, 0.04]), every, parent, 0.05)
    np.testing.assert_allclose(levels[4], 0.05)
    # what cannot be tested is passed through
    is_tested = np.array([False, True, True, True, True])
    levels = top_down(np.array([1.0, 0.03, 1, 1, 1]), is_tested, parent, 0.05)
    np.testing.assert_allclose(levels[1:], [0.0375, 0.01875, 0.01875, 0.0125])
    assert top_down(np.array([]), np.array([], bool), parent[:0], 0.05).shape == (0,)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 9))
def test_levels_in_use_never_exceed_the_total(seed, n):
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(rng.integers(0, one) for one in range(1, n))])
    p = rng.random(n) ** 4
    is_tested = rng.random(n) < 0.8
    levels = top_down(p, is_tested, parent, 0.05)
    waiting = is_tested & (p > levels)
    assert levels[waiting].sum() <= 0.05 + 1e-12
    # more evidence anywhere never costs another split its level
    better = p.copy()
    better[rng.integers(0, n)] = 0.0
    again = top_down(better, np.ones(n, bool), parent, 0.05)
    before = top_down(p, np.ones(n, bool), parent, 0.05)
    kept = (p > before) & (better > again)
    assert (again[kept] >= before[kept] - 1e-12).all()
