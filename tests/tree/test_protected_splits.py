"""Pruning by errors keeps strong splits that only change probabilities."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.effort import examples
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import BayesFactorBound, binomial_upper
from skconftree.tree import PessimisticPruning

ERRORS_ALONE = PessimisticPruning(0.02, protect_below=None)


def unequal(n=1000, rare=(0.1, 0.4)):
    """A step between two shares of a class that is the rarer one on both sides."""
    x = np.arange(n) >= n // 2
    y = np.arange(n) % 10 < 10 * np.where(x, rare[1], rare[0])
    return x[:, np.newaxis].astype(float), y.astype(int)


def test_two_unequal_classes():
    X, y = unequal()
    kept = ConfidenceTreeClassifier().fit(X, y)
    hidden = ConfidenceTreeClassifier(pruning=ERRORS_ALONE).fit(X, y)
    assert (hidden.get_n_leaves(), kept.get_n_leaves()) == (1, 2)
    assert kept.tree_.evidence["statistic"][0] < 1e-25
    assert_array_equal(kept.predict(X), hidden.predict(X))
    # 50 and 200 of 500: two steps of a curve
    auc = (200 * 450 + 0.5 * (50 * 450 + 200 * 300)) / (250 * 750)
    assert roc_auc_score(y, kept.predict_proba(X)[:, 1]) == pytest.approx(auc)
    assert roc_auc_score(y, hidden.predict_proba(X)[:, 1]) == 0.5


@pytest.mark.parametrize(("rare", "n_leaves"), [((0.1, 0.1), 1), ((0.1, 0.2), 2)])
def test_weak_and_uninformative_splits_are_pruned(rare, n_leaves):
    X, y = unequal(60, rare)
    tree = ConfidenceTreeClassifier(delta=10.0, pruning=None)
    assert tree.fit(X, y).get_n_leaves() == 2
    tree.set_params(pruning=PessimisticPruning(0.02, protect_below=5.0))
    assert tree.fit(X, y).get_n_leaves() == n_leaves
    assert tree.set_params(pruning="auto").fit(X, y).get_n_leaves() == 1


def leaves_by_definition(tree, confidence, protect_below):
    """Leaves of the pruned tree, from left to right, as nodes of the grown one."""
    n = tree.counts.sum(axis=1)
    as_leaf = n * binomial_upper(n - tree.counts.max(axis=1), n, confidence)

    def least(node):
        below = sum(map(least, tree.children(node)))
        return as_leaf[node] if is_cheap(node, below) else below

    def is_cheap(node, below):
        return not len(tree.children(node)) or as_leaf[node] <= below * (1 + 1e-12)

    def is_strong(node):
        share = tree.counts / n[:, np.newaxis]
        tells = any((share[one] != share[node]).any() for one in tree.children(node))
        return tells and tree.evidence["statistic"][node] < protect_below

    def walk(node):
        children = tree.children(node)
        goes = is_cheap(node, sum(map(least, children))) and not is_strong(node)
        return [node] if goes else [leaf for one in children for leaf in walk(one)]

    return walk(0)


def leaves_of(tree, node=0):
    children = tree.children(node)
    found = [leaf for one in children for leaf in leaves_of(tree, one)]
    return found if len(children) else [node]


@settings(deadline=None, max_examples=examples(60))
@given(
    seed=st.integers(0, 2**16),
    confidence=st.sampled_from([0.25, 0.02, 1e-3]),
    protect_below=st.sampled_from([1e-6, 0.01, 0.3, 3.0]),
    bound=st.sampled_from(["gtest", "bayes_factor"]),
)
def test_keeps_what_the_definition_keeps(seed, confidence, protect_below, bound):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 500))
    X = np.round(rng.normal(size=(n, 4)), 1)
    shares = np.array([0.05, rng.uniform(0.1, 0.6)])[(X[:, 0] > 0).astype(int)]
    y = (rng.random(n) < shares).astype(int) + (X[:, 1] > 1)
    options = {"bound": bound, "lookahead": 0, "shrinkage": 0.0}
    if bound == "gtest":
        options["delta"] = 3.0
    grown = ConfidenceTreeClassifier(pruning=None, **options).fit(X, y).tree_
    pruning = PessimisticPruning(confidence, protect_below=protect_below)
    pruned = ConfidenceTreeClassifier(pruning=pruning, **options).fit(X, y).tree_
    expected = leaves_by_definition(grown, confidence, protect_below)
    assert_array_equal(pruned.counts[leaves_of(pruned)], grown.counts[expected])
    assert_array_equal(pruned.depth[leaves_of(pruned)], grown.depth[expected])


@pytest.mark.parametrize("bound", [None, "chi2", "credible"])
def test_needs_a_bound_whose_statistic_is_small_for_strong_splits(bound):
    X, y = unequal()
    sizes = [
        ConfidenceTreeClassifier(bound, pruning=one).fit(X, y).get_n_leaves()
        for one in (ERRORS_ALONE, PessimisticPruning(0.02))
    ]
    assert sizes == [1, 1]


def test_other_bounds_with_such_a_statistic():
    X, y = unequal()
    for bound in ("evalue", BayesFactorBound()):
        tree = ConfidenceTreeClassifier(bound, pruning=PessimisticPruning(0.02))
        assert tree.fit(X, y).get_n_leaves() == 2


def test_same_in_a_forest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = rng.random(600) < np.where(X[:, 0] > 0, 0.35, 0.05)
    common = {"bound": "gtest", "pruning": PessimisticPruning(0.1)}
    tree = ConfidenceTreeClassifier(lookahead=0, shrinkage=0.0, **common).fit(X, y)
    forest = ConfidenceForestClassifier(
        2, bootstrap=False, max_features=None, random_state=0, **common
    ).fit(X, y)
    assert tree.get_n_leaves() > 1
    for one in forest.estimators_:
        assert_array_equal(one.tree_.threshold, tree.tree_.threshold)
        assert_array_equal(one.tree_.counts, tree.tree_.counts)


def test_is_a_parameter_of_an_object():
    X, y = unequal()
    given = PessimisticPruning(0.02, protect_below=None)
    tree = ConfidenceTreeClassifier(pruning=given)
    assert clone(tree).pruning.protect_below is None
    tree.fit(X, y)
    assert repr(tree.pruning_) == repr(ERRORS_ALONE)
    assert tree.pruning_ is not given  # a private copy
    again = pickle.loads(pickle.dumps(tree))
    assert repr(again.pruning_) == repr(ERRORS_ALONE)
    search = GridSearchCV(
        tree, {"pruning__protect_below": [None, 0.01]}, scoring="roc_auc", cv=3
    )
    assert search.fit(X, y).best_params_ == {"pruning__protect_below": 0.01}


@pytest.mark.parametrize("protect_below", [0.0, -1.0, np.nan, np.inf, "strong"])
def test_bad_values(protect_below):
    pruning = PessimisticPruning(protect_below=protect_below)
    words = f"'protect_below' parameter of PessimisticPruning.*Got '?{protect_below}"
    with pytest.raises(ValueError, match=words):
        ConfidenceTreeClassifier(pruning=pruning).fit([[0.0], [1.0]], [0, 1])


def test_a_single_leaf_says_which_it_was():
    X, y = unequal()
    tree = ConfidenceTreeClassifier(pruning=ERRORS_ALONE).fit(X, y)
    told = "was pruned; pruning=None shows 1 split."
    for text in (tree.summary(), tree.explain_text(X[0])):
        assert told in " ".join(text.split())
    assert pickle.loads(pickle.dumps(tree)).summary() == tree.summary()
    tree.fit(X, np.arange(len(y)) % 2)  # nothing to be found
    told = "stops at the root: no candidate split had fewer than 1 expected by chance"
    assert told in tree.summary()
