"""Files of a command: no input is written over, and none is lost halfway."""

import contextlib
import csv
import errno
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from reference.effort import crossed

from skconftree._cli import _files, main
from skconftree._cli._columns import written_columns
from skconftree._cli._label import sibling_path
from skconftree._cli._options import make_parser

posix = pytest.mark.skipif(os.name != "posix", reason="needs links, pipes or signals")
ROWS = [f"{i % 7}.5,{'pqr'[i % 3]},{int(i % 7 > 3)}" for i in range(60)]
PLACES = {"--output", "--plot", "--report", "--json", "--answers"}
PLACES |= {"--predictions"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, a pool and a model."""
    path = tmp_path_factory.mktemp("made")
    lines = ["a,b", *(row.rpartition(",")[0] for row in ROWS)]
    (path / "pool.csv").write_text("\n".join(lines) + "\n")
    (path / "t.csv").write_text("\n".join(["a,b,y", *ROWS]) + "\n")
    with contextlib.chdir(path):
        assert main([*COMMANDS["fit"], "--output", "m.model"]) == 0
    return path


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """The current folder, with a table, a pool and a model."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "fit": ["fit", "t.csv", "--target", "y", "--baselines", "none", "--folds", "2"],
    "stream": ["stream", "t.csv", "--target", "y"],
    "predict": ["predict", "m.model", "t.csv"],
    "label": ["label", "pool.csv", "--labels", "yes,no"],
}


def content():
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def answered(monkeypatch, *lines):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))


# --- no input is written over -------------------------------------------------


def options_of(command):
    """Options of a command that name files."""
    parser = make_parser("0")
    (group,) = (one for one in parser._actions if hasattr(one.choices, "values"))
    for action in group.choices[command]._actions:
        if action.metavar in {"FILE", "MODEL", "DATA", "POOL"}:
            yield action.dest


def test_every_option_that_names_a_file_is_checked():
    for command in COMMANDS:
        known = {*_files.READ, *_files.WRITTEN}
        assert set(options_of(command)) <= known, command


OVERWRITES = [
    ("fit", "--output", "t.csv"),
    ("fit", "--report", "t.csv"),
    ("fit", "--json", "t.csv"),
    ("stream", "--output", "t.csv"),
    ("stream", "--report", "t.csv"),
    ("stream", "--json", "t.csv"),
    ("predict", "--output", "m.model"),
    ("predict", "--output", "t.csv"),
    ("label", "--output", "pool.csv"),
    ("label", "--answers", "pool.csv"),
]


@pytest.mark.parametrize(("command", "option", "path"), OVERWRITES)
def test_an_output_that_is_an_input_is_refused(folder, capsys, command, option, path):
    before = content()
    assert main([*COMMANDS[command], option, path]) == 1
    told = capsys.readouterr().err
    assert f"{option} {path} would replace the input {path}; name another" in told
    assert content() == before


def test_the_test_table_is_an_input(folder, capsys):
    Path("test.csv").write_bytes(Path("t.csv").read_bytes())
    before = content()
    assert main([*COMMANDS["fit"], "--test", "test.csv", "--json", "test.csv"]) == 1
    assert "would replace the input test.csv" in capsys.readouterr().err
    assert content() == before


@posix
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_to_an_input_is_the_input(folder, capsys, link):
    link("t.csv", "other.csv")
    before = content()
    assert main([*COMMANDS["predict"], "--output", "other.csv"]) == 1
    assert "other.csv would replace the input t.csv" in capsys.readouterr().err
    assert content() == before


@posix
def test_what_standard_input_is_read_from_is_an_input(folder, monkeypatch, capsys):
    before = content()
    with open("t.csv") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert main(["fit", "-", "--target", "y", "--output", "t.csv"]) == 1
    assert "would replace the input standard input" in capsys.readouterr().err
    assert content() == before


def test_two_outputs_are_two_files(folder, capsys):
    before = content()
    argv = [*COMMANDS["fit"], "--report", "new", "--json", "./new"]
    assert main(argv) == 1
    assert "--json ./new is the file of --report" in capsys.readouterr().err
    argv = [*COMMANDS["label"], "--answers", "new", "--output", "new"]
    assert main(argv) == 1
    assert "is the file of --output, too" in capsys.readouterr().err
    argv = [*COMMANDS["stream"], "--output", "new", "--report", "new.lock"]
    assert main(argv) == 1
    assert "new.lock locks the model" in capsys.readouterr().err
    assert content() == before


@posix
def test_a_journal_is_not_replaced_by_a_table(folder, monkeypatch, capsys):
    answered(monkeypatch, "1", "2", "q")
    assert main([*COMMANDS["label"], "--answers", "j"]) == 0
    before = content()
    assert main([*COMMANDS["label"], "--answers", "j", "--output", "j"]) == 1
    assert content() == before


@posix
def test_what_is_no_file_may_be_written_to_twice(folder):
    argv = [*COMMANDS["fit"], "--report", os.devnull, "--json", os.devnull]
    assert main(argv) == 0
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


