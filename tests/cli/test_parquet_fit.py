"""``skconftree fit --in-parts``: the tree of a Parquet file, which predicts."""

import csv
import json
import pickle
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import _fit, _table, _text, main
from skconftree.large import _data, _parquet
from skconftree.utils._model_file import load


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    size = rng.normal(size=2000)
    fur = rng.choice(["smooth", "rough", ""], 2000)
    kind = np.where((size > 0.2) ^ (fur == "rough"), "cat", "dog")
    return pa.table({"id": np.arange(2000), "size": size, "fur": fur, "kind": kind})


@pytest.fixture
def path(tmp_path, table):
    pq.write_table(table, tmp_path / "pets.parquet", row_group_size=300)
    return tmp_path / "pets.parquet"


def run(*argv):
    return main(["fit", *map(str, argv), "--in-parts"])


def test_the_tree_equals_that_of_the_full_table(path, table, tmp_path, capsys):
    model = tmp_path / "model"
    shown = ["--target", "kind", "--drop", "id", "--output", model, "--verbose"]
    assert run(path, *shown, "--plot", tmp_path / "tree.svg") == 0
    said = capsys.readouterr().out
    assert "ConfidenceTreeClassifier(max_bins=255, random_state=0)" in said
    assert "2,000 rows, 2 columns, 2 classes, nominal columns: 1, in parts" in said
    assert "size <= 0.2" in said
    assert (tmp_path / "tree.svg").exists()
    tree, _ = load(model)
    expected = ConfidenceTreeClassifier(max_bins=255, random_state=0)
    expected.fit(table.select(["size", "fur"]), np.asarray(table["kind"]))
    assert pickle.dumps(tree) == pickle.dumps(expected)
    assert main(["predict", str(model), str(path)]) == 0
    predicted = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [one["kind"] for one in predicted] == expected.predict(
        table.select(["size", "fur"])
    ).tolist()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--target", "kind", "--baselines", "all"], "--baselines needs the table in"),
        (["--target", "kind", "--nominal", "idd"], "--nominal 'idd' is not one of"),
        (
            ["--target", "kind", "--folds", "1500"],
            "--folds 1500 is more than",
        ),
        ([], "needs a table in a Parquet file, and --target"),
        (["--target", "kindd"], "kindd"),
        (["--target", "kind", "--drop", "idd"], "--drop 'idd' is not one of"),
        (["--target", "kind", "--drop", "id,size,fur"], "leaves no features"),
        (["--target", "kind", "--set", "max_bins=None"], "Set max_bins"),
        (["--target", "kind", "--set", "pruning='c45'"], "needs all rows"),
    ],
)
def test_what_cannot_be_is_said(path, capsys, argv, words):
    assert run(path, *argv) == 1
    assert words in capsys.readouterr().err


def test_labels_that_are_numbers_are_tested(path, table, tmp_path, capsys):
    kind = np.asarray(table["kind"]) == "cat"
    table = table.set_column(3, "kind", pa.array(kind.astype(np.int64)))
    pq.write_table(table, path)
    argv = ["--target", "kind", "--drop", "id", "--test", path, "--json", "-"]
    assert run(path, *argv) == 0
    report = json.loads(capsys.readouterr().out)  # and nothing else
    tree = ConfidenceTreeClassifier(max_bins=255, random_state=0)
    X = table.select(["size", "fur"])
    right = tree.fit(X, kind.astype(int)).predict(X) == kind
    assert report["test"]["accuracy"] == pytest.approx(right.mean())
    assert "cross_validation" not in report


