"""State of a tree, the data in its pickle: its arrays, validated when they are read.

The *evidence* of a split has its statistics, such as the number of candidate splits
that are expected to look as good by chance; the *runner-up* is the best split on
another feature. *Look-ahead* chooses a split by the costs of the subtrees below it.
*Codes* are the numbers of categories. *Branching* has where a split sends missing
values and categories.
"""

from enum import IntEnum

import numpy as np

from ...utils._codec import corrupt_state
from .. import _settings
from .._settings import MAX_STORED_COMPETITORS as MAX_STORED_COMPETITORS


class LeafReason(IntEnum):
    """Why a node is a leaf: the codes of ``tree_.leaf_reason``.

    Attributes
    ----------
    NO_LEAF
        The node has split.
    PURE
        All its rows have the same class.
    MAX_DEPTH, MIN_SAMPLES_SPLIT
        The limit of this name is reached.
    MIN_SAMPLES_LEAF, MIN_WEIGHT_FRACTION_LEAF
        No candidate split leaves enough rows in each branch.
    MIN_IMPURITY_DECREASE
        The best candidate split that the bound (split rule) accepted does not lower the
        impurity enough.
    MAX_LEAF_NODES
        The tree reached the limit of leaves before the node was split.
    NO_CANDIDATE
        There is no candidate split: no feature varies among its rows, or no feature
        that varies was examined.
    REJECTED
        The bound rejected the best candidate split.
    PRUNED
        Its split was removed by the pruning.
    MERGED
        Its split was removed because the evidence was weak and all branches predicted
        the same class.
    WAITING
        The tree is trained incrementally and may split the node after more rows.
    MONOTONIC_CST
        Every candidate split violates `monotonic_cst`.

    See Also
    --------
    node_table : Records of the nodes, with the reason in words.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import LeafReason
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(max_depth=1).fit(X, y).tree_
    >>> [LeafReason(code).name for code in tree.leaf_reason]
    ['NO_LEAF', 'PURE', 'MAX_DEPTH']
    """

    NO_LEAF = _settings.NO_LEAF
    PURE = _settings.PURE
    MAX_DEPTH = _settings.MAX_DEPTH
    MIN_SAMPLES_SPLIT = _settings.MIN_SAMPLES_SPLIT
    MIN_SAMPLES_LEAF = _settings.MIN_SAMPLES_LEAF
    MIN_WEIGHT_FRACTION_LEAF = _settings.MIN_WEIGHT_FRACTION_LEAF
    MIN_IMPURITY_DECREASE = _settings.MIN_IMPURITY_DECREASE
    MAX_LEAF_NODES = _settings.MAX_LEAF_NODES
    NO_CANDIDATE = _settings.NO_CANDIDATE
    REJECTED = _settings.REJECTED
    PRUNED = _settings.PRUNED
    MERGED = _settings.MERGED
    WAITING = _settings.WAITING
    MONOTONIC_CST = _settings.MONOTONIC_CST


