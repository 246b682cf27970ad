"""Credible limits: against slow references, worked numbers, and floors.

They exist because every split of the credible bound rests on a root search whose
errors would show nowhere else, and because the scan trusts its floors blindly.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import crossed, examples
from scipy import optimize, special, stats

from skconftree._compat import InvalidParameterError
from skconftree.bounds import CredibleBound, credible_interval

CRITERIA = ("entropy", "gini", "kearns_mansour")
DELTAS = (1e-12, 1e-7, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.4, 0.4999)


def heterogeneity(criterion, p):
    """A1 and A6, class probabilities in the last dimension."""
    if criterion == "entropy":
        return -special.xlogy(p, p).sum(axis=-1)
    value = (1 - (p * p).sum(axis=-1)) / 2
    return value if criterion == "gini" else np.sqrt(value)


def reference_limit(n1, n0, delta, criterion, alpha, upper):
    """Root of eq (3) on the logarithm of the rarer class's probability."""
    rare = stats.beta(min(n1, n0) + alpha, max(n1, n0) + alpha)
    common = stats.beta(max(n1, n0) + alpha, min(n1, n0) + alpha)

    def excess(log_x):
        x = np.exp(log_x)
        if upper:
            return rare.sf(x) - common.cdf(x) - delta
        return rare.cdf(x) + common.cdf(x) - delta

    x = np.exp(
        optimize.brentq(excess, -200, np.log(0.5), xtol=1e-14, rtol=1e-14, maxiter=500)
    )
    if criterion == "entropy":
        return special.entr(x) - (1 - x) * np.log1p(-x)
    return x * (1 - x) if criterion == "gini" else np.sqrt(x * (1 - x))


def moments_a6(counts, alpha, criterion):
    """Mean and variance as A6 writes them, by explicit loops."""
    a = np.asarray(counts, dtype=float) + alpha
    total = a.sum()
    if criterion != "entropy":
        m2 = (a * (a + 1)).sum() / (total * (total + 1))
        q = a * (a + 1)
        e4 = (a * (a + 1) * (a + 2) * (a + 3)).sum() + q.sum() ** 2 - (q * q).sum()
        e4 /= total * (total + 1) * (total + 2) * (total + 3)
        return (1 - m2) / 2, (e4 - m2 * m2) / 4
    mean = special.psi(total + 1) - (a / total * special.psi(a + 1)).sum()
    trigamma = special.polygamma(1, total + 2)
    d = special.psi(a + 1) - special.psi(total + 2)
    second = 0.0
    for i in range(len(a)):
        for j in range(len(a)):
            if i != j:
                second += a[i] * a[j] * (d[i] * d[j] - trigamma)
        J = (special.psi(a[i] + 2) - special.psi(total + 2)) ** 2
        J += special.polygamma(1, a[i] + 2) - trigamma
        second += a[i] * (a[i] + 1) * J
    return mean, second / (total * (total + 1)) - mean * mean


def matched_limits(counts, alpha, criterion, delta):
    """A6, method 1."""
    k = len(counts)
    largest = np.log(k) if criterion == "entropy" else (1 - 1 / k) / 2
    mean, variance = moments_a6(counts, alpha, criterion)
    m = mean / largest
    s = m * (1 - m) / (variance / largest**2) - 1
    law = stats.beta(m * s, (1 - m) * s)
    low, high = largest * law.ppf(delta), largest * law.isf(delta)
    if criterion == "kearns_mansour":
        return np.sqrt(low), np.sqrt(high)
    return low, high


def floors(kernel, counts):
    """Return the scan's floor of every row of counts, a child of weight one."""
    return kernel.score.evaluate(
        counts, counts.max(axis=0), pool_left=np.ones(len(counts)), pool=1.0
    )


def pairs():
    lattice = np.r_[np.arange(60.0), np.geomspace(60, 1e9, 60).round()]
    return np.stack(np.meshgrid(lattice, lattice), axis=-1).reshape(-1, 2)


def many_class_counts(k, seed=0):
    rng = np.random.default_rng(seed)
    rows = [np.floor(rng.gamma(0.3, 1, (150, k)) * 10.0**e) for e in range(9)]
    rows += [np.floor(rng.dirichlet(np.full(k, 0.5), 150) * 10.0**e) for e in (1, 2, 4)]
    sizes = np.array([0, 1, 2, 10, 100, 1e4, 1e6, 1e8, 1e9])[:, None]
    rows += [
        sizes * np.ones(k),
        sizes * np.eye(k)[0],
        sizes * (np.eye(k)[0] + np.eye(k)[1]),
    ]
    return np.concatenate(rows)


