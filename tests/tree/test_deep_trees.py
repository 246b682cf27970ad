"""Trees deeper than the call stack: no function recurses into them."""

import numpy as np
import pytest
from skconftree.tree.nodes._tree import Tree
from skconftree.tree.stream._grower import Grower

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_text
from skconftree.tree.nodes._state import (
    ARRAYS,
    BRANCHING_DTYPE,
    EVIDENCE_DTYPE,
    LEAF,
    NODE_DTYPE,
    STATE_VERSION,
)

DEPTH = 300_000


def chain(depth):
    """A tree whose root tests categories, and below it one long chain of cuts."""
    n = 2 * depth + 1
    ids, inner = np.arange(n), np.arange(0, n - 1, 2)  # node 2i parts into 2i+1, 2i+2
    nodes = np.zeros(n, dtype=NODE_DTYPE)
    nodes["feature"], nodes["left"], nodes["threshold"] = LEAF, ids, np.inf
    nodes["feature"][inner], nodes["left"][inner] = 1, inner + 1
    nodes["threshold"][inner] = inner
    nodes["feature"][0], nodes["threshold"][0] = 0, np.nan
    branching = np.zeros(n, dtype=BRANCHING_DTYPE)
    branching["first"], branching["missing_left"] = -1, 1
    branching["first"][0], branching["n_codes"][0] = 0, 2
    parent = ((ids - 1) // 2 * 2).astype(np.int32)
    parent[0] = -1
    arrays = {
        "nodes": nodes,
        "parent": parent,
        "n_node_samples": np.full(n, 2),
        "counts": np.ones((n, 2)),
        "impurity": np.full(n, 0.5),
        "evidence": np.zeros(depth, dtype=EVIDENCE_DTYPE),
        "branching": branching,
        "child_of_code": np.array([0, 1], dtype=np.int16),
    }
    tree = Tree(2, 2)
    tree.__setstate__((STATE_VERSION, *(arrays[name].tobytes() for name in ARRAYS)))
    return tree


def test_prediction_of_a_node_sums_up_all_that_is_below():
    X = np.column_stack([np.arange(60) % 2, np.arange(60)])
    model = ConfidenceTreeClassifier(
        "gtest", categorical_features=[0], leaf_prediction="nb"
    )
    model.partial_fit(X, np.arange(60) % 2, [0, 1])
    grower = Grower(chain(DEPTH), model._model.grower.recipe)
    grower.init_leaves()
    proba = grower.predict_proba(np.array([[7.0, 1.0]], dtype=np.float32), True)
    np.testing.assert_array_equal(proba, [[0.5, 0.5]])


@pytest.mark.parametrize("pruning", [None, "c45", "pessimistic", "chi2"])
def test_chains_of_splits(pruning):
    X = np.arange(1500.0)[:, np.newaxis]
    y = np.arange(1500) % 2
    model = ConfidenceTreeClassifier(None, pruning=pruning).fit(X, y)
    if pruning is None:
        assert model.get_depth() == 1499
    assert model.to_sklearn().get_depth() == model.get_depth()
    assert export_text(model, max_depth=1490).count("\n") >= model.get_depth()
    assert len(model.explain(X[-1:])[0]) <= model.get_depth()
