"""One encoded table, any number of trees: samples are counts beside its rows.

A tree grown from counts is, bit for bit and evidence included, the tree of a table in
which every row is repeated as often; what is shared does not change.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from reference.effort import crossed
from reference.sampled_trees import grow_sample
from skconftree.tree._settings import GrowthSettings

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds._registry import BOUNDS
from skconftree.tables._growth_data import MemoryData

N_ROWS = 700
KINDS = ("numbers", "levels", "missing", "nominal", "wide", "words", "mixed", "pool")
ARRAYS = (
    "children_left",
    "n_children",
    "parent",
    "feature",
    "threshold",
    "missing_go_to_left",
    "missing_seen",
    "counts",
    "impurity",
)


class Table:
    """Rows, labels and what goes with a kind of table."""

    def __init__(self, kind, n_classes, n=N_ROWS):
        rng = np.random.default_rng(KINDS.index(kind))
        X = rng.normal(size=(n, 5)).astype(np.float32)
        self.n_categories, self.X_pool, self.multiway = None, None, False
        if kind == "levels":
            X = np.round(X * 20.0).astype(np.float32)
        if kind in ("missing", "mixed"):
            X[:, 1] = np.round(X[:, 1])
            X[:, 2] = np.round(X[:, 2], 1)
            X[rng.random(n) < 0.15, 0] = np.nan
            X[rng.random(n) < 0.2, 1] = np.nan
        if kind in ("nominal", "wide", "mixed"):
            sizes = [0, 0, 0, 5, 300 if kind == "wide" else 12]
            self.n_categories = np.array(sizes, dtype=np.int32)
            X[:, 3] = rng.integers(0, 5, n)
            X[:, 4] = rng.integers(0, sizes[4], n)
        if kind == "words":
            X = np.hstack([X, rng.normal(size=(n, 3)), rng.integers(0, 9, (n, 3))])
            density = [0.01, 0.1, 0.5, 0.1, 0.05, 0.6, 0.3, 0.02, 0.1, 0.3, 0.01]
            X = np.where(rng.random(X.shape) < density, X, 0.0).astype(np.float32)
            X[:, 3] = X[:, 3] != 0.0
        signal = np.nan_to_num(X[:, 0]) + (X[:, 1] > 0) - (X[:, 3] == 2)
        signal = signal + 0.4 * rng.normal(size=n)
        edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
        self.y = np.digitize(signal, edges)
        self.n_classes = n_classes
        self.is_sparse = kind == "words"
        if kind == "pool":
            self.X_pool = rng.normal(size=(200, 5)).astype(np.float32)
        self.X = X

    @property
    def n_rows(self):
        return len(self.X) + (0 if self.X_pool is None else len(self.X_pool))

    def data(self, counts=None, **given):
        """Return the data, rows repeated as counts say."""
        X, y, pool = self.X, self.y, self.X_pool
        if counts is not None:
            X, y = (np.repeat(rows, counts[: len(self.X)], axis=0) for rows in (X, y))
            if pool is not None:
                pool = np.repeat(pool, counts[len(self.X) :], axis=0)
        if self.is_sparse:
            X = sp.csr_array(X)
        given["n_categories"] = self.n_categories
        return MemoryData(X, y, self.n_classes, X_pool=pool, **given)


def draw(n, seed, dtype=np.uint8):
    return np.random.default_rng(seed).poisson(1.0, n).astype(dtype)


def settings_of(name, **changes):
    bound = None if name is None else BOUNDS[name]()
    criterion = "entropy" if name is None else bound.criteria[0]
    values = {"bound": bound, "criterion": criterion, "min_samples_split": 8.0}
    return GrowthSettings(**values | changes)


def assert_same(tree, other, *, rows=True):
    for name in ARRAYS + ("n_node_samples",) * rows:
        assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
    splits = tree.feature >= 0
    for name in tree.evidence.dtype.names:
        assert_array_equal(
            tree.evidence[name][splits], other.evidence[name][splits], err_msg=name
        )
    for node in np.flatnonzero(tree.is_nominal):
        assert_array_equal(tree.branches(node), other.branches(node))


@pytest.mark.parametrize(
    ("kind", "bound", "n_classes"), crossed(KINDS, [None, *BOUNDS], [2, 4])
)
def test_counts_are_repeated_rows(kind, bound, n_classes):
    table = Table(kind, n_classes)
    settings = settings_of(bound)
    data = table.data()
    n_splits = 0
    for seed in range(3):
        counts = draw(table.n_rows, seed)
        tree = grow_sample(data, counts, settings)
        assert_same(tree, grow_sample(table.data(counts), None, settings), rows=False)
        n_splits += np.count_nonzero(tree.feature >= 0)
        once = (counts > 0).astype(np.uint8)
        assert_same(
            grow_sample(data, once, settings),
            grow_sample(table.data(once), None, settings),
        )
    assert_same(
        grow_sample(data, None, settings),
        grow_sample(table.data(), None, settings, consumes=True),
    )
    assert n_splits > 6 or bound is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "changes",
    [
        {"random_cuts": True},
        {"max_features": 2},
        {"max_leaves": 7},
        {"multiway": True},
        {"min_samples_leaf": 5.0},
        {"min_weight_fraction_leaf": 0.02},
        {"bound": BOUNDS["credible"](pool_weight="volume")},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_counts_are_repeated_rows_whatever_the_settings(kind, changes):
    table = Table(kind, 3)
    settings = settings_of("credible" if "bound" in changes else None, **changes)
    given = {"class_weight": np.array([1.0, 2.5, 0.5])} if len(kind) > 5 else {}
    data = table.data(**given)
    for seed in range(2):
        counts = draw(table.n_rows, seed)
        assert_same(
            grow_sample(data, counts, settings, seed),
            grow_sample(table.data(counts, **given), None, settings, seed),
            rows=False,
        )


@pytest.mark.parametrize("kind", ["numbers", "mixed", "words"])
def test_few_rows_of_a_large_table(kind):
    """Values that no row of the sample has leave no trace."""
    table = Table(kind, 2)
    data = table.data()
    counts = np.zeros(table.n_rows, dtype=np.uint16)
    counts[40:80] = 1
    if kind == "mixed":
        counts[np.isnan(table.X).any(axis=1)] = 0
    for bound in (None, "gtest", "evalue"):
        settings = settings_of(bound)
        assert_same(
            grow_sample(data, counts, settings),
            grow_sample(table.data(counts), None, settings),
        )


@pytest.mark.parametrize("kind", ["numbers", "mixed", "words"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_threads_share_a_table(kind, dtype):
    table = Table(kind, 3)
    data = table.data()
    samples = [draw(table.n_rows, seed, dtype) for seed in range(12)]
    settings = settings_of("gtest", max_features=3)

    def one(counts):
        return grow_sample(data, counts, settings)

    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(one, samples))
    for tree, counts in zip(trees, samples, strict=True):
        assert_same(tree, one(counts))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", ["numbers", "mixed", "words"])
def test_integer_weights_are_repeated_rows(kind, n_classes):
    table = Table(kind, n_classes)
    weight = np.minimum(draw(N_ROWS, 5), 2)
    counts = np.minimum(draw(N_ROWS, 6), 2)
    data = table.data(sample_weight=weight.astype(float))
    settings = settings_of("gtest")
    for sample, repeats in ((None, weight), (counts, counts * weight)):
        assert_same(
            grow_sample(data, sample, settings),
            grow_sample(table.data(repeats), None, settings),
            rows=False,
        )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_many_repeats_change_roundings_at_most(n_classes):
    table = Table("mixed", n_classes)
    repeats = 20 * draw(N_ROWS, 1) + draw(N_ROWS, 2)
    for bound in (None, "gtest", "evalue"):
        settings = settings_of(bound)
        tree = grow_sample(table.data(), repeats, settings)
        other = grow_sample(table.data(repeats), None, settings)
        for name in ARRAYS[:-1]:
            assert_array_equal(getattr(tree, name), getattr(other, name))
        for name in tree.evidence.dtype.names:
            assert_allclose(
                tree.evidence[name][tree.feature >= 0],
                other.evidence[name][tree.feature >= 0],
                rtol=1e-9,
                atol=1e-12,
            )


def test_weights_that_are_no_counts():
    table = Table("mixed", 3)
    rng = np.random.default_rng(3)
    weight = rng.integers(1, 9, N_ROWS) / 4.0
    counts = draw(N_ROWS, 4)
    settings = settings_of("gtest")
    tree = grow_sample(table.data(sample_weight=weight), counts, settings)
    repeated = np.repeat(weight, counts)
    other = grow_sample(table.data(counts, sample_weight=repeated), None, settings)
    assert_array_equal(tree.feature, other.feature)
    assert_array_equal(tree.threshold, other.threshold)
    assert_array_equal(tree.counts, other.counts)

    large = np.full(N_ROWS, 2.0**23)  # whole, but their sum is no 32-bit number
    tree = grow_sample(table.data(sample_weight=large), None, settings_of(None))
    other = grow_sample(table.data(), None, settings_of(None, min_samples_split=2.0))
    assert tree.counts[0].sum() == N_ROWS * 2.0**23
    assert_array_equal(tree.feature, other.feature)
    assert_array_equal(tree.threshold, other.threshold)


def test_estimator_treats_integer_weights_as_repeats():
    table = Table("numbers", 3)
    weight = draw(N_ROWS, 8)
    tree = ConfidenceTreeClassifier().fit(table.X, table.y, weight.astype(float))
    repeats = np.repeat(table.X, weight, axis=0), np.repeat(table.y, weight)
    assert tree.get_n_leaves() > 3
    assert_same(tree.tree_, ConfidenceTreeClassifier().fit(*repeats).tree_, rows=False)


def test_a_spent_table_says_so():
    data = Table("mixed", 2).data()
    grow_sample(data, None, settings_of("gtest"), consumes=True)
    for consumes in (False, True):
        with pytest.raises(RuntimeError, match="table has been consumed"):
            grow_sample(data, None, settings_of("gtest"), consumes=consumes)


@pytest.mark.parametrize(
    "counts",
    [
        [1] * N_ROWS,
        np.ones(N_ROWS),
        np.ones(N_ROWS, dtype=np.int64),
        np.ones(N_ROWS - 1, dtype=np.uint8),
        np.ones((N_ROWS, 1), dtype=np.uint8),
    ],
)
def test_counts_of_another_kind(counts):
    data = Table("numbers", 2).data()
    with pytest.raises(ValueError, match="counts must be an array of 700 numbers"):
        grow_sample(data, counts, settings_of(None))


def test_counts_without_a_label():
    table = Table("pool", 2)
    counts = np.zeros(table.n_rows, dtype=np.uint8)
    counts[N_ROWS:] = 1
    with pytest.raises(ValueError, match="counts must be positive for at least one"):
        grow_sample(table.data(), counts, settings_of(None))
