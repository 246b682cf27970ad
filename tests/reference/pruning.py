"""Slow, obvious prunings of a nested tree.

Every function returns a new tree; nothing is stored that can be counted again from
the rows of a node.
"""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from scipy.special import betaincc

from .bounds import ec2_beta, ec2_confidence, possibilistic_entropy
from .contingency import chi2_pvalue
from .criteria import impurity


@dataclass(frozen=True)
class Data:
    """The training rows, and what turns them into counts."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    class_weight: np.ndarray


@dataclass(frozen=True)
class Node:
    data: Data
    rows: np.ndarray
    depth: int
    test: tuple | None = None  # feature, threshold
    left: "Node | None" = None
    right: "Node | None" = None

    @property
    def counts(self):
        y, weight = self.data.y[self.rows], self.data.weight[self.rows]
        return np.array(
            [weight[y == k].sum() for k in range(len(self.data.class_weight))]
        )

    @property
    def weight(self):
        return self.counts.sum()

    @property
    def reweighted(self):
        return self.counts * self.data.class_weight

    @property
    def seen(self):
        """Proportions with class_weight, on the scale of the rows behind them."""
        if np.all(self.data.class_weight == 1.0):
            return self.counts  # whole numbers stay whole
        return self.reweighted / self.reweighted.sum() * self.weight

    def leaves(self):
        if self.test is None:
            return [self]
        return self.left.leaves() + self.right.leaves()

    def as_leaf(self):
        return replace(self, test=None, left=None, right=None)

    def with_rows(self, rows):
        """The same tests for other rows."""
        if self.test is None:
            return replace(self, rows=rows)
        feature, threshold = self.test
        goes_left = self.data.X[rows, feature] <= threshold
        return replace(
            self,
            rows=rows,
            left=self.left.with_rows(rows[goes_left]),
            right=self.right.with_rows(rows[~goes_left]),
        )

    def one_up(self):
        """The same one level higher."""
        if self.test is None:
            return replace(self, depth=self.depth - 1)
        return replace(
            self,
            depth=self.depth - 1,
            left=self.left.one_up(),
            right=self.right.one_up(),
        )


def nested(tree, data, node=0, rows=None, depth=0):
    """Nest a fitted tree."""
    rows = np.arange(len(data.y)) if rows is None else rows
    if tree.children_left[node] < 0:
        return Node(data, rows, depth)
    test = int(tree.feature[node]), float(tree.threshold[node])
    goes_left = data.X[rows, test[0]] <= test[1]
    left, right = tree.children_left[node], tree.children_right[node]
    return Node(
        data,
        rows,
        depth,
        test,
        nested(tree, data, left, rows[goes_left], depth + 1),
        nested(tree, data, right, rows[~goes_left], depth + 1),
    )


def prune(root, pruning, confidence, criterion="gini"):
    """Prune a tree by the definition of a pruning."""
    if pruning == "c45":
        return c45(collapse(root), confidence)
    if pruning in ("chi2", "ec2"):
        return prune_single_tests(root, pruning, confidence)
    if pruning == "cost_complexity" and confidence == 0.0:
        return root

    def cost(leaf):
        if pruning == "pessimistic":
            return leaf.weight * binomial_upper(*errors_of(leaf), confidence)
        if pruning == "possibilistic":
            return leaf.weight * possibilistic_entropy(list(leaf.seen), confidence)
        share = leaf.reweighted.sum() / root.reweighted.sum()
        return share * impurity(criterion, leaf.reweighted) + confidence

    return prune_by_cost(root, cost)


def prune_by_cost(node, cost):
    if node.test is None:
        return node
    node = replace(
        node, left=prune_by_cost(node.left, cost), right=prune_by_cost(node.right, cost)
    )
    below = sum(cost(leaf) for leaf in node.leaves())
    return node.as_leaf() if cost(node) <= below * (1 + 1e-12) else node


def prune_single_tests(node, pruning, confidence):
    if node.test is None:
        return node
    node = replace(
        node,
        left=prune_single_tests(node.left, pruning, confidence),
        right=prune_single_tests(node.right, pruning, confidence),
    )
    if node.left.test is not None or node.right.test is not None:
        return node
    table = [list(node.left.seen), list(node.right.seen)]
    if pruning == "chi2":
        stops = chi2_pvalue(table) > confidence * (1 + 1e-9)
    else:
        parent = np.sum(table, axis=0)
        certain = ec2_confidence(parent, table, node.depth, ec2_beta(0.1))
        stops = certain < confidence
    return node.as_leaf() if stops else node


def errors_of(node):
    return max(node.weight - node.seen.max(), 0.0), node.weight


def binomial_upper(errors, n, cf):
    if errors >= n:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        if betaincc(errors + 1, n - errors, middle) > cf:
            low = middle
        else:
            high = middle
    return high


def c45_errors(errors, n, cf):
    """Expected errors of a leaf."""
    if errors == 0:
        return n * (1 - cf ** (1 / n))
    if errors < 1:
        none, one = c45_errors(0, n, cf), c45_errors(1, n, cf)
        return none + errors * (one - none)
    if errors + 0.5 >= n:
        return max(errors, n)
    z = NormalDist().inv_cdf(1 - cf)
    p = (errors + 0.5) / n
    root = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return n * (p + z**2 / (2 * n) + root) / (1 + z**2 / n)


def collapse(node):
    """Drop tests that make no fewer errors in training."""

    def training_errors(leaf):
        return leaf.reweighted.sum() - leaf.reweighted.max()

    if node.test is None:
        return node
    below = sum(training_errors(leaf) for leaf in node.leaves())
    if below >= training_errors(node) - 1e-3:
        return node.as_leaf()
    return replace(node, left=collapse(node.left), right=collapse(node.right))


def c45(node, cf):
    """Replace subtrees by leaves or by their larger branch."""
    if node.test is None:
        return node
    node = replace(node, left=c45(node.left, cf), right=c45(node.right, cf))
    larger = node.right if node.right.weight > node.left.weight else node.left
    larger = larger.with_rows(node.rows).one_up()

    def expected(tree):
        return sum(c45_errors(*errors_of(leaf), cf) for leaf in tree.leaves())

    as_leaf, as_tree, as_branch = map(expected, (node.as_leaf(), node, larger))
    if as_leaf <= as_tree + 0.1 and as_leaf <= as_branch + 0.1:
        return node.as_leaf()
    if as_branch <= as_tree + 0.1:
        return c45(larger, cf)
    return node
