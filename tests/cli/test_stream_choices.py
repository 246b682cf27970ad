"""What a run leaves out, labels that come late, and what is told at the end."""

import csv
import json

import numpy as np
import pytest
from reference.effort import crossed

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import main
from skconftree.evaluation import iter_prequential

N = 600
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, size=(N, 3)).round(3)
Y = np.where((X[:, 0] > 5) ^ (RNG.random(N) < 0.1), "heavy", "light")
NAMES = ["weight", "height", "noise"]
MISSING = np.arange(N) % 7 == 3
ID = [f"row {place}" for place in range(N)]


def write(path, keep=slice(None), missing=()):
    """A table with an id, a column with an infinite value, and gaps in the target."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *NAMES, "kind", "odd"])
        for place in np.arange(N)[keep]:
            label = "?" if place in missing else Y[place]
            odd = "inf" if place == 500 else 1
            writer.writerow([ID[place], *X[place], label, odd])
    return str(path)


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "table.csv", missing=set(np.flatnonzero(MISSING)))


def run(table, *more):
    return main(
        ["stream", table, "--target", "kind", "--drop", "id,odd", *map(str, more)]
    )


def expected(rows, y, **options):
    model = ConfidenceTreeClassifier(random_state=0)
    *_, last = iter_prequential(model, rows, y, classes=["heavy", "light"], **options)
    return last


@pytest.mark.parametrize(("size", "delay"), crossed([1, 50, 10_000], [0, 40]))
def test_columns_and_rows_are_left_out(table, tmp_path, delay, size, capsys):
    out = tmp_path / "out.json"
    more = ["--chunk-size", size, "--json", out, "--delay", delay]
    assert run(table, "--skip-missing", *more) == 0
    found = json.loads(out.read_text())
    want = expected(X[~MISSING], Y[~MISSING], delay=delay)
    for name in ("n_rows", "n_tested", "accuracy", "no_change_accuracy", "n_leaves"):
        assert found["figures"][name] == pytest.approx(getattr(want, name))
    assert found["data"]["features"] == NAMES
    note = f"ignored {MISSING.sum()} rows without a value of the target 'kind'"
    assert note in found["data"]["notes"]
    told = capsys.readouterr().out
    assert ("Each label arrived 40 rows after its row." in told) == bool(delay)
    assert "Tree at the end:" in told
    assert "weight <= " in told


@pytest.mark.parametrize("delay", [0, 40])
def test_a_run_goes_on_where_rows_were_left_out(tmp_path, delay):
    gaps = set(np.flatnonzero(MISSING))
    whole, part = tmp_path / "whole.csv", tmp_path / "part.csv"
    write(whole, missing=gaps)
    write(part, slice(0, 300), missing=gaps)
    more = ["--skip-missing", "--delay", delay, "--classes", "heavy,light"]
    assert run(str(whole), *more, "--output", tmp_path / "a") == 0
    assert run(str(part), *more, "--output", tmp_path / "b") == 0
    part.write_bytes(whole.read_bytes())
    again = [*more, "--output", tmp_path / "b", "--resume"]
    assert run(str(part), *again) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    for change in (["--delay", delay + 1], ["--classes", "heavy,light"]):
        other = [one for one in again if change[0] != "--classes" or one != more[0]]
        assert run(str(part), *other, *change) != 0


def test_a_missing_label_says_what_helps(table, capsys):
    assert run(table) != 0
    assert "--skip-missing ignores such rows" in capsys.readouterr().err


def test_settings_that_cannot_learn_streams_are_one_line(table, capsys):
    assert run(table, "--skip-missing", "--set", "pruning=c45") == 1
    said = capsys.readouterr().err
    assert "must be 'auto' or None in partial_fit" in said
    assert "Traceback" not in said


def test_a_model_predicts_without_what_was_dropped(tmp_path, capsys):
    table = write(tmp_path / "table.csv")
    assert run(table, "--output", tmp_path / "model") == 0
    other = tmp_path / "other.csv"
    other.write_text("noise,weight,height\n1,9,2\n1,1,2\n")
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "model"), str(other)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in said[1:]] == ["heavy", "light"]


def test_nothing_is_left(tmp_path, capsys):
    table = write(tmp_path / "table.csv")
    for drop, words in (
        ("id,weight,height,noise,odd", "--drop leaves no features"),
        ("id,wieght", "--drop 'wieght' is not one of the columns"),
    ):
        command = ["stream", table, "--target", "kind", "--drop", drop]
        assert main(command) != 0
        assert words in capsys.readouterr().err


def test_a_page_has_all_of_it(tmp_path, capsys):
    table, page = write(tmp_path / "table.csv"), tmp_path / "page.html"
    assert run(table, "--report", page) == 0
    text = page.read_text()
    for words in (
        "weight",
        "previous label",
        "each predicted before the tree",
        "</html>",
    ):
        assert words in text
    assert run(table, "--report", tmp_path / "none" / "page.html") != 0
    assert "there is no folder" in capsys.readouterr().err


def test_deactivated_leaves_are_reported(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(6000, 4)).round(4)
    y = (rows[:, :2] > 0.5).sum(axis=1) ^ (rng.random(6000) < 0.3)
    path = tmp_path / "noisy.csv"
    np.savetxt(
        path, np.c_[rows, y], delimiter=",", header="a,b,c,d,y", comments="", fmt="%g"
    )
    command = ["stream", str(path), "--target", "y", "--bound", "none"]
    command += ["--set", "max_bytes=65536", "--set", "leaf_memory=rows"]
    assert main(command) == 0
    text = "only classes are counted: max_bytes=65536 is too small"
    assert text in capsys.readouterr().out
    assert main(command[:4]) == 0
    assert "only classes are counted" not in capsys.readouterr().out


def test_nothing_is_saved_if_all_labels_come_too_late(tmp_path, capsys):
    """The file has the tree before the last labels: there is none."""
    table, model = write(tmp_path / "table.csv"), tmp_path / "model"
    more = ["--output", model, "--delay"]
    pictures = ["--report", tmp_path / "report.html", "--plot", tmp_path / "plot.svg"]
    assert run(table, *more, N + 1, *pictures) == 0
    out = capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Along the stream</h2>" in page
    assert "<h2>Classes</h2>" not in page  # no row was predicted
    assert f"Not saved: all labels came after the last row (--delay {N + 1})." in out
    assert not model.exists()
    assert run(table, *more, N - 1) == 0
    assert f"Saved in {model}." in capsys.readouterr().out
    assert model.exists()
