"""The picture as SVG: whole, legible in a column of a page, and its nodes answer."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay
from skconftree.inspection._tree_layout import (
    arrange,
    cut,
    readable_depth,
    width_in,
    width_of,
    wrapped,
)
from skconftree.tree import export_html, fold_weak_subtrees, node_table
from skconftree.utils._markup import escape

SVG = "{http://www.w3.org/2000/svg}"
COLUMN = 700  # pixels: as wide as a page of the documentation


def drawn(tree, names=None, **options):
    nodes = node_table(tree, class_names=names)
    names = [str(one) for one in tree.classes_] if names is None else names
    display = ConfidenceTreeDisplay(nodes, class_names=names)
    return nodes, ET.fromstring(display.to_svg(fold_weak=False, **options))


def nodes_of(picture):
    return [one for one in picture.iter(f"{SVG}g") if one.get("class") == "node"]


def box_of(node):
    return next(
        tuple(float(one.get(name)) for name in ("x", "y", "width", "height"))
        for one in node.iter(f"{SVG}rect")
        if (one.get("class") or "").startswith("box")
    )


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return ConfidenceTreeClassifier().fit(X, y)


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    y = (X[:, 0] * 10).astype(int) * 10 + (X[:, 1] * 10).astype(int)
    tree = ConfidenceTreeClassifier(None, pruning=None, max_leaf_nodes=300)
    return tree.fit(X, y)


@pytest.mark.parametrize("compact", [False, True])
def test_every_node_is_there_and_answers(cancer, compact):
    rows, picture = drawn(cancer, ["bad", "good"], compact=compact)
    found = nodes_of(picture)
    assert len(found) == len(rows)
    for row, node in zip(rows, found, strict=True):
        answer = node.find(f"{SVG}title").text
        assert row.rows in answer or row.outcome in answer
        if row.parent >= 0:
            words = [
                one.condition
                for one in rows[row.parent].branches
                if one.node == row.node
            ]
            assert words[0] in answer
        if not row.branches:
            assert answer.endswith(f"class {row.label}, {row.outcome}")
        (note,) = [part for part in node.iter(f"{SVG}g") if part.get("class") == "note"]
        text = " ".join(one.text for one in note.iter(f"{SVG}text"))
        assert answer.startswith(text.removesuffix("..."))
        assert node.get("tabindex") == "0"  # a finger and a keyboard get there


def test_boxes_say_what_the_tree_says(cancer):
    rows, picture = drawn(cancer, ["bad", "good"])
    for row, node in zip(rows, nodes_of(picture), strict=True):
        text = [one.text for one in node.findall(f"{SVG}text")]
        if row.branches:
            assert " ".join(text).startswith(row.test)
            assert row.evidence.level in text
            assert f"{row.evidence.number} by chance" in text
            assert row.rows in text
        else:
            assert text == [row.label, *row.outcome.split(", ")]


@pytest.mark.parametrize("compact", [False, True])
def test_a_weak_subtree_is_one_box(cancer, compact):
    rows = fold_weak_subtrees(node_table(cancer))
    (folded,) = (row for row in rows if "folded" in row.outcome)
    display = ConfidenceTreeDisplay(node_table(cancer), class_names=["bad", "good"])
    picture = ET.fromstring(display.to_svg(max_depth=None, compact=compact))
    boxes = nodes_of(picture)
    assert len(boxes) == len(rows)
    answers = [box.find(f"{SVG}title").text for box in boxes]
    assert sum(folded.outcome in answer for answer in answers) == 1
    legend = " ".join(one.text for one in picture.findall(f"{SVG}text"))
    assert ("folded splits still predict" in legend) != compact
    assert "folded" not in display.to_svg(compact=compact, fold_weak=False)


@pytest.mark.parametrize("options", [{}, {"max_depth": None}, {"compact": True}])
def test_boxes_do_not_meet_and_lie_in_the_picture(large, options):
    _, picture = drawn(large, **options)
    boxes = sorted(map(box_of, nodes_of(picture)), key=lambda one: one[:2][::-1])
    width, height = (float(picture.get(name)) for name in ("width", "height"))
    for (x, y, wide, _), (x2, y2, _, _) in pairwise(boxes):
        assert y2 > y or x2 >= x + wide
    for x, y, wide, high in boxes:
        assert 0 <= x
        assert x + wide <= width
        assert y + high <= height


def test_letters_are_legible_in_a_column(cancer, large):
    for tree in (cancer, large):
        _, picture = drawn(tree)
        scale = min(COLUMN / float(picture.get("width")), 1.0)
        sizes = [float(one.get("font-size")) for one in picture.iter(f"{SVG}text")]
        assert scale * min(sizes) >= 8.0


def test_texts_lie_in_their_boxes_and_are_cut_at_words():
    rng = np.random.default_rng(0)
    names = ["a column with a name that goes on and on", "WWWWW" * 9, '<b> & "c"']
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=names)
    y = np.where(X.sum(axis=1) > 0, "a class with a name that goes on", "<x> & y")
    tree = ConfidenceTreeClassifier(max_depth=3).fit(X, y)
    _, picture = drawn(tree)
    texts = []
    for node in nodes_of(picture):
        x, _, wide, _ = box_of(node)
        for one in node.findall(f"{SVG}text"):
            size = float(one.get("font-size"))
            assert width_in(one.text, size) <= wide
            assert float(one.get("x")) == pytest.approx(x + wide / 2, abs=0.11)
            texts.append(one.text)
    assert "a column with a" in texts
    assert any(one.startswith("WWW") and one.endswith("...") for one in texts)
    assert '<b> & "c"' in texts or "<x> & y" in texts


def test_words_are_not_divided():
    assert wrapped("one two three", 10, 1000, 1) == ["one two three"]
    assert wrapped("one two three", 10, width_in("one two", 10), 2) == [
        "one two",
        "three",
    ]
    assert wrapped("one two three", 10, width_in("one two", 10), 1) == ["one..."]
    assert cut("abcdefgh", 10, width_in("abc...", 10)) == "abc..."
    assert wrapped("", 10, 100, 1) == [""]


def test_a_tree_of_one_leaf_and_one_that_is_a_chain():
    X, y = load_iris(return_X_y=True)
    _, picture = drawn(ConfidenceTreeClassifier(min_samples_leaf=80).fit(X, y))
    assert len(nodes_of(picture)) == 1
    X = np.arange(1500.0)[:, np.newaxis]
    chain = ConfidenceTreeClassifier(None, pruning=None).fit(X, np.arange(1500) % 2)
    nodes = node_table(chain)
    assert max(row.depth for row in nodes) >= 10
    places = arrange(nodes)
    assert len(places) == len(nodes)
    assert min(x for x, _ in places.values()) == 0.0


def test_positions_are_tight_and_parents_centered(large):
    nodes = node_table(large)
    places = arrange(nodes)
    for row in nodes:
        if row.branches:
            ends = [places[one.node][0] for one in row.branches]
            assert places[row.node][0] == pytest.approx((ends[0] + ends[-1]) / 2)
    for depth in range(1, 6):
        across = sorted(x for x, y in places.values() if y == -depth)
        assert np.diff(across).min(initial=1.0) >= 1.0 - 1e-9
    assert width_of(places) < large.get_n_leaves()
    depth = readable_depth(nodes, 6.0)
    assert width_of(arrange(nodes, depth)) <= 6.0 < width_of(arrange(nodes, depth + 1))


@pytest.mark.slow
def test_needs_no_matplotlib_and_gives_the_same_bytes(cancer):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from sklearn.datasets import load_breast_cancer\n"
        "from skconftree import ConfidenceTreeClassifier\n"
        "from skconftree.inspection import ConfidenceTreeDisplay\n"
        "from skconftree.tree import node_table\n"
        "X, y = load_breast_cancer(return_X_y=True, as_frame=True)\n"
        "tree = ConfidenceTreeClassifier().fit(X, y)\n"
        "names = ['bad', 'good']\n"
        "nodes = node_table(tree, class_names=names)\n"
        "print(ConfidenceTreeDisplay(nodes, class_names=names).to_svg(), end='')\n"
    )
    run = [sys.executable, "-P", "-c", code]
    found = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    nodes = node_table(cancer, class_names=["bad", "good"])
    again = ConfidenceTreeDisplay(nodes, class_names=["bad", "good"]).to_svg()
    assert found == again
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", again)  # offline


@pytest.mark.parametrize("depth", [-1, 1.5, "deep", np.nan])
def test_a_wrong_depth_is_named(cancer, depth):
    display = ConfidenceTreeDisplay(node_table(cancer), class_names=["0", "1"])
    with pytest.raises(ValueError, match="max_depth must be 'auto', None or a"):
        display.to_svg(max_depth=depth)


def test_a_tree_of_which_parts_were_replaced():
    """Ids of nodes are no longer their places."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(8000, 2))
    late = (np.arange(8000) > 4000).astype(int)
    y = np.floor(4 * X[np.arange(8000), late])
    tree = ConfidenceTreeClassifier(drift="local").partial_fit(X, y, range(4))
    nodes = node_table(tree)
    assert any(row.node != place for place, row in enumerate(nodes))
    for options in ({}, {"compact": True}):
        _, picture = drawn(tree, max_depth=None, **options)
        assert len(nodes_of(picture)) == len(nodes)
        display = ConfidenceTreeDisplay.from_estimator(tree, max_depth=None, **options)
        plt.close(display.figure_)


