"""Scores of candidate splits equal their definitions, at limits of the input too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.criteria import PHI, SCIKIT_LEARN_UNITS, phi, total
from skconftree.criteria._score import is_integral

from skconftree.criteria import BaseCriterion
from skconftree.criteria._criterion import CRITERIA, criterion_maker

TABLE_LIMIT = 2**20
NAMES = sorted(PHI)
SIZES = [2, 3, 5]


class GiniInPython(BaseCriterion):
    """The Gini index, as a user writes it."""

    def impurity(self, counts):
        share = counts / counts.sum(axis=1, keepdims=True)
        return 1.0 - (share**2).sum(axis=1)


def splits(k, rng):
    """Left counts of splits, some equal in a row, and those of the node.

    The last class has no rows, if there are more than two.
    """
    node = rng.integers(5, 30, k).astype(float)
    node[2:] *= np.arange(2, k) < k - 1
    left = np.floor(rng.random((40, k)) * (node + 1.0))
    left[7] = left[6]
    left[8, 0] = left[7, 0]
    left[9, 1] = left[8, 1]
    left[:, 0] = np.maximum(left[:, 0], 1.0)
    left[:, 0] = np.minimum(left[:, 0], node[0] - 1.0)  # both outcomes have rows
    return left, node


def expected_scores(name, left, node):
    return [
        total(name, [one, rest]) for one, rest in zip(left, node - left, strict=True)
    ]


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_scores_of_candidate_splits(name, k):
    """Tabulated or not, of integers and of fractions, from counts and from sums."""
    left, node = splits(k, np.random.default_rng(k))
    n = int(node.sum())
    for scale in (1.0, 0.37):
        expected = expected_scores(name, scale * left, scale * node)
        for n_max in (None, 0, 5, n - 1, n):
            score = CRITERIA[name](k)
            if n_max is not None:
                score.reserve(n_max)
            for from_sums in [False, True] if score.additive else [False]:
                found = score.evaluate(scale * left, scale * node, from_sums=from_sums)
                assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_scores_of_several_outcomes(name, k):
    rng = np.random.default_rng(k)
    for r in (1, 2, 4):
        for scale in (1.0, 0.37):
            counts = scale * rng.integers(0, 30, (r, k))
            counts[:, 0] += scale
            score = CRITERIA[name](k)
            score.reserve(40)
            assert_allclose(
                score.evaluate_outcomes(counts), total(name, counts.tolist())
            )
            counts = np.vstack([counts, np.zeros(k)])  # an empty outcome
            assert_allclose(
                score.evaluate_outcomes(counts), total(name, counts.tolist())
            )


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_impurity_of_nodes(name, k):
    rng = np.random.default_rng(k)
    counts = np.vstack([np.eye(k), np.zeros(k), rng.integers(0, 9, (9, k)) / 4.0])
    counts[-1] = 1.0
    score = CRITERIA[name](k)
    score.reserve(100)
    unit = SCIKIT_LEARN_UNITS.get(name, 1.0)
    expected = [unit * phi(name, one) if sum(one) > 0 else 0.0 for one in counts]
    assert_allclose(score.impurities(counts), expected, atol=1e-12)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_an_empty_outcome_is_never_better_than_no_split(name, k):
    node = np.arange(1.0, k + 1.0)
    left = np.array([np.zeros(k), node, np.eye(k)[0]])
    with np.errstate(all="ignore"):
        found = CRITERIA[name](k).evaluate(left, node)
    worth = total(name, [node])
    assert not (found[:2] < worth - 1e-12).any()
    assert_allclose(found[2], total(name, [left[2], node - left[2]]))
    if name == "gini":
        assert_array_equal(found[:2], np.nan if k == 2 else np.inf)
    else:
        assert_allclose(found[:2], worth)


def test_kearns_mansour_of_sums_that_round():
    """0.1 + 0.2 exceeds 0.3 by rounding; the root of the difference would be 1e-8."""
    score = CRITERIA["kearns_mansour"](2)
    node = np.array([0.1 + 0.2, 0.5])
    found = score.evaluate([[0.3, 0.2], [0.3, 0.5], [0.2, 0.0]], node)
    assert found[0] == np.sqrt(0.3 * 0.2)
    assert found[1] == np.sqrt(0.3 * 0.5)
    assert_allclose(found[2], np.sqrt(0.1 * 0.5))
    score = CRITERIA["kearns_mansour"](3)
    node = np.array([0.1 + 0.2, 0.5, 0.5])
    left = np.array([0.3, 0.5, 0.5])
    share = left / 1.3
    assert_allclose(
        score.evaluate([left], node), 0.65 * np.sqrt(share * (1 - share)).sum()
    )
    assert score.impurities(np.array([[0.1 + 0.2, 0.0, 0.0]])) == 0.0
    # what exceeds rounding counts
    node = np.array([1.0 + 1e-10, 1.0, 0.0])
    left = np.array([1.0, 0.0, 0.0])
    assert score.evaluate([left], node)[0] == pytest.approx(
        np.sqrt(1e-10 * 1.0), rel=1e-5
    )


@pytest.mark.parametrize("name", ["entropy", "gain_ratio"])
def test_counts_beyond_the_largest_table(name):
    node = np.array([TABLE_LIMIT + 7.0, TABLE_LIMIT])
    left = np.array(
        [[TABLE_LIMIT - 1, 1], [TABLE_LIMIT, 3], [TABLE_LIMIT + 1, TABLE_LIMIT - 2]],
        dtype=float,
    )
    for n_max in (TABLE_LIMIT - 1, TABLE_LIMIT, 2 * TABLE_LIMIT + 7):
        score = CRITERIA[name](2)
        score.reserve(n_max)
        assert_allclose(
            score.evaluate(left, node), expected_scores(name, left, node), rtol=1e-9
        )


@pytest.mark.parametrize("name", ["ec2", "balance", "imbalance"])
def test_scores_that_no_impurity_has_by_hand(name):
    """A node of 6 and 4 rows, cut into 3 + 1 and 3 + 3."""
    worked = {
        # 2 * 4 * 3 and 2 * 6 * 9 pairs of different classes, over 10**2
        "ec2": (4 * (16 - 10) + 6 * (36 - 18)) / 100,
        "balance": 10 * (1 - 0.36 - 0.16) - 4,
        "imbalance": 10 * (1 - 0.36 - 0.16) - 6,
    }
    score = CRITERIA[name](2)
    assert_allclose(score.evaluate([[3, 1]], [6, 4]), worked[name])
    assert_allclose(score.evaluate_outcomes([[3, 1], [3, 3]]), worked[name])
    assert_allclose(score.evaluate_outcomes([[6, 4]]), 4.8)


def test_criteria_in_python():
    left, node = splits(3, np.random.default_rng(0))
    left = np.vstack([left, np.zeros(3), node, 2.0 * node])
    score = criterion_maker(GiniInPython())(3)
    expected = np.append(expected_scores("gini", left[:-3], node), [np.inf] * 3)
    assert_allclose(score.evaluate(left, node), expected)
    counts = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    assert_allclose(score.impurities(counts), [1 - 14 / 36, 0.0, 0.0])
    assert_array_equal(score.impurities(np.zeros((2, 3))), [0.0, 0.0])
    assert_allclose(score.evaluate_outcomes(counts), 6.0 * (1 - 14 / 36))
    # rounding may leave a class below zero on the right
    assert score.evaluate([[1.0 + 1e-16, 1, 0]], [1, 2, 0]) == pytest.approx(1.0)


def test_arguments_of_scores():
    score = CRITERIA["gini"](3)
    assert len(score.evaluate(np.zeros((0, 3)), [1, 2, 3])) == 0
    for left, node in [
        ([[1, 2]], [1, 2, 3]),
        ([[1, 2, 3]], [1, 2]),
        ([[1] * 4], [4] * 4),
    ]:
        with pytest.raises(ValueError, match="must have 3 columns"):
            score.evaluate(left, node)
    for counts in ([[1, 2]], [1, 2, 3], [[1, 2, 3, 4]]):
        with pytest.raises(ValueError, match="must have 3 columns"):
            score.evaluate_outcomes(counts)
    with pytest.raises(ValueError, match="from_sums=True needs an additive score"):
        CRITERIA["error"](3).evaluate([[1, 0, 0]], [1, 2, 3], from_sums=True)
    assert is_integral(np.array([1.0, 0.0, 2.0**60]))
    assert not is_integral(np.array([1.0, 2.5]))
    assert criterion_maker("gini") is CRITERIA["gini"]
    assert criterion_maker("none") is None
    assert criterion_maker(CRITERIA["error"]) is CRITERIA["error"]
    assert criterion_maker(int) is None
    assert criterion_maker(3) is None
