"""Scikit-learn's own estimator checks; no failure is expected anywhere."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import skconftree
from skconftree import ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    LearningToSampleClassifier,
    StreamActiveLearner,
)
from skconftree.bounds._registry import BOUNDS

PUBLIC = [
    cls
    for cls in (getattr(skconftree, name) for name in skconftree.__all__)
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator)
]


def estimators():
    yield from (cls() for cls in PUBLIC)
    yield ActiveLearner(ConfidenceTreeClassifier())
    yield ActiveLearner(LogisticRegression(), strategy="margin")
    yield LearningToSampleClassifier()
    yield StreamActiveLearner(ConfidenceTreeClassifier())
    yield StreamActiveLearner(GaussianNB(), strategy="random")
    yield ConfidenceTreeClassifier(bound=None)
    yield ConfidenceTreeClassifier(bound=None, max_leaf_nodes=9, criterion="entropy")
    for name, bound in BOUNDS.items():
        yield ConfidenceTreeClassifier(bound=name)
        for criterion in bound.criteria[1:]:
            yield ConfidenceTreeClassifier(bound=name, criterion=criterion)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(list(estimators()))
def test_estimator_checks(estimator, check):
    check(estimator)


def test_public_estimators_are_checked():
    assert ConfidenceTreeClassifier in PUBLIC


@pytest.mark.parametrize("cls", [*PUBLIC, LearningToSampleClassifier])
def test_every_parameter_has_a_constraint(cls):
    """A parameter without one would be accepted with any value."""
    constraints = cls._parameter_constraints
    assert set(constraints) == set(cls().get_params(deep=False))
    assert "no_validation" not in constraints.values()
