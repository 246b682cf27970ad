"""Small files that unpack to more than there is room for, and output without a place.

A few bytes of a packed table can stand for a text of many gigabytes, and a full disk or
a reader that has gone is no reason for a traceback.
"""

import gzip
import io
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.effort import crossed

from skconftree._cli import _readers, main

SCRIPT = Path(sys.executable).with_name("skconftree")
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
ROWS = "\n".join(["size,kind", *["1,cat", "2,dog"] * 60]) + "\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(ROWS)
    return path


def error_of(capsys, argv):
    assert main(list(map(str, argv))) == 1
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = [one for one in err.splitlines() if not one.startswith("growing ")]
    assert line.startswith("skconftree: error: ")
    return line


# --- tables --------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fit", "stream"])
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("size,kind\n1,cat\n2,{}", "line 3"),
        ("size,kind\n1,cat\n2,dog{}", "line 3"),
        ("{}", "line 1"),
        ("size,{}", "line 1"),
        ('size,kind\n1,cat\n"2' + 300 * ('","' + 600 * " " + "\n"), "line "),
    ],
)
def test_no_more_of_a_row_is_read_than_may_be(
    tmp_path, monkeypatch, capsys, command, text, where
):
    monkeypatch.setattr(_readers, "MAX_ROW_CHARACTERS", 100_000)
    path = tmp_path / "line.csv.gz"
    path.write_bytes(gzip.compress(text.format(4_000_000 * "7").encode()))
    tracemalloc.start()
    try:
        error = error_of(capsys, [command, path, "--target", "kind"])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert f"line.csv.gz, {where}" in error
    assert "a row of more than 100000 characters" in error
    assert most < 6_000_000  # some is for what is imported now


def test_many_long_rows_are_not_in_memory_at_once(table, monkeypatch):
    def read():
        with _readers.CsvStream(table, "kind") as stream:
            guesses = stream.lookahead()
            return guesses, list(stream.chunks(100))

    guesses, whole = read()
    monkeypatch.setattr(_readers, "MAX_CHARACTERS", 60)
    assert read()[0] == guesses
    chunks = read()[1]
    assert [len(chunk.X) for chunk in whole] == [100, 20]
    assert {len(chunk.X) for chunk in chunks} == {10}
    assert [label for chunk in chunks for label in chunk.labels] == ["cat", "dog"] * 60
    assert chunks[-1].fingerprints[-1] == whole[-1].fingerprints[-1]


@pytest.mark.parametrize("kind", ["string", "large_string", "categories"])
def test_a_text_that_rows_share_is_in_memory_once(tmp_path, kind):
    n, text = 4096, 20_000 * "b"
    missing = np.arange(n) % 2 == 1
    codes = pa.array(np.zeros(n, np.int8), mask=missing)
    column = pa.DictionaryArray.from_arrays(codes, [text])
    if kind != "categories":
        column = column.cast(kind)
    path = tmp_path / "shared.parquet"
    pq.write_table(pa.table({"size": column, "kind": column}), path)
    assert path.stat().st_size < 10_000
    others = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(others)  # which knows how much of it was used at most
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        with _readers.ParquetStream(path, "kind") as stream:
            assert stream.lookahead()[0].parser is None
            stream.parsers = [None]
            (chunk,) = stream.chunks(n)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(others)
    assert chunk.X[:, 0].tolist() == [text, None] * (n // 2)
    assert chunk.labels == [text, ""] * (n // 2)
    assert most < 20_000_000
    assert pool.max_memory() < 20_000_000


@pytest.mark.parametrize("command", ["fit", "stream"])
@pytest.mark.parametrize("target", ["kind", "size"])
def test_a_text_of_parquet_is_no_longer_than_one_of_csv(
    tmp_path, capsys, command, target
):
    path = tmp_path / "long.parquet"
    sizes = pa.array(["a", 140_000 * "b"]).dictionary_encode()
    pq.write_table(pa.table({"size": sizes, "kind": ["cat", "dog"]}), path)
    error = error_of(capsys, [command, path, "--target", target])
    assert "column 'size': a text of 140000 characters; at most 131072" in error


def test_wide_rows_of_parquet_are_decoded_a_few_at_a_time(tmp_path, monkeypatch):
    path = tmp_path / "wide.parquet"
    rows = {"size": [f"{i:01000}" for i in range(50)], "kind": ["cat", "dog"] * 25}
    pq.write_table(pa.table(rows), path, row_group_size=25)
    monkeypatch.setattr(_readers, "MAX_BYTES", 5000)
    with _readers.ParquetStream(path, "kind") as stream:
        sizes = [len(batch) for batch in stream._batches_of(None)]
        assert sum(sizes) == 50
        assert max(sizes) < 10
        (guess,) = stream.lookahead()
        assert guess.numbers is not None


@pytest.mark.parametrize("command", ["fit", "stream"])
@pytest.mark.parametrize(
    "labels",
    [[{"a": 1}, {"a": 2}], [[1], [2]], [b"\xff", b"a"]],
    ids=["struct", "list", "bytes"],
)
def test_labels_that_are_no_texts_are_named(tmp_path, capsys, command, labels):
    path = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"size": [1, 2], "kind": pa.array(labels)}), path)
    assert "cannot read " in error_of(capsys, [command, path, "--target", "kind"])


