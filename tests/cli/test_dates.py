"""Thresholds of dates are written as dates, wherever a tree is shown."""

import csv
import json
import re
from datetime import datetime, timedelta

import numpy as np
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import main
from skconftree._cli._common import with_dates
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.tree import (
    export_html,
    export_rules,
    export_text,
    node_table,
)
from skconftree.utils import _model_file

DAYS = 19_700  # since 1970-01-01, of 2023-12-09


@pytest.fixture(scope="module")
def tree():
    """A tree of a day, a time and a number."""
    rng = np.random.default_rng(0)
    day = DAYS + rng.integers(0, 100, 600)
    time = (DAYS + rng.uniform(0, 100, 600)).astype(np.float32)
    X = np.column_stack([day, time, rng.normal(size=600)]).astype(np.float32)
    X[::50, 1] = np.nan
    y = (day > DAYS + 39) + (np.nan_to_num(X[:, 1], nan=DAYS) > DAYS + 60.25)
    kinds = ("day", "time", None)
    return with_dates(ConfidenceTreeClassifier().fit(X, y), kinds), X


def thresholds(tree):
    """Those of each column, from the arrays."""
    nodes = tree.tree_
    split = nodes.feature >= 0
    return [nodes.threshold[split & (nodes.feature == j)] for j in range(3)]


def test_every_view_writes_dates(tree):
    tree, _ = tree
    day, time, _ = thresholds(tree)
    assert 19_739.5 in day
    known = ConfidenceTreeDisplay.from_estimator(tree)
    views = [
        export_text(tree, verbose=True),
        export_html(tree),
        export_rules(tree),
        tree._repr_html_(),
        known.to_svg(max_depth=None),
        "".join(one.get_text() for one in known.ax_.texts),
        repr(node_table(tree)),
    ]
    late = datetime(1970, 1, 1) + timedelta(days=float(time[0]))
    for view in views:
        assert "2024-01-17" in view  # the largest day that is at most 19,739.5
        assert late.strftime("%Y-%m-%d %H:%M") in view
        assert "<= 19739 " not in view
    # programs compare numbers, and say in words what these are
    assert re.search("(<=|>) 19739.5(00)?", export_rules(tree))


def test_days_are_distinguished_as_in_the_tree(tree):
    """What is written of a day holds of the rows that go that way."""
    tree, X = tree
    first = datetime(1970, 1, 1)
    for row in node_table(tree):
        if row.feature != 0:
            continue
        said = datetime.fromisoformat(row.test.rpartition(" ")[2])
        days = np.array([first + timedelta(days=float(one)) for one in X[:, 0]])
        assert ((days <= said) == (X[:, 0] <= row.threshold)).all()


def test_the_path_of_a_row_has_its_dates(tree):
    tree, X = tree
    told = tree.explain_text(X[:5])
    asked = {step["feature"] for steps in tree.explain(X[:5]) for step in steps}
    assert 0 in asked
    for row in range(5):
        when = datetime(1970, 1, 1) + timedelta(days=float(X[row, 0]))
        assert f"(value {when:%Y-%m-%d})" in told
    steps = [step for steps in tree.explain(X[:5]) for step in steps]
    assert all(type(step["threshold"]) is float for step in steps)


def test_days_of_no_calendar_stay_numbers(tree):
    tree, X = tree
    row = X[:1].copy()
    row[0, 0] = 1e9
    assert "(value 1000000000)" in tree.explain_text(row)


def test_predictions_and_later_growth_are_the_same(tree):
    tree, X = tree
    plain = with_dates(tree, (None, None, None))
    assert (plain.predict_proba(X) == tree.predict_proba(X)).all()
    assert "<= 19739" in export_text(plain)
    for one in (plain, tree):
        one.set_params(pruning=None)
    grown = [
        with_dates(one, kinds).partial_fit(X, plain.predict(X))
        for one, kinds in ((plain, (None, None, None)), (tree, ("day", "time", None)))
    ]
    assert (grown[0].tree_.threshold == grown[1].tree_.threshold).all()
    assert "2024-01-17" in export_text(grown[1])


# --- command line ----------------------------------------------------------------


def write_visits(path, n=1000):
    """A day, a time and a number; the answer turns with both."""
    rng = np.random.default_rng(1)
    first = datetime(2023, 6, 1)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["joined", "seen", "noise", "answer"])
        for _ in range(n):
            joined = first + timedelta(days=int(rng.integers(0, 300)))
            seen = first + timedelta(minutes=int(rng.integers(0, 300 * 24 * 60)))
            late = joined >= datetime(2023, 11, 1)
            answer = late if rng.random() < 0.9 else seen > datetime(2023, 9, 1, 12)
            told = [f"{joined:%d.%m.%Y}", f"{seen:%Y-%m-%d %H:%M}", rng.normal()]
            rows.writerow([*told, "yes" if answer else "no"])
    return path


def test_fit_shows_and_saves_dates(tmp_path, capsys):
    data = write_visits(tmp_path / "visits.csv")
    page, shape, model, told = (
        tmp_path / f"t.{end}" for end in ("html", "svg", "model", "json")
    )
    command = ["fit", data, "--target", "answer", "--dates", "dmy", "--folds", "2"]
    command += ["--baselines", "none", "--report", page, "--plot", shape]
    command += ["--output", model, "--json", told]
    assert main([str(one) for one in command]) == 0
    out = capsys.readouterr().out
    texts = [out, page.read_text("utf-8"), shape.read_text("utf-8")]
    texts.append(export_text(_model_file.load(model)[0]))
    nodes = json.loads(told.read_text("utf-8"))["tree"]["nodes"]
    assert nodes[0]["test"] == "joined <= 2023-10-31"
    assert nodes[0]["threshold"] == 19_661.5
    for text in texts:
        assert "2023-10-31" in text
        assert "joined <= 19" not in text
    for form in ("rules", "sql"):
        assert main(["show", str(model), "--as", form]) == 0
        told = capsys.readouterr()
        needs_days = "joined: pass dates as days since 1970-01-01" in told.err
        assert needs_days == ('"joined" <= 19661.' in told.out) == (form == "sql")


def test_a_stream_shows_dates(tmp_path, capsys):
    data, model = write_visits(tmp_path / "visits.csv", 3000), tmp_path / "m"
    command = ["stream", data, "--target", "answer", "--dates", "dmy"]
    command += ["--output", model]
    assert main([str(one) for one in command]) == 0
    assert "joined <= 2023-1" in capsys.readouterr().out
    assert main([str(one) for one in [*command, "--resume"]]) == 0
    assert "joined <= 2023-1" in capsys.readouterr().out
