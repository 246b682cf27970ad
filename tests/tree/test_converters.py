"""Converters of other libraries accept the results of `to_sklearn`."""

import pickle
import sys

import numpy as np
import pytest
from reference.effort import cases
from reference.programs import run_program
from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

X, Y = load_breast_cancer(return_X_y=True)
X = X.astype(np.float32)
NAMES = np.array(["malignant", "benign"])[Y]


def with_categories():
    Z = X.copy()
    Z[:, [20, 22, 23]] = np.digitize(Z[:, [22]], [85, 100, 115, 130])
    return Z


def with_missing_values():
    Z = X.copy()
    Z[np.random.default_rng(0).random(Z.shape) < 0.1] = np.nan
    return Z


NOMINAL = {"categorical_features": [20, 22, 23]}
MODELS = {
    "tree": (ConfidenceTreeClassifier(), X),
    "nominal tree": (ConfidenceTreeClassifier(**NOMINAL), with_categories()),
    "cart": (ConfidenceTreeClassifier(None, max_depth=4), X),
    "forest": (ConfidenceForestClassifier(12, random_state=0), X),
    "random forest": (ConfidenceForestClassifier(12, bound=None, random_state=0), X),
    "nominal forest": (
        ConfidenceForestClassifier(12, random_state=0, **NOMINAL),
        with_categories(),
    ),
}


@pytest.fixture(params=MODELS)
def fitted(request):
    """A model, some rows, and the tree or forest of its copy with its rows."""
    model, rows = MODELS[request.param]
    copied = model.fit(rows, NAMES).to_sklearn()
    if not request.param.startswith("nominal"):
        return model, rows, copied, rows
    return model, rows, copied[-1], copied[:-1].transform(rows).astype(np.float32)


def test_onnx_predicts_the_same(fitted):
    model, rows, copied, columns = fitted
    convert = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    made = convert.to_onnx(copied, columns[:1], options={"zipmap": False})
    session = runtime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, proba = session.run(None, {session.get_inputs()[0].name: columns})
    np.testing.assert_array_equal(labels, model.predict(rows))
    np.testing.assert_allclose(proba, model.predict_proba(rows), atol=1e-6)


def test_treelite_predicts_the_same_as_forests(fitted):
    model, rows, copied, columns = fitted
    treelite = pytest.importorskip("treelite", reason="treelite is not installed")
    if isinstance(model, ConfidenceTreeClassifier):
        with pytest.raises(treelite.TreeliteError, match="DecisionTreeClassifier"):
            treelite.sklearn.import_model(copied)
        return
    made = treelite.sklearn.import_model(copied)
    proba = treelite.gtil.predict(made, columns).squeeze()
    np.testing.assert_allclose(proba, model.predict_proba(rows), atol=1e-6)


def test_emlearn_predicts_the_same_as_trees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where it compiles what it has made
    emlearn = pytest.importorskip("emlearn", reason="emlearn is not installed")
    tree = ConfidenceTreeClassifier().fit(X, Y)
    made = emlearn.convert(tree.to_sklearn(), method="inline", dtype="float")
    np.testing.assert_array_equal(made.predict(X), tree.predict(X))


def test_shap_values_add_up_to_the_probabilities(fitted):
    model, rows, copied, columns = fitted
    shap = pytest.importorskip("shap", reason="shap is not installed")
    # leaves of unknown categories have no rows, so shap needs some to compare with
    background = None if columns is rows else columns[::10]
    told = shap.TreeExplainer(copied, background)(columns[:20])
    np.testing.assert_allclose(
        told.values.sum(axis=1) + told.base_values,
        model.predict_proba(rows[:20]),
        atol=1e-6,
    )


def test_shap_explains_trees_with_missing_values():
    shap = pytest.importorskip("shap", reason="shap is not installed")
    rows = with_missing_values()
    tree = ConfidenceTreeClassifier().fit(rows, NAMES)
    with pytest.warns(UserWarning, match="skl2onnx"):
        copied = tree.to_sklearn()
    told = shap.TreeExplainer(copied)(rows[:20])
    np.testing.assert_allclose(
        told.values.sum(axis=1) + told.base_values,
        tree.predict_proba(rows[:20]),
        atol=1e-6,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
@pytest.mark.parametrize(
    "name", cases(["tree", "nominal tree", "nominal forest"], ["nominal tree"])
)
def test_copies_do_not_need_this_package(name, tmp_path, monkeypatch):
    model, rows = MODELS[name]
    copied = model.fit(rows, NAMES).to_sklearn()
    with open(tmp_path / "model.pkl", "wb") as file:
        pickle.dump((copied, rows, model.predict_proba(rows)), file)
    monkeypatch.chdir(tmp_path)
    program = """
        import pickle, sys
        for name in [name for name in sys.modules if name.startswith("skconftree")]:
            sys.modules[name] = None  # whoever imports it gets an error
        with open("model.pkl", "rb") as file:
            copied, rows, proba = pickle.load(file)
        assert (copied.predict_proba(rows) == proba).all()
    """
    run_program(program, timeout=60.0)


def test_naive_bayes_has_no_copy():
    model = ConfidenceTreeClassifier(leaf_prediction="nb")
    model.partial_fit(np.eye(2), [0, 1], [0, 1])
    with pytest.raises(ValueError, match="by naive Bayes cannot be converted"):
        model.to_sklearn()
