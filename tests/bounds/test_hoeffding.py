"""Hoeffding's bounds and the race that all race bounds share.

They exist because radius, range and competitor have been read in several ways in the
literature; each reading is pinned down here by a worked number.
"""

import numpy as np
import pytest
from sklearn.base import clone

from skconftree._compat import InvalidParameterError
from skconftree.bounds import (
    DeRosaBound,
    HoeffdingBound,
    McDiarmidBound,
    hoeffding_radius,
)
from skconftree.criteria._criterion import CRITERIA as CRITERIA_OF_SCANS

CRITERIA = ("entropy", "gini", "kearns_mansour", "error")


def impurity(criterion, p):
    """C1 and C11."""
    p = np.asarray(p, dtype=float)
    if criterion == "entropy":
        return -0.5 * sum(x * np.log2(x) for x in p if x > 0)
    if criterion == "gini":
        return 1 - (p * p).sum()
    if criterion == "kearns_mansour":
        return 0.5 * np.sqrt(p * (1 - p)).sum()
    return 1 - p.max()


def test_radius():
    # C4: VFDT resolves a gap of 0.1 with 806 rows at 1e-7.
    assert hoeffding_radius(806, 1e-7) < 0.1 < hoeffding_radius(805, 1e-7)
    got = hoeffding_radius([[10], [1000]], [0.05, 1e-7], value_range=2)
    want = [
        [2 * np.sqrt(np.log(1 / d) / 2 / m) for d in (0.05, 1e-7)] for m in (10, 1000)
    ]
    np.testing.assert_allclose(got, want, rtol=1e-14)
    for kwargs in ({"n": 0}, {"delta": 1}, {"delta": 0}, {"value_range": -1}):
        with pytest.raises(ValueError, match=next(iter(kwargs))):
            hoeffding_radius(**{"n": 5, "delta": 0.1, **kwargs})


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("name", CRITERIA)
def test_limits_are_around_the_criterion_of_a_scan(name, n_classes):
    """The impurity of shares in a bound is the one that splits are chosen by."""
    rng = np.random.default_rng(n_classes)
    counts = rng.integers(0, 50, (40, n_classes)) * rng.choice([1.0, 0.37], (40, 1))
    counts[:n_classes] = 9 * np.eye(n_classes)
    counts[-1] = 4
    counts += np.eye(n_classes)[0]
    bound = HoeffdingBound(variant="interval", against="no_split", factor=1e-300)
    costs, _ = bound.kernel(name, n_classes).child_costs(counts)
    measure = CRITERIA_OF_SCANS[name](n_classes)
    expected = measure.impurities(counts) / measure.unit
    if name == "kearns_mansour":  # the interval's third is a root of the second
        root = np.sqrt(CRITERIA_OF_SCANS["gini"](n_classes).impurities(counts) / 2)
        if n_classes == 2:
            np.testing.assert_allclose(expected, root, atol=1e-12)
        expected = root
    np.testing.assert_allclose(costs / counts.sum(axis=1), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("variant", "purity", "rows"),
    [
        ("gain", 1, 1),
        ("gain", 0.9, 10),
        ("gain", 0.7, 50),
        ("interval", 1, 4),
        ("interval", 0.9, 20),
        ("interval", 0.7, 240),
    ],
)
def test_rows_until_the_split(variant, purity, rows):
    # The table of A3 at delta = .1: A5 (a) and (b).
    bound = HoeffdingBound(0.1, against="no_split", variant=variant)
    step = 1 if purity == 1 else 10
    for n in range(step, rows + 1, step):
        major = round(purity * n)
        answer = bound.evaluate([[major, n - major], [n - major, major]])
        assert answer.split == (n == rows)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_ranges(criterion, k):
    n = 400
    children = np.full((2, k), n / 2 / k)
    unit = hoeffding_radius(n, 0.01)
    runner_up = {
        "entropy": np.log2(k) / 2,
        "gini": 1,
        "kearns_mansour": np.sqrt(k - 1) / 2,
        "error": 1,
    }[criterion]
    answer = HoeffdingBound(0.01).evaluate(children, criterion=criterion)
    assert answer.radius == pytest.approx(runner_up * unit)
    assert answer.statistic == pytest.approx(0.99)
    largest = impurity(criterion, np.full(k, 1 / k))
    answer = HoeffdingBound(0.01, against="no_split").evaluate(
        children, criterion=criterion
    )
    assert answer.radius == pytest.approx(largest * unit)
    assert answer.parent_limit == pytest.approx(largest)


def test_two_class_impurities_peak_at_one_half():
    for criterion in CRITERIA:
        answer = HoeffdingBound().evaluate([[5, 5], [5, 5]], criterion=criterion)
        assert answer.score == pytest.approx(0.5)
        assert answer.parent_limit == pytest.approx(0.5)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_scores(criterion):
    children = np.array([[12, 3, 0], [2, 9, 4]])
    answer = HoeffdingBound().evaluate(children, criterion=criterion)
    n = children.sum()
    want = sum(c.sum() / n * impurity(criterion, c / c.sum()) for c in children)
    assert answer.score == pytest.approx(want)
    assert answer.parent_limit == pytest.approx(
        impurity(criterion, children.sum(axis=0) / n)
    )


