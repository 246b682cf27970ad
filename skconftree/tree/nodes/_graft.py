"""Arrays of a tree of which a part has been replaced.

Ids are append-only, so a node that is no more keeps its row in every array: a dead row,
which is the child of no node and has no child, no test and no counts.
"""

import numpy as np

from ._derived import DEAD, first_children
from ._node_state import LEAF, OF_SPLITS
from ._tree_state import NUMERIC

OF_NODES = ("n_node_samples", "counts", "impurity", "nodes", "branching")


def below(parent, node):
    """Which rows are nodes below one, as a mask."""
    found = np.zeros(len(parent), dtype=bool)
    level = np.array([node])
    while len(level):
        level = np.flatnonzero(np.isin(parent, level))
        found[level] = True
    return found


def graft(old, new, node):
    """Arrays of a tree with another one in the place of all that lies below a node.

    The node keeps its id, and has the test of the other root, or none; the nodes below
    become dead rows, and those of the other tree get the next ids in their order.
    Counts above the node are left as they were: a look at a tree that grows adds them
    up anew.
    """
    n = len(old["parent"])
    dead = below(old["parent"], node)
    # ids of the other tree are moved on by those there are, its root being the node
    place = np.append(node, np.arange(n, n + len(new["parent"]) - 1))
    arrays = {"ordinals": np.concatenate([old["ordinals"], new["ordinals"]])}
    for name in OF_NODES:
        arrays[name] = np.concatenate([old[name], new[name][1:]])
        arrays[name][node] = new[name][0]
    parent = np.concatenate([old["parent"], place[new["parent"][1:]]])
    parent[:n][dead] = DEAD
    arrays["parent"] = parent.astype(np.int32)
    made_by = old["parent"][first_children(old["parent"])]
    kept = ~(dead[made_by] | (made_by == node))
    for name in OF_SPLITS:
        if name in old:
            arrays[name] = np.concatenate([old[name][kept], new[name]])

    nodes, branching = arrays["nodes"], arrays["branching"]
    nodes["left"][place] = place[new["nodes"]["left"]]
    branching["first"][place[new["branching"]["first"] >= 0]] += len(old["ordinals"])
    gone = np.flatnonzero(dead)
    for name in ("n_node_samples", "counts", "impurity"):
        arrays[name][gone] = 0
    nodes["threshold"][gone], nodes["feature"][gone] = np.inf, LEAF
    nodes["left"][gone] = gone
    branching["first"][gone], branching["n_codes"][gone] = NUMERIC, 0
    branching["missing_left"][gone] = 1
    return arrays
