"""Limits of a leaf's risk, and how far a settled majority is from a tie."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.effort import examples
from scipy.integrate import quad
from scipy.special import betainc
from scipy.stats import beta

from skconftree.bounds import (
    binomial_upper,
    consistency_radius,
    excess_risk_upper,
    risk_upper,
)
from skconftree.bounds._limits import (
    beta_lower,
    beta_upper,
    excess_risk_of_leaves,
    risk_of_leaves,
)

BINARY = st.tuples(st.integers(0, 60), st.integers(0, 60))
DELTA = st.floats(0.01, 0.6)


@given(BINARY, DELTA, st.floats(0.0, 100.0))
def test_risk_of_two_classes_is_the_published_formula(counts, delta, weight):
    n0, n1 = counts
    if n1 > n0:
        expected = weight * (1.0 - beta.ppf(delta, n1 + 1, n0 + 1))
    else:
        expected = weight * beta.ppf(1.0 - delta, n1 + 1, n0 + 1)
    found = risk_upper(counts, delta, weight=weight)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("quick", "checked"),
    [(risk_of_leaves, risk_upper), (excess_risk_of_leaves, excess_risk_upper)],
)
@pytest.mark.parametrize("prior", ["uniform", "perks"])
def test_the_risk_without_checks_is_the_same(prior, quick, checked):
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 9, 40):
        counts = rng.integers(0, 30, (20, n_classes)) * rng.integers(0, 2, (20, 1))
        counts, weight = counts.astype(float), 100 * rng.random(20)
        ours = quick(counts.copy(), 0.1, weight, prior)
        found = checked(counts, 0.1, weight=weight, prior=prior)
        assert ours.tobytes() == found.tobytes()


def test_worked_values_of_the_risk():
    # without a label: the weight but for delta; at a tie the class does not matter
    assert risk_upper([0, 0], 0.1, weight=8.0) == pytest.approx(7.2)
    assert risk_upper([4, 4], 0.2, predicted=0) == pytest.approx(
        risk_upper([4, 4], 0.2, predicted=1)
    )
    several = risk_upper([[0, 0, 9], [3, 3, 3]], 0.05, prior="perks")
    expected = 1.0 - beta.ppf(0.05, [28 / 3, 10 / 3], [2 / 3, 20 / 3])
    np.testing.assert_allclose(several, expected)


def test_a_posterior_of_large_counts_keeps_its_digits():
    limit = risk_upper([1e15, 0], 0.1)
    assert limit == pytest.approx(-np.log(0.1) / 1e15, rel=1e-6)


@given(st.lists(BINARY, min_size=1, max_size=4), DELTA)
def test_excess_risk_of_two_classes_is_the_published_formula(counts, delta):
    counts = np.array(counts)
    n0, n1 = counts.T
    expected = np.where(
        n1 > n0,
        1.0 - 2.0 * beta.ppf(delta, n1 + 1, n0 + 1),
        2.0 * beta.ppf(1.0 - delta, n1 + 1, n0 + 1) - 1.0,
    )
    found = excess_risk_upper(counts, delta)
    np.testing.assert_allclose(found, np.maximum(expected, 0.0), atol=1e-9)


@settings(max_examples=examples(100, by_day=5))
@given(st.lists(st.integers(0, 40), min_size=3, max_size=6), st.floats(0.02, 0.5))
@example([2, 0, 0], 0.02)
@example([0, 0, 1], 0.1)
def test_a_gap_larger_than_the_limit_has_probability_delta(counts, delta):
    counts = np.array(counts)
    predicted = counts.argmax()
    limit = excess_risk_upper(counts, delta)
    chances = []
    for other in set(range(len(counts))) - {predicted}:
        a, b = counts[other] + 1.0, counts[predicted] + 1.0
        rest = (counts + 1.0).sum() - a - b

        def exceeds(both, a=a, b=b, rest=rest):
            place = (1.0 + limit / both) / 2.0 if both > 0.0 else 1.0
            return beta.pdf(both, a + b, rest) * beta.sf(place, a, b)

        middle = (a + b) / (a + b + rest)
        chances.append(quad(exceeds, 0, 1, points=[middle], limit=200)[0])
    if limit > 0.0:
        assert max(chances) == pytest.approx(delta, abs=2e-3)
    else:
        assert max(chances) <= delta + 2e-3


def test_more_classes_with_nothing_in_them_do_not_settle_a_leaf():
    two, three = excess_risk_upper([6, 5], 0.1), excess_risk_upper([6, 5, 0], 0.1)
    assert 0.0 < three < two


@pytest.mark.parametrize("delta", [1e-12, 0.1, 0.4, 0.9])
@pytest.mark.parametrize("limit", [risk_upper, excess_risk_upper, binomial_upper])
def test_limits_of_more_rows_are_as_many_standard_deviations_away(limit, delta):
    """Where quantiles of SciPy are wrong, and where there are none, as well."""
    sizes = np.array([1e7, 1e9, 1e11, 1e13, 1e15, 9e15])
    for shares in (
        [0.5, 0.5],
        [1.0, 0.75],
        [1.0, 0.5, 1.0],
        [0.9, 0.3, 0.1],
        [1.0] * 40,
    ):
        shares = np.array(shares)
        risk = 1.0 - shares[1] / shares.sum()
        mean = shares[0] / shares.sum() + risk - 1.0
        if limit is binomial_upper:
            found, mean = limit(risk * sizes, sizes, delta), risk
        else:
            found = limit(sizes[:, None] * shares, delta, predicted=1)
            mean = risk if limit is risk_upper else mean
        away = (found - mean) * np.sqrt(sizes)
        assert (found > 0.0).all() or (delta > 0.1 and mean == 0.0)
        np.testing.assert_allclose(away, away[1], rtol=2e-2, atol=2e-2)


def test_beta_points_that_scipy_does_not_find():
    """Its quantiles of these are NaN in some releases."""
    a, b, delta = 2.5, 10675859.5, 4.4730037990764e-206
    (low,) = beta_lower([a], [b], [delta])
    assert 0.0 < low < 1e-18
    assert betainc(a, b, low) >= delta
    a, b, delta = 2.5, 3.5, 2.133525372142784e-162
    (high,) = beta_upper([a], [b], [delta])
    assert 1.0 - 1e-15 < high <= 1.0


def test_counts_that_are_no_errors_of_rows():
    with pytest.raises(ValueError, match="n must be positive and finite"):
        binomial_upper([0, 0], [5, 0])
    with pytest.raises(ValueError, match=r"errors must lie in \[0, n\]"):
        binomial_upper(6, 5)


def test_counts_above_those_that_floats_hold():
    with pytest.raises(ValueError, match=r"at most 2\*\*53"):
        risk_upper([2.0**54, 1.0])


@pytest.mark.parametrize("limit", [risk_upper, excess_risk_upper])
def test_arguments_are_broadcast_and_checked(limit):
    assert limit([[3, 4], [5, 6]], [[0.1], [0.2], [0.3]]).shape == (3, 2)
    assert limit([3, 4], predicted=[0, 1]).shape == (2,)
    with pytest.raises(ValueError, match="delta must be in"):
        limit([3, 4], 0.0)
    with pytest.raises(ValueError, match="weight must be in"):
        limit([3, 4], weight=-1.0)
    with pytest.raises(ValueError, match="predicted must hold class indices"):
        limit([3, 4], predicted=2)
    with pytest.raises(ValueError, match="prior must be one of"):
        limit([3, 4], prior="jeffreys")
    with pytest.raises(ValueError, match="at least two classes"):
        limit([3])


@given(st.integers(1, 500), st.integers(1, 5000), st.floats(0.001, 1.0))
def test_radius_of_two_classes_is_the_published_formula(n_queried, n_seen, delta):
    expected = np.sqrt(np.log(2 * n_seen / delta) / (2 * n_queried))
    assert consistency_radius(n_queried, n_seen, delta) == pytest.approx(expected)


def test_forms_of_the_radius():
    usual = consistency_radius(40, 300)
    assert usual == pytest.approx(np.sqrt(np.log(2 * 300**2) / 80))
    practical = consistency_radius(40, 300, form="practical", c=0.5)
    assert practical == pytest.approx(0.5 * np.sqrt(np.log(300) / 40))
    assert consistency_radius(40, 300, 0.1, n_classes=5) > consistency_radius(
        40, 300, 0.1
    )
    assert consistency_radius(0, 1) == np.inf
    assert consistency_radius(0, 1, form="practical") == np.inf
    # no number of labels up to this one can settle a leaf
    at_most = 2 * np.log(2 * 1000 / 0.05)
    assert consistency_radius(at_most, 1000, 0.05) == pytest.approx(0.5)


def test_a_settled_majority_is_rarely_wrong():
    # labels asked until the leaf is consistent, or for ever
    rng = np.random.default_rng(0)
    rows, delta = 300, 0.2
    labels = rng.random((2000, rows)) < 0.45
    n = np.arange(1, rows + 1)
    share = labels.cumsum(axis=1) / n
    wrong = share - 0.5 > consistency_radius(n, rows, delta)
    assert wrong.any(axis=1).mean() <= delta


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_queried": -1}, "n_queried must be in"),
        ({"n_seen": 0}, "n_seen must be in"),
        ({"delta": 2.0}, "delta must be in"),
        ({"n_classes": 1}, "n_classes must be an integer of 2 or more"),
        ({"form": "other"}, "form must be one of"),
        ({"c": 0.0}, "c must be in"),
    ],
)
def test_bad_arguments_of_the_radius(change, message):
    with pytest.raises(ValueError, match=message):
        consistency_radius(**({"n_queried": 5, "n_seen": 9} | change))


def test_no_leaf_is_worse_than_all_of_its_rows():
    """Not by a rounding either."""
    assert excess_risk_upper([0, 9e15, 3, 7], 1e-12, predicted=0) == 1.0