def test_progress_names_passes_and_levels(path, capsys, monkeypatch):
    monkeypatch.setattr(_fit, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(_data, "MAX_GATHERED", 100)  # the tree grows level by level
    said = []
    monkeypatch.setattr(_text.Progress, "update", lambda self, text: said.append(text))
    argv = ["--target", "kind", "--drop", "id", "--set", "lookahead=0"]
    assert run(path, *argv) == 0
    assert any(re.match(r"pass 1, [\d,]+ of 2,000 rows", text) for text in said)
    assert any(re.match(r"level \d+ of the tree, \d+ nodes", text) for text in said)


def test_one_class_is_refused(path, table, capsys):
    one = table.set_column(3, "kind", pa.array(["cat"] * 2000))
    pq.write_table(one, path)
    assert run(path, "--target", "kind") == 1
    assert "have the class cat" in capsys.readouterr().err


def test_a_file_that_is_no_parquet_is_refused(tmp_path, capsys):
    path = tmp_path / "pets.parquet"
    path.write_text("size,kind\n1,cat\n")
    assert run(path, "--target", "kind") == 1
    assert "is not a Parquet file" in capsys.readouterr().err


def test_all_outputs_are_those_in_memory(path, table, tmp_path, capsys, monkeypatch):
    """Files of --folds, --test, --nominal and --skip-missing, as without --in-parts."""
    monkeypatch.setattr(_parquet, "BATCH", 999)  # the last batch has no row of a fold
    rng = np.random.default_rng(1)
    code = rng.integers(0, 4, 2000)
    kind = table["kind"].to_pylist()
    kind[5], kind[1300] = None, None
    table = table.set_column(3, "kind", pa.array(kind)).append_column("code", [code])
    pq.write_table(table, path, row_group_size=300)
    argv = ["--target", "kind", "--drop", "id", "--nominal", "code", "--folds", "3"]
    argv += ["--skip-missing", "--test", path, "--json"]
    one = [tmp_path / "one.json", "--report", tmp_path / "one.html"]
    assert run(path, *argv, *one, "--output", tmp_path / "model") == 0
    shown = capsys.readouterr().out
    assert "Cross-validation\n----" in shown
    assert f"Test table {path}" in shown
    more = ["--baselines", "none", "--set", "max_bins=255"]
    more += ["--report", tmp_path / "two.html"]
    argv = ["fit", path, *argv, tmp_path / "two.json", *more]
    assert main(list(map(str, argv))) == 0
    # the figures of folds and tests are sums in another order
    paths = tmp_path / "one.json", tmp_path / "two.json"
    one, two = (json.loads(p.read_text(), parse_float=rounded) for p in paths)
    for name in ("tree", "classes", "test", "majority"):
        assert one[name] == two[name], name
    for report in (one, two):
        report["cross_validation"]["confidence tree"].pop("seconds")
    assert one["cross_validation"] == two["cross_validation"]
    one, two = ((tmp_path / f"{name}.html").read_text() for name in ("one", "two"))
    assert one.partition("<h2>Notes")[0] == two.partition("<h2>Notes")[0]
    argv = ["predict", tmp_path / "model", path, "--output", tmp_path / "classes"]
    assert main(list(map(str, argv))) == 0


def test_a_report_without_folds_shows_a_sample_of_the_rows(
    path, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(_fit, "MAX_DRAWN", 500)
    page = tmp_path / "report.html"
    assert run(path, "--target", "kind", "--drop", "id", "--report", page) == 0
    text = page.read_text()
    assert re.findall(r"<h2>(.*?)</h2>", text) == [
        *("Feature importance", "The tree", "Rules", "Columns", "Notes on the data"),
        "Settings and versions",
    ]
    assert re.search(r'<p class="lead">Tree: 4 leaves, 3 splits', text)
    assert "2,000 rows, 2 columns, 2 classes; nominal columns: 1. The tree was" in text
    assert "Values are those of 500 random rows." in text
    categories = text.partition("Categories by class")[2].partition("</table>")[0]
    counts = re.findall(r"<td>([\d,]+)</td></tr>", categories)
    assert sum(map(int, counts)) == 500


def test_labels_that_are_not_texts(path, table, tmp_path, capsys):
    """Numbers of pandas become floats where one is missing; --test reads texts."""
    kind = np.array(table["kind"]) == "cat"
    for labels in (kind, pa.array(np.where(kind, 1.0, 2.0))):
        pq.write_table(table.set_column(3, "kind", pa.array(labels)), path)
        model, argv = tmp_path / "model", ["--target", "kind", "--drop", "id"]
        assert run(path, *argv, "--test", path, "--output", model) == 0
        assert re.search("2,000 rows: accuracy (99|100)", capsys.readouterr().out)
        assert main(["audit", str(model), str(path)]) == 0
        assert "3 splits: 3 confirmed" in capsys.readouterr().out


def test_a_row_without_a_label_far_below_is_named(
    path, table, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(_table, "CHUNK_ROWS", 300)
    kind, new = table["kind"].to_pylist(), tmp_path / "new.parquet"
    kind[1300] = None
    pq.write_table(table.set_column(3, "kind", pa.array(kind)), new)
    assert run(path, "--target", "kind", "--test", new) == 1
    assert "has no value in row 1301; --skip-missing" in capsys.readouterr().err


def rounded(text):
    return float(f"{float(text):.9g}")


def test_progress_is_reported(path, capsys, monkeypatch):
    monkeypatch.setattr(_fit, "PROGRESS_SECONDS", 0.0)
    assert run(path, "--target", "kind", "--drop", "id", "--verbose") == 0
    err = capsys.readouterr().err
    assert "pass 1, 2,000 of 2,000 rows" in err
    assert "pass 4, 300 of 2,000 rows" in err
