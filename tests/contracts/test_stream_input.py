"""Invalid rows in a stream: an error before the first row, and an unchanged model.

A stream cannot be rewound, so that half of a bad chunk must not have been learned.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from reference.registries import MEMORIES
from reference.streams import make_stream, state_of
from sklearn import config_context

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, HoeffdingBound

LABELS = np.array(["ash", "birch", "cedar"])


def make_model(leaf_memory="auto", **parameters):
    return ConfidenceTreeClassifier(
        **{"bound": "credible", "grace_period": 10, **parameters},
        leaf_memory=leaf_memory,
    )


def make_rows(n=50, seed=0, names=None):
    stream = make_stream(seed, n, n_classes=3, kinds=["continuous"] * 2, signal=2.0)
    X = stream.X
    if names is not None:
        X = pd.DataFrame(X, columns=names)
    return X, LABELS[stream.y]


def bad_calls():
    X, y = make_rows(seed=1)
    inf, nan_weight = X.copy(), np.ones(50)
    inf[-1, 1] = np.inf
    nan_weight[-1] = np.nan
    unknown = y.copy().astype(object)
    unknown[-1] = "dogwood"
    weights = np.ones(50)
    weights[-1] = -1.0
    return {
        "unknown label": ((X, unknown), {}, "labels that were not among.*dogwood"),
        "numbers for names": ((X, np.arange(50) % 3), {}, "label"),
        "missing label": ((X, [None] * 50), {}, "y contains None in 50 of 50 rows"),
        "no label": ((X, None), {}, "y"),
        "two labels": ((X, np.column_stack([y, y])), {}, "1d array"),
        "fewer labels": ((X, y[:-1]), {}, "inconsistent numbers of samples"),
        "more features": ((np.hstack([X, X]), y), {}, "4 features.*expecting 2"),
        "fewer features": ((X[:, :1], y), {}, "1 features.*expecting 2"),
        "infinity": ((inf, y), {}, "infinity"),
        "text": ((np.full((50, 2), "x"), y), {}, "could not convert string to float"),
        "one dimension": ((X[0], y[:1]), {}, "2D array"),
        "no rows": ((X[:0], y[:0]), {}, "0 sample"),
        "negative weight": ((X, y, None, weights), {}, "egative"),
        "missing weight": ((X, y, None, nan_weight), {}, "NaN"),
        "fewer weights": ((X, y, None, np.ones(49)), {}, "sample_weight"),
        "other classes": ((X, y, LABELS[:2]), {}, "differs from the classes"),
        "more classes": ((X, y, [*LABELS, "elm"]), {}, "differs from the classes"),
        "late pool": ((X, y), {"X_pool": X}, "first call"),
    }


@pytest.mark.parametrize(
    ("method", "memory", "name"),
    crossed(["partial_fit", "partial_fit_predict"], MEMORIES, bad_calls()),
)
def test_bad_rows_change_nothing(name, memory, method):
    arguments, keywords, message = bad_calls()[name]
    model = make_model(memory).partial_fit(*make_rows(), LABELS)
    before = state_of(model)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(*arguments, **keywords)
    assert state_of(model) == before
    # it can go on
    X, y = make_rows(seed=2)
    expected = pickle.loads(before).partial_fit(X, y)
    assert state_of(model.partial_fit(X, y)) == state_of(expected)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["width", "length"], "order"),
        (["length", "height"], "unseen at fit time"),
        (["length", "width", "height"], "unseen at fit time"),
    ],
)
def test_other_columns_change_nothing(names, message):
    model = make_model().partial_fit(*make_rows(names=["length", "width"]), LABELS)
    before = state_of(model)
    X, y = make_rows()
    X = pd.DataFrame(np.hstack([X, X])[:, : len(names)], columns=names)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    assert state_of(model) == before


FIRST_CALLS = {
    "no classes": ({}, {"classes": None}, "classes must be given on the first call"),
    "label not in classes": ({}, {"classes": ["ash", "birch"]}, "not among.*cedar"),
    "empty classes": ({}, {"classes": []}, "0 classes were given"),
    "infinity": ({}, {"X": np.full((50, 2), np.inf)}, "infinity"),
    "pool of other width": ({}, {"X_pool": np.zeros((3, 5))}, "5 features"),
    "infinite pool": ({}, {"X_pool": np.full((3, 2), np.inf)}, "infinity"),
    "volume without pool": (
        {"bound": CredibleBound(pool_weight="volume")},
        {},
        "Pass X_pool",
    ),
    "unknown bound": ({"bound": "certain"}, {}, "'bound' parameter"),
    "impossible criterion": ({"criterion": "gain_ratio"}, {}, "'criterion' parameter"),
    "grace period": ({"grace_period": 0}, {}, "'grace_period' parameter"),
    "leaf memory": ({"leaf_memory": "all"}, {}, "'leaf_memory' parameter"),
    "prediction": ({"leaf_prediction": "best"}, {}, "'leaf_prediction' parameter"),
    "drift": ({"drift": "never"}, {}, "'drift' parameter"),
    "tie threshold": (
        {"bound": HoeffdingBound(tie_threshold=-1.0)},
        {},
        "'tie_threshold' parameter",
    ),
}


@pytest.mark.parametrize("method", ["partial_fit", "partial_fit_predict"])
@pytest.mark.parametrize("name", FIRST_CALLS)
def test_a_bad_first_call_fits_nothing(name, method):
    parameters, change, message = FIRST_CALLS[name]
    X, y = make_rows()
    arguments = {"X": X, "y": y, "classes": LABELS, **change}
    model = make_model(**parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(**arguments)
    assert vars(model) == before


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_bad_call_after_fit(memory):
    X, y = make_rows(200)
    model = make_model(memory).fit(X, y)
    before = state_of(model)
    with pytest.raises(ValueError, match="not among.*dogwood"):
        model.partial_fit(X[:1], ["dogwood"])
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.full((1, 2), np.inf), y[:1])
    assert state_of(model) == before


def test_errors_of_unknown_classes_name_the_way_out():
    X, y = make_rows(200)
    way_out = r"Start with partial_fit\(X, y, classes=\.\.\.\) and list all of them;"
    model = make_model().fit(X, y)
    with pytest.raises(ValueError, match=rf"'elm'.*{way_out}"):
        model.partial_fit(X[:1], ["elm"])
    added = make_model().fit(X, y).partial_fit(X[:1], ["elm"], new_classes="add")
    assert "elm" in added.classes_
    with pytest.raises(ValueError, match=rf"'elm'.*{way_out}"):
        model.partial_fit(X[:1], ["elm"], classes=[*LABELS, "elm"])
    model = make_model().partial_fit(X, y, classes=[*LABELS, "elm"])
    assert "elm" in model.partial_fit(X[:1], ["elm"]).classes_


def test_labels_of_any_type():
    for labels in ([True, False], [1.0, -2.0], ["b", "a"], [10**12, -3]):
        y = np.array(labels)[np.arange(40) % 2]
        X = (np.arange(40) % 2).reshape(-1, 1)
        model = make_model().partial_fit(X, y, labels)
        np.testing.assert_array_equal(model.classes_, np.sort(labels))
        np.testing.assert_array_equal(model.predict(X), y)
        assert model.partial_fit_predict(X, y).dtype == model.classes_.dtype


def test_far_too_small_weights_are_warned_about():
    X, y = make_rows()
    model = make_model()
    with pytest.warns(UserWarning, match="interpreted as frequencies"):
        model.partial_fit(X, y, LABELS, np.full(50, 1e-3))


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.astype(">f8"),
        lambda X: X.view(type("Rows", (np.ndarray,), {})),
        lambda X: X.tolist(),
    ],
)
@pytest.mark.parametrize("hole", [False, True])
def test_rows_in_any_form(form, hole):
    """Plain rows take a short way to the tree; it must be the same tree."""
    (X, y), (more, labels) = make_rows(), make_rows(seed=1)
    X = X.astype(float)
    if hole:
        X[::7, 0] = more[::5, 1] = np.nan
    one = make_model().partial_fit(X, y, LABELS)
    other = make_model().partial_fit(form(X), y, LABELS)
    for model, rows in ((one, more.astype(float)), (other, form(more))):
        model.partial_fit(rows, labels)
    assert state_of(one) == state_of(other)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(form(X)))
    np.testing.assert_array_equal(one.apply(X), other.apply(form(X)))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "explain"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.full((2, 2), np.inf), "infinity"),
        (np.ones((2, 3)), "3 features.*expecting 2"),
        (np.ones(2), "2D array"),
        (np.ones((0, 2)), "0 sample"),
    ],
)
def test_bad_rows_are_not_predicted(rows, message, method):
    model = make_model().partial_fit(*make_rows(), LABELS)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(rows)


def test_rows_without_names_are_reported():
    """Rows of a model with names do not take the short way."""
    X, y = make_rows(names=["a", "b"])
    model = make_model().partial_fit(X, y, LABELS)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X.to_numpy())


@pytest.mark.parametrize("method", ["partial_fit", "partial_fit_predict"])
def test_parameters_are_looked_at_once(method):
    """By the first call, and not at all if the user says so."""
    X, y = make_rows()
    model = make_model().set_params(grace_period="long")
    with pytest.raises(ValueError, match="'grace_period' parameter"):
        getattr(model, method)(X, y, LABELS)
    assert not hasattr(model, "tree_")
    model.set_params(grace_period=10, max_bins=-1)
    with config_context(skip_parameter_validation=True):
        getattr(model, method)(X, y, LABELS)
    getattr(model, method)(X, y)
