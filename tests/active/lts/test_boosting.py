"""Second-order trees of Learning-To-Sample against their formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier

from skconftree.active.lts._boosting import BoostedTrees


def second_order_gain(g, h, left, penalty):
    def score(side):
        return g[side].sum() ** 2 / (h[side].sum() + penalty)

    everything = np.ones(len(g), dtype=bool)
    return (score(left) + score(~left) - score(everything)) / 2


def slow_tree(X, g, h, depth, penalty, min_gain=0.0):
    """Leaf value of each row by the formulas, one test after the other."""
    best = None
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature]).astype(float)
        for threshold in (values[1:] + values[:-1]) / 2:
            left = X[:, feature] <= threshold
            gain = second_order_gain(g, h, left, penalty) - min_gain
            if depth and gain > 1e-12 and (best is None or gain > best[0] + 1e-13):
                best = gain, left
    if best is None:
        return np.full(len(X), -g.sum() / (h.sum() + penalty))
    out = np.empty(len(X))
    for side in (best[1], ~best[1]):
        out[side] = slow_tree(X[side], g[side], h[side], depth - 1, penalty, min_gain)
    return out


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("penalty", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("min_gain", [0.0, 0.4])
def test_trees_are_those_of_the_formulas(penalty, min_gain):
    rng = np.random.default_rng(3)
    X = rng.random((60, 3)).round(1).astype(np.float32)
    y = (X.sum(axis=1) + rng.normal(0, 0.3, 60) > 1.5).astype(np.intp)
    trees = BoostedTrees(0.3, 3, penalty, min_gain)
    trees.boost(X, y, 2, 4)
    assert trees.n_trees == 4
    score = np.zeros(60)
    for _ in range(4):
        p = sigmoid(score)
        score += 0.3 * slow_tree(X, p - y, p * (1 - p), 3, penalty, min_gain)
    assert_allclose(trees.scores(X, 2)[:, 1], score, atol=1e-12)
    assert_array_equal(trees.scores(X, 2)[:, 0], 0.0)


def test_worked_leaf_values():
    """Three rows against one: G and H are -.5 and .25 a row at p = 1/2."""
    X = np.array([[0.0], [0.0], [0.0], [1.0]], dtype=np.float32)
    trees = BoostedTrees(0.3, 3, 1.0, 0.0)
    trees.boost(X, np.array([1, 1, 1, 0]), 2, 1)
    right, left = 0.3 * 1.5 / 1.75, -0.3 * 0.5 / 1.25
    assert_allclose(trees.scores(X, 2)[:, 1], [right, right, right, left])


def test_the_first_tree_is_that_of_scikit_learn():
    """Same gain, penalty and shrinkage, once the classes are balanced."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 4)).astype(np.float32)
    order = X[:, 0] * X[:, 1] + rng.normal(0, 0.05, 200)
    y = (order > np.median(order)).astype(np.intp)
    trees = BoostedTrees(0.3, 4, 1.0, 0.0)
    trees.boost(X, y, 2, 3)
    other = HistGradientBoostingClassifier(
        learning_rate=0.3,
        max_iter=3,
        max_leaf_nodes=None,
        max_depth=4,
        min_samples_leaf=1,
        l2_regularization=1.0,
        early_stopping=False,
    ).fit(X, y)
    assert_allclose(
        trees.scores(X, 2)[:, 1], other.decision_function(X), rtol=1e-4, atol=1e-5
    )


def test_older_trees_stay_and_new_ones_fit_all_labels():
    rng = np.random.default_rng(1)
    X = rng.random((80, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 1).astype(np.intp)
    trees = BoostedTrees(0.3, 2, 1.0, 0.0)
    trees.boost(X[:30], y[:30], 2, 2)
    before = trees.scores(X, 2)
    old = {name: getattr(trees, name).copy() for name in ("features", "values")}
    trees.boost(X, y, 2, 1)
    for name, nodes in old.items():
        assert_array_equal(getattr(trees, name)[: len(nodes)], nodes)
    p = sigmoid(before[:, 1])
    added = 0.3 * slow_tree(X, p - y, p * (1 - p), 2, 1.0)
    assert_allclose(trees.scores(X, 2)[:, 1], before[:, 1] + added, atol=1e-12)


def test_a_class_that_comes_late():
    """With a third class softmax goes on where the logistic loss was."""
    rng = np.random.default_rng(2)
    X = rng.random((90, 2)).astype(np.float32)
    y = (X[:, 0] * 3).astype(np.intp)
    trees = BoostedTrees(0.3, 3, 1.0, 0.0)
    trees.boost(X[y < 1], y[y < 1], 1, 5)
    assert trees.n_trees == 0
    trees.boost(X[y < 2], y[y < 2], 2, 5)
    assert trees.n_trees == 5
    before = trees.scores(X, 3)
    assert_array_equal(before[:, 2], 0.0)
    trees.boost(X, y, 3, 1)
    assert trees.n_trees == 8
    p = np.exp(before) / np.exp(before).sum(axis=1, keepdims=True)
    for k in range(3):
        g, h = p[:, k] - (y == k), p[:, k] * (1 - p[:, k])
        added = 0.3 * slow_tree(X, g, h, 3, 1.0)
        assert_allclose(trees.scores(X, 3)[:, k], before[:, k] + added, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_give_the_trees_of_dense_ones(n_classes):
    rng = np.random.default_rng(0)
    X = rng.random((80, 40), dtype=np.float32)
    X[rng.random(X.shape) < 0.9] = 0.0
    codes = ((X[:, 7] > 0.3) + (X[:, 2] > 0.2) * (n_classes - 2)).astype(np.intp)
    codes[:n_classes] = range(n_classes)
    dense, sparse = (BoostedTrees(0.3, 3, 1.0, 0.0) for _ in range(2))
    for part in (slice(0, 40), slice(0, 80)):  # trees of an earlier round are retained
        dense.boost(X[part], codes[part], n_classes, 4)
        sparse.boost(csr_matrix(X[part]), codes[part], n_classes, 4)
        for name, values in vars(dense).items():
            np.testing.assert_array_equal(values, getattr(sparse, name), err_msg=name)
    assert len(np.unique(dense.features)) > 3
    found = sparse.scores(csr_array(X), n_classes)
    np.testing.assert_array_equal(found, dense.scores(X, n_classes))
    empty = csr_matrix((5, 40), dtype=np.float32)
    np.testing.assert_array_equal(
        sparse.scores(empty, n_classes), dense.scores(empty.toarray(), n_classes)
    )
    none = BoostedTrees(0.3, 3, 1.0, 0.0)
    none.boost(empty, np.array([0, 1, 0, 1, 0]), 2, 2)
    assert (none.features == -1).all()
    assert none.scores(csr_matrix(X), 2).shape == (80, 2)
