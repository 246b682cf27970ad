"""``skconftree stream -``: rows of a pipe are learned as they arrive."""

import json
import os
import pickle
import random
import re
import signal
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from reference.programs import COMMAND, PIPE, Process

from skconftree._cli import _live, main
from skconftree._cli._live import LiveInput
from skconftree.datasets import make_sea
from skconftree.utils import _model_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
N_ROWS = 1200
SETTINGS = ["--target", "t", "--classes", "A,B"]
X, Y = make_sea(N_ROWS, random_state=0)
ROWS = [
    {"a": float(a), "b": float(b), "color": "red" if c > 5 else "blue", "t": "AB"[y]}
    for (a, b, c), y in zip(X, Y, strict=True)
]
HEADER = "a,b,color,t\n"


def as_csv(row):
    return ",".join(map(str, row.values())) + "\n"


def as_json(row):
    return json.dumps(row) + "\n"


TEXT = HEADER + "".join(map(as_csv, ROWS))


class Run:
    """A run of the console script that reads a pipe."""

    def __init__(self, folder, *more):
        argv = ["stream", "-", *SETTINGS, *more]
        self.log = open(folder / "log", "ab+")
        ends = {"stdin": PIPE, "stdout": self.log, "stderr": PIPE}
        self.process = Process(COMMAND, *argv, **ends)
        self.err = b""

    def send(self, text):
        self.process.stdin.write(text.encode())

    def until(self, words):
        """Wait for words on standard error."""
        while words not in self.err:
            block = os.read(self.process.stderr.fileno(), 2**16)
            assert block, self.err
            self.err += block

    def end(self, number=None):
        if number is not None:
            self.process.send_signal(number)
        self.process.stdin.close()
        self.err += self.process.stderr.read()
        self.log.close()
        status = self.process.wait()
        self.process.close()
        return status