def test_memory_that_is_not_there_is_said_in_a_line(table, monkeypatch, capsys):
    def fail(*args, **named):
        raise MemoryError("Unable to allocate 1 TiB")

    monkeypatch.setattr(_readers, "as_matrix", fail)
    error = error_of(capsys, ["fit", table, "--target", "kind"])
    assert error == "skconftree: error: out of memory: Unable to allocate 1 TiB"


# --- output --------------------------------------------------------------------------


@pytest.fixture
def commands(table, tmp_path):
    """A command line of every kind of output."""
    model = tmp_path / "model"
    fit = ["fit", str(table), "--target", "kind", "--baselines", "none"]
    fit += ["--folds", "2"]
    assert main([*fit, "--output", str(model)]) == 0
    stream = ["stream", str(table), "--target", "kind"]
    return {
        "fit": fit,
        "fit as JSON": [*fit, "--json", "-"],
        "predict": ["predict", str(model), str(table)],
        "stream": stream,
        "stream as JSON": [*stream, "--json", "-"],
        "completion": ["completion", "bash"],
        "help": ["--help"],
        "help of a command": ["stream", "--help"],
        "version": ["--version"],
    }


NAMES = [
    "fit",
    "fit as JSON",
    "predict",
    "stream",
    "stream as JSON",
    "completion",
    "help",
    "help of a command",
    "version",
]


@needs_full
@pytest.mark.parametrize(("name", "buffered"), crossed(NAMES, [True, False]))
def test_output_that_cannot_be_written_is_an_error(
    commands, name, buffered, monkeypatch, capsys
):
    capsys.readouterr()
    file = io.TextIOWrapper(
        open(FULL, "wb", buffering=-1 if buffered else 0), write_through=not buffered
    )
    with file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        assert main(commands[name]) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("skconftree: error: cannot write standard output: ")


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_that_has_gone_ends_the_command_quietly(
    commands, name, monkeypatch, capsys
):
    capsys.readouterr()
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        assert main(commands[name]) == 141  # 128 + SIGPIPE
    assert "error" not in capsys.readouterr().err


@needs_full
@pytest.mark.parametrize("name", ["fit", "stream"])
def test_work_continues_without_an_output(commands, name, monkeypatch, capsys):
    capsys.readouterr()
    with open(FULL, "w") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", file)
        assert main(commands[name]) == 0
        assert main([*commands[name], "--nominal", "nothing"]) == 1
        patch.setattr(sys, "stderr", None)
        assert main(commands[name]) == 0
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    assert "120 rows" in capsys.readouterr().out


def test_closed_standard_streams_are_named(table, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(["fit", str(table), "--target", "kind"]) == 1
    assert capsys.readouterr().err == "skconftree: error: standard output is closed\n"
    monkeypatch.setattr(_readers, "_spooled", [])
    monkeypatch.setattr(sys, "stdin", None)
    error = error_of(capsys, ["fit", "-", "--target", "kind"])
    assert "cannot read standard input: it is closed" in error


@pytest.mark.slow
@needs_full
def test_nothing_is_printed_after_the_error(table):
    """At its end the interpreter would write what is left, and complain."""
    with open(FULL, "w") as file:
        run = subprocess.run(
            [SCRIPT, "stream", str(table), "--target", "kind"],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    assert run.returncode == 1
    *_, line = run.stderr.splitlines()
    assert line.startswith("skconftree: error: cannot write standard output: ")
