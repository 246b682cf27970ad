"""Whatever has a row in a registry keeps the contract of its kind.

A new bound, criterion, pruning, detector, strategy or rule is one file and one row:
these tests come with the row. What they ask for is what `skconftree.testing` asks of
plug-ins outside the package.
"""

import pickle

import numpy as np
import pytest
from reference.effort import cases
from reference.registries import (
    BOUNDS,
    CRITERIA,
    DETECTORS,
    MEMORIES,
    PRUNINGS,
    lax,
)
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import (
    DensitySampling,
    LabelBudget,
    RecallAbove,
    RiskBelow,
    SplitConfTreeSampling,
    SplitSampling,
    StableModel,
    WeightedSampling,
)
from skconftree.active._registry import STRATEGIES
from skconftree.active.stream._strategies import STREAM_STRATEGIES
from skconftree.testing import (
    check_bound,
    check_criterion,
    check_detector,
    check_pruning,
    check_stopping_rule,
    check_strategy,
)
from skconftree.testing._plug_ins import table


@pytest.mark.parametrize("name", BOUNDS)
def test_bound(name):
    check_bound(lax(BOUNDS[name]()), leaf_memories=MEMORIES)


@pytest.mark.parametrize("name", CRITERIA)
def test_criterion(name):
    check_criterion(CRITERIA[name])


class Halved(CRITERIA["entropy"]):
    """A criterion that no registry knows."""


def test_a_criterion_may_be_a_class():
    check_criterion(Halved)
    X, y = table()
    named = ConfidenceTreeClassifier(None, criterion="entropy", pruning="c45")
    expected = named.fit(X, y).tree_
    tree = clone(named).set_params(criterion=Halved).fit(X, y)
    assert tree.criterion_ is Halved
    assert pickle.dumps(tree.tree_) == pickle.dumps(expected)
    loaded = pickle.loads(pickle.dumps(tree))
    assert loaded.criterion_ is Halved
    assert (loaded.to_sklearn().predict_proba(X) == tree.predict_proba(X)).all()
    one, two = (
        ConfidenceForestClassifier(3, bound=None, criterion=kind, random_state=0)
        for kind in (Halved, "entropy")
    )
    assert (one.fit(X, y).predict_proba(X) == two.fit(X, y).predict_proba(X)).all()
    one, two = (
        ConfidenceTreeClassifier(None, criterion=kind).partial_fit(X, y, np.unique(y))
        for kind in (Halved, "entropy")
    )
    one = pickle.loads(pickle.dumps(one)).partial_fit(X, y)
    assert pickle.dumps(one.tree_) == pickle.dumps(two.partial_fit(X, y).tree_)
    for wrong, bound in ((Halved, "gtest"), (int, None), (Halved(2), None)):
        with pytest.raises(ValueError, match="'criterion' parameter"):
            ConfidenceTreeClassifier(bound, criterion=wrong).fit(X, y)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("bound", [None, "gtest"])
def test_a_tree_grows_by_a_criterion(name, bound):
    if bound is None or name in BOUNDS[bound].criteria:
        X, y = table()
        tree = ConfidenceTreeClassifier(bound, criterion=name).fit(X, y)
        assert tree.score(X, y) > 0.8


@pytest.mark.parametrize("name", PRUNINGS)
def test_pruning(name):
    check_pruning(PRUNINGS[name]())


@pytest.mark.parametrize("name", DETECTORS)
def test_detector(name):
    check_detector(DETECTORS[name]())


WEIGHTED = WeightedSampling([("a", "margin", 1.0), ("b", DensitySampling(), 1.0)])


@pytest.mark.parametrize("strategy", [*STRATEGIES, WEIGHTED])
def test_strategy(strategy):
    check_strategy(STRATEGIES[strategy]() if strategy in STRATEGIES else strategy)


# Those of OASIS take seconds; two combine others.
SLOW = {"gbs", "oasis", "uc", "random_variable_uncertainty", "split_conf_tree"}


@pytest.mark.parametrize(
    "name", cases(STREAM_STRATEGIES, set(STREAM_STRATEGIES) - SLOW)
)
def test_strategy_of_a_stream(name):
    check_strategy(STREAM_STRATEGIES[name]())


ONE_ACCOUNT = [SplitSampling(n_accounts=1), SplitConfTreeSampling(n_accounts=1)]


@pytest.mark.parametrize("strategy", cases(ONE_ACCOUNT, ONE_ACCOUNT[:1]))
def test_strategy_of_a_stream_with_one_account(strategy):
    check_strategy(strategy)


RULES = [LabelBudget(20), RiskBelow(0.1), RiskBelow(0.4, method="audit"), StableModel()]
RULES += [RecallAbove(1)]


@pytest.mark.parametrize("rule", cases(RULES, [RULES[0], RULES[3]]))
def test_stopping_rule(rule):
    check_stopping_rule(rule)
