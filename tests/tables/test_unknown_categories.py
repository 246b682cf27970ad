"""A table with mostly unknown categories causes one warning per model."""

import pickle
import warnings

import numpy as np
import pytest

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

pd = pytest.importorskip("pandas")
COLORS = np.array(["red", "blue"] * 40)
LABELS = np.array(["yes", "no"] * 40)
NEW = np.array(["Red", "Blue"] * 40)


def frame(colors):
    return pd.DataFrame({"color": colors, "x": np.arange(len(colors))})


@pytest.fixture(params=[ConfidenceTreeClassifier, ConfidenceForestClassifier])
def model(request):
    return request.param(random_state=0).fit(frame(COLORS), LABELS)


def said_of(model, X, method="predict"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(model, method)(X)
    return caught


def test_a_column_with_new_categories_warns_once(model):
    (one,) = said_of(model, frame(NEW))
    assert "Column 'color' has only unknown categories" in str(one.message)
    assert "'Red'" in str(one.message)
    assert "categories of fit are 'blue', 'red'" in str(one.message)
    assert one.filename == __file__
    assert not said_of(model, frame(NEW), "predict_proba")


def test_a_few_new_categories_do_not_warn(model):
    assert not said_of(model, frame([*NEW[:79], "red"]))
    assert said_of(model, frame([*NEW[:79], None]))


def test_a_few_rows_do_not_warn(model):
    assert not said_of(model, frame(NEW[:9]))


def test_a_missing_column_is_not_a_new_category(model):
    assert not said_of(model, frame([None] * 80))


def test_arrays_name_the_column_by_its_index():
    X = np.array([COLORS, LABELS], dtype=object).T
    tree = ConfidenceTreeClassifier(categorical_features=[0, 1]).fit(X, LABELS)
    X = np.array([COLORS, NEW], dtype=object).T
    (one,) = said_of(tree, X)
    assert "Column 1 has only unknown categories" in str(one.message)


def test_what_was_said_is_no_part_of_the_state(model):
    before = pickle.dumps(model)
    assert said_of(model, frame(NEW))
    assert pickle.dumps(model) == before
    assert said_of(pickle.loads(before), frame(NEW))


def test_training_rows_add_categories_without_a_warning():
    tree = ConfidenceTreeClassifier(random_state=0)
    tree.partial_fit(frame(COLORS), LABELS, classes=["yes", "no"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.partial_fit(frame(NEW), LABELS)
        tree.partial_fit_predict(frame([f"{one}?" for one in NEW]), LABELS)


def test_polars_and_arrow_columns_are_named():
    for library in ("polars", "pyarrow"):
        module = pytest.importorskip(library)
        make = module.DataFrame if library == "polars" else module.table
        X = make({"color": COLORS, "x": np.arange(80)})
        tree = ConfidenceTreeClassifier(random_state=0).fit(X, LABELS)
        (one,) = said_of(tree, make({"color": NEW, "x": np.arange(80)}))
        assert "Column 'color' has only unknown" in str(one.message)
