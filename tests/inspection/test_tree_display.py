"""The picture shows what the tree holds, on the axes it was given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound
from skconftree.inspection import ConfidenceTreeDisplay


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("credible", "children < "),
        ("possibilistic", "children < "),
        (HoeffdingBound(0.1, against="no_split"), ", no split "),
        ("bayes_factor", "probability of no split "),
        (None, ""),
    ],
)
def test_every_node_and_its_evidence_are_drawn(bound, words):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = ConfidenceTreeClassifier(bound, max_depth=3, random_state=0).fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(tree, class_names=["bad", "good"])
    drawn = texts(display)
    leaves = tree.get_n_leaves()
    assert leaves > 1
    assert sum(text in {"bad", "good"} for text in drawn) == leaves
    assert drawn.count("yes") == drawn.count("no") == leaves - 1
    root = f"{X.columns[tree.tree_.feature[0]]}\n<= {tree.tree_.threshold[0]:.4g}"
    assert root in drawn
    assert "569 rows" in drawn
    if words:
        assert sum(words in text for text in drawn) == leaves - 1


def test_shares_are_those_of_the_counts():
    X, y = load_iris(return_X_y=True)
    tree = ConfidenceTreeClassifier(random_state=0).fit(X[:120], y[:120])
    display = ConfidenceTreeDisplay.from_estimator(tree, max_depth=0)
    widths = [
        patch.get_width()
        for patch in display.ax_.patches
        if patch.get_height() == pytest.approx(0.07)
    ]
    np.testing.assert_allclose(np.divide(widths, sum(widths)), [5 / 12, 5 / 12, 1 / 6])
    assert any(text.endswith("split further") for text in texts(display))


def test_draws_on_given_axes_and_never_shows(monkeypatch):
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
    assert texts(display) == ["0", "150 rows"]


def test_many_classes_have_different_colors():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 20
    X = y[:, None] + rng.uniform(0, 0.5, size=(200, 1))
    tree = ConfidenceTreeClassifier(None).fit(X, y)
    display = ConfidenceTreeDisplay.from_estimator(tree, max_depth=0)
    patches = display.ax_.get_legend().get_patches()
    assert len({patch.get_facecolor() for patch in patches}) == 20


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
