"""Which numbers, codes and dates the texts of a table are, in every command.

What is read in another way than it may have been meant is noted, with the option that
says otherwise; a saved model reads later tables as it read its own.
"""

import codecs
import csv
import gzip
import io
import json
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skconftree._cli import _common, main
from skconftree._cli._columns import (
    COMMA,
    DATES,
    POINT,
    ColumnType,
    infer_column,
    infer_columns,
    read_numbers,
)
from skconftree._cli._label import read_pool
from skconftree._cli._options import make_parser
from skconftree.utils import _model_file

FAST = ["--folds", "2", "--baselines", "none"]
AMOUNTS = list(range(100, 3000, 20))
ANSWERS = ["low" if one < 1500 else "high" for one in AMOUNTS]


def dotted(amount):
    """Write a whole number with dots between groups of three digits."""
    return f"{amount:,}".replace(",", ".")


@pytest.fixture
def write(tmp_path):
    """Write columns to a CSV file, and return its path."""

    def write(columns, delimiter=";", name="t.csv", encoding="utf-8"):
        file = io.StringIO()
        rows = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        rows.writerows([columns, *zip(*columns.values(), strict=True)])
        path = tmp_path / name
        path.write_bytes(file.getvalue().encode(encoding))
        return path

    return write


@pytest.fixture
def run(capsys):
    """Run a command, and return its output."""

    def run(*argv, code=0):
        assert main([str(one) for one in argv]) == code, capsys.readouterr().err
        return capsys.readouterr()

    return run


@pytest.fixture
def german(write):
    """A table of whole numbers as German writes them, and their classes."""
    return write({"amount": map(dotted, AMOUNTS), "answer": ANSWERS})


def fit(run, path, *more, **kwargs):
    return run("fit", path, "--target", "answer", *FAST, *more, **kwargs)


def classes(out, delimiter=";"):
    return [
        row[0] for row in list(csv.reader(io.StringIO(out), delimiter=delimiter))[1:]
    ]


# --- decimal signs -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "parser"),
    [
        (["5.644", "358"], COMMA),
        (["-5.644", "358", "1.234.567"], COMMA),
        (["5.644", "358", "unknown", *["7"] * 20], COMMA),
        (["5.644", "1234"], POINT),  # who groups digits does so everywhere
        (["5.644", "1234", "x", *["7"] * 20], POINT),
        (["5.644", "5.64"], POINT),
        (["0.644", "5.644"], POINT),
        (["1e3", "2"], COMMA),
        (["12,5", "5.644"], COMMA),
    ],
)
def test_groups_of_digits_in_a_file_with_semicolons(texts, parser):
    found = infer_column(texts, comma_first=True)
    assert found.parser is parser
    assert infer_column(texts, decimal=",").parser is (
        parser if texts in (["5.644", "5.64"], ["0.644", "5.644"]) else COMMA
    )


def test_another_column_with_decimal_points_settles_the_sign():
    columns = [["5.644", "358"], ["7.4", "0.25"]]
    found, decimal = infer_columns(columns, ["a", "b"], semicolons=True)
    assert [one.parser for one in found] == [POINT, POINT]
    assert decimal == "."
    assert found[0].notes == [
        "'5.644' is read as 5.644, as other numbers of the file have decimal points; "
        "--decimal , reads '5.644' as 5644"
    ]
    assert found[1].notes == []
    found, decimal = infer_columns(columns, "ab", semicolons=True, decimal=",")
    assert [one.parser for one in found] == [COMMA, POINT]
    assert found[1].notes == [
        "'7.4' is read as 7.4, as --decimal , does not fit this column"
    ]
    assert decimal == ","
    three_digits = [["5.644", "3.580"], ["7.4", "0.25"]]
    found, _ = infer_columns(three_digits, ["a", "b"], semicolons=True)
    assert found[0] == ColumnType(POINT, [], numbers=POINT, ambiguous="5.644")
    columns.append(["2,5", "3"])
    found, decimal = infer_columns(columns, ["a", "b", "c"], semicolons=True)
    assert [one.parser for one in found] == [COMMA, POINT, COMMA]