def test_empty_node():
    # A2's check; the lower limits follow from f(e) = 2u for the uniform law.
    delta = np.array(DELTAS)
    low, high = credible_interval(np.zeros(2), delta, criterion="kearns_mansour")
    np.testing.assert_allclose(high, 0.5 * np.sqrt(1 - delta**2), rtol=1e-12)
    np.testing.assert_allclose(low, np.sqrt(delta / 2 * (1 - delta / 2)), rtol=1e-12)
    low, high = credible_interval(np.zeros(2), delta, criterion="gini")
    np.testing.assert_allclose(high, (1 - delta**2) / 4, rtol=1e-12)
    np.testing.assert_allclose(low, delta / 2 * (1 - delta / 2), rtol=1e-12)


@pytest.mark.parametrize("criterion", ["entropy", "gini", "kearns_mansour"])
@pytest.mark.parametrize("prior", ["uniform", "perks"])
def test_huge_even_nodes(criterion, prior):
    """Their variance is less than its own rounding: the limits are the mean."""
    sizes = np.array([1e6, 1e12, 1e14, 9e15])[:, None]
    for k in (3, 5, 40):
        for n_present in range(1, k + 1):
            low, high = credible_interval(
                sizes * (np.arange(k) < n_present),
                0.01,
                criterion=criterion,
                prior=prior,
            )
            assert np.isfinite([low, high]).all()
            assert (low <= high).all()


@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_large_nodes_of_two_nearly_even_classes(delta):
    """SciPy has no quantile of the Beta distribution for some of them."""
    counts = np.array([[9e15 + more, 9e15] for more in range(0, 12, 2)])
    for criterion, largest in (("entropy", np.log(2.0)), ("gini", 0.25)):
        limits = credible_interval(counts, delta, criterion=criterion)
        np.testing.assert_allclose(limits, largest, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 100, 10**6, 10**9])
def test_pure_node_in_closed_form(n):
    # X ~ Beta(1, n + 1): P(X > x) = (1 - x)^(n + 1), and the other tail is
    # x^(n + 1), too small to matter.
    delta = np.array([1e-12, 0.05, 0.4])
    if n == 3:
        delta = delta[:1]
    low, _ = credible_interval([n, 0], delta, criterion="gini")
    x = -np.expm1(np.log1p(-delta) / (n + 1))
    np.testing.assert_allclose(low, x * (1 - x), rtol=1e-9)
    if n > 3:
        _, high = credible_interval([0, n], delta, criterion="gini")
        x = -np.expm1(np.log(delta) / (n + 1))
        np.testing.assert_allclose(high, x * (1 - x), rtol=1e-9)


@pytest.mark.parametrize("delta", DELTAS)
def test_against_slow_root_search(delta):
    rng = np.random.default_rng(int(1 / delta) % 1000)
    for _ in range(examples(25)):
        n = 10 ** rng.uniform(-0.5, 8)
        share = rng.choice([0.5, rng.random(), 0, 0.5 + 2 / np.sqrt(n + 9), 1e-3])
        n1 = n * min(share, 1)
        n0 = n - n1
        if rng.random() < 0.6:
            n1, n0 = round(n1), round(n0)
        for prior, alpha in (("uniform", 1), ("perks", 0.5)):
            for criterion in CRITERIA:
                got = credible_interval(
                    [n1, n0], delta, criterion=criterion, prior=prior
                )
                want = [
                    reference_limit(n1, n0, delta, criterion, alpha, upper)
                    for upper in (False, True)
                ]
                np.testing.assert_allclose(got, want, rtol=2e-9, err_msg=f"{n1} {n0}")


def test_interval_holds_its_mass():
    # Straight from the definition, by simulation.
    rng = np.random.default_rng(3)
    for counts in ([4, 1], [7, 6], [30, 50]):
        for criterion in CRITERIA:
            h = heterogeneity(criterion, rng.dirichlet(np.add(counts, 1), 200_000))
            low, high = credible_interval(counts, 0.1, criterion=criterion)
            assert abs((h < low).mean() - 0.1) < 0.004
            assert abs((h > high).mean() - 0.1) < 0.004


