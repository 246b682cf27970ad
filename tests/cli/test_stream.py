"""A run over a long stream is stopped, killed and fed bad rows: nothing may be lost.

What counts is the saved file: after any interruption and a resumption it has the same
bytes as that of a run that was left alone.
"""

import csv
import gzip
import io
import json
import os
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.effort import cases, crossed
from reference.registries import MEMORIES

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import _stream, main
from skconftree.evaluation import iter_prequential
from skconftree.utils import _model_file

pytestmark = [
    pytest.mark.skipif(
        not hasattr(ConfidenceTreeClassifier, "partial_fit_predict"),
        reason="the tree does not learn from streams yet",
    ),
    # A model is saved with the names of the columns, and tested on bare arrays.
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]

N_ROWS = 1500
SETTINGS = ["--bound", "hoeffding", "--delta", "0.05"]


@pytest.fixture(scope="module")
def rows():
    """Two columns; the class is on which side of 5 `weight` is, but for 10 %."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(N_ROWS, 2)).round(3)
    heavy = (X[:, 0] > 5) ^ (rng.random(N_ROWS) < 0.1)
    return X, np.where(heavy, "heavy", "light")


def write(path, rows, first=0, last=None):
    X, y = rows
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["weight", "kind", "height"])
        for (weight, height), kind in zip(X[first:last], y[first:last], strict=True):
            writer.writerow([weight, kind, height])
    return path


@pytest.fixture
def table(tmp_path, rows):
    return write(tmp_path / "table.csv", rows)


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory, rows):
    """Bytes of the model of a run that nothing happens to."""
    folder = tmp_path_factory.mktemp("alone")
    path = write(folder / "table.csv", rows)
    assert main(command(path, folder / "model")) == 0
    return (folder / "model").read_bytes()


def command(table, model=None, *more):
    argv = ["stream", str(table), "--target", "kind", *SETTINGS]
    if model is not None:
        argv += ["--output", str(model), "--checkpoint-every", "500"]
    return [*argv, "--chunk-size", "100", *more]


def replace_line(path, line, text):
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines) + "\n")


def test_the_pass_is_prequential(table, rows, tmp_path, capsys):
    report, model = tmp_path / "report.json", tmp_path / "model"
    assert main(command(table, model, "--json", str(report))) == 0
    out, err = capsys.readouterr()

    X, y = rows
    tree = ConfidenceTreeClassifier(bound="hoeffding", delta=0.05, random_state=0)
    (want,) = iter_prequential(tree, X.astype(np.float32), y, report_every=N_ROWS)
    found = json.loads(report.read_text())
    assert found["data"]["features"] == ["weight", "height"]
    assert found["data"]["classes"] == ["heavy", "light"]
    assert found["settings"]["bound"] == "hoeffding"
    figures = found["figures"]
    for name in ("n_rows", "n_tested", "accuracy", "kappa", "f1", "n_leaves"):
        assert figures[name] == getattr(want, name), name
    assert figures["n_leaves"] > 1
    assert figures["accuracy"] > figures["majority_accuracy"] + 0.2
    assert f"{100 * want.accuracy:.2f}%" in out
    assert f"{100 * want.no_change_accuracy:.2f}%" in out
    assert f"{want.n_leaves} leaves" in out
    assert err == ""

    saved, _ = _model_file.load(model)
    np.testing.assert_array_equal(saved.predict_proba(X), tree.predict_proba(X))
    assert saved.feature_names_in_.tolist() == ["weight", "height"]


@pytest.mark.parametrize("size", cases(["1", "7", "4000"], ["7", "4000"]))
def test_chunks_and_checkpoints_leave_no_trace(table, tmp_path, left_alone, size):
    model = tmp_path / "model"
    more = ["--chunk-size", size, "--checkpoint-every", "130"]
    assert main(command(table, model, *more)) == 0
    assert model.read_bytes() == left_alone


def test_classes_can_be_passed(table, tmp_path, left_alone):
    model = tmp_path / "model"
    assert main(command(table, model, "--classes", "light, heavy")) == 0
    assert model.read_bytes() == left_alone


@pytest.mark.slow
def test_a_killed_run_goes_on(table, tmp_path, left_alone, killed_at):
    model = tmp_path / "model"
    again = command(table, model, "--resume")
    killed_at(1, "before", again)
    assert not model.exists()
    killed_at(1, "after", again)
    _, progress = _model_file.load(model)
    assert progress["rows"] == 500
    # While the second checkpoint is being written, the first one is there.
    killed_at(1, "before", again)
    assert _model_file.load(model)[1]["rows"] == 500
    assert main(again) == 0
    assert model.read_bytes() == left_alone
    assert main(again) == 0  # nothing is left to do
    assert model.read_bytes() == left_alone
    assert sorted(os.listdir(tmp_path)) == ["model", "table.csv"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_run_saves_and_goes_on(
    table, tmp_path, left_alone, monkeypatch, capsys, name
):
    number = getattr(signal, name)
    model = tmp_path / "model"
    learn = _stream.Run.learn

    def interrupted(run, chunk):
        if run.n_rows == 700:
            os.kill(os.getpid(), number)
        learn(run, chunk)

    before = signal.getsignal(number)
    monkeypatch.setattr(_stream.Run, "learn", interrupted)
    assert main(command(table, model)) == 128 + number
    assert signal.getsignal(number) is before
    assert f"stopped by {name} after row 800, saved in" in capsys.readouterr().err
    monkeypatch.undo()
    _, progress = _model_file.load(model)
    assert progress["rows"] == 800
    assert main(command(table, model, "--resume")) == 0
    assert model.read_bytes() == left_alone


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1.0,heavy,1e39", "row 1230, column 'height': '1e39' is infinite"),
        ("inf,heavy,tall", "row 1230, column 'weight': 'inf' is infinite"),
        ("1.0,medium,1.0", "row 1230 has the label 'medium', which is not one of"),
        ("1.0,?,1.0", "row 1230 has the label '?', which is not one of"),
        ("1.0,heavy", "line 1231: 2 fields where the header has 3"),
    ],
)
def test_a_bad_row_ends_the_run_at_the_row_before(
    table, tmp_path, rows, left_alone, capsys, text, words
):
    model = tmp_path / "model"
    good = table.read_text().splitlines()[1230]
    replace_line(table, 1230, text)
    assert main(command(table, model, "--classes", "heavy,light")) == 1
    err = capsys.readouterr().err
    assert words in err
    assert f"(the 1,229 rows before are learned, saved in {model})" in err
    saved, progress = _model_file.load(model)
    assert progress["rows"] == saved.n_rows_seen_ == 1229
    # The model is usable, and the run goes on when the row has been mended.
    X, y = rows
    assert np.mean(saved.predict(X) == y) > 0.8
    replace_line(table, 1230, good)
    assert main(command(table, model, "--resume")) == 0
    assert model.read_bytes() == left_alone


@pytest.mark.parametrize("line", [1, 730])
def test_a_bad_row_among_those_looked_at_first(table, tmp_path, capsys, line):
    """The look at the first rows, which settles the columns, takes no row away."""
    for text, words in [
        ("1.0,heavy,-inf", f"row {line}, column 'height': '-inf' is infinite"),
        ("1.0,heavy", f"line {line + 1}: 2 fields"),
    ]:
        model = tmp_path / text
        replace_line(table, line, text)
        argv = command(table, model, "--classes", "heavy,light", "--chunk-size", "900")
        assert main(argv) == 1
        err = capsys.readouterr().err
        assert words in err
        if line == 1:
            assert "learned" not in err
            assert not model.exists()
        else:
            assert _model_file.load(model)[1]["rows"] == 729


def test_a_stream_may_grow(tmp_path, rows, left_alone):
    table, model = tmp_path / "table.csv", tmp_path / "model"
    write(table, rows, last=600)
    table.write_text(table.read_text().rstrip("\r\n"))
    assert main(command(table, model)) == 0
    write(table, rows)
    assert main(command(table, model, "--resume")) == 0
    assert model.read_bytes() == left_alone


@pytest.mark.parametrize(("memory", "bound"), crossed(MEMORIES, ["evalue", "credible"]))
def test_every_memory_goes_on(tmp_path, rows, memory, bound):
    table, once, twice = (tmp_path / name for name in ("table.csv", "once", "twice"))
    argv = ["stream", str(table), "--target", "kind", "--bound", bound]
    argv += ["--set", f"leaf_memory={memory}", "--resume", "--output"]
    write(table, rows, last=777)
    assert main([*argv, str(twice)]) == 0
    write(table, rows)
    for model in (once, twice):
        assert main([*argv, str(model)]) == 0
    assert once.read_bytes() == twice.read_bytes()


def test_compressed_tables_and_other_delimiters(table, tmp_path, capsys):
    assert main(command(table)) == 0
    want = capsys.readouterr().out.splitlines()
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(table.read_text().replace(",", ";").encode()))
    assert main(command(packed)) == 0
    found = capsys.readouterr().out.splitlines()
    assert found[1:5] == want[1:5]
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(packed.read_bytes()[:-20])
    assert main(command(cut)) == 1
    assert "is not a CSV file" in capsys.readouterr().err


def test_whole_numbers_are_one_label_however_written(tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("a,kind\n" + "1,0\n2,1\n1,0.0\n2, 1\n2,01\n" * 20)
    model = tmp_path / "model"
    for more in ([], ["--resume", "--classes", "1,0"]):
        assert main(["stream", str(table), "--target", "kind", *more,
                     "--output", str(model), "--pos-label", "1.0"]) == 0  # fmt: skip
        assert "F1 of 1: " in capsys.readouterr().out
    saved, _ = _model_file.load(model)
    assert saved.classes_.tolist() == [0, 1]
    table.write_text(f"{table.read_text()}2,3.0\n")
    assert main(["stream", str(table), "--target", "kind", "--classes", "1,0"]) == 1
    assert (
        "row 101 has the label '3.0', which is not one of the classes 0, 1; list all "
        "labels with --classes in the first run"
    ) in capsys.readouterr().err


def test_other_parameters_reach_the_tree(table, tmp_path):
    model = tmp_path / "model"
    more = ["--set", "max_depth=1", "--set", "splitter=best"]
    assert main(command(table, model, *more)) == 0
    saved, _ = _model_file.load(model)
    assert saved.max_depth == 1
    assert saved.splitter == "best"
    assert saved.get_n_leaves() <= 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: replace_line(table, 0, "mass,kind,height"), "'weight'"),
        (
            lambda table: replace_line(table, 9, "1.0,heavy,1.0"),
            "has learned 500 rows that",
        ),
        (
            lambda table: table.write_text("weight,kind,height\n1,a,2\n"),
            "has 1; if they",
        ),
    ],
)
def test_other_data_are_not_gone_on_with(table, tmp_path, rows, capsys, change, words):
    model = tmp_path / "model"
    write(table, rows, last=500)
    assert main(command(table, model)) == 0
    before = model.read_bytes()
    write(table, rows)
    change(table)
    assert main(command(table, model, "--resume")) == 1
    assert words in capsys.readouterr().err
    assert model.read_bytes() == before


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--delta", "0.01"], "delta changed from 0.05 to 0.01"),
        (["--seed", "3"], "random_state changed from 0 to 3"),
        (["--target", "weight"], "target changed from 'kind' to 'weight'"),
        (
            ["--classes", "heavy,light,medium"],
            "classes changed from ['heavy', 'light'] to",
        ),
        (["--pos-label", "heavy"], "--pos-label changed from 'light' to 'heavy'"),
        (["--nominal", "weight"], "--nominal changed from [] to ['weight']"),
        (
            ["--drop", "height"],
            "the columns differ from those that it has learned: {table} is read "
            "without 'height'",
        ),
    ],
)
def test_other_options_are_not_gone_on_with(table, tmp_path, capsys, more, words):
    model = tmp_path / "model"
    assert main(command(table, model)) == 0
    assert main(command(table, model, "--resume", *more)) == 1
    assert words.format(table=table) in capsys.readouterr().err


def test_columns_that_were_left_out_are_named(table, tmp_path, capsys):
    model = tmp_path / "model"
    assert main(command(table, model, "--drop", "height")) == 0
    assert main(command(table, model, "--resume")) == 1
    assert "is read with 'height' in addition" in capsys.readouterr().err


def test_a_run_without_rows_prints_no_speed(table, tmp_path, capsys):
    model = tmp_path / "model"
    assert main(command(table, model)) == 0
    told = capsys.readouterr()
    assert "to predict and learn" in told.out
    assert main(command(table, model, "--resume")) == 0
    told = capsys.readouterr()
    assert "CPU time" not in told.out
    assert "nothing was done" in told.out


def sealed(**facts):
    """File of no model, with a head that says anything and a checksum that is right."""
    members = {"head": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)}
    members["state"] = np.frombuffer(b"3", dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, **members, sha256=np.array(_model_file._checksum(members)))
    return file.getvalue()


def test_files_that_are_no_model_are_not_gone_on_with(table, tmp_path, capsys):
    model = tmp_path / "model"
    for content, words in [
        (b"", "is not a model that"),
        (b"a,b\n1,2\n" * 20, "is not a model that"),
        (pickle.dumps(3), "is not a model that"),
        (
            pickle.dumps(3) + pickle.dumps({"format": 2}) + bytes(99),
            "is not a model that",
        ),
        (sealed(format=99), "cannot be read: it has format 99"),
        (sealed(format=_model_file.FORMAT), "is corrupt: KeyError('labels')"),
        (sealed(), "is not a model that"),
    ]:
        model.write_bytes(content)
        assert main(command(table, model, "--resume")) == 1
        assert words in capsys.readouterr().err
        assert model.read_bytes() == content


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["{table}", "--target", "size"], "no column 'size'"),
        (["nowhere.csv", "--target", "kind"], "cannot read nowhere.csv"),
        (["{table}", "--target", "height"], "amounts such as "),
        (["{table}", "--target", "kind", "--resume"], "--resume needs --output"),
        (
            ["{table}", "--target", "kind", "--output", "{table}"],
            "would replace the input",
        ),
        (["{table}", "--target", "kind", "--output", "{folder}"], "is a folder"),
        (["{table}", "--target", "kind", "--output", "no/where"], "no folder"),
        (["{table}", "--target", "kind", "--set", "speed=9"], "NAME=VALUE"),
        (["{table}", "--target", "kind", "--set", "delta"], "NAME=VALUE"),
        (["{table}", "--target", "kind", "--set", "random_state=1"], "is given twice"),
        (["{table}", "--target", "kind", "--set", "max_depth=-1"], "max_depth"),
        (["{table}", "--target", "kind", "--classes", "heavy"], "only one class"),
        (["{table}", "--target", "kind", "--classes", ","], "--classes is empty"),
        (["{table}", "--target", "kind", "--pos-label", "blue"], "--pos-label"),
        (["{table}", "--target", "kind", "--bound", "magic"], "'magic'"),
        (["{table}", "--target", "kind", "--nominal", "size"], "--nominal 'size'"),
        (["{table}", "--target", "kind", "--nominal", "kind"], "--nominal 'kind'"),
        (
            ["{table}", "--target", "kind", "--set", "categorical_features=[0]"],
            "use --nominal to name the columns",
        ),
    ],
)
def test_an_error_in_the_command_is_one_line(table, tmp_path, capsys, argv, words):
    argv = [part.format(table=table, folder=tmp_path) for part in argv]
    before = sorted(os.listdir(tmp_path))
    assert main(["stream", *argv]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("skconftree: error: ")
    assert err.count("\n") == 1
    assert words in err
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("content", ["", "a,kind\n", "\n\n"])
def test_an_empty_table_is_one_line(tmp_path, capsys, content):
    path = tmp_path / "table.csv"
    path.write_text(content)
    assert main(["stream", str(path), "--target", "kind"]) == 1
    err = capsys.readouterr().err
    assert "is empty" in err or "no rows" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "argv", [["{table}"], ["{table}", "--target", "kind", "--chunk-size", "0"]]
)
def test_wrong_usage_exits_with_2(table, argv):
    with pytest.raises(SystemExit) as stop:
        main(["stream", *(part.format(table=table) for part in argv)])
    assert stop.value.code == 2


def parquet(path, rows, **changed):
    X, y = rows
    columns = {"weight": X[:, 0], "kind": y, "height": X[:, 1], **changed}
    pq.write_table(pa.table(columns), path, row_group_size=370)
    return path


@pytest.mark.parametrize("size", cases(["1", "100", "9999"], ["100", "9999"]))
def test_parquet_gives_the_same_tree(tmp_path, rows, left_alone, same_model, size):
    table, model = tmp_path / "table.parquet", tmp_path / "model"
    more = ["--chunk-size", size]
    X, y = rows
    assert main(command(parquet(table, (X[:700], y[:700])), model, *more)) == 0
    assert main(command(parquet(table, rows), model, "--resume", *more)) == 0
    assert same_model(model, left_alone)


def test_parquet_columns_may_be_of_any_numeric_type(tmp_path, rows, capsys):
    X, y = rows
    table = parquet(
        tmp_path / "table.parquet",
        rows,
        kind=pa.array(y == "heavy"),
        sure=pa.array(X[:, 0] > 5),
        whole=pa.array(X[:, 1].astype(np.uint8)),
    )
    assert main(command(table)) == 0
    assert "4 columns, 2 classes" in capsys.readouterr().out
    table = parquet(table, rows, kind=pa.array(y).dictionary_encode())
    assert main(command(table, None, "--pos-label", "light")) == 0
    assert "F1 of 'light'" in capsys.readouterr().out


def test_a_bad_row_of_parquet_ends_the_run_at_the_row_before(
    tmp_path, rows, left_alone, same_model, capsys
):
    X, _ = rows
    table, model = tmp_path / "table.parquet", tmp_path / "model"
    for value, words in [
        (np.inf, "row 730, column 'height': infinite or too large"),
        (1e39, "row 730, column 'height': infinite or too large"),
    ]:
        height = X[:, 1].tolist()
        height[729] = value
        parquet(table, rows, height=height)
        assert main(command(table, model)) == 1
        assert words in capsys.readouterr().err
        assert _model_file.load(model)[1]["rows"] == 729
        parquet(table, rows)
        assert main(command(table, model, "--resume")) == 0
        assert same_model(model, left_alone)
        model.unlink()


def test_an_error_in_parquet_is_one_line(tmp_path, rows, monkeypatch, capsys):
    y = rows[1]
    when = np.zeros(len(y), dtype="timedelta64[ms]")
    table = parquet(tmp_path / "table.parquet", rows, when=when)
    assert main(command(table)) == 1
    assert "'when' has the type duration[ms]; only numbers" in capsys.readouterr().err
    parquet(table, rows, kind=[None, *y[1:]])
    assert main(command(table)) == 1
    assert "'kind' has no value in row 1" in capsys.readouterr().err
    table.write_text("no table")
    assert main(command(table)) == 1
    assert "is not a Parquet file" in capsys.readouterr().err
    assert main(command(tmp_path / "nowhere.parquet")) == 1
    assert "cannot read" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(command(table)) == 1
    assert "needs pyarrow" in capsys.readouterr().err


DATA = Path(os.environ.get("SKCONFTREE_DATA", "nowhere"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elec", "adult"])
def test_a_real_stream_survives_kills(tmp_path, killed_at, name):
    path = DATA / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"SKCONFTREE_DATA lacks {name}")
    once, killed = tmp_path / "once", tmp_path / "killed"
    argv = ["stream", str(path), "--target", "target", "--resume"]
    assert main([*argv, "--output", str(once)]) == 0
    argv += ["--checkpoint-every", "7000", "--output", str(killed)]
    for saving, when in [(2, "before"), (1, "after"), (2, "after")]:
        killed_at(saving, when, argv)
    assert _model_file.load(killed)[1]["rows"] == 28000
    assert main(argv) == 0
    assert killed.read_bytes() == once.read_bytes()
