"""Monotonicity constraints: the signs of the features, and the values of the nodes.

A split on a constrained feature sets a bound between the values of its children. All
values are clipped into the bounds of their nodes. For trees of moderate size, the
values of the leaves are then replaced by those that are closest to the unconstrained
ones among all values in the right order (isotonic regression on a partial order).

References
----------
R. Luss, S. Rosset and M. Shahar, "Efficient regularized isotonic regression with
application to gene-gene interaction search", 2012.

R. van de Kamp, A. Feelders and N. Barile, "Isotonic classification trees", 2009.
"""

import numpy as np
from scipy.special import xlogy

from .._compat import InvalidParameterError
from ._isotonic import bounds_of_nodes, isotonic_regression
from .nodes._derived import shrunk

MAX_LEAVES = 2000  # of a tree with isotonic values: pairs of leaves are compared
UNKNOWN_WEIGHT = 1e-6  # per row, of a node at which rows of unknown categories stay


def resolve_monotonic_cst(estimator, schema, classes):
    """The sign of each feature as a tuple, or None if no feature is constrained."""
    constraints, caller = estimator.monotonic_cst, type(estimator).__name__
    if constraints is None:
        return None
    if estimator.leaf_prediction in ("nb", "nba"):
        raise InvalidParameterError(
            f"The 'leaf_prediction' parameter of {caller} must be 'auto' or 'majority' "
            "with monotonic_cst, because naive Bayes does not keep the order. Got "
            f"{estimator.leaf_prediction!r} instead."
        )
    if isinstance(constraints, dict):
        if schema.names is None:
            raise ValueError(
                "monotonic_cst is a dict, but X has no feature names. Pass an array "
                "with a sign per feature instead."
            )
        unknown = [name for name in constraints if name not in list(schema.names)]
        if unknown:
            raise ValueError(
                f"monotonic_cst has keys that are not feature names of X: "
                f"{unknown[:5]}. The names are {list(schema.names)[:20]}."
            )
        signs = [constraints.get(name, 0) for name in schema.names]
    else:
        signs = np.asarray(constraints)
        if signs.shape != (schema.n_features,):
            shape = signs.shape if signs.ndim != 1 else len(signs)
            raise ValueError(
                f"monotonic_cst has shape {shape} but the input data X has "
                f"{schema.n_features} features."
            )
        signs = signs.tolist()
    invalid = [sign for sign in signs if sign not in (-1, 0, 1)]
    if invalid:
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, or a dict of "
            f"them by feature name, but got {invalid[:5]}"
        )
    if len(classes) > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification "
            f"(monotonic_cst is set, and y has {len(classes)} classes). Set "
            "monotonic_cst=None, or combine classes."
        )
    if schema.is_categorical is not None:
        for j in np.flatnonzero(schema.is_categorical):
            if signs[j]:
                raise ValueError(
                    f"monotonic_cst must be 0 for the nominal column "
                    f"{schema.columns[j]!r}, whose categories have no order. Got "
                    f"{signs[j]!r}. Set it to 0, or make the column numeric."
                )
    if len(classes) < 2 or not any(signs):
        return None
    return tuple(map(int, signs))


def constrain(tree, signs):
    """Clip the probabilities of all nodes into the bounds of the splits above them."""
    bounds = bounds_of_nodes(
        tree.parent, _signs_of_nodes(tree, signs), tree.raw_proba[:, 1]
    )
    _set(tree, tree.proba[:, 1].clip(*bounds))


def _set(tree, value):
    tree._set_values(np.column_stack([1.0 - value, value]))


def _signs_of_nodes(tree, signs):
    # Sign of the feature of each split; "is the value missing?" is not constrained.
    is_split = (tree.feature >= 0) & ~np.isinf(tree.threshold)
    return np.where(is_split, np.array(signs)[np.maximum(tree.feature, 0)], 0)


def make_isotonic(tree, signs):
    """Replace clipped values of leaves by isotonic ones.

    Among all values that are in the right order for any pair of rows, they have the
    smallest weighted sum of squares to the values without constraints, and the smallest
    weighted cross-entropy.
    """
    if tree.node_count == 1 or tree.n_leaves > MAX_LEAVES:
        return
    # rows of unknown categories stay at a nominal split
    nodes = np.flatnonzero((tree.n_children == 0) | tree.is_nominal)
    pairs = _comparable(tree, signs, nodes)
    is_leaf = tree.n_children[nodes] == 0
    target, clipped = tree.raw_proba, tree.proba[nodes, 1]
    if tree.shrinkage > 0.0:
        n_rows = tree.counts.sum(axis=1)
        target = shrunk(target, n_rows, tree.parent, tree.depth, tree.shrinkage)
    target, weight = target[nodes, 1], tree.weighted_n_node_samples[nodes]
    positive_weight = np.where(is_leaf & (weight > 0.0), weight, UNKNOWN_WEIGHT)
    value = isotonic_regression(target, positive_weight, *pairs)

    def loss(value):
        terms = xlogy(target, value) + xlogy(1.0 - target, 1.0 - value)
        return -(weight * terms)[is_leaf].sum()

    if loss(value) <= loss(clipped):
        node_values = tree.proba[:, 1].copy()
        node_values[nodes] = value
        _set(tree, node_values)


