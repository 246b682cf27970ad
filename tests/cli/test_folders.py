"""Commands read folders, patterns, partitions and addresses as one table."""

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from skconftree._cli import main
from skconftree.utils._model_file import load

N = 1200
RNG = np.random.default_rng(0)
SIZE, FUR = RNG.normal(size=N), RNG.choice(["smooth", "rough"], N)
YEAR = 2020 + np.arange(N) // 400
KIND = np.where((SIZE > 0.2) ^ (YEAR == 2021), "cat", "dog")
TABLE = pa.table({"size": SIZE, "fur": FUR, "year": YEAR, "kind": KIND})
FAST = ["--target", "kind", "--folds", "2", "--baselines", "none"]


def run(*argv, code=0):
    assert main(list(map(str, argv))) == code


@pytest.fixture(params=["parquet", "csv"])
def folder(tmp_path, request):
    write = pq.write_table if request.param == "parquet" else pacsv.write_csv
    for k, year in enumerate((2020, 2021, 2022)):
        where = tmp_path / "rows" / f"year={year}"
        where.mkdir(parents=True)
        part = TABLE.slice(400 * k, 400).drop_columns("year")
        if k == 1:  # another order of the columns
            part = part.select(["kind", "fur", "size"])
        write(part, where / f"part.{request.param}")
    return tmp_path / "rows"


@pytest.fixture
def whole(tmp_path):
    table = TABLE.select(["size", "fur", "kind", "year"])
    pq.write_table(table, tmp_path / "whole.parquet")
    return tmp_path / "whole.parquet"


def test_a_folder_is_a_table(folder, whole, tmp_path, capsys):
    for name, source in (("one", folder), ("two", whole)):
        run("fit", source, *FAST, "--output", tmp_path / name)
        run("predict", tmp_path / name, source, "--output", tmp_path / f"{name}.csv")
        argv = ["--keep", "year,fur", "--output", tmp_path / f"{name}.parquet"]
        run("predict", tmp_path / name, source, *argv)
        run("audit", tmp_path / name, source, "--json", tmp_path / f"{name}.json")
        argv = ["--target", "kind", "--output", tmp_path / f"{name} s"]
        run("stream", source, *argv)
    read = tmp_path / "one.csv", tmp_path / "two.csv"
    assert read[0].read_bytes() == read[1].read_bytes()
    models = [load(tmp_path / name)[0] for name in ("one", "two")]
    assert models[0].tree_.node_count == models[1].tree_.node_count > 3
    streams = [load(tmp_path / f"{name} s")[0] for name in ("one", "two")]
    assert streams[0].n_rows_seen_ == streams[1].n_rows_seen_ == N
    audits = [json.loads((tmp_path / f"{n}.json").read_text()) for n in ("one", "two")]
    assert audits[0]["splits"] == audits[1]["splits"]
    kept = pq.read_table(tmp_path / "one.parquet")
    is_typed = next(folder.rglob("part.*")).suffix == ".parquet"
    assert kept["fur"].to_pylist() == FUR.tolist()
    assert kept["year"].to_pylist() == (YEAR if is_typed else YEAR.astype(str)).tolist()


def test_patterns_and_a_single_partition(folder, whole, tmp_path, capsys):
    run("fit", folder / "*" / "part.*", *FAST, "--output", tmp_path / "m")
    run("predict", tmp_path / "m", whole, "--output", tmp_path / "all.csv")
    rows = list(csv.reader((tmp_path / "all.csv").read_text().splitlines()))
    capsys.readouterr()
    run("predict", tmp_path / "m", folder / "year=2021")
    out = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert out[1:] == rows[401:801]
    run("predict", tmp_path / "m", folder / "year=2024*", code=1)
    assert "No file matches" in capsys.readouterr().err
    run("predict", tmp_path / "m", tmp_path / "all.csv" / "*", code=1)


def test_the_target_may_be_a_partition(folder, tmp_path, capsys):
    argv = ["--target", "year", "--folds", "2", "--baselines", "none"]
    run("fit", folder, *argv, "--output", tmp_path / "m")
    assert "1,200 rows, 3 columns, 3 classes" in capsys.readouterr().out
    assert load(tmp_path / "m")[0].classes_.tolist() == [2020, 2021, 2022]
    run("stream", folder, "--target", "year")
    assert "2022" in capsys.readouterr().out


def test_streams_of_folders_resume(folder, tmp_path, same_model):
    argv = ["stream", folder, "--target", "kind", "--classes", "cat,dog", "--output"]
    run(*argv, tmp_path / "m")
    held = folder / "year=2022"
    held.rename(tmp_path / "year=2022")
    run(*argv, tmp_path / "n")
    (tmp_path / "year=2022").rename(held)
    run(*argv, tmp_path / "n", "--resume")
    assert same_model(tmp_path / "m", (tmp_path / "n").read_bytes())


def test_no_file_of_the_input_is_replaced(folder, tmp_path, capsys):
    run("fit", folder, *FAST, "--output", tmp_path / "m")
    first = next(folder.rglob("part.*"))
    before = first.read_bytes()
    for source in (folder, folder / "*"):
        run("predict", tmp_path / "m", source, "--output", first, code=1)
        assert "would replace the input" in capsys.readouterr().err
    assert first.read_bytes() == before


def test_files_that_do_not_fit(folder, tmp_path, capsys):
    first, *_, last = sorted(folder.rglob("part.*"))
    last.write_bytes(first.read_bytes())
    write = pq.write_table if last.suffix == ".parquet" else pacsv.write_csv
    write(TABLE.select(["size", "kind"]), last)
    run("fit", folder, *FAST, code=1)
    assert "has no column 'fur', unlike" in capsys.readouterr().err
    last.rename(folder / last.name)
    run("fit", folder, *FAST, code=1)
    assert "must be in folders of the same columns" in capsys.readouterr().err


