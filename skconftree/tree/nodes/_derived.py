"""Values computed from the arrays of a tree, and serialization of trees.

*Evidence* has the statistics of a split, *costs* those by which look-ahead chose it,
*competitors* the best splits on other features, and *stops* why a node is a leaf, if
the tree `keeps_stops`. Look-ahead compares splits by the subtrees below them. Codes are
the numbers of categories. *Branching* has where a split sends missing values and
categories; `MISSING_SEEN` if training rows of the node had missing values.
"""

import numpy as np
from scipy.sparse import csr_matrix

from ...utils._codec import restore, written_by
from ._state import (
    COMPETITOR_DTYPE,
    COMPETITORS,
    COSTS,
    COSTS_DTYPE,
    EVIDENCE_DTYPE,
    LEAF,
    MISSING_SEEN,
    NODE_ARRAYS,
    NUMERIC,
    OF_SPLITS,  # names of the arrays with one element per split
    STOP_DTYPE,
    STOPS,
    LeafReason,
)

# `children_left` of a leaf, as in scikit-learn, and of a node with three or more
# children.
NO_CHILD, MANY = -1, -2
REMOVED = -2  # as the parent of a removed node

# Evidence of a node that has none. LEAF (-2) as a feature means that there is none.
NONE = np.zeros((), dtype=EVIDENCE_DTYPE)
for _name in EVIDENCE_DTYPE.names:
    NONE[_name] = LEAF if _name == "runner_up_feature" else np.nan
# Feature, number of children, missing_left, missing_seen, threshold, categories of
# the first child, gain, and the difference from the gain of the split.
NO_COMPETITOR = np.array(
    (LEAF, 0, 0, 0, np.nan, 0, np.nan, np.nan), dtype=COMPETITOR_DTYPE
)
NO_COSTS = np.array((np.nan, np.nan, LEAF), dtype=COSTS_DTYPE)
NO_STOP = np.array((np.nan, np.nan, LEAF, LeafReason.NO_LEAF), dtype=STOP_DTYPE)


def first_children(parent):
    """First child of each split, in the order in which evidence is stored."""
    return 1 + np.flatnonzero((parent[1:] != parent[:-1]) & (parent[1:] != REMOVED))


def _of_nodes(arrays, rows, result):
    # Scatter values of splits to their nodes; `result` has defaults for the others.
    if len(rows):
        nodes = arrays["parent"][first_children(arrays["parent"])]
        for name in rows.dtype.names:  # fewer without a bound (split rule)
            result[name][nodes] = rows[name]
    return result


def evidence_of_nodes(arrays):
    """Evidence of every node."""
    return _of_nodes(arrays, arrays["evidence"], np.full(len(arrays["parent"]), NONE))


def costs_of_nodes(arrays):
    """Look-ahead costs of every node."""
    none = np.full(len(arrays["parent"]), NO_COSTS)
    return _of_nodes(arrays, arrays[COSTS], none)


def competitors_of_nodes(arrays):
    """Competing splits of every node."""
    rows = arrays[COMPETITORS]
    none = np.full((len(arrays["parent"]), rows.shape[1]), NO_COMPETITOR)
    return _of_nodes(arrays, rows, none)


def leaf_reasons(arrays):
    """`LeafReason` of each node of a tree that `fit` has grown."""
    return arrays[STOPS]["reason"].copy()


def reasons_of_growing_leaves(arrays, depth_limit):
    """`LeafReason` of each node of a tree that grows row by row."""
    is_leaf = (arrays["n_children"] == 0) & (arrays["parent"] != REMOVED)
    reason = np.where(is_leaf, LeafReason.WAITING, LeafReason.NO_LEAF).astype(np.int32)
    reason[is_leaf & (arrays["depth"] >= depth_limit)] = LeafReason.MAX_DEPTH
    is_pure = np.count_nonzero(arrays["counts"], axis=1) == 1
    reason[is_leaf & is_pure] = LeafReason.PURE
    return reason


def pruned_stops(arrays, n_nodes, retained, keep_as_leaf, reason):
    """`stops` (why nodes are leaves) of the nodes that a pruning has retained.

    New leaves, which `keep_as_leaf` marks, get the `reason` and their removed split.
    """
    stops = arrays[STOPS][retained]
    new = np.flatnonzero(keep_as_leaf[retained] & (arrays["n_children"][retained] > 0))
    if len(new):
        nodes, parent = retained[new], arrays["parent"][:n_nodes]
        # A branch may have replaced its parent, but siblings keep the parent that they
        # were created with.
        sibling_group = np.cumsum((parent[1:] != parent[:-1]) & (parent[1:] != REMOVED))
        split = sibling_group[arrays["first_child"][nodes] - 1] - 1
        splits = arrays["nodes"][nodes]
        stops["reason"][new] = reason
        stops["feature"][new] = splits["feature"]
        stops["threshold"][new] = splits["threshold"]
        name = "log10_expected_by_chance"
        stops[name][new] = arrays["evidence"][name][split]
    return stops


