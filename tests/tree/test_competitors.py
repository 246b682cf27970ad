"""The competitors of a split: which they are, and how they are printed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference.effort import crossed, examples
from sklearn.datasets import load_iris
from tree.test_runner_up import all_sides, mixed, score_of, z_of

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound
from skconftree.tree import export_text, node_table

# bounds that split such tables, and who wins there: who gains most, or somebody else
GAIN = {"bound": HoeffdingBound(tie_threshold=9.0), "pruning": None}
OTHERS = (
    {"bound": "gtest", "delta": 50.0},
    {"bound": "chi2", "delta": 0.9, "pruning": None},
    {"bound": "credible", "delta": 0.4},
    {"bound": "possibilistic", "delta": 0.4},
    {"bound": "evalue", "delta": 0.9},
    {"bound": "bayes_factor", "delta": 0.9},
)


def table(seed, n, n_classes, missing):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 5, (n, 3))])
    X = X.astype(np.float32).astype(float)
    y = rng.integers(0, n_classes, n)
    half = slice(n // 2)
    y[half] = (X[half, 0] > 0) + (X[half, 3] > 2) * (n_classes > 2)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng


def scored(X, there):
    """Score and sides of every test of each feature that varies."""
    found = {}
    for feature in range(X.shape[1]):
        tests = [sides.astype(int) for sides in all_sides(X[:, feature])]
        if tests:
            found[feature] = [(score_of(sides, *there), sides) for sides in tests]
    return found


@pytest.mark.parametrize(
    ("bound", "criterion"), crossed([GAIN, *OTHERS], ["entropy", "gini"]), ids=str
)
@settings(max_examples=examples(15))
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(30, 150),
    n_classes=st.integers(2, 4),
    missing=st.booleans(),
    weighted=st.booleans(),
)
def test_the_best_tests_of_other_features(
    bound, criterion, seed, n, n_classes, missing, weighted
):
    X, y, rng = table(seed, n, n_classes, missing)
    weight = rng.integers(1, 3, n).astype(float) if weighted else np.ones(n)
    if bound["bound"] == "possibilistic":
        criterion = "entropy"  # it has no other
    model = ConfidenceTreeClassifier(**bound, criterion=criterion, max_depth=3)
    model.fit(X, y, sample_weight=weight)
    y = np.searchsorted(model.classes_, y)
    tree, path = model.tree_, model.decision_path(X).toarray() > 0
    unit = 2 if criterion == "entropy" else 1
    for row in node_table(model, competitors=3):
        if not row.branches:
            assert row.competitors == row.near_ties == ()
            continue
        rows = path[:, row.node]
        own = path[rows][:, tree.children_right[row.node]].astype(int)
        there = y[rows], weight[rows], criterion
        whole = score_of(np.zeros(rows.sum()), *there)
        assert_allclose(row.gain, unit * (whole - score_of(own, *there)), atol=1e-9)
        tests = scored(X[rows], there)
        del tests[row.feature]
        assert len(row.competitors) == min(len(tests), 3)
        assert len({one.feature for one in row.competitors}) == len(row.competitors)
        if bound is GAIN:
            scores = sorted(min(score for score, _ in one) for one in tests.values())
            gains = [unit * (whole - score) for score in scores[:3]]
            assert_allclose([one.gain for one in row.competitors], gains, atol=1e-9)
        for one in row.competitors:
            found = [
                z_of(own, sides, *there)
                for score, sides in tests[one.feature]
                if abs(unit * (whole - score) - one.gain) < 1e-9
            ]
            assert found  # more than one where cuts are level
            assert np.abs(np.array(found) - one.z).min() < 1e-6
        assert row.near_ties == tuple(
            one.name for one in row.competitors if abs(one.z) < 1.96
        )


@pytest.mark.parametrize("bound", ["possibilistic", "gtest", "evalue"])
def test_the_best_competitors_may_come_after_many_others(bound):
    """Features that agree with the labels in more or fewer rows, the best ones last."""
    n_wrong = np.array([30, 36, 42, 48, 180, 175, 10, 20])
    y = np.arange(400) % 2
    X = np.column_stack([np.where(np.arange(400) < m, 1 - y, y) for m in n_wrong])
    tree = ConfidenceTreeClassifier(
        bound, criterion="entropy", max_depth=1, lookahead=0
    ).fit(X, y)
    row = node_table(tree, competitors=3)[0]
    assert row.feature == 6
    assert [one.feature for one in row.competitors] == [7, 0, 1]


def sides_as_text(frame, test):
    """Rows that a test in words holds for; of tests of these frames."""
    name, rest = test.split(" ", 1)
    column = frame[name]
    if rest.startswith("<="):
        limit, *or_missing = rest[3:].split(" or ")
        return (column <= float(limit)) | (column.isna() & bool(or_missing))
    groups = rest[3:] if rest.startswith("= ") is False else rest[2:]
    groups = groups.strip("{} ").removeprefix("{").split(", ")
    missing = column.isna() & ("missing" in groups)
    return column.isin([one for one in groups if one != "missing"]) | missing


def test_text_describes_the_split():
    frame, y = mixed()
    model = ConfidenceTreeClassifier("gtest", max_depth=1, pruning=None).fit(frame, y)
    root = node_table(model, competitors=3, decimals=12)[0]
    codes = np.unique(y, return_inverse=True)[1]
    there = codes, np.ones(len(y)), "entropy"
    whole = score_of(np.zeros(len(y)), *there)
    kinds = set()
    for one in root.competitors:
        holds = sides_as_text(frame, one.test).to_numpy()
        assert_allclose(2 * (whole - score_of(holds, *there)), one.gain, atol=1e-9)
        kinds.add("<=" in one.test)
    assert kinds == {True, False}  # numbers and categories


def test_text_of_many_categories_and_branches():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    many = np.where(rng.random(3000) < 0.7, y + 2 * rng.integers(0, 40, 3000), 7)
    frame = pd.DataFrame(
        {
            "x": y.astype(float),
            "many": pd.Categorical([f"c{one:02}" for one in many]),
        }
    )
    settings = {"bound": HoeffdingBound(tie_threshold=9.0), "max_depth": 1}
    model = ConfidenceTreeClassifier(**settings).fit(frame, y)
    (one,) = node_table(model, competitors=1)[0].competitors
    assert one.name == "many" or model.tree_.feature[0] == 1
    model.set_params(nominal_splits="multiway").fit(frame, y)
    told = [row.test for row in node_table(model, competitors=1)[0].competitors]
    assert told == ["many = ?"] or model.tree_.n_children[0] > 2
    frame["x"] = y
    (one,) = node_table(
        model.set_params(nominal_splits="binary").fit(frame, y), competitors=1
    )[0].competitors
    assert one.test.startswith("many in {c")
    assert one.test.endswith(", and others}")


def test_weight_k_is_k_rows():
    X, y = mixed()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    one, other = (ConfidenceTreeClassifier(delta=3.0) for _ in range(2))
    one.fit(X, y, sample_weight=weight)
    other.fit(X.iloc[rows], y[rows])
    for name in ("feature", "left", "n_children"):
        assert (one.tree_.competitors[name] == other.tree_.competitors[name]).all()
    for name in ("threshold", "gain", "z"):
        a, b = one.tree_.competitors[name], other.tree_.competitors[name]
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_explain_and_text_name_them():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = ConfidenceTreeClassifier().fit(X, y)
    step = model.explain(X[:1], competitors=2)[0][0]
    assert [one["name"] for one in step["competitors"]] == [
        "petal length (cm)",
        "sepal length (cm)",
    ]
    assert step["competitors"] == [
        one._asdict() for one in node_table(model, competitors=2)[0].competitors
    ]
    assert "competitors" not in model.explain(X[:1])[0][0]
    first = node_table(model, competitors=1)[0].competitors[0]
    line = f"competitor: {first.test} gains {first.gain:.3g} instead of"
    assert line in export_text(model, verbose=True)
    assert line in model.explain_text(X[:1], verbose=True)
    assert "competitor:" not in export_text(model)


def test_many_ties_are_named_if_there_is_space():
    X, y = load_iris(return_X_y=True)
    X = np.repeat(X[:, 3:], 4, axis=1)
    model = ConfidenceTreeClassifier(max_depth=1).fit(X, y)
    root = node_table(model)[0]
    assert root.near_ties == ("x1", "x2", "x3")
    assert root.tie == "near tie with x1 and 2 more"
    assert export_text(model).endswith(f"\n  {root.test}: x1, x2, x3")
    assert "; near tie with x1, x2 and x3" in model._repr_html_()
    long = [f"{'a long name ' * 4}{place}" for place in range(4)]
    text = export_text(model, feature_names=long)
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("competitors", [-1, 4, 1.0, True, None, "all"])
def test_as_many_as_a_tree_keeps(competitors):
    X, y = load_iris(return_X_y=True)
    model = ConfidenceTreeClassifier().fit(X, y)
    for ask in (
        lambda n: node_table(model, competitors=n),
        lambda n: model.explain(X, competitors=n),
    ):
        with pytest.raises(ValueError, match="competitors must be an int from 0 to 3"):
            ask(competitors)
