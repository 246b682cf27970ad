"""The report of stream: sentences first, where it changed, the tree that answers."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from cli.test_report import Checked

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import main
from skconftree._cli._report import conditions, stream_headline
from skconftree._cli._report_figures import accuracy
from skconftree.evaluation import PrequentialEvaluator
from skconftree.tree import node_table

SECTIONS = [
    "Along the stream",
    "Classes",
    "Feature importance",
    "The tree",
    "Rules",
    "Columns",
    "Notes on the data",
    "Settings and versions",
]
N_ROWS = 6000


def rows(n=N_ROWS):
    """After half of the rows the answer depends on the other column."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2)).round(4)
    y = X[np.arange(n), (np.arange(n) > n / 2).astype(int)] > 0.7
    y ^= rng.random(n) < 0.05
    return X, np.where(y, "yes", "no")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    data, page = folder / "flow.csv", folder / "flow.html"
    lines = (f"{a},{b},{label}" for (a, b), label in zip(*rows(), strict=True))
    data.write_text("size,<i>noise,answer\n" + "\n".join(lines) + "\n")
    command = ["stream", data, "--target", "answer", "--set", "drift=local"]
    command += ["--report", page, "--chunk-size", "500"]
    assert main([str(one) for one in command]) == 0
    return page.read_text("utf-8")


def test_the_page_is_complete_and_in_order(made):
    page = Checked(made)
    assert not page.scripts
    assert not page.links
    assert re.findall(r"<h2>(.*?)</h2>", made) == SECTIONS
    assert "<i>noise" not in made
    assert "/flow.csv" not in made  # no folders of whoever sends it
    for picture in re.findall(r"<svg.*?</svg>", made, re.DOTALL):
        ET.fromstring(picture)
    assert made.index('<p class="lead">') < made.index("<h2>")


def test_what_it_says_is_what_the_evaluator_says(made):
    X, y = rows()
    tree = ConfidenceTreeClassifier(random_state=0, drift="local")
    run = PrequentialEvaluator(tree, classes=["no", "yes"])
    told = run.update(X.astype(np.float32), y)
    record = run.report()
    lead = re.search(r'<p class="lead">(.*?)</p>', made)[1]
    assert f"Accuracy: {100 * record.accuracy:.1f}% of the rows" in lead
    (drift,) = tree.drifts_
    assert f"1 drift was detected, after row {drift.row:,}." in lead
    cells = re.findall(r"<td>([^<]*)</td>", made)
    place = cells.index("yes")
    right = np.mean(np.array(told)[y == "yes"] == "yes")
    precise = np.mean(y[np.array(told) == "yes"] == "yes")
    assert cells[place + 1 : place + 4] == [
        f"{np.sum(y == 'yes'):,}",
        f"{100 * right:.1f}%",
        f"{100 * precise:.1f}%",
    ]
    assert f"<td>{drift.row:,}</td><td>the whole tree</td>" in made
    assert f"drift detected after row {drift.row:,}" in made


def test_the_course_is_drawn_to_scale():
    accuracy_curve = [(100, 0.5, 0.6), (200, 0.75, 0.6), (400, 0.75, 0.5)]
    picture, _, _ = accuracy(accuracy_curve, [150]).partition("<p class")
    root = ET.fromstring(picture)
    lines = {
        one.get("class"): [tuple(map(float, at.split(","))) for at in points.split()]
        for one in root.iter("polyline")
        if (points := one.get("points"))
    }
    assert lines.keys() == {"ours", "latest", "before"}
    # of the latest rows 50, 100 and 75 % were right
    heights = [-y for _, y in lines["latest"]]
    assert heights[1] - heights[2] == pytest.approx(heights[2] - heights[0], abs=0.2)
    assert heights[1] > heights[2] > heights[0]
    (drift,) = (
        float(one.get("x1"))
        for one in root.iter("line")
        if one.find("title") is not None
    )
    places = [x for x, _ in lines["ours"]]
    assert drift == pytest.approx((places[0] + places[1]) / 2, abs=0.2)


def test_sentences_of_none_and_of_many_drifts():
    X, y = rows()
    run = PrequentialEvaluator(ConfidenceTreeClassifier(), classes=["no", "yes"])
    run.update(X[:100], y[:100])
    classes = {
        "classes": ["no", "yes"],
        "rows": [70.0, 30.0],
        "recall": [1.0, 0.0],
        "precision": [0.7, float("nan")],
    }
    nodes = node_table(run.estimator)
    told = " ".join(stream_headline(run.report(), classes, None, nodes))
    assert "drift" not in told
    assert "0% of yes rows are predicted yes (recall); no row is predicted yes." in told
    assert "No drifts were detected." in stream_headline(
        run.report(), classes, [], nodes
    )
    many = [(1200, 0), (3000, 4)]
    want = "2 drifts were detected, the last after row 3,000."
    assert want in stream_headline(run.report(), classes, many, nodes)


def test_rules_say_all_that_a_path_does():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 3)).round(3)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.floor(5 * np.nan_to_num(X[:, 0], nan=0.5)) + (X[:, 1] > 0.6)
    tree = ConfidenceTreeClassifier(None, pruning=None, max_depth=7).fit(X, y)
    nodes = node_table(tree, decimals=9)
    paths = {0: ()}
    for row in nodes:
        for branch in row.branches:
            paths[branch.node] = (*paths[row.node], (row, branch))
    leaves = tree.apply(X)
    shorter = 0
    for row in nodes:
        if row.branches:
            continue
        told = conditions(paths[row.node])
        shorter += len(told) < len(paths[row.node])
        kept = np.ones(len(X), dtype=bool)
        for one in told:
            kept &= holds(one.strip("()"), X)
        assert (kept == (leaves == row.node)).all(), told
    assert shorter > 5


def holds(words, X):
    """Of which rows words such as ``x1 <= 3 or missing`` are true."""
    name, sign, rest = words.split(" ", 2)
    column = X[:, int(name[1:])].astype(np.float32)
    number = rest.removesuffix(" or missing")
    if sign == "is":
        return np.isnan(column) == (rest == "missing")
    with np.errstate(invalid="ignore"):
        found = column <= float(number) if sign == "<=" else column > float(number)
    return found | (np.isnan(column) & rest.endswith("missing"))
