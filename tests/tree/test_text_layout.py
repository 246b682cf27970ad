"""The printed tree: columns of evidence, folded subtrees, footer, numbers."""

import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import audit_splits
from skconftree.tree import distill, export_html, export_text, node_table
from skconftree.tree.reading._evidence import LEVELS, format_expected
from skconftree.tree.reading._records import format_value, weak_subtrees
from skconftree.tree.reading._text import fit_condition

LONG = "a feature with a name that is much too long to be printed in one line of a tree"
CATEGORIES = [f"category number {i}" for i in range(14)]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return ConfidenceTreeClassifier().fit(X, y)


@pytest.fixture(scope="module")
def nominal():
    rng = np.random.default_rng(0)
    codes, number = rng.integers(14, size=600), rng.normal(size=600)
    y = (codes % 3 == 0) ^ ((number > 0.5) & (rng.random(600) < 0.8))
    X = pd.DataFrame({LONG: np.array(CATEGORIES, dtype=object)[codes], "n": number})
    return ConfidenceTreeClassifier(categorical_features="from_dtype").fit(X, y)


def level_of(log10_expected):
    return next(level for limit, level in LEVELS if log10_expected < limit)


@given(st.floats(-400.0, 12.0))
def test_a_written_number_is_on_its_side_of_the_levels(log10_expected):
    assume(all(abs(log10_expected - limit) > 1e-5 for limit, _ in LEVELS))
    written = format_expected(log10_expected)
    mantissa, _, power = written.replace(",", "").partition("e")
    again = math.log10(float(mantissa)) + int(power or 0)
    assert level_of(again) == level_of(log10_expected)
    assert abs(again - log10_expected) < 0.2


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.0098, "0.0098"),
        (0.00996, "0.00996"),
        (0.012, "0.012"),
        (0.02, "0.02"),
        (0.996, "0.996"),
        (9.7e-7, "9.7e-7"),
        (3e-94, "3e-94"),
        (1234.0, "1,234"),
    ],
)
def test_digits_of_numbers_near_a_limit(number, written):
    assert format_expected(math.log10(number)) == written


@pytest.mark.parametrize("tree", ["cancer", "nominal"])
@pytest.mark.parametrize("max_width", [80, 90, 120])
def test_columns_start_at_the_same_place(tree, max_width, request):
    tree = request.getfixturevalue(tree)
    lines = export_text(tree, max_width=max_width, fold_weak=False).splitlines()
    assert max(map(len, lines)) <= max_width
    header = next(
        line for line in lines if line.split() == ["evidence", "by", "chance"]
    )
    start, number = header.index("evidence"), header.index("by chance")
    rows = [row for row in node_table(tree) if row.branches]
    found = [
        line
        for line in lines
        if re.match(r"\|.*  (overwhelming|strong|weak|none)  ", line)
    ]
    assert len(found) == len(rows)
    by_line = sorted((line[start:number].strip(), line[number:]) for line in found)
    assert by_line == sorted((row.evidence.level, row.evidence.number) for row in rows)


@pytest.mark.parametrize("max_width", [80, 100])
@pytest.mark.parametrize("n_classes", [3, 40])
def test_no_number_is_cut(n_classes, max_width):
    """Of lines that are too long: conditions are shortened, and grounds left out."""
    values = np.arange(40.0 * n_classes).reshape(-1, 1)
    noise = np.random.default_rng(0).normal(size=(len(values), 2))
    X, y = np.hstack([values, noise]), np.arange(len(values)) // 40
    tree = ConfidenceTreeClassifier("gtest", lookahead=0).fit(X[::2], y[::2])
    audit = audit_splits(tree, X[1:-9:2], y[1:-9:2])
    names = [f"{place} {LONG}" for place in range(3)]
    text = export_text(
        tree, feature_names=names, max_width=max_width, verbose=True, audit=audit
    )
    lines = text.splitlines()
    assert max(map(len, lines)) <= max_width
    rows = [row for row in node_table(tree, competitors=3) if row.branches]
    for row in rows:
        for one in row.competitors:
            gains = f"gains {one.gain:.3g} instead of {row.gain:.3g}, z = {one.z:.2g}"
            assert gains in re.sub(r"\n[| ]+", " ", text)
    at = next(line.index("audit") for line in lines if "by chance  audit" in line)
    verdicts = [line[at:] for line in lines if re.match(r"\|.*  [\d.]+e-\d+  ", line)]
    assert len(verdicts) == len(rows)
    for verdict in verdicts:
        assert re.fullmatch(r"confirmed( \(p = [\d.e-]+\))?", verdict)


