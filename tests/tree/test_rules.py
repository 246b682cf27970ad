"""Rules in Python and SQL give the predictions of the tree without the package."""

import enum
import json
import math
import re
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.effort import examples
from reference.mixed_table import FRAME, SETTINGS, Y
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import export_rules
from skconftree.tree.reading._programs import DIALECTS, limit


@pytest.fixture(params=SETTINGS)
def tree(request):
    return ConfidenceTreeClassifier(**SETTINGS[request.param]).fit(FRAME, Y)


def records(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def in_sqlite(rules, frame):
    with sqlite3.connect(":memory:") as base:
        frame.astype(object).where(frame.notna(), None).to_sql("t", base)
        return base.execute(f'SELECT {rules} FROM t ORDER BY "index"').fetchall()


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
def test_rules_in_python_predict_as_the_tree_does(tree):
    rules, of_class = (
        export_rules(tree),
        export_rules(tree, response_method="predict", name="label"),
    )
    assert "import" not in rules
    program = {}
    exec(f"{rules}\n\n{of_class}", program)
    strange = FRAME.assign(**{"bark's kind": "glows", 'height "m"': np.nan})
    for rows in (FRAME, strange):
        got = [program["predict"](row) for row in records(rows)]
        assert [*got[0]] == tree.classes_.tolist()
        assert_array_equal([[*row.values()] for row in got], tree.predict_proba(rows))
        holes = rows.astype(object).to_dict("records")  # NaN instead of None
        assert [program["predict"](row) for row in holes] == got
        labels = [program["label"](row) for row in holes]
        assert_array_equal(labels, tree.predict(rows))


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
@pytest.mark.parametrize("setting", SETTINGS)
def test_rules_in_sql_predict_as_the_tree_does(setting):
    frame = FRAME.rename(columns=lambda name: name.replace("\n", " "))
    tree = ConfidenceTreeClassifier(**SETTINGS[setting]).fit(frame, Y)
    strange = frame.assign(**{"bark's kind": "glows", 'height "m"': np.nan})
    for rows in (frame, strange):
        got = in_sqlite(export_rules(tree, "sql"), rows)
        assert_allclose(got, tree.predict_proba(rows), rtol=4e-16)
        of_class = export_rules(tree, "sql", response_method="predict")
        assert_array_equal(in_sqlite(of_class, rows), tree.predict(rows)[:, None])


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
def test_rules_of_a_forest():
    frame = FRAME.rename(columns=lambda name: name.replace("\n", " "))
    forest = ConfidenceForestClassifier(34, max_depth=2, random_state=0).fit(frame, Y)
    program = {}
    exec(export_rules(forest), program)
    rows = frame.assign(**{"bark's kind": frame["bark's kind"].replace("none", "new")})
    proba = forest.predict_proba(rows)
    got = [[*program["predict"](row).values()] for row in records(rows)]
    assert_allclose(got, proba, rtol=1e-14)
    assert_allclose(in_sqlite(export_rules(forest, "sql"), rows), proba, rtol=1e-14)
    for arguments in ({"language": "json"}, {"response_method": "predict"}):
        with pytest.raises(ValueError, match="for a single tree"):
            export_rules(forest, **arguments)


def test_rules_of_a_forest_that_weights_its_votes():
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(3, vote="accuracy", random_state=0)
    forest.set_params(leaf_prediction="majority")
    order = np.random.default_rng(0).permutation(len(X))
    forest.partial_fit(X[order], y[order], np.unique(y))
    program = {}
    exec(export_rules(forest), program)
    got = [[*program["predict"](row).values()] for row in X.tolist()]
    assert_allclose(got, forest.predict_proba(X), rtol=1e-12)


def belongs(rule, row):
    """Whether a row satisfies the conditions of a rule in JSON."""
    for test in rule["conditions"]:
        value = row[test["column"]]
        if value is None:
            passes = test["missing"]
        elif "in" in test:
            passes = value in test["in"]
        elif "not_in" in test:
            passes = value not in test["not_in"]
        else:
            low, high = test["above"], test["at_most"]
            passes = test["known"] and (low is None or value > low)
            passes = passes and (high is None or value <= high)
        if not passes:
            return False
    return True


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
def test_each_row_belongs_to_one_rule_in_json(tree):
    rules = json.loads(export_rules(tree, "json"))
    lines = export_rules(tree, "list").split("\n")
    assert len(lines) == tree.get_n_leaves()
    strange = FRAME.assign(**{"bark's kind": "glows"})
    frame = pd.concat([FRAME, strange], ignore_index=True)
    for row, leaf, values in zip(
        records(frame), tree.apply(frame), tree.predict_proba(frame), strict=True
    ):
        (rule,) = (one for one in rules if belongs(one, row))
        assert rule["node"] == leaf
        assert [*rule["probabilities"].values()] == values.tolist()
        assert rule["probability"] == max(values)
    rules = [rule for rule in rules if rule["rows"]]
    for rule, line in zip(rules, lines, strict=True):
        assert line.startswith(f"IF {rule['text']} THEN {rule['class']} (")


def test_a_list_has_a_line_for_each_leaf_with_merged_conditions():
    rng = np.random.default_rng(0)
    x, kind = rng.integers(0, 10, 900).astype(float), rng.choice([*"abc"], 900)
    frame = pd.DataFrame({"x": x, "kind": kind})
    y = np.where((x > 2) & (x <= 5) & (kind != "b"), "yes", "no")
    frame.loc[::40, "x"] = np.nan
    tree = ConfidenceTreeClassifier(random_state=0).fit(frame, y)
    lines = export_rules(tree, "list").split("\n")
    assert any(re.match(r"IF 2 < x <= 5 AND kind in {a, c} THEN yes", s) for s in lines)
    assert any(" or missing" in line for line in lines)
    chances = [rule["probability"] for rule in json.loads(export_rules(tree, "json"))]
    assert chances == sorted(chances, reverse=True)
    options = {"order": "support", "min_rows": 100, "min_probability": 0.99}
    best = json.loads(export_rules(tree, "json", **options))
    rows = [rule["rows"] for rule in best]
    assert rows == sorted(rows, reverse=True)
    assert min(rows) >= 100
    assert 0 < len(best) < len(lines)
    assert min(rule["probability"] for rule in best) >= 0.99
    stump = ConfidenceTreeClassifier(min_samples_leaf=600).fit(frame, y)
    assert export_rules(stump, "list").startswith("ALL ROWS: no (0.")
    known = ConfidenceTreeClassifier().fit(frame[["x"]], frame.x.isna())
    assert {
        line.split(" THEN ")[0] for line in export_rules(known, "list").split("\n")
    } == {"IF x is known", "IF x is missing"}


def test_rules_of_arrays_and_numbers():
    X, y = load_iris(return_X_y=True)
    model = ConfidenceTreeClassifier(None).fit(X, y)
    program = {}
    exec(export_rules(model, name="kind_of"), program)
    got = [program["kind_of"](row) for row in X.tolist()]
    assert [max(row, key=row.get) for row in got] == y.tolist()
    assert '"x2" <= ' in export_rules(model, "sql")
    named = export_rules(model, feature_names=list("abcd"))
    assert "row['c']" in named
    stump = ConfidenceTreeClassifier(min_samples_leaf=80).fit(X, y)
    assert export_rules(stump, "sql").startswith("0.3333333333333333e0 /* 150 rows */")


def test_limits_agree_with_float32_for_every_double():
    rng = np.random.default_rng(0)
    lows = np.concatenate([rng.normal(size=300), [0.0, -0.0, 2.5, 1e-45, 3e38, -3e38]])
    for low in lows.astype(np.float32):
        high = np.nextafter(low, np.float32(np.inf))
        for threshold in (float(low), (float(low) + float(high)) / 2):
            most = limit(threshold)
            assert float(np.float32(most)) <= threshold
            after = np.float32(math.nextafter(most, math.inf))
            assert float(after) > threshold


@pytest.mark.parametrize(
    ("threshold", "most"),
    [
        (1e39, float(np.finfo(np.float32).max)),
        (math.inf, math.inf),
        (-math.inf, -math.inf),
        (-1e39, -math.inf),
    ],
)
def test_limits_beyond_float32(threshold, most):
    assert limit(threshold) == most


def test_rules_of_deep_trees():
    """Python allows a hundred levels of indentation, SQLite as many open brackets."""
    X = np.arange(700.0)[:, None]
    y = np.arange(700) % 2
    model = ConfidenceTreeClassifier(None, pruning=None).fit(X, y)
    assert model.get_depth() > 300
    program, arguments = {}, {"response_method": "predict"}
    exec(export_rules(model, **arguments), program)
    assert [program["predict"](row) for row in X.tolist()] == y.tolist()
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE t (x0 REAL)")
        base.executemany("INSERT INTO t VALUES (?)", X.tolist())
        rules = export_rules(model, "sql", **arguments)
        got = base.execute(f"SELECT {rules} FROM t").fetchall()
    assert [label for (label,) in got] == y.tolist()
    assert rules.count("CASE") < 3


def test_what_cannot_be_a_rule_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        export_rules(ConfidenceTreeClassifier())
    model = ConfidenceTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="language must be one of"):
        export_rules(model, "java")
    for parameter in ("dialect", "order", "response_method"):
        with pytest.raises(ValueError, match=rf"{parameter} must be one of \['"):
            export_rules(model, "sql", **{parameter: "oracle"})
    for name in ("os.system('x')", "lambda", None, 3):
        with pytest.raises(ValueError, match="name must be a Python identifier"):
            export_rules(model, name=name)
    with pytest.raises(ValueError, match=r"feature_names must be unique.*'b', 'b'"):
        export_rules(model, feature_names=["a", "b", "b", "c"])
    for limits in ({"min_probability": 50}, {"min_rows": -1}):
        with pytest.raises(ValueError, match=rf"{next(iter(limits))} == "):
            export_rules(model, "list", **limits)
    with pytest.raises(TypeError, match="min_rows must be an instance of float"):
        export_rules(model, "list", min_rows="10")
    stream = ConfidenceTreeClassifier(leaf_prediction="nb").partial_fit(
        X, y, np.unique(y)
    )
    with pytest.raises(ValueError, match="naive Bayes"):
        export_rules(stream)
    tuples = np.empty((40, 1), dtype=object)
    tuples[:, 0] = [(1, 2), (3, 4)] * 20
    model = ConfidenceTreeClassifier(categorical_features=[0])
    with pytest.raises(ValueError, match=r"category \(\d, \d\) is a tuple"):
        export_rules(model.fit(tuples, [0, 1] * 20))
    numbers = np.array([[np.float64(2.5)], [np.inf]] * 20, dtype=object)
    with pytest.raises(ValueError, match="category inf is not finite"):
        export_rules(model.fit(numbers, [0, 1] * 20))


