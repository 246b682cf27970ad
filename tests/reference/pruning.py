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
class Test:
    """Which child a row goes to."""

    feature: int
    threshold: float = math.nan
    missing_left: bool = False
    branches: dict | None = None  # of a nominal test: child of each category
    stray: int = 0  # child of further ones

    def outcomes(self, X):
        """Child of every row."""
        x = X[:, self.feature]
        if self.branches is not None:
            return np.array([self.branches[int(v)] for v in x], dtype=int)
        right = np.where(np.isnan(x), not self.missing_left, x > self.threshold)
        return right.astype(int)

    def knowing(self, X):
        """The same test, of which all categories of the rows are part."""
        if self.branches is None:
            return self
        met = {int(v): self.stray for v in X[:, self.feature]}
        return replace(self, branches=met | self.branches)


@dataclass(frozen=True)
class Node:
    data: Data
    rows: np.ndarray
    depth: int
    test: Test | None = None
    children: tuple["Node", ...] = ()

    def counts_of(self, rows):
        y, weight = self.data.y[rows], self.data.weight[rows]
        return np.array(
            [weight[y == k].sum() for k in range(len(self.data.class_weight))]
        )

    @property
    def counts(self):
        return self.counts_of(self.rows)

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

    def walk(self):
        """Every node, each parent before its children, the first child first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self):
        return [node for node in self.walk() if node.test is None]

    def as_leaf(self):
        return replace(self, test=None, children=())

    def with_rows(self, rows):
        """The same tests for other rows, whose categories they may have to learn."""
        if self.test is None:
            return replace(self, rows=rows)
        test = self.test.knowing(self.data.X[rows])
        outcome = test.outcomes(self.data.X[rows])
        children = tuple(
            child.with_rows(rows[outcome == z]) for z, child in enumerate(self.children)
        )
        return replace(self, rows=rows, test=test, children=children)

    def one_up(self):
        """The same one level higher."""
        children = tuple(child.one_up() for child in self.children)
        return replace(self, depth=self.depth - 1, children=children)


def nested(tree, data, node=0, rows=None, depth=0):
    """Nest a fitted tree."""
    rows = np.arange(len(data.y)) if rows is None else rows
    ids = tree.children(node).tolist()
    if not ids:
        return Node(data, rows, depth)
    feature, branches = int(tree.feature[node]), tree.branches(node)
    if branches is None:
        threshold, left = tree.threshold[node], tree.missing_go_to_left[node]
        test = Test(feature, float(threshold), bool(left))
    else:
        leads_to = enumerate(branches.tolist())
        branches = {c: ids.index(to) for c, to in leads_to if to != node}
        weights = tree.counts[ids].sum(axis=1)
        largest = len(ids) - 1 - int(np.argmax(weights[::-1]))  # the last of equal ones
        test = Test(feature, branches=branches, stray=largest)
    outcome = test.outcomes(data.X[rows])
    children = tuple(
        nested(tree, data, child, rows[outcome == z], depth + 1)
        for z, child in enumerate(ids)
    )
    return Node(data, rows, depth, test, children)


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
    children = tuple(prune_by_cost(child, cost) for child in node.children)
    node = replace(node, children=children)
    below = sum(cost(leaf) for leaf in node.leaves())
    return node.as_leaf() if cost(node) <= below * (1 + 1e-12) else node


def prune_single_tests(node, pruning, confidence):
    children = tuple(
        prune_single_tests(child, pruning, confidence) for child in node.children
    )
    node = replace(node, children=children)
    if node.test is None or any(child.test is not None for child in children):
        return node
    table = [list(child.seen) for child in children]
    if pruning == "chi2":
        stops = chi2_pvalue(table) > confidence * (1 + 1e-9)
    else:
        parent = np.sum(table, axis=0)
        beta = ec2_beta(0.1, len(table))
        stops = ec2_confidence(parent, table, node.depth, beta) < confidence
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
    return replace(node, children=tuple(map(collapse, node.children)))


def c45(node, cf):
    """Replace subtrees by leaves or by their largest branch."""
    if node.test is None:
        return node
    node = replace(node, children=tuple(c45(child, cf) for child in node.children))
    largest = max(node.children, key=lambda child: child.weight)
    largest = largest.with_rows(node.rows).one_up()

    def expected(tree):
        return sum(c45_errors(*errors_of(leaf), cf) for leaf in tree.leaves())

    as_leaf, as_tree, as_branch = map(expected, (node.as_leaf(), node, largest))
    if as_leaf <= as_tree + 0.1 and as_leaf <= as_branch + 0.1:
        return node.as_leaf()
    if as_branch <= as_tree + 0.1:
        return c45(largest, cf)
    return node
