"""Tests of the reference implementations themselves.

Printed numbers, closed forms, simulations, SciPy's and scikit-learn's own
implementations: nothing here repeats the reference's formulas.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from reference import bounds, contingency, criteria
from scipy import stats
from sklearn.tree import DecisionTreeClassifier


def test_phi_is_one_half_at_two_balanced_classes():
    for name in ("entropy", "gini", "kearns_mansour", "error"):
        assert criteria.phi(name, [3, 3]) == pytest.approx(0.5)
        assert criteria.phi(name, [3, 0]) == 0.0


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("name", ["entropy", "gini", "kearns_mansour"])
def test_phi_dominates_the_bayes_risk(name, K):
    rng = np.random.default_rng(K)
    for _ in range(50):
        counts = rng.dirichlet(np.ones(K)) * 30
        assert criteria.phi(name, counts) >= criteria.phi("error", counts) - 1e-12


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_impurity_is_in_the_units_of_scikit_learn(criterion):
    X = np.arange(12.0).reshape(-1, 1)
    y = np.array([0, 0, 0, 1, 1, 2, 0, 2, 2, 2, 1, 0])
    theirs = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y).tree_
    ours = criteria.impurity(criterion, np.bincount(y))
    assert ours == pytest.approx(theirs.impurity[0])


def test_binary_closed_forms():
    """Gini is a sum of harmonic means, Kearns-Mansour one of geometric means."""
    left, right = [3.0, 5.0], [8.0, 2.0]
    pairs = [(a / 18, b / 18) for a, b in (left, right)]
    gini = sum(2 * p * q / (p + q) for p, q in pairs)
    km = sum(math.sqrt(p * q) for p, q in pairs)
    assert criteria.total("gini", [left, right]) == pytest.approx(18 * gini)
    assert criteria.total("kearns_mansour", [left, right]) == pytest.approx(18 * km)


def test_ec2_counts_pairs_of_rows():
    outcome = [0, 0, 0, 1, 1, 1, 1]
    label = [0, 1, 2, 0, 0, 1, 1]
    children = np.zeros((2, 3))
    np.add.at(children, (outcome, label), 1)
    pairs = [
        (i, j) for i, j in itertools.combinations(range(7), 2) if label[i] != label[j]
    ]
    cut = 0.0
    for seen in outcome:  # each row's outcome is as likely as any other row's
        alive = [(i, j) for i, j in pairs if outcome[i] == outcome[j] == seen]
        cut += (len(pairs) - len(alive)) / 7
    assert criteria.edges_cut(children.tolist()) == pytest.approx(cut)
    assert criteria.ec2_score(children.tolist()) == pytest.approx(cut / 49)
    no_split = 7 * criteria.phi("ec2", children.sum(0))
    left_over = criteria.total("ec2", children.tolist())
    assert no_split - left_over == pytest.approx(2 * 7 * cut / 49)


def test_balance_by_hand():
    """The rows that the smallest outcome has, whatever their classes."""
    even, uneven, three = [[2, 2], [4, 0]], [[6, 0], [0, 2]], [[1, 1], [3, 0], [2, 1]]
    no_split = 8 * 2 * 6 * 2 / 8**2
    for children, smallest in ((even, 4), (uneven, 2), (three, 2)):
        assert criteria.total("balance", children) == no_split - smallest
        assert criteria.total("imbalance", children) == no_split - (8 - smallest)
    for criterion in ("balance", "imbalance"):
        assert criteria.total(criterion, [[6, 2]]) == no_split


def test_gain_ratio_by_hand():
    """Attribute 0 isolates one row: best ratio, but less than average gain."""
    tests = {
        0: [[1, 0], [3, 4]],
        1: [[4, 1], [0, 3]],
    }
    gains = {}
    for f, (a, b) in tests.items():
        h = [stats.entropy(c, base=2) for c in (a, b)]
        gains[f] = 1 - (sum(a) * h[0] + sum(b) * h[1]) / 8
    assert gains[0] < np.mean(list(gains.values())) < gains[1]
    best, _, scores = criteria.best_by_criterion(
        "gain_ratio", [0, 1], [tests[0], tests[1]], 8
    )
    assert best == 1
    ratio = gains[1] / stats.entropy([5, 3], base=2)
    assert scores[1] == pytest.approx(-8 * ratio)


def test_first_of_equals_wins_in_spite_of_rounding():
    assert criteria.first_lowest([0.3, 0.1 + 0.2, 0.3 - 1e-13], 1e-10) == 0
    assert criteria.first_lowest([0.3, 0.2, 0.1], 1e-10) == 2


# --- credible ---------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_credible_limit_of_an_empty_node(delta):
    std = bounds.credible_eps("kearns_mansour", [0, 0], delta)
    assert std == pytest.approx(math.sqrt(1 - delta**2) / 2)
    variance = bounds.credible_eps("gini", [0, 0], delta)
    assert variance == pytest.approx((1 - delta**2) / 4)


def heterogeneity(criterion, mu):
    if criterion == "entropy":
        return stats.entropy(mu, axis=1)
    variance = (1 - (mu**2).sum(axis=1)) / 2
    return np.sqrt(variance) if criterion == "kearns_mansour" else variance


@pytest.mark.parametrize("prior", ["uniform", "perks"])
@pytest.mark.parametrize("criterion", ["entropy", "gini", "kearns_mansour"])
@pytest.mark.parametrize("counts", [[7, 2], [0, 5], [4, 0, 3], [6, 1, 1, 0, 9]])
def test_credible_limit_leaves_delta_of_the_posterior_above(counts, criterion, prior):
    K = len(counts)
    pseudo_count = 1 if prior == "uniform" else 1 / K
    draws = np.random.default_rng(0).dirichlet(np.array(counts) + pseudo_count, 40_000)
    H = heterogeneity(criterion, draws)
    largest = heterogeneity(criterion, np.full((1, K), 1 / K))[0]
    for delta in (0.05, 0.5, 0.95):
        eps = bounds.credible_eps(criterion, counts, delta, prior)
        if K == 2:
            assert np.mean(H >= eps) == pytest.approx(delta, abs=0.01)
        else:  # a matched Beta distribution: close, not exact
            exact = np.quantile(H, 1 - delta)
            assert eps == pytest.approx(exact, abs=0.05 * largest)


@pytest.mark.parametrize("counts", [[5, 2, 1], [0, 0, 0, 4]])
def test_credible_moments_are_those_of_the_posterior(counts):
    draws = np.random.default_rng(1).dirichlet(np.array(counts) + 1, 200_000)
    for criterion, moments in (
        ("entropy", bounds.entropy_moments),
        ("gini", bounds.variance_moments),
    ):
        H = heterogeneity(criterion, draws)
        mean, variance = moments([c + 1 for c in counts])
        assert mean == pytest.approx(H.mean(), rel=0.005)
        assert variance == pytest.approx(H.var(), rel=0.03)


@pytest.mark.parametrize(
    ("purity", "delta", "expected"),
    [(1.0, 0.01, 14), (1.0, 0.1, 6), (0.9, 0.1, 10), (0.9, 0.01, 30), (0.7, 0.1, 40)],
)
def test_first_split_of_a_planted_boundary(purity, delta, expected):
    """Rows per child at which the published rule first splits (A3's table)."""
    credible = bounds.Credible("entropy", 2, delta)

    def splits(n):
        major = round(purity * n)
        children = [[major, n - major], [n - major, major]]
        node_stats = {"counts": [n, n], "n": 2 * n, "pool": 2 * n}
        cost = sum(credible.cost(node_stats, c, n, n, 2) for c in children)
        return cost < credible.limit(node_stats)

    step = 1 if purity == 1.0 else 10
    first = next(n for n in range(step, 200, step) if splits(n))
    assert first == expected


@pytest.mark.parametrize(
    ("purity", "gain", "interval"), [(1.0, 1, 4), (0.9, 10, 20), (0.7, 50, 240)]
)
def test_first_split_of_both_readings_of_hoeffding(purity, gain, interval):
    def first(splits):
        step = 1 if purity == 1.0 else 10
        return next(n for n in range(step, 400, step) if splits(n))

    def children(n):
        major = round(purity * n)
        return [[major, n - major], [n - major, major]]

    def by_gain(n):
        bound = bounds.Hoeffding("entropy", 2, 0.1, against="no_split")
        node_stats = {"counts": [n, n], "n": 2 * n}
        score = criteria.total("entropy", children(n)) / (2 * n)
        evidence = {
            "score": score,
            "runner_up_score": math.inf,
            "runner_up_feature": -1,
        }
        return bound.decide(node_stats, children(n), evidence)[0]

    def by_interval(n):
        bound = bounds.HoeffdingInterval("entropy", 2, 0.1)
        node_stats = {"counts": [n, n], "n": 2 * n, "pool": 2 * n}
        cost = sum(bound.cost(node_stats, c, n, n, 2) for c in children(n))
        return cost < bound.limit(node_stats)

    assert first(by_gain) == gain
    assert first(by_interval) == interval


# --- possibilistic ----------------------------------------------------------


def test_possibilistic_example_of_the_paper():
    assert bounds.agresti_coull_upper(0.2, 10, 0.05) == pytest.approx(0.5206, abs=5e-5)
    assert bounds.agresti_coull_upper(0.5, 10, 0.05) == pytest.approx(0.7634, abs=5e-5)
    assert bounds.agresti_coull_upper(1.0, 10, 0.05) == 1.0
    value = bounds.possibilistic_entropy([5, 2, 3], 0.05)
    assert value == pytest.approx(0.81776, abs=5e-6)


@pytest.mark.parametrize(
    ("n", "values"),
    [
        (5, [0.702, 0.774, 0.833, 0.880, 0.919, 0.949]),
        (10, [0.626, 0.720, 0.793, 0.851, 0.897, 0.934]),
        (100, [0.516, 0.651, 0.741, 0.811, 0.866, 0.910]),
        (1e12, [0.500, 0.643, 0.734, 0.805, 0.861, 0.906]),
    ],
)
def test_possibilistic_figure_of_the_paper(n, values):
    for p, expected in zip([0, 0.1, 0.2, 0.3, 0.4, 0.5], values, strict=True):
        value = bounds.possibilistic_entropy([p * n, (1 - p) * n], 0.05)
        assert value == pytest.approx(expected, abs=6e-4)


def test_no_rows_are_total_ignorance():
    assert bounds.possibilistic_entropy([0, 0, 0], 0.05) == pytest.approx(1.0)


def test_dunn_sidak_restores_the_joint_level():
    assert (1 - bounds.dunn_sidak(0.05, 7)) ** 7 == pytest.approx(0.95)
    assert bounds.dunn_sidak(1e-30, 2) == pytest.approx(5e-31)


# --- race bounds ------------------------------------------------------------


def smallest_m(radius, gap):
    """First m (within 1 %) from which the radius stays below the gap."""
    m = 100.0
    while radius(m) > gap:
        m *= 1.01
    return m


@pytest.mark.parametrize(
    ("criterion", "form", "expected"),
    [
        ("entropy", "paper", 1.9e7),
        ("kearns_mansour", "paper", 2.1e5),
        ("gini", "paper", 1.5e5),
        ("gini", "tight", 2.1e4),
    ],
)
def test_rows_that_resolve_a_gap_of_a_tenth(criterion, form, expected):
    """C4's scale of things: root, d = 10, delta = .05, two radii."""
    bound = bounds.DeRosa(criterion, 2, delta=0.05, form=form)

    def two_radii(m):
        node_stats = {"depth": 0, "n_fresh": m, "time": m, "n_attributes": 10,
                 "n_tests": 100, "attempt": 1}  # fmt: skip
        return bound.factor * bound.radius(node_stats)

    assert smallest_m(two_radii, 0.1) == pytest.approx(expected, rel=0.05)


def test_rows_that_the_anytime_form_needs():
    bound = bounds.DeRosa("gini", 2, delta=0.05, form="anytime")

    def two_radii(m):
        node_stats = {"depth": 0, "n_fresh": m, "time": m, "n_attributes": 10,
                 "n_tests": 100, "attempt": m / 100}  # fmt: skip
        return bound.factor * bound.radius(node_stats)

    assert smallest_m(two_radii, 0.1) == pytest.approx(1.5e4, rel=0.05)


def test_rows_that_classical_radii_need():
    mcdiarmid = bounds.McDiarmid("gini", 2, 0.05)
    needed = smallest_m(lambda m: mcdiarmid.radius({"n_fresh": m}), 0.1)
    assert needed == pytest.approx(9.6e3, rel=0.02)
    gain = bounds.McDiarmid("entropy", 2, 0.05)
    in_bits = smallest_m(lambda m: 2 * gain.radius({"n_fresh": m}), 0.1)
    assert in_bits == pytest.approx(3.4e7, rel=0.05)
    vfdt = bounds.Hoeffding("gini", 2, 1e-7)
    needed = smallest_m(lambda m: vfdt.radius({"n_fresh": m}), 0.1)
    assert needed == pytest.approx(806, rel=0.011)


@pytest.mark.parametrize(("K", "expected"), [(2, 0.5), (4, 1.0), (8, 1.5)])
def test_range_of_the_entropy_gain(K, expected):
    assert bounds.hoeffding_range("entropy", K) == pytest.approx(expected)


def test_range_of_kearns_mansour():
    assert bounds.hoeffding_range("kearns_mansour", 10) == pytest.approx(3 / 2)


def test_practical_radius_is_the_author_s():
    """Radius c sqrt(ln(m^2 h^2 t d) / m) with the root at h = 1: ln(e^6) at m = e^3."""
    m = math.e**3
    node_stats = {"depth": 0, "n_fresh": m, "time": 1, "n_attributes": 1}
    gini = bounds.DeRosa("gini", 2, form="practical", c=0.5)
    assert gini.radius(node_stats) == pytest.approx(0.5 * math.sqrt(6 / m))
    entropy = bounds.DeRosa("entropy", 2, form="practical", c=0.5)
    assert entropy.radius(node_stats) == pytest.approx(3 * gini.radius(node_stats))


# --- tests ------------------------------------------------------------------


def test_independent_table_has_p_one():
    assert contingency.chi2_pvalue([[4, 4], [4, 4]]) == pytest.approx(1.0)
    assert contingency.freeman_halton([[4, 4], [4, 4]], point=True) == pytest.approx(
        0.38, abs=0.005
    )


@pytest.mark.parametrize(
    "children", [[[3, 1], [0, 6]], [[5, 2], [3, 9]], [[8, 0], [1, 7]]]
)
def test_exact_test_is_fisher_s(children):
    expected = stats.fisher_exact(np.transpose(children)).pvalue
    assert contingency.chi2_pvalue(children) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("children", "yates"),
    [
        ([[9, 7], [6, 14]], True),
        ([[40, 30], [20, 35]], False),
        ([[40, 30, 33], [20, 35, 31]], False),
    ],
)
def test_chi_squared_is_scipy_s(children, yates):
    expected = stats.chi2_contingency(np.transpose(children), correction=yates).pvalue
    assert contingency.chi2_pvalue(children) == pytest.approx(expected)


