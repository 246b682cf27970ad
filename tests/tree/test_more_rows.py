"""How many more rows make a weak split strong."""

import math

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_breast_cancer, load_iris

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_html, export_text, node_table

X, Y = load_breast_cancer(return_X_y=True)


def weak_splits(tree):
    nodes = node_table(tree)
    return [
        (row, np.array([nodes[branch.node].counts for branch in row.branches]))
        for row in nodes
        if row.evidence and row.evidence.level == "weak"
    ]


@pytest.mark.parametrize("table", [(X, Y), load_iris(return_X_y=True)])
def test_so_many_more_rows_make_it_strong(table):
    """If what G exceeds its quantile by chance grows in proportion to the rows."""
    found = weak_splits(ConfidenceTreeClassifier(pruning=None, lookahead=0).fit(*table))
    assert found
    for row, children in found:
        children = children[:, children.sum(axis=0) > 0]
        expected = np.outer(children.sum(1), children.sum(0)) / children.sum()
        seen = children > 0
        g = 2.0 * (children[seen] * np.log(children[seen] / expected[seen])).sum()
        m = row.evidence.multiplicity
        chance, needed = chi2.isf([1 / m, 0.01 / m], children.shape[1] - 1)
        factor = (needed - chance) / (g - chance) - 1.0
        if factor > 20.0:
            assert row.more_rows is None
            assert row.until_strong == ""
        else:
            assert math.isclose(row.more_rows, factor * row.weight, rel_tol=1e-6)
            more = int(row.until_strong.split()[1].replace(",", ""))
            assert abs(more - row.more_rows) <= 1.0 + 0.05 * row.more_rows


def test_where_it_is_reported():
    tree = ConfidenceTreeClassifier(pruning=None, lookahead=0).fit(X, Y)
    told = {row.node: row.until_strong for row, _ in weak_splits(tree)}
    assert any(told.values())
    verbose, page = export_text(tree, verbose=True, fold_weak=False), export_html(tree)
    for words in filter(None, told.values()):
        assert words in verbose
        assert words in page
    for row in node_table(tree):
        assert row.node in told or row.until_strong == ""
    for steps in tree.explain(X):
        for step in steps:
            assert (step["more_rows"] is None) == (not told.get(step["node"]))


def test_a_tree_that_grows_has_none():
    tree = ConfidenceTreeClassifier(delta=5.0).partial_fit(X, Y, classes=[0, 1])
    rows = node_table(tree.partial_fit(X, Y))
    assert any(row.branches for row in rows)
    assert all(row.more_rows is None for row in rows)