def test_rules_run_without_this_package(tmp_path):
    X, y = load_iris(return_X_y=True)
    program = tmp_path / "rules.py"
    tree = ConfidenceTreeClassifier().fit(X, y)
    rules = export_rules(tree, response_method="predict")
    program.write_text(f"{rules}\n\nprint(predict([5.0, 3.0, 1.4, 0.2]))\n")
    run = subprocess.run(
        [sys.executable, "-I", "-S", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "0\n"


SYSTEMS = ["postgres", "sqlite", "duckdb", "oracle", "tsql", "snowflake"]
SYSTEMS += ["mysql", "bigquery", "spark", "clickhouse"]
PIECES = [*"'\"`\\#;(), []\n\r\0$:@?%a", "--", "/*", "*/", "$$", "${a}", "{{", "\\'"]
PIECES += ["THEN (SELECT b FROM c)", "OR 1 = 1", "é", "\ud800", "\x85", "GO", "''"]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(
    lambda all: "".join(all) + "_"
)
TABLES = {
    "column": HOSTILE,
    "categories": st.lists(HOSTILE, min_size=2, max_size=2, unique=True),
    "labels": st.lists(HOSTILE, min_size=2, max_size=2, unique=True),
}


def tree_of_names(column, categories, labels):
    X = np.array([[*categories] * 2], dtype=object).T
    options = {"nominal_splits": "multiway", "categorical_features": [0]}
    tree = ConfidenceTreeClassifier(bound=None, **options)
    return tree.fit(X, np.array([*labels] * 2, dtype=object)), [column]


def rules_or_none(tree, names, **arguments):
    """Rules in SQL; None if a name is refused."""
    try:
        return export_rules(tree, "sql", feature_names=names, **arguments)
    except ValueError as error:
        if "Rename it in the data" not in str(error):
            raise
        return None


def parts_of(rules, dialect):
    """Columns, names of results and strings of the only SELECT, which has no others."""
    exp = pytest.importorskip("sqlglot").exp
    (found,) = pytest.importorskip("sqlglot").parse(rules, read=dialect)
    allowed = {exp.Select, exp.Case, exp.If, exp.In, exp.Literal, exp.Column, exp.Alias}
    allowed |= {exp.Identifier, exp.From, exp.Table, exp.Is, exp.Null, exp.Or, exp.Not}
    allowed |= {exp.National, exp.Introducer, exp.HexString, exp.Paren, exp.ByteString}
    allowed |= {exp.Concat}  # of Spark, for a doubled quotation mark
    assert {type(node) for node in found.walk()} <= allowed
    strings = [
        one.this
        for one in found.find_all(exp.Literal, exp.National, exp.ByteString)
        if not isinstance(one, exp.Literal) or one.is_string
    ]
    strings += [
        bytes.fromhex(one.this).decode() for one in found.find_all(exp.HexString)
    ]
    names = [one.alias for one in found.find_all(exp.Alias)]
    return {one.name for one in found.find_all(exp.Column)}, names, strings


def decoded(text):
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)


@pytest.mark.parametrize("dialect", DIALECTS[1:])
@settings(max_examples=examples(100, by_day=4), deadline=None)
@given(**TABLES)
def test_no_text_of_the_data_leaves_its_literal(dialect, column, categories, labels):
    tree, names = tree_of_names(column, categories, labels)
    of_class = {"dialect": dialect, "response_method": "predict"}
    for arguments in ({"dialect": dialect}, of_class):
        rules = rules_or_none(tree, names, **arguments)
        if rules is None:
            texts = "".join([column, *categories, *labels])
            harmless = not {"\0", "\ud800"}.intersection(texts)
            assert not (harmless and dialect in ("duckdb", "sqlite", "postgres"))
            continue
        assert dialect != "spark" or "${" not in rules
        alias = " AS d" if arguments is of_class else ""
        system = "tsql" if dialect == "mssql" else dialect
        found = parts_of(f"SELECT {rules}{alias} FROM t", system)
        columns, results, strings = (set(map(decoded, part)) for part in found)
        assert columns == {decoded(column)}
        expected = {*categories, *(labels if alias else ())}
        assert strings == set(map(decoded, expected))
        if not alias:
            assert results == {decoded(f"proba_{label}") for label in labels}


def in_duckdb(rules, column, values):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    with duckdb.connect() as base:
        base.execute(f'CREATE TABLE t ("{column}" VARCHAR)')
        base.executemany("INSERT INTO t VALUES (?)", values)
        found = base.execute(f"SELECT {rules} FROM t")
        return [one[0] for one in found.description], found.fetchall()


def in_sqlite_table(rules, column, values):
    with sqlite3.connect(":memory:") as base:
        base.execute(f'CREATE TABLE t ("{column}")')
        base.executemany("INSERT INTO t VALUES (?)", values)
        found = base.execute(f"SELECT {rules} FROM t")
        return [one[0] for one in found.description], found.fetchall()


@pytest.mark.parametrize(
    ("dialect", "execute"), [("sqlite", in_sqlite_table), ("duckdb", in_duckdb)]
)
@settings(max_examples=examples(100, by_day=4), deadline=None)
@given(**TABLES)
def test_hostile_names_are_executed_as_names(
    dialect, execute, column, categories, labels
):
    tree, names = tree_of_names(column, categories, labels)
    arguments = [column.replace('"', '""'), [[one] for one in categories]]
    rules = rules_or_none(tree, names, dialect=dialect)
    if rules is None:
        return
    found, values = execute(rules, *arguments)
    assert found == [f"proba_{label}" for label in tree.classes_]
    assert_array_equal(values, tree.predict_proba(np.array([categories]).T))
    of_class = {"dialect": dialect, "response_method": "predict"}
    rules = rules_or_none(tree, names, **of_class)
    assert [label for (label,) in execute(rules, *arguments)[1]] == labels


@settings(max_examples=examples(80, by_day=8), deadline=None)
@given(**TABLES)
def test_the_default_dialect_is_safe_in_every_system(column, categories, labels):
    sqlglot = pytest.importorskip("sqlglot")
    tree, names = tree_of_names(column, categories, labels)
    rules = rules_or_none(tree, names, response_method="predict")
    if rules is None:
        return
    assert "\\" not in rules
    for system in SYSTEMS:
        try:
            found = parts_of(f"SELECT {rules} AS d FROM t", system)
        except sqlglot.errors.SqlglotError:  # an error executes nothing
            assert "'" in "".join([*categories, *labels]) or '"' in column
            continue
        columns, _, strings = found
        assert columns <= {column}
        if system in ("postgres", "sqlite", "duckdb"):
            assert set(strings) == {*categories, *labels}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\\", "has a backslash"),
        ("a\nb", "has a control character"),
        ("a\0b", "has a zero byte"),
        ("\ud800", "half of a surrogate pair"),
        ("QQ", "begins with"),
        ("aQQb", "two of them in a row"),
    ],
)
def test_text_that_sql_could_misread_is_an_error(text, reason):
    quoted = [text.replace("Q", "'"), text.replace("Q", '"')]
    for place, parts in enumerate(
        [
            (quoted[1], ["a", "b"], ["c", "d"]),
            ("x", ["a", quoted[0]], ["c", "d"]),
            ("x", ["a", "b"], ["c", quoted[0]]),
        ]
    ):
        tree, names = tree_of_names(*parts)
        what = ["column", "category", "class"][place]
        of_class = {"feature_names": names, "response_method": "predict"}
        with pytest.raises(ValueError, match=f"^The {what} .* {reason}"):
            export_rules(tree, "sql", **of_class)
        program = {}
        exec(export_rules(tree, **of_class), program)
        rows = [{names[0]: one} for one in parts[1]]
        assert [program["predict"](row) for row in rows] == parts[2]


def test_comment_signs_in_names_end_no_comment():
    X = np.arange(100.0)[:, None]
    tree = ConfidenceTreeClassifier().fit(X, X[:, 0] > 50)
    for name in ("km /* per hour", "km */*/ per hour", "/*/", "--", "a /*"):
        rules = export_rules(tree, "sql", feature_names=[name])
        rest = rules.replace(f'"{name}"', "x")
        assert rest.count("/*") == rest.count("*/") == 3
        assert "--" not in rest


class Kind(enum.StrEnum):
    ONE = "one"
    TWO = "two"


def test_values_of_subclasses_are_written_as_plain_ones():
    tree, names = tree_of_names("x", [*Kind], ["b", "a"])
    program = {}
    exec(export_rules(tree, feature_names=names), program)
    assert program["predict"]({"x": "two"}) == {"a": 1.0, "b": 0.0}
    assert "'two'" in export_rules(tree, "sql", feature_names=names)