def test_a_sign_that_does_not_fit_is_not_forced():
    found = infer_column(["1.234,5", "7"], decimal=".")
    assert found.parser is COMMA
    assert found.notes[0].endswith(", as --decimal . does not fit this column")
    assert infer_column(["red", "blue"], decimal=",").parser is None


@pytest.mark.parametrize(
    ("columns", "semicolons", "decimal"),
    [
        ([["1", "2"]], False, "."),
        ([["1", "2"]], True, ","),
        ([["1.5", "2"]], True, "."),
        ([["1,5", "2"], ["1", "2"]], False, ","),
        ([["1,5", "2"], ["1.5", "2"]], False, "."),
        ([["red", "blue"]], True, ","),
    ],
)
def test_the_decimal_sign_of_a_file(columns, semicolons, decimal):
    names = list(map(str, range(len(columns))))
    assert infer_columns(columns, names, semicolons=semicolons)[1] == decimal


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["(1,234.50)", "7", "$(2)", "($3.5)"], [-1234.5, 7, -2, -3.5]),
        (["\u22125", "\u22121,234.5", "3"], [-5, -1234.5, 3]),
        (["(1.234,50)", "\u22120,5", "2,5"], [-1234.5, -0.5, 2.5]),
    ],
)
def test_negative_numbers_of_accountants_and_typesetters(texts, values):
    found = infer_column(texts)
    read, unparseable = read_numbers(texts, found.parser)
    assert not unparseable
    np.testing.assert_allclose(read, np.float32(values))


@pytest.mark.parametrize("text", ["(-5)", "(red)", "()", "5)", "(5", "(($5))"])
def test_not_every_parenthesis_is_a_number(text):
    with pytest.raises(ValueError, match=r".*"):
        POINT.parse(text)


def test_columns_are_read_like_single_values():
    texts = ["1_000,5", "inf", "1,5", "-2", "", "5,", "1e3", "x"]
    fast = [read_numbers([one], COMMA)[0][0] for one in texts]
    slow, unparseable = read_numbers([*texts, "1.000"], COMMA)
    np.testing.assert_array_equal(slow[:-1], fast)
    assert unparseable == [7]


def test_whole_numbers_with_dots_are_one_split(run, german):
    result = fit(run, german)
    assert (
        "note: column 'amount': '1.000' is read as 1000, and so are others; "
        "--decimal . reads '1.000' as 1\n" in result.err
    )
    assert "amount <= 1490" in result.out
    result = fit(run, german, "--decimal", ".")
    assert "amount <= 1.49" in result.out
    assert "note" not in result.err


def test_a_pool_is_read_as_other_tables_are(run, german):
    """`label` took dots for decimals, and words among numbers for missing, silently."""
    assert "'1.000' is read as 1000" in label_notes(german)
    assert label_notes(german, "--decimal", ".") == ""
    with german.open("a") as file:
        file.write("red;low\n")
    note = "column 'amount': 1 value is not a number ('red'), taken as missing"
    assert note in label_notes(german)
    with german.open("a") as file:
        file.write("red;low\n" * 30)
    notes = label_notes(german, "--nominal", "amount")
    assert notes == ""
    argv = ["label", german, "--target", "answer"]
    # so many words make categories of it, and one for each row describes none
    assert (
        "column 'amount' is shown but not used as a feature" in run(*argv, code=1).err
    )


def test_a_dot_after_the_first_rows_is_noted(run, write):
    n = 1200  # more than the rows that settle what columns are
    path = write(
        {
            "amount": map(dotted, range(n)),
            "x": [n % 7 for n in range(n)],
            "answer": ["no" if one < 600 else "yes" for one in range(n)],
        }
    )
    note = "column 'amount': '1.000' is read as 1000; --decimal . reads '1.000' as 1"
    assert note in fit(run, path).err
    assert note in run("stream", path, "--target", "answer").err
    assert note in label_notes(path)
    assert note not in fit(run, path, "--decimal", ",").err


def test_values_with_the_other_sign_are_missing_with_a_hint(run, write):
    amounts = [*map(dotted, AMOUNTS), "2.5"]
    path = write({"amount": amounts, "answer": [*ANSWERS, "low"]})
    note = "column 'amount': '1.000' is read as 1, as other numbers of the file have"
    assert note in fit(run, path).err
    amounts += ["2.5", "2.5", "2,5", "2,5", "2,5", "2,5"]
    path = write({"amount": amounts, "answer": [*ANSWERS, *["low"] * 7]})
    assert (
        "column 'amount': 3 values are not numbers ('2.5'), taken as missing; "
        "--decimal . reads '2.5' as a number; --nominal amount" in fit(run, path).err
    )