def test_a_model_that_is_there_is_gone_on_with_on_request_only(folder, capsys):
    argv = [*COMMANDS["stream"], "--output", "s.model"]
    assert main(argv) == 0
    before = content()
    assert main(argv) == 1
    assert "s.model exists; continue it with --resume" in capsys.readouterr().err
    assert content() == before


# --- names of files beside a table --------------------------------------------


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("sales.csv", "sales.x"),
        ("sales.2024.csv", "sales.2024.x"),
        ("sales.2025.CSV.gz", "sales.2025.x"),
        ("in.d/sales", "in.d/sales.x"),
        ("sales.v2", "sales.v2.x"),
        (".csv", ".csv.x"),
        ("a.labeled.parquet", "a.labeled.x"),
    ],
)
def test_known_endings_are_cut_off(table, name):
    assert sibling_path(table, ".x") == name


# --- what a command has written is not learned from ---------------------------


@pytest.mark.parametrize(
    ("header", "target", "ours"),
    [
        (
            "a,y,predicted,probability of 0,probability of 1,labeled by,labeled at",
            "y",
            5,
        ),
        (
            "predicted,y,predicted (skconftree),probability of 0,probability of 1",
            "y",
            3,
        ),
        ("a,y,predicted y,probability", "y", 2),
        ("a,y,predicted y,probability of 0,probability of 1", "y", 3),
        ("a,y,probability of 0,probability of 1", "y", 2),
        ("predicted,probability of 0,probability of 1,a,y", "y", 3),
        ("a,y,probability", "y", 1),
        ("a,y,probability,explanation", "y", 2),
        (
            "explanation,y,predicted y,probability of 0,probability of 1,"
            "explanation (skconftree)",
            "y",
            4,
        ),
        # columns of one's own
        ("a,predicted,y", "y", 0),
        ("probability,y", "y", 0),
        ("a,y,explanation", "y", 0),
        ("a,probability of rain,y", "y", 0),
        ("y,probability,a", "y", 0),
        ("labeled by,labeled at,y", "y", 0),
        ("a,predicted price,probability,y", "y", 0),
    ],
)
def test_own_columns_are_known_by_their_order(header, target, ours):
    header = header.split(",")
    found = written_columns(header, target)
    assert len(found) == ours
    assert found == [name for name in header if name in found]


