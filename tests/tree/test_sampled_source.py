"""Two sources of rows, by index and by partition, grow equal trees."""

import numpy as np
import pytest
from reference.effort import cases
from reference.sampled_trees import grow_sample
from skconftree.tables._encoded_table import RowCodes
from skconftree.tree._settings import GrowthSettings

from skconftree import ConfidenceForestClassifier
from skconftree.bounds import (
    BayesFactorBound,
    Chi2Bound,
    CredibleBound,
    DeRosaBound,
    EC2Bound,
    EValueBound,
    GTestBound,
    HoeffdingBound,
)
from skconftree.tables._growth_data import MemoryData
from skconftree.tree.batch import _grow

BOUNDS = [
    None,
    HoeffdingBound(delta=0.3),
    DeRosaBound(),
    GTestBound(),
    Chi2Bound(),
    EC2Bound(),
    EValueBound(),
    BayesFactorBound(),
    CredibleBound(),
]
CRITERIA = ["gini", "entropy", "kearns_mansour", "gain_ratio"]


def columns(rng, n):
    """Numeric columns of every kind."""
    normal = rng.standard_normal(n)
    yield normal
    yield np.round(normal, 2)
    yield rng.integers(0, 256, n)
    yield rng.integers(0, 3, n)
    yield rng.integers(0, 600, n)
    yield np.exp(8.0 * rng.standard_normal(n))
    # two dense heaps far apart, within nodes that the first column makes
    yield np.where(rng.random(n) < 0.5, 0.0, 1e6) + rng.standard_normal(n)


