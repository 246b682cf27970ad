"""Errors of unknown parameter names suggest the parameter that is meant."""

import inspect

import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)

PAIRS = [
    (ConfidenceTreeClassifier, DecisionTreeClassifier),
    (ConfidenceForestClassifier, RandomForestClassifier),
]


def words(estimator):
    return set(inspect.signature(estimator).parameters)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_each_parameter_of_others_is_known_or_explained(ours, theirs):
    missing = words(theirs) - words(ours)
    for name in missing:
        with pytest.raises(TypeError, match=f"'{name}' is a parameter of scikit-learn"):
            ours(**{name: None})
        with pytest.raises(ValueError, match=f"'{name}' is a parameter of scikit-l"):
            ours().set_params(**{name: None})


def test_the_counterpart_is_named():
    with pytest.raises(TypeError, match="no constraints on interactions"):
        ConfidenceTreeClassifier(interaction_cst=[1])
    bagging = BaggingClassifier(ConfidenceTreeClassifier())
    with pytest.raises(ValueError, match="no constraints on interactions"):
        bagging.set_params(estimator__interaction_cst=[1])


@pytest.mark.parametrize("ours", [pair[0] for pair in PAIRS])
def test_all_else_is_as_it_was(ours):
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_dept'"):
        ours(max_dept=3)
    with pytest.raises(ValueError, match="Invalid parameter 'max_dept'"):
        ours().set_params(max_dept=3)
    estimator = ours(max_depth=3)
    assert estimator.set_params(max_depth=4) is estimator
    assert clone(estimator).get_params()["max_depth"] == 4


@pytest.mark.parametrize(
    ("estimator", "wrong", "right"),
    [
        (ConfidenceTreeClassifier, "max_dept", "max_depth"),
        (ConfidenceForestClassifier, "n_estimator", "n_estimators"),
        (NCMTreeClassifier, "maxdepth", "max_depth"),
        (NCMForestClassifier, "n_trees", None),
        (OASISClassifier, "N_particle", "n_particles"),
    ],
)
def test_the_closest_name_is_suggested(estimator, wrong, right):
    class Mine(estimator):
        pass

    suggested = f" Did you mean '{right}'?" if right else ""
    with pytest.raises(TypeError) as caught:
        Mine(**{wrong: 3})
    assert str(caught.value) == (
        f"Mine() got an unexpected keyword argument '{wrong}'.{suggested}"
    )
    with pytest.raises(ValueError, match="for estimator Mine. Valid") as caught:
        Mine().set_params(**{wrong: 3})
    assert str(caught.value).endswith(f"].{suggested}")


def test_allowed_values_are_sorted():
    names = "'balance', 'ec2', 'entropy', 'error', 'gain_ratio', 'gini', 'imbalance'"
    with pytest.raises(ValueError, match=f"a str among {{{names}"):
        ConfidenceTreeClassifier(criterion="x").fit([[0.0]], [0])
