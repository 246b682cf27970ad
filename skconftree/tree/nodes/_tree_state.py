"""What the state of a tree is made of, and whether it is sound."""

import numpy as np

EVIDENCE_DTYPE = np.dtype(
    [
        ("score", np.float64),
        ("rival_score", np.float64),
        ("rival_feature", np.intp),
        ("parent_limit", np.float64),
        ("child_limit", np.float64),
        ("radius", np.float64),
        ("confidence", np.float64),
        ("n_tests", np.float64),
    ],
    align=True,
)
NODE_DTYPE = np.dtype(
    [("threshold", np.float64), ("feature", np.int32), ("left", np.int32)], align=True
)
BRANCHING_DTYPE = np.dtype(
    [
        ("first", np.int32),
        ("n_codes", np.int32),
        ("n_children", np.int32),
        ("missing_left", np.int16),
        ("missing_seen", np.int16),
    ],
    align=True,
)
STATE_VERSION = 3
# The arrays of a state, in this order; one element a node but in `ordinals`.
ARRAYS = (
    "nodes",
    "parent",
    "depth",
    "n_node_samples",
    "counts",
    "impurity",
    "evidence",
    "branching",
    "ordinals",
)
LEAF = -2  # as a feature
# Features are numbered in 32 bits; labels in 16, one of which marks rows without one.
# Up to here, no product of numbers of features, classes and bins is too large.
MAX_FEATURES = 2**31 - 1
MAX_CLASSES = 2**16 - 2


def check_size(n_features, n_classes):
    """Raise unless a tree can have so many features and classes."""
    if not (1 <= n_features <= MAX_FEATURES and 1 <= n_classes <= MAX_CLASSES):
        raise ValueError(
            f"A tree has from 1 to {MAX_FEATURES} features and from 1 to "
            f"{MAX_CLASSES} classes; got {n_features} and {n_classes}."
        )


def row_bytes(array):
    """Bytes of one element along the first axis."""
    return array.itemsize * int(np.prod(array.shape[1:]))


def read_arrays(state, templates, n_features):
    """Turn the state of a tree into arrays in which routing comes to an end.

    Parameters
    ----------
    state : object
        What was in a pickle.
    templates : dict of str to ndarray
        Arrays with the types and shapes wanted, whatever their lengths, under the
        names of `ARRAYS`.
    n_features : int

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    ValueError
        If the state is of another version or damaged.
    """
    if not isinstance(state, tuple) or not state or state[0] != STATE_VERSION:
        raise ValueError(
            f"The state of this tree is not of version {STATE_VERSION}; "
            f"it was written by another release."
        )
    if len(state) != 1 + len(ARRAYS):
        raise ValueError("The state of this tree is damaged: its arrays.")
    arrays = {}
    for data, name in zip(state[1:], ARRAYS, strict=True):
        template = templates[name]
        shape = (-1, *template.shape[1:])
        if not isinstance(data, bytes) or len(data) % row_bytes(template):
            raise ValueError(f"The state of this tree is damaged: {name!r}.")
        arrays[name] = np.frombuffer(data, template.dtype).reshape(shape).copy()
    count = len(arrays["parent"])
    for name, array in arrays.items():
        if len(array) != count and name != "ordinals":
            raise ValueError(f"The state of this tree is damaged: {name!r}.")
    if not (_is_tree(arrays, n_features) and _are_branches(arrays)):
        raise ValueError("The state of this tree is damaged: its nodes.")
    for name, is_sound in (
        ("counts", _are_counts(arrays["counts"], np.finfo(float).max)),
        ("n_node_samples", _are_counts(arrays["n_node_samples"], 2.0**62)),
        ("evidence", _names_features(arrays["evidence"], n_features)),
    ):
        if not is_sound:
            raise ValueError(f"The state of this tree is damaged: {name!r}.")
    return arrays


def _are_counts(counts, limit):
    # Sums of them must be counts as well.
    return bool(((counts >= 0) & (counts < limit / len(counts))).all())


def _names_features(evidence, n_features):
    rival = evidence["rival_feature"]
    return bool(((rival >= LEAF) & (rival < n_features)).all())


def _is_tree(arrays, n_features):
    # Every node but the root is a child of the node that it calls its parent.
    nodes = arrays["nodes"]
    parent = arrays["parent"]
    depth = arrays["depth"]
    n_children = arrays["branching"]["n_children"]
    nominal = arrays["branching"]["first"] >= 0
    ids = np.arange(len(nodes))
    leaf = nodes["feature"] == LEAF
    split = np.flatnonzero(~leaf)
    left = nodes["left"][split].astype(np.intp)
    if not (
        len(nodes) > 0
        and np.all(nodes["left"][leaf] == ids[leaf])
        and np.all(np.isposinf(nodes["threshold"][leaf]))
        and np.array_equal(np.isnan(nodes["threshold"][split]), nominal[split])
        and not np.isneginf(nodes["threshold"][split]).any()
        and np.all(nodes["feature"][split] >= 0)
        and np.all(nodes["feature"][split] < n_features)
        and np.all(left > split)
        and not n_children[leaf].any()
        and np.all(n_children[split] >= 2)
        and np.all(n_children[split][~nominal[split]] == 2)
        and n_children.sum(dtype=np.int64) == len(nodes) - 1
    ):
        return False
    above = np.repeat(split, n_children[split])
    place = np.arange(len(above)) - np.repeat(
        np.cumsum(n_children[split]) - n_children[split], n_children[split]
    )
    children = nodes["left"][above].astype(np.intp) + place
    return bool(
        np.array_equal(np.sort(children), ids[1:])
        and parent[0] == -1
        and depth[0] == 0
        and np.array_equal(parent[children], above)
        and np.array_equal(depth[1:], depth[parent[1:]] + 1)
    )


def _are_branches(arrays):
    # Whether the ordinals of every nominal test are there and lead to its children.
    branching = arrays["branching"]
    leaf = branching["n_children"] == 0
    nominal = (branching["first"] >= 0) & ~leaf
    if np.any((branching["first"] >= 0) != nominal):
        return False
    # rows without a value stay at a leaf because it sends them to the left
    left = branching["missing_left"]
    if np.any(left[leaf] != 1) or np.any((left[~nominal] < 0) | (left[~nominal] > 1)):
        return False
    owned = branching[nominal]
    first, n_codes = owned["first"].astype(np.int64), owned["n_codes"]
    # a category that is seen later is written into the node's own part of them
    order = np.argsort(first, kind="stable")
    end = np.append(first[order], len(arrays["ordinals"]))[1:]
    if np.any(n_codes < 0) or np.any((first + n_codes)[order] > end):
        return False
    if np.any(owned["missing_left"] < 0) or np.any(
        owned["missing_left"] >= owned["n_children"]
    ):
        return False
    return all(
        np.all(arrays["ordinals"][a : a + size] < n_children)
        for a, size, n_children in zip(first, n_codes, owned["n_children"], strict=True)
    )
