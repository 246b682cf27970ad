"""The settings that the list of published systems gives for forests run, and learn."""

import re
from pathlib import Path

import numpy as np
import pytest

from skconftree import ConfidenceForestClassifier, bounds

PAGE = Path(__file__).parents[3] / "doc" / "published.rst"
TEXT = PAGE.read_text(encoding="utf-8")
TABLE = TEXT[TEXT.index("* - published forest") :]
ROWS = re.findall(r"\* - ([^\n]+)\n     - `(bound=[^`]*)`", TABLE)


def test_the_page_lists_forests():
    assert len(ROWS) >= 7


@pytest.mark.parametrize(("name", "setting"), ROWS, ids=[name for name, _ in ROWS])
def test_a_published_forest_learns(name, setting):
    parameters = eval(f"dict({setting})", vars(bounds).copy())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5)).astype(np.float32)
    y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    forest = ConfidenceForestClassifier(10, random_state=0, **parameters)
    if "online" in name or "leveraging" in name or "adaptive" in name:
        predicted = forest.partial_fit_predict(X, y, classes=[0, 1])
        assert (predicted == y)[1500:].mean() > 0.85
    else:
        assert forest.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.85
    trees = [tree.tree_.node_count for tree in forest.estimators_]
    assert len(set(trees)) > 1
