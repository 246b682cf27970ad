"""``skconftree predict`` reads, predicts and writes some rows at a time."""

import csv
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import _predict, _table, _text, main

N = 2500


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(_table, "CHUNK_ROWS", 700)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    size = rng.normal(size=N).astype(np.float32)
    fur = rng.choice(["smooth", "rough"], N)
    kind = np.where((size > 0.2) ^ (fur == "rough"), 7, 12)
    return pa.table(
        {"id": np.arange(N) * 2**40, "size": size, "fur": fur, "kind": kind}
    )


@pytest.fixture
def tree(table):
    X = table.select(["size", "fur"])
    return ConfidenceTreeClassifier(random_state=0).fit(X, table["kind"].to_numpy())


@pytest.fixture
def model(table, tmp_path):
    pq.write_table(table, tmp_path / "train.parquet")
    fit = ["fit", str(tmp_path / "train.parquet"), "--target", "kind", "--drop", "id"]
    rest = ["--folds", "2", "--baselines", "none", "--output"]
    assert main([*fit, *rest, str(tmp_path / "model")]) == 0
    return tmp_path / "model"


def predict(model, path, *argv, code=0):
    assert main(["predict", str(model), str(path), *map(str, argv)]) == code


def test_parquet_in_and_out_keeps_types(table, tree, model, tmp_path):
    path, output = tmp_path / "new.parquet", tmp_path / "out.parquet"
    # columns that the model does not need may have names that contain those it needs
    more = table.append_column("size.raw", pa.array(["x"] * N))
    pq.write_table(more.drop_columns("kind"), path, row_group_size=900)
    predict(model, path, "--proba", "--keep", "id", "--output", output)
    written = pq.read_table(output)
    assert written.schema.field("id").type == pa.int64()
    assert written["id"].equals(table["id"])
    assert written["kind"].type == pa.int64()
    X = table.select(["size", "fur"])
    np.testing.assert_array_equal(written["kind"], tree.predict(X))
    proba = [written[f"probability of {label}"] for label in (7, 12)]
    np.testing.assert_array_equal(np.transpose(proba), tree.predict_proba(X))


def test_groups_of_parquet_are_written_as_they_fill(
    table, model, tmp_path, monkeypatch
):
    path, output = tmp_path / "new.parquet", tmp_path / "out.parquet"
    pq.write_table(table, path)
    predict(model, path, "--output", output)
    whole = pq.read_table(output)
    assert pq.read_metadata(output).num_row_groups == 1
    monkeypatch.setattr(_predict, "GROUP_BYTES", 1)
    predict(model, path, "--output", output)
    assert pq.read_metadata(output).num_row_groups == 4  # of 700 rows at most
    assert pq.read_table(output).equals(whole)


def test_progress_has_the_number_of_rows(table, model, tmp_path, monkeypatch):
    path, said = tmp_path / "new.csv", []
    pacsv.write_csv(table, path)
    monkeypatch.setattr(_table, "PROGRESS_ROWS", 700)
    monkeypatch.setattr(_text.Progress, "update", lambda self, text: said.append(text))
    predict(model, path, "--output", tmp_path / "out.csv")
    assert [text for text in said if text.startswith("1,400 rows of")] == [
        f"1,400 rows of {path} predicted"
    ]
    argv = ["fit", str(path), "--target", "kind", "--folds", "2", "--drop", "id"]
    assert main([*argv, "--baselines", "none"]) == 0
    assert f"2,100 rows of {path} read" in said


def test_an_infinite_value_of_parquet_ends_the_predictions(
    table, model, tmp_path, capsys
):
    path, output = tmp_path / "new.parquet", tmp_path / "out.parquet"
    size = table["size"].to_pylist()
    size[0] = float("inf")
    bad = table.set_column(1, "size", pa.array(size, pa.float32()))
    with pq.ParquetWriter(path, bad.schema) as writer:
        writer.write_table(bad.slice(0, 0))  # a group without rows
        writer.write_table(bad)
    predict(model, path, "--output", output, code=1)
    assert "row 1, column 'size': infinite or too large" in capsys.readouterr().err
    assert not output.exists()


