"""scikit-learn's estimator checks; no failure is expected."""

import inspect

import pytest
from reference.public import public_modules
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import skconftree
from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
)
from skconftree.active import (
    ActiveLearner,
    LearningToSampleClassifier,
    StreamActiveLearner,
)


def public_estimators():
    """Every classifier, regressor or transformer that a public module exports."""
    found = {}
    for module in public_modules():
        for name in module.__all__:
            one = getattr(module, name)
            if (
                inspect.isclass(one)
                and issubclass(one, BaseEstimator)
                and (hasattr(one, "predict") or hasattr(one, "transform"))
            ):
                found[name] = one
    return list(found.values())


def made(cls):
    """An estimator; one that needs another gets a tree."""
    first = next(iter(inspect.signature(cls).parameters.values()))
    if first.default is inspect.Parameter.empty:
        return cls(ConfidenceTreeClassifier())
    return cls()


PUBLIC = public_estimators()
# Those with many trees, with a few; with the defaults they are among the slow tests.
QUICK = {
    ConfidenceForestClassifier: {"n_estimators": 5},
    LearningToSampleClassifier: {"n_rounds": 2, "trees_per_round": 2, "max_depth": 2},
    NCMForestClassifier: {"n_estimators": 5},
}


def estimators():
    """Each public estimator, and a plain tree, which shares least with the others."""
    for cls in PUBLIC:
        yield made(cls).set_params(**QUICK.get(cls, {}))
    # plain CART: no evidence, no look-ahead
    yield ConfidenceTreeClassifier(bound=None)


def other_settings():
    for cls in QUICK:
        yield made(cls)
    yield ActiveLearner(LogisticRegression(), strategy="margin")
    yield StreamActiveLearner(GaussianNB(), strategy="random")
    # A tree as it comes, and a plain one, are the first of six that grow differently:
    # the bound of the first is a test, it looks ahead, is pruned and shrunk. Criteria,
    # and bounds of a kind, share code.
    # growth by the best leaf, not depth first
    yield ConfidenceTreeClassifier(bound=None, max_leaf_nodes=9)
    # a race: the best test against the best one of another attribute
    yield ConfidenceTreeClassifier(bound="hoeffding")
    # an interval: scored by the bound's own limits, with challengers
    yield ConfidenceTreeClassifier(bound="credible")
    # evidence: summed over all tests
    yield ConfidenceTreeClassifier(bound="evalue")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(list(estimators()))
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(list(other_settings()))
def test_estimator_checks_of_other_settings(estimator, check):
    check(estimator)


def test_public_estimators_are_checked():
    """A walk that finds nothing would check nothing."""
    names = {cls.__name__ for cls in PUBLIC}
    top = {
        name
        for name in skconftree.__all__
        if inspect.isclass(getattr(skconftree, name)) and name.endswith("Classifier")
    }
    assert top | {"ActiveLearner", "StreamActiveLearner"} <= names


@pytest.mark.parametrize("cls", PUBLIC)
def test_every_parameter_has_a_constraint(cls):
    """A parameter without one would be accepted with any value."""
    constraints = cls._parameter_constraints
    assert set(constraints) == set(made(cls).get_params(deep=False))
    assert "no_validation" not in constraints.values()