@pytest.mark.parametrize(
    ("purity", "delta", "rows"),
    [
        (1, 0.01, 14),
        (0.9, 0.01, 30),
        (0.7, 0.01, 110),
        (1, 0.1, 6),
        (0.9, 0.1, 10),
        (0.7, 0.1, 40),
    ],
)
def test_rows_until_the_split(purity, delta, rows):
    # The table of A3; children mirror each other, on a grid of 10 unless pure.
    bound = CredibleBound(delta)
    step = 1 if purity == 1 else 10
    for n in range(step, rows + 1, step):
        major = round(purity * n)
        answer = bound.evaluate([[major, n - major], [n - major, major]])
        assert answer.split == (n == rows)
    assert answer.child_limit < answer.parent_limit
    assert answer.statistic == pytest.approx(1 - 3 * delta)


def test_moment_matching_is_close_to_exact_for_two_classes():
    # A6: the largest gap over a small grid is 0.015.
    gap = 0.0
    for n1 in range(0, 21, 2):
        for n0 in range(0, n1 + 1, 2):
            for criterion in ("entropy", "gini"):
                exact = credible_interval([n1, n0], 0.05, criterion=criterion)
                largest = np.log(2) if criterion == "entropy" else 0.25
                close = matched_limits([n1, n0], 1, criterion, 0.05)
                gap = max(gap, np.abs(np.subtract(exact, close)).max())
                assert np.all(np.array(exact) <= largest)
    assert 0.005 < gap < 0.025


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("prior", ["uniform", "perks"])
def test_many_classes_against_a6(criterion, prior):
    rng = np.random.default_rng(0)
    for k in (3, 4, 10):
        alpha = 1 if prior == "uniform" else 1 / k
        for scale in (1, 10, 1000):
            counts = np.floor(rng.gamma(0.5, scale, k))
            for delta in (1e-6, 0.05, 0.45):
                got = credible_interval(counts, delta, criterion=criterion, prior=prior)
                want = matched_limits(counts, alpha, criterion, delta)
                np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("prior", ["uniform", "perks"])
def test_limits_of_the_entropy_to_the_last_digits(prior):
    """On both sides of the switch between two expansions of the trigamma function."""
    rng = np.random.default_rng(0)
    for k in (3, 5):
        alpha = 1 if prior == "uniform" else 1 / k
        for largest in (0, 2, 8, 15, 40, 300):
            counts = rng.integers(largest // 2, largest + 1, k)
            for delta in (1e-6, 0.05):
                got = credible_interval(counts, delta, criterion="entropy", prior=prior)
                want = matched_limits(counts, alpha, "entropy", delta)
                np.testing.assert_allclose(got, want, rtol=2e-10)
    # the last term of the expansion is 1e-11 here
    got, _ = credible_interval([9, 9, 9], 1e-6, criterion="entropy")
    want, _ = matched_limits([9, 9, 9], 1, "entropy", 1e-6)
    assert got == pytest.approx(want, rel=8e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_classes_against_simulation(criterion):
    rng = np.random.default_rng(1)
    for counts in ([9, 3, 1], [40, 40, 40], [100, 0, 0, 0], [5, 4, 3, 2, 1]):
        h = heterogeneity(criterion, rng.dirichlet(np.add(counts, 1), 100_000))
        low, high = credible_interval(counts, 0.05, criterion=criterion)
        np.testing.assert_allclose(
            [low, high], np.quantile(h, [0.05, 0.95]), atol=0.02 * h.max()
        )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_limits_are_monotone(criterion):
    n = np.arange(0, 41)
    counts = np.stack(np.meshgrid(n, n, indexing="ij"), axis=-1)
    for delta in (1e-7, 0.05, 0.45):
        low, high = credible_interval(counts, delta, criterion=criterion)
        assert np.all(low <= high)
        for limit in (low, high):
            np.testing.assert_allclose(limit, limit.T, rtol=1e-13)
            major = np.diff(limit, axis=0)[np.tril_indices(40)]
            minor = np.diff(limit, axis=1)[np.tril_indices(40, -1)]
            assert np.all(major < 1e-14)
            assert np.all(minor > -1e-14)
    share = np.array([0.8, 0.2]) * np.array([5, 10, 50, 500, 5e4, 5e7])[:, None]
    low, high = credible_interval(share, 0.05, criterion=criterion)
    assert np.all(np.diff(high) < 0)
    assert np.all(np.diff(low) > 0)
    low, high = credible_interval([13, 4], DELTAS, criterion=criterion)
    assert np.all(np.diff(high) < 0)
    assert np.all(np.diff(low) > 0)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.lists(st.floats(0, 1e9), min_size=3, max_size=3), min_size=1, max_size=4
    ),
    st.floats(1e-12, 0.4999),
    st.sampled_from(CRITERIA),
    st.sampled_from(["uniform", "perks"]),
    st.integers(2, 3),
)
def test_broadcasting_is_the_scalar_function(rows, delta, criterion, prior, k):
    rows = np.array(rows)[:, :k]
    deltas = np.array([[delta], [0.05]])
    low, high = credible_interval(rows, deltas, criterion=criterion, prior=prior)
    assert low.shape == high.shape == (2, len(rows))
    largest = heterogeneity(criterion, np.full(k, 1 / k))
    for i in range(2):
        for j in range(len(rows)):
            want = credible_interval(
                rows[j], deltas[i, 0], criterion=criterion, prior=prior
            )
            assert (low[i, j], high[i, j]) == want
            assert 0 <= want[0] <= want[1] <= largest * (1 + 1e-12)


