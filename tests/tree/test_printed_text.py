"""Printed text about a tree is correct, short, and never prints a zero probability."""

import html.parser
import math
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference.mixed_table import FRAME, SETTINGS, Y
from scipy import sparse
from scipy.stats import chi2_contingency, norm
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import (
    export_html,
    export_text,
    node_table,
)
from skconftree.tree.reading._evidence import format_expected, format_probability
from skconftree.tree.reading._html import STYLE

BOUNDS = ["gtest", "credible", "possibilistic", "chi2", "evalue", "bayes_factor", None]
LEVELS = ("overwhelming", "strong", "weak", "none")


@pytest.fixture(params=SETTINGS)
def tree(request):
    return ConfidenceTreeClassifier(**SETTINGS[request.param]).fit(FRAME, Y)


# --- how strong ----------------------------------------------------------------------


def test_probabilities_too_small_for_floats_go_on_smoothly():
    """To both sides of the value of G where another formula takes over."""
    X, y = np.repeat([[0.0], [1.0]], 2, axis=0), np.array([0, 1, 0, 1])
    table = np.array([[60, 40], [40, 60]])
    found, expected = [], []
    for times in range(1, 420, 3):
        weight = (table * times).ravel()
        tree = ConfidenceTreeClassifier(None, max_depth=1)
        evidence = tree.fit(X, y, sample_weight=weight).tree_.evidence[0]
        g = chi2_contingency(table * times, correction=False, lambda_="log-likelihood")
        found.append(evidence["log10_expected_by_chance"])
        # the tail of one degree of freedom is that of a normal variable
        expected.append((math.log(2.0) + norm.logsf(math.sqrt(g[0]))) / math.log(10.0))
    assert found[0] > -3
    assert found[-1] < -700
    assert_allclose(found, expected, rtol=1e-9)


def test_evidence_is_the_p_value_times_the_candidates(tree):
    """Of two branches and of more; features without a candidate do not count."""
    table = node_table(tree)
    n_splits = 0
    for row in table:
        if not row.branches:
            assert row.evidence is None
            continue
        counts = np.array([table[branch.node].counts for branch in row.branches])
        counts = counts[:, counts.any(axis=0)]
        found = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        one = row.evidence
        expected = math.log10(one.multiplicity) + math.log10(max(found.pvalue, 1e-300))
        if tree.class_weight is None and expected > -290.0:
            assert_allclose(
                one.log10_expected_by_chance, expected, rtol=1e-6, atol=1e-9
            )
            assert one.expected_by_chance == 10.0**one.log10_expected_by_chance
            n_splits += 1
        assert one.multiplicity <= len(FRAME.columns) * one.n_candidates
    assert n_splits > 0 or tree.class_weight is not None


@pytest.mark.parametrize(
    ("log10_expected", "written"),
    [
        (math.log10(1234.0), "1,234"),
        (math.log10(11.7), "12"),
        (math.log10(9.6), "10"),
        (0.0, "1"),
        (math.log10(0.42), "0.4"),
        (math.log10(0.003), "0.003"),
        (math.log10(2.4e-94), "2e-94"),
        (math.log10(9.7e-10), "1e-9"),
        (-868.5, "3e-869"),
    ],
)
def test_expected_numbers_are_written_with_one_digit_and_never_as_zero(
    log10_expected, written
):
    assert format_expected(log10_expected) == written


@pytest.mark.parametrize(
    ("probability", "written"),
    [
        (1.0, "1.00"),
        (0.776, "0.78"),
        (0.9949, "0.99"),
        (0.996, "0.996"),
        (0.9996, "0.9996"),
        (1.0 - 1e-9, "> 0.9999"),
    ],
)
def test_no_probability_looks_certain_that_is_not(probability, written):
    assert format_probability(probability) == written


def test_gtest_is_judged_by_its_own_number():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = ConfidenceTreeClassifier().fit(X, y)
    table = node_table(model)
    splits = [row for row in table if row.branches]
    assert len(splits) == model.get_n_leaves() - 1
    for row in splits:
        assert_allclose(row.evidence.expected_by_chance, row.evidence.statistic)


def test_an_underflow_is_no_zero():
    """Five thousand rows that one cut separates: p is far below what floats hold."""
    X = np.arange(5000.0)[:, None]
    y = X[:, 0] >= 2500
    for bound in BOUNDS:
        model = ConfidenceTreeClassifier(bound, max_depth=1).fit(X, y)
        text = export_text(model, verbose=True)
        assert re.search(r"  overwhelming  3e-1504$", text, re.M)
        (told,) = [line for line in text.splitlines() if "|    evidence: " in line]
        if not np.isnan(model.tree_.evidence["child_limit"][0]):
            assert "evidence: impurity limits: children " in told
        elif not np.isnan(model.tree_.evidence["radius"][0]):
            assert ", difference \N{PLUS-MINUS SIGN} " in told
        confidence = told.split("; ")[-1]
        if model.tree_.evidence["statistic"][0] == 0.0:
            assert confidence.endswith("< 1e-300")