def test_the_gap_must_exceed_factor_radii():
    children = [[90, 10], [10, 90]]
    score = 0.18
    for factor in (1, 2):
        bound = HoeffdingBound(1e-3, factor=factor)
        radius = hoeffding_radius(200, 1e-3)
        for offset, split in ((-1e-9, False), (1e-9, True)):
            answer = bound.evaluate(
                children, criterion="gini", runner_up=score + factor * radius + offset
            )
            assert answer.split == split
            assert answer.radius == pytest.approx(radius)


def test_no_split_is_a_competitor_too():
    children = [[60, 40], [40, 60]]
    # The other attribute is far behind, "no split" is not.
    answer = HoeffdingBound(1e-7).evaluate(children, criterion="gini", runner_up=10.0)
    assert not answer.split
    assert answer.runner_up_score == answer.parent_limit == pytest.approx(0.5)
    # Against "no split" alone a close runner-up does not matter.
    children = [[90, 10], [10, 90]]
    close = {"criterion": "gini", "runner_up": 0.1801}
    assert not HoeffdingBound().evaluate(children, **close).split
    assert HoeffdingBound(against="no_split").evaluate(children, **close).split


def test_only_fresh_rows_count():
    children = [[90, 10], [10, 90]]
    answer = HoeffdingBound().evaluate(children, n_fresh=50)
    assert answer.radius == pytest.approx(0.5 * hoeffding_radius(50, 1e-7))
    assert HoeffdingBound().evaluate(children, n_fresh=0).radius == np.inf
    # A5 counts the labeled rows of the node.
    answer = HoeffdingBound(against="no_split").evaluate(children, n_fresh=50)
    assert answer.radius == pytest.approx(0.5 * hoeffding_radius(200, 1e-7))


@pytest.mark.parametrize(
    "bound",
    [
        HoeffdingBound(),
        HoeffdingBound(0.5, against="no_split", factor=2.0),
        McDiarmidBound(),
        McDiarmidBound(against="no_split"),
        DeRosaBound(),
        DeRosaBound(form="tight", against="no_split"),
    ],
    ids=str,
)
def test_tie_threshold(bound):
    tie = {
        "criterion": "gini",
        "runner_up": 0.5 if "no_split" in repr(bound) else 0.4801,
    }
    children = np.array([[60, 40], [40, 60]])
    radius = bound.evaluate(children, **tie).radius
    for threshold, split in ((0, False), (0.99 * radius, False), (1.01 * radius, True)):
        bound = clone(bound).set_params(tie_threshold=threshold)
        assert bound.evaluate(children, **tie).split == split
        # Never when "no split" wins or is as good.
        useless = np.array([[30, 60], [10, 20]])
        assert not bound.evaluate(useless, **tie).split


@pytest.mark.parametrize("bound", [HoeffdingBound, McDiarmidBound, DeRosaBound])
def test_bad_tie_threshold(bound):
    for value in (-0.1, np.nan, "0.05", None):
        with pytest.raises(
            ValueError, match=f"'tie_threshold' parameter of {bound.__name__}"
        ):
            bound(tie_threshold=value).kernel("gini", 2)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_interval_limits(criterion):
    # A5 (b): clip(H +- R sqrt(ln(1 / delta) / (2 T)), 0, R), R = H(uniform).
    def h(p):
        if criterion == "kearns_mansour":
            return np.sqrt((1 - (np.asarray(p) ** 2).sum()) / 2)
        return impurity(criterion, p)

    children = np.array([[40.0, 10, 0], [5, 50, 5], [0, 0, 3]])
    pool = np.array([10.0, 70, 200])
    largest = h(np.full(3, 1 / 3))
    bound = HoeffdingBound(0.2, against="no_split", variant="interval")
    answer = bound.evaluate(children, criterion=criterion, pool=pool)
    n = children.sum(axis=1)
    highs = [
        min(largest, h(c / m) + largest * hoeffding_radius(m, 0.2))
        for c, m in zip(children, n, strict=True)
    ]
    low = h(children.sum(axis=0) / n.sum()) - largest * hoeffding_radius(n.sum(), 0.2)
    assert answer.child_limit == pytest.approx(np.dot(pool, highs) / pool.sum())
    assert answer.parent_limit == pytest.approx(max(low, 0))
    kernel = bound.kernel(criterion, 3)
    left = np.floor(np.random.default_rng(0).random((30, 3)) * children.sum(axis=0))
    total = children.sum(axis=0)
    floor = kernel.score.evaluate(left, total)
    cost = kernel.child_costs(left)[0] + kernel.child_costs(total - left)[0]
    np.testing.assert_array_equal(floor, cost)
    # nothing is known about a child without rows
    cost, _ = kernel.child_costs([[0.0, 0.0, 0.0]], pool=[3.0])
    assert cost[0] == pytest.approx(3.0 * largest)
    pure = bound.evaluate([[3.0, 0, 0], [4.0, 0, 0]], criterion=criterion)
    assert pure.parent_limit == 0.0


def test_invalid_parameters():
    with pytest.raises(InvalidParameterError, match=r"'variant'.*no_split.*runner_up"):
        HoeffdingBound(variant="interval").kernel("gini", 2)
    for params in (
        {"delta": 1.0},
        {"against": "best"},
        {"variant": "radius"},
        {"factor": 0},
    ):
        with pytest.raises(InvalidParameterError, match=next(iter(params))):
            HoeffdingBound(**params).kernel("gini", 2)
    with pytest.raises(InvalidParameterError, match="'criterion'"):
        HoeffdingBound().kernel("ec2", 2)
