"""ONNX models predict like the trees and forests they were exported from."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.effort import examples
from scripts import benchmarks_on_path
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    PartiallyLinearTreeClassifier,
)
from skconftree.tree import export_onnx

pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def run(model, rows):
    """Labels and probabilities of an ONNX model for rows of numbers."""
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    return session.run(None, {name: np.asarray(rows, dtype=np.float32)})


def assert_same(estimator, rows, numbers):
    """Compare with the predictions for rows, which the graph gets as numbers."""
    labels, proba = run(export_onnx(estimator), numbers)
    expected = estimator.predict_proba(rows)
    assert proba.dtype == np.float32
    assert_allclose(proba, expected, rtol=0, atol=6e-8)
    # of classes whose rounded probabilities are equal, the first one is the label
    best = expected.astype(np.float32).argmax(axis=1)
    ties = (expected > expected.max(axis=1, keepdims=True) - 2e-7).sum(axis=1) > 1
    assert_array_equal(labels[~ties], estimator.classes_[best][~ties])
    assert_array_equal(labels[~ties], estimator.predict(rows)[~ties])


def as_numbers(estimator, frame):
    """Rows for the graph: indices of text categories, numbers otherwise."""
    columns = []
    for j, name in enumerate(frame):
        values = frame[name]
        categories = None if estimator.categories_ is None else estimator.categories_[j]
        if categories is None or not any(isinstance(v, str) for v in categories):
            columns.append(values.to_numpy(dtype=np.float32, na_value=np.nan))
            continue
        index = {value: i for i, value in enumerate(categories)}
        columns.append(
            [index.get(None if v is None or v != v else v, -1) for v in values]
        )
    return np.array(columns, dtype=np.float32).T


@st.composite
def tables(draw):
    """A table with numbers, text and numbered categories, and rows to predict."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes = int(random.integers(20, 120)), int(random.integers(2, 5))

    codes = [-1.5, 0.0, 0.1, 2.0, 7.0, 90.0]

    def columns(n, n_more=0):
        return pd.DataFrame(
            {
                "number": random.normal(size=n).round(int(random.integers(4))),
                "text": random.choice(list("abcdefg")[: 5 + n_more], n),
                "code": random.choice(codes[: 4 + n_more], n),
            }
        )

    X, Z = columns(n), columns(60, 2)
    y = (X.number > 0) + (X.text > "b") + 2 * (X.code == 2.0)
    y = (y + (random.random(n) < 0.2)).to_numpy() % n_classes
    missing = draw(st.sampled_from([0.0, 0.2]))
    for frame, share in ((X, missing), (Z, 0.2)):
        for name in frame:
            frame.loc[random.random(len(frame)) < share, name] = np.nan
    return X, y, Z


@given(
    table=tables(),
    bound=st.sampled_from([None, "credible", "gtest"]),
    nominal_splits=st.sampled_from(["binary", "multiway"]),
    forest=st.booleans(),
    grows=st.booleans(),
)
@settings(max_examples=examples(150), deadline=None)
def test_random_models_predict_the_same(table, bound, nominal_splits, forest, grows):
    X, y, Z = table
    options = {"bound": bound, "nominal_splits": nominal_splits, "random_state": 0}
    options |= {"categorical_features": ["text", "code"]}
    if grows:
        options |= {"leaf_prediction": "majority", "grace_period": 5}
    model = ConfidenceTreeClassifier(**options)
    if forest:
        model = ConfidenceForestClassifier(4, **options)
    if grows:  # new categories get codes after the tree has splits on the column
        order = np.argsort(X.text.fillna("").to_numpy(), kind="stable")
        for rows in np.array_split(order, 3):
            model.partial_fit(X.iloc[rows], y[rows], np.unique(y))
    else:
        model.fit(X, y)
    for rows in (X, Z):
        assert_same(model, rows, as_numbers(model, rows))