def children_left(arrays):
    return _of_two_children(arrays, 0)


def children_right(arrays):
    return _of_two_children(arrays, 1)


def _of_two_children(arrays, ordinal):
    n_children = arrays["n_children"]
    child = np.where(n_children == 2, arrays["first_child"] + ordinal, MANY)
    child[n_children == 0] = NO_CHILD
    return child.astype(np.intp)


def thresholds(arrays):
    nodes = arrays["nodes"]
    return np.where(nodes["feature"] < 0, float(LEAF), nodes["threshold"])


def features(arrays):
    return arrays["nodes"]["feature"].astype(np.intp)


def is_nominal(arrays):
    # `first`: index of a nominal split's first code, else NUMERIC or MISSING_SEEN (< 0)
    return arrays["branching"]["first"] >= 0


def missing_go_to_left(arrays):
    branching = arrays["branching"]
    numeric = (branching["first"] < 0) & (arrays["n_children"] > 0)
    return (numeric & (branching["missing_left"] != 0)).view(np.uint8)


def missing_seen(arrays):
    return arrays["branching"]["first"] == MISSING_SEEN


def weights(counts, class_weight, parent):
    return counts @ class_weight


def _totals(value):
    # Summed in the order of the classes, as in a tree that is trained row by row.
    return np.add.accumulate(value, axis=1)[:, -1:]


def sum_of_leaves(counts, tree):
    """Add the counts of its descendants to those of each node, in place."""
    parent, depth = tree.parent, tree.depth
    order = np.argsort(depth, kind="stable")
    ends = np.cumsum(np.bincount(depth)).tolist()
    for first, end in zip(ends[-2::-1], ends[:0:-1], strict=True):
        level = order[first:end]
        np.add.at(counts, parent[level], counts[level])
    return counts


def shrunk(value, n_rows, parent, depth, shrinkage):
    """Class proportions shrunk toward the predictions of the ancestors.

    Hierarchical shrinkage: from the root down, the step from the proportions of a
    parent with n rows (without `class_weight`) to those of its child is multiplied by
    ``n / (n + shrinkage)``.
    """
    order = np.argsort(depth, kind="stable")[1:]
    above = parent[order]
    # factor of each step
    weight = n_rows[above] / (n_rows[above] + shrinkage)
    step = (value[order] - value[above]) * weight[:, np.newaxis]
    result = value.copy()
    ends = np.cumsum(np.bincount(depth)[1:]).tolist()
    for first, end in zip([0, *ends], ends, strict=False):
        level = slice(first, end)
        result[order[level]] = result[above[level]] + step[level]
    # these are probabilities in exact arithmetic; rounding may give values below 0
    np.maximum(result, 0.0, out=result)
    result[1:] /= result[1:].sum(axis=1, keepdims=True)
    return result


def proportions_of_leaves(counts, class_weight):
    """Class proportions of leaves; None if a leaf has no rows.

    They are equal to those of `proportions` (_node_table.pyx) to the last bit.
    """
    value = counts * class_weight
    total = _totals(value)
    if not total.all():
        return None
    value /= total
    return value


def paths(parent, depth, leaves):
    """CSR indicator of the nodes on the paths from the root to `leaves`."""
    lengths = depth[leaves].astype(np.int64) + 1
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(lengths.sum(), dtype=np.int64)
    rows = np.arange(len(leaves))
    nodes = np.asarray(leaves)
    position = indptr[1:] - 1
    while len(rows):
        indices[position[rows]] = nodes
        position[rows] -= 1
        nodes = parent[nodes]
        above = nodes >= 0
        rows = rows[above]
        nodes = nodes[above]
    return csr_matrix(
        (np.ones(len(indices), dtype=np.int64), indices, indptr),
        shape=(len(leaves), len(parent)),
    )


def importances(feature, parent, mass, n_features, weight=None):
    """Share of each feature in the decrease of `mass`, weight times impurity.

    If the `weight` of all rows is given, return the decrease per row instead.
    """
    split = np.flatnonzero(feature >= 0)
    decrease = mass.copy()
    np.subtract.at(decrease, parent[1:], mass[1:])
    share = np.bincount(
        feature[split], weights=decrease[split], minlength=n_features
    ).astype(np.float64)  # integers without a split
    # splits that other criteria choose may increase the impurity
    share = np.maximum(share, 0.0)
    total = share.sum() if weight is None else weight
    return share / total if total > 0.0 else share


