"""What the state of a tree adds to that of its nodes, and whether it is sound."""

import numpy as np

from ...utils._codec import damaged
from ._node_state import LEAF, NODE_ARRAYS
from ._node_state import MAX_CLASSES as MAX_CLASSES

NODE_DTYPE = np.dtype(
    [("threshold", np.float64), ("feature", np.int32), ("left", np.int32)], align=True
)
BRANCHING_DTYPE = np.dtype(
    [
        ("first", np.int32),
        ("n_codes", np.int16),
        ("missing_left", np.int16),
    ],
    align=True,
)
NUMERIC, MISSING_SEEN = -1, -2  # as `first` of a test that has no ordinals
# What the state has behind those of the nodes; one element a node but in `ordinals`.
TEST_ARRAYS = ("nodes", "branching", "ordinals")
ARRAYS = NODE_ARRAYS + TEST_ARRAYS


def check_tests(arrays, n_features):
    """Raise unless routing by these tests comes to an end."""
    for name in ("nodes", "branching"):
        if len(arrays[name]) != len(arrays["parent"]):
            raise damaged("tree", repr(name))
    if not (_are_tests(arrays, n_features) and _are_branches(arrays)):
        raise damaged("tree", "its nodes")


def _are_tests(arrays, n_features):
    # Every split leads to the node's own children, and a leaf to itself.
    nodes = arrays["nodes"]
    n_children = arrays["n_children"]
    nominal = arrays["branching"]["first"] >= 0
    leaf = n_children == 0
    split = np.flatnonzero(~leaf)
    return bool(
        np.all(nodes["feature"][leaf] == LEAF)
        and np.all(nodes["left"][leaf] == np.flatnonzero(leaf))
        and np.all(np.isposinf(nodes["threshold"][leaf]))
        and np.array_equal(np.isnan(nodes["threshold"][split]), nominal[split])
        and not np.isneginf(nodes["threshold"][split]).any()
        and np.all(nodes["feature"][split] >= 0)
        and np.all(nodes["feature"][split] < n_features)
        and np.array_equal(nodes["left"][split], arrays["first_child"][split])
        and np.all(n_children[split][~nominal[split]] == 2)
    )


def _are_branches(arrays):
    # Whether the ordinals of every nominal test are there and lead to its children.
    branching, n_children = arrays["branching"], arrays["n_children"]
    leaf = n_children == 0
    nominal = (branching["first"] >= 0) & ~leaf
    if np.any((branching["first"] >= 0) != nominal):
        return False
    if np.any(branching["first"] < np.where(leaf, NUMERIC, MISSING_SEEN)):
        return False
    # rows without a value stay at a leaf because it sends them to the left
    left = branching["missing_left"]
    if np.any(left[leaf] != 1) or np.any((left[~nominal] < 0) | (left[~nominal] > 1)):
        return False
    owned, n_children = branching[nominal], n_children[nominal]
    first, n_codes = owned["first"].astype(np.int64), owned["n_codes"].astype(np.int64)
    # a category that is seen later is written into the node's own part of them
    order = np.argsort(first, kind="stable")
    end = np.append(first[order], len(arrays["ordinals"]))[1:]
    if np.any(n_codes < 0) or np.any((first + n_codes)[order] > end):
        return False
    if np.any(owned["missing_left"] < 0) or np.any(owned["missing_left"] >= n_children):
        return False
    return all(
        np.all(arrays["ordinals"][a : a + size] < r)
        for a, size, r in zip(first, n_codes, n_children, strict=True)
    )
