"""Errors of wrong calls name the class of the object, not a private base class."""

import inspect

import pytest
from sklearn.linear_model import LogisticRegression

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)
from skconftree.active import (
    ActiveLearner,
    LearningToSampleClassifier,
    StreamActiveLearner,
)

ESTIMATORS = [
    ConfidenceTreeClassifier(),
    ConfidenceForestClassifier(),
    NCMTreeClassifier(),
    NCMForestClassifier(),
    OASISClassifier(),
    LearningToSampleClassifier(),
    ActiveLearner(LogisticRegression()),
    StreamActiveLearner(ConfidenceTreeClassifier()),
]


def own_methods(estimator):
    """Names of the public methods that classes of this package define."""
    for kind in type(estimator).__mro__:
        if kind.__module__.startswith("skconftree."):
            for name, method in vars(kind).items():
                if not name.startswith(("_", "set_")) and inspect.isroutine(method):
                    yield name


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_calls_that_do_not_fit_name_the_class(estimator):
    names = set(own_methods(estimator))
    assert {"fit", "predict", "predict_proba"} <= names
    for name in sorted(filter(lambda name: hasattr(estimator, name), names)):
        start = rf"{type(estimator).__name__}\.{name}\(\) got an unexpected keyword"
        with pytest.raises(TypeError, match=f"^{start}"):
            getattr(estimator, name)(no_such_argument=1)


def test_a_derived_class_is_named():
    class Mine(ConfidenceTreeClassifier):
        pass

    with pytest.raises(TypeError, match=r"^Mine\.fit\(\) missing 2 required .* 'X' an"):
        Mine().fit()
    with pytest.raises(TypeError, match=r"^Mine\.predict\(\) missing 1 required"):
        Mine().predict()
    with pytest.raises(TypeError, match=r"^Mine\.predict\(\) takes 2 .* but 3 were"):
        Mine().predict([[0.0]], 1)


def test_errors_from_within_stay_as_they_are():
    class Broken(ConfidenceTreeClassifier):
        def _rows(self, X):
            raise TypeError("Broken.predict() from within")

    for read in (Broken().predict, Broken().predict_log_proba):
        with pytest.raises(TypeError, match=r"^Broken\.predict\(\) from within$"):
            read([[0.0]])
