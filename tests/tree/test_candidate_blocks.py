"""Candidate splits are scored in blocks of 256: none is lost where a block ends."""

import numpy as np
import pytest
from scipy import sparse

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, GTestBound

ENDS = [60, 127, 254, 255, 256, 257, 511, 512, 513, 640]
N = 700


def rows(last, n_classes, spread=1):
    """Shuffled values 0, 1, ..., of which those up to `last` have other classes."""
    rng = np.random.default_rng(last)
    X = spread * rng.permutation(N).astype(np.float32)[:, np.newaxis]
    is_low = X[:, 0] <= spread * last
    y = np.where(is_low, 0, np.where(rng.random(N) < 0.05, n_classes - 1, 1))
    return X, y, rng


def assert_best_cut(tree, last, spread, n_candidates=N - 1):
    assert tree.node_count == 3
    assert tree.threshold[0] == spread * (last + 0.5)
    assert tree.n_node_samples.tolist() == [N, last + 1, N - last - 1]
    assert tree.evidence["n_candidates"][0] == n_candidates


@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_dense_rows(criterion, n_classes, weights):
    for last, spread in zip(ENDS, [1, 1000] * 5, strict=True):
        X, y, rng = rows(last, n_classes, spread)
        weight = {
            None: None,
            "whole": rng.integers(1, 4, N),
            "fractions": rng.random(N) + 1.0,
        }[weights]
        tree = ConfidenceTreeClassifier(
            GTestBound(),
            criterion=criterion,
            max_leaf_nodes=2,
            lookahead=0,
            sample_weight_kind="frequency",
        ).fit(X, y, weight)
        assert_best_cut(tree.tree_, last, spread)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_with_missing_values(n_classes):
    """The cuts are scored with missing values on either side, and these alone."""
    for last in ENDS:
        X, y, _ = rows(last, n_classes)
        holes = np.full((30, 1), np.nan, dtype=np.float32)
        for side in (0, 1):
            tree = ConfidenceTreeClassifier(
                GTestBound(), max_leaf_nodes=2, lookahead=0
            ).fit(np.vstack([X, holes]), np.append(y, np.full(30, side)))
            assert tree.tree_.threshold[0] == last + 0.5
            assert tree.tree_.missing_go_to_left[0] == (side == 0)
            assert tree.tree_.evidence["n_candidates"][0] == 2 * (N - 1) + 1


def test_sparse_rows():
    for last in ENDS:
        X, y, _ = rows(last, 3)
        tree = ConfidenceTreeClassifier(GTestBound(), max_leaf_nodes=2, lookahead=0)
        tree.fit(sparse.csr_array(X), y)
        assert_best_cut(tree.tree_, last, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_leaves(n_classes):
    for last in ENDS:
        X, y, _ = rows(last, n_classes)
        tree = ConfidenceTreeClassifier(
            GTestBound(), leaf_memory="rows", grace_period=N, max_leaf_nodes=2
        ).partial_fit(X, y, classes=np.arange(n_classes))
        assert_best_cut(tree.tree_, last, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labeled_and_unlabeled_rows(n_classes):
    for last in ENDS:
        X, y, rng = rows(last, n_classes)
        pool = rng.integers(0, N - 1, (300, 1)) + 0.5
        tree = ConfidenceTreeClassifier(
            CredibleBound(0.1), max_leaf_nodes=2, lookahead=0
        ).fit(X, y, X_pool=pool)
        assert tree.tree_.threshold[0] == last + 0.5
        assert tree.tree_.n_node_samples.tolist() == [N, last + 1, N - last - 1]
