"""The vectorized functions with extreme floating-point numbers.

What cannot be is refused in a sentence that names the argument and its value; the rest
has a value, without a warning, however small or large the numbers are.
"""

import numpy as np
import pytest

from skconftree.active.stream import query_probability
from skconftree.bounds import (
    agresti_coull_upper,
    chi2_pvalue,
    confidence_sequence,
    consistency_radius,
    credible_interval,
    derosa_radius,
    ec2_confidence,
    ec2_score,
    excess_risk_upper,
    gtest_pvalue,
    hoeffding_radius,
    log_bayes_factor,
    log_evalue,
    mcdiarmid_radius,
    noise_beta,
    possibilistic_entropy,
    risk_upper,
)

TINY = [5e-324, 1e-310, 2e-308, 1e-200, 1e-160]
SCALES = [*TINY, 1.0, 2.0**50]
TABLE = np.array([[3.0, 5.0], [4.0, 1.0]])

# Functions with the arguments of a call that is right.
CALLS = {
    agresti_coull_upper: (0.2, 10.0, 0.05),
    consistency_radius: (3.0, 10.0, 0.05),
    derosa_radius: (10.0, 0.05),
    hoeffding_radius: (10.0, 0.05),
    mcdiarmid_radius: (10.0, 0.05),
    noise_beta: (0.1,),
    query_probability: (0.1, 0.1, 0.3),
}
PLACES = [(function, i) for function, args in CALLS.items() for i in range(len(args))]


def called(function, place, value):
    args = list(CALLS[function])
    args[place] = value
    return function(*args)


@pytest.mark.parametrize(("function", "place"), PLACES)
@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf, -1.0])
def test_what_is_no_number_is_named(function, place, value):
    if function is query_probability and place == 1 and value == np.inf:
        pytest.skip("the radius of a leaf without labels")
    with pytest.raises(ValueError, match=rf"\w+ must .*{value}"):
        called(function, place, value)
    with pytest.raises(ValueError, match=rf"\w+ must .*{value}"):
        called(function, place, [CALLS[function][place], value])


@pytest.mark.parametrize(("function", "place"), PLACES)
@pytest.mark.parametrize("value", [*TINY, 0.999999, 1.0, 1e15, 1e300, 1.7e308])
def test_every_legal_number_has_a_value(function, place, value):
    try:
        found = called(function, place, value)
    except ValueError as error:
        assert " must " in str(error)  # noqa: PT017  # out of its range
    else:
        assert np.isfinite(found)


@pytest.mark.parametrize("gamma", [5e-324, 1e-323, 1e-310])
def test_agresti_coull_of_the_smallest_gamma(gamma):
    limit = agresti_coull_upper(0.2, [10.0, 1e6, 1e15], gamma)
    assert (np.diff(limit) < 0).all()
    assert 0.2 < limit[-1] < limit[0] < 1.0
    assert limit[0] >= agresti_coull_upper(0.2, 10.0, 1e-300)


def test_radii_of_the_smallest_numbers_go_on_as_those_above():
    for radius in (hoeffding_radius, consistency_radius):
        args = (10.0, 0.05) if radius is consistency_radius else (0.05,)
        few = radius(1e-320, *args)
        # 1e-320 itself has four digits
        assert few == pytest.approx(1e160 * radius(1.0, *args), rel=1e-3)
    for delta in (1e-300, 1e-310, 5e-324):
        want = np.sqrt(np.log(2 * 10) - np.log(delta)) / np.sqrt(6.0)
        assert consistency_radius(3.0, 10.0, delta) == pytest.approx(want)
        want = np.sqrt(0.2 * (np.log(2) - np.log(delta))) + 0.1
        assert derosa_radius(10.0, delta) == pytest.approx(want)


def test_query_probability_without_a_label():
    found = query_probability(0.1, [np.inf, 0.1, 0.0], [0.3, 0.3, 0.0])
    np.testing.assert_allclose(found, [1.0, 0.4, 1.0])
    assert query_probability(0.1, np.inf, 0.5) == 1.0
    with pytest.raises(ValueError, match=r"budget must be in \(0, 1\]. Got 0.0"):
        query_probability(0.0, 0.1, 0.3)
    with pytest.raises(ValueError, match=r"gap must be in \[0, 0.5\]. Got 0.6"):
        query_probability(0.1, 0.1, [0.3, 0.6])


@pytest.mark.parametrize("scale", [*TINY, 1e-100, 1.0, 2.0**49])
def test_the_normalized_score_has_no_unit(scale):
    tables = np.array([[[1, 0], [0, 1]], [[1, 1], [1, 1]], [[0, 0], [1, 1]]])
    want = [0.25, 0.1875, 0.0]
    np.testing.assert_allclose(ec2_score(tables * scale), want, rtol=1e-14)
    assert ec2_score(np.zeros((2, 2))) == 0.0
    assert ec2_score(np.zeros((0, 2, 2))).shape == (0,)
    assert np.isfinite(ec2_score(tables * scale, normalize=False)).all()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "shape", [[[1, 0], [0, 1]], [[1, 1], [1, 1]], [[1, 0], [0, 0]]]
)
def test_tables_of_any_size_have_values(scale, shape):
    table = np.array(shape) * scale
    for function in (chi2_pvalue, gtest_pvalue, log_bayes_factor, log_evalue):
        assert np.isfinite(function(table)), function
    assert np.isfinite(ec2_confidence(table, 1, 0.1))
    for function in (
        confidence_sequence,
        credible_interval,
        excess_risk_upper,
        possibilistic_entropy,
        risk_upper,
    ):
        assert np.isfinite(function(table)).all(), function


@pytest.mark.parametrize("function", [log_bayes_factor, log_evalue])
def test_the_prior_weight_is_that_of_the_bound(function):
    assert np.isfinite(function(TABLE, a=1e-100))
    assert np.isfinite(function(TABLE, a=1e6))
    for a in (5e-324, 1e-101, 1e7, 1e308, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"a must be in \[1e-100, 1000000.0\]"):
            function(TABLE, a=a)


@pytest.mark.parametrize("small", [5e-324, 1e-310, 1e-200, 1e-100])
def test_noise_of_outcomes_that_hardly_happen(small):
    # Two outcomes: whatever their prior, a wrong one is the other one.
    for prior in ([small, 0.5], [0.5, small], [small, small], [1e308, 1e308 * small]):
        if prior[1] > 0:
            assert noise_beta(0.1, prior=prior) == pytest.approx(0.18)
    want = noise_beta(0.1, prior=[0.3, 0.7, 0.0])
    assert noise_beta(0.1, prior=[0.3, 0.7, small]) == pytest.approx(want)
