"""Tests of independence agree with SciPy and with brute force.

Why: three of the thesis' formulas for chi-squared pruning are wrong as printed (one
degree of freedom, the CDF for the p-value, a point probability for Fisher's test);
the exact test enumerates tables in compiled recursion, and large counts must
neither lose the statistic nor hang.
"""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples
from scipy import stats
from scipy.special import xlogy
from sklearn.utils._param_validation import InvalidParameterError

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import Chi2Bound, GTestBound, chi2_pvalue, gtest_pvalue


def compact(table):
    table = np.asarray(table, dtype=float)
    return table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]


def columns(total, room):
    """Every way to put `total` rows into outcomes with so much room."""
    if len(room) == 1:
        if total <= room[0]:
            yield (total,)
        return
    for first in range(min(total, room[0]) + 1):
        for rest in columns(total - first, room[1:]):
            yield (first, *rest)


def all_tables(outcome, label):
    if not label:
        if not any(outcome):
            yield ()
        return
    for column in columns(label[0], outcome):
        left = [o - c for o, c in zip(outcome, column, strict=True)]
        for rest in all_tables(left, label[1:]):
            yield (column, *rest)


def slow_exact(table):
    """Freeman and Halton's p-value in exact integer arithmetic."""
    table = compact(table).astype(int)
    outcome, label = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()

    def weight(cells):
        # Number of label sequences with these cells, a whole number.
        out = 1
        for cells_of_outcome in zip(*cells, strict=True):
            out *= math.factorial(sum(cells_of_outcome))
            for cell in cells_of_outcome:
                out //= math.factorial(cell)
        return out

    observed = weight(table.T.tolist())
    weights = [weight(cells) for cells in all_tables(outcome, label)]
    return sum(w for w in weights if w <= observed) / sum(weights)


def slow_chi2(table):
    """Apply the rule with SciPy."""
    table = compact(table)
    if min(table.shape, default=0) < 2:
        return 1.0
    expected = stats.contingency.expected_freq(table)
    if expected.min() < 5:
        return slow_exact(table)
    yates = expected.min() <= 10 and table.shape == (2, 2)
    return stats.chi2_contingency(table, correction=yates).pvalue


def slow_gtest(table):
    table = compact(table)
    if min(table.shape, default=0) < 2:
        return 1.0
    return stats.chi2_contingency(
        table, correction=False, lambda_="log-likelihood"
    ).pvalue


def tables_of(r, k, largest):
    return st.lists(
        st.lists(st.integers(0, largest), min_size=k, max_size=k),
        min_size=r,
        max_size=r,
    )


@settings(deadline=None, max_examples=examples(80))
@given(
    table=st.one_of(
        tables_of(2, 2, 12), tables_of(2, 3, 6), tables_of(3, 2, 5), tables_of(3, 3, 3)
    )
)
def test_small_tables_equal_brute_force(table):
    assert chi2_pvalue(table) == pytest.approx(slow_chi2(table), rel=1e-9)


@settings(deadline=None, max_examples=examples(80))
@given(table=tables_of(2, 2, 40))
def test_two_by_two_equals_scipy(table):
    expected = (
        stats.contingency.expected_freq(compact(table))
        if min(compact(table).shape) == 2
        else np.inf
    )
    if np.min(expected) < 5:
        assert chi2_pvalue(table) == pytest.approx(
            stats.fisher_exact(table).pvalue, rel=1e-6
        )
    else:
        assert chi2_pvalue(table) == pytest.approx(slow_chi2(table), rel=1e-9)


@settings(deadline=None, max_examples=examples(80))
@given(table=st.one_of(tables_of(2, 2, 300), tables_of(3, 4, 90), tables_of(2, 6, 50)))
def test_likelihood_ratio_equals_scipy(table):
    assert gtest_pvalue(table) == pytest.approx(slow_gtest(table), rel=1e-7, abs=1e-300)


@pytest.mark.parametrize("function", [chi2_pvalue, gtest_pvalue])
@settings(deadline=None, max_examples=examples(30))
@given(
    lead=st.lists(st.integers(0, 3), min_size=0, max_size=3),
    r=st.integers(1, 4),
    k=st.integers(1, 4),
    seed=st.integers(0, 2**16),
)
def test_works_over_any_leading_shape(function, lead, r, k, seed):
    counts = np.random.default_rng(seed).integers(0, 5, (*lead, r, k))
    p = function(counts)
    assert np.shape(p) == tuple(lead)
    for index in np.ndindex(*lead):
        assert p[index] == function(counts[index])
        # Neither the order of outcomes nor that of classes matters.
        assert p[index] == pytest.approx(function(counts[index][::-1, ::-1]))


