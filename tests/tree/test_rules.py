"""Rules in Python and SQL give the predictions of the tree without the package."""

import enum
import math
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from reference.effort import examples
from reference.mixed_table import FRAME, SETTINGS, Y
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_rules
from skconftree.tree.reading._rules import limit


@pytest.fixture(params=SETTINGS)
def tree(request):
    return ConfidenceTreeClassifier(**SETTINGS[request.param]).fit(FRAME, Y)


def records(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
def test_rules_in_python_predict_as_the_tree_does(tree):
    rules = export_rules(tree)
    assert "import" not in rules
    program = {}
    exec(rules, program)
    strange = FRAME.assign(**{"bark's kind": "glows", 'height "m"': np.nan})
    for rows in (FRAME, strange):
        got = [program["predict"](row) for row in records(rows)]
        assert_array_equal(got, tree.predict(rows))
        holes = rows.astype(object).to_dict("records")  # NaN instead of None
        assert [program["predict"](row) for row in holes] == got


@pytest.mark.filterwarnings("ignore:Column .* has only unknown categories")
@pytest.mark.parametrize("setting", SETTINGS)
def test_rules_in_sql_predict_as_the_tree_does(setting):
    frame = FRAME.rename(columns=lambda name: name.replace("\n", " "))
    tree = ConfidenceTreeClassifier(**SETTINGS[setting]).fit(frame, Y)
    rules = export_rules(tree, "sql")
    strange = frame.assign(**{"bark's kind": "glows", 'height "m"': np.nan})
    for rows in (frame, strange):
        with sqlite3.connect(":memory:") as base:
            rows.astype(object).where(rows.notna(), None).to_sql("t", base)
            got = base.execute(f'SELECT {rules} FROM t ORDER BY "index"').fetchall()
        assert_array_equal([label for (label,) in got], tree.predict(rows))


def test_rules_of_arrays_and_numbers():
    X, y = load_iris(return_X_y=True)
    model = ConfidenceTreeClassifier(None).fit(X, y)
    program = {}
    exec(export_rules(model, name="kind_of"), program)
    assert [program["kind_of"](row) for row in X.tolist()] == y.tolist()
    assert '"x2" <= ' in export_rules(model, "sql")
    named = export_rules(model, feature_names=list("abcd"))
    assert "row['c']" in named
    stump = ConfidenceTreeClassifier(min_samples_leaf=80).fit(X, y)
    assert export_rules(stump, "sql").startswith("0 /* 50 of 150 rows, ")


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
    program = {}
    exec(export_rules(model), program)
    assert [program["predict"](row) for row in X.tolist()] == y.tolist()
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE t (x0 REAL)")
        base.executemany("INSERT INTO t VALUES (?)", X.tolist())
        got = base.execute(f"SELECT {export_rules(model, 'sql')} FROM t").fetchall()
    assert [label for (label,) in got] == y.tolist()


def test_what_cannot_be_a_rule_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        export_rules(ConfidenceTreeClassifier())
    model = ConfidenceTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="language must be one of"):
        export_rules(model, "java")
    with pytest.raises(ValueError, match=r"dialect must be one of \['ansi'\]"):
        export_rules(model, "sql", dialect="mysql")
    for name in ("os.system('x')", "lambda"):
        with pytest.raises(ValueError, match="name must be a Python identifier"):
            export_rules(model, name=name)
    stream = ConfidenceTreeClassifier(leaf_prediction="nb").partial_fit(
        X, y, np.unique(y)
    )
    with pytest.raises(ValueError, match="naive Bayes"):
        export_rules(stream)
    tuples = np.empty((40, 1), dtype=object)
    tuples[:, 0] = [(1, 2), (3, 4)] * 20
    model = ConfidenceTreeClassifier(categorical_features=[0])
    with pytest.raises(ValueError, match=r"category \(1, 2\) is a tuple"):
        export_rules(model.fit(tuples, [0, 1] * 20))
    numbers = np.array([[np.float64(2.5)], [np.inf]] * 20, dtype=object)
    with pytest.raises(ValueError, match="category inf is not finite"):
        export_rules(model.fit(numbers, [0, 1] * 20))