LABELS = {
    "str": np.array(["no", "yes é"]),
    "int": np.array([-3, 2**40]),
    "bool": np.array([False, True]),
    "float": np.array([-1.0, 2.0]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_type(kind):
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    model = ConfidenceTreeClassifier().fit(X, LABELS[kind][(X[:, 1] > 0).astype(int)])
    labels, _ = run(export_onnx(model), X)
    assert labels.tolist() == model.predict(X).tolist()


def test_a_tree_without_splits_and_a_forest_with_weights_are_exported():
    X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    y = (X[:, 1] + X[:, 2] > 0).astype(int)
    assert_same(ConfidenceTreeClassifier(max_depth=1).fit(X, y * 0), X, X)
    forest = ConfidenceForestClassifier(
        3, vote="accuracy", leaf_prediction="majority", random_state=0
    )
    for rows in (slice(0, 50), slice(50, 80)):
        forest.partial_fit(X[rows], y[rows], [0, 1])
    assert_same(forest, X, X)


def test_columns_are_described():
    X = pd.DataFrame({"a": [1.0, 2, 3, 4] * 9, "b": ["x", "y", None, "x"] * 9})
    X["c"] = [5, 6, 6, 5] * 9
    tree = ConfidenceTreeClassifier(categorical_features=["b", "c"])
    model = export_onnx(tree.fit(X, X.b.fillna("?")))
    (metadata,) = model.metadata_props
    assert metadata.key == "columns"
    assert json.loads(metadata.value) == [
        {"name": "a"},
        {"name": "b", "categories": ["x", "y", None]},
        {"name": "c"},
    ]


def test_what_cannot_be_exported_is_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    bayes = ConfidenceTreeClassifier(leaf_prediction="nb").partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="naive Bayes cannot be converted to ONNX"):
        export_onnx(bayes)
    with pytest.raises(TypeError, match="must be a fitted ConfidenceTreeClassifier"):
        export_onnx(NCMForestClassifier(2, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="cannot be converted to ONNX. Use export_r"):
        export_onnx(PartiallyLinearTreeClassifier(random_state=0).fit(X, y))
    X[:, 1] = 16777216 + np.arange(40) % 2
    tree = ConfidenceTreeClassifier(categorical_features=[1]).fit(X, y)
    with pytest.raises(ValueError, match="of column 1 are the same number in float32"):
        export_onnx(tree)


@pytest.fixture
def convert():
    return pytest.importorskip("skl2onnx", reason="skl2onnx is not installed").to_onnx


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_skl2onnx_converts_models(convert, dtype):
    X = np.random.default_rng(0).integers(0, 9, size=(90, 3)).astype(dtype)
    y = np.array(["a", "b"])[(X[:, 1] > X[:, 2]).astype(int)]
    forest = ConfidenceForestClassifier(3, random_state=0).fit(X, y)
    model = convert(forest, X[:1])
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, proba = session.run(None, {"X": X})
    assert_array_equal(labels, forest.predict(X))
    assert_allclose(proba, forest.predict_proba(X), rtol=0, atol=6e-8)


def test_skl2onnx_converts_pipelines_with_categories(convert):
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    random = np.random.default_rng(0)
    X = pd.DataFrame({"city": random.choice(["x", "y", "z"], 90)})
    X["n"] = random.normal(size=90).astype(np.float32)
    y = (X.city == "x") ^ (X.n > 0.5)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    steps = make_column_transformer((encoder, ["city"]), ("passthrough", ["n"]))
    tree = ConfidenceTreeClassifier(None, categorical_features=[0])
    pipeline = make_pipeline(steps, tree).fit(X, y.to_numpy().astype(int))
    types = {"city": StringTensorType([None, 1]), "n": FloatTensorType([None, 1])}
    model = convert(pipeline, initial_types=list(types.items()))
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows = pd.concat([X, X.assign(city="new")])
    inputs = {name: rows[[name]].to_numpy() for name in rows}
    labels, proba = session.run(None, inputs)
    assert_array_equal(labels, pipeline.predict(rows))
    assert_allclose(proba, pipeline.predict_proba(rows), rtol=0, atol=6e-8)
    with pytest.raises(ValueError, match="Column 'city' has strings"):
        convert(tree.fit(X, y), initial_types=list(types.items()))


@pytest.mark.slow
@pytest.mark.skipif("SKCONFTREE_DATA" not in os.environ, reason="needs real tables")
def test_models_of_real_tables_predict_the_same(monkeypatch):
    with benchmarks_on_path(monkeypatch):
        from common import data
    folder = data.data_folder()
    for name in sorted(data.manifest(folder)):
        X, y, _ = data.load(name, folder)
        X, y = X.iloc[:20_000], y[:20_000]
        for model in (
            ConfidenceTreeClassifier(random_state=0),
            ConfidenceForestClassifier(random_state=0),
        ):
            model.fit(X, y)
            assert_same(model, X, as_numbers(model, X))
