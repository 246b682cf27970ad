"""The EC2 score and its stopping rule are those of their definitions.

Why: the thesis prints a plus where the score needs a minus, and its probability of
mistakes with unequal outcomes does not agree with simulation. Brute force over
hypotheses and a simulation decide here.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.bounds import ec2_confidence_over_chance
from reference.effort import examples
from sklearn.utils._param_validation import InvalidParameterError

from skconftree.bounds import EC2Bound, ec2_confidence, ec2_score, noise_beta


def edges_of(labels, alive):
    return sum(
        alive[i] and alive[j] and labels[i] != labels[j]
        for i, j in itertools.combinations(range(len(labels)), 2)
    )


@settings(deadline=None, max_examples=examples(50))
@given(
    table=st.integers(2, 4).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(0, 4), min_size=k, max_size=k),
            min_size=2,
            max_size=3,
        )
    )
)
def test_score_is_the_expected_number_of_edges_removed(table):
    rows = [(z, c) for z, row in enumerate(table) for c, n in enumerate(row)
            for _ in range(n)]  # fmt: skip
    labels = [c for _, c in rows]
    before = edges_of(labels, [True] * len(rows))
    expected = 0.0
    for outcome, _ in rows:
        after = edges_of(labels, [z == outcome for z, _ in rows])
        expected += (before - after) / len(rows)
    assert ec2_score(table, normalize=False) == pytest.approx(expected, abs=1e-9)
    if rows:
        assert ec2_score(table) == pytest.approx(expected / len(rows) ** 2, abs=1e-12)


def test_score_takes_weights_of_hypotheses():
    rng = np.random.default_rng(0)
    a = rng.uniform(size=(4, 3))  # class i, outcome z
    b, total, outcome = a.sum(axis=1), a.sum(), a.sum(axis=0)
    expected = 0.5 * sum(
        outcome[z]
        / total
        * ((total**2 - np.sum(b**2)) - (outcome[z] ** 2 - np.sum(a[:, z] ** 2)))
        for z in range(3)
    )
    assert ec2_score(a.T, normalize=False) == pytest.approx(expected)


def test_a_test_that_all_hypotheses_answer_alike_scores_nothing():
    assert ec2_score([[7, 3, 5], [0, 0, 0]]) == 0.0
    assert ec2_score(np.zeros((2, 3))) == 0.0


def test_uniform_beta():
    alpha = np.linspace(0, 0.99, 12)
    np.testing.assert_allclose(noise_beta(alpha), 2 * alpha * (1 - alpha))
    for outcomes in (2, 3, 7):
        np.testing.assert_allclose(
            noise_beta(alpha, outcomes),
            alpha**2 * (outcomes - 2) / (outcomes - 1) ** 2
            + 2 * alpha * (1 - alpha) / (outcomes - 1),
            atol=1e-15,
        )
        np.testing.assert_allclose(
            noise_beta(alpha, prior=np.ones(outcomes)),
            noise_beta(alpha, outcomes),
            atol=1e-14,
        )


def slow_prior_beta(alpha, p):
    p = np.asarray(p) / np.sum(p)
    total = weight = 0.0
    for y, z in itertools.permutations(range(len(p)), 2):
        others = sum(p[x] ** 2 for x in range(len(p)) if x not in (y, z))
        total += (
            p[y]
            * p[z]
            * (
                alpha**2 * others / ((1 - p[y]) * (1 - p[z]))
                + alpha * (1 - alpha) * (p[z] / (1 - p[y]) + p[y] / (1 - p[z]))
            )
        )
        weight += p[y] * p[z]
    return total / weight


@settings(deadline=None, max_examples=examples(60))
@given(
    prior=st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(
        lambda p: np.count_nonzero(p) >= 2
    ),
    alpha=st.floats(0, 0.99),
)
def test_beta_of_unequal_outcomes(prior, alpha):
    assert noise_beta(alpha, prior=prior) == pytest.approx(
        slow_prior_beta(alpha, prior), abs=1e-12
    )


@pytest.mark.parametrize("alpha", [1e-9, 0.1, 0.99])
@pytest.mark.parametrize("rare", [1.0, 1e-3, 1e-9, 1e-17])
def test_beta_where_nearly_all_rows_have_one_outcome(rare, alpha):
    """Two outcomes are one the other's mistake, however rare one of them is."""
    expected = 2 * alpha * (1 - alpha)
    for prior in ([1.0, rare], [rare, 1.0], [0.0, 1e9, 1e9 * rare]):
        assert noise_beta(alpha, prior=prior) == pytest.approx(expected, rel=1e-12)
    table = np.array([[0.5, 0.5], [1e6, 7.0], [1e6 * rare, 3.0]])
    confidence = ec2_confidence(table, 3, alpha, error_outcomes="non_uniform")
    assert 0.0 <= confidence <= 1.0


