"""Bins: trees of a table whose values are numbers of bins, with cuts between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.bins import binned
from scipy.sparse import csr_array
from skconftree.tables._encoded_table import EncodedTable, RowCodes
from sklearn.base import clone
from sklearn.datasets import load_iris

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tables._content_order import ContentOrder, hash_rows

BOUNDS = ["gtest", None, "credible", "evalue", "hoeffding", "chi2"]


def table(seed, n=300, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = np.where(rng.random(n) < 0.6, 0.0, X[:, 2])  # one value is heavy
    X[rng.random(n) < 0.1, 3] = np.nan
    y = (X[:, 0] > 0).astype(int) + (np.nan_to_num(X[:, 3]) > 0.5)
    return X, (y + (rng.random(n) < 0.1)) % n_classes


def assert_same_but_for_thresholds(tree, other):
    one, two = tree.tree_, other.tree_
    np.testing.assert_array_equal(one.feature, two.feature)
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_array_equal(one.children_left, two.children_left)
    for name in one.evidence.dtype.names:
        # a forest has the rows in the order of what they hold
        np.testing.assert_allclose(one.evidence[name], two.evidence[name], rtol=1e-9)


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 16, 100, 255]), st.booleans())
def test_a_tree_of_bins_is_that_of_their_numbers(seed, max_bins, weighted):
    X, y = table(seed)
    bound = BOUNDS[seed % len(BOUNDS)]
    weight = None
    if weighted:
        weight = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    tree = ConfidenceTreeClassifier(bound, max_bins=max_bins, random_state=0)
    tree.fit(X, y, weight)
    numbers = binned(X, max_bins, weight)
    other = ConfidenceTreeClassifier(bound, random_state=0).fit(numbers, y, weight)
    assert_same_but_for_thresholds(tree, other)
    # the rows that a node has been grown from are those that reach it
    np.testing.assert_array_equal(tree.apply(X), other.apply(numbers))


@given(st.integers(0, 10**6), st.sampled_from([2, 16, 255]))
def test_a_forest_of_bins_is_that_of_their_numbers(seed, max_bins):
    X, y = table(seed)
    options = {"bootstrap": False, "random_state": seed, "max_features": 2}
    forest = ConfidenceForestClassifier(3, max_bins=max_bins, **options).fit(X, y)
    numbers = binned(X, max_bins)
    other = ConfidenceForestClassifier(3, **options).fit(numbers, y)
    for one, two in zip(forest.estimators_, other.estimators_, strict=True):
        assert_same_but_for_thresholds(one, two)
    np.testing.assert_array_equal(forest.predict_proba(X), other.predict_proba(numbers))


@given(st.integers(0, 10**6), st.sampled_from([2, 16, 255]))
def test_rows_of_a_sample_reach_the_leaves_that_count_them(seed, max_bins):
    X, y = table(seed)
    forest = ConfidenceForestClassifier(3, max_bins=max_bins, random_state=0).fit(X, y)
    order = ContentOrder(*hash_rows(X, y.astype(np.uint16)))
    first = order.row_indices[order.starts]
    for i, tree in enumerate(forest.estimators_):
        counts = np.zeros_like(tree.tree_.counts)
        drawn = forest._model.sampler.counts(i)
        np.add.at(counts, (tree.apply(X[first]), y[first]), drawn)
        leaves = tree.tree_.children_left == -1
        np.testing.assert_array_equal(tree.tree_.counts[leaves], counts[leaves])


def test_weights_are_repeats():
    X, y = table(1)
    weight = np.random.default_rng(0).integers(1, 5, len(y))
    for bound in ("gtest", None):
        tree = ConfidenceTreeClassifier(bound, max_bins=8)
        one = tree.fit(X, y, weight).tree_
        two = tree.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).tree_
        np.testing.assert_array_equal(one.threshold, two.threshold)
        np.testing.assert_array_equal(one.counts, two.counts)


def test_bins_are_about_equal_and_a_heavy_value_is_in_one():
    X, _ = table(0, n=5000)
    numbers = binned(X, 32)
    counts = np.unique(numbers[:, 0], return_counts=True)[1]
    assert len(counts) == 32
    assert counts.max() <= 5000 / 32 + 1
    heavy = numbers[X[:, 2] == 0.0, 2]
    assert len(np.unique(heavy)) == 1
    assert (numbers[:, 2] == heavy[0]).sum() <= (X[:, 2] == 0.0).sum() + 2 * 5000 / 32


def test_few_values_are_examined_each():
    X, y = load_iris(return_X_y=True)
    exact = ConfidenceTreeClassifier(random_state=0).fit(X, y)
    same = ConfidenceTreeClassifier(max_bins=255, random_state=0).fit(X, y)
    assert_same_but_for_thresholds(same, exact)
    np.testing.assert_array_equal(same.tree_.threshold, exact.tree_.threshold)


@pytest.mark.parametrize(
    "options",
    [{"splitter": "random"}, {"bound": "credible"}, {}],
    ids=["drawn cuts", "pool", "sparse"],
)
def test_what_is_not_binned_is_as_without_and_says_so(options):
    X, y = table(3)
    X = np.nan_to_num(X)
    given = {"X_pool": X[200:]} if "bound" in options else {}
    rows = X[:200] if options else csr_array(X[:200])
    for kind in (ConfidenceTreeClassifier, ConfidenceForestClassifier):
        exact = kind(random_state=0, **options).fit(rows, y[:200], **given)
        same = clone(exact).set_params(max_bins=8)
        with pytest.warns(UserWarning, match="max_bins=8 has no effect: ") as said:
            same.fit(rows, y[:200], **given)
        assert said[0].filename == __file__
        assert len(said) == 1
        np.testing.assert_array_equal(exact.predict_proba(X), same.predict_proba(X))


def test_columns_of_categories_stay_as_they_are():
    X, y = table(4)
    X = np.column_stack([X[:, 0], np.arange(len(y)) % 9])
    options = {"categorical_features": [1], "random_state": 0}
    tree = ConfidenceTreeClassifier(max_bins=4, **options).fit(X, y)
    other = ConfidenceTreeClassifier(**options)
    other.fit(np.column_stack([binned(X[:, :1], 4), X[:, 1]]), y)
    assert_same_but_for_thresholds(tree, other)


def test_a_tree_of_bins_grows_on_and_is_exported():
    X, y = table(5)
    X = np.nan_to_num(X)
    tree = ConfidenceTreeClassifier(max_bins=8).fit(X, y)
    copy = tree.to_sklearn()
    np.testing.assert_array_equal(copy.apply(X), tree.apply(X))
    tree.partial_fit(X, y)
    assert tree.n_rows_seen_ == 2 * len(y)


@pytest.mark.parametrize("wrong", [0, 1, 256, 8.0, "auto"])
def test_wrong_numbers_of_bins_are_refused(wrong):
    X, y = table(0)
    for kind in (ConfidenceTreeClassifier, ConfidenceForestClassifier):
        with pytest.raises(ValueError, match="'max_bins' parameter"):
            kind(max_bins=wrong).fit(X, y)
    with pytest.raises(ValueError, match="max_bins must be from 0 to 255"):
        EncodedTable(X, max_bins=256)


@pytest.mark.parametrize("max_bins", [2, 63, 255])
@pytest.mark.parametrize("n", [300, 8_192, 50_000])
def test_bins_are_those_of_sorted_rows(n, max_bins):
    # rows of weights are sorted, all of them
    rng = np.random.default_rng(n)
    X = np.empty((n, 11), dtype=np.float32)
    X[:, 0] = rng.normal(size=n)
    X[:, 1] = rng.lognormal(sigma=2.0, size=n)
    X[:, 2] = rng.random(n)
    X[:, 3] = np.where(rng.random(n) < 0.6, 0.0, X[:, 0])
    X[:, 4] = rng.integers(0, 400, n)
    X[:, 5] = rng.integers(0, 256, n)
    X[:, 6] = np.where(rng.random(n) < 0.1, np.nan, X[:, 5])
    X[:, 7] = np.where(rng.random(n) < 0.5, -0.0, np.round(X[:, 0], 2))
    X[:, 8] = np.where(rng.random(n) < 0.3, 0.0, X[:, 7])
    X[:, 9] = 1e-40 * X[:, 0]
    X[:, 10] = np.append(3e38, -3e38 * X[1:, 2])
    found = RowCodes(EncodedTable(X, max_bins=max_bins))
    expected = RowCodes(EncodedTable(X, max_bins=max_bins, weight=np.ones(n)))
    for f in range(X.shape[1]):
        np.testing.assert_array_equal(found.codes(f), expected.codes(f))
    # thresholds lie between the bins: rows reach the nodes that were grown from them
    y = rng.integers(0, 2, n)
    tree = ConfidenceTreeClassifier(None, max_bins=max_bins, max_leaf_nodes=30)
    nodes = tree.fit(X, y).tree_
    reached = np.bincount(tree.apply(X), minlength=nodes.node_count)
    leaf = nodes.feature < 0
    np.testing.assert_array_equal(reached[leaf], nodes.n_node_samples[leaf])
    assert leaf.sum() == 30