# --- codes, ids, dates ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "are_codes"),
    [
        (["01234", "99999", ""], True),
        (["00", "12", "07"], True),
        (["0", "1"], False),
        (["12", "34"], False),
        (["012", "34"], False),
        (["0.5", "1.5"], False),
        (["-1", "01"], False),
    ],
)
def test_numbers_of_equal_length_that_begin_with_0_are_codes(texts, are_codes):
    found = infer_column(texts, name="zip")
    assert (found.parser is None) is are_codes
    assert found.numbers is POINT
    if are_codes:
        assert "--numeric zip reads them as numbers" in found.notes[0]
        assert found.notes[0].count(repr(next(t for t in texts if t[0] == "0"))) == 1


def codes_table(n=140):
    rng = np.random.default_rng(0)
    codes = [f"{one:03}" for one in rng.integers(7, 13, n)]
    return {
        "code": codes,
        "x": [str(n % 5) for n in range(n)],
        "answer": ["yes" if int(one) % 2 else "no" for one in codes],
    }


def test_codes_are_categories_in_every_command(run, write, tmp_path):
    path, model = write(codes_table(), ","), tmp_path / "m"
    note = "column 'code': numbers of equal length, some of which begin with 0"
    result = fit(run, path, "--output", model)
    assert note in result.err
    assert "nominal columns: 1" in result.out
    # a table that has no leading zero of its own is read as that of the model
    few = {"code": ["10", "010", "011"], "x": "111", "answer": ["no", "no", "yes"]}
    result = run("predict", model, write(few, ",", "few.csv"))
    assert classes(result.out, ",")[1:] == ["no", "yes"]
    assert "a category that the model has not seen ('10')" in result.err
    numeric = ["--numeric", "code"]
    result = fit(run, path, *numeric)
    assert note not in result.err
    assert "nominal" not in result.out
    assert "nominal" not in run("stream", path, "--target", "answer", *numeric).out
    assert "nominal columns: 1" in run("stream", path, "--target", "answer").out
    assert note in label_notes(path)
    assert note not in label_notes(path, *numeric)


def test_numeric_needs_numbers(run, write):
    table = codes_table()
    table["fur"] = ["long", "short"] * 70
    path = write(table, ",")
    err = fit(run, path, "--numeric", "fur", code=1).err
    assert "--numeric fur: more than 10% of the values of this column are not" in err
    err = fit(run, path, "--numeric", "code", "--nominal", "code", code=1).err
    assert "cannot be both --nominal and --numeric" in err
    assert (
        "--numeric 'furr' is not one" in fit(run, path, "--numeric", "furr", code=1).err
    )


@pytest.mark.parametrize(
    ("values", "noted"),
    [
        (np.random.default_rng(0).permutation(100_000)[:101], True),
        (np.random.default_rng(0).permutation(100_000)[:100], False),
        (np.arange(101) ** 2, False),
        (-(np.arange(101) ** 2), False),
        (np.random.default_rng(0).permutation(100_000)[:101] // 2000, False),
        (np.random.default_rng(0).random(101), False),
    ],
)
def test_whole_numbers_all_different_and_unordered_may_be_ids(values, noted):
    notes = infer_column(list(map(str, values.tolist()))).notes
    assert ("as IDs are" in "".join(notes)) is noted
    assert notes == [] or noted


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["31.12.2024", "01.02.2024"], "dmy"),
        (["12/31/2024", "01/02/2024"], "mdy"),
        (["31.12.24 12:30", "01.02.24"], "dmy"),
        (["01.02.2024", "03.04.2024"], None),
        (["13.01.2024", "01.13.2024"], None),
        # a typing error is missing, and settles nothing
        (["31.12.2024"] * 15 + ["01.13.2024"], "dmy"),
        (["01.02.2024"] * 15 + ["01.13.2024"] + ["13.01.2024"], None),
        (["01.02.2024"] * 15 + ["13.01.2024"], "dmy"),
    ],
)
def test_the_only_order_of_dates_that_fits_is_taken(texts, order):
    found = infer_column(texts)
    assert found.parser is (None if order is None else DATES[order])
    assert infer_column(texts, dates="mdy").parser in (None, DATES["mdy"])


