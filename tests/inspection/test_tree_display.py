"""The plot shows the tree, on the axes that were passed."""

import gc
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backend_bases import MouseEvent
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import FancyBboxPatch
from reference.effort import cases, crossed
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.inspection._tree_layout import arrange
from skconftree.tree import node_table


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("credible", "impurity limits"),
        pytest.param("possibilistic", "impurity limits", marks=pytest.mark.slow),
        (HoeffdingBound(0.1, against="no_split"), "no split "),
        pytest.param(
            *("bayes_factor", "probability of no split "), marks=pytest.mark.slow
        ),
        (None, ""),
    ],
)
def test_every_node_and_its_evidence_are_drawn(bound, words):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, 20:26]
    tree = ConfidenceTreeClassifier(bound, max_depth=3, random_state=0).fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(
        tree, class_names=["bad", "good"], max_depth=None, fold_weak=False
    )
    drawn = texts(display)
    leaves = tree.get_n_leaves()
    assert leaves > 1
    assert sum(text in {"bad", "good"} for text in drawn) == leaves
    assert drawn.count("yes") == drawn.count("no") == leaves - 1
    assert X.columns[tree.tree_.feature[0]] in drawn
    assert f"<= {tree.tree_.threshold[0]:.4g}" in drawn
    assert "569 rows" in drawn
    assert sum(text.endswith(" by chance") for text in drawn) == leaves - 1
    assert sum(text.startswith("probability ") for text in drawn) == leaves
    if words:
        assert not any(words in text for text in drawn)
        drawn = texts(display.plot(verbose=True, max_depth=None, fold_weak=False))
        assert sum(words[:13] in text for text in drawn) == leaves - 1


def test_shares_are_those_of_the_counts():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(random_state=0).fit(X[:120], y[:120])
    display = ConfidenceTreeDisplay.from_estimator(tree, max_depth=0)
    widths = [
        patch.get_width()
        for patch in display.ax_.patches
        if patch.get_height() == pytest.approx(0.05)
    ]
    np.testing.assert_allclose(np.divide(widths, sum(widths)), [5 / 12, 5 / 12, 1 / 6])
    assert any(text.endswith("split further") for text in texts(display))