def random_table(rng, n):
    """Columns, categories of each (0 = numeric) and labels."""
    found = [one.astype(np.float32) for one in columns(rng, n)]
    found = [found[i] for i in rng.integers(0, len(found), rng.integers(2, 8))]
    n_categories = np.zeros(len(found), dtype=np.int32)
    for f, column in enumerate(found):
        if rng.random() < 0.25:
            n_categories[f] = rng.choice([2, 5, 300])
            found[f] = rng.integers(0, n_categories[f], n).astype(np.float32)
        elif rng.random() < 0.3:
            column[rng.random(n) < rng.choice([0.01, 0.3])] = np.nan
    X = np.column_stack(found)
    n_classes = int(rng.choice([2, 2, 3, 5, 5, 12, 20]))
    ranks = np.argsort(np.argsort(np.nan_to_num(X), axis=0), axis=0) / n
    score = ranks[:, 0] + ranks[:, -1] ** 2 + 0.3 * rng.standard_normal(n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return np.ascontiguousarray(X), n_categories, y, n_classes


def random_settings(rng, d, bound, has_categories):
    criteria = CRITERIA if bound is None else bound.criteria
    chosen = {
        "criterion": str(rng.choice(criteria)),
        "bound": bound,
        "max_features": int(rng.integers(1, d + 1)),
        "random_cuts": bool(rng.random() < 0.2),
        "multiway": bool(has_categories and rng.random() < 0.4),
    }
    if rng.random() < 0.3:
        chosen["max_leaves"] = int(rng.integers(2, 30))
    if rng.random() < 0.3:
        chosen["min_samples_leaf"] = float(rng.integers(2, 6))
    return GrowthSettings(**chosen)


def both(monkeypatch, data, counts, settings, seed):
    """Grow by either source."""
    trees = []
    for answer in (False, True):
        monkeypatch.setattr(_grow, "uses_lookup", lambda *_, a=answer: a)
        trees.append(grow_sample(data, counts, settings, seed))
    return trees


def assert_same(tree, expected):
    assert tree.node_count == expected.node_count
    for name in dir(expected):
        value = None if name.startswith("_") else getattr(expected, name)
        if isinstance(value, np.ndarray) and name != "competitors":
            assert compared(tree, name).tobytes() == compared(expected, name).tobytes()


def compared(tree, name):
    """An array of a tree; without runners-up, which are known of one source alone."""
    value = getattr(tree, name)
    if name != "evidence":
        return value
    value = value.copy()
    value["runner_up_z"] = 0.0
    return value


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: type(bound).__name__)
@pytest.mark.parametrize("n_rows", cases([6, 60, 700, 3000], [60, 700]))
def test_both_sources_grow_one_tree(monkeypatch, bound, n_rows):
    rng = np.random.default_rng([n_rows, BOUNDS.index(bound)])
    for seed in range(12 if n_rows < 3000 else 4):
        X, n_categories, y, n_classes = random_table(rng, n_rows)
        weight = None
        if rng.random() < 0.3:
            weight = rng.integers(0, rng.choice([2, 3, 40, 900]), n_rows).astype(float)
            weight[0] = 1.0
        data = MemoryData(
            X,
            y,
            n_classes,
            sample_weight=weight,
            class_weight=rng.random(n_classes) + 0.1 if rng.random() < 0.2 else None,
            n_categories=n_categories if n_categories.any() else None,
        )
        counts = None
        if rng.random() < 0.7:
            drawn = rng.integers(0, n_rows, rng.choice([n_rows // 2, n_rows]))
            counts = np.bincount(drawn, minlength=n_rows).astype(np.uint32)
            counts[0] += 1
        settings = random_settings(rng, X.shape[1], bound, n_categories.any())
        expected, tree = both(monkeypatch, data, counts, settings, seed)
        assert_same(tree, expected)


def patterns(rng, n):
    """Labels in the order of a feature, many of whose cuts are equally good."""
    place = np.arange(n)
    yield place % 2
    yield place // 10 % 2
    yield (place == n // 3).astype(int)
    yield ((place < 3) | (place >= n - 3)).astype(int)
    yield (place > n // 2).astype(int)
    yield (rng.random(n) < 0.02).astype(int)
    yield (rng.random(n) < 0.3 + 0.4 * (np.abs(place - n // 2) < n // 4)).astype(int)


@pytest.mark.parametrize("criterion", [*CRITERIA, "error"])
def test_many_unsorted_rows_of_two_classes(monkeypatch, criterion):
    rng = np.random.default_rng(0)
    n = 2000
    X = rng.standard_normal((n, 2)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1] + np.sort(X[:, 0]), 2)
    settings = GrowthSettings(criterion=criterion, max_features=1)
    for y in patterns(rng, n):
        X[:, 0] = np.sort(X[:, 0])
        order = rng.permutation(n)
        data = MemoryData(np.ascontiguousarray(X[order]), y[order], 2)
        for counts in (None, rng.poisson(1.0, n).astype(np.uint32)):
            expected, tree = both(monkeypatch, data, counts, settings, 0)
            assert_same(tree, expected)
            assert tree.node_count > 2


def test_a_sample_with_few_values_uses_the_other_source(monkeypatch):
    # It would have codes if it were the table, and entropy adds up by them.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3)).astype(np.float32)
    y = (3.0 * (X[:, 0] + rng.standard_normal(2000))).astype(int) % 3
    data = MemoryData(X, y, 3)
    counts = np.zeros(2000, dtype=np.uint32)
    counts[rng.choice(2000, 250, replace=False)] = 1
    settings = GrowthSettings(criterion="entropy", max_features=1)
    expected, tree = both(monkeypatch, data, counts, settings, 0)
    assert_same(tree, expected)
    assert tree.node_count > 20


def test_a_row_that_counts_too_often_is_left_to_the_other_source(monkeypatch):
    # A word has no room for it.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (500, 4)).astype(np.float32)
    y = (X[:, 0] + 20.0 * rng.standard_normal(500) > 50.0).astype(int)
    for most in (65_535, 65_536):
        weight = np.ones(500)
        weight[7] = most
        data = MemoryData(X, y, 2, sample_weight=weight)
        expected, tree = both(
            monkeypatch, data, None, GrowthSettings(max_features=1), 0
        )
        assert_same(tree, expected)
        assert tree.counts[0].sum() == most + 499
        assert tree.node_count > 20


@pytest.mark.parametrize("d", [1, 2, 7, 9])
def test_codes_are_ranks(d):
    rng = np.random.default_rng(d)
    X = np.column_stack(
        [rng.integers(0, 10 ** (1 + f % 6), 70_000) for f in range(d)]
    ).astype(np.float32)
    data = MemoryData(X, np.zeros(70_000), 1)
    codes = RowCodes(data.columns())
    for f in range(d):
        ranks = np.unique(X[:, f], return_inverse=True)[1]
        assert (codes.codes(f) == ranks).all()
    assert codes.row_bytes <= 4 * d


def test_the_rule_counts_what_is_sorted():
    rng = np.random.default_rng(0)
    sorted_ = rng.standard_normal((20_000, 12)).astype(np.float32)
    small, whole = sorted_[:500], np.round(sorted_[:500])
    for X, K, most in ((small, 2, 2), (sorted_, 2, 3), (sorted_, 3, 2), (whole, 2, 8)):
        data = MemoryData(X, rng.integers(0, K, len(X)), K)
        for max_features in range(1, 13):
            settings = GrowthSettings(max_features=max_features)
            assert _grow.uses_lookup(data, settings) == (max_features <= most)
        assert not _grow.uses_lookup(data, GrowthSettings())


def test_a_forest_is_the_same_by_either_source(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, (400, 12)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + 10.0 * rng.standard_normal(400) > 40).astype(int)
    found = []
    for answer in (False, True):
        monkeypatch.setattr(_grow, "uses_lookup", lambda *_, a=answer: a)
        forest = ConfidenceForestClassifier(5, bound=None, random_state=0, n_jobs=2)
        found.append(forest.fit(X, y).predict_proba(X))
    assert (found[0] == found[1]).all()
