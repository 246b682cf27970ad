"""Invalid tables and options: a command prints one line with the error."""

import gzip
import os
import signal
import sys
import threading

import pytest

from skconftree._cli import _fit, main
from skconftree._cli._common import with_names


def refused(capsys, *argv):
    """Run a command that fails; return what it says."""
    assert main([str(one) for one in argv]) == 1
    said = capsys.readouterr()
    assert not said.out
    return said.err


@pytest.mark.parametrize(
    ("command", "text", "words"),
    [
        ("fit", "a,y\n1,x\0\n2,z\n", "target column 'y' has a label with a zero byte"),
        ("fit", "a,y\n", "has no rows below its header"),
        ("fit", "y\n1\n2\n", "has no column besides the target 'y'"),
        ("label", "a,y\n", "has no rows below its header"),
        ("label", "y\nu\nv\n", "has no column besides the target 'y'"),
        ("label", "a,y\n1,u,2\n2,v\n", "line 2"),
    ],
)
def test_a_table_without_rows_or_columns_to_learn(
    tmp_path, capsys, command, text, words
):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert words in refused(capsys, command, path, "--target", "y")


@pytest.mark.parametrize("text", ["a,y\n", "a,y\n1,\n2,\n"])
def test_a_stream_without_rows(tmp_path, capsys, text):
    path, model = tmp_path / "t.csv", tmp_path / "model"
    path.write_text(text)
    more = ["--classes", "u,v", "--skip-missing", "--output", model]
    told = refused(capsys, "stream", path, "--target", "y", *more)
    assert f"{path} has no rows below its header" in told
    assert not model.exists()


def test_a_target_without_labels(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,\n2,\n")
    told = refused(capsys, "fit", path, "--target", "y", "--skip-missing")
    assert "target column 'y' has no value in any row" in told


def test_texts_without_words_are_an_error(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n!,u\n?,v\n!,\n")
    told = refused(capsys, "label", path, "--target", "y", "--text", "a")
    assert "--text" in told
    assert "vocabulary" in told


def test_standard_input_cannot_be_labeled(capsys):
    told = refused(capsys, "label", "-", "--labels", "yes,no")
    assert "standard input cannot be labeled" in told


def test_a_stream_with_more_labels_than_classes(tmp_path, capsys):
    path = tmp_path / "t.csv"
    labels = [f"x{i}" for i in range(70_000)]
    path.write_text("a,y\n" + "".join(f"1,{one}\n" for one in labels))
    told = refused(capsys, "stream", path, "--target", "y")
    assert "70000 different values; at most" in told


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.xz"])
def test_a_packed_table_that_is_damaged(tmp_path, capsys, name):
    path = tmp_path / name
    packed = bytearray(gzip.compress(b"a,y\n" + b"1,x\n2,z\n" * 5000))
    packed[20:40] = bytes(20)
    path.write_bytes(packed)
    assert str(path) in refused(capsys, "fit", path, "--target", "y")


def test_columns_are_named_in_messages():
    text = "Column 1 and column 0 differ from column 2."
    assert with_names(text, ["a", "b"]) == (
        "Column 'b' and column 'a' differ from column 2."
    )


def test_a_folder_is_no_model(tmp_path, capsys):
    told = refused(capsys, "predict", tmp_path, tmp_path / "t.csv")
    assert f"The folder {tmp_path} contains no *.csv" in told


def test_a_column_of_numbers_that_is_nominal(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,x\n2,z\n")
    argv = ["fit", path, "--target", "y", "--numeric", "a", "--nominal", "a"]
    assert "--numeric" in refused(capsys, *argv)


@pytest.mark.parametrize(
    ("command", "option", "words"),
    [
        (["fit"], ["--budget", "-1"], "must be at least 0"),
        (["label", "--labels", "a,b"], ["--stop-risk", "1"], "must be above 0 and"),
        (["label", "--labels", "a,b"], ["--repeat", "1"], "must be at least 0 and"),
    ],
)
def test_an_option_out_of_its_range(tmp_path, capsys, command, option, words):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,x\n2,z\n")
    name, *more = command
    with pytest.raises(SystemExit, match="2"):
        main([name, str(path), *more, *option])
    assert words in capsys.readouterr().err


def test_a_plot_needs_matplotlib(tmp_path, capsys, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,x\n2,z\n")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = refused(capsys, "fit", path, "--target", "y", "--plot", tmp_path / "t.png")
    assert "pip install matplotlib" in told


def test_a_column_of_numbers_that_is_mostly_texts_below(tmp_path, capsys):
    """The first rows, from which columns are guessed, are numbers."""
    path = tmp_path / "t.csv"
    rows = [f"{i},{i if i < 3000 else 'x'},{'uv'[i % 2]}" for i in range(4000)]
    path.write_text("\n".join(["b,a,y", *rows]) + "\n")
    told = refused(capsys, "fit", path, "--target", "y", "--numeric", "b,a")
    assert "--numeric a: more than 10% of the values of this column are" in told


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("a,y\n" + "1,x\n2,z\n" * 20)
    argv = ["fit", path, "--target", "y", "--folds", "2", "--baselines", "none"]
    assert main([str(one) for one in [*argv, "--output", tmp_path / "model"]]) == 0
    return tmp_path / "model"


def test_a_table_whose_first_row_cannot_be_predicted(tmp_path, capsys, model):
    path, output = tmp_path / "t.csv", tmp_path / "out.csv"
    capsys.readouterr()
    for text, words in (
        ("a\n", f"{path} has no rows below its header"),
        ("a\n1e99\n2\n", "row 1, column 'a': '1e99' is infinite or too large"),
    ):
        path.write_text(text)
        assert words in refused(capsys, "predict", model, path, "--output", output)
        assert not output.exists()


def test_an_output_in_a_folder_without_permission(tmp_path, capsys, monkeypatch):
    path, output = tmp_path / "t.csv", tmp_path / "model"
    path.write_text("a,y\n1,x\n2,z\n")
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    told = refused(capsys, "fit", path, "--target", "y", "--output", output)
    assert f"cannot write {output}: no permission to write in {tmp_path}" in told


def test_a_command_in_a_thread_leaves_signals_alone(tmp_path, model, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    table = [str(tmp_path / "train.csv"), "--target", "y"]
    codes, within, read = [], [], _fit.read_table

    def noting(*args):
        within.append(signal.getsignal(signal.SIGTERM))
        return read(*args)

    def run():
        codes.append(main(["fit", *table, "--folds", "2", "--baselines", "none"]))
        codes.append(main(["stream", *table]))

    monkeypatch.setattr(_fit, "read_table", noting)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert codes == [0, 0]
    assert within == [before]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="SIGHUP exists only on POSIX")
def test_an_ignored_signal_remains_ignored(tmp_path, model, monkeypatch):
    """`nohup` starts a command that ignores the end of its terminal."""
    found, before = [], signal.signal(signal.SIGHUP, signal.SIG_IGN)
    read = _fit.read_table

    def noting(*args):
        found.extend(map(signal.getsignal, (signal.SIGHUP, signal.SIGTERM)))
        return read(*args)

    monkeypatch.setattr(_fit, "read_table", noting)
    try:
        argv = ["fit", str(tmp_path / "train.csv"), "--target", "y", "--folds", "2"]
        assert main([*argv, "--baselines", "none"]) == 0
        assert found[0] == signal.SIG_IGN
        assert callable(found[1])
    finally:
        signal.signal(signal.SIGHUP, before)