def test_what_real_rows_prefer_fits_its_column():
    X, y = load_breast_cancer(return_X_y=True)
    tree = distill(ConfidenceTreeClassifier().fit(X, y), X, random_state=0)
    names = [f"{place} {LONG}" for place in range(X.shape[1])]
    lines = export_text(tree, feature_names=names, max_width=80).splitlines()
    assert max(map(len, lines)) <= 80
    n_splits = sum(bool(row.branches) for row in node_table(tree))
    ends = [re.search(r"  (near tie w.*of a tree|decided)$", line) for line in lines]
    assert sum(map(bool, ends)) == n_splits


def test_near_ties_are_those_of_the_printed_splits(cancer):
    assert "near ties" in export_text(cancer, max_depth=1)
    assert "near ties" not in export_text(cancer, max_depth=0)
    assert "folded" not in export_text(cancer, max_depth=0)


def test_a_condition_is_cut_between_categories(nominal):
    lines = export_text(nominal, max_width=80).splitlines()
    sets = [inside for line in lines for inside in re.findall(r"in \{(.*)\}", line)]
    assert sets
    for inside in sets:
        *labels, last = inside.split(", ")
        assert set(labels) <= set(CATEGORIES)
        assert last in CATEGORIES or re.fullmatch(r"and \d+ more|\d+ categories", last)


@pytest.mark.parametrize(
    ("condition", "width", "short"),
    [
        (' in {"a, b", "", "c"d", "e", "f"}', 29, ' in {"a, b", "", and 3 more}'),
        (" in {red, green, blue, and 3 more}", 24, " in {red, and 5 more}"),
        (' in {"and 3 more", "x", "y", "zzzzz"}', 31, ' in {"and 3 more", and 3 more}'),
        (" in {red, green, and others}", 22, " in {red, and others}"),
        (" in {1, 2.5, 3}", 10, " in {3 categories}"),
        (" in {}", 5, " in {0 categories}"),
        (" in {red, green, and others}", 9, " in {many categories}"),
        (" in {and others}", 12, " in {others}"),
    ],
)
def test_a_set_of_categories_is_shortened(condition, width, short):
    name = "a {name}, of a feature"
    assert fit_condition(name, name + condition, len(name) + width).endswith(short)


def test_ambiguous_categories_are_quoted():
    for strange in ("and 3 more", "others", "and others", "missing"):
        X = np.array([[strange], ["b"], ["c"]] * 20, dtype=object)
        y = (X[:, 0] == "c").astype(int)
        tree = ConfidenceTreeClassifier(categorical_features=[0]).fit(X, y)
        assert f'"{strange}"' in export_text(tree)


def test_most_categories_are_named_by_those_that_are_not_in(nominal):
    for row in node_table(nominal):
        for branch in row.branches:
            if branch.categories is not None and len(branch.categories) > 8:
                inside = re.search(r" not in \{(.*)\}", branch.condition)[1]
                known = set(nominal.categories_[row.feature])
                assert set(inside.split(", ")) == known - set(branch.categories)


def weak_below(rows, node):
    """Splits of a subtree by a walk, and whether all are weak."""
    row = rows[node]
    if not row.branches:
        return 0, True
    parts = [weak_below(rows, branch.node) for branch in row.branches]
    return 1 + sum(n for n, _ in parts), row.evidence.is_weak and all(
        w for _, w in parts
    )


def expected_folds(rows, node=0):
    n, all_weak = weak_below(rows, node)
    if all_weak:
        return {node: n} if n else {}
    return {
        key: value
        for branch in rows[node].branches
        for key, value in expected_folds(rows, branch.node).items()
    }


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_weak_subtrees_are_folded(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)).round(1)
    y = (X[:, 0] > 0).astype(int) + (rng.random(300) < 0.3)
    tree = ConfidenceTreeClassifier("gtest", delta=1e3, pruning=None).fit(X, y)
    rows = node_table(tree)
    folds = expected_folds(rows)
    assert weak_subtrees(rows) == folds
    assert folds
    text = export_text(tree)
    for node, n in folds.items():
        splits = "1 weak split" if n == 1 else f"{n} weak splits"
        assert (
            f"({rows[node].probability}), {rows[node].support}; {splits} folded" in text
        )
    n_splits = sum(bool(row.branches) for row in rows)
    n_lines = sum("|---" in line for line in text.splitlines())
    assert (
        n_lines
        == 2 * (n_splits - sum(folds.values())) + (n_splits - sum(folds.values())) + 1
    )
    assert "fold_weak=False" in text
    assert "folded" not in export_text(tree, fold_weak=False)
    page = export_html(tree)
    for node, n in folds.items():
        splits = "1 weak split" if n == 1 else f"{n} weak splits"
        name = rows[node].name
        assert f"{rows[node].figures}, split by <b>{name}</b> ({splits} folded)" in page
    assert "folded splits still predict" in page
    assert "folded" not in export_html(tree, fold_weak=False)


