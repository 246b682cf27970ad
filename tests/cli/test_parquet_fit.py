"""``skconftree fit --in-parts``: the tree of a Parquet file, which predicts."""

import csv
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import main
from skconftree._cli._model_file import load


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
    assert "2000 rows, 2 columns, 2 classes, in parts" in said
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
        (["--target", "kind", "--report", "a.html"], "--report needs the table in"),
        (["--target", "kind", "--skip-missing"], "--skip-missing needs the table in"),
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