def tree_of(path):
    model, progress = _model_file.load(path)
    return pickle.dumps(model), progress


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in this process; a file is its standard input."""

    def run(text, *argv):
        path = tmp_path / "stdin"
        path.write_text(text)
        with path.open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return main(["stream", "-", *SETTINGS, *map(str, argv)])

    return run


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """Tree and predictions of a table that nothing happens to."""
    folder = tmp_path_factory.mktemp("unbroken")
    table = folder / "table.csv"
    table.write_text(TEXT)
    argv = ["stream", str(table), *SETTINGS, "--output", str(folder / "model")]
    assert main([*argv, "--predictions", str(folder / "predictions")]) == 0
    return tree_of(folder / "model")[0], (folder / "predictions").read_text()


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_pipe_equals_a_table(run, tmp_path, unbroken, capsys, form):
    text = TEXT if form == "csv" else "".join(map(as_json, ROWS))
    model, file = tmp_path / "model", tmp_path / "predictions"
    assert run(text, "--output", model, "--predictions", file) == 0
    tree, progress = tree_of(model)
    assert (tree, file.read_text()) == unbroken
    assert progress["rows"] == N_ROWS
    assert "accuracy" in capsys.readouterr().out
    table = tmp_path / "table.jsonl"
    table.write_text("".join(map(as_json, ROWS)))
    argv = ["stream", str(table), "--target", "t", "--output", str(tmp_path / "other")]
    assert main(argv) == 0
    assert tree_of(tmp_path / "other")[0] == tree


def test_predictions_are_those_before_each_row(unbroken):
    lines = unbroken[1].splitlines()
    assert lines[0] == "row,prediction,probability"
    rows = [line.split(",") for line in lines[1:]]
    assert [int(row) for row, *_ in rows] == list(range(1, N_ROWS + 1))
    right = [label == row["t"] for (_, label, _), row in zip(rows, ROWS, strict=True)]
    assert 0.8 < np.mean(right) < 1.0
    assert all(0.5 <= float(one) <= 1.0 for _, _, one in rows)


def test_delayed_labels_have_predictions_too(run, tmp_path):
    file = tmp_path / "predictions"
    assert run(TEXT, "--delay", "5", "--predictions", file) == 0
    lines = file.read_text().splitlines()
    assert lines[1:6] == [f"{row},," for row in range(1, 6)]
    assert len(lines) == N_ROWS + 1
    assert lines[-1].split(",")[1] in {"A", "B"}


def test_the_first_rows_settle_the_columns(run, tmp_path):
    text = HEADER + "1,2,3,A\n2,2,4,B\n3,3,red,A\n"
    for n, readings in [("2", "decimal point"), ("3", None)]:
        model = tmp_path / n
        assert run(text, "--settle-after", n, "--output", model) == 0
        assert _model_file.load(model)[1]["readings"][2] == readings
    rows = '{"a": 1, "t": "A"}\n{"b": null, "t": "B"}\n{"c": 1, "t": "A"}\n'
    model = tmp_path / "keys"
    assert run(rows, "--settle-after", "2", "--output", model) == 0
    assert _model_file.load(model)[1]["columns"] == ["a", "t", "b"]


def test_keys_that_come_late_are_noted(run, capsys):
    rows = '{"a": 1, "t": "A"}\n{"a": true, "t": "B", "late": 1}\n'
    assert run(rows, "--settle-after", "1") == 0
    assert "note: keys that do not occur in the first rows are ignored: 'late'" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"a": [1], "t": "A"}', "line 2, key 'a': the value is a list; only numbers"),
        ("[1, 2]", "line 2: not a JSON object: list"),
        ("{a: 1}", "line 2: not a JSON object: Expecting property name"),
        ('{"a": 1, "t": "C"}', "row 2 has the label 'C', which is not one of"),
    ],
)
def test_an_invalid_object_ends_the_run_at_the_row_before(
    run, tmp_path, capsys, line, words
):
    model = tmp_path / "model"
    text = '{"a": 1, "t": "A"}\n' + line + '\n{"a": 3, "t": "A"}\n'
    assert run(text, "--output", model) == 1
    err = capsys.readouterr().err
    assert words in err
    assert f"(the 1 rows before are learned, saved in {model})" in err
    assert _model_file.load(model)[1]["rows"] == 1


def test_without_classes_a_pipe_is_copied_and_that_is_said(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "stdin").write_text("".join(map(as_json, ROWS[:50])))
    with (tmp_path / "stdin").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(["stream", "-", "--target", "t"]) == 0
    assert "the classes of standard input are known when it ends; with --classes" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("form", [as_csv, as_json])
def test_new_rows_are_appended(run, tmp_path, unbroken, capsys, form):
    model, file = tmp_path / "model", tmp_path / "predictions"
    more = ["--output", model, "--predictions", file, "--resume", "--append"]
    parts = ROWS[:1000], ROWS[1000:1001], ROWS[1001:]
    for i, rows in enumerate(parts):
        text = ("" if form is as_json else HEADER) + "".join(map(form, rows))
        assert run(text, *more, "--position", f"offset {i}") == 0
    assert (tree_of(model)[0], file.read_text()) == unbroken
    told = capsys.readouterr().err
    assert f"note: {model} has learned 1,001 rows; position 'offset 1'" in told
    assert _model_file.load(model)[1]["position"] == "offset 2"
    assert run(TEXT, "--output", model, "--resume") == 1
    assert "rows of more than one table; continue it with new rows, by --resume" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--append", "--output", "m"], "--append needs --resume"),
        (["--position", "x"], "need --output"),
        (["--alarms"], "--alarms needs a drift detector; add --set drift="),
        (["--predictions", "{folder}/stdin"], "would replace the input"),
        (["--predictions", "{folder}/other"], "was not written by --predictions"),
    ],
)
def test_wrong_options_are_one_line(run, tmp_path, capsys, argv, words):
    (tmp_path / "other").write_text("my data\n")
    argv = [part.format(folder=tmp_path) for part in argv]
    assert run(TEXT, *argv) == 1
    assert words in capsys.readouterr().err
    assert (tmp_path / "other").read_text() == "my data\n"


def test_drifts_are_printed_when_they_are_detected(run, tmp_path, capsys):
    rows = ROWS + [row | {"t": "B" if row["t"] == "A" else "A"} for row in ROWS]
    text = "".join(map(as_json, rows))
    more = ["--alarms", "--set", "drift=ddm", "--chunk-size", "100"]
    assert run(text, *more, "--plot", tmp_path / "accuracy.svg") == 0
    assert "drift detected" in (tmp_path / "accuracy.svg").read_text()  # legend
    out = capsys.readouterr().out
    found = re.findall(
        r"drift after row (.*): the whole tree, 100% of the rows; error (.*)% before, "
        r"(.*)% in the last 200 rows",
        out,
    )
    assert found
    row, before, after = found[0]
    assert 1200 < int(row.replace(",", "")) < 1500
    assert float(before) < float(after)
    assert out.index("drift after row") < out.index("Tree at the end")


def test_a_line_is_ready_when_it_has_arrived():
    read, write = os.pipe()
    stopped = []
    with open(read, "rb") as file, open(write, "wb", buffering=0) as pipe:
        lines = LiveInput(file, lambda: bool(stopped))
        pipe.write("ä,b\n1".encode())
        assert lines.peek(2)[:2] == "ä".encode()
        lines.decode("utf-8")
        assert (lines.is_ready, lines.readline()) == (True, "ä,b\n")
        assert not lines.is_ready
        assert lines.readline(1) == "1"  # the beginning of a row that is too long
        pipe.write(b",2\n3,4\n5")
        assert [lines.readline(), lines.readline()] == [",2\n", "3,4\n"]
        stopped.append(1)
        assert lines.readline() == ""  # the rest of a line is not a row


@pytest.mark.parametrize("text", ["", HEADER])
def test_a_signal_before_the_first_row_ends_the_run(
    tmp_path, monkeypatch, capsys, text
):
    read, write = os.pipe()
    wait = _live.select.select

    def wait_for_signal(files, *more):
        ready = wait(files, [], [], 0)
        if not ready[0]:
            os.kill(os.getpid(), signal.SIGTERM)
        return ready

    model = tmp_path / "model"
    with open(read, encoding="utf-8") as stdin, open(write, "wb", buffering=0) as pipe:
        pipe.write(text.encode())
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(_live, "select", SimpleNamespace(select=wait_for_signal))
        code = main(["stream", "-", *SETTINGS, "--output", str(model)])
    assert code == 128 + signal.SIGTERM
    assert "stopped by SIGTERM before the first row" in capsys.readouterr().err
    assert not model.exists()


def test_closed_standard_input_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["stream", "-", *SETTINGS]) == 1
    assert "cannot read standard input: it is closed" in capsys.readouterr().err


def test_predictions_of_rows_that_are_not_saved_are_replaced(run, tmp_path, unbroken):
    model, file = tmp_path / "model", tmp_path / "predictions"
    more = ["--output", model, "--predictions", file, "--resume"]
    assert run("".join([HEADER, *map(as_csv, ROWS[:1000])]), *more) == 0
    # as if a run had ended after the next row and before it was saved
    file.write_text(f"{file.read_text()}1001,B,0.5\n1002,A")
    assert run(TEXT, *more) == 0
    assert (tree_of(model)[0], file.read_text()) == unbroken


def test_rows_are_learned_as_they_arrive(tmp_path):
    model, file = tmp_path / "model", tmp_path / "predictions"
    more = ["--output", str(model), "--predictions", str(file)]
    run = Run(
        tmp_path, *more, "--settle-after", "20", "--verbose", "--checkpoint-every=30"
    )
    run.send(HEADER + "".join(map(as_csv, ROWS[:40])))
    run.until(b"row 40 saved")
    run.send(as_csv(ROWS[40]))
    deadline = time.monotonic() + 60
    while len(file.read_text().splitlines()) < 42 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert file.read_text().splitlines()[-1].startswith("41,")
    run.send(as_csv(ROWS[41])[:5])
    assert run.end(signal.SIGTERM) == 128 + signal.SIGTERM
    words = f"stopped by SIGTERM after row 41, saved in {model}; continue with --resume"
    assert words in run.err.decode()
    assert _model_file.load(model)[1]["rows"] == 41
    assert sorted(os.listdir(tmp_path)) == ["log", "model", "predictions"]


@pytest.mark.slow
def test_a_signal_before_the_columns_settle_saves_the_rows(tmp_path):
    model = tmp_path / "model"
    run = Run(tmp_path, "--output", str(model), "--verbose")
    run.send(HEADER + "".join(map(as_csv, ROWS[:40])))
    run.until(b"reading columns")
    time.sleep(1.0)
    assert run.end(signal.SIGINT) == 128 + signal.SIGINT
    assert _model_file.load(model)[1]["rows"] == 40
    run = Run(tmp_path, "--verbose")
    run.until(b"reading columns")
    assert run.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert b"stopped by SIGTERM before the first row" in run.err


KILLS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]


@pytest.mark.parametrize("seed", KILLS)
def test_a_kill_loses_no_acknowledged_row(tmp_path, unbroken, seed):
    rng = random.Random(seed)
    model, file = tmp_path / "model", tmp_path / "predictions"
    more = ["--output", str(model), "--predictions", str(file), "--resume", "--append"]
    more += ["--settle-after", "1000", "--checkpoint-every", "10", "--verbose"]
    run = Run(tmp_path, *more)
    run.send(HEADER + "".join(map(as_csv, ROWS[:1000])))
    run.until(b"row 1,000 saved")
    for row in ROWS[1000 : rng.randrange(1050, 1150)]:
        run.send(as_csv(row))
        if rng.random() < 0.2:
            time.sleep(0.002)
    time.sleep(rng.random() / 20)
    assert run.end(signal.SIGKILL) == -signal.SIGKILL
    told = re.findall(r"row ([\d,]+) saved", run.err.decode())
    n_saved = _model_file.load(model)[1]["rows"]
    assert n_saved >= int(told[-1].replace(",", ""))
    run = Run(tmp_path, *more)
    run.send(HEADER + "".join(map(as_csv, ROWS[n_saved:])))
    assert run.end() == 0, run.err
    assert f"has learned {n_saved:,} rows" in run.err.decode()
    assert (tree_of(model)[0], file.read_text()) == unbroken