def test_dates_are_read_in_every_command(run, write, tmp_path):
    first = datetime(2024, 1, 1)
    when = [(first + timedelta(days=n)).strftime("%d.%m.%Y") for n in range(120)]
    answer = ["no"] * 60 + ["yes"] * 60
    path, model = write({"when": when, "answer": answer}), tmp_path / "m"
    note = "the day first, as no other order fits; --nominal when makes categories"
    assert note in fit(run, path, "--output", model).err
    # days that both orders fit are read in that of the model
    some = write({"when": ["01.02.2024", "02.03.2024"]}, name="some.csv")
    assert classes(run("predict", model, some).out) == ["no", "yes"]
    stream = ["stream", path, "--target", "answer", "--output", tmp_path / "s"]
    assert note in run(*stream).err
    assert "nothing was done" in run(*stream, "--resume").out
    assert note in label_notes(path)
    pq.write_table(pa.table({"when": when, "answer": answer}), tmp_path / "t.parquet")
    err = fit(run, tmp_path / "t.parquet").err
    assert note in err
    assert "strings are read as numbers; --nominal when makes categories" in err
    err = run("fit", tmp_path / "t.parquet", "--target", "answer", "--in-parts").err
    assert "column 'when': its strings are read as categories here" in err


def label_notes(path, *more):
    """Return what `label` notes of a table, before it asks for labels."""
    argv = ["label", path, "--target", "answer", *more]
    options = make_parser("").parse_args(list(map(str, argv)))
    return "\n".join(read_pool(options).notes)


# --- the target ----------------------------------------------------------------------


def test_amounts_are_not_classes(run, write, tmp_path, monkeypatch):
    n = 240
    revenue = np.random.default_rng(0).permutation(9000)[:n].tolist()
    columns = {"x": list(range(n)), "revenue": revenue}
    path = write(columns, ",")
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    message = (
        "'revenue' has 240 different values in 240 rows; this predicts classes, not"
    )
    for argv in (
        ["fit", path, "--target", "revenue"],
        ["fit", tmp_path / "t.parquet", "--target", "revenue", "--in-parts"],
        ["stream", path, "--target", "revenue"],
        ["label", path, "--target", "revenue"],
    ):
        err = run(*argv, code=1).err
        assert message in err
        assert "Make a column with a few ranges, such" in err
    classes = ",".join(map(str, revenue))
    run("stream", path, "--target", "revenue", "--classes", classes)
    columns["revenue"] = [one % 101 for one in range(n)]
    assert "101 different values" in fit_revenue(run, write(columns, ","), code=1).err
    columns["revenue"] = [one % 100 for one in range(n)]
    fit_revenue(run, write(columns, ","))
    columns = {"x": list(range(303)), "revenue": [one % 101 for one in range(303)]}
    fit_revenue(run, write(columns, ","))


def fit_revenue(run, path, **kwargs):
    return run("fit", path, "--target", "revenue", *FAST, **kwargs)


@pytest.mark.parametrize("word", ["k.A.", "#N/A", "n.a.", "NULL", " "])
def test_texts_for_missing_values_are_not_labels(run, write, tmp_path, word):
    answer = [word if n == 3 else one for n, one in enumerate(ANSWERS)]
    path = write({"amount": AMOUNTS, "answer": answer})
    pq.write_table(
        pa.table({"amount": AMOUNTS, "answer": answer}), tmp_path / "t.parquet"
    )
    expected = "target column 'answer' has no value in row 4"
    if word.strip():
        expected = f"'answer' has {word!r} in row 4, which counts as missing"
    for argv in (["fit", path], ["stream", path]):
        assert expected in run(*argv, "--target", "answer", code=1).err
    argv = ["fit", tmp_path / "t.parquet", "--in-parts", "--target", "answer"]
    assert expected in run(*argv, code=1).err
    skip = "--skip-missing"
    assert "144 rows, 1 column, 2 classes" in fit(run, path, skip).out
    assert "144 rows" in run("stream", path, "--target", "answer", skip).out
    result = fit(run, path, skip, "--test", path)
    assert "t.csv: ignored 1 row without a value of the target 'answer'" in result.err
    assert "\n144 rows: accuracy" in result.out
    sound = write({"amount": AMOUNTS, "answer": ANSWERS}, name="sound.csv")
    assert expected in fit(run, sound, "--test", path, code=1).err


