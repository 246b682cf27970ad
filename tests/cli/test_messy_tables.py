"""Irregular files: each irregularity is reported with a remedy."""

import csv
import io
import json
import re
from datetime import datetime, timedelta

import numpy as np
import pytest

from skconftree._cli import main
from skconftree._cli._columns import DATES, UnknownCategories, determines_class

FAST = ["--folds", "2", "--baselines", "none"]
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
    assert (
        "labels 'Y es', 'yes' of the target 'answer' differ only by case or blanks"
        in err
    )


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


def test_all_forms_of_missing_values_in_the_target_are_one():
    nan = float("nan")
    assert determines_class([nan, 1.0, float("nan")], ["a", "b", "a"], 2)
    assert not determines_class([nan, 1.0, nan], ["a", "b", "b"], 2)
    assert not determines_class([1, 2, 3], ["a", "b", "b"], 2)


def test_a_duplicate_header_is_reported_with_both_positions(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text("size,answer,size\n1,no,2\n")
    err = run("fit", path, "--target", "answer", code=1).err
    assert "more than one column named 'size': columns 1 and 3" in err


def test_columns_between_bars(write, run, columns):
    columns = {"color": ["red", "blue, or green"] * (N_ROWS // 2), **columns}
    path = write(columns, delimiter="|")
    assert "2 columns, 2 classes" in fitted(run, path).out


def test_one_row_is_a_row(write, run, columns):
    test = write({name: values[:1] for name, values in columns.items()}, name="one.csv")
    assert "1 row: accuracy" in fitted(run, write(columns), "--test", test).out
    columns["answer"][0] = "perhaps"
    assert (
        "note: class 'perhaps' has only 1 row for 2 folds"
        in fitted(run, write(columns)).err
    )


def test_what_is_missing_from_a_new_table_is_listed(write, run, columns, tmp_path):
    model = tmp_path / "m.skc"
    columns = {"sizes": columns["size"][::-1], **columns}
    fitted(run, write(columns), "--output", model)
    new = write({"answer": columns["answer"]}, name="new.csv")
    err = run("predict", model, new, code=1).err
    assert "lacks 2 columns, 'sizes', 'size', which the model needs" in err
    # A column that is in use is not what was meant by one that is missing.
    new = write({"sizes": columns["sizes"]}, name="new.csv")
    err = run("predict", model, new, code=1).err
    assert "has no column 'size', which the model needs; all of its" in err
    assert "Did you mean" not in err


def test_columns_are_written_next_to_the_predictions(write, run, columns, tmp_path):
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


# --- dates -----------------------------------------------------------------------


def days(order, n=N_ROWS):
    """Days of 2024, written in an order."""
    pattern = {"dmy": "%d.%m.%Y", "mdy": "%m/%d/%Y"}[order]
    first = datetime(2024, 1, 1)
    return [(first + timedelta(days=n)).strftime(pattern) for n in range(n)]


@pytest.mark.parametrize("order", ["dmy", "mdy"])
def test_dates_with_one_possible_order_are_read_with_a_note(write, run, order):
    answer = ["no"] * (N_ROWS // 2) + ["yes"] * (N_ROWS // 2)
    path = write({"when": days(order), "x": [0, 1] * (N_ROWS // 2), "answer": answer})
    first = {"dmy": "'13.01.2024'", "mdy": "'01/13/2024'"}[order]
    which = {"dmy": "day", "mdy": "month"}[order]
    for more in ([], ["--dates", order]):
        result = fitted(run, path, *more)
        assert "are read as days since 1970-01-01" in result.err
        assert "when <= 2024-02-29" in result.out
        assert "98.3%" in result.out
        if not more:
            assert f"dates such as {first} are read" in result.err
            assert f"the {which} first, as no other order fits" in result.err
    assert "--nominal when makes categories" in fitted(run, path).err
    err = fitted(run, path, "--nominal", "when").err
    assert "column 'when' is ignored: more than half of the rows" in err


def test_dates_of_which_both_orders_fit_wait_for_an_answer(write, run):
    answer = ["no"] * (N_ROWS // 2) + ["yes"] * (N_ROWS // 2)
    when = [f"{1 + n % 2:02}/{1 + n // 12:02}/2024" for n in range(N_ROWS)]
    path = write({"when": when, "answer": answer})
    result = fitted(run, path)
    assert "look like dates and are read as categories" in result.err
    assert "--dates dmy or --dates mdy reads them as numbers" in result.err
    assert "nominal columns: 1" in result.out
    result = fitted(run, path, "--dates", "dmy")
    assert "are read as days since 1970-01-01" in result.err
    assert "nominal" not in result.out


def test_a_wrong_order_of_dates_is_reported(write, run, columns):
    columns["when"] = days("dmy")
    err = fitted(run, write(columns), "--dates", "mdy").err
    assert "--dates dmy reads them as numbers" in err
    # which is which cannot be told of the first twelve days of a month
    columns["when"] = [
        f"{d:02}/{m:02}/2024" for m in range(1, 11) for d in range(1, 13)
    ]
    err = fitted(run, write(columns)).err
    assert "--dates dmy or --dates mdy reads" in err


@pytest.mark.parametrize(
    ("text", "order", "when"),
    [
        ("31.12.24", "dmy", datetime(2024, 12, 31)),
        ("1/2/68", "mdy", datetime(2068, 1, 2)),
        ("1/2/69", "mdy", datetime(1969, 1, 2)),
        ("31.12.2024 14:05", "dmy", datetime(2024, 12, 31, 14, 5)),
        ("31.12.2024, 14:05:30", "dmy", datetime(2024, 12, 31, 14, 5, 30)),
        ("12/31/2024 2:05 PM", "mdy", datetime(2024, 12, 31, 14, 5)),
        ("12/31/24 12:05 am", "mdy", datetime(2024, 12, 31, 0, 5)),
        ("12/31/24 13:05 am", "mdy", None),
        ("31.12.24 24:05", "dmy", None),
        ("31.12.124", "dmy", None),
        ("31.12-24", "dmy", None),
        ("12/31/24", "dmy", None),
    ],
)
def test_dates_of_two_digits_and_with_a_time(text, order, when):
    parse = DATES[order].parse
    if when is None:
        with pytest.raises(ValueError, match=r".*"):
            parse(text)
        return
    assert parse(text) == (when - datetime(1970, 1, 1)) / timedelta(days=1)


def test_a_model_remembers_how_dates_are_read(write, run, columns, tmp_path):
    model = tmp_path / "m.skc"
    columns = {
        "when": days("dmy"),
        "answer": ["no"] * (N_ROWS // 2) + ["yes"] * (N_ROWS // 2),
    }
    path = write(columns)
    fitted(run, path, "--dates", "dmy", "--output", model)
    rows = list(csv.reader(io.StringIO(run("predict", model, path).out)))[1:]
    assert [label for label, _ in rows] == columns["answer"]


def test_a_stream_reads_dates_and_resumes_in_the_same_order(write, run, tmp_path):
    model = tmp_path / "m.skc"
    answer = ["no"] * (N_ROWS // 2) + ["yes"] * (N_ROWS // 2)
    path = write({"when": days("mdy"), "answer": answer})
    command = ["stream", path, "--target", "answer", "--output", model]
    assert "nominal" not in run(*command, "--dates", "mdy").out
    assert "--dates changed from 'mdy' to None" in run(*command, "--resume", code=1).err


# --- above the rows --------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_a_remark_above_the_header_is_left_out(write, run, columns, delimiter):
    columns = {"color": ["red", "blue"] * (N_ROWS // 2), **columns}
    path = write(columns, delimiter)
    plain = fitted(run, path).out
    path.write_text(f"# exported, by hand\n#\n{path.read_text()}")
    told = fitted(run, path)
    assert "'# exported, by hand' and 1 more above the header are ignored" in told.err
    timeless = [re.sub(r"\d+\.?\d* m?s", "", one) for one in (plain, told.out)]
    assert timeless[0] == timeless[1]


def test_a_header_may_begin_with_a_hash(write, run, columns):
    path = write({"#n": list(range(N_ROWS)), **columns})
    told = fitted(run, path)
    assert "above the header" not in told.err
    assert "2 columns, 2 classes" in told.out


def test_the_separator_of_a_spreadsheet_is_heeded(write, run, columns):
    path = write({"a,b": [1, 2] * (N_ROWS // 2), **columns}, ";")
    path.write_text("sep=;\n" + path.read_text())
    assert "2 columns, 2 classes" in fitted(run, path).out


def test_errors_below_a_remark_name_the_line(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text("# of last year\nsize,answer\n1,no\n2\n")
    err = run("fit", path, "--target", "answer", code=1).err
    assert "line 4: 1 field where the header has 2" in err


def test_a_file_without_header_is_reported(tmp_path, run, write, columns):
    path = tmp_path / "t.csv"
    path.write_text("5.1,3.5,1.4,yes\n4.9,3.0,1.4,no\n")
    assert "may have no header" in run("fit", path, code=1).err
    assert "may have no header" in run("fit", path, "--target", "yes", code=1).err
    model = tmp_path / "m.skc"
    fitted(run, write(columns, name="known.csv"), "--output", model)
    assert "may have no header" in run("predict", model, path, code=1).err


# --- categories ------------------------------------------------------------------


def test_categories_that_a_model_has_not_seen_are_counted(write, run, tmp_path):
    model = tmp_path / "m.skc"
    colors = ["red"] * (N_ROWS // 2) + ["blue"] * (N_ROWS // 2)
    answer = ["yes"] * (N_ROWS // 2) + ["no"] * (N_ROWS // 2)
    fitted(run, write({"color": colors, "answer": answer}), "--output", model)
    new = {
        "color": ["Red"] * 40 + ["teal"] * 9 + [""] + ["blue"],
        "answer": ["no"] * 51,
    }
    path = write(new, name="new.csv")
    err = run("predict", model, path).err
    assert (
        "column 'color': 50 of 51 rows have 3 categories that the model has not seen "
        "('Red', 'teal', missing)" in err
    )
    known = write({"color": colors, "answer": answer}, name="known.csv")
    assert run("predict", model, known).err == ""
    told = fitted(run, known, "--test", path)
    assert "new.csv: column 'color': 50 of 51 rows" in told.err


def test_many_categories_that_a_model_has_not_seen_are_counted_together(
    write, run, tmp_path, monkeypatch
):
    monkeypatch.setattr(UnknownCategories, "MAX_COUNTED", 2)
    model = tmp_path / "model"
    old = {"color": ["red", "blue"] * 50, "answer": ["yes", "no"] * 50}
    fitted(run, write(old), "--output", model)
    colors = ["teal", "plum", "gray", "jade", "teal", "gray"]
    path = write({"color": colors, "answer": ["no"] * 6}, name="new.csv")
    err = run("predict", model, path).err
    assert "column 'color': 6 of 6 rows have" in err
    assert "'teal', 'plum'" in err
    assert "gray" not in err


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_blank_lines_and_a_byte_order_mark_are_ignored(write, run, columns, name):
    path = write(columns, name=name)
    if name == "t.jsonl":
        rows = zip(*columns.values(), strict=True)
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
        path.write_text("\n".join(lines))
    seconds = r"\d\.\d+ m?s"
    plain = re.sub(seconds, "", fitted(run, path).out)
    lines = path.read_text().splitlines()
    lines.insert(30, "")
    path.write_text("\ufeff" + "\n".join(lines) + "\n\n", encoding="utf-8")
    out = fitted(run, path, "--encoding", "utf-8").out
    assert re.sub(seconds, "", out) == plain


def test_too_many_categories_come_with_a_remedy(write, run):
    n = 4100
    groups = [f"g{i // 2}" for i in range(2 * n)]
    path = write({"group": groups, "answer": ["yes", "no"] * n})
    err = run("fit", path, "--target", "answer", *FAST, code=1).err
    assert "exclude it by --drop group, or group rare categories" in err


def test_a_table_without_a_header_is_doubted(write, run, columns, tmp_path):
    """Not only where most names are numbers: each might stand below itself."""
    model = tmp_path / "model"
    columns = {"kind": ["a", "b", "c"] * (N_ROWS // 3), **columns}
    fitted(run, write(columns, name="sound.csv"), "--output", model)
    path = tmp_path / "rows.csv"
    lines = [f"{a},{b},{c}" for a, b, c in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    doubt = "may have no header, as columns have names that are values below them"
    target = columns["answer"][0]
    assert doubt in run("fit", path, "--target", target, *FAST).err
    assert doubt in run("stream", path, "--target", target).err
    assert doubt in run("fit", path, code=1).err
    told = run("predict", model, path, code=1).err
    assert doubt in told
    assert "lacks 2 columns, 'kind', 'size', which the model needs" in told
    assert "may have no header" not in fitted(run, write(columns)).err


def test_a_stream_reports_labels_that_differ_by_case(write, run, columns):
    columns["answer"][:40] = [one.upper() for one in columns["answer"][:40]]
    err = run("stream", write(columns), "--target", "answer").err
    assert "labels 'YES', 'yes' of the target 'answer' differ only by case" in err
    assert "labels 'NO', 'no' of the target 'answer' differ only by case" in err
