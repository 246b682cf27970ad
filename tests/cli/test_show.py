"""`skconftree show`, and model files in Python."""

import json
import sqlite3

import joblib
import numpy as np
import pandas as pd
import pytest
from cli.people import write_people
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import skconftree
from skconftree import load_model, save_model
from skconftree._cli import _options, main
from skconftree.tree.reading._programs import DIALECTS

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A table and a model of it."""
    folder = tmp_path_factory.mktemp("show")
    table = write_people(folder / "people.csv", n=300)
    model = folder / "model"
    argv = ["fit", str(table), "--target", "buys", "--output", str(model)]
    assert main([*argv, "--folds", "2", "--baselines", "none"]) == 0
    return table, model


def shown(capsys, model, *more):
    capsys.readouterr()
    assert main(["show", str(model), *more]) == 0
    return capsys.readouterr().out


def test_every_form_is_written(saved, tmp_path, capsys):
    table, path = saved
    tree = load_model(path)
    frame = pd.read_csv(table).drop(columns="buys")
    proba = tree.predict_proba(frame)
    assert "|--- " in shown(capsys, path)
    n_leaves = tree.get_n_leaves()
    assert shown(capsys, path, "--as", "rules").count("\nIF ") == n_leaves - 1
    assert len(json.loads(shown(capsys, path, "--as", "json"))) >= n_leaves
    assert "<svg" in shown(capsys, path, "--as", "svg")
    assert "<html" in shown(capsys, path, "--as", "html")
    program = {}
    exec(shown(capsys, path, "--as", "python"), program)
    row = frame.iloc[0].to_dict()
    assert [*program["predict"](row).values()] == proba[0].tolist()
    sql = shown(capsys, path, "--as", "sql", "--dialect", "sqlite")
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("t", base, index=False)
        found = base.execute(f"SELECT {sql} FROM t").fetchall()
    assert_allclose(found, proba, rtol=4e-16)
    output = tmp_path / "copy.joblib"
    shown(capsys, path, "--as", "sklearn", "--output", str(output))
    assert_array_equal(joblib.load(output).predict_proba(frame), proba)
    shown(capsys, path, "--as", "rules", "--output", str(tmp_path / "rules.txt"))
    assert (tmp_path / "rules.txt").read_text().startswith("IF ")


def test_onnx_is_written(saved, tmp_path, capsys):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    table, path = saved
    output = tmp_path / "tree.onnx"
    shown(capsys, path, "--as", "onnx", "--output", str(output))
    session = runtime.InferenceSession(output, providers=["CPUExecutionProvider"])
    columns = json.loads(session.get_modelmeta().custom_metadata_map["columns"])
    frame = pd.read_csv(table)[[column["name"] for column in columns]]
    rows = frame.copy()
    for column in columns:
        if "categories" in column:
            categories = column["categories"]
            values = frame[column["name"]].astype(object)
            rows[column["name"]] = [
                categories.index(None if value != value else value) for value in values
            ]
    _, proba = session.run(None, {"X": rows.to_numpy(dtype=np.float32)})
    expected = load_model(path).predict_proba(frame)
    assert_allclose(proba, expected, rtol=0, atol=6e-8)
    save_model(skconftree.NCMTreeClassifier(random_state=0).fit(X, Y), output)
    capsys.readouterr()
    argv = ["show", str(output), "--as", "onnx", "--output", str(tmp_path / "other")]
    assert main(argv) == 1
    assert "must be a fitted ConfidenceTreeClassifier" in capsys.readouterr().err


def test_mistakes_of_show_are_named(saved, tmp_path, capsys):
    _, path = saved
    forest = skconftree.ConfidenceForestClassifier(2, random_state=0).fit(X, Y)
    save_model(forest, tmp_path / "forest")
    for argv, words in [
        ([path, "--dialect", "mysql"], "--dialect is for --as sql"),
        ([path, "--as", "sklearn"], "needs --output"),
        ([path, "--as", "onnx"], "needs --output"),
        ([tmp_path / "none"], "cannot read"),
        ([tmp_path / "forest"], "Pass one of its trees"),
    ]:
        assert main(["show", *map(str, argv)]) == 1
        assert words in capsys.readouterr().err
    assert set(_options.DIALECTS) == set(DIALECTS)


@pytest.mark.parametrize(
    "model",
    [
        skconftree.ConfidenceTreeClassifier(bound="credible"),
        skconftree.ConfidenceForestClassifier(3, random_state=0, oob_score=True),
        skconftree.NCMTreeClassifier(random_state=0),
        skconftree.NCMForestClassifier(2, random_state=0),
        skconftree.OASISClassifier(random_state=0),
        skconftree.PartiallyLinearTreeClassifier(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_models_are_saved_and_loaded_in_python(model, tmp_path):
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        save_model(model, path)
    model.fit(X, Y)
    save_model(model, path)
    again = load_model(path)
    assert type(again) is type(model)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    before = path.read_bytes()
    save_model(again, path)
    assert path.read_bytes() == before


def test_a_model_saved_in_python_predicts_on_the_command_line(tmp_path, capsys):
    tree = skconftree.ConfidenceTreeClassifier()
    table = tmp_path / "iris.csv"
    X.to_csv(table, index=False)
    save_model(tree.fit(X, Y), tmp_path / "model")
    argv = ["predict", str(tmp_path / "model"), str(table)]
    assert main(argv) == 0
    rows = capsys.readouterr().out.split()
    assert [int(row.split(",")[0]) for row in rows[1:]] == tree.predict(X).tolist()
    save_model(tree.fit(X.to_numpy(), Y), tmp_path / "model")
    assert main(argv) == 1
    assert "has no names of columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    "model",
    [
        skconftree.ConfidenceForestClassifier(2, random_state=0),
        skconftree.NCMTreeClassifier(random_state=0),
        skconftree.OASISClassifier(random_state=0),
        skconftree.PartiallyLinearTreeClassifier(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_models_predict_on_the_command_line(model, tmp_path, capsys):
    path, table = tmp_path / "model", tmp_path / "iris.csv"
    X.to_csv(table, index=False)
    save_model(model.fit(X, Y), path)
    argv = ["predict", str(path), str(table)]
    assert main(argv) == 0
    rows = capsys.readouterr().out.split()
    assert [int(row.split(",")[0]) for row in rows[1:]] == model.predict(X).tolist()
    explains = hasattr(model, "explain")
    assert main([*argv, "--explain"]) == (not explains)
    told = capsys.readouterr()
    assert ("; score of " in told.out) if explains else ("is for a tree" in told.err)


def test_a_transformer_does_not_predict_on_the_command_line(tmp_path, capsys):
    save_model(skconftree.BinaryTests().fit(X, Y), tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), "none.csv"]) == 1
    assert "has a BinaryTests, not a classifier" in capsys.readouterr().err


def test_dates_can_be_classes(tmp_path):
    """In arrays, which have no buffer in Python."""
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    tree = skconftree.ConfidenceTreeClassifier().fit(X, days[(Y > 0).astype(int)])
    save_model(tree, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.classes_.dtype == tree.classes_.dtype
    assert_array_equal(again.predict(X), tree.predict(X))


def test_only_classifiers_of_this_package_are_saved(tmp_path):
    pipeline = make_pipeline(skconftree.ConfidenceTreeClassifier()).fit(X, Y)
    with pytest.raises(TypeError, match="Got Pipeline"):
        save_model(pipeline, tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="cannot read"):
        load_model(tmp_path / "model")
    with pytest.raises(TypeError, match="not int"):  # not an open file, to be closed
        load_model(1000)
    with pytest.raises(FileNotFoundError, match="cannot write"):
        save_model(pipeline[-1], tmp_path / "nowhere" / "model")
    np.savez(tmp_path / "model.npz", X=X)
    with pytest.raises(ValueError, match="is not a model"):
        load_model(tmp_path / "model.npz")