# Fields of `SplitEvidence` (bounds/_contract.pxd). A bound (split rule) compares
# confidence limits of the impurity; or scores, whose difference has a confidence
# interval of half-width `radius`; or `statistic` with its parameter. `multiplicity` is
# the factor of the p-value for multiple comparisons. `runner_up_z` is the difference of
# the gains in standard errors.
EVIDENCE_DTYPE = np.dtype(
    [
        ("score", np.float64),
        ("runner_up_score", np.float64),
        ("runner_up_feature", np.intp),
        ("parent_limit", np.float64),
        ("child_limit", np.float64),
        ("radius", np.float64),
        ("statistic", np.float64),
        ("n_candidates", np.float64),
        ("multiplicity", np.float64),
        ("log10_expected_by_chance", np.float64),
        ("runner_up_z", np.float64),
    ],
    align=True,
)
# Evidence that is stored without a bound (split rule).
BY_CHANCE_DTYPE = np.dtype(
    [
        (name, np.float64)
        for name in ("n_candidates", "multiplicity", "log10_expected_by_chance")
    ]
)
# Costs by which growth with look-ahead (batch/_lookahead.pyx) chose a split.
COSTS_DTYPE = np.dtype(
    [
        ("cost", np.float64),
        ("runner_up_cost", np.float64),
        ("runner_up_feature", np.intp),
    ],
    align=True,
)
# A split on another feature that was not chosen. `missing_left`: missing values go to
# the left; `missing_seen`: training rows of the node have some.
COMPETITOR_DTYPE = np.dtype(
    [
        ("feature", np.int32),
        ("n_children", np.int16),
        ("missing_left", np.uint8),
        ("missing_seen", np.uint8),
        ("threshold", np.float64),
        ("left", np.uint64),  # bit mask of the first 64 categories: the first child's
        ("gain", np.float64),  # decrease of the impurity
        ("z", np.float64),  # difference from the split's gain, in standard errors
    ],
    align=True,
)
# Why a node is a leaf, and the split that was rejected or removed.
STOP_DTYPE = np.dtype(
    [
        ("log10_expected_by_chance", np.float64),
        ("threshold", np.float64),
        ("feature", np.int32),
        ("reason", np.int32),
    ],
    align=True,
)
STATE_VERSION = 7
# The arrays of a state, in this order: one element per node, or per split in
# `evidence`.
# Arrays that can be computed from `parent` are not written.
NODE_ARRAYS = ("parent", "n_node_samples", "counts", "impurity", "evidence")
# Further arrays, which follow in this order if the tree has them.
COSTS = "costs"  # one element per split
COMPETITORS = "competitors"  # one element per split
STOPS = "stops"  # one element per node
# class probabilities, if they are not computed from the counts; one row per node
VALUES = "values"
OF_SPLITS = ("evidence", COSTS, COMPETITORS)
LEAF = -2  # as a feature
STRONG = -2.0  # evidence is strong if log10_expected_by_chance is below this
MAX_WEIGHT = 1e50  # of rows: neither squares nor cubes of counts overflow
# Features are 32-bit integers; labels have 16 bits, and one value marks unlabeled rows.
# With these limits, products of numbers of features, classes and bins do not overflow.
MAX_FEATURES = 2**31 - 1
MAX_CLASSES = 2**16 - 2


def check_size(n_features, n_classes):
    """Raise ValueError unless a tree can have so many features and classes."""
    if not (1 <= n_features <= MAX_FEATURES and 1 <= n_classes <= MAX_CLASSES):
        raise ValueError(
            f"A tree can have 1 to {MAX_FEATURES} features and 1 to {MAX_CLASSES} "
            f"classes. Got {n_features} and {n_classes}."
        )


def checked_class_weight(class_weight, n_classes):
    """Return the class weights as an array; ones if `class_weight` is None."""
    if class_weight is None:
        return np.ones(n_classes)
    class_weight = np.array(class_weight, dtype=np.float64)
    if class_weight.shape != (n_classes,):
        raise ValueError(
            f"class_weight must have shape ({n_classes},). Got {class_weight.shape}."
        )
    if not (np.isfinite(class_weight).all() and (class_weight >= 0.0).all()):
        raise ValueError(
            f"class_weight must be finite and not negative. Got {class_weight}."
        )
    return class_weight


def checked_shrinkage(shrinkage):
    """Return the shrinkage of a tree as a float."""
    shrinkage = float(shrinkage)
    if not 0.0 <= shrinkage < np.inf:
        raise ValueError(
            f"shrinkage must be finite and not negative. Got {shrinkage!r}."
        )
    return shrinkage


def row_bytes(array):
    """Number of bytes of one element along the first axis."""
    return array.itemsize * int(np.prod(array.shape[1:]))


def read_arrays(state, names, templates):
    """Parse arrays, with dtypes and shapes of `templates`; ValueError if corrupt."""
    if not isinstance(state, tuple) or not state or state[0] != STATE_VERSION:
        raise ValueError(
            f"The state of this tree does not have version {STATE_VERSION}: it was "
            f"written by another release. Load it with that release, or fit again."
        )
    if len(state) != 1 + len(names):
        raise corrupt_state("tree", "its arrays")
    arrays = {}
    for data, name in zip(state[1:], names, strict=True):
        template = templates[name]
        shape = (-1, *template.shape[1:])
        if not isinstance(data, bytes) or len(data) % row_bytes(template):
            raise corrupt_state("tree", repr(name))
        arrays[name] = np.frombuffer(data, template.dtype).reshape(shape).copy()
    return arrays


