"""Files as people have them: what is odd about one is said, with the way out."""

import csv
import io

import numpy as np
import pytest

from skconftree._cli import main
from skconftree._cli._table import _renames

FAST = ["--folds", "2", "--rivals", "none"]
N_ROWS = 120


@pytest.fixture
def columns():
    """A number that decides the answer."""
    size = np.random.default_rng(0).permutation(N_ROWS) / N_ROWS
    return {"size": size.tolist(), "answer": np.where(size > 0.5, "yes", "no").tolist()}


@pytest.fixture
def write(tmp_path):
    """Write columns to a file, and give its path."""

    def write(columns, delimiter=",", name="t.csv"):
        path = tmp_path / name
        with path.open("w", newline="") as file:
            rows = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            rows.writerows([columns, *zip(*columns.values(), strict=True)])
        return path

    return write


@pytest.fixture
def run(capsys):
    """Run a command; give what it has told."""

    def run(*argv, code=0):
        assert main([str(one) for one in argv]) == code
        return capsys.readouterr()

    return run


def fitted(run, path, *more):
    return run("fit", path, "--target", "answer", *FAST, *more)


def test_plain_columns_get_no_note(write, run, columns):
    assert "note:" not in fitted(run, write(columns)).err


def test_labels_that_differ_by_case_or_blanks_are_noted(write, run, columns):
    columns["answer"][:40] = [
        one.replace("yes", "Y es") for one in columns["answer"][:40]
    ]
    err = fitted(run, write(columns)).err
    assert "labels 'Y es', 'yes' of the target 'answer' differ by case or blanks" in err


def test_a_copy_of_a_column_is_noted(write, run, columns):
    columns = {"fur": ["long", "short"] * (N_ROWS // 2), **columns}
    columns = {"again": columns["size"], "hair": columns["fur"], **columns}
    err = fitted(run, write(columns)).err
    assert "column 'size' is an exact copy of column 'again'" in err
    assert "column 'fur' is an exact copy of column 'hair'" in err


def test_a_column_that_is_the_target_is_noted(write, run, columns):
    columns = {"code": [int(one == "yes") for one in columns["answer"]], **columns}
    err = fitted(run, write(columns)).err
    assert "column 'code' has one value for each class of 'answer'" in err
    columns["code"][0] = 1 - columns["code"][0]
    assert "gives it away" not in fitted(run, write(columns)).err


def test_missing_values_are_one_value_in_the_target_in_other_words():
    nan = float("nan")
    assert _renames([nan, 1.0, float("nan")], ["a", "b", "a"], 2)
    assert not _renames([nan, 1.0, nan], ["a", "b", "b"], 2)
    assert not _renames([1, 2, 3], ["a", "b", "b"], 2)


def test_a_header_twice_is_told_with_both_places(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text("size,answer,size\n1,no,2\n")
    err = run("fit", path, "--target", "answer", code=1).err
    assert "more than one column named 'size': columns 1 and 3" in err


def test_columns_between_bars(write, run, columns):
    columns = {"colour": ["red", "blue, or green"] * (N_ROWS // 2), **columns}
    path = write(columns, delimiter="|")
    assert "2 columns, 2 classes" in fitted(run, path).out


def test_one_row_is_a_row(write, run, columns):
    test = write({name: values[:1] for name, values in columns.items()}, name="one.csv")
    assert "1 row: accuracy" in fitted(run, write(columns), "--test", test).out
    columns["answer"][0] = "perhaps"
    assert "note: a class has 1 row only" in fitted(run, write(columns)).err


def test_what_is_missing_from_a_new_table_is_listed(write, run, columns, tmp_path):
    model = tmp_path / "m.skc"
    columns = {"sizes": columns["size"][::-1], **columns}
    fitted(run, write(columns), "--output", model)
    new = write({"answer": columns["answer"]}, name="new.csv")
    err = run("predict", model, new, code=1).err
    assert "has no 2 columns 'sizes', 'size'" in err
    # A column that is in use is not what was meant by one that is missing.
    new = write({"sizes": columns["sizes"]}, name="new.csv")
    err = run("predict", model, new, code=1).err
    assert "has no column 'size', which the model needs; all of its" in err
    assert "Did you mean" not in err


def test_columns_are_kept_beside_the_predictions(write, run, columns, tmp_path):
    model = tmp_path / "m.skc"
    columns = {"who": [f"n. {n}" for n in range(N_ROWS)], **columns}
    columns["who"][3] = ""
    path = write(columns)
    fitted(run, path, "--drop", "who", "--output", model)
    plain = list(csv.reader(io.StringIO(run("predict", model, path).out)))
    out = run("predict", model, path, "--keep", "answer,who").out
    head, *rows = csv.reader(io.StringIO(out))
    assert head == ["answer", "who", "predicted answer", "probability"]
    kept = zip(columns["answer"], columns["who"], strict=True)
    assert rows == [[*a, *b] for a, b in zip(kept, plain[1:], strict=True)]
    out = run("predict", model, path, "--keep", "all").out
    assert out.startswith("who,size,answer,predicted answer,probability\n")
    err = run("predict", model, path, "--keep", "whom", code=1).err
    assert "--keep 'whom' is not one of the columns" in err