def test_exact_test_of_three_classes_by_permuting_labels():
    """The p-value is the share of label orders that look as unlikely."""
    children = [[3, 0, 0], [1, 2, 1]]
    labels = [0, 0, 0, 0, 1, 1, 2]

    def likelihood(left):
        counts = [left.count(k) for k in range(3)]
        return math.prod(map(math.comb, [4, 2, 1], counts))

    chosen = list(itertools.combinations(range(7), 3))
    observed = likelihood([0, 0, 0])
    hits = sum(
        likelihood([labels[i] for i in left]) <= observed * (1 + 1e-9)
        for left in chosen
    )
    assert contingency.chi2_pvalue(children) == pytest.approx(hits / len(chosen))


def test_exact_test_of_three_outcomes_by_permuting_labels():
    table = [[3, 0, 1], [0, 2, 0], [1, 0, 1]]  # a row for every class
    labels = [k for k, row in enumerate(table) for _ in range(sum(row))]
    outcomes = [z for row in table for z, n in enumerate(row) for _ in range(n)]

    def likelihood(order):
        cells = Counter(zip(outcomes, order, strict=True))
        return 1 / math.prod(map(math.factorial, cells.values()))

    orders = set(itertools.permutations(labels))
    observed = likelihood(labels)
    hits = sum(likelihood(order) <= observed * (1 + 1e-9) for order in orders)
    p = contingency.chi2_pvalue(np.transpose(table).tolist())
    assert p == pytest.approx(hits / len(orders))


