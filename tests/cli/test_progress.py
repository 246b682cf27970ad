"""Progress of a command: a line on a terminal, and silence in pipes."""

import contextlib
import os
import pty
import re
import threading
import time
from types import SimpleNamespace

import pytest
from reference.programs import COMMAND, Process

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import _text, main
from skconftree._cli._stream import ProgressReporter
from skconftree._cli._text import Progress
from skconftree.evaluation import PrequentialEvaluator

CLEARED = "\r\x1b[K"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    numbers = [(i * 37 % 101, i * 7 % 13) for i in range(400)]
    rows = [f"{a},{b},{'high' if a > 50 else 'low'}" for a, b in numbers]
    path.write_text("a,b,kind\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def commands(table, tmp_path):
    """Each command that may take a while, after what it needs."""
    model = tmp_path / "tree.model"
    argv = [str(table), "--target", "kind"]
    fit = ["fit", *argv, "--folds", "2", "--baselines", "none"]
    assert main([*fit, "--output", str(model)]) == 0
    return {
        "fit": fit,
        "predict": ["predict", str(model), str(table)],
        "stream": ["stream", *argv],
    }


def on_a_terminal(argv):
    """What a command writes to standard error, if that is a terminal."""
    ours, theirs = pty.openpty()
    with contextlib.closing(os.fdopen(ours, "rb", buffering=0)) as screen:
        run = Process(COMMAND, *argv, stderr=theirs)
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := screen.read(4096):
                said += piece
        assert run.wait() == 0
    return said.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("fit", ["reading", "growing a tree on 400 rows", "fold 2 of 2"]),
        pytest.param("predict", ["reading"], marks=pytest.mark.slow),
        pytest.param(
            *("stream", ["reading columns and classes", "400 rows, accuracy"]),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_terminal_shows_each_step_and_is_left_empty(commands, name, lines):
    said = on_a_terminal(commands[name])
    places = [said.index(f"{CLEARED}{line}") for line in lines]
    assert places == sorted(places)
    assert said.endswith(CLEARED)
    assert "\n" not in said  # one line, written over and over


@pytest.mark.parametrize("name", ["fit", "predict", "stream"])
def test_pipes_get_no_progress_unless_requested(commands, name, capsys):
    capsys.readouterr()
    assert main(commands[name]) == 0
    assert capsys.readouterr().err == ""
    assert main([*commands[name], "--verbose"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert CLEARED not in "".join(lines)


def wait_for(capsys, pattern):
    """Wait for something on standard error."""
    said, end = "", time.monotonic() + 30
    while not re.search(pattern, said):
        assert time.monotonic() < end, said
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


@pytest.mark.parametrize("terminal", [False, True])
def test_a_long_step_says_how_long_it_has_taken(monkeypatch, capsys, terminal):
    monkeypatch.setattr(_text, "MIN_SHOWN_SECONDS", 0.0)
    monkeypatch.setattr(_text, "UPDATE_SECONDS", (0.01, 0.01))
    monkeypatch.setattr(_text, "is_terminal", lambda: terminal)
    before = threading.active_count()
    with Progress(verbose=True) as progress:
        progress.update("growing")
        wait_for(capsys, r"growing \(\d+ s\)")
        progress.note("a word")
        assert "note: a word\n" in wait_for(capsys, "word\n")
        assert capsys.readouterr().err == ""  # nothing goes on
        progress.update("again")
        wait_for(capsys, r"again \(\d+ s\)")
    capsys.readouterr()
    assert threading.active_count() == before
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_silent_progress_has_no_thread_and_still_notes(capsys):
    before = threading.active_count()
    with Progress() as progress:
        progress.update("growing")
        assert threading.active_count() == before
        progress.note("a word")
    assert capsys.readouterr().err == "note: a word\n"


def test_an_error_is_a_line_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_text, "is_terminal", lambda: True)
    path = tmp_path / "table.csv"
    path.write_text("a,kind\n")
    assert main(["fit", str(path), "--target", "kind"]) == 1
    assert re.search(r"\r\x1b\[Kskconftree: error: [^\r]*\n$", capsys.readouterr().err)


def test_progress_of_a_stream_before_the_first_label():
    said = []
    evaluator = PrequentialEvaluator(
        ConfidenceTreeClassifier(), classes=[0, 1], delay=1_000
    )
    evaluator.update([[0.0], [1.0]], [0, 1])
    run = SimpleNamespace(evaluator=evaluator, n_rows=2, resumed_at=2)
    reporter = ProgressReporter(run, SimpleNamespace(update=said.append))
    reporter.report_progress(last=True)
    assert said == ["2 rows"]