def test_a_tree_without_strong_splits_is_printed_as_a_whole():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    tree = ConfidenceTreeClassifier(None, max_depth=2, pruning=None).fit(X, y)
    text = export_text(tree)
    assert "No split of this tree has strong evidence." in text.replace("\n  ", " ")
    assert text == export_text(tree, fold_weak=False)


def test_near_ties_have_at_most_six_lines(cancer):
    lines = export_text(cancer, fold_weak=False).splitlines()
    first = lines.index("near ties, which separate the classes about as well:")
    rows = node_table(cancer)
    n_tied = sum(bool(row.near_ties) for row in rows)
    assert n_tied > 6
    assert lines[first + 1] == f"  {rows[0].test}: {', '.join(rows[0].near_ties)}"
    assert lines[first + 5 :] == [f"  and near ties of {n_tied - 4} further splits"]


def test_without_evidence_there_are_only_lines_of_the_tree(cancer):
    lines = export_text(cancer, show_evidence=False).splitlines()
    assert all("|---" in line for line in lines)


def test_a_class_from_the_nodes_above_is_explained():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier("gtest", delta=1e4, pruning=None).fit(
        X[50:], y[50:]
    )
    rows = node_table(tree)
    raw, value = tree.tree_.raw_proba, tree.tree_.proba
    for row in rows:
        node = row.node
        assert row.from_above == (raw[node].max() > raw[node][value[node].argmax()])
    above = [row for row in rows if row.from_above and not row.branches]
    assert above
    lines = export_text(tree, fold_weak=False).splitlines()
    explained = [
        line for line in lines if line.endswith("; class from the nodes above")
    ]
    assert len(explained) == len(above)
    for row, line in zip(above, explained, strict=True):
        assert f" class {row.label} ({row.probability}), {row.support};" in line
    n_explained = sum(row.from_above for row in rows if not row.branches)
    assert n_explained > 0
    text = export_text(tree, fold_weak=False)
    assert text.count("; class from the nodes above") == n_explained


@pytest.mark.parametrize("max_width", [79, 0, 100.5, None])
def test_a_width_that_is_no_width(cancer, max_width):
    with pytest.raises(ValueError, match="max_width must be an int of at least 80"):
        export_text(cancer, max_width=max_width)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_sparse_tables_have_integer_columns(make):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 400), rng.normal(size=400)])
    y = (X[:, 0] > 4) ^ (X[:, 1] > 1.0)
    tree = ConfidenceTreeClassifier().fit(make(X), y)
    text = export_text(tree)
    assert "x0 <= 4 " in text
    assert text == export_text(ConfidenceTreeClassifier().fit(X, y))


@pytest.mark.parametrize("as_float", [False, True])
def test_thresholds_of_integers_are_integers(as_float):
    rng = np.random.default_rng(0)
    codes = rng.integers(30_000, 30_141, size=400)
    X = pd.DataFrame({"zip": codes, "x": rng.normal(size=400)})
    X = X.astype(float) if as_float else X
    y = (codes > 30_070) ^ (X["x"] > 1.0)
    tree = ConfidenceTreeClassifier().fit(X, y)
    tests = {row.name: row.test for row in node_table(tree) if row.branches}
    assert tests["zip"] == "zip <= 30070"
    assert "." in tests["x"]
    tree.partial_fit(X + 0.25, y)  # whose rows may have fractions
    later = {row.test for row in node_table(tree) if row.name == "zip"}
    assert "zip <= 30070" not in later
    assert not any("e+" in test for test in later)


def test_missing_values_leave_a_column_of_integers():
    values = np.repeat([1.0, 2.0, 3.0, np.nan], 50)
    tree = ConfidenceTreeClassifier().fit(values[:, np.newaxis], values > 1.5)
    assert node_table(tree)[0].test.startswith("x0 <= 1")
    assert "1.5" not in export_text(tree)
    again = pickle.loads(pickle.dumps(tree))
    assert export_text(again) == export_text(tree)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (30070.5, "30070.5"),
        (9999.6, "9999.6"),
        (12345.0, "12345"),
        (0.12345, "0.1235"),
        (1e20, "1e+20"),
    ],
)
def test_numbers_have_no_exponent_without_need(value, written):
    assert format_value(value, None, 0, 4) == written
