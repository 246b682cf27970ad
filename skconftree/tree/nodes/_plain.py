"""Trees as plain values, for files of any kind."""

import numpy as np

from ...utils._codec import damaged
from ._derived import NONE, first_children
from ._node_state import NODE_ARRAYS


def write_nodes(tree):
    """A tree as plain values: arguments, and its arrays as bytes."""
    _, arguments, arrays = tree.__reduce__()
    return arguments, arrays


def read_nodes(kind, state):
    """Make a tree from what `write_nodes` has written, which is not believed."""
    if not (
        isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], tuple)
    ):
        raise damaged("tree", "its parts")
    arguments, arrays = state
    try:
        tree = kind(*arguments)
    except TypeError as error:
        raise damaged("tree", "its size") from error
    tree.__setstate__(arrays)
    return tree


def retold(tree, counts, n_node_samples, impurity, rivals, z):
    """Copy a tree with its tests, and with counts of other rows in its nodes.

    There may be other classes. Of the evidence of its splits there is only what the
    other rows bear: by how much they prefer its test to that of a `rival`.
    """
    (n_features, _, _, keeps_evidence, *_), arrays = write_nodes(tree)
    told = dict(zip(NODE_ARRAYS, arrays[1:], strict=False))
    splits = tree.parent[first_children(tree.parent)]
    evidence = np.full(len(splits), NONE)
    evidence["rival_feature"], evidence["z"] = rivals[splits], z[splits]
    told["counts"] = counts.tobytes()
    told["n_node_samples"] = n_node_samples.astype(np.intp).tobytes()
    told["impurity"] = impurity.tobytes()
    told["evidence"] = evidence.tobytes()
    other = type(tree)(n_features, counts.shape[1], None, keeps_evidence)
    tests = arrays[1 + len(told) + tree.keeps_costs + tree.keeps_rivals :]
    other.__setstate__((arrays[0], *told.values(), *tests))
    return other
