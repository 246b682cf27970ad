"""Columns stored as their nonzero values give the same tree.

Every form such a column has (one other value, codes, sorted rows, full) meets every
way of growing a tree: what is counted from a few entries and the rest of the node must
equal, bit for bit, what a walk over all rows of the dense table finds.
"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.effort import examples
from reference.registries import BOUNDS, lax

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound

KINDS = ("word", "negative word", "count", "balance", "number", "debt", "full", "empty")


def make_column(kind, n, density, rng):
    values = {
        "word": np.ones(n),
        "negative word": np.full(n, -0.5),
        "count": rng.integers(1, 9, n),
        "balance": rng.integers(-120, 121, n),
        "number": rng.normal(size=n),
        "debt": -rng.exponential(size=n),
        "full": rng.normal(size=n) + 9.0,
        "empty": np.zeros(n),
    }[kind]
    if kind == "full":
        return values
    return np.where(rng.random(n) < density, values, 0.0)


def make_table(n, kinds, densities, n_classes, rng):
    X = np.column_stack(
        [make_column(k, n, p, rng) for k, p in zip(kinds, densities, strict=True)]
    )
    signal = (X[:, : len(kinds) // 2 + 1] > 0).sum(axis=1) + rng.normal(size=n)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    return X.astype(np.float32), y


def explicit_zeros(X, rng):
    """Return the table as CSR, with some of its zeros stored."""
    stored = (X != 0.0) | (rng.random(X.shape) < 0.1)
    rows, columns = np.nonzero(stored)
    given = sp.coo_array((X[rows, columns], (rows, columns)), shape=X.shape)
    given = given.tocsr()
    assert given.nnz == np.count_nonzero(stored)
    return given


BOUND_NAMES = [None, *BOUNDS]
densities = st.sampled_from([0.01, 0.05, 0.15, 0.3, 0.6, 0.95])


@given(
    seed=st.integers(0, 2**16),
    n=st.sampled_from([1, 2, 7, 60, 300, 900]),
    columns=st.lists(
        st.tuples(st.sampled_from(KINDS), densities), min_size=1, max_size=7
    ),
    n_classes=st.integers(2, 4),
    weights=st.sampled_from([None, "whole", "fractions"]),
    options=st.fixed_dictionaries(
        {"bound": st.sampled_from(BOUND_NAMES)},
        optional={
            "splitter": st.just("random"),
            "max_features": st.sampled_from([1, 0.5]),
            "max_leaf_nodes": st.integers(2, 12),
            "min_samples_leaf": st.integers(2, 5),
            "class_weight": st.sampled_from(["balanced", {0: 2.5}]),
            "pruning": st.just(None),
        },
    ),
)
@pytest.mark.filterwarnings("ignore:The tree is a single leaf")
@settings(max_examples=examples(150), deadline=None)
def test_any_growth(seed, n, columns, n_classes, weights, options):
    rng = np.random.default_rng(seed)
    kinds, shares = zip(*columns, strict=True)
    X, y = make_table(n, kinds, shares, n_classes, rng)
    y[0] = 0  # class_weight names it
    weight = {
        None: None,
        "whole": rng.integers(0, 4, n).astype(float) + (np.arange(n) == 0),
        "fractions": rng.uniform(0.1, 3.0, n),
    }[weights]

    def grow(X):
        tree = ConfidenceTreeClassifier(random_state=seed, **options)
        return tree.fit(X, y, sample_weight=weight)

    dense = grow(X)
    for given_ in (sp.csc_array(X), explicit_zeros(X, rng)):
        assert pickle.dumps(grow(given_).tree_) == pickle.dumps(dense.tree_)


@given(
    seed=st.integers(0, 2**16),
    columns=st.lists(
        st.tuples(st.sampled_from(KINDS), densities), min_size=1, max_size=5
    ),
    n_classes=st.integers(2, 3),
    weighted=st.booleans(),
    pool_weight=st.sampled_from(["pool", "volume"]),
    splitter=st.sampled_from(["best", "random"]),
)
@settings(max_examples=examples(25), deadline=None)
def test_any_pool(seed, columns, n_classes, weighted, pool_weight, splitter):
    """Rows without label lie on one side of each cut, and zeros are among them."""
    rng = np.random.default_rng(seed)
    kinds, shares = zip(*columns, strict=True)
    X, y = make_table(700, kinds, shares, n_classes, rng)
    pool, _ = make_table(300, kinds, shares, n_classes, rng)
    weight = rng.integers(1, 4, len(y)).astype(float) if weighted else None
    bound = CredibleBound(delta=0.3, pool_weight=pool_weight)

    def grow(X, pool):
        tree = ConfidenceTreeClassifier(
            bound, splitter=splitter, random_state=seed, pruning=None
        )
        return tree.fit(X, y, sample_weight=weight, X_pool=pool)

    dense = grow(X, pool)
    tree = grow(sp.csr_array(X), sp.csc_array(pool))
    assert pickle.dumps(tree.tree_) == pickle.dumps(dense.tree_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("bound", BOUND_NAMES)
def test_trees_that_split(bound, n_classes):
    """The same with each bound, on a table where all forms are split upon."""
    rng = np.random.default_rng(0)
    kinds = ("word", "negative word", "count", "balance", "number", "debt")
    X, _ = make_table(4000, kinds, [0.1, 0.2, 0.15, 0.2, 0.4, 0.4], 2, rng)
    score = X @ [2.0, 4.0, 0.3, 0.01, 1.0, 1.0] + rng.normal(size=4000) / 4
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    if bound is not None and BOUNDS[bound].cautious:
        bound = lax(BOUNDS[bound]()).set_params(tie_threshold=1.0)
    dense = ConfidenceTreeClassifier(bound, pruning=None).fit(X, y)
    used = set(dense.tree_.feature.tolist()) - {-2}
    assert len(used) > 1
    if bound is None:
        assert used == set(range(6))
    for format in (sp.csr_array, sp.csc_matrix):
        tree = ConfidenceTreeClassifier(bound, pruning=None).fit(format(X), y)
        assert pickle.dumps(tree.tree_) == pickle.dumps(dense.tree_)
        assert_array_equal(tree.predict_proba(format(X)), dense.predict_proba(X))


@pytest.mark.parametrize("n_empty", [1, 4])
@pytest.mark.parametrize("max_leaf_nodes", [None, 60])
def test_unused_columns_and_drawn_features(n_empty, max_leaf_nodes):
    """A column without an entry is passed on, undrawn, to the children of the root."""
    rng = np.random.default_rng(n_empty)
    kinds = ("word", "count", "balance", "number", "debt")
    X, y = make_table(500, kinds, [0.05, 0.2, 0.3, 0.3, 0.2], 3, rng)
    X = np.hstack([X, np.zeros((500, n_empty), dtype=np.float32)])
    for seed in range(12):
        X, options = rng.permuted(X, axis=1), {"random_state": seed}
        options |= {"max_features": 1 + seed % 3, "max_leaf_nodes": max_leaf_nodes}
        X[:, rng.integers(X.shape[1])] = 0.0
        dense, tree = (
            ConfidenceTreeClassifier(None, **options).fit(T, y)
            for T in (X, sp.csr_array(X))
        )
        assert pickle.dumps(tree.tree_) == pickle.dumps(dense.tree_)


@pytest.mark.parametrize("options", [{}, {"max_features": "sqrt"}], ids=str)
def test_more_columns_than_are_read_at_once(options):
    """Blocks of a CSR table end anywhere; large columns have one of their own."""
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 900), density=0.05, rng=rng, dtype=np.float32)
    X = sp.hstack([X, sp.csr_array(rng.random((3000, 40), dtype=np.float32)), X])
    y = (rng.random(3000) < 0.5 * (X[:, [3]] + X[:, [901]] > 0).toarray().ravel()) * 1
    trees = [
        ConfidenceTreeClassifier(None, random_state=0, max_depth=6, **options).fit(T, y)
        for T in (X.toarray(), X.tocsr(), X.tocsc())
    ]
    assert trees[0].get_n_leaves() > 10
    for tree in trees[1:]:
        assert pickle.dumps(tree.tree_) == pickle.dumps(trees[0].tree_)


def test_wide_table():
    """A dense copy would take 40 GB."""
    rng = np.random.default_rng(0)
    X = sp.random_array(
        (10_000, 1_000_000), density=1e-5, format="csr", rng=rng, dtype=np.float32
    )
    word = (rng.random((10_000, 1)) < 0.3) * np.ones(1, dtype=np.float32)
    X = sp.hstack([X, word], format="csr")
    tree = ConfidenceTreeClassifier().fit(X, word.ravel())
    assert tree.tree_.feature[0] == 1_000_000
    assert tree.get_n_leaves() == 2
    assert tree.score(X, word.ravel()) == 1.0
