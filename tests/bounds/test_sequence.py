"""Limits of class probabilities that hold at every time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.effort import cases
from scipy.stats import betabinom, binom

from skconftree.bounds import confidence_sequence


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=5),
    st.floats(0.01, 0.5),
    st.floats(0.1, 5.0),
)
def test_limits_are_where_the_likelihood_falls_to_alpha_of_the_mixture(
    counts, alpha, a
):
    limits = confidence_sequence(counts, alpha, a=a)
    n = sum(counts)
    assert limits.shape == (len(counts), 2)
    for hits, (low, high) in zip(counts, limits, strict=True):
        assert 0.0 <= low <= (hits / n if n else 0.5) <= high <= 1.0
        # both probabilities are of the number of hits: the orders cancel
        least = alpha * betabinom.pmf(hits, n, a, a)
        for limit, end in ((low, 0.0), (high, 1.0)):
            if limit == end:
                assert hits == (0 if end == 0.0 else n)
            else:
                np.testing.assert_allclose(binom.pmf(hits, n, limit), least, rtol=1e-6)


def test_the_two_classes_mirror_each_other():
    (low, high), (other_low, other_high) = confidence_sequence([12, 3])
    np.testing.assert_allclose([low, high], [1.0 - other_high, 1.0 - other_low])


@pytest.mark.parametrize("p", cases([0.5, 0.1, 0.01], [0.1]))
@pytest.mark.slow
def test_limits_hold_at_every_time(p):
    rng = np.random.default_rng(1)
    n = np.arange(1, 401)
    hits = (rng.random((200, 400)) < p).cumsum(axis=1)
    limits = confidence_sequence(np.stack([hits, n - hits], -1), 0.1)[:, :, 0]
    wrong = (limits[..., 0] > p) | (limits[..., 1] < p)
    assert wrong.any(axis=1).mean() <= 0.1


def test_arguments_are_broadcast_and_checked():
    assert confidence_sequence([[1, 2, 3]] * 4, [[0.1], [0.2]]).shape == (2, 4, 3, 2)
    np.testing.assert_array_equal(confidence_sequence([0, 0]), [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="alpha must be in"):
        confidence_sequence([1, 2], 1.0)
    with pytest.raises(ValueError, match="a must be in"):
        confidence_sequence([1, 2], a=0.0)
    with pytest.raises(ValueError, match="a must be one number"):
        confidence_sequence([1, 2], a=[0.5, 1.0])
    with pytest.raises(ValueError, match="at least two classes"):
        confidence_sequence([1])
