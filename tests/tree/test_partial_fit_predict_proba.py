"""`partial_fit_predict(return_proba=True)`: what `predict_proba` said before each row.

One pass over a stream must give, bit for bit, what a caller gets who asks the tree for
probabilities and then hands it the row; and the tree must be the same.
"""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.effort import examples
from scipy.sparse import csr_array
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.drift import DDM

N_ROWS = 160
KINDS = ("numbers", "missing", "nominal", "sparse")


def table(kind, n_classes, seed):
    """Rows of several kinds whose concept changes half-way; y says which class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 4)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1], 1)
    signal = X[:, 0] + (X[:, 1] > 0)
    if kind == "nominal":  # more and more categories
        X[:, 3] = rng.integers(0, 2 + np.arange(N_ROWS) // 12)
        signal = signal + (X[:, 3] % 3 == 1)
    if kind == "missing":
        X[rng.random(X.shape) < 0.15] = np.nan
        signal = np.nan_to_num(signal)
    if kind == "sparse":
        X[rng.random(X.shape) < 0.5] = 0.0
    signal[N_ROWS // 2 :] *= -1.0
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    y = np.digitize(signal, edges)
    return (csr_array(X) if kind == "sparse" else X), y


def one_by_one(model, X, y, weight, classes):
    """Ask, then learn; None where nothing can be asked yet."""
    told = []
    for i in range(len(y)):
        row = slice(i, i + 1)
        told.append(model.predict_proba(X[row])[0] if "tree_" in vars(model) else None)
        part = None if weight is None else weight[row]
        model.partial_fit(X[row], y[row], classes, part)
    return told


def assert_predicted(proba, told):
    assert proba.shape[0] == len(told)
    for i, expected in enumerate(told):
        if expected is not None:
            np.testing.assert_array_equal(proba[i], expected, err_msg=f"row {i}")


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_probabilities_before_learning(data):
    kind = data.draw(st.sampled_from(KINDS), label="kind")
    n_classes = data.draw(st.sampled_from([2, 3, 10]), label="n_classes")
    weights = data.draw(st.sampled_from([None, "whole", "fractions"]), label="weights")
    model = ConfidenceTreeClassifier(
        data.draw(
            st.sampled_from(["gtest", "credible", "evalue", None]), label="bound"
        ),
        leaf_memory=data.draw(
            st.sampled_from(["rows", "histogram", "gaussian", "auto"]), label="memory"
        ),
        leaf_prediction=data.draw(
            st.sampled_from(["auto", "majority", "nb", "nba"]), label="prediction"
        ),
        nominal_splits=data.draw(st.sampled_from(["binary", "multiway"])),
        categorical_features=[3] if kind == "nominal" else None,
        drift=data.draw(st.sampled_from([None, DDM(min_samples=10)]), label="drift"),
        class_weight=data.draw(
            st.sampled_from([None, {0: 2.0, 1: 0.5}, {0: 0.0}]), label="class_weight"
        ),
        grace_period=data.draw(st.sampled_from([1, 10, 25]), label="grace"),
        delta=None,
        pruning=None,
    )
    if model.class_weight is not None:
        model.class_weight = {
            c: model.class_weight.get(c, 1.0) for c in range(n_classes)
        }
    X, y = table(kind, n_classes, data.draw(st.integers(0, 10**6), label="seed"))
    rng = np.random.default_rng(5)
    weight = None
    if weights == "whole":
        weight = rng.integers(0, 4, N_ROWS).astype(float)
    elif weights == "fractions":
        weight = rng.integers(1, 9, N_ROWS) / 3.0
    classes = np.arange(n_classes)
    fitted = data.draw(st.booleans(), label="fitted")
    if fitted:
        model.fit(X[:40], y[:40] if n_classes < 5 else np.resize(classes, 40))
    other = pickle.loads(pickle.dumps(model))
    same = pickle.loads(pickle.dumps(model))
    begin = 40 if fitted else 0
    X, y = X[begin:], y[begin:]
    weight = None if weight is None else weight[begin:]
    cut = data.draw(st.integers(1, len(y) - 1), label="cut")
    proba = []
    for rows in (slice(0, cut), slice(cut, None)):
        part = None if weight is None else weight[rows]
        proba.append(
            model.partial_fit_predict(
                X[rows], y[rows], classes, part, return_proba=True
            )
        )
    proba = np.concatenate(proba)
    assert proba.shape == (len(y), n_classes)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert_predicted(proba, one_by_one(other, X, y, weight, classes))
    same.partial_fit(X, y, classes, weight)
    assert pickle.dumps(model) == pickle.dumps(same)


@pytest.mark.parametrize("prediction", ["majority", "nb", "nba"])
def test_a_tree_that_splits(prediction):
    """The property is not one of single leaves."""
    X, y = table("nominal", 3, 1)
    model = ConfidenceTreeClassifier(
        None, leaf_prediction=prediction, categorical_features=[3], grace_period=10
    )
    proba = model.partial_fit_predict(X, y, [0, 1, 2], return_proba=True)
    other = clone(model)
    assert_predicted(proba, one_by_one(other, X, y, None, [0, 1, 2]))
    assert model.tree_.node_count > 5
    np.testing.assert_array_equal(proba[0], np.full(3, 1.0 / 3.0))
    classes = clone(model).partial_fit_predict(X, y, [0, 1, 2])
    if prediction == "majority":
        np.testing.assert_array_equal(proba.argmax(axis=1), classes)


def test_rows_without_weight_are_predicted_but_not_learned():
    X, y = table("numbers", 2, 0)
    model = ConfidenceTreeClassifier().partial_fit(X, y, [0, 1])
    before = pickle.dumps(model)
    expected = model.predict_proba(X)
    zeros = np.zeros(len(y))
    proba = model.partial_fit_predict(X, y, sample_weight=zeros, return_proba=True)
    np.testing.assert_array_equal(proba, expected)
    assert pickle.dumps(model) == before
