"""Tables come with dates, currencies, decimal commas and a word among numbers.

None of that may make a column of numbers one of hundreds of categories in silence, nor
end a long run; what is done is said, with the way out.
"""

import csv
import json
import pickle
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.effort import cases

from skconftree._cli import _columns, main
from skconftree._cli._columns import (
    COMMA,
    DATE,
    POINT,
    ColumnType,
    UnparseableValues,
    infer_column,
    read_numbers,
)
from skconftree._cli._common import UserError
from skconftree._cli._readers import (
    check_categories,
    check_header,
    set_column_types,
)
from skconftree.tables import _columns as tables_columns
from skconftree.tables import _features
from skconftree.utils import _model_file

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

N_ROWS = 400
DAYS = ["2024-01-31", "2024-02-01T06:00", "2024-01-31 12:00:00.5", "1969-12-31"]


def test_a_file_and_a_frame_are_judged_alike():
    """The command line imports no private name of `tables`, and has the limits too."""
    assert _columns.MAX_UNPARSEABLE == tables_columns.MAX_UNPARSEABLE
    assert _columns.SMALL_N_CATEGORIES == _features.SMALL_N_CATEGORIES


@pytest.mark.parametrize(
    ("texts", "parser", "values"),
    [
        (["1", " 2.5", "1e3", "-.5", "1_000"], POINT, [1, 2.5, 1000, -0.5, 1000]),
        (["$1,234", "$ 5.50", "-$7", "12 %"], POINT, [1234, 5.5, -7, 12]),
        (["1,234,567.25", "8", "€9"], POINT, [1234567.25, 8, 9]),
        (["1,5", "2,25", "1.234,5", "7"], COMMA, [1.5, 2.25, 1234.5, 7]),
        (["1 234,5 €", "-0,25", "3,5E1"], COMMA, [1234.5, -0.25, 35]),
        (["1970-01-02", *DAYS], DATE, [1, 19753, 19754.25, 19753.5, -1]),
        (["2024-01-31T01:00+01:00", "2024-01-31T00:00Z"], DATE, [19753, 19753]),
        (["", "?", "NA", " nan "], POINT, [np.nan] * 4),
        (["red", "2024-02-31", "1.2.3", "1,23,4"], None, None),
        (["1", "2", "red"], None, None),
        (["a"] * 3 + ["5"] * 20, None, None),
    ],
)
def test_texts_are_read_in_the_way_that_fits_most_of_them(texts, parser, values):
    found = infer_column(texts)
    assert found.parser is parser
    if parser is not None:
        read, unparseable = read_numbers(texts, parser)
        assert not unparseable
        np.testing.assert_allclose(read, np.float32(values), rtol=1e-6)


def test_a_thousand_or_a_bit_more_than_one():
    """Where 1,234 may be both, a file with semicolons has decimal commas."""
    for comma_first, parser in [(False, POINT), (True, COMMA)]:
        found = infer_column(["1,234", "2,500", "7"], comma_first)
        assert found.parser is parser
        (note,) = found.notes
        assert f"'1,234' is read as {parser.parse('1,234'):g}" in note
    assert infer_column(["1,234", "2.5", "7"], True).parser is POINT
    assert infer_column(["1,234", "2,5", "7"], False).parser is COMMA


def test_unparseable_values_are_missing():
    texts = ["1"] * 30 + ["unknown", "x", ""]
    assert infer_column(texts) == ColumnType(POINT, [], numbers=POINT)
    values, unparseable = read_numbers(texts, POINT)
    assert unparseable == [30, 31]
    assert np.isnan(values[30:]).all()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([str(i) for i in range(1, 101)], "row numbers"),
        ([str(i) for i in np.random.default_rng(0).permutation(100)], "row numbers"),
        ([str(2 * i) for i in range(100)], None),
        ([str(i % 90) for i in range(100)], None),
        ([str(i + 0.5) for i in range(100)], None),
        ([str(i) for i in range(49)], None),
    ],
)
def test_what_names_a_row_is_noted(texts, words):
    notes = infer_column(texts).notes
    assert notes == [] if words is None else words in notes[0]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([f"customer {i}" for i in range(100)], True),
        ([f"kind {i % 70}" for i in range(100)], False),
        ([f"kind {i % 80}" for i in range(100)], True),
        ([f"kind {i // 2}" for i in range(100)], False),
        ([f"customer {i}" for i in range(49)], False),
    ],
)
def test_what_names_rows_by_texts_is_noted(texts, found):
    assert infer_column(texts).identifies_rows is found


