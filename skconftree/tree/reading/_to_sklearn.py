"""Conversion to scikit-learn's trees, and the cost-complexity pruning path.

If a node `keeps_unknown`, rows whose category no branch takes stay there. *Shrinkage*
moves the probabilities of a node toward those of its ancestors.
"""

import heapq
import importlib
from typing import NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from ..._compat import make_sklearn_tree
from ...criteria._criterion import criterion_maker

# MISSING: missing values as a category; UNKNOWN, -1: code of unknown categories
from ...tables._features import MISSING, UNKNOWN
from ...utils._warnings import warn
from ._records import read_nodes


def to_sklearn(estimator):
    """Convert a fitted tree; nominal splits become thresholds on encoded columns."""
    tree = estimator.tree_
    if not tree.is_nominal.any():
        if tree.n_removed:  # nodes that are not used any more
            # an empty mask of nodes to prune: a copy without the removed nodes
            tree = tree._pruned(np.zeros(tree.node_count, dtype=bool))
        classifier = _classifier(
            estimator,
            {
                "left_child": tree.children_left,
                "right_child": tree.children_right,
                "feature": tree.feature,
                "threshold": tree.threshold,
                "missing_go_to_left": tree.missing_go_to_left,
                "impurity": tree.impurity,
                "n_node_samples": tree.n_node_samples,
                "weighted_n_node_samples": tree.weighted_n_node_samples,
            },
            tree.proba,
            n_features=estimator.n_features_in_,
        )
        if estimator.is_categorical_ is None:
            if hasattr(estimator, "feature_names_in_"):
                classifier.feature_names_in_ = estimator.feature_names_in_
            return classifier
    _check_categories(estimator)
    binary = _BinaryTree(estimator)
    transformer = ColumnTransformer(binary.transformers())
    transformer.fit(_example(estimator))
    return Pipeline([("tests", transformer), ("tree", binary.classifier())])


def warn_of_missing(trees):
    """Warn about trees whose missing values other tools may handle differently."""
    if any(
        (tree.tree_.missing_go_to_left & tree.tree_.missing_seen).any()
        for tree in trees
    ):
        warn(
            "Some splits send missing values to the left. scikit-learn supports "
            "this, but converters such as skl2onnx may ignore it. "
            "skconftree.tree.export_onnx does not."
        )


def forest_to_sklearn(trees, parameters):
    """Convert trees to a scikit-learn forest, after an encoder of nominal columns."""
    from sklearn.ensemble import RandomForestClassifier  # slow to import

    first = trees[0]
    forest = RandomForestClassifier(len(trees), **parameters)
    forest.estimator_ = DecisionTreeClassifier()
    forest.classes_ = first.classes_
    forest.n_classes_ = int(first.n_classes_)
    forest.n_outputs_ = 1
    if first.is_categorical_ is None:
        forest.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            forest.feature_names_in_ = first.feature_names_in_
        forest.estimators_ = [_member(to_sklearn(tree)) for tree in trees]
        return forest
    _check_categories(first)
    encoded = {}
    binaries = [_BinaryTree(tree, encoded) for tree in trees]
    transformer = ColumnTransformer(binaries[0].transformers())
    transformer.fit(_example(first))
    forest.estimators_ = [_member(tree.classifier()) for tree in binaries]
    forest.n_features_in_ = forest.estimators_[0].n_features_in_
    return Pipeline([("tests", transformer), ("forest", forest)])


def _member(classifier):
    # Trees of scikit-learn's forests have numeric labels and no column names.
    classifier.classes_ = np.arange(classifier.n_classes_, dtype=np.float64)
    vars(classifier).pop("feature_names_in_", None)
    return classifier


def _check_categories(estimator):
    for column, categories in enumerate(estimator.categories_):
        for category in categories or ():
            if isinstance(category, tuple | bytes | complex):
                raise ValueError(
                    f"Column {column} has categories that scikit-learn's "
                    f"OrdinalEncoder cannot encode, {type(category).__name__} objects "
                    f"such as {category!r}. Turn them into strings before fit."
                )


def _classifier(estimator, nodes, values, n_features):
    known = estimator.criterion_ in ("gini", "entropy")
    depth = np.zeros(len(values), dtype=np.intp)
    # children have larger ids than their parent
    for node in np.flatnonzero(nodes["left_child"] >= 0):
        for side in ("left_child", "right_child"):
            depth[nodes[side][node]] = depth[node] + 1
    return make_sklearn_tree(
        nodes,
        values,
        max_depth=int(depth.max()),
        n_features=n_features,
        classes=estimator.classes_,
        parameters={
            "criterion": estimator.criterion_ if known else "gini",
            "max_depth": estimator.max_depth,
            "random_state": estimator.random_state,
        },
    )