@pytest.mark.parametrize(
    ("criterion", "prior", "delta"),
    crossed(
        CRITERIA, ["uniform", "perks"], [1e-12, 1e-7, 0.01, 0.05, 0.2, 0.3, 0.301, 0.49]
    ),
)
def test_two_class_floors_lie_below_the_cost(criterion, prior, delta):
    kernel = CredibleBound(delta, prior=prior).kernel(criterion, 2)
    counts = pairs()
    cost, sharp = kernel.child_costs(counts, pool=np.ones(len(counts)))
    first = floors(kernel, counts)
    assert np.all(first <= cost)
    assert np.all(first > 0) or delta > 0.3
    assert np.all(sharp <= cost)
    # Tight where it is known, and known where the shape allows it.
    rare, common = np.sort(counts, axis=1).T
    z = stats.norm.isf(delta)
    far = (rare >= 4 + z * z) & (common - rare > (6 + z) * np.sqrt(rare + common))
    if 0.25 < z:
        assert np.all(sharp[far] > 0)
        x = (rare + 1) / (rare + common + 2)
        sd = np.sqrt(x * (1 - x) / (rare + common + 3))
        slope = {
            "entropy": np.log((1 - x) / x),
            "gini": 1 - 2 * x,
            "kearns_mansour": (1 - 2 * x) / 2 / np.sqrt(x * (1 - x)),
        }[criterion]
        gap = (cost - sharp)[far] / (slope * sd)[far]
        assert np.all(gap < (4e-3 if delta >= 0.01 else 8e-3))
        assert np.median(gap) < 1e-3


def test_two_class_mean_floor_is_certain_up_to_its_limit():
    # Exhaustive for small counts at the largest delta that uses the mean; the
    # least P(H >= E[H]) is .317, reached by pure nodes under the Perks prior.
    n = np.arange(0.0, 151.0)
    counts = np.stack(np.meshgrid(n, n), axis=-1).reshape(-1, 2)
    for prior in ("uniform", "perks"):
        for criterion in CRITERIA:
            kernel = CredibleBound(0.3, prior=prior).kernel(criterion, 2)
            cost, _ = kernel.child_costs(counts, pool=np.ones(len(counts)))
            assert np.all(floors(kernel, counts) < cost)


@pytest.mark.parametrize(
    ("k", "delta"),
    crossed([3, 4, 7, 26, 100], [1e-7, 0.01, 0.05, 0.1, 0.3, 0.301, 0.49]),
)
def test_many_class_floors_lie_below_the_cost(k, delta):
    counts = many_class_counts(k)
    for prior in ("uniform", "perks"):
        for criterion in CRITERIA:
            kernel = CredibleBound(delta, prior=prior).kernel(criterion, k)
            cost, sharp = kernel.child_costs(counts, pool=np.ones(len(counts)))
            assert np.all(np.isfinite(cost))
            assert np.all(sharp <= cost)
            first = floors(kernel, counts)
            assert np.all(first <= cost)
            if delta <= 0.3:
                assert kernel.score.additive
                sums = kernel.score.evaluate(
                    counts,
                    counts.max(axis=0),
                    pool_left=np.ones(len(counts)),
                    pool=1.0,
                    from_sums=True,
                )
                np.testing.assert_allclose(sums, first, rtol=1e-6, atol=1e-12)
                assert np.all(sums <= cost)