BAD = [*map(chr, (*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF))]
BAD += ["\ud800", "\udbff", "\udc00", "\udfff"]


def test_escape_replaces_what_xml_forbids_and_nothing_else():
    for code in [
        *range(0x300),
        0xD7FF,
        *range(0xD800, 0xE000),
        *range(0xFFF0, 0x10005),
    ]:
        text = chr(code)
        found = escape(text)
        found.encode()
        read = ET.fromstring(f'<a b="{found}">{found}</a>')
        if text in BAD or 0xD800 <= code < 0xE000:
            assert found == "\ufffd"
        elif text not in "\t\n\r":  # white space, which a reader normalizes
            assert read.text == read.get("b") == text


def test_any_name_gives_a_picture_and_a_page_that_can_be_read():
    values = [f"{one}<{i}" for i, one in enumerate(BAD)]
    X = np.array([2 * values], dtype=object).T
    y = np.array([f"{one}&" for one in BAD[::-1]] * 2, dtype=object)
    settings = {"nominal_splits": "multiway", "categorical_features": [0]}
    tree = ConfidenceTreeClassifier(bound=None, **settings).fit(X, y)
    nodes = node_table(tree, feature_names=["".join(BAD[:6])])
    display = ConfidenceTreeDisplay(nodes, class_names=list(tree.classes_))
    for compact in (False, True):
        picture = display.to_svg(compact=compact)
        picture.encode()
        ET.fromstring(picture)
        assert "\ufffd" in picture
    page = export_html(tree, title="".join(BAD))
    page.encode()
    assert not set(BAD) & set(page)