def test_columns_have_the_same_texts(run, write):
    columns = {
        "n": ["k.A." if n % 3 == 0 else str(n % 7) for n in range(len(ANSWERS))],
        "fur": ["n.a." if n % 3 == 0 else "long" for n in range(len(ANSWERS))],
        "answer": ANSWERS,
    }
    result = fit(run, write(columns))
    assert "not numbers" not in result.err
    assert "nominal columns: 1" in result.out
    assert _common.MISSING_CATEGORY == _common.MISSING - {"none"}


# --- encodings -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "mark", "packed"),
    [
        ("utf-8", b"", False),
        ("utf-8-sig", codecs.BOM_UTF8, False),
        ("utf-16", codecs.BOM_UTF16, False),
        ("utf-16", codecs.BOM_UTF16, True),
        ("utf-32", codecs.BOM_UTF32, False),
    ],
)
def test_a_byte_order_mark_determines_the_encoding(
    run, write, tmp_path, encoding, mark, packed
):
    columns = {"größe": map(str, AMOUNTS), "answer": ANSWERS}
    path, model = write(columns, encoding=encoding), tmp_path / "m"
    if packed:
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "t.csv.gz"
    assert "größe <= 1490" in fit(run, path, "--output", model).out
    output = tmp_path / "out.csv"
    run("predict", model, path, "--keep", "größe", "--output", output)
    written = output.read_bytes()
    assert written.startswith(mark)
    assert not written.removeprefix(mark).startswith(codecs.BOM_UTF8)
    text = written.decode(encoding)
    assert text.startswith("größe;answer;probability\n100;low;0,9")


def test_big_endian_and_an_encoding_that_is_named(run, write, tmp_path):
    columns = {"größe": AMOUNTS, "answer": ANSWERS}
    path = write(columns)
    text = path.read_text("utf-8")
    path.write_bytes(codecs.BOM_UTF16_BE + text.encode("utf-16-be"))
    assert "--encoding 'hex' is not" in fit(run, path, "--encoding", "hex", code=1).err
    for more in ([], ["--encoding", "utf-16"], ["--encoding", "utf-16-be"]):
        assert "größe <= 1490" in fit(run, path, *more).out
    path.write_text(text, encoding="latin-1")
    assert "set --encoding, such as" in fit(run, path, code=1).err
    model, output = tmp_path / "m", tmp_path / "out.csv"
    fit(run, path, "--encoding", "latin-1", "--output", model)
    argv = ["predict", model, path, "--encoding", "latin-1", "--keep", "größe"]
    run(*argv, "--output", output)
    assert output.read_text("latin-1").startswith("größe;answer;probability\n")


def test_classes_that_an_encoding_lacks_are_written_in_another(run, write, tmp_path):
    answer = ["♥" if one == "low" else "♠" for one in ANSWERS]
    path, model = write({"amount": AMOUNTS, "answer": answer}), tmp_path / "m"
    output = tmp_path / "out.csv"
    fit(run, path, "--output", model)
    path = write({"amount": AMOUNTS, "größe": AMOUNTS}, encoding="latin-1")
    argv = ["predict", model, path, "--encoding", "latin-1", "--output", output]
    assert "latin-1 lacks characters of the classes" in run(*argv).err.replace(
        "iso8859-1", "latin-1"
    )
    assert "♥" in output.read_text("utf-8")


# --- predict -------------------------------------------------------------------------