def test_beta_of_unequal_outcomes_is_what_noise_does():
    p, alpha = np.array([0.6, 0.3, 0.1]), 0.3
    assert noise_beta(alpha, prior=p) == pytest.approx(0.292, abs=5e-4)
    rng = np.random.default_rng(1)
    n = 40_000
    true = rng.choice(3, (n, 2), p=p)
    true = true[true[:, 0] != true[:, 1]]

    def observe(z):
        # A wrong outcome comes by the frequencies of the others.
        wrong = np.where(np.arange(3) == z[:, None], 0.0, p)
        wrong = np.cumsum(wrong / wrong.sum(axis=1, keepdims=True), axis=1)
        drawn = (rng.random((len(z), 1)) > wrong).sum(axis=1)
        return np.where(rng.random(len(z)) < alpha, drawn, z)

    same = np.mean(observe(true[:, 0]) == observe(true[:, 1]))
    assert same == pytest.approx(0.292, abs=0.012)


def slow_confidence(table, depth, beta, margin=0.0):
    table = np.asarray(table, dtype=float)
    n, node = table.sum(), table.sum(axis=0)
    all_edges = (n**2 - np.sum(node**2)) / 2
    cut = sum(
        row.sum() / n * (all_edges - (row.sum() ** 2 - np.sum(row**2)) / 2)
        for row in table
    )
    surplus = cut - all_edges * (1 - (1 - beta) ** depth) - margin
    if all_edges == 0 or surplus < 0:
        return 0.0
    return 1 - math.exp(-2 * surplus**2 / all_edges)


@settings(deadline=None, max_examples=examples(60))
@given(
    table=st.integers(2, 4).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(1, 9), min_size=k, max_size=k), min_size=2, max_size=4
        )
    ),
    depth=st.integers(0, 6),
    noise=st.floats(0, 0.5),
    margin=st.floats(0, 5),
)
def test_confidence_by_its_formula(table, depth, noise, margin):
    outcomes = np.sum(table, axis=1)
    for errors, beta in (
        ("uniform", noise_beta(noise, len(table))),
        ("non_uniform", noise_beta(noise, prior=outcomes)),
    ):
        expected = slow_confidence(table, depth, beta, margin)
        found = ec2_confidence(
            table, depth, noise, error_outcomes=errors, margin=margin
        )
        assert found == pytest.approx(expected, abs=1e-9)
        answer = EC2Bound(
            confidence=0.5, noise=noise, error_outcomes=errors, margin=margin
        ).evaluate(table, depth=depth)
        assert answer.statistic == pytest.approx(float(found), abs=1e-12)
        assert answer.split == (answer.statistic >= 0.5)


def test_an_even_split_cuts_three_quarters_and_so_limits_depth():
    even = [[5000, 5000], [5000, 5000]]
    edges = 10_000**2
    assert ec2_score(even, normalize=False) == pytest.approx(0.75 * edges)
    for noise, deepest in ((0.1, 6), (0.2, 3), (0.3, 2)):
        confidence = ec2_confidence(even, np.arange(9), noise)
        np.testing.assert_array_equal(confidence > 0.5, np.arange(9) <= deepest)


def test_against_chance_by_hand():
    """A node of 2 and 2: |E| = 4, S = 4 for a test that parts the classes."""
    perfect = [[2, 0], [0, 2]]
    # of three ways to pair the rows one has S = 4 and two have S = 3
    surplus = 4 - (4 + 2 * 3) / 3
    expected = 1 - math.exp(-2 * surplus**2 / 4)
    found = ec2_confidence(perfect, [0, 9], 0.1, against="chance")
    np.testing.assert_allclose(found, expected)
    with_margin = ec2_confidence(perfect, 0, 0.1, against="chance", margin=0.5)
    assert with_margin == pytest.approx(1 - math.exp(-2 * (surplus - 0.5) ** 2 / 4))
    assert ec2_confidence([[1, 1], [1, 1]], 0, 0.1, against="chance") == 0.0