def test_corrections_of_the_thesis():
    independent = [[4, 4], [4, 4]]
    assert chi2_pvalue(independent) == pytest.approx(1.0)
    assert chi2_pvalue(independent, fisher="point") == pytest.approx(0.3807, abs=1e-4)
    # Four classes have three degrees of freedom, and the p-value is the upper tail.
    table = np.array([[30, 20, 25, 25], [20, 30, 25, 25]])
    assert chi2_pvalue(table) == pytest.approx(stats.chi2.sf(4.0, 3))
    # Empty classes do not count.
    padded = np.insert(table, 2, 0, axis=1)
    assert chi2_pvalue(padded) == chi2_pvalue(table)
    assert gtest_pvalue(padded) == gtest_pvalue(table)


@pytest.mark.parametrize(
    ("table", "yates"),
    [
        ([[25, 15], [15, 25]], False),  # expected 20
        ([[12, 8], [8, 12]], True),  # 10
        ([[8, 2], [2, 8]], True),  # 5
        ([[12, 8, 10], [8, 12, 10]], False),  # 10, but three classes
    ],
)
def test_which_test_is_made(table, yates):
    expected = stats.chi2_contingency(table, correction=yates).pvalue
    assert chi2_pvalue(table) == pytest.approx(expected, rel=1e-12)


def test_fractions_are_not_tested_exactly():
    table = [[3.5, 1.0], [0.5, 3.0]]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert chi2_pvalue(table) == pytest.approx(expected, rel=1e-12)


def test_point_probability_of_a_larger_table():
    table = np.array([[3, 1, 0], [1, 2, 4]])
    factorial = [
        math.prod(math.factorial(x) for x in part.ravel())
        for part in (table.sum(axis=1), table.sum(axis=0), table)
    ]
    expected = factorial[0] * factorial[1] / factorial[2] / math.factorial(table.sum())
    assert chi2_pvalue(table, fisher="point") == pytest.approx(expected, rel=1e-12)


def test_too_many_tables_fall_back_to_chi_squared_at_once():
    rng = np.random.default_rng(0)
    many = rng.integers(0, 40, (300, 2, 26))
    start = time.process_time()
    p = chi2_pvalue(many)
    # Counting before enumerating is what keeps this from taking minutes.
    assert time.process_time() - start < 5.0
    for table, value in itertools.islice(zip(many, p, strict=True), 20):
        expected = stats.chi2_contingency(compact(table), correction=False).pvalue
        assert value == pytest.approx(expected, rel=1e-9)


def test_exact_up_to_the_limit_and_not_beyond():
    # A 2 x 2 table has as many tables with its margins as its smallest margin, plus
    # one. Expected 2.5, observed 8: far apart for the two tests.
    n = 4 * 10**9
    for margin, exact in ((99_999, True), (100_000, False)):
        rest = n - 2 * margin + 8
        table = [[8, margin - 8], [margin - 8, rest]]
        if exact:
            expected = stats.hypergeom.sf(7, n, margin, margin)
        else:
            expected = stats.chi2_contingency(table, correction=False).pvalue
        assert chi2_pvalue(table) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
def test_large_counts_keep_the_statistic(n):
    # A small known dependence: both statistics are 4 d^2 / n to first order.
    d = round(1.5 * math.sqrt(n))
    table = np.array([[n + d, n - d], [n - d, n + d]])
    expected = stats.chi2.sf(4 * d * d / n, 1)
    assert gtest_pvalue(table) == pytest.approx(expected, rel=10 / math.sqrt(n))
    assert chi2_pvalue(table) == pytest.approx(expected, rel=1e-7)
    assert gtest_pvalue(np.full((3, 4), n)) == pytest.approx(1.0)
    assert gtest_pvalue([[n, 0], [0, n]]) == 0.0


def test_far_tail_is_not_rounded_to_zero():
    table = [[600, 100], [100, 600]]
    assert 1e-180 < gtest_pvalue(table) < 1e-100
    assert 0 < chi2_pvalue(table) < 1e-100
    assert chi2_pvalue([[80, 0], [3, 400]]) == pytest.approx(
        stats.chi2_contingency([[80, 0], [3, 400]]).pvalue, rel=1e-9
    )


@pytest.mark.parametrize("function", [chi2_pvalue, gtest_pvalue])
def test_nothing_to_test(function):
    for table in (np.zeros((2, 2)), [[5, 3], [0, 0]], [[5, 0], [3, 0]], [[1, 2]]):
        assert function(table) == 1.0


def test_gtest_bound_counts_false_cuts():
    table = [[9, 2], [3, 8]]
    p = gtest_pvalue(table)
    for n_tests in (1, 50, 400):
        bound = GTestBound(delta=n_tests * p * 1.0001)
        answer = bound.evaluate(table, n_tests=n_tests)
        assert answer.split
        assert answer.statistic == pytest.approx(n_tests * p)
        bound.set_params(delta=n_tests * p * 0.9999)
        assert not bound.evaluate(table, n_tests=n_tests).split