def test_predictions_are_written_as_the_table_is(run, write, german, tmp_path):
    model = tmp_path / "m"
    fit(run, german, "--output", model)
    out = run("predict", model, german, "--keep", "amount").out
    assert out.startswith("amount;answer;probability\n100;low;0,9")
    assert "\n2.980;high;0,9" in out
    assert classes(run("predict", model, german).out) == ANSWERS
    out = run("predict", model, german, "--proba").out
    assert out.startswith("answer;probability of high;probability of low\n")
    assert out.count(",") == 2 * len(ANSWERS)
    tabs = write({"amount": ["0.5", "7.25"], "x": "12"}, "\t", "tabs.csv")
    out = run("predict", model, tabs, "--decimal", ".").out
    assert out.startswith("answer\tprobability\nlow\t0.9")
    pq.write_table(pa.table({"amount": [100.0, 2980.0]}), tmp_path / "t.parquet")
    out = run("predict", model, tmp_path / "t.parquet").out
    assert out.startswith("answer,probability\nlow,0.9")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_mark_is_written_to_standard_output(
    run, german, tmp_path, monkeypatch, is_terminal
):
    """A terminal has an encoding of its own, a file that is written has not."""
    model, output = tmp_path / "m", io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    german.write_bytes(codecs.BOM_UTF8 + german.read_bytes())
    fit(run, german, "--output", model)
    monkeypatch.setattr(output, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr("sys.stdout", output)
    assert main(["predict", str(model), str(german)]) == 0
    mark = b"" if is_terminal else codecs.BOM_UTF8
    assert output.buffer.getvalue().startswith(mark + b"answer;probability\n")


def test_a_model_reads_later_tables_as_its_own(run, write, german, tmp_path):
    model = tmp_path / "m"
    fit(run, german, "--output", model)
    # three whole numbers, none of which tells how a file is written
    some = write({"amount": ["300", "2.300", "900"]}, name="some.csv")
    result = run("predict", model, some)
    assert classes(result.out) == ["low", "high", "low"]
    assert result.err == ""
    amounts = {"amount": ["300", "2.300", "230"], "x": "123"}
    english = write(amounts, ",", "english.csv")
    result = run("predict", model, english)
    assert classes(result.out, ",") == ["low", "high", "low"]
    assert (
        "column 'amount': '2.300' is read as 2300, as in the table of the model; "
        "--decimal . reads '2.300' as 2.3" in result.err
    )
    result = run("predict", model, english, "--decimal", ".")
    assert classes(result.out, ",") == ["low", "low", "low"]
    assert result.err == ""


def test_numbers_with_another_sign_than_the_model_knows_are_noted(
    run, write, german, tmp_path
):
    model = tmp_path / "m"
    plain = write({"amount": AMOUNTS, "answer": ANSWERS}, ",", "plain.csv")
    fit(run, plain, "--output", model)
    result = run("predict", model, german)
    assert (
        "column 'amount': '1.000' is read as 1, as in the table of the model; "
        "--decimal , reads '1.000' as 1000" in result.err
    )
    result = run("predict", model, german, "--decimal", ",")
    assert result.err == ""
    assert classes(result.out) == ANSWERS
    result = fit(run, plain, "--test", german)
    assert "t.csv: column 'amount': '1.000' is read as 1, as in the" in result.err


def test_a_requested_sign_is_stored_in_the_model(run, write, german, tmp_path):
    model = tmp_path / "m"
    fit(run, german, "--decimal", ".", "--output", model)
    assert _model_file.load(model)[1]["--decimal"] == "."
    result = run("predict", model, german)
    assert classes(result.out) == ANSWERS
    assert result.err == ""
    assert "low;0.9" in result.out


# --- stream --------------------------------------------------------------------------


@pytest.mark.parametrize("option", [["--decimal", "."], ["--numeric", "amount"]])
def test_a_resumed_stream_reads_as_it_began(run, write, german, tmp_path, option):
    model, report = tmp_path / "m", tmp_path / "r.json"
    argv = ["stream", german, "--target", "answer", "--output", model]
    argv += ["--chunk-size", "7"]
    result = run(*argv, "--json", report)
    assert "'1.000' is read as 1000" in result.err
    assert any(
        "1000" in note for note in json.loads(report.read_text())["data"]["notes"]
    )
    assert _model_file.load(model)[1]["readings"] == ["decimal comma"]
    err = run(*argv, "--resume", *option, code=1).err
    assert f"{option[0]} changed from " in err
    with german.open("a") as file:
        file.write("2.980;high\n")
    assert "146 rows" in run(*argv, "--resume").out
    assert classes(run("predict", model, german).out)[-1] == "high"
