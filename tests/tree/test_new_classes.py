"""`partial_fit(new_classes="add")`: a class is added right before its first row."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

N = 1200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).astype(np.float32)
Y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.5)).astype(int) * 2
Y[400:][RNG.random(N - 400) < 0.2] = 3
Y[800:][RNG.random(N - 800) < 0.2] = 1
MAKE = {
    "tree": lambda: ConfidenceTreeClassifier(grace_period=40),
    "forest": lambda: ConfidenceForestClassifier(2, random_state=0),
}


def learned(model, X, y, size, **given):
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        model.partial_fit(part, y[rows], new_classes="add", **given)
    return model


@pytest.mark.parametrize("name", MAKE)
def test_chunks_do_not_matter(name):
    whole = learned(MAKE[name](), X, Y, N)
    assert whole.classes_.tolist() == [0, 1, 2, 3]
    for size in (7, 500):
        other = learned(MAKE[name](), X, Y, size)
        assert pickle.dumps(other) == pickle.dumps(whole)


@pytest.mark.parametrize("name", MAKE)
def test_each_row_is_predicted_before_its_class_is_known(name):
    model, other = MAKE[name](), MAKE[name]()
    predicted = model.partial_fit_predict(X, Y, new_classes="add")
    parts = [
        other.partial_fit_predict(X[i : i + 100], Y[i : i + 100], new_classes="add")
        for i in range(0, N, 100)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), predicted)
    assert pickle.dumps(model) == pickle.dumps(other)
    for label in model.classes_:
        first = (Y == label).argmax()
        assert label not in predicted[:first]


def test_probabilities_have_a_column_per_class():
    tree = ConfidenceTreeClassifier()
    proba = tree.partial_fit_predict(X, Y, new_classes="add", return_proba=True)
    assert proba.shape == (N, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba[:400, [1, 3]] == 0.0).all()
    assert (proba[-1] > 0.0).all()


def test_tables_weights_and_declared_classes():
    labels, weight = np.array(list("abcd"))[Y], 1.0 + (np.arange(N) % 3)
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        d=pd.Series(np.where(X[:, 2] > 0, "x", "y"), dtype="str")
    )
    for table in (frame, sparse.csr_matrix(X), sparse.coo_matrix(X), X.tolist()):
        tree = ConfidenceTreeClassifier().partial_fit(
            table, labels, ["c"], weight, new_classes="add"
        )
        declared = ConfidenceTreeClassifier().partial_fit(
            table, labels, list("abcd"), weight
        )
        np.testing.assert_array_equal(tree.predict(table), declared.predict(table))
    tree.partial_fit(X.tolist(), labels, [*"abcde"], new_classes="add")
    assert tree.classes_.tolist() == [*"abcde"]


@pytest.mark.parametrize("name", MAKE)
def test_an_error_adds_no_class(name):
    model = learned(MAKE[name](), X[:100], Y[:100], 100)
    before = pickle.dumps(model)
    for rows, label, given, message in [
        (X[:1], 7, {}, "not among the classes"),
        (X[:1], 7, {"new_classes": "maybe"}, "must be 'add' or 'error'. Got 'maybe'"),
        ([[np.inf, 0, 0]], 7, {"new_classes": "add"}, "infinity"),
        (X[:1, :2], 7, {"new_classes": "add"}, "2 features"),
        (X[:2], 7, {"new_classes": "add"}, "inconsistent|1 and 2|2 and 1|length"),
        (X[:1], "x", {"new_classes": "add"}, "another type than the classes before"),
        (X[:1, :2], 2, {"new_classes": "add", "classes": [7]}, "2 features"),
        (X[:1], 7, {"new_classes": "add", "sample_weight": [1e-300]}, "0 or at least"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, [label], **given)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", MAKE)
def test_all_rows_are_checked_before_the_first_is_learned(name):
    model, invalid, labels = MAKE[name](), X.copy(), Y.astype(float)
    invalid[-1, 0], labels[-1] = np.inf, np.nan
    for rows, y in [(invalid, Y), (X, labels)]:
        with pytest.raises(ValueError, match="infinity|NaN"):
            model.partial_fit(rows, y, new_classes="add")
        assert not hasattr(model, "classes_")
    for weight, message in [
        (np.ones(N - 1), r"sample_weight.shape == \(1199,\), expected \(1200,\)"),
        (np.ones(N + 1), r"sample_weight.shape == \(1201,\), expected \(1200,\)"),
        (np.r_[np.ones(N - 1), -1.0], "Negative values"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, Y, sample_weight=weight, new_classes="add")
        assert not hasattr(model, "classes_")
    model.partial_fit(X, Y, sample_weight=2.0, new_classes="add")
    want = MAKE[name]().partial_fit(X, Y, None, np.full(N, 2.0), new_classes="add")
    assert pickle.dumps(model) == pickle.dumps(want)


@pytest.mark.parametrize("name", MAKE)
def test_the_first_label_need_not_be_declared(name):
    model = MAKE[name]().partial_fit(X[:9], Y[:9], [5], new_classes="add")
    want = MAKE[name]().partial_fit(X[:9], Y[:9], [0, 2, 5])
    assert model.classes_.tolist() == [0, 2, 5]
    np.testing.assert_array_equal(model.predict(X), want.predict(X))


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X[:0], [], "0 sample"),
        (X[:2], [], r"inconsistent|length|0 samples|\(0,\)"),
        (X[:2], [1], "inconsistent|length"),
        (X[0], [1], "2D array"),
    ],
)
def test_errors_of_a_first_call_are_those_of_its_rows(name, rows, labels, message):
    with pytest.raises(ValueError, match=message):
        MAKE[name]().partial_fit(rows, labels, new_classes="add")


def test_rows_of_a_pool_add_no_class():
    tree = ConfidenceTreeClassifier(bound="credible")
    with pytest.raises(ValueError, match="must be 'error' with from_pool. Got 'add'"):
        tree.partial_fit(None, [1], X_pool=X, from_pool=[0], new_classes="add")
