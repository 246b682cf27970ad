"""Invalid input of users: a clear error, and an unchanged model.

An error names the parameter or the input and the value; a fitted model keeps
every attribute, bit for bit.
"""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound
from skconftree.bounds._registry import BOUNDS

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
ONES = np.ones(len(Y))


def replaced(array, index, value):
    array = np.array(array, dtype=np.result_type(array, type(value)))
    array[index] = value
    return array


BAD_PARAMETERS = {
    "unknown bound": ({"bound": "hoefding"}, r"'bound'.*Got 'hoefding'"),
    "bound as a class": ({"bound": CredibleBound}, r"'bound'.*Got"),
    "bound as a number": ({"bound": 0.05}, r"'bound'.*Got 0.05"),
    "unknown criterion": ({"criterion": "mse"}, r"'criterion'.*Got 'mse'"),
    "pair": ({"bound": "possibilistic", "criterion": "gini"}, r"criterion.*gini"),
    "delta of a string": ({"bound": "credible", "delta": "low"}, r"'delta'.*'low'"),
    "max_depth": ({"max_depth": 0}, r"'max_depth'.*Got 0"),
    "min_samples_split": ({"min_samples_split": 1}, r"'min_samples_split'.*Got 1"),
    "min_samples_leaf": ({"min_samples_leaf": 0}, r"'min_samples_leaf'.*Got 0"),
    "min_weight_fraction_leaf": (
        {"min_weight_fraction_leaf": 0.7},
        r"'min_weight_fraction_leaf'.*Got 0.7",
    ),
    "max_features": ({"max_features": 0}, r"'max_features'.*Got 0"),
    "max_leaf_nodes": ({"max_leaf_nodes": 1}, r"'max_leaf_nodes'.*Got 1"),
    "min_impurity_decrease": (
        {"min_impurity_decrease": -0.1},
        r"'min_impurity_decrease'.*Got -0.1",
    ),
    "splitter": ({"splitter": "worst"}, r"'splitter'.*Got 'worst'"),
    "class_weight": ({"class_weight": "even"}, r"'class_weight'.*Got 'even'"),
    "class_weight of a stranger": ({"class_weight": {7: 2.0}}, r"not in class_weight"),
    "negative class_weight": ({"class_weight": {0: -1.0}}, r"class_weight.*-1"),
    "random_state": ({"random_state": "seed"}, r"'random_state'.*Got 'seed'"),
    "parameter of the bound": (
        {"bound": CredibleBound(prior="flat")},
        r"'prior'.*Got 'flat'",
    ),
}

BAD_DATA = {
    "dictionaries": (([{"a": 1.0}, {"a": 2.0}], Y[:2]), {}, r"learn them one by one"),
    "infinity": ((replaced(X, (3, 1), np.inf), Y), {}, r"infinity"),
    "too large for float32": (
        (replaced(X.astype(float), (3, 1), 1e300), Y),
        {},
        r"too large",
    ),
    "strings": ((X.astype(str).astype(object) + "m", Y), {}, r"convert string"),
    "column of strings": (
        (pd.DataFrame(X, columns=list("abcd")).assign(b="red").astype(object), Y),
        {},
        r"convert string",
    ),
    "complex": ((X + 1j, Y), {}, r"Complex data"),
    "one dimension": ((X[:, 0], Y), {}, r"Expected 2D array"),
    "three dimensions": ((X[:, :, None], Y), {}, r"3"),
    "no rows": ((X[:0], Y[:0]), {}, r"0 sample"),
    "no features": ((X[:, :0], Y), {}, r"0 feature"),
    "lengths": ((X, Y[:-1]), {}, r"inconsistent numbers of samples"),
    "no target": ((X, None), {}, r"y"),
    "continuous target": ((X, Y + 0.5 * X[:, 0]), {}, r"Unknown label type"),
    "NaN in the target": ((X, replaced(Y, 0, np.nan)), {}, r"NaN"),
    "table as target": ((X, np.column_stack([Y, Y])), {}, r"1d array|multioutput"),
    "negative weight": (
        (X, Y),
        {"sample_weight": replaced(ONES, 0, -1.0)},
        r"(?i)negative.*sample_weight|sample_weight.*negative",
    ),
    "zero weights": ((X, Y), {"sample_weight": 0 * ONES}, r"(?i)sample.?weight.*zero"),
    "NaN weight": ((X, Y), {"sample_weight": replaced(ONES, 0, np.nan)}, r"NaN"),
    "infinite weight": (
        (X, Y),
        {"sample_weight": replaced(ONES, 0, np.inf)},
        r"infinity",
    ),
    "too few weights": ((X, Y), {"sample_weight": ONES[1:]}, r"sample_weight.*149"),
    "table of weights": (
        (X, Y),
        {"sample_weight": np.column_stack([ONES, ONES])},
        r"(?i)sample.?weight",
    ),
    "pool with fewer features": (
        (X, Y),
        {"X_pool": X[:, :3]},
        r"3 features.*4 features",
    ),
    "infinity in the pool": ((X, Y), {"X_pool": replaced(X, (0, 0), np.inf)}, r"inf"),
    "pool with other names": (
        (pd.DataFrame(X, columns=list("abcd")), Y),
        {"X_pool": pd.DataFrame(X, columns=list("abce"))},
        r"feature names",
    ),
}