def test_too_many_tables_have_no_exact_test():
    children = [[300, 2, 300, 280], [300, 1, 310, 270], [290, 2, 299, 280]]
    expected = stats.chi2_contingency(np.transpose(children)).pvalue
    assert contingency.chi2_pvalue(children) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(contingency.UndecidedError):
        contingency.chi2_pvalue(
            [[5, 1, 4, 2], [2, 6, 1, 4], [3, 3, 5, 2], [1, 2, 4, 6]]
        )


def test_tables_are_counted_as_they_are_listed():
    rows = [3, 0, 5, 2]
    for left in range(11):
        listed = list(contingency.tables_with_margins(rows, left))
        assert len(listed) == len(set(listed)) == contingency.count_tables(rows, left)
        assert all(sum(t) == left for t in listed)


def test_absent_class_costs_no_degree_of_freedom():
    with_absent = contingency.chi2_pvalue([[40, 0, 30], [20, 0, 35]])
    assert with_absent == pytest.approx(contingency.chi2_pvalue([[40, 30], [20, 35]]))


def test_noise_of_outcomes():
    assert bounds.ec2_beta(0.3) == pytest.approx(2 * 0.3 * 0.7)
    assert bounds.noise_beta_prior(0.3, [0.6, 0.3, 0.1]) == pytest.approx(
        0.292, abs=5e-4
    )
    uniform = bounds.noise_beta_prior(0.2, [0.25] * 4)
    assert uniform == pytest.approx(bounds.ec2_beta(0.2, 4))