@pytest.mark.parametrize(
    ("sizes", "node"), [((4, 3), (5, 2)), ((2, 2, 3), (3, 2, 2)), ((6, 1), (3, 4))]
)
def test_chance_is_the_mean_over_all_ways_to_divide_the_rows(sizes, node):
    labels = np.repeat(np.arange(len(node)), node)
    outcome = np.repeat(np.arange(len(sizes)), sizes)
    cuts = []
    for order in set(itertools.permutations(labels.tolist())):
        table = np.zeros((len(sizes), len(node)))
        np.add.at(table, (outcome, np.array(order)), 1)
        cuts.append((ec2_score(table, normalize=False), table))
    chance = np.mean([cut for cut, _ in cuts])
    n = sum(node)
    all_edges = (n**2 - np.sum(np.square(node))) / 2
    for cut, table in cuts:
        surplus = max(cut - chance, 0.0)
        assert ec2_confidence(table, 3, 0.0, against="chance") == pytest.approx(
            1 - math.exp(-2 * surplus**2 / all_edges), abs=1e-12
        )


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_edges_of_label_noise_are_no_reason_to_split(n_classes):
    """A node of one class whose labels are wrong with probability alpha."""
    n, alpha = 600, 0.25
    wrong = n * alpha / (n_classes - 1)
    node = np.array([n * (1 - alpha), *[wrong] * (n_classes - 1)])
    half = np.zeros((2, n_classes))
    half[0, 0], half[1] = 300, node - [300, *[0] * (n_classes - 1)]
    assert ec2_confidence(half, 0, alpha + 0.01, against="chance") == 0.0
    assert ec2_confidence(half, 0, alpha - 0.01, against="chance") > 0.99


@settings(deadline=None, max_examples=examples(60))
@given(
    table=st.integers(2, 4).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(0, 30), min_size=k, max_size=k), min_size=2, max_size=4
        )
    ),
    noise=st.floats(0, 0.6),
    margin=st.floats(0, 5),
)
def test_against_chance_by_its_formula(table, noise, margin):
    parent = np.sum(table, axis=0).tolist()
    expected = ec2_confidence_over_chance(parent, table, noise, margin)
    parameters = {"margin": margin, "against": "chance"}
    found = ec2_confidence(table, 2, noise, **parameters)
    assert found == pytest.approx(expected, abs=1e-9)
    if np.any(table):
        bound = EC2Bound(0.5, noise=noise, error_outcomes="non_uniform", **parameters)
        assert bound.evaluate(table, depth=9).statistic == pytest.approx(float(found))