def test_csv_equals_parquet(table, model, tmp_path, capsys):
    pq.write_table(table, tmp_path / "new.parquet")
    pacsv.write_csv(table, tmp_path / "new.csv")
    predict(model, tmp_path / "new.parquet", "--output", tmp_path / "one.csv")
    predict(model, tmp_path / "new.csv", "--output", tmp_path / "two.csv")
    text = (tmp_path / "one.csv").read_text()
    assert text == (tmp_path / "two.csv").read_text()
    assert text.count("\n") == N + 1
    capsys.readouterr()
    predict(model, tmp_path / "new.csv", "--keep", "fur,kind")
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert rows[0] == ["fur", "kind", "predicted kind", "probability"]
    assert [row[0] for row in rows[1:]] == table["fur"].to_pylist()
    output = tmp_path / "two.parquet"
    predict(model, tmp_path / "new.csv", "--keep", "id", "--output", output)
    assert pq.read_table(output)["id"].to_pylist() == [
        str(one) for one in table["id"].to_pylist()
    ]


def test_a_bad_row_far_below_leaves_the_old_file(table, model, tmp_path, capsys):
    path, output = tmp_path / "new.csv", tmp_path / "out.csv"
    pacsv.write_csv(table, path)
    output.write_text("old")
    text = path.read_text()
    path.write_text(text + "1,2\n")
    predict(model, path, "--output", output, code=1)
    assert "2 fields where the header has 4" in capsys.readouterr().err
    assert output.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("model", "new.csv", "out.csv", "train.parquet")
    ]


def test_categories_are_counted_over_all_batches(table, model, tmp_path, capsys):
    path = tmp_path / "new.parquet"
    new = ["woolly" if i in (5, 2000) else "rough" for i in range(N)]
    pq.write_table(table.set_column(2, "fur", pa.array(new)), path)
    predict(model, path, "--output", tmp_path / "out.csv")
    err = capsys.readouterr().err
    assert "2 of 2,500 rows have a category that the model has not seen ('woo" in err


def test_columns_that_a_prediction_has_are_not_repeated(model, table, tmp_path):
    path, again = tmp_path / "new.parquet", tmp_path / "again.parquet"
    pq.write_table(table, path)
    for _ in range(2):
        predict(model, path, "--keep", "all", "--output", again)
        path = tmp_path / "second.parquet"
        again.replace(path)
    names = pq.read_schema(path).names
    assert names[-2:] == ["predicted kind (skconftree)", "predicted probability"]
    assert len(set(names)) == len(names)


MEMORY = """
import resource, sys
import pyarrow.parquet
from skconftree import large
from skconftree._cli import _fit, _predict, main
unit = 2**20 if sys.platform == "darwin" else 2**10
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert main(sys.argv[1:]) == 0
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / unit)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_million_rows_need_little_memory(tmp_path, ending):
    rng = np.random.default_rng(0)
    n = 1_000_000
    columns = {f"c{j}": rng.normal(size=n).astype(np.float32) for j in range(20)}
    table = pa.table({**columns, "label": np.where(columns["c0"] > 0, "a", "b")})
    path, model = tmp_path / f"big.{ending}", tmp_path / "model"
    write = pq.write_table if ending == "parquet" else pacsv.write_csv
    write(table, path)
    pq.write_table(table.slice(0, 5000), tmp_path / "some.parquet")
    fit = ["fit", str(tmp_path / "some.parquet"), "--target", "label"]
    rest = ["--folds", "2", "--baselines", "none", "--output", str(model)]
    assert main([*fit, *rest]) == 0
    keep = ["--keep", "c3"] if ending == "parquet" else []
    argv = ["predict", str(model), str(path), *keep, "--output"]
    told = subprocess.run(
        [sys.executable, "-P", "-c", MEMORY, *argv, str(tmp_path / f"out.{ending}")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(told.stdout) < 300.0