def _comparable(tree, signs, nodes):
    # Pairs of indices of `nodes`: rows that differ in constrained features only may
    # reach both, and the value of the first must not be above that of the second.
    regions = _Regions(tree)
    order, end = np.array(regions.order), regions.end
    start = np.empty_like(end)
    start[order] = np.arange(len(order))
    index = np.full(len(order), -1)
    index[nodes] = np.arange(len(nodes))
    index = index[order]  # in preorder
    first, second = [], []
    sign_of = _signs_of_nodes(tree, signs)
    for node in np.flatnonzero(sign_of).tolist():
        sides = [index[start[child] : end[child]] for child in tree.children(node)]
        low, high = [side[side >= 0] for side in sides][:: sign_of[node]]
        first.append(np.repeat(low, len(high)))
        second.append(np.tile(high, len(low)))
    first = np.concatenate([np.empty(0, dtype=np.intp), *first])
    second = np.concatenate([np.empty(0, dtype=np.intp), *second])
    for feature in regions.column:
        retained = regions.meet(feature, nodes[first], nodes[second], signs[feature])
        first, second = first[retained], second[retained]
    return first, second


class _Regions:
    """Values that reach each node of a tree."""

    def __init__(self, tree):
        n, feature = tree.node_count, tree.feature
        used = np.unique(feature[feature >= 0]).tolist()
        # values of numeric features in (low, high], and whether missing values, reach a
        # node
        self.column = {f: k for k, f in enumerate(used)}
        self.low, self.high = np.full((2, n, len(used)), -np.inf)
        self.high[:] = np.inf
        self.missing = np.ones((n, len(used)), dtype=bool)
        self.categories = {}  # masks; the last one is any category without a code
        for node in np.flatnonzero(tree.is_nominal).tolist():
            mask = self.categories.get(feature[node])
            n_codes = 1 + len(tree.branches(node))
            if mask is None or mask.shape[1] < n_codes:
                self.categories[feature[node]] = np.ones((n, n_codes), dtype=bool)
        # the nodes in preorder, and the positions at which their subtrees end
        self.order, self.end = [], np.zeros(n, dtype=np.intp)
        stack = [0]
        while stack:
            node = stack.pop()
            if node < 0:
                self.end[~node] = len(self.order)
                continue
            self.order.append(node)
            children = tree.children(node)
            stack += [~node, *children[::-1].tolist()]
            if len(children):
                for array in (
                    self.low,
                    self.high,
                    self.missing,
                    *self.categories.values(),
                ):
                    array[children] = array[node]
                self._divide(tree, node, children)

    def _divide(self, tree, node, children):
        k = self.column[tree.feature[node]]
        branches = tree.branches(node)
        if branches is not None:
            reach = self.categories[tree.feature[node]]
            child_of = np.full(reach.shape[1], node)
            child_of[: len(branches)] = branches
            reach[children] &= child_of == children[:, np.newaxis]
            reach[node] &= child_of == node  # rows that stay
            return
        left, right = children
        threshold = tree.threshold[node]
        self.missing[right if tree.missing_go_to_left[node] else left, k] = False
        self.high[left, k] = min(self.high[left, k], threshold)
        self.low[right, k] = max(self.low[right, k], threshold)
        if threshold == np.inf:  # only rows without a value
            self.high[right, k] = -np.inf

    def meet(self, feature, first, second, sign):
        """Whether equal values reach both nodes or, with a `sign`, ordered ones."""
        if feature in self.categories:
            reach, pattern = np.unique(
                self.categories[feature], axis=0, return_inverse=True
            )
            pattern, reach = pattern.reshape(-1), reach.astype(np.float32)
            return (reach @ reach.T > 0.0)[pattern[first], pattern[second]]
        k = self.column[feature]
        low, high, missing = self.low[:, k], self.high[:, k], self.missing[:, k]
        if sign == 0:
            overlaps = np.maximum(low[first], low[second]) < np.minimum(
                high[first], high[second]
            )
        else:
            first, second = (first, second)[::sign]
            overlaps = low[first] < high[second]
        return overlaps | (missing[first] & missing[second])