def state(estimator):
    return pickle.dumps(vars(estimator))


def fitted(**parameters):
    """Fit on other features and classes than the failing call will bring."""
    names = pd.DataFrame(X[:, :2], columns=["p", "q"])
    estimator = ConfidenceTreeClassifier(**parameters)
    return estimator.fit(names, np.array(["x", "y", "z"])[Y])


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameter(name):
    parameters, message = BAD_PARAMETERS[name]
    estimator = fitted().set_params(**parameters)
    before = state(estimator)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)
    assert state(estimator) == before


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data(name):
    args, kwargs, message = BAD_DATA[name]
    estimator = fitted(bound="credible")
    before = state(estimator)
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(*args, **kwargs)
    assert state(estimator) == before
    fresh = ConfidenceTreeClassifier(bound="credible")
    unfitted = state(fresh)
    with pytest.raises((ValueError, TypeError), match=message):
        fresh.fit(*args, **kwargs)
    assert state(fresh) == unfitted


# What scikit-learn's tree accepts: several outputs, and weights below 0.
ACCEPTED_THERE = {"table as target", "negative weight"}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("name", [n for n in BAD_DATA if "pool" not in n])
def test_errors_are_those_of_scikit_learn(name):
    """The same type, but for what scikit-learn's tree accepts and this one does not."""
    args, kwargs, _ = BAD_DATA[name]
    with pytest.raises((ValueError, TypeError)) as ours:
        ConfidenceTreeClassifier().fit(*args, **kwargs)
    if name in ACCEPTED_THERE:
        DecisionTreeClassifier().fit(*args, **kwargs)
    else:
        with pytest.raises(ours.type):
            DecisionTreeClassifier().fit(*args, **kwargs)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("delta", [-0.1, 0.0, np.nan, np.inf, "0.1"])
def test_delta_outside_every_range(bound, delta):
    estimator = fitted().set_params(bound=bound, delta=delta)
    before = state(estimator)
    with pytest.raises(ValueError, match=r"(?s)must be"):
        estimator.fit(X, Y)
    assert state(estimator) == before


def test_credible_tail_below_one_half():
    with pytest.raises(ValueError, match=r"'delta'.*Got 0.5"):
        ConfidenceTreeClassifier(bound="credible", delta=0.5).fit(X, Y)


@pytest.mark.parametrize("bound", ["hoeffding", "mcdiarmid", "derosa"])
def test_a_race_bound_without_a_split_draws_a_warning(bound):
    """If the default rule finds one there, and the user has not chosen its level."""
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(
        UserWarning, match=r"single leaf: \w+Bound with its default"
    ) as w:
        tree = ConfidenceTreeClassifier(bound).fit(X, y)
    assert tree.get_n_leaves() == len(w) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = BOUNDS[bound]()
        chosen.set_params(**{chosen.level_parameter: chosen.levels[1]})
        ConfidenceTreeClassifier(chosen).fit(X, y)
        noise = np.random.default_rng(0).integers(0, 2, len(y))
        ConfidenceTreeClassifier(bound).fit(X, noise)


def test_cost_complexity_by_its_name_draws_a_warning():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(UserWarning, match=r"Set pruning=CostComplexityPruning\("):
        ConfidenceTreeClassifier(None, pruning="cost_complexity").fit(X, y)