def test_against_chance_is_a_test_of_independence_where_all_is_even():
    for n in (400, 4000):
        moved = np.arange(0.0, n // 16)
        even = n / 4 * np.ones((len(moved), 2, 2))
        tables = even + moved[:, None, None] * np.array([[1, -1], [-1, 1]])
        chi2 = 16 * moved**2 / n
        found = ec2_confidence(tables, 0, 0.0, against="chance")
        near = -np.expm1(-(np.maximum(chi2 - 1, 0) ** 2) / 32)
        np.testing.assert_allclose(found, near, atol=8 / n)


def test_fewer_than_two_rows_are_never_certain():
    assert ec2_confidence([[0.4, 0.0], [0.0, 0.4]], 0, 0.1, against="chance") == 0.0
    assert ec2_confidence(np.zeros((2, 2)), 0, 0.1, against="chance") == 0.0


@settings(deadline=None, max_examples=examples(40))
@given(
    table=st.lists(
        st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=2, max_size=2
    ),
    noise=st.floats(0, 0.49),
)
def test_confidence_falls_with_depth_and_noise(table, noise):
    depths = ec2_confidence(table, np.arange(8), noise)
    assert np.all(np.diff(depths) <= 1e-12)
    noises = ec2_confidence(table, 2, np.linspace(0, noise, 8))
    assert np.all(np.diff(noises) <= 1e-12)
    assert np.all((depths >= 0) & (depths <= 1))


def test_both_kinds_of_errors_agree_for_two_outcomes():
    table = [[30, 4], [3, 9]]
    np.testing.assert_allclose(
        ec2_confidence(table, np.arange(5), 0.2),
        ec2_confidence(table, np.arange(5), 0.2, error_outcomes="non_uniform"),
        rtol=1e-12,
    )


def test_large_counts_and_nearly_pure_nodes():
    n = 10**9
    # One odd row: the sum of squares would lose its n edges entirely.
    assert ec2_score([[n, 0], [0, 1]], normalize=False) == pytest.approx(n, rel=1e-12)
    assert ec2_score([[n, n], [n, n]]) == pytest.approx(3 / 16, rel=1e-12)
    assert ec2_confidence([[n, n], [n, n]], 2, 0.2) == 1.0
    assert ec2_confidence([[n, 0], [0, 0]], 2, 0.2) == 0.0


def test_shapes_broadcast():
    tables = np.random.default_rng(2).integers(0, 9, (4, 1, 2, 3))
    out = ec2_confidence(tables, np.arange(5), 0.1)
    assert out.shape == (4, 5)
    for i, j in np.ndindex(4, 5):
        assert out[i, j] == ec2_confidence(tables[i, 0], j, 0.1)
    priors = np.random.default_rng(3).uniform(size=(4, 1, 3))
    out = noise_beta([0.1, 0.2], prior=priors)
    assert out.shape == (4, 2)
    assert out[2, 1] == noise_beta(0.2, prior=priors[2, 0])
    assert ec2_score(tables).shape == (4, 1)


def test_an_outcome_that_all_rows_have_has_no_mistakes():
    assert noise_beta(0.3, prior=[1.0, 0.0, 0.0]) == 0.0


@pytest.mark.parametrize("errors", ["uniform", "non_uniform"])
def test_no_rows_no_confidence(errors):
    empty = np.zeros((3, 2))
    assert ec2_confidence(empty, 1, 0.2, error_outcomes=errors) == 0.0


def test_always_splits_at_confidence_zero():
    assert EC2Bound(confidence=0.0).evaluate([[5, 0], [5, 0]], depth=30).split


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (EC2Bound(confidence=1.1), "confidence.*EC2Bound.*1.1"),
        (EC2Bound(noise=1.0), "noise.*EC2Bound.*1.0"),
        (EC2Bound(error_outcomes="both"), "error_outcomes.*EC2Bound.*both"),
        (EC2Bound(margin=-1), "margin.*EC2Bound.*-1"),
        (EC2Bound(against="no_split"), "against.*EC2Bound.*no_split"),
    ],
)
def test_bad_parameters_are_named(bound, message):
    with pytest.raises(InvalidParameterError, match=message):
        bound.evaluate([[3, 1], [1, 3]])


def test_no_other_criterion():
    with pytest.raises(InvalidParameterError, match=r"criterion.*EC2Bound.*'gini'"):
        EC2Bound().evaluate([[3, 1], [1, 3]], criterion="gini")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ec2_score([1, 2]), r"shape \(2,\)"),
        (lambda: ec2_confidence([[1, 2]], 0, 0.1), "two outcomes"),
        (lambda: ec2_confidence([[1, 2], [3, 4]], -1, 0.1), "depth.*Got -1"),
        (lambda: ec2_confidence([[1, 2], [3, 4]], 0, 1.0), "noise.*Got 1.0"),
        (
            lambda: ec2_confidence([[1, 2], [3, 4]], 0, 0.1, error_outcomes="x"),
            "error_outcomes.*'x'",
        ),
        (
            lambda: ec2_confidence([[1, 2], [3, 4]], 0, 0.1, against="noise"),
            "against.*'noise'",
        ),
        (lambda: noise_beta(0.1, 1), "n_outcomes.*Got 1"),
        (lambda: noise_beta(0.1, prior=[0.0, 0.0]), "positive weight"),
        (lambda: noise_beta(0.1, prior=[1.0]), "at least two outcomes"),
    ],
)
def test_bad_input_of_functions_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