def test_addresses(folder, tmp_path, capsys):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/bucket", recursive=True)
    try:
        run("fit", "memory://bucket", *FAST, "--output", tmp_path / "m")
        run("predict", tmp_path / "m", "memory://bucket", "--output", tmp_path / "p")
        run("predict", tmp_path / "m", folder, "--output", tmp_path / "q")
        assert (tmp_path / "p").read_bytes() == (tmp_path / "q").read_bytes()
    finally:
        memory.rm("/bucket", recursive=True)
    run("predict", tmp_path / "m", "memory://bucket/x", code=1)
    run("fit", "nowhere://bucket", *FAST, code=1)
    assert "nowhere://bucket cannot be opened" in capsys.readouterr().err


def test_in_parts(folder, whole, tmp_path, capsys):
    argv = ["--target", "kind", "--in-parts", "--output"]
    if next(folder.rglob("part.*")).suffix == ".csv":
        run("fit", folder, *argv, tmp_path / "m", code=1)
        assert "--in-parts reads Parquet files" in capsys.readouterr().err
        return
    run("fit", folder, *argv, tmp_path / "m")
    run("fit", whole, *argv, tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    path = folder / "year=2021" / "part.parquet"
    part, kind = pq.read_table(path), ["cat", "?", None] * 133 + ["dog"]
    pq.write_table(part.set_column(0, "kind", pa.array(kind)), path)
    capsys.readouterr()
    run("fit", folder, *argv, tmp_path / "m", code=1)
    assert (
        "target column 'kind' has '?' in row 2, which counts as missing (266 rows of "
        f"{path} in all); --skip-missing ignores such rows" in capsys.readouterr().err
    )
    run("fit", folder, *argv, tmp_path / "m", "--skip-missing")
    assert load(tmp_path / "m")[0].n_rows_seen_ == N - 266


def test_commands_of_the_guide(tmp_path, monkeypatch, capsys):
    fsspec = pytest.importorskip("fsspec")
    page = Path(__file__).parents[2] / "doc" / "guide" / "large.rst"
    text = page.read_text("utf-8")
    commands = re.findall(r"^   \$ skconftree (.*)$", text, re.MULTILINE)
    assert len(commands) == 4
    monkeypatch.chdir(tmp_path)
    table = TABLE.rename_columns(["size", "fur", "year", "label"])
    for name in ("rows", "new"):
        for year in (2020, 2021, 2022):
            where = tmp_path / name / f"year={year}"
            where.mkdir(parents=True)
            part = table.filter(pc.equal(table["year"], year)).drop_columns("year")
            part = part.append_column("id", pa.array(np.arange(400) + 400 * year))
            pq.write_table(part, where / "part.parquet")
    memory = fsspec.filesystem("memory")
    memory.put("rows", "/bucket/rows", recursive=True)
    for command in commands:
        run(*shlex.split(command.replace("s3://", "memory://")))
    memory.rm("/bucket", recursive=True)
    assert "<h3>new</h3>" in (tmp_path / "tree.html").read_text("utf-8")
    report = json.loads((tmp_path / "tree.json").read_text("utf-8"))
    assert len(report["cross_validation"]["confidence tree"]["accuracy"]) == 5
    classes = pq.read_table(tmp_path / "classes.parquet")
    assert classes["id"].to_pylist() == list(range(400 * 2020, 400 * 2023))
    lines = (tmp_path / "classes.csv").read_text("utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "label",
        *classes["label"].to_pylist(),
    ]


def test_partitions_of_texts_are_categories(tmp_path, capsys):
    for fur in ("smooth", "rough"):
        where = tmp_path / "rows" / f"fur={fur}"
        where.mkdir(parents=True)
        part = TABLE.filter(pc.equal(TABLE["fur"], fur)).select(["size", "kind"])
        pacsv.write_csv(part, where / "part.csv")
    run("fit", tmp_path / "rows", *FAST, "--output", tmp_path / "m")
    assert "nominal columns: 1" in capsys.readouterr().out
    tree = load(tmp_path / "m")[0]
    assert [names and sorted(names) for names in tree.categories_] == [
        None,
        ["rough", "smooth"],
    ]


def test_a_row_of_a_folder_that_cannot_be_predicted(folder, tmp_path, capsys):
    run("fit", folder, *FAST, "--output", tmp_path / "m")
    last = max(folder.rglob("part.*"))
    write = pq.write_table if last.suffix == ".parquet" else pacsv.write_csv
    size = SIZE[800:].tolist()
    size[3] = 1e99
    part = TABLE.slice(800, 400).drop_columns("year")
    write(part.set_column(0, "size", pa.array(size)), last)
    output = tmp_path / "predictions.csv"
    run("predict", tmp_path / "m", folder, "--output", output, code=1)
    assert "column 'size'" in capsys.readouterr().err
    assert not output.exists()


def test_a_folder_with_fewer_rows_than_were_learned(folder, tmp_path, capsys):
    argv = ["stream", folder, "--target", "kind", "--classes", "cat,dog"]
    run(*argv, "--output", tmp_path / "m")
    max(folder.rglob("part.*")).unlink()
    run(*argv, "--output", tmp_path / "m", "--resume", code=1)
    assert (
        f"has learned 1,200 rows, and {folder} has 800; if they are all new, add"
        in (capsys.readouterr().err)
    )