@pytest.mark.parametrize(
    ("correction", "factor"), [(None, 1), ("attributes", 7), ("tests", 40)]
)
def test_chi2_bound_applies_its_correction(correction, factor):
    table = [[18, 4], [6, 16]]
    p = chi2_pvalue(table)
    facts = {"attributes": 7, "n_tests": 40}
    for delta, split in ((factor * p * 1.0001, True), (factor * p * 0.9999, False)):
        answer = Chi2Bound(delta=delta, correction=correction).evaluate(table, **facts)
        assert answer.split is split
        assert answer.statistic == pytest.approx(factor * p)


def test_chi2_bound_uses_the_point_probability_on_request():
    table = [[4, 4], [4, 4]]
    assert not Chi2Bound(delta=0.5).evaluate(table).split
    assert Chi2Bound(delta=0.5, fisher="point").evaluate(table).split


def test_false_split_rate_of_one_fixed_test():
    # Level .05 for a test chosen in advance; the exact test of small tables is
    # conservative.
    rng = np.random.default_rng(7)
    for n, low in ((20, 0.0), (400, 0.03)):
        left = rng.binomial(n // 2, 0.4, (4000, 2))
        tables = np.stack([left, n // 2 - left], axis=-1)
        rate = np.mean(chi2_pvalue(tables) <= 0.05)
        assert low < rate < 0.06
        assert np.mean(gtest_pvalue(tables) <= 0.05) < 0.08


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (Chi2Bound(delta=0.0), "delta.*Chi2Bound.*0.0"),
        (Chi2Bound(correction="bonferroni"), "correction.*Chi2Bound.*bonferroni"),
        (Chi2Bound(fisher="exact"), "fisher.*Chi2Bound.*exact"),
        (GTestBound(delta=-1), "delta.*GTestBound.*-1"),
    ],
)
def test_bad_parameters_are_named(bound, message):
    with pytest.raises(InvalidParameterError, match=message):
        bound.evaluate([[3, 1], [1, 3]])


def test_bad_input_of_functions_is_named():
    with pytest.raises(ValueError, match=r"fisher must be.*'exact'"):
        chi2_pvalue([[1, 2], [3, 4]], fisher="exact")
    for function in (chi2_pvalue, gtest_pvalue):
        with pytest.raises(ValueError, match=r"finite counts >= 0\. Got -1"):
            function([[1, -1], [3, 4]])
        with pytest.raises(ValueError, match=r"Got shape \(3,\)"):
            function([1, 2, 3])


def test_prefixes_that_settle_their_completions_are_limited_too():
    # One label of 115 rows over five outcomes alone has more than a million ways,
    # nearly all of which are far beyond the observed table.
    table = [[8, 0, 0, 8, 1], [29, 8, 1, 31, 2], [7, 46, 2, 32, 24]]
    table += [[0, 0, 0, 17, 16], [70, 19, 0, 6, 60]]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert chi2_pvalue(np.array(table, dtype=float)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("n_outcomes", "rows", "exact"),
    [
        (9, [12, 3], True),
        (100, [105, 2], True),  # 5,000 tables
        (400, [420, 3], False),  # 10 million
        (2000, [2010, 8], False),
        (3000, [3010, 1], False),  # few tables, but more than 4,096 cells
        (60, [60, 20, 20, 5], False),
    ],
)
def test_many_outcomes_cost_no_more_than_few(n_outcomes, rows, exact):
    """A nominal column has hundreds of outcomes and nearly one row in each."""
    rng = np.random.default_rng(0)
    table = np.zeros((n_outcomes, len(rows)))
    outcomes = np.concatenate(
        [np.arange(n_outcomes), rng.integers(0, n_outcomes, sum(rows) - n_outcomes)]
    )
    outcomes[-rows[-1] :] = 0
    np.add.at(table, (outcomes, np.repeat(np.arange(len(rows)), rows)), 1.0)
    start = time.process_time()
    p = chi2_pvalue(table)
    assert time.process_time() - start < 1.0
    asymptotic = stats.chi2_contingency(table, correction=False).pvalue
    assert (p != pytest.approx(asymptotic, rel=1e-6)) == exact


@pytest.mark.parametrize("n", [700, 1500])
def test_far_tail_of_even_degrees_of_freedom(n):
    """With 4 degrees of freedom the tail is exp(-x / 2) (1 + x / 2)."""
    table = np.array([[n, n, 0, 0, 9], [0, 5, n, n, n]])
    X = np.repeat([[0.0], [1.0]], table.sum(axis=1), axis=0)
    y = np.concatenate([np.repeat(np.arange(5), row) for row in table])
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0) / table.sum()
    x = xlogy(table, table / expected).sum()
    log10_p = (np.log1p(x) - x) / np.log(10)
    assert log10_p < -281
    evidence = ConfidenceTreeClassifier().fit(X, y).tree_.evidence[0]
    found = evidence["log10_expected_by_chance"]
    assert found == pytest.approx(log10_p, rel=1e-12)