def write_nodes(tree):
    """Return a tree as plain values: arguments, and its arrays as bytes."""
    _, arguments, arrays = tree.__reduce__()
    return arguments, arrays


def read_nodes(kind, state):
    """Make a tree of the class `kind` from the result of `write_nodes`."""
    return restore(kind, state, "tree")


def unpickled(writer, kind, arguments, arrays):
    """Make a tree from a pickle that the version `writer` wrote."""
    with written_by(writer, "This tree"):
        return restore(kind, (arguments, arrays), "tree")


def with_counts_of_rows(tree, counts, n_node_samples, impurity, competitors, z):
    """Copy a tree with counts of other rows, for distillation.

    `z` is the difference of the gain of each split from that of the best split on the
    feature in `competitors`, in standard errors.
    """
    (n_features, _, _, keeps_evidence, *_), arrays = write_nodes(tree)
    parts = dict(zip(NODE_ARRAYS, arrays[1:], strict=False))
    splits = tree.parent[first_children(tree.parent)]
    evidence = np.full(len(splits), NONE)
    evidence["runner_up_feature"], evidence["runner_up_z"] = (
        competitors[splits],
        z[splits],
    )
    parts["counts"] = counts.tobytes()
    parts["n_node_samples"] = n_node_samples.astype(np.intp).tobytes()
    parts["impurity"] = impurity.tobytes()
    parts["evidence"] = evidence.tobytes()
    other = type(tree)(
        n_features, counts.shape[1], None, keeps_evidence, keep_stops=tree.keeps_stops
    )
    # `stops` and the arrays of splits
    rest = arrays[1 + len(parts) + tree.keeps_costs + tree.keeps_competitors :]
    other.__setstate__((arrays[0], *parts.values(), *rest))
    return other


# Ids are append-only, so a removed node keeps its element in every array. It has no
# parent, children, split or counts.

ARRAYS_OF_NODES = ("n_node_samples", "counts", "impurity", "nodes", "branching")


def descendants(parent, node):
    """Mask of the descendants of a node."""
    mask = np.zeros(len(parent), dtype=bool)
    level = np.array([node])
    while len(level):
        level = np.flatnonzero(np.isin(parent, level))
        mask[level] = True
    return mask


def replace_subtree(old, new, node):
    """Arrays of a tree in which another tree replaces the descendants of a node.

    The node keeps its id and gets the split of the other root, if any. Its descendants
    are removed, and the nodes of the other tree get the next ids in their order.
    Counts above the node are unchanged: they are summed again when they are read.
    """
    n = len(old["parent"])
    removed = descendants(old["parent"], node)
    # new ids of the other tree's nodes; its root becomes the node
    new_ids = np.append(node, np.arange(n, n + len(new["parent"]) - 1))
    arrays = {
        "child_of_code": np.concatenate([old["child_of_code"], new["child_of_code"]])
    }
    for name in (*ARRAYS_OF_NODES, *((STOPS,) if STOPS in old else ())):
        arrays[name] = np.concatenate([old[name], new[name][1:]])
        arrays[name][node] = new[name][0]
    parent = np.concatenate([old["parent"], new_ids[new["parent"][1:]]])
    parent[:n][removed] = REMOVED
    arrays["parent"] = parent.astype(np.int32)
    parent_of_split = old["parent"][first_children(old["parent"])]
    retained = ~(removed[parent_of_split] | (parent_of_split == node))
    for name in OF_SPLITS:
        if name in old:
            arrays[name] = np.concatenate([old[name][retained], new[name]])

    # `left` is the first child, at a leaf its own id; `first` is the index of the first
    # code of a nominal split in `child_of_code`
    nodes, branching = arrays["nodes"], arrays["branching"]
    nodes["left"][new_ids] = new_ids[new["nodes"]["left"]]
    branching["first"][new_ids[new["branching"]["first"] >= 0]] += len(
        old["child_of_code"]
    )
    removed = np.flatnonzero(removed)
    for name in ("n_node_samples", "counts", "impurity"):
        arrays[name][removed] = 0
    nodes["threshold"][removed], nodes["feature"][removed] = np.inf, LEAF
    nodes["left"][removed] = removed
    if STOPS in old:
        arrays[STOPS][removed] = NO_STOP
    branching["first"][removed], branching["n_codes"][removed] = NUMERIC, 0
    branching["missing_left"][removed] = 1  # as at a leaf
    return arrays