def test_levels_follow_the_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 0.8 * rng.normal(size=400) > 0
    model = ConfidenceTreeClassifier(None, pruning=None).fit(X, y)
    found = [row.evidence for row in node_table(model) if row.branches]
    for one in found:
        below = [one.expected_by_chance < limit for limit in (1e-6, 0.01, 1.0)]
        assert one.level == LEVELS[3 - sum(below)]
        assert one.is_weak == (one.expected_by_chance >= 0.01)
    text = export_text(model, fold_weak=False)
    levels = [one.level for one in found]
    for level in LEVELS:
        assert levels.count(level) > 0
        assert len(re.findall(f"^\\|.*  {level}  ", text, re.M)) == levels.count(level)
    parts = [f"{levels.count(level):,} {level}" for level in LEVELS]
    counts = f"{len(found)} splits: {', '.join(parts)}"
    assert counts in model.summary()
    assert counts in text


# --- text ----------------------------------------------------------------------------


@pytest.mark.parametrize("bound", BOUNDS)
def test_verbose_text_adds_lines_below_each_split(bound):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = ConfidenceTreeClassifier(bound, max_depth=3).fit(X, y)
    brief = export_text(model, fold_weak=False)
    full = export_text(model, verbose=True, fold_weak=False)
    assert full.count("|    evidence: ") == model.get_n_leaves() - 1
    assert "|    " not in brief
    added = re.compile(r"(\|   )*\|    ")
    kept = [line for line in full.splitlines() if not added.match(line)]
    assert kept == brief.splitlines()


def test_lines_have_at_most_100_columns():
    rng = np.random.default_rng(0)
    names = [f"column {i} " + "with a very long name " * 8 for i in range(3)]
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=names)
    X["city"] = pd.Series([f"a city called {i}" for i in rng.integers(0, 30, 300)])
    y = rng.choice(["yes, " * 40, "no"], 300)
    for settings in ({}, {"nominal_splits": "multiway"}, {"bound": "bayes_factor"}):
        model = ConfidenceTreeClassifier(None, pruning=None).set_params(**settings)
        model.fit(X, y)
        texts = [
            export_text(model, verbose=True, decimals=12),
            model.summary(),
            model.explain_text(X[:40], verbose=True),
        ]
        for text in texts:
            assert max(map(len, text.splitlines())) <= 100


def test_deep_nodes_say_their_depth():
    X = np.arange(60.0)[:, None]
    model = ConfidenceTreeClassifier(None, pruning=None, nominal_splits="binary")
    model.fit(X, np.arange(60) % 2)
    assert model.get_depth() > 20
    text = export_text(model)
    assert f"|{model.get_depth()}|" in text
    assert max(map(len, text.splitlines())) <= 100


def test_summary():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = ConfidenceTreeClassifier().fit(X, y)
    text = model.summary()
    splits = [row for row in node_table(model) if row.branches]
    assert "569 rows, 30 columns, 2 classes; bound: gtest" in text
    assert f"{model.get_n_leaves()} leaves, depth {model.get_depth()}" in text
    weakest = max(splits, key=lambda row: row.evidence.log10_expected_by_chance)
    assert f"the weakest, {weakest.test} (node {weakest.node})" in text
    own = np.mean(model.predict(X) == y)
    assert f"{own:.3f} within" in text
    stump = ConfidenceTreeClassifier(min_samples_leaf=300).fit(X, y)
    assert (
        "no split: the class 1 is predicted for every row: 357 of 569 rows, "
        in stump.summary()
    )
    with pytest.raises(NotFittedError):
        ConfidenceTreeClassifier().summary()


def test_a_row_is_explained_as_text(tree):
    text = tree.explain_text(FRAME[:30])
    parts = text.split("\n\n")[:-1]
    assert len(parts) == 30
    labels = tree.predict(FRAME[:30])
    likely = tree.predict_proba(FRAME[:30]).max(axis=1)
    steps = tree.explain(FRAME[:30])
    for place, part in enumerate(parts):
        lines = part.splitlines()
        assert lines[0] == f"row {place}"
        likeliest = format_probability(likely[place])
        assert lines[1].startswith(f"class {labels[place]} ({likeliest}), ")
        assert part.partition("Stops here")[0].count(" by chance)") == len(steps[place])


