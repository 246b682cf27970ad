"""Tests of the slow reference tree itself."""

import math

import numpy as np
import pytest
from reference import bounds
from reference.nodes import cut_between
from reference.tree import grow
from sklearn.tree import DecisionTreeClassifier


def leaves(root):
    return [node for node in root.walk() if node.split is None]


def same_as_scikit_learn(node, tree, i):
    if node.split is None:
        return tree.children_left[i] == -1
    return (
        node.split.feature == tree.feature[i]
        and node.split.threshold == tree.threshold[i]
        and node.impurity == pytest.approx(tree.impurity[i])
        and same_as_scikit_learn(node.left, tree, tree.children_left[i])
        and same_as_scikit_learn(node.right, tree, tree.children_right[i])
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_depth": 3},
        {"min_samples_leaf": 4},
        {"min_samples_split": 9},
        {"max_leaf_nodes": 6},
        {"min_impurity_decrease": 0.03},
        {"min_weight_fraction_leaf": 0.1},
    ],
)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_without_bound_it_is_scikit_learn_s_tree(criterion, parameters):
    """One continuous feature and random labels: ties are out of the way."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(47, 1)).astype(np.float32)
    y = rng.integers(0, 3, 47)
    y[X[:, 0] > 0.3] = 1
    y[:12] = rng.integers(0, 3, 12)
    weight = 1 + rng.permutation(47) / 256 if not parameters else None
    theirs = DecisionTreeClassifier(
        criterion=criterion, random_state=0, **parameters
    ).fit(X, y, sample_weight=weight)
    root = grow(
        X, y, n_classes=3, criterion=criterion, sample_weight=weight, **parameters
    )
    assert same_as_scikit_learn(root, theirs.tree_, 0)


def test_cut_lies_between_neighboring_values():
    one = np.float32(1.0)
    above = np.nextafter(one, np.float32(2.0))
    assert float(one) < cut_between(one, above) < float(above)
    largest = np.finfo(np.float32).max
    assert cut_between(-largest, largest) == 0.0


def test_pool_rows_weigh_children_but_make_no_cuts():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 1])

    class Recorder(bounds.Credible):
        seen = ()

        def cost(self, node_stats, counts, n, pool, r):
            self.seen += ((n, pool),)
            return 0.0

    recorder = Recorder("gini", 2, 0.1)
    root = grow(
        X, y, n_classes=2, bound=recorder, X_pool=[[-5.0], [0.4], [0.5], [9.0]],
        max_depth=1,
    )  # fmt: skip
    assert recorder.seen == ((1, 4), (3, 4), (2, 5), (2, 3), (3, 6), (1, 2))
    assert root.split.threshold == 0.5
    assert len(leaves(root)) == 2


def test_evidence_is_averaged_over_attributes_then_tests():
    X = np.array([[0, 0], [0, 1], [0, 2], [1, 3]], dtype=float)
    y = np.array([0, 0, 0, 1])

    class Recorder(bounds.BayesFactor):
        def log_evidence(self, node_stats, children):
            return {1: 0.0, 3: math.log(5.0), 2: math.log(9.0)}[sum(children[0])]

        def decide(self, node_stats, log_mean):
            self.mean = math.exp(log_mean)
            return False, math.nan

    recorder = Recorder("gini", 2)
    grow(X, y, n_classes=2, bound=recorder)
    assert recorder.mean == pytest.approx(5 / 2 + (1 + 9 + 5) / 6)
