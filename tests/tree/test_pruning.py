"""Prunings, node for node against the definition, and what each of them promises."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import ccp_pruning_path

from skconftree import ConfidenceTreeClassifier


def with_wrong_labels(load):
    X, y = load(return_X_y=True)
    return X, np.where(np.arange(len(y)) % 7 == 0, (y + 1) % (y.max() + 1), y)


def between_alphas(alphas):
    """Penalties at which no two trees tie: where they do, rounding decides."""
    steps = np.unique(np.maximum(alphas, 0.0).round(12))
    assert len(steps) > 7
    return [*np.sqrt(steps[1:-1] * steps[2:]), 2 * steps[-1]]


def splits(tree, values):
    """Feature, threshold and class proportions of each node, depth first."""
    nodes = [0]
    while nodes:
        node = nodes.pop()
        yield tree.feature[node], tree.threshold[node], *values[node]
        if tree.children_left[node] >= 0:
            nodes += [tree.children_right[node], tree.children_left[node]]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_cost_complexity_is_that_of_scikit_learn(load, criterion, class_weight):
    X, y = with_wrong_labels(load)
    tree = ConfidenceTreeClassifier(
        bound=None, criterion=criterion, class_weight=class_weight
    ).fit(X, y)
    genuine = tree.to_sklearn()
    path = ccp_pruning_path(genuine.tree_)
    sizes = []
    for alpha in [0.0, *between_alphas(path["ccp_alphas"])]:
        # their pruning of the same grown tree: equal tests are chosen differently
        theirs = tree.set_params(pruning=None).fit(X, y).to_sklearn()
        theirs.set_params(ccp_alpha=alpha)._prune_tree()
        tree.set_params(pruning="cost_complexity", pruning_confidence=alpha).fit(X, y)
        np.testing.assert_array_equal(
            list(splits(tree.tree_, tree.tree_.value)),
            list(splits(theirs.tree_, theirs.tree_.value[:, 0])),
        )
        sizes.append(tree.get_n_leaves())
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_ccp_alpha_by_its_public_name(criterion):
    X, y = with_wrong_labels(load_iris)
    X = X[:, :1] + 1e-3 * X[:, 1:2]  # no tests of two features tie
    path = DecisionTreeClassifier(criterion=criterion).cost_complexity_pruning_path(
        X, y
    )
    for alpha in [0.0, *between_alphas(path.ccp_alphas)]:
        theirs = DecisionTreeClassifier(criterion=criterion, ccp_alpha=alpha).fit(X, y)
        tree = ConfidenceTreeClassifier(
            bound=None,
            criterion=criterion,
            pruning="cost_complexity",
            pruning_confidence=alpha,
        ).fit(X, y)
        assert tree.tree_.node_count == theirs.tree_.node_count
        np.testing.assert_allclose(tree.predict_proba(X), theirs.predict_proba(X))
