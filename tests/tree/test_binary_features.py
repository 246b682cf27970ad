"""Moments of a feature that takes two values are its counts.

Columns of zeros and ones are common (one-hot codes), and a normal distribution fits
them badly: naive Bayes then favors whichever class is rarest, as it does in other
stream trees. These tests compare with counts.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skconftree import ConfidenceTreeClassifier


def binary_rows(n, d, K, seed):
    """Columns of two values each, shares that depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    shares = rng.random((K, d))
    bits = rng.random((n, d)) < shares[y]
    low = rng.normal(size=d).astype(np.float32)
    return np.where(bits, low + 2, low).astype(np.float32), bits, y


@pytest.mark.parametrize("K", [2, 4])
def test_naive_bayes_of_two_values_is_that_of_counts(K):
    X, bits, y = binary_rows(500, 7, K, 0)
    tree = ConfidenceTreeClassifier(
        leaf_memory="gaussian", leaf_prediction="nb", grace_period=1e6
    )
    tree.partial_fit(X, y, classes=np.arange(K))
    n = np.bincount(y)
    ones = np.array([bits[y == c].sum(axis=0) for c in range(K)])
    share = (ones + 0.5) / (n[:, None] + 1)
    scores = np.log(n) + np.where(bits[:, None], np.log(share), np.log(1 - share)).sum(
        axis=2
    )
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(tree.predict_proba(X), expected, atol=1e-9)


def test_a_value_in_between_is_no_trouble():
    X, _, y = binary_rows(300, 3, 2, 1)
    tree = ConfidenceTreeClassifier(
        leaf_memory="gaussian", leaf_prediction="nb", grace_period=1e6
    ).partial_fit(X, y, classes=[0, 1])
    proba = tree.predict_proba(X + np.float32(0.5))
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1.0)


def test_children_of_two_values_are_exact():
    # the same split as with all rows kept, and the same counts in its evidence
    X, _, y = binary_rows(400, 5, 2, 2)
    scores = []
    for memory in ("rows", "gaussian"):
        tree = ConfidenceTreeClassifier(
            "hoeffding", delta=0.5, leaf_memory=memory, grace_period=400
        )
        tree.partial_fit(X, y, classes=[0, 1])
        assert tree.get_n_leaves() == 2
        scores.append((tree.tree_.feature[0], tree.tree_.evidence["score"][0]))
    assert scores[0][0] == scores[1][0]
    assert_allclose(scores[0][1], scores[1][1], rtol=1e-12)


def test_many_rare_columns_do_not_favor_the_rarest_class():
    rng = np.random.default_rng(3)
    y = (rng.random(4000) < 0.05).astype(int)
    group = rng.integers(0, 40, 4000)
    X = np.zeros((4000, 41), dtype=np.float32)
    X[np.arange(4000), group] = 1
    X[:, 40] = rng.normal(size=4000)
    tree = ConfidenceTreeClassifier(
        leaf_memory="gaussian", leaf_prediction="nb", grace_period=1e6
    )
    predicted = tree.partial_fit_predict(X, y, classes=[0, 1])
    assert np.mean(predicted[500:] == y[500:]) > 0.9