@pytest.mark.parametrize(
    ("criterion", "prior", "delta"),
    crossed(CRITERIA, ["uniform", "perks"], [1e-7, 0.01, 0.05, 0.1, 0.3, 0.301, 0.45]),
)
def test_no_gap_between_the_regions_of_the_close_floor(criterion, prior, delta):
    # Both tails matter at balance and one far from it; `t` goes through both.
    kernel = CredibleBound(delta, prior=prior).kernel(criterion, 2)
    n = np.r_[np.arange(1, 40), np.geomspace(40, 1e9, 60).round()]
    n, t = map(np.ravel, np.meshgrid(n, np.linspace(0, 16, 65)))
    rare = np.floor((n - t * np.sqrt(n)) / 2)
    counts = np.c_[n - rare, rare][rare >= 0]
    counts = np.r_[counts, counts[counts[:, 1] > 1] - [0.3, 0.4]]
    cost, sharp = kernel.child_costs(counts, pool=np.ones(len(counts)))
    assert np.all(floors(kernel, counts) <= cost)
    assert np.all(sharp <= cost)
    # What is lost, in the units of a test's score: less than half a row's worth.
    n = counts.sum(axis=1)
    large = (counts[:, 1] > 30) & (n < 1e7)
    assert np.all(((cost - sharp) * n)[large] < 0.25) or delta < 0.01


@pytest.mark.parametrize(("criterion", "delta"), crossed(CRITERIA, [0.05, 0.1, 0.3]))
def test_floors_leave_few_tests_for_the_exact_limit(criterion, delta):
    # A node of noise, where posterior means alone pass one test in five.
    rng = np.random.default_rng(0)
    left = np.eye(2)[rng.permutation(10_000) % 2].cumsum(axis=0)[:-1]
    total = np.array([5_000.0, 5_000.0])
    kernel = CredibleBound(delta).kernel(criterion, 2)
    floor = kernel.score.evaluate(left, total)
    cost = kernel.child_costs(left)[0] + kernel.child_costs(total - left)[0]
    limit = 10_000 * credible_interval(total, delta, criterion=criterion)[0]
    assert np.all(floor <= cost)
    # Those above the limit, and those above the best floor before them.
    open_ones = (floor <= limit) & (
        floor < np.minimum.accumulate(np.r_[limit, floor])[:-1]
    )
    assert np.count_nonzero(open_ones & (cost > limit)) <= 5


@pytest.mark.parametrize("k", [2, 3])
def test_floor_of_a_test_is_about_its_children(k):
    rng = np.random.default_rng(0)
    total = rng.integers(5, 50, k).astype(float)
    left = np.floor(rng.random((20, k)) * (total + 1))
    weights = left.sum(axis=1) + rng.random(20)
    others = total.sum() + 2 - weights
    for criterion in CRITERIA:
        for delta in (0.05, 0.4):
            kernel = CredibleBound(delta).kernel(criterion, k)
            cost = kernel.child_costs(left, pool=weights)[0]
            cost += kernel.child_costs(total - left, pool=others)[0]
            # Fractional counts take the path without tables.
            for shift in (0.0, 1e-9):
                got = kernel.score.evaluate(
                    left + shift,
                    total + 2 * shift,
                    pool_left=weights,
                    pool=total.sum() + 2,
                )
                assert np.all(got <= cost)
                if delta == 0.05:
                    a = [
                        [moments_a6(c, 1, criterion)[0] for c in side]
                        for side in (left, total - left)
                    ]
                    if criterion == "kearns_mansour":
                        a = np.sqrt(a)
                    want = weights * a[0] + others * a[1]
                    if k == 2:
                        assert np.all(got > want) or shift > 0
                    else:
                        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_posterior_moments():
    rng = np.random.default_rng(5)
    for counts in (np.array([7.0, 2.0]), np.array([7.0, 2.0, 0.0, 1.0])):
        h = heterogeneity("entropy", rng.dirichlet(counts + 1, 400_000))
        mean, variance = moments_a6(counts, 1, "entropy")
        assert mean == pytest.approx(h.mean(), abs=2e-3)
        assert variance == pytest.approx(h.var(), rel=0.02)
    kernel = CredibleBound().kernel("entropy", 4)
    assert floors(kernel, counts[None])[0] == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("prior", ["uniform", "perks"])