def test_columns_that_name_rows_are_left_out(tmp_path, capsys):
    """They would fill the tree with categories, and CART with columns."""
    table, report = tmp_path / "table.csv", tmp_path / "report"
    lines = [f"customer {i},{i % 7},{'ab'[i % 7 > 3]}" for i in range(5000)]
    table.write_text("\n".join(["name,size,kind", *lines]))
    fit = ["fit", str(table), "--target", "kind", "--folds", "2", "--json", str(report)]
    assert main(fit) == 0
    out, err = capsys.readouterr()
    assert "note: column 'name' is ignored: more than half of the rows" in err
    assert err.count("note:") == 1
    assert "5,000 rows, 1 column," in out
    assert json.loads(report.read_text())["data"]["features"] == ["size"]
    lines = [f"customer {i},{'ab'[i % 2]}" for i in range(99)]
    table.write_text("\n".join(["name,kind", *lines]))
    assert main(fit) == 1
    assert (
        "no column besides the target 'kind' that describes" in capsys.readouterr().err
    )
    assert main(["stream", *fit[1:4]]) == 0
    assert "column 'name': more than half of the first rows" in capsys.readouterr().err


@pytest.fixture(scope="module")
def rows():
    """A price, a length, a date and a number; the date and the price tell the class."""
    rng = np.random.default_rng(0)
    price = rng.integers(0, 3000, N_ROWS)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, N_ROWS)
    late = (day > np.datetime64("2024-06-01")) ^ (price > 2500)
    return [
        (f"${p:,}", f"{i % 7},5", str(d), str(i % 11), "late" if is_late else "early")
        for i, (p, d, is_late) in enumerate(
            zip(price.tolist(), day, late.tolist(), strict=True)
        )
    ]


HEADER = ["price", "length", "day", "number", "kind"]


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return path


def strayed(rows):
    """The same with words among the numbers."""
    rows = list(map(list, rows))
    for place in (5, 250):
        rows[place][3] = "unknown"
    rows[251][2] = "2024-02-31"
    return rows


def test_fit_and_stream_say_what_they_read(tmp_path, rows, capsys):
    table, report = write(tmp_path / "table.csv", strayed(rows)), tmp_path / "report"
    fit = ["--folds", "2", "--baselines", "none"]
    for command in (["fit", *fit], ["stream"]):
        argv = [*command, str(table), "--target", "kind", "--json", str(report)]
        assert main(argv) == 0
        out, err = capsys.readouterr()
        assert "nominal" not in out
        notes = json.loads(report.read_text())["data"]["notes"]
        assert len(notes) == 5
        for note, words in zip(
            notes,
            [
                f"column 'price': '{rows[0][0]}' is read as ",
                "column 'length': '0,5' is read as 0.5",
                "column 'day': dates such as '2024-",
                "column 'day': 1 value is not a number ('2024-02-31'), taken as ",
                "column 'number': 2 values are not numbers ('unknown'), taken "
                "as missing; --nominal number makes categories of all",
            ],
            strict=True,
        ):
            assert words in note
            assert f"note: {note}\n" in err
    assert "row 6, column 'number': 'unknown' is not a number" in err


def test_the_numbers_reach_the_tree(tmp_path, rows):
    model = tmp_path / "model"
    argv = ["stream", str(write(tmp_path / "table.csv", strayed(rows)))]
    argv += ["--target", "kind", "--output", str(model)]
    assert main(argv) == 0
    saved, _ = _model_file.load(model)
    assert saved.is_categorical_ is None
    day = saved.tree_.threshold[saved.tree_.feature == 2]
    assert any(abs(day - 19875) < 5)  # the first of June, 2024


def test_counts_of_unparseable_values_survive_a_stop(tmp_path, rows):
    once, twice = tmp_path / "once", tmp_path / "twice"
    table = tmp_path / "table.csv"
    for n_rows, models in [(251, [twice]), (N_ROWS, [once, twice])]:
        write(table, strayed(rows)[:n_rows])
        for model in models:
            argv = ["stream", str(table), "--target", "kind", "--chunk-size", "7"]
            more = ["--classes", "early,late", "--resume", "--output", str(model)]
            assert main([*argv, *more]) == 0
    assert once.read_bytes() == twice.read_bytes()
    assert _model_file.load(once)[1]["unparseable"] == [
        [3, 2, ["unknown"]],
        [2, 1, ["2024-02-31"]],
    ]