def test_rules_run_without_this_package(tmp_path):
    X, y = load_iris(return_X_y=True)
    program = tmp_path / "rules.py"
    rules = export_rules(ConfidenceTreeClassifier().fit(X, y))
    program.write_text(f"{rules}\n\nprint(predict([5.0, 3.0, 1.4, 0.2]))\n")
    run = subprocess.run(
        [sys.executable, "-I", "-S", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "0\n"


DIALECTS = ["postgres", "sqlite", "duckdb", "oracle", "tsql", "snowflake"]
DIALECTS += ["mysql", "bigquery", "spark", "clickhouse"]
PIECES = [
    "'",
    '"',
    "`",
    "\\",
    "--",
    "/*",
    "*/",
    "#",
    ";",
    "(",
    ")",
    ",",
    " ",
    "\n",
    "\0",
]
PIECES += ["a", "$$", "{{", "THEN (SELECT b FROM c)", "OR 1 = 1", "é", "\ud800"]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(
    lambda all: "".join(all) + "."
)


def tree_of_names(column, categories, labels):
    X = np.array([[*categories] * 2], dtype=object).T
    options = {"nominal_splits": "multiway", "categorical_features": [0]}
    tree = ConfidenceTreeClassifier(bound=None, **options)
    return tree.fit(X, np.array([*labels] * 2, dtype=object)), [column]


@settings(max_examples=examples(80, by_day=8), deadline=None)
@given(
    column=HOSTILE,
    categories=st.lists(HOSTILE, min_size=2, max_size=2, unique=True),
    labels=st.lists(HOSTILE, min_size=2, max_size=2, unique=True),
)
def test_no_text_of_the_data_is_read_as_sql(column, categories, labels):
    sqlglot = pytest.importorskip("sqlglot")
    exp = sqlglot.exp
    tree, names = tree_of_names(column, categories, labels)
    try:
        rules = export_rules(tree, "sql", feature_names=names)
    except ValueError as error:
        if "Rename it in the data" not in str(error):
            raise
        return
    assert "\\" not in rules
    allowed = {exp.Select, exp.Case, exp.If, exp.In, exp.Literal, exp.Column, exp.Alias}
    allowed |= {exp.Identifier, exp.From, exp.Table}
    allowed |= {exp.Concat}  # of Spark, for a doubled quotation mark
    for dialect in DIALECTS:
        try:
            (found,) = sqlglot.parse(f"SELECT {rules} AS d FROM t", read=dialect)
        except sqlglot.errors.SqlglotError:  # an error executes nothing
            assert "'" in "".join([*categories, *labels]) or '"' in column
            continue
        assert {type(node) for node in found.walk()} <= allowed, dialect
        assert {one.name for one in found.find_all(exp.Column)} <= {column}
        if dialect in ("postgres", "sqlite", "duckdb"):
            texts = [one.this for one in found.find_all(exp.Literal)]
            assert sorted(set(texts)) == sorted({*categories, *labels})
    with sqlite3.connect(":memory:") as base:
        quoted = column.replace('"', '""')
        base.execute(f'CREATE TABLE t ("{quoted}")')
        base.executemany("INSERT INTO t VALUES (?)", [[one] for one in categories])
        got = base.execute(f"SELECT {rules} FROM t").fetchall()
    assert [label for (label,) in got] == labels


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\\", "has a backslash"),
        ("a\nb", "has a control character"),
        ("a\0b", "has a control character"),
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
        with pytest.raises(ValueError, match=f"^The {what} .* {reason}"):
            export_rules(tree, "sql", feature_names=names)
        program = {}
        exec(export_rules(tree, feature_names=names), program)
        rows = [{names[0]: one} for one in parts[1]]
        assert [program["predict"](row) for row in rows] == parts[2]


def test_comment_signs_in_names_end_no_comment():
    X = np.arange(100.0)[:, None]
    tree = ConfidenceTreeClassifier().fit(X, X[:, 0] > 50)
    for name in ("km /* per hour", "km */*/ per hour", "/*/", "--", "a /*"):
        rules = export_rules(tree, "sql", feature_names=[name])
        rest = rules.replace(f'"{name}"', "x")
        assert rest.count("/*") == rest.count("*/") == 2
        assert "--" not in rest


class Kind(enum.StrEnum):
    ONE = "one"
    TWO = "two"


def test_values_of_subclasses_are_written_as_plain_ones():
    tree, names = tree_of_names("x", [*Kind], ["b", "a"])
    program = {}
    exec(export_rules(tree, feature_names=names), program)
    assert program["predict"]({"x": "two"}) == "a"
    assert "'two'" in export_rules(tree, "sql", feature_names=names)