def test_reserved_tables_hold_the_same(k, prior):
    rng = np.random.default_rng(1)
    total = np.full(k, 4000.0)
    left = np.floor(rng.random((500, k)) ** 4 * 4001)
    first, second = (CredibleBound(prior=prior).kernel("entropy", k) for _ in range(2))
    second.score.reserve(4000 * k)
    np.testing.assert_allclose(
        second.score.evaluate(left, total),
        first.score.evaluate(left, total),
        rtol=1e-13,
    )
    if k > 2:
        sums = second.score.evaluate(left, total, from_sums=True)
        np.testing.assert_allclose(sums, first.score.evaluate(left, total), rtol=1e-10)
        np.testing.assert_allclose(
            second.child_costs(left)[1], first.child_costs(left)[1], rtol=1e-9
        )


def test_memo_solves_each_pair_once():
    kernel = CredibleBound().kernel("entropy", 2)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 80, (20_000, 2)).astype(float)
    first, _ = kernel.child_costs(counts)
    distinct = len(np.unique(np.sort(counts, axis=1), axis=0))
    assert kernel.n_solves == distinct
    again, _ = kernel.child_costs(counts[:, ::-1])
    assert kernel.n_solves == distinct
    np.testing.assert_array_equal(first, again)
    _, high = credible_interval(counts)
    np.testing.assert_array_equal(first, high * counts.sum(axis=1))


def test_memo_survives_its_limit():
    kernel = CredibleBound().kernel("gini", 2)
    counts = np.c_[np.arange(150_000.0), np.zeros(150_000)]
    cost, _ = kernel.child_costs(counts)
    sample = np.arange(0, 150_000, 1009)
    _, high = credible_interval(counts[sample], criterion="gini")
    np.testing.assert_array_equal(cost[sample], high * counts[sample, 0])


def test_pool_weights_count_and_labels_do_not():
    bound = CredibleBound(0.1)
    children = [[10, 0], [0, 10]]
    equal = bound.evaluate(children, pool=[500, 500])
    assert equal.child_limit == pytest.approx(bound.evaluate(children).child_limit)
    one_sided = bound.evaluate([[10, 0], [3, 3]], pool=[1, 999])
    _, high = credible_interval([[10, 0], [3, 3]], 0.1)
    assert one_sided.child_limit == pytest.approx((high[0] + 999 * high[1]) / 1000)


def test_perks_prior_accepts_a_small_pure_child():
    # G4: ten rows of one class among 26.
    counts = np.eye(26)[0] * 10
    _, uniform = credible_interval(counts)
    _, perks = credible_interval(counts, prior="perks")
    assert perks < 1 < 2 < uniform


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"delta": 0.5}, "'delta'"),
        ({"delta": 0.0}, "'delta'"),
        ({"delta": "small"}, "'delta'"),
        ({"prior": "jeffreys"}, "'prior'"),
        ({"pool_weight": "rows"}, "'pool_weight'"),
    ],
)
def test_invalid_parameters(params, match):
    with pytest.raises(InvalidParameterError, match=match):
        CredibleBound(**params).kernel("entropy", 2)


@pytest.mark.parametrize(
    ("counts", "kwargs", "match"),
    [
        ([1, -1], {}, "counts"),
        ([1, np.nan], {}, "counts"),
        ([3], {}, "two classes"),
        ([3, 4], {"delta": 0.5}, "delta"),
        ([3, 4], {"delta": [0.1, 0.0]}, "delta"),
        ([3, 4], {"criterion": "error"}, "criterion"),
        ([3, 4], {"prior": "flat"}, "prior"),
    ],
)
def test_invalid_input(counts, kwargs, match):
    with pytest.raises(ValueError, match=match):
        credible_interval(counts, **kwargs)


def test_criterion_that_does_not_fit():
    with pytest.raises(InvalidParameterError, match=r"'criterion'.*CredibleBound"):
        CredibleBound().evaluate([[1, 0], [0, 1]], criterion="error")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.4])
def test_floor_of_many_outcomes_of_two_classes(criterion, delta):
    """The floor of a split is the sum of those of its outcomes, below their costs."""
    rng = np.random.default_rng(0)
    kernel = CredibleBound(delta).kernel(criterion, 2)
    for _ in range(20):
        counts = rng.integers(0, 40, size=(rng.integers(3, 6), 2)).astype(float)
        counts[:, 0] += 1
        single = [
            kernel.score.evaluate_outcomes(np.vstack([row, row])) / 2 for row in counts
        ]
        found = kernel.score.evaluate_outcomes(counts)
        cost, _ = kernel.child_costs(counts, pool=counts.sum(axis=1))
        assert found <= cost.sum() * (1 + 1e-9)
        assert found == pytest.approx(sum(single), rel=0.35)
