"""Possibilistic entropy: worked numbers of paper B, a slow reference, the floor.

They exist because the paper prints the entropy with errors, so that only its own
examples can tell the right reading, and because the scan trusts the floor blindly.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import crossed, examples
from scipy import stats

from skconftree._compat import InvalidParameterError
from skconftree.bounds import (
    PossibilisticBound,
    agresti_coull_upper,
    possibilistic_entropy,
    possibilistic_quality,
)


def reference_entropy(counts, gamma):
    """B2, class by class."""
    n = sum(counts)
    if n == 0:
        return 1.0
    z = stats.norm.isf(gamma / 2)
    total = 0.0
    for j in range(1, len(counts) + 1):
        t = sum(sorted(counts)[:j]) / n
        center = (t * n + z * z / 2) / (n + z * z)
        root = z * np.sqrt(center * (1 - center) / (n + z * z))
        limit = min(1, center + root)
        total -= t / 2 * np.log(limit / 2) + (1 - t / 2) * np.log(1 - limit / 2)
    return total / (len(counts) * np.log(2))


def test_example_2():
    # The paper prints .52, .76 and .81, the last truncated.
    limits = agresti_coull_upper([0.2, 0.5, 1.0], 10, 0.05)
    np.testing.assert_allclose(limits, [0.5206, 0.7634, 1], atol=5e-5)
    assert possibilistic_entropy([5, 2, 3], 0.05) == pytest.approx(0.81776, abs=5e-6)


@pytest.mark.parametrize(
    ("n", "row"),
    [
        (5, [0.702, 0.774, 0.833, 0.880, 0.919, 0.949]),
        (10, [0.626, 0.720, 0.793, 0.851, 0.897, 0.934]),
        (100, [0.516, 0.651, 0.741, 0.811, 0.866, 0.910]),
        (1e15, [0.500, 0.643, 0.734, 0.805, 0.861, 0.906]),
    ],
)
def test_figure_1(n, row):
    p = np.arange(6) / 10
    entropy = possibilistic_entropy(np.c_[p * n, (1 - p) * n])
    np.testing.assert_allclose(entropy, row, atol=6e-4)


def test_ends_of_both_scales():
    for k in (2, 3, 10):
        pure = np.eye(k)[0] * 1e15
        assert possibilistic_entropy(np.zeros(k)) == 1
        assert possibilistic_entropy(pure) == pytest.approx(1 / k, abs=1e-6)
        shifted = [
            possibilistic_entropy(c, normalization="shifted")
            for c in (np.zeros(k), pure)
        ]
        np.testing.assert_allclose(shifted, [1, 0], atol=1e-6)
        printed = possibilistic_entropy(np.zeros(k), normalization="qlogq")
        assert printed == pytest.approx(np.log(2) / np.log(k))
    rounded = np.eye(40)[0] * 9e15
    assert possibilistic_entropy(rounded, 0.49, normalization="shifted") >= 0.0


def test_shape_of_the_entropy():
    p = np.linspace(0, 0.5, 26)
    for gamma in (1e-20, 0.05, 0.9):
        values = []
        for n in (1, 10, 1e3, 1e6, 1e9):
            counts = np.c_[p * n, (1 - p) * n]
            value = possibilistic_entropy(counts, gamma)
            np.testing.assert_array_equal(
                value, possibilistic_entropy(counts[:, ::-1], gamma)
            )
            assert np.all(np.diff(value) > -1e-15)
            assert np.all((value >= 0.5) & (value <= 1))
            values.append(value)
        assert np.all(np.diff(values, axis=0) < 1e-15)


def test_agresti_coull_is_above_and_falls():
    p = np.linspace(0, 1, 21)
    limits = np.array([agresti_coull_upper(p, n, 0.01) for n in (0, 1, 9, 1e3, 1e12)])
    assert np.all(limits >= p)
    assert np.all(limits[0] == 1)
    assert np.all(np.diff(limits, axis=0) <= 0)
    np.testing.assert_allclose(limits[-1], p, atol=1e-5)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.lists(st.floats(0, 1e6), min_size=4, max_size=4), min_size=1, max_size=3
    ),
    st.floats(1e-20, 0.99),
    st.integers(2, 4),
)
def test_against_slow_reference_and_broadcasting(rows, gamma, k):
    rows = np.array(rows)[:, :k]
    gammas = np.array([[gamma], [0.05]])
    got = possibilistic_entropy(rows, gammas)
    assert got.shape == (2, len(rows))
    for i in range(2):
        for j in range(len(rows)):
            want = reference_entropy(list(rows[j]), gammas[i, 0])
            assert got[i, j] == pytest.approx(want, rel=1e-9)
            assert got[i, j] == possibilistic_entropy(rows[j], gammas[i, 0])


@pytest.mark.parametrize("gamma", [0.5, 0.05, 1e-20])
def test_gain_is_eq_17(gamma):
    children = np.array([[12, 3, 0], [2, 9, 4], [0, 1, 5]])
    for r, tests, correction in (
        (2, 1, "branches"),
        (3, 1, "branches"),
        (3, 40, "branches"),
        (3, 40, "all_tests"),
    ):
        part = children[:r]
        n = part.sum()
        corrected = tests if correction == "all_tests" else 1
        child_gamma = -np.expm1(np.log1p(-gamma) / (r * corrected))
        answer = PossibilisticBound(gamma, correction=correction).evaluate(
            part, n_tests=tests, pool=np.full(r, 1000)
        )
        want = sum(c.sum() / n * reference_entropy(list(c), child_gamma) for c in part)
        assert answer.child_limit == pytest.approx(want, rel=1e-12)
        parent = reference_entropy(list(part.sum(axis=0)), gamma)
        assert answer.parent_limit == pytest.approx(parent, rel=1e-12)
        assert answer.split == (want < parent)


@pytest.mark.parametrize("gamma", [0.5, 0.05, 1e-20])
@pytest.mark.parametrize("correction", ["branches", "all_tests"])
def test_present_classes_alone_decide(gamma, correction):
    # As if the label had no other classes; "all" pays for them.
    children = np.array([[0, 12, 3, 0, 0, 7], [0, 2, 9, 0, 0, 1]])
    bound = PossibilisticBound(gamma, correction=correction, classes="present")
    few = children[:, children.any(axis=0)]
    answer, want = (bound.evaluate(part, n_tests=9) for part in (children, few))
    assert answer.parent_limit == pytest.approx(want.parent_limit, rel=1e-12)
    assert answer.child_limit == pytest.approx(want.child_limit, rel=1e-12)
    every = PossibilisticBound(gamma, correction=correction, classes="all")
    gain = want.parent_limit - want.child_limit
    paid = every.evaluate(children, n_tests=9)
    assert 6 * (paid.parent_limit - paid.child_limit) < 3 * gain


def test_a_pure_node_never_splits_among_present_classes():
    bound = PossibilisticBound(classes="present")
    for counts in ([[0, 4, 0], [0, 9, 0]], [[0.1, 0, 0], [0.7, 0, 0]]):
        assert not bound.evaluate(counts).split


def test_two_rows_split_for_every_gamma():
    # B3's warning: the rule of the paper is weak.
    for gamma in (0.5, 0.05, 1e-8, 1e-20):
        assert PossibilisticBound(gamma).evaluate([[1, 0], [0, 1]]).split


def nested_tests(rng, n, k, size, shift=0.0):
    """Left counts of ascending cuts through n rows, and the counts of all rows."""
    p = rng.dirichlet(np.full(k, 0.4), 12)
    y = np.array([rng.choice(k, p=p[12 * i // n]) for i in range(n)])
    counts = np.cumsum(np.eye(k)[y], axis=0)
    cuts = np.unique(rng.integers(0, n, size))
    return counts[cuts] + shift, counts[-1] + 2 * shift


def plain_cost(counts):
    """Cumulative entropy with pi = T, as a total over rows."""
    n = counts.sum(axis=1, keepdims=True)
    t = np.cumsum(np.sort(counts), axis=1) / n / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        h = -np.where(t > 0, t * np.log(t), 0) - (1 - t) * np.log1p(-t)
    return n[:, 0] * h.sum(axis=1) / counts.shape[1] / np.log(2)


@pytest.mark.parametrize(
    ("k", "delta", "correction", "classes"),
    crossed(
        [2, 3, 8],
        [1e-20, 0.05, 0.999999],
        ["branches", "all_tests"],
        ["all", "present"],
    ),
)
def test_floor_lies_below_the_cost(k, delta, correction, classes):
    rng = np.random.default_rng(k)
    bound = PossibilisticBound(delta, correction=correction, classes=classes)
    kernel = bound.kernel("entropy", k)
    for n in (5, 60, 1500):
        for shift in (0.0, 0.25):
            for scale in (1.0, 1e5):
                left, total = nested_tests(rng, n, k, 100, shift)
                left, total = scale * left, scale * total
                # the node's tests are counted before its costs are known
                kernel.evaluate([total, total], n_tests=len(left))
                cost = kernel.child_costs(left)[0] + kernel.child_costs(total - left)[0]
                if shift == 0.0:
                    kernel.score.reserve(int(total.sum()))
                floor = kernel.score.evaluate(left, total)
                assert np.all(floor <= cost)


def test_floor_of_every_small_table():
    n = np.arange(1, 41)
    left = np.array([[a, m - a] for m in n for a in range(m + 1)], dtype=float)
    for delta in (1e-9, 0.05, 0.7):
        kernel = PossibilisticBound(delta).kernel("entropy", 2)
        cost = kernel.child_costs(left)[0]
        for rest in ([0, 0], [3, 0], [20, 17]):
            right = kernel.child_costs([rest])[0]
            kernel.score.reserve(200)
            for i in range(len(left)):
                floor = kernel.score.evaluate(left[i : i + 1], left[i] + rest)
                assert floor <= cost[i] + right


@pytest.mark.parametrize("delta", [1e-6, 0.05, 0.7])
def test_floor_of_two_classes_holds_most_of_the_confidence_term(delta):
    # Without it half of all tests get past the floor, and a tree takes five times
    # as long.
    rng = np.random.default_rng(0)
    kernel = PossibilisticBound(delta).kernel("entropy", 2)
    for n in (30, 300, 3000):
        left, total = nested_tests(rng, n, 2, 200)
        left = left[(left.sum(axis=1) > 0) & ((total - left).sum(axis=1) > 0)]
        cost = kernel.child_costs(left)[0] + kernel.child_costs(total - left)[0]
        term = cost - plain_cost(left) - plain_cost(total - left)
        assert np.all(cost - kernel.score.evaluate(left, total) < 0.12 * term)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_one_more_row_never_lowers_the_cost(k):
    # The scan skips stretches of tests on the strength of this.
    rng = np.random.default_rng(k)
    for delta in (1e-20, 1e-3, 0.05, 0.5, 0.99):
        kernel = PossibilisticBound(delta).kernel("entropy", k)
        for scale in (1, 10, 1e3, 1e6):
            counts = np.floor(rng.gamma(0.3, scale, (1500, k)))
            more = counts + np.eye(k)[rng.integers(0, k, 1500)]
            before, after = kernel.child_costs(counts)[0], kernel.child_costs(more)[0]
            assert np.all(after >= before * (1 - 1e-13))


@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("correction", ["branches", "all_tests"])
def test_skipped_tests_are_worse_than_the_best(k, correction):
    rng = np.random.default_rng(k)
    bound = PossibilisticBound(correction=correction)
    for n in (50, 400, 4000):
        left, total = nested_tests(rng, n, k, 250)
        kernel = bound.kernel("entropy", k)
        kernel.evaluate([total, total], n_tests=len(left))
        cost = kernel.child_costs(left)[0] + kernel.child_costs(total - left)[0]
        floor = kernel.score.evaluate(left, total)
        # a test on its own is not compared with any other
        alone = [kernel.score.evaluate(row[None], total)[0] for row in left]
        skipped = floor < np.array(alone) * (1 - 1e-9)
        assert np.all(floor[skipped] > cost.min())
        if n == 4000:
            assert skipped.mean() > 0.5


def test_floor_of_many_outcomes():
    children = np.array([[12, 3, 0], [2, 9, 4], [0, 1, 5]])
    bound = PossibilisticBound(classes="all")
    answer, kernel = bound.evaluate(children), bound.kernel("entropy", 3)
    pair = kernel.score.evaluate(children[:1], children[:2].sum(axis=0))[0]
    last = kernel.score.evaluate(children[2:], children[2])[0]
    assert answer.floor * children.sum() == pytest.approx(pair + last)
    assert answer.floor < answer.child_limit


def test_quality():
    leaves = [[40, 5], [3, 30]]
    entropy = [reference_entropy(c, 0.05) for c in leaves]
    assert possibilistic_quality(leaves) == pytest.approx(
        (45 * entropy[0] + 33 * entropy[1]) / 78
    )
    assert possibilistic_quality(leaves, weighted=False) == pytest.approx(sum(entropy))
    # B4: without weights a useless split doubles the classical sum.
    half = [[2e14, 3e14]] * 2
    whole = [[4e14, 6e14]]
    assert possibilistic_quality(half) == pytest.approx(possibilistic_quality(whole))
    assert possibilistic_quality(half, weighted=False) == pytest.approx(
        2 * possibilistic_quality(whole, weighted=False)
    )


def test_invalid_input():
    for params in ({"delta": 0.0}, {"delta": 1.0}, {"correction": "tests"}):
        with pytest.raises(InvalidParameterError, match=next(iter(params))):
            PossibilisticBound(**params).kernel("entropy", 2)
    with pytest.raises(InvalidParameterError, match="'criterion'"):
        PossibilisticBound().kernel("gini", 2)
    with pytest.raises(ValueError, match="gamma"):
        possibilistic_entropy([1, 2], 1.0)
    with pytest.raises(ValueError, match="normalization"):
        possibilistic_entropy([1, 2], normalization="qlog3")
    with pytest.raises(ValueError, match="counts"):
        possibilistic_entropy([-1, 2])
    with pytest.raises(ValueError, match="p must"):
        agresti_coull_upper(1.5, 3)
    with pytest.raises(ValueError, match="n must"):
        agresti_coull_upper(0.5, -3)
    with pytest.raises(ValueError, match="leaf_counts"):
        possibilistic_quality([[0, 0]])
