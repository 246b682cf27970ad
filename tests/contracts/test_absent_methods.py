"""Settings that need all rows at once leave an estimator no `partial_fit`.

For every value of every parameter either the method is absent, and the error says why,
or it works.
"""

import numpy as np
import pytest
from reference import registries
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_estimators_partial_fit_n_features,
    check_n_features_in_after_fitting,
)

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
    OASISClassifier,
)
from skconftree.active import ActiveLearner, StreamActiveLearner
from skconftree.evaluation import OneByOne, PrequentialEvaluator, prequential_score
from skconftree.tree import PessimisticPruning

METHODS = ["partial_fit", "partial_fit_predict"]
PRUNINGS = [*registries.PRUNINGS, PessimisticPruning()]
ABSENT = {
    ConfidenceTreeClassifier: [
        *({"pruning": one} for one in PRUNINGS),
        {"ccp_alpha": 0.01},
        {"monotonic_cst": [1, 0, -1]},
        {"class_weight": "balanced"},
    ],
    ConfidenceForestClassifier: [
        *({"pruning": one} for one in PRUNINGS),
        {"ccp_alpha": 0.01},
        {"monotonic_cst": [1, 0, -1]},
        {"class_weight": "balanced"},
        {"class_weight": "balanced_subsample"},
    ],
}


def options(kind, name):
    """Names that a parameter takes."""
    (constraint,) = kind._parameter_constraints[name]
    return sorted(constraint.options)


# Settings with which the methods exist, beside the defaults.
PRESENT = {
    ConfidenceTreeClassifier: {
        "bound": [None, *registries.STREAM_BOUNDS],
        "criterion": ["entropy"],
        "splitter": ["random"],
        "max_features": [1, "sqrt"],
        "max_leaf_nodes": [3],
        "max_bins": [5],
        "min_samples_leaf": [2, 0.1],
        "min_weight_fraction_leaf": [0.1],
        "pruning": ["auto", None],
        "shrinkage": [3.0],
        "lookahead": [2],
        "nominal_splits": ["multiway"],
        "leaf_memory": registries.MEMORIES,
        "leaf_prediction": registries.PREDICTIONS,
        "max_bytes": [10**6],
        "refit_rows": [0, 55],
        "drift": [None, "local", *registries.DETECTORS],
        "class_weight": [{0: 2.0}],
        "sample_weight_kind": ["auto", "frequency", "relative"],
        "n_jobs": [2],
    },
    NCMTreeClassifier: {"update": options(NCMTreeClassifier, "update")},
    NCMForestClassifier: {"update": options(NCMForestClassifier, "update")},
    OASISClassifier: {"resample": [False], "standardize": [False]},
}
X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


def made(kind, **parameters):
    small = {"n_estimators": 2} if "n_estimators" in kind().get_params() else {}
    return kind(**small, **parameters)


@pytest.mark.parametrize("kind", ABSENT)
def test_settings_that_need_all_rows(kind):
    for setting in ABSENT[kind]:
        ((name, value),) = setting.items()
        estimator = made(kind, **setting)
        for _ in range(2):  # before and after fit
            for method in METHODS:
                assert not hasattr(estimator, method)
                with pytest.raises(AttributeError, match=name) as caught:
                    getattr(estimator, method)
                assert repr(value) in str(caught.value)
                assert "partial_fit" in str(caught.value)
                with pytest.raises(AttributeError, match=name):
                    getattr(kind, method)(estimator, X, Y, [0, 1])
            estimator.fit(X, Y)
        # the parameters of the moment count
        neutral = 0.0 if name == "ccp_alpha" else None
        estimator.set_params(**{name: neutral}).partial_fit(X, Y)
        assert estimator.n_rows_seen_ == 120


@pytest.mark.parametrize("kind", PRESENT)
def test_all_other_settings_learn_streams(kind):
    for name, values in PRESENT[kind].items():
        for value in values:
            estimator = made(kind, **{name: value})
            estimator.partial_fit(X[:40], Y[:40], classes=[0, 1])
            assert estimator.partial_fit(X[40:], Y[40:]).n_rows_seen_ == 60


def test_every_parameter_is_one_of_these():
    kind = ConfidenceTreeClassifier
    tested = {*PRESENT[kind], *(name for one in ABSENT[kind] for name in one)}
    # numbers whose value does not matter here
    others = {"delta", "max_depth", "min_samples_split", "min_impurity_decrease"}
    others |= {"categorical_features", "grace_period", "random_state"}
    assert tested | others == set(kind().get_params())


@pytest.mark.parametrize("kind", ABSENT)
def test_checks_of_scikit_learn(kind):
    for setting in ABSENT[kind]:
        if "monotonic_cst" in setting:  # has a sign per column
            continue
        estimator = made(kind, **setting)
        for check in (
            check_estimators_partial_fit_n_features,
            check_n_features_in_after_fitting,
        ):
            check(kind.__name__, clone(estimator))


def test_who_needs_the_method_says_why_it_is_absent():
    tree = ConfidenceTreeClassifier(pruning="c45")
    why = "must be 'auto' or None in partial_fit, which never removes a split"
    calls = [
        (TypeError, lambda: OneByOne(tree, classes=[0, 1])),
        (TypeError, lambda: PrequentialEvaluator(tree, classes=[0, 1])),
        (TypeError, lambda: prequential_score(tree, X, Y)),
        (ValueError, lambda: ActiveLearner(tree, refit=False).fit(X, Y)),
        (ValueError, lambda: StreamActiveLearner(tree, classes=[0, 1]).fit(X, Y)),
    ]
    for error, call in calls:
        with pytest.raises(error, match=why):
            call()
    ActiveLearner(tree).fit(X, Y.tolist()).predict(X)  # fits again