@pytest.mark.parametrize(
    "one",
    [
        lambda X: X.iloc[0],
        lambda X: X.iloc[:1],
        lambda X: X.to_numpy(object)[0],
        lambda X: X.to_numpy(object)[0].tolist(),
        lambda X: X.to_numpy(object)[:1].tolist(),
    ],
    ids=["series", "frame", "array", "list", "list of rows"],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_single_row_can_be_1d(one):
    model = ConfidenceTreeClassifier().fit(FRAME, Y)
    assert model.explain_text(one(FRAME)) == model.explain_text(FRAME[:1])


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_sparse_rows_are_explained_like_dense_rows(make):
    X = np.random.default_rng(0).integers(0, 3, (40, 3)).astype(float)
    model = ConfidenceTreeClassifier().fit(X, X[:, 0] > 0)
    told = model.explain_text(make(X[:9]))
    assert told == model.explain_text(X[:9])


def test_an_unknown_category_is_explained():
    model = ConfidenceTreeClassifier(None, categorical_features=[0])
    model.fit([["a"], ["b"]] * 20, ["x", "y"] * 20)
    text = model.explain_text([["c"]])
    assert "1. x0 is missing or not in any row of the node, overwhelming" in text
    assert "Stops here: no training row of that node had this category." in text


def test_text_of_a_stream():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    model = ConfidenceTreeClassifier(grace_period=10)
    model.partial_fit(X[order], y[order], [0, 1, 2])
    assert model.get_n_leaves() > 1
    for text in (model.summary(), export_text(model), model.explain_text(X[:1])):
        assert "by chance: expected number of candidate splits" in text
        assert "by partial_fit has the number of the moment when it was made" in text


# --- HTML ----------------------------------------------------------------------------


class Checked(html.parser.HTMLParser):
    """Reads a page, whose tags must be balanced and load nothing."""

    VOID = frozenset({"meta", "input"})

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert tag not in {"script", "iframe", "link", "img", "object"}
        assert not {"src", "href", "onclick"} & set(attrs)
        self.seen.append((tag, attrs))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_page_shows_every_node_without_a_script(tree):
    page = export_html(tree, title="Trees <of> wood")
    checked = Checked(page)
    assert "url(" not in page
    assert "Trees <of> wood" in checked.text
    table = node_table(tree)
    tags = [tag for tag, _ in checked.seen]
    assert tags.count("li") == len(table)
    assert tags.count("details") == sum(1 for row in table if row.branches)
    assert tags.count("details") == tags.count("summary")
    bars = [attrs for _, attrs in checked.seen if attrs.get("role") == "img"]
    assert len(bars) == len(table)
    assert all(attrs["aria-label"] for attrs in bars)
    for row in table:
        for branch in row.branches:
            if len(branch.condition) <= 80 and "\n" not in branch.condition:
                assert branch.condition in checked.text


def test_names_cannot_break_out_of_a_page():
    X = pd.DataFrame({"<script>alert(1)</script>": [0.0, 1.0] * 20})
    model = ConfidenceTreeClassifier().fit(X, ["</ul><b>", '"x" onclick="y'] * 20)
    checked = Checked(export_html(model))
    assert "alert(1)" in checked.text


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, r"the split by x3 <= 1\.55, weak evidence \(0.6 by chance\), was pruned"),
        ({"bound": "evalue"}, "the bound rejected all .* had .* expected by chance"),
        ({"max_depth": 1}, "max_depth is reached"),
        ({"bound": None, "min_samples_split": 101}, "100 rows are too few by "),
    ],
)
def test_why_a_path_ends(parameters, reason):
    X, y = load_iris(return_X_y=True)
    text = ConfidenceTreeClassifier(**parameters).fit(X, y).explain_text(X[119])
    assert re.search(f"Stops here: {reason}[a-z_]*[.] ", " ".join(text.split()))


def test_why_a_growing_path_ends():
    X, y = load_iris(return_X_y=True)
    text = ConfidenceTreeClassifier().partial_fit(X, y, range(3)).explain_text(X[119])
    assert "Stops here: it waits for more rows.\n" in text


def test_notebooks_show_the_tree_below_the_diagram_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    model = ConfidenceTreeClassifier()
    before = model._repr_html_()
    assert "sk-top-container" in before
    assert "Grown tree" not in before
    model.fit(X, y)
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in shown
        assert shown.count("Grown tree: 5 leaves, depth 4, 150 rows") == 1
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "sk-top-container" in make_pipeline(model)._repr_html_()
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_lists_of_a_tree_outweigh_those_of_a_notebook():
    """JupyterLab gives marks to ``.notebook ul ul``, and room to ``ul:not(.x)``."""
    rules = re.findall(r"^(.*\b(?:ul|li)) {([^}]*)}", STYLE, re.MULTILINE)
    assert {chosen.split()[-1] for chosen, _ in rules} == {"ul", "li"}
    for chosen, told in rules:
        assert chosen.count(".") >= 2
        assert {"margin", "padding"} <= set(re.findall(r"\b(margin|padding):", told))
        if chosen.endswith("li"):  # what a list says of its marks, an item overrules
            assert "list-style: none" in told


def test_large_trees_stay_readable_pages():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = rng.integers(0, 100, 6000)
    model = ConfidenceTreeClassifier(None, pruning=None, max_leaf_nodes=500)
    page = export_html(model.fit(X, y))
    checked = Checked(page)
    n_nodes = sum(tag == "li" for tag, _ in checked.seen)
    assert 300 < n_nodes <= 1200
    assert len(page) < 1_500_000
    assert "and 88 more classes" in checked.text
    X = np.arange(2500.0)[:, None]
    deep = ConfidenceTreeClassifier(None, pruning=None).fit(X, np.arange(2500) % 2)
    checked = Checked(export_html(deep))
    assert "deeper nodes are not shown" in checked.text
    assert "split further" in checked.text
