"""The evidence bounds keep their guarantees.

Why: `evalue` promises that pure noise is left alone however often one looks, a
promise no other tree library makes. Here it is compared with a slow reference,
with the betting story behind it, and with simulated streams.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import cases, examples
from skconftree.tree._settings import GrowthSettings
from sklearn.utils._param_validation import InvalidParameterError

from skconftree.bounds import (
    BayesFactorBound,
    EValueBound,
    log_bayes_factor,
    log_evalue,
)
from skconftree.tables._growth_data import MemoryData
from skconftree.tree.batch._grow import grow


def log_dm(counts, a):
    """Dirichlet-multinomial likelihood, straight from the formula."""
    n, k = sum(counts), len(counts)
    return (
        math.lgamma(k * a)
        - math.lgamma(n + k * a)
        + sum(math.lgamma(c + a) - math.lgamma(a) for c in counts)
    )


def slow_log_evalue(table, a):
    node = np.sum(table, axis=0)
    null = sum(c * math.log(c / node.sum()) for c in node if c > 0)
    return sum(log_dm(row, a) for row in table) - null


def slow_log_bayes_factor(table, a):
    return sum(log_dm(row, a) for row in table) - log_dm(np.sum(table, axis=0), a)


tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 60), min_size=k, max_size=k), min_size=2, max_size=4
    )
)


@settings(deadline=None, max_examples=examples(60))
@given(table=tables, a=st.floats(0.05, 3.0))
def test_equals_the_formula(table, a):
    assert log_evalue(table, a=a) == pytest.approx(slow_log_evalue(table, a), abs=1e-9)
    assert log_bayes_factor(table, a=a) == pytest.approx(
        slow_log_bayes_factor(table, a), abs=1e-9
    )


@pytest.mark.parametrize("k", [2, 3, 7])
def test_is_the_likelihood_of_predictions_made_before_each_label(k):
    rng = np.random.default_rng(k)
    outcome, label = rng.integers(0, 3, 80), rng.integers(0, k, 80)
    table, log_m = np.zeros((3, k)), 0.0
    for z, c in zip(outcome, label, strict=True):
        log_m += math.log((table[z, c] + 0.5) / (table[z].sum() + 0.5 * k))
        table[z, c] += 1
    node = table.sum(axis=0)
    log_null = float(np.sum(node * np.log(node / node.sum())))
    assert log_evalue(table) == pytest.approx(log_m - log_null, abs=1e-9)


@settings(deadline=None, max_examples=examples(40))
@given(
    lead=st.lists(st.integers(0, 3), min_size=0, max_size=3),
    r=st.integers(1, 4),
    k=st.integers(1, 5),
    seed=st.integers(0, 2**16),
)
def test_works_over_any_leading_shape(lead, r, k, seed):
    counts = np.random.default_rng(seed).integers(0, 9, (*lead, r, k))
    for function, slow in (
        (log_evalue, slow_log_evalue),
        (log_bayes_factor, slow_log_bayes_factor),
    ):
        out = function(counts, a=0.5)
        assert np.shape(out) == tuple(lead)
        for index in np.ndindex(*lead):
            assert out[index] == pytest.approx(slow(counts[index], 0.5), abs=1e-9)


def test_memory_layout_does_not_matter():
    counts = np.random.default_rng(0).integers(0, 50, (4, 6, 2, 3))
    expected = log_evalue(counts)
    np.testing.assert_array_equal(log_evalue(np.asfortranarray(counts)), expected)
    np.testing.assert_array_equal(
        log_evalue(counts.astype(np.float32)[:, ::-1])[:, ::-1], expected
    )


def stirling_log_evalue(table, a):
    """Use Stirling's series in extended precision; for counts above 1e3 only."""
    x = np.asarray(table, dtype=np.longdouble)
    half_log_2pi = np.log(2 * np.pi * np.longdouble(1)) / 2

    def log_gamma(z):
        return (z - 0.5) * np.log(z) - z + half_log_2pi + 1 / (12 * z)

    k, node = x.shape[1], x.sum(axis=0)
    log_m = (
        x.shape[0] * (math.lgamma(k * a) - k * math.lgamma(a))
        + log_gamma(x + a).sum()
        - log_gamma(x.sum(axis=1) + k * a).sum()
    )
    return float(log_m - (node * np.log(node / node.sum())).sum())


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
def test_is_stable_for_large_counts(n):
    table = np.array([[n, n // 2, n // 3], [n // 2 + 7, n, n // 5]])
    near = np.array([[n, n // 2], [n, n // 2 + 5]])
    for counts in (table, near):
        assert log_evalue(counts) == pytest.approx(
            stirling_log_evalue(counts, 0.5), rel=1e-12, abs=1e-13 * n
        )


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("a", [1e-3, 0.5, 7.0])
def test_tables_hold_what_the_score_computes_without_them(k, a):
    rng = np.random.default_rng(k)
    for largest in (1, 30, 40, 700, 50_000):
        total = rng.integers(0, largest + 1, k).astype(float)
        left = np.floor(total * rng.uniform(size=(200, k)))
        computed = EValueBound(a=a).kernel("gini", k).score
        tabulated = EValueBound(a=a).kernel("gini", k).score
        # the last size leaves the node beyond the table, children within
        for n_max in (int(total.sum()), int(total.sum()) // 2):
            tabulated.reserve(n_max)
            for from_sums in (False, True):
                np.testing.assert_allclose(
                    tabulated.evaluate(left, total, from_sums=from_sums),
                    computed.evaluate(left, total),
                    rtol=1e-13,
                    atol=1e-13 * (1 + total.sum()),
                )


def every_cut(X, y, bound=EValueBound):
    """log E of every cut of every feature, slowly: [(feature, cut, log E)]."""
    evidence = log_evalue if bound is EValueBound else log_bayes_factor
    total = np.bincount(y, minlength=y.max() + 1)
    out = []
    for feature in range(X.shape[1]):
        for cut in np.unique(X[:, feature])[:-1]:
            left = np.bincount(y[X[:, feature] <= cut], minlength=len(total))
            out.append((feature, cut, float(evidence([left, total - left]))))
    return out


@pytest.mark.parametrize("k", [2, 4])
def test_evidence_of_a_node_counts_every_test_that_matters(k):
    # Features that differ by hundreds in log E and a hundredfold in tests: what is
    # far below the best test must not change the sum, what is near must be in it.
    rng = np.random.default_rng(k)
    y = rng.integers(0, k, 600)
    X = rng.integers(0, 200, (600, 4)).astype(np.float32)
    X[:, 1] = y + (rng.random(600) < 0.3)
    X[:, 3] = y + rng.normal(scale=1.5, size=600)
    for columns in ([0, 2], [0, 3], [3, 1, 0], [1]):
        part = np.ascontiguousarray(X[:, columns])
        cuts = every_cut(part, y)
        by_feature = [
            np.logaddexp.reduce([e for f, _, e in cuts if f == j])
            - math.log(sum(f == j for f, _, _ in cuts))
            for j in range(len(columns))
        ]
        log_e = np.logaddexp.reduce(by_feature) - math.log(len(columns))
        bound = EValueBound(delta=0.999, per_path=False)
        settings = GrowthSettings(bound=bound, max_depth=1)
        tree = grow(MemoryData(part, y, k), settings)
        assert tree.n_leaves == (2 if log_e > -math.log(0.999) else 1)
        if tree.n_leaves == 2:
            confidence = tree.evidence["statistic"][0]
            assert math.log(confidence) == pytest.approx(-log_e, rel=1e-10)


@pytest.mark.parametrize("bound", [EValueBound, BayesFactorBound])
def test_evidence_or_criterion_chooses_the_test(bound):
    # Gini and evidence weigh the size of the children differently.
    rng = np.random.default_rng(11)
    chosen = set()
    for _ in range(20):
        y = rng.integers(0, 2, 200)
        X = (y[:, None] + rng.normal(scale=1.3, size=(200, 2))).astype(np.float32)
        cuts = every_cut(X, y, bound)
        feature, cut, _ = max(cuts, key=lambda c: c[2])
        trees = [
            grow(
                MemoryData(X, y, 2),
                GrowthSettings(bound=bound(0.9, choose=choose), max_depth=1),
            )
            for choose in ("evidence", "criterion")
        ]
        assert trees[0].feature[0] == feature
        above = X[:, feature][X[:, feature] > cut].min()
        assert cut <= trees[0].threshold[0] < above
        plain = grow(MemoryData(X, y, 2), GrowthSettings(max_depth=1))
        assert trees[1].feature[0] == plain.feature[0]
        assert trees[1].threshold[0] == plain.threshold[0]
        chosen.add(trees[0].threshold[0] == trees[1].threshold[0])
    assert chosen == {True, False}


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("integral", [True, False])
def test_scan_scores_equal_the_public_function(k, integral):
    rng = np.random.default_rng(3)
    total = rng.integers(5, 400, k).astype(float)
    left = np.floor(total * rng.uniform(size=(30, k)))
    if not integral:
        total += 0.25
        left += 0.125
    score = EValueBound().kernel("gini", k).score
    assert score.additive
    expected = [-(log_dm(row, 0.5) + log_dm(total - row, 0.5)) for row in left.tolist()]
    for from_sums in (False, True):
        np.testing.assert_allclose(
            score.evaluate(left, total, from_sums=from_sums), expected, rtol=1e-12
        )


def test_no_rows_no_evidence():
    assert log_evalue(np.zeros((2, 3))) == 0.0
    assert log_bayes_factor(np.zeros((2, 3))) == 0.0


def test_default_prior_of_the_bayes_factor_is_one_over_k():
    table = [[9, 1, 0, 2], [1, 8, 3, 0]]
    assert log_bayes_factor(table) == log_bayes_factor(table, a=0.25)
    expected = 1 / (1 + math.exp(log_bayes_factor(table)))
    answer = BayesFactorBound().evaluate(table)
    assert answer.statistic == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("depth", [0, 3])
def test_evalue_splits_when_the_evidence_reaches_the_nodes_share(depth):
    table = [[14, 2], [4, 12]]
    e = math.exp(log_evalue(table))
    share = (depth + 1) * (depth + 2)
    for delta, split in ((share / e * 1.0001, True), (share / e * 0.9999, False)):
        answer = EValueBound(delta=delta).evaluate(table, depth=depth)
        assert answer.split is split
        assert answer.statistic == pytest.approx(1 / e)
    anywhere = EValueBound(delta=1.0001 / e, per_path=False)
    assert anywhere.evaluate(table, depth=depth).split


def test_bayes_factor_splits_when_the_odds_exceed_the_threshold():
    table = [[9, 3], [4, 8]]
    odds = math.exp(log_bayes_factor(table))
    for prior_odds in (0.2, 1.0, 5.0):
        posterior = 1 / (1 + prior_odds * odds)
        for delta, split in ((posterior * 1.0001, True), (posterior * 0.9999, False)):
            bound = BayesFactorBound(delta=delta, prior_odds=prior_odds)
            assert bound.evaluate(table).split is split


def test_extreme_evidence_neither_overflows_nor_turns_round():
    strong, weak = [[10**6, 0], [0, 10**6]], [[10**6, 10**6], [10**6, 10**6]]
    for bound in (EValueBound(), BayesFactorBound()):
        assert bound.evaluate(strong).split
        assert bound.evaluate(strong).statistic == 0.0
        assert not bound.evaluate(weak).split
        assert bound.evaluate(weak).statistic == pytest.approx(1.0, abs=1e-2)


def test_choice_of_the_test_is_passed_on_to_the_scan():
    for bound in (EValueBound, BayesFactorBound):
        assert bound().kernel("gini", 2).chooses
        assert not bound(choose="criterion").kernel("gini", 2).chooses


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (EValueBound(delta=1.0), "delta.*EValueBound.*1.0"),
        (EValueBound(delta="small"), "delta.*EValueBound.*small"),
        (EValueBound(a=0.0), "a.*EValueBound.*0.0"),
        (EValueBound(choose="both"), "choose.*EValueBound.*both"),
        (BayesFactorBound(delta=0), "delta.*BayesFactorBound.*0"),
        (BayesFactorBound(prior_odds=-1.0), "prior_odds.*BayesFactorBound.*-1"),
        (BayesFactorBound(a=-0.5), "a.*BayesFactorBound.*-0.5"),
    ],
)
def test_bad_parameters_are_named(bound, message):
    with pytest.raises(InvalidParameterError, match=message):
        bound.evaluate([[3, 1], [1, 3]])


@pytest.mark.parametrize("function", [log_evalue, log_bayes_factor])
@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([1, 2], r"shape \(2,\)"),
        ([[1, -2], [0, 3]], "-2"),
        ([[1, float("nan")], [0, 3]], "nan"),
        ([["a", "b"], ["c", "d"]], "tables must be an array of counts"),
        (np.zeros((3, 0)), r"\(3, 0\)"),
    ],
)
def test_bad_tables_are_named(function, tables, message):
    with pytest.raises(ValueError, match=message):
        function(tables)


def test_bad_pseudo_count_is_named():
    with pytest.raises(ValueError, match=r"a must be in \[1e-100, .*\]. Got 0.0"):
        log_evalue([[1, 2], [3, 4]], a=0)


# Simulated leaves: 10 attributes with 10 fixed cuts each, one row at a time.


def simulate(rng, n, classes=None, planted=None):
    """Log E of the node after every row, uniform over the 100 cuts."""
    bins = rng.integers(0, 11, (n, 10))
    if planted is not None:
        left = bins[:, 0] <= 4
        y = (rng.random(n) < np.where(left, planted, 1 - planted)).astype(int)
        k = 2
    else:
        k = len(classes)
        y = rng.choice(k, n, p=classes)
    one_hot = np.eye(k)[y]
    node = np.cumsum(one_hot, axis=0)
    log_e = np.empty((n, 10, 10))
    for cut in range(10):
        goes_left = bins <= cut
        left = np.cumsum(goes_left[:, :, None] * one_hot[:, None, :], axis=0)
        tables = np.stack([left, node[:, None, :] - left], axis=2)
        log_e[:, :, cut] = log_evalue(tables)
    return np.logaddexp.reduce(log_e.reshape(n, 100), axis=1) - math.log(100)


@pytest.mark.parametrize(
    "classes",
    [[0.5, 0.5], [0.1, 0.9], [0.2] * 5],
    ids=["balanced", "rare", "five classes"],
)
@pytest.mark.slow
def test_pure_noise_is_left_alone_at_every_row(classes):
    rng = np.random.default_rng(20)
    false = sum(
        simulate(rng, 600, classes).max() >= math.log(1 / 0.05) for _ in range(10)
    )
    assert false == 0


@pytest.mark.parametrize("classes", [[0.5, 0.5], [0.1, 0.9], [1 / 3] * 3])
def test_evidence_of_noise_averages_at_most_one(classes):
    # The e-value property that Ville's inequality rests on, at a fixed time and
    # exactly: the expectation over every label sequence of 8 rows.
    k, n = len(classes), 8 if len(classes) == 2 else 6
    outcome = np.arange(n) % 3 == 0
    total = 0.0
    for y in np.ndindex(*[k] * n):
        y = np.array(y)
        table = [np.bincount(y[outcome == z], minlength=k) for z in (False, True)]
        total += np.prod(np.take(classes, y)) * math.exp(log_evalue(table))
    assert total <= 1.0


@pytest.mark.parametrize(
    ("planted", "median", "n"),
    cases(
        [(1.0, 16, 60), (0.9, 26, 150), (0.8, 57, 400), (0.7, 152, 700)],
        [(0.9, 26, 150)],
    ),
)
def test_rows_until_a_planted_split(planted, median, n):
    # Published medians are of 30 streams, with a standard error of a tenth.
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(60):
        over = simulate(rng, n, planted=planted) >= math.log(1 / 0.05)
        assert over.any()
        rows.append(int(np.argmax(over)) + 1)
    assert np.median(rows) == pytest.approx(median, rel=0.25)