@pytest.mark.parametrize(("noise", "depth"), [(0.1, 6), (0.2, 3), (0.3, 2)])
def test_ec2_is_a_depth_limit_on_even_splits(noise, depth):
    """D8 c: an uninformative even split cuts 75 % of the edges."""
    children = [[500, 500], [500, 500]]
    assert criteria.edges_cut(children) == pytest.approx(0.75 * 1000 * 1000)
    deepest = max(
        h
        for h in range(20)
        if bounds.ec2_confidence([1000, 1000], children, h, bounds.ec2_beta(noise))
        > 0.5
    )
    assert deepest == depth


def test_g_statistic_is_scipy_s():
    children = [[13, 4, 0], [5, 9, 0]]
    theirs = stats.chi2_contingency(
        np.array(children)[:, :2], correction=False, lambda_="log-likelihood"
    )
    node_stats = {"attribute_tests": 12, "n_varying": 3, "attempt": 1}
    bound = bounds.GTest("gini", 3, delta=2.0)
    _, evidence = bound.decide(node_stats, children, {})
    assert evidence["statistic"] == pytest.approx(36 * theirs.pvalue)


@pytest.mark.parametrize("freedom", range(1, 8))
def test_log_tail_of_chi_squared_is_scipy_s(freedom):
    for x in (1e-9, 0.1, 1.0, 10.0, 100.0, 600.0):
        expected = stats.chi2(freedom).logsf(x)
        assert contingency.log_chi2_tail(freedom, x) == pytest.approx(
            expected, rel=1e-9
        )