def check_nodes(arrays, n_features):
    """Raise ValueError unless the arrays of nodes are valid, except for splits."""
    count = len(arrays["parent"])
    n_splits = np.count_nonzero(arrays["n_children"])
    for name in (*NODE_ARRAYS, COSTS, COMPETITORS, STOPS, VALUES):
        if name not in arrays:
            continue
        size = n_splits if name in OF_SPLITS else count
        if len(arrays[name]) != size:
            raise corrupt_state("tree", repr(name))
    for name, is_valid in (
        ("counts", _are_counts(arrays["counts"], MAX_WEIGHT)),
        ("n_node_samples", _are_counts(arrays["n_node_samples"], 2.0**62)),
        ("evidence", _has_valid_features(arrays["evidence"], n_features)),
        (COSTS, _has_valid_features(arrays.get(COSTS), n_features)),
        (
            COMPETITORS,
            _has_valid_features(arrays.get(COMPETITORS), n_features, "feature"),
        ),
        (STOPS, _are_stops(arrays.get(STOPS), n_features)),
        (VALUES, _are_probabilities(arrays.get(VALUES))),
    ):
        if not is_valid:
            raise corrupt_state("tree", repr(name))


def _are_counts(counts, limit):
    # Sums of counts must be valid counts, too.
    return bool(((counts >= 0) & (counts < limit / len(counts))).all())


def _are_probabilities(values):
    if values is None:
        return True
    return bool((values >= 0.0).all() and np.allclose(values.sum(axis=1), 1.0))


def _are_stops(stops, n_features):
    if stops is None:
        return True
    is_known = (stops["reason"] >= 0) & (stops["reason"] < len(LeafReason))
    return bool(is_known.all()) and _has_valid_features(stops, n_features, "feature")


def _has_valid_features(evidence, n_features, field="runner_up_feature"):
    # Whether a field has features, or negative values (LEAF, -1) if there is none.
    if evidence is None or field not in evidence.dtype.names:
        return True
    competitor = evidence[field]
    return bool(((competitor >= LEAF) & (competitor < n_features)).all())


# The feature is LEAF at a leaf; `left` is the first child, at a leaf its own id.
NODE_DTYPE = np.dtype(
    [("threshold", np.float64), ("feature", np.int32), ("left", np.int32)], align=True
)
# `first` is the index in `child_of_code` of the first code of a nominal split;
# `missing_left` of such a split is the index of the child of unknown categories.
BRANCHING_DTYPE = np.dtype(
    [("first", np.int32), ("n_codes", np.int16), ("missing_left", np.int16)], align=True
)
# As `first` of a leaf or of a split that is not nominal: MISSING_SEEN if training rows
# of the split have missing values, so that their direction was learned; else NUMERIC.
NUMERIC, MISSING_SEEN = -1, -2
# Arrays of splits in a state, after those of nodes; one element per node, except
# `child_of_code`.
SPLIT_ARRAYS = ("nodes", "branching", "child_of_code")
ARRAYS = NODE_ARRAYS + SPLIT_ARRAYS


def check_splits(arrays, n_features):
    """Raise ValueError unless routing with these splits terminates."""
    for name in ("nodes", "branching"):
        if len(arrays[name]) != len(arrays["parent"]):
            raise corrupt_state("tree", repr(name))
    if not (_are_splits(arrays, n_features) and _are_branches(arrays)):
        raise corrupt_state("tree", "its nodes")


def _are_splits(arrays, n_features):
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
    # Whether the codes of nominal splits are present and lead to their children.
    branching, n_children = arrays["branching"], arrays["n_children"]
    leaf = n_children == 0
    nominal = (branching["first"] >= 0) & ~leaf
    if np.any((branching["first"] >= 0) != nominal):
        return False
    if np.any(branching["first"] < np.where(leaf, NUMERIC, MISSING_SEEN)):
        return False
    # rows with missing values stay at a leaf because they are sent to the left
    left = branching["missing_left"]
    if np.any(left[leaf] != 1) or np.any((left[~nominal] < 0) | (left[~nominal] > 1)):
        return False
    of_nominal, n_children = branching[nominal], n_children[nominal]
    first, n_codes = (
        of_nominal["first"].astype(np.int64),
        of_nominal["n_codes"].astype(np.int64),
    )
    # each node has its own range of codes, to which new categories are written
    order = np.argsort(first, kind="stable")
    end = np.append(first[order], len(arrays["child_of_code"]))[1:]
    if np.any(n_codes < 0) or np.any((first + n_codes)[order] > end):
        return False
    if np.any(of_nominal["missing_left"] < 0) or np.any(
        of_nominal["missing_left"] >= n_children
    ):
        return False
    return all(
        np.all(arrays["child_of_code"][a : a + size] < r)
        for a, size, r in zip(first, n_codes, n_children, strict=True)
    )