class _UnknownLeaf(NamedTuple):
    """Leaf for rows of an unknown category, with the proportions of their node."""

    node: int


class _Targets(NamedTuple):
    """Nodes to which the codes of a nominal split lead."""

    node: int
    column: int
    nodes: list  # children and _UnknownLeaf, in the order of their codes
    ends: list  # end of the range of codes of each, exclusive; the unknown code is -1

    def part(self, first, last):
        """Return a range of the targets, or the target itself if it is only one."""
        if last - first == 1:
            return self.nodes[first]
        return self._replace(nodes=self.nodes[first:last], ends=self.ends[first:last])


class _BinaryTree:
    """Binary tree in which nominal splits are thresholds on encoded columns.

    It is written from a stack of targets: nodes of the original tree, leaves for
    unknown categories (`_UnknownLeaf`), or ranges of both (`_Targets`).
    """

    def __init__(self, estimator, encoded=None):
        self.estimator = estimator
        self.table = {row.node: row for row in read_nodes(estimator)}
        tree = estimator.tree_
        # Read only once, because most are computed for all nodes.
        self.class_weight = tree.class_weight
        self.counts = tree.counts
        self.value = tree.proba
        self.raw = tree.raw_proba  # before shrinkage
        self.shrinkage = tree.shrinkage
        self.n_rows = tree.n_node_samples
        self.weight = tree.weighted_n_node_samples
        self.numeric = np.flatnonzero(~estimator.is_categorical_).tolist()
        self.column_of = {feature: i for i, feature in enumerate(self.numeric)}
        # (feature, order) to (column, categories in that order)
        self.encoded = {} if encoded is None else encoded
        if not self.numeric and not tree.is_nominal.any():
            # scikit-learn requires at least one column, and at least one category
            self._encode(0, [estimator.categories_[0] or [MISSING]])
        self.rows = []  # fields of the new nodes
        self.values = []
        criterion = criterion_maker(estimator.criterion_)(tree.max_n_classes)
        self.impurities = criterion.impurities
        # targets to write, and where their id is stored: the parent and its field
        stack = [(0, None)]
        while stack:
            target, link = stack.pop()
            new, children = self._expand(target)
            if link is not None:
                parent, side = link
                self.rows[parent][side] = new
            for side, child in zip(
                ("right_child", "left_child"), children[::-1], strict=False
            ):
                stack.append((child, (new, side)))

    def _expand(self, target):
        # Writes the top node of a target; returns its id and the targets of its
        # children.
        if isinstance(target, _UnknownLeaf):
            no_rows = np.zeros(len(self.class_weight))
            return self._write(target.node, no_rows, 0), []
        if not isinstance(target, _Targets) and self.table[target].keeps_unknown:
            target = self._targets(target)
        if isinstance(target, _Targets):
            half = len(target.nodes) // 2
            counts, n_rows = None, None
            if not isinstance(target.nodes[0], _UnknownLeaf):
                counts = self.counts[target.nodes].sum(axis=0)
                n_rows = self.n_rows[target.nodes].sum()
            new = self._write(
                target.node,
                counts,
                n_rows,
                feature=target.column,
                threshold=target.ends[half - 1] - 0.5,
            )
            return new, [target.part(0, half), target.part(half, len(target.nodes))]
        row = self.table[target]
        if not row.branches:
            return self._write(target), []
        new = self._write(
            target,
            feature=self.column_of[row.feature],
            threshold=row.threshold,
            missing_go_to_left=row.branches[0].takes_missing,
        )
        return new, [branch.node for branch in row.branches]

    def _targets(self, node):
        row = self.table[node]
        # an encoder requires missing values last
        branches = sorted(row.branches, key=lambda branch: branch.takes_missing)
        column, ends = self._encode(
            row.feature, [branch.categories for branch in branches]
        )
        targets = [_UnknownLeaf(node), *(branch.node for branch in branches)]
        return _Targets(node, column, targets, ends)

    def _encode(self, feature, groups):
        # Returns the index of the column with the codes of the groups, and the end of
        # each group in the order of the codes.
        order, ends = [], [0]
        for group in groups:
            order += [category for category in group if category is not MISSING]
            if MISSING in group:  # None or NaN
                order += [None, np.nan]
            ends.append(len(order))
        column, _ = self.encoded.setdefault(
            (feature, tuple(map(repr, order))),
            (len(self.numeric) + len(self.encoded), order),
        )
        return column, ends

    def _write(self, node, counts=None, n_rows=None, **test):
        # Copies the old node if `counts` is None.
        value, impurity = self.value[node], self.table[node].impurity
        weight = self.weight[node]
        if counts is not None:
            reweighted = counts * self.class_weight
            weight = reweighted.sum()
            if weight > 0.0:
                value = self._shrunk(node, reweighted / weight)
                impurity = self.impurities(reweighted[np.newaxis])[0]
        self.rows.append(
            {
                "left_child": -1,
                "right_child": -1,
                "feature": -2,
                "threshold": -2.0,
                "missing_go_to_left": False,
                "impurity": impurity,
                "n_node_samples": self.n_rows[node] if n_rows is None else n_rows,
                "weighted_n_node_samples": weight,
            }
            | test
        )
        self.values.append(value)
        return len(self.rows) - 1

    def _shrunk(self, node, value):
        # Shrinks the proportions of some children of a node as if they were one.
        if self.shrinkage == 0.0:
            return value
        n = self.counts[node].sum()
        reliability = n / (n + self.shrinkage)
        return self.value[node] + (value - self.raw[node]) * reliability

    def transformers(self):
        """Return the steps of a `ColumnTransformer`: numeric columns, then splits."""
        names = getattr(self.estimator, "feature_names_in_", None)

        def columns(features):
            return features if names is None else names[features].tolist()

        steps = []
        if self.numeric:
            steps.append(("numeric", "passthrough", columns(self.numeric)))
        for (feature, _), (column, order) in self.encoded.items():
            categories = np.empty(len(order), dtype=object)
            for i, category in enumerate(order):
                categories[i] = category  # may be a tuple
            # as objects, because numbers would have to be sorted
            step = make_pipeline(
                FunctionTransformer(np.asarray, kw_args={"dtype": object}),
                OrdinalEncoder(
                    categories=[categories],
                    handle_unknown="use_encoded_value",
                    unknown_value=int(UNKNOWN),
                ),
            )
            steps.append((f"test{column}", step, columns([feature])))
        return steps

    def classifier(self):
        """Return the tree that follows the transformers."""
        nodes = {
            name: np.array([row[name] for row in self.rows]) for name in self.rows[0]
        }
        return _classifier(
            self.estimator,
            nodes,
            np.array(self.values),
            n_features=len(self.numeric) + len(self.encoded),
        )


