"""Rules in SQL give the probabilities of `predict_proba` on rows of real tables.

Needs the folder of the benchmarks' data (variable SKCONFTREE_DATA), and DuckDB.
"""

import os
import sqlite3

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scripts import benchmarks_on_path

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import export_rules

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("SKCONFTREE_DATA" not in os.environ, reason="needs real tables"),
]
N_ROWS = 1_000_000  # of all tables


@pytest.fixture(scope="module")
def data():
    with pytest.MonkeyPatch.context() as patch, benchmarks_on_path(patch):
        from common import data

        yield data


def test_sql_equals_predict_proba(data):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    folder = data.data_folder()
    names, n_rows = sorted(data.manifest(folder)), 0
    for i, name in enumerate(names):
        X, y, nominal = data.load(name, folder)
        forest = ConfidenceForestClassifier(10, random_state=0)
        models = [ConfidenceTreeClassifier(random_state=0), forest]
        models = [model.fit(X, y) for model in models]
        size = -(-(N_ROWS - n_rows) // (len(names) - i))
        rows = X.iloc[np.random.default_rng(i).integers(0, len(X), size)]
        expected = [model.predict_proba(rows) for model in models]
        n_rows += size
        values = rows.astype(object).where(rows.notna(), None)
        columns = ", ".join(
            f'"{column}" {"TEXT" if column in nominal else "REAL"}' for column in X
        )
        with sqlite3.connect(":memory:") as lite, duckdb.connect() as duck:
            lite.execute(f"CREATE TABLE t ({columns})")
            marks = ", ".join("?" * X.shape[1])
            lite.executemany(f"INSERT INTO t VALUES ({marks})", values.values.tolist())
            duck.register("frame", values if nominal else rows)
            duck.execute(f"CREATE TABLE t ({columns})")
            duck.execute("INSERT INTO t SELECT * FROM frame")
            for base, dialect in ((lite, "sqlite"), (duck, "duckdb")):
                for model, proba in zip(models, expected, strict=True):
                    rules = export_rules(model, "sql", dialect=dialect)
                    found = base.execute(f"SELECT {rules} FROM t").fetchall()
                    if model is forest:
                        assert_allclose(found, proba, rtol=0, atol=1e-12, err_msg=name)
                    elif base is duck:
                        assert_array_equal(found, proba, err_msg=name)
                    else:  # SQLite may read a decimal as the double next to it
                        assert_allclose(found, proba, rtol=3e-16, err_msg=name)
    assert n_rows == N_ROWS


def test_rules_of_a_large_tree_are_short(data):
    """An expression with all conditions of each leaf would be 918 KB long."""
    X, y, _ = data.load("letter", data.data_folder())
    tree = ConfidenceTreeClassifier(None, pruning=None).fit(X, y)
    assert tree.get_n_leaves() > 2000
    rules = export_rules(tree, "sql", response_method="predict")
    assert len(rules) < 400_000
    depth = max(len(line) - len(line.lstrip()) for line in rules.split("\n")) / 4
    assert depth <= np.log2(tree.get_n_leaves())