@pytest.mark.parametrize("size", cases(["1", "30", "1000"], ["30", "1000"]))
def test_a_column_that_becomes_text_ends_the_run(tmp_path, rows, capsys, size):
    """After a hundred, or a tenth of all rows; the size of chunks plays no part."""
    table, model = tmp_path / "table.csv", tmp_path / "model"
    words = [[*row[:2], "soon", "many", row[4]] for row in rows]
    write(table, [*rows * 3, *words])
    argv = ["stream", str(table), "--target", "kind", "--chunk-size", size]
    assert main([*argv, "--output", str(model)]) == 1
    # 120 of 1,200 rows and 13 more, as the rows become more too
    assert "row 1334, column 'day': 'soon' is not a number" in capsys.readouterr().err
    saved, progress = _model_file.load(model)
    assert progress["rows"] == saved.n_rows_seen_ == 1333
    assert [n for _, n, _ in progress["unparseable"]] == [133, 133]


def test_unparseable_values_of_unused_rows_are_not_counted():
    class Stream:
        path, features, parsers = "table.csv", ["a", "b"], [POINT, POINT]

    unparseable = UnparseableValues([(1, 100, ["x"])])
    found = [(3, 0, "y"), (4, 0, "y"), (4, 1, "x"), (5, 0, "y")]
    n_rows, problem = unparseable.check(found, 1, 9, Stream)
    assert n_rows == 4
    assert "row 5, column 'b': 'x'" in str(problem)
    assert unparseable.as_list() == [[1, 100, ["x"]], [0, 1, ["y"]]]
    assert unparseable.check(found[:1], 1, 3, Stream) == (3, None)
    assert unparseable.count(0) == 1


def test_parquet_holds_dates_and_texts_that_are_numbers(tmp_path, rows, capsys):
    columns = dict(zip(HEADER, zip(*strayed(rows), strict=True), strict=True))
    table = write(tmp_path / "table.csv", strayed(rows))
    models = []
    days = [None if one == "2024-02-31" else one for one in columns["day"]]
    day = np.array(days, dtype="datetime64[ns]")
    for name, column in [("texts", days), ("days", day.astype("M8[D]")), ("ns", day)]:
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({**columns, "day": column}), path, row_group_size=150)
        models.append(tmp_path / name)
        argv = ["stream", str(path), "--target", "kind", "--output", str(models[-1])]
        assert main(argv) == 0
        err = capsys.readouterr().err
        assert "column 'number': strings are read as numbers" in err
        assert "column 'number': 2 values are not numbers ('unknown')" in err
    models.append(tmp_path / "csv")
    argv = ["stream", str(table), "--target", "kind", "--output", str(models[-1])]
    assert main(argv) == 0
    saved = [pickle.dumps(_model_file.load(model)[0]) for model in models]
    assert len(set(saved)) == 1


def test_texts_of_a_file_do_not_reach_the_terminal_as_commands(tmp_path, capsys):
    table = tmp_path / "table.csv"
    lines = [f"{i % 2},{chr(27) + '[2Jx' if i % 2 else 'b'}" for i in range(100)]
    table.write_text("\n".join(["a\x1b[1m,kind", *lines]))
    assert main(["stream", str(table), "--target", "kind"]) == 0
    assert main(["fit", str(table), "--target", "kind", "--folds", "2"]) == 0
    assert main(["fit", str(table), "--target", "nothing"]) == 1
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\\x1b[2Jx" in out


def test_columns_are_not_searched_for_each_column():
    """With 30,000 of them that would take a minute of comparing their names."""
    names = [f"a{place}" for place in range(30_000)]

    class Stream:
        features, parsers, header = names, [None] * len(names), [*names, "kind"]

        def lookahead(self):
            return [infer_column(("x", "y"))] * len(names)

    start = time.process_time()
    assert check_header("table.csv", [*names, "kind"], "kind") == names
    set_column_types(Stream(), names)
    rows = np.full((2, len(names)), "x", dtype=object)
    assert check_categories(None, rows, 1, Stream) == (2, None)
    assert time.process_time() - start < 5
    with pytest.raises(UserError, match="more than one column named 'a7'"):
        check_header("table.csv", [*names, "kind", "a7", "a9"], "kind")


def test_thousands_of_columns_are_learned(tmp_path, capsys):
    n = 3000
    table = tmp_path / "table.csv"
    names = ",".join(f"a{i}" for i in range(n))
    row = ",".join(["x"] * n)
    table.write_text(f"kind,{names}\ny,{row}\nz,{row}\n")
    nominal = ["--nominal", names]
    assert main(["stream", str(table), "--target", "kind", *nominal]) == 0
    assert f"2 rows, {n:,} columns" in capsys.readouterr().out