def test_draws_on_passed_axes_and_never_shows(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a display must not show"))
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(random_state=0).fit(X, y)
    _, ax = plt.subplots()
    display = ConfidenceTreeDisplay.from_estimator(tree, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert plt.get_fignums() == [ax.figure.number]
    again = display.plot(max_depth=1)
    assert again is display
    assert display.ax_ is not ax


def test_a_tree_of_one_leaf():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(min_samples_leaf=80).fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(tree)
    assert texts(display) == ["0", "50 of 150 rows", "probability 0.33"]


def large_tree():
    """A hundred classes in as many cells, and more leaves."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    y = (X[:, 0] * 10).astype(int) * 10 + (X[:, 1] * 10).astype(int)
    y = np.where(rng.random(4000) < 0.1, rng.integers(0, 100, 4000), y)
    tree = ConfidenceTreeClassifier(None, pruning=None, max_leaf_nodes=150)
    return tree.fit(X, y)


@pytest.fixture(scope="module")
def large():
    return large_tree()


def test_many_classes_have_different_colors_and_a_short_legend(large):
    display = ConfidenceTreeDisplay.from_estimator(large, max_depth=0)
    strips = {
        patch.get_facecolor()
        for patch in display.ax_.patches
        if patch.get_height() == pytest.approx(0.05)
    }
    assert len(strips) == 100
    shown = display.ax_.get_legend().get_texts()
    assert len(shown) == 13
    assert shown[-1].get_text() == "and 88 more classes"


LONG_NOTES = ("a long note on the audit of this tree, " * 20,)


@pytest.mark.parametrize(
    "title", [pytest.param((), marks=pytest.mark.slow), LONG_NOTES]
)
def test_a_figure_has_space_for_its_legend(large, title):
    """Of a tree of few levels and many classes, the layout collapsed with a warning."""
    nodes = node_table(large)
    display = ConfidenceTreeDisplay(nodes, class_names=["x" * 30] * 100, notes=title)
    figure = display.plot(max_depth=0).figure_
    figure.canvas.draw()
    height = figure.get_window_extent().height
    assert display.ax_.get_legend().get_window_extent().y0 >= 0.0
    assert display.ax_.get_window_extent().height > height / 4


def test_a_large_tree_is_cut_at_a_depth_that_can_be_read(large):
    assert large.get_n_leaves() == 150
    display = ConfidenceTreeDisplay.from_estimator(large)
    assert sum(text.endswith("split further") for text in texts(display)) <= 12
    assert display.figure_.get_size_inches()[0] < 27
    small = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier().fit(*small)
    whole = ConfidenceTreeDisplay.from_estimator(tree)
    assert not any(text.endswith("split further") for text in texts(whole))


def test_a_compact_picture_has_all_nodes_and_little_text(large):
    display = ConfidenceTreeDisplay.from_estimator(large, compact=True, fold_weak=False)
    boxes = [
        patch
        for patch in display.ax_.patches
        if patch.get_height() == pytest.approx(0.24)
    ]
    assert len(boxes) == large.tree_.node_count
    assert 3 < len(texts(display)) < 60
    assert max(display.figure_.get_size_inches()) <= 26
    picture = io.StringIO()
    display.figure_.savefig(picture, format="svg")
    assert picture.getvalue().rstrip().endswith("</svg>")


@pytest.mark.parametrize("verbose", cases([False, True], [True]))
def test_texts_fit_their_boxes(verbose):
    rng = np.random.default_rng(0)
    names = ["a column with a name that goes on and on", "costs $ and $$", "WWWWW" * 9]
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=names)
    y = np.where(X.sum(axis=1) > 0, "a class with a name that goes on and on", "$x$")
    tree = ConfidenceTreeClassifier(max_depth=3).fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(tree, verbose=verbose)
    display.figure_.canvas.draw()
    boxes = [
        patch.get_window_extent()
        for patch in display.ax_.patches
        if isinstance(patch, FancyBboxPatch)
    ]
    checked = 0
    for text in display.ax_.texts:
        extent = text.get_window_extent()
        middle = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        for box in boxes:
            if box.contains(*middle):
                assert extent.x0 >= box.x0 - 1, text
                assert extent.x1 <= box.x1 + 1, text
                checked += 1
    assert checked >= 4 * len(boxes) - tree.get_n_leaves() * 3


def test_edges_are_as_wide_as_the_rows_are_many():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = ConfidenceTreeClassifier().fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(tree, fold_weak=False)
    widths = [line.get_linewidth() for line in display.ax_.lines]
    rows = [
        node_table(tree)[branch.node].weight
        for row in sorted(node_table(tree), key=lambda row: row.depth)
        for branch in row.branches
    ]
    assert len(widths) == len(rows)
    assert np.corrcoef(np.sort(widths), np.sort(rows))[0, 1] > 0.999


def test_leaves_have_the_colors_of_their_classes():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(max_depth=1).fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(tree)
    edges = [
        to_hex(patch.get_edgecolor()).upper()
        for patch in display.ax_.patches
        if isinstance(patch, FancyBboxPatch)
    ]
    assert edges == ["#000000", "#0072B2", "#E69F00"]


def test_dark_styles():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier().fit(X, y)
    with plt.style.context("dark_background"):
        display = ConfidenceTreeDisplay.from_estimator(tree)
    assert to_hex(display.figure_.get_facecolor()) == "#000000"
    root = next(one for one in display.ax_.patches if isinstance(one, FancyBboxPatch))
    assert to_hex(root.get_facecolor()) == "#000000"
    assert all(max(to_rgb(text.get_color())) > 0.5 for text in display.ax_.texts)


def test_wrong_input_is_named():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier()
    with pytest.raises(NotFittedError):
        ConfidenceTreeDisplay.from_estimator(tree)
    tree.fit(X, y)
    with pytest.raises(ValueError, match="feature_names must contain 4 elements"):
        ConfidenceTreeDisplay.from_estimator(tree, feature_names=["a"])
    with pytest.raises(ValueError, match="class_names must contain 3 elements"):
        ConfidenceTreeDisplay.from_estimator(tree, class_names=["a"])
    for depth in (-1, 1.5, "deep", np.nan):
        with pytest.raises(ValueError, match="max_depth must be 'auto', None or a"):
            ConfidenceTreeDisplay.from_estimator(tree, max_depth=depth)


def test_names_of_several_lines_are_written_in_one():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier().fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(
        tree, feature_names=["petal\nand\tsepal" * 9] * 4
    )
    display.figure_.canvas.draw()  # warns of glyphs that are missing
    assert not any("\n" in text.get_text() for text in display.ax_.texts)
    plt.close(display.figure_)


def hover_at(display, x, y, kind="motion_notify_event"):
    """Point at a place of the picture, in data; give what is shown then."""
    canvas = display.figure_.canvas
    place = display.ax_.transData.transform((x, y))
    canvas.callbacks.process(kind, MouseEvent(kind, canvas, *place))
    shown = [one.get_text() for one in display.figure_.texts if one.get_visible()]
    return " ".join(shown).replace("\n", " ")


@pytest.mark.parametrize(
    ("compact", "kind"),
    crossed([False, True], ["motion_notify_event", "button_press_event"]),
)
@pytest.mark.slow
def test_a_box_shows_its_path(compact, kind):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, 20:26]
    tree = ConfidenceTreeClassifier(max_depth=2).fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(tree, compact=compact)
    gc.collect()  # the picture outlives what has drawn it
    display.figure_.canvas.draw()
    nodes = node_table(tree)
    assert not display.figure_.texts
    checked = 0
    for node, (x, level) in arrange(nodes).items():
        row = nodes[node]
        told = hover_at(display, x, level + 0.02, kind)
        assert row.rows in told
        if row.branches:
            assert f"split by {row.test}" in told
        else:
            assert told.endswith(f"class {row.label}, {row.outcome}")
        if row.parent >= 0:
            words = [one.condition for one in nodes[row.parent].branches]
            assert sum(one in told for one in words) == 1
        checked += 1
    assert checked == tree.tree_.node_count
    assert hover_at(display, -0.49, 0.4, kind) == ""


@pytest.mark.slow
def test_an_answer_lies_in_the_picture_and_goes_again(large):
    display = ConfidenceTreeDisplay.from_estimator(large, compact=True, fold_weak=False)
    display.figure_.canvas.draw()
    places = arrange(node_table(large))
    x, level = max(places.values(), key=lambda one: -one[1])  # the deepest leaf
    assert hover_at(display, x, level)
    (text,) = display.figure_.texts
    extent, whole = text.get_window_extent(), display.figure_.bbox
    assert extent.x0 >= 0
    assert extent.x1 <= whole.x1
    assert extent.y1 <= whole.y1
    assert not hover_at(display, x, 0.9)  # above the tree
    assert not text.get_visible()