def test_delta_without_a_bound_draws_a_warning():
    with pytest.warns(UserWarning, match=r"delta=0.7 has no effect.*param_grid"):
        tree = ConfidenceTreeClassifier(bound=None, delta=0.7).fit(X, Y)
    assert tree.get_n_leaves() == 9


FRAME = pd.DataFrame(X, columns=list("abcd"))
BAD_TABLES = {
    "renamed": (FRAME.rename(columns={"b": "e"}), r"(?s)feature names.*\be\b"),
    "reordered": (FRAME[list("dcba")], r"(?s)feature names.*order"),
    "missing column": (FRAME[list("abc")], r"(?s)feature names.*\bd\b"),
    "infinity": (FRAME.where(X > 0.2, np.inf), r"infinity"),
    "no rows": (FRAME[:0], r"0 sample"),
    "strings": (FRAME.assign(b="red"), r"convert string"),
}


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply"])
@pytest.mark.parametrize("name", BAD_TABLES)
def test_prediction_on_a_bad_table(name, method):
    table, message = BAD_TABLES[name]
    tree = ConfidenceTreeClassifier().fit(FRAME, Y)
    before = state(tree)
    with pytest.raises(ValueError, match=message):
        getattr(tree, method)(table)
    assert state(tree) == before


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply"])
def test_prediction_on_a_bad_array(method):
    call = getattr(ConfidenceTreeClassifier().fit(X, Y), method)
    with pytest.raises(ValueError, match=r"3 features.*4 features"):
        call(X[:, :3])
    with pytest.raises(ValueError, match=r"Expected 2D array"):
        call(X[0])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply"])
def test_prediction_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(ConfidenceTreeClassifier(), method)(X)


@pytest.mark.parametrize("bound", [None, *BOUNDS])
def test_one_class_is_one_leaf(bound):
    tree = ConfidenceTreeClassifier(bound=bound).fit(X, np.full(len(X), "only"))
    assert tree.get_n_leaves() == 1
    assert (tree.predict(X) == "only").all()
    np.testing.assert_array_equal(tree.predict_proba(X), np.ones((len(X), 1)))


@pytest.mark.parametrize("bound", [None, *BOUNDS])
def test_constant_features_are_one_leaf(bound):
    tree = ConfidenceTreeClassifier(bound=bound).fit(np.ones((150, 3)), Y)
    assert tree.get_n_leaves() == 1
    np.testing.assert_allclose(tree.predict_proba(np.zeros((1, 3))), [[1 / 3] * 3])


@pytest.mark.parametrize("bound", [None, *BOUNDS])
def test_class_weight_zero_is_absence(bound):
    tree = ConfidenceTreeClassifier(bound=bound, class_weight={1: 0.0}).fit(X, Y)
    probabilities = tree.predict_proba(X)
    np.testing.assert_array_equal(probabilities[:, 1], 0.0)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("bound", [None, *BOUNDS])
def test_a_single_row(bound):
    tree = ConfidenceTreeClassifier(bound=bound).fit([[1.0, 2.0]], ["a"])
    assert tree.predict([[5.0, 5.0]]) == ["a"]


def test_many_classes():
    values = np.arange(9000.0).reshape(-1, 1)
    tree = ConfidenceTreeClassifier(bound=None, max_depth=2)
    tree.fit(values, np.arange(9000) // 3)
    assert len(tree.classes_) == 3000
    assert tree.get_n_leaves() == 3  # every cut is as good: the lowest is taken


def test_more_classes_than_can_be_counted():
    labels = np.repeat(np.arange(65_537), 3)
    estimator = fitted(bound=None).set_params(max_depth=1)
    before = state(estimator)
    with pytest.raises(ValueError, match=r"classes.*65"):
        estimator.fit(labels.reshape(-1, 1), labels)
    assert state(estimator) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", b"5"),
        ("max_depth", "x"),
        ("criterion", "none"),
        ("leaf_memory", "none"),
        ("drift", "never"),
        ("splitter", "worst"),
        ("shrinkage", "much"),
        ("random_state", "seed"),
    ],
)
def test_a_fitted_tree_begins_to_grow_with_legal_parameters_only(name, value):
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(pruning=None).fit(X, y).set_params(**{name: value})
    before = pickle.dumps(tree)
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        tree.partial_fit(X, y)
    assert pickle.dumps(tree) == before