def test_columns_that_label_wrote_are_left_out(folder, monkeypatch, capsys):
    lines = [
        f"{row.rpartition(',')[0]},{'yes' if i < 40 else ''}".replace(
            "yes", "no" if i % 7 > 3 else "yes"
        )
        for i, row in enumerate(ROWS)
    ]
    Path("pool.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
    of_tree = ["--strategy", "leaf_risk"]  # quicker than a forest
    answered(monkeypatch, "q")
    assert main(["label", "pool.csv", *of_tree]) == 0
    capsys.readouterr()
    answered(monkeypatch, "q")
    before = Path("pool.labeled.csv").read_bytes()
    assert main(["label", "pool.labeled.csv", "--answers", "new", *of_tree]) == 0
    note = "'predicted', 'probability of no', 'probability of yes', 'labeled by', "
    note = f"wrote: {note}'labeled at'"
    assert note in capsys.readouterr().err
    assert Path("pool.labeled.csv").read_bytes() == before
    with open("pool.labeled.labeled.csv", newline="") as file:
        header = next(csv.reader(file))
    assert header == before.decode().split("\n")[0].split(",")
    rest = ["pool.labeled.csv", "--target", "label", "--skip-missing"]
    for command in (["fit", "--baselines", "none", "--folds", "2"], ["stream"]):
        assert main([*command, *rest, "--json", "found.json"]) == 0
        assert note in capsys.readouterr().err
        found = json.loads(Path("found.json").read_text())
        assert found["data"]["features"] == ["a", "b"]


def test_columns_that_predict_wrote_are_ignored(folder, capsys):
    assert main([*COMMANDS["predict"], "--keep", "all", "--output", "p.csv"]) == 0
    argv = ["fit", "p.csv", *COMMANDS["fit"][2:], "--json", "found.json"]
    assert main(argv) == 0
    told = capsys.readouterr().err
    assert "wrote: 'predicted y', 'probability'" in told
    found = json.loads(Path("found.json").read_text())
    assert found["data"]["features"] == ["a", "b"]
    assert main([*COMMANDS["predict"], "--proba", "--output", "p.csv"]) == 0
    assert main(["fit", "p.csv", "--target", "y"]) == 1
    assert "has no features: all columns except the" in capsys.readouterr().err


# --- a file is the old one or the new one -------------------------------------

WRITERS = [
    ("fit", "--report", "x.html"),
    ("fit", "--json", "x.json"),
    ("fit", "--plot", "x.svg"),
    ("fit", "--output", "x.model"),
    ("stream", "--report", "x.html"),
    ("stream", "--json", "x.json"),
    ("stream", "--plot", "x.png"),
    ("predict", "--output", "x.csv"),
    ("label", "--output", "x.csv"),
]


@pytest.mark.parametrize(
    ("writer", "failure"), crossed(WRITERS, [OSError, KeyboardInterrupt])
)
def test_a_failure_leaves_the_old_file_and_no_other(
    folder, monkeypatch, capsys, writer, failure
):
    command, option, path = writer
    if path.endswith("png"):
        pytest.importorskip("matplotlib")
    Path(path).write_text("old")
    answered(monkeypatch, "1", "2", "q")

    def full(descriptor):
        if failure is OSError:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise failure

    with monkeypatch.context() as patch:
        # the last step before the file takes its place; a journal is not replaced
        name = os.fsync
        patch.setattr(
            os,
            "fsync",
            lambda at: name(at) if is_open(at, "pool.answers.jsonl") else full(at),
        )
        code = main([*COMMANDS[command], option, path])
    told = capsys.readouterr().err
    assert code == (1 if failure is OSError else 130)
    if failure is OSError:
        assert f"error: cannot write {path}: {os.strerror(errno.ENOSPC)}" in told
        if command == "label":
            assert "2 labels are in pool.answers.jsonl" in told
    assert Path(path).read_text() == "old"
    assert not [name for name in os.listdir() if name.endswith(".tmp")]


def is_open(descriptor, path):
    return os.path.exists(path) and os.path.samestat(
        os.fstat(descriptor), os.stat(path)
    )


@posix
def test_a_replaced_file_keeps_permissions_and_links(folder):
    Path("real.csv").write_text("old")
    os.chmod("real.csv", 0o640)
    os.symlink("real.csv", "link.csv")
    before = os.umask(0o077)
    try:
        assert main([*COMMANDS["predict"], "--output", "link.csv"]) == 0
        assert main([*COMMANDS["predict"], "--output", "new.csv"]) == 0
    finally:
        os.umask(before)
    assert os.path.islink("link.csv")
    assert Path("real.csv").read_text().startswith("y,probability\n")
    assert stat.S_IMODE(os.stat("real.csv").st_mode) == 0o640
    assert stat.S_IMODE(os.stat("new.csv").st_mode) == 0o600


TERMINATED = """
import os, signal, sys
from skconftree._cli import main
os.fsync = lambda at: os.kill(os.getpid(), int(sys.argv[1]))
main(sys.argv[2:])
"""


@pytest.mark.slow
@posix
def test_a_terminated_command_leaves_no_temporary_file(folder):
    Path("x.csv").write_text("old")
    before = content()
    argv = [*COMMANDS["predict"], "--output", "x.csv"]
    run = subprocess.run(
        [sys.executable, "-P", "-c", TERMINATED, str(int(signal.SIGTERM)), *argv],
        check=False,
    )
    assert run.returncode == 128 + signal.SIGTERM
    assert content() == before


# --- files come before what is printed ----------------------------------------


@posix
@pytest.mark.parametrize(
    ("command", "places"),
    [
        ("fit", "--output x --plot x.svg --report x.html --json x.json"),
        ("fit", "--output x --plot x.svg"),
        ("fit", "--output x --report x.html --json -"),
        ("stream", "--output x --report x.html --json x.json"),
        ("stream", "--output x --report x.html --json -"),
    ],
)
def test_a_reader_that_has_gone_costs_no_file(
    folder, monkeypatch, capsys, command, places
):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        assert main([*COMMANDS[command], *places.split()]) == 141
    assert "error" not in capsys.readouterr().err
    for path in places.split()[1::2]:
        assert path == "-" or Path(path).stat().st_size > 0


# --- what the figures were made with ------------------------------------------


def test_settings_of_json_have_every_option_with_a_part_in_the_result(folder):
    no_part = PLACES | {"--verbose", "--help", "--in-parts", "--resume"}
    no_part |= {"--checkpoint-every", "--chunk-size", "--set"}
    no_part |= {"--append", "--position", "--alarms"}
    of_tree = {"--bound", "--delta", "--criterion"}
    given = ["--set", "max_depth=2", "--bound", "none", "--skip-missing", "--json", "j"]
    parser = make_parser("0")
    (group,) = (one for one in parser._actions if hasattr(one.choices, "values"))
    for command in ("fit", "stream"):
        assert main([*COMMANDS[command], *given]) == 0
        found = json.loads(Path("j").read_text())["settings"]
        options = {
            action.option_strings[0]: action.dest
            for action in group.choices[command]._actions
            if action.option_strings and "--help" not in action.option_strings
        }
        expected = {
            name for text, name in options.items() if text not in no_part | of_tree
        }
        assert set(found) == expected | {"bound", "max_depth"}
        assert found["target"] == "y"
        assert found["bound"] is None
        assert found["max_depth"] == 2
        assert found["skip_missing"] is True
        assert found["seed"] == 0
        if command == "fit":
            assert found["baselines"] == "none"
        else:
            assert found["pos_label"] == 1