# --- evidence ---------------------------------------------------------------


@pytest.mark.parametrize("a", [0.5, 1 / 3])
def test_dirichlet_multinomial_is_a_product_of_predictions(a):
    labels = [0, 2, 2, 0, 1, 2]
    seen, likelihood = np.full(3, a), 1.0
    for label in labels:
        likelihood *= seen[label] / seen.sum()
        seen[label] += 1
    log_dm = bounds.log_dirichlet_multinomial([2, 1, 3], a)
    assert log_dm == pytest.approx(math.log(likelihood))


def test_likelihood_without_split():
    assert bounds.log_no_split([2, 0, 6]) == pytest.approx(math.log(0.25**2 * 0.75**6))


@pytest.mark.parametrize(
    ("share", "expected"), [(1.0, 16), (0.9, 26), (0.8, 57), (0.7, 152)]
)
def test_rows_that_evidence_needs(share, expected):
    """G1's table: 100 tests, delta at the root; expected counts for drawn ones."""
    bound = bounds.EValue("gini", 2, 0.05, per_path=False)

    def splits(n):
        half = n / 2
        children = [
            [share * half, (1 - share) * half],
            [(1 - share) * half, share * half],
        ]
        node_stats = {"counts": [half, half], "depth": 0}
        log_mean = bound.log_evidence(node_stats, children) - math.log(100)
        return bound.decide(node_stats, log_mean)[0]

    first = next(n for n in range(2, 400) if splits(n))
    assert first == pytest.approx(expected, rel=0.2)


def test_evalue_rarely_splits_noise_at_any_attempt():
    rng = np.random.default_rng(3)
    bound = bounds.EValue("gini", 2, 0.25, per_path=False)
    false = 0
    for _ in range(100):
        side, label = rng.integers(0, 2, (2, 60))
        for n in range(2, 61, 2):
            counts = np.zeros((2, 2))
            np.add.at(counts, (side[:n], label[:n]), 1)
            node_stats = {"counts": counts.sum(0).tolist(), "depth": 0}
            log_e = bound.log_evidence(node_stats, counts.tolist())
            if bound.decide(node_stats, log_e)[0]:
                false += 1
                break
    assert false <= 25


def test_posterior_odds_are_one_when_the_sides_are_empty_of_labels():
    bound = bounds.BayesFactor("gini", 2)
    node_stats = {"counts": [3, 4], "depth": 0}
    assert bound.log_evidence(node_stats, [[3, 4], [0, 0]]) == pytest.approx(0.0)
    assert bound.decide(node_stats, 0.0) == (False, pytest.approx(0.5))
    assert bound.decide(node_stats, math.log(3)) == (True, pytest.approx(0.25))