def _example(estimator):
    # Returns a row with column names, for fitting the transformers.
    row = np.zeros((1, estimator.n_features_in_), dtype=object)
    if not hasattr(estimator, "feature_names_in_"):
        return row
    columns = estimator.feature_names_in_.tolist()
    for library in ("pandas", "polars"):
        try:
            frames = importlib.import_module(library)
        except ImportError:
            continue
        return frames.DataFrame({name: [0] for name in columns})
    raise ImportError(
        "to_sklearn of a tree with column names needs pandas or polars. Install one."
    )


def pruning_path(tree):
    """Return alphas and total impurities of minimal cost-complexity pruning."""
    weight = tree.weighted_n_node_samples
    cost = (tree.impurity * (weight / weight[0])).tolist()
    parent = tree.parent.tolist()
    children = [tree.children(node).tolist() for node in range(len(cost))]
    # impurity and leaves of each subtree
    total, n_leaves = list(cost), [1] * len(cost)
    for node in reversed(range(len(cost))):  # children have larger ids
        if children[node]:
            total[node] = sum(total[child] for child in children[node])
            n_leaves[node] = sum(n_leaves[child] for child in children[node])

    def link(node):
        # increase of the impurity per leaf that pruning the node removes
        return (cost[node] - total[node]) / (n_leaves[node] - 1), node, n_leaves[node]

    links = [link(node) for node in range(len(cost)) if children[node]]
    heapq.heapify(links)
    alphas, impurities = [0.0], [total[0]]
    is_removed = [False] * len(cost)
    while n_leaves[0] > 1:
        alpha, node, leaves = heapq.heappop(links)
        if is_removed[node] or leaves != n_leaves[node]:
            continue  # outdated: the node or its subtree was pruned
        cost_increase, n_fewer = cost[node] - total[node], n_leaves[node] - 1
        stack_below = list(children[node])
        while stack_below:
            descendant = stack_below.pop()
            is_removed[descendant] = True
            stack_below += children[descendant]
        children[node] = []
        is_removed[node] = True
        while node >= 0:
            total[node] += cost_increase
            n_leaves[node] -= n_fewer
            if n_leaves[node] > 1:
                heapq.heappush(links, link(node))
            node = parent[node]
        alphas.append(alpha)
        impurities.append(total[0])
    return np.array(alphas), np.array(impurities)
