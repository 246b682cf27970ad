"""A slow, obvious tree that grows row by row and keeps every row.

After each row it looks at the whole leaf afresh, through the batch reference. What
counts as evidence, when a leaf is examined and what becomes of its children is
written here once more: Update of A3, O-PiTree of B5, the race of C5, the fixed cuts
of G1.
"""

import math
from dataclasses import dataclass

import numpy as np

from .criteria import phi
from .nodes import cut_between
from .tree import Grower

FIRST_CUTS = 32  # rows that set the cuts of a leaf without a past
MAX_BINS = 32


@dataclass(eq=False)
class OnlineNode:
    """A node; ``split`` is None at a leaf."""

    number: int
    parent: int
    depth: int
    rows: list  # all it holds, in the order of arrival
    n_inherited: int
    pool_rows: np.ndarray
    volume: float
    box: np.ndarray
    attempt: int = 0
    n_examined: float = 0.0  # weight of its own rows when it was last examined
    cuts: list | None = None  # of each feature, once they are fixed
    split: object = None
    missing_left: bool = False
    branches: dict | None = None  # of a nominal test: child of each category met
    stray: int = 0  # child of further ones
    children: tuple = ()


def fixed_cuts_of(values):
    """Cuts between the distinct values, at quantiles if there are too many."""
    values = np.sort(values)
    n, n_values = len(values), len(np.unique(values))
    cuts, quantile = [], 0
    for i in range(1, n):
        if values[i] == values[i - 1]:
            continue
        if n_values > MAX_BINS:
            if i * MAX_BINS < (quantile + 1) * n:
                continue
            quantile = i * MAX_BINS // n
        cut = np.float32(cut_between(values[i - 1], values[i]))
        cuts.append(float(cut if cut < values[i] else values[i - 1]))
    return cuts[: MAX_BINS - 1]


class OnlineTree(Grower):
    """Grows while `learn` is called for each row in turn.

    Parameters
    ----------
    bound : object of reference.bounds or None
    counts_every_row : bool
        Whether rows that came before the leaf was created are evidence.
    examines_children : bool
        Whether the children of a split are examined at once.
    fixes_cuts : bool
        Whether the candidate tests of a leaf are set once.
    """

    def __init__(
        self,
        X,
        y,
        *,
        n_classes,
        criterion,
        bound,
        counts_every_row,
        examines_children=False,
        fixes_cuts=False,
        sample_weight=None,
        X_pool=None,
        class_weight=None,
        grace_period=1,
        tie_threshold=0.0,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
        nominal=(),
        multiway=False,
    ):
        self.given = {
            "min_samples_split": min_samples_split,
            "min_samples_leaf": min_samples_leaf,
        }
        super().__init__(
            X,
            y,
            n_classes,
            criterion,
            bound,
            sample_weight,
            X_pool,
            class_weight,
            rules={
                "max_depth": max_depth,
                "min_weight_fraction_leaf": min_weight_fraction_leaf,
                "min_impurity_decrease": min_impurity_decrease,
            },
            nominal=nominal,
            multiway=multiway,
        )
        self.counts_every_row = counts_every_row
        self.examines_children = examines_children
        self.fixes_cuts = fixes_cuts
        self.grace_period = grace_period
        self.tie_threshold = tie_threshold
        self.max_leaf_nodes = max_leaf_nodes or math.inf
        self.total_weight = self.total_evidence = self.total_reweighted = 0.0
        if self.pool_weight == "volume":
            self.root_box = np.column_stack(
                [np.nanmin(self.X_pool, axis=0), np.nanmax(self.X_pool, axis=0)]
            ).astype(float)
        self.nodes = []
        self.add_node(-1, 0, [], np.arange(len(self.X_pool)), 1.0, self.root_box)

    def add_node(self, parent, depth, rows, pool_rows, volume, box):
        node = OnlineNode(
            len(self.nodes), parent, depth, rows, len(rows), pool_rows, volume, box
        )
        self.nodes.append(node)
        if self.fixes_cuts and rows:
            self.fix_cuts(node)
        return node

    def fix_cuts(self, leaf):
        leaf.cuts = [fixed_cuts_of(self.X[leaf.rows, f]) for f in range(len(self.X[0]))]

    def weight_at(self, rows):
        return float(self.w[rows].sum())

    def fresh(self, leaf):
        return leaf.rows[leaf.n_inherited :]

    def evidence(self, leaf):
        return leaf.rows if self.counts_every_row else self.fresh(leaf)

    def run(self):
        """Learn every row in turn."""
        for row in range(len(self.X)):
            self.learn(row)

    def learn(self, row):
        leaf = self.nodes[0]
        while leaf.split is not None:
            if leaf.branches is not None:
                # a category that is met from now on belongs to that child
                leaf.branches.setdefault(
                    int(self.X[row, leaf.split.feature]), leaf.stray
                )
            leaf = leaf.children[self.outcomes(leaf, self.X[[row]])[0]]
        leaf.rows.append(row)
        if self.fixes_cuts and leaf.cuts is None and len(leaf.rows) == FIRST_CUTS:
            self.fix_cuts(leaf)
        self.total_weight += self.w[row]
        self.total_evidence = self.total_weight
        self.total_reweighted += self.w[row] * self.class_weight[self.y[row]]
        self.min_weight_leaf = (
            self.rules["min_weight_fraction_leaf"] * self.total_reweighted
        )
        for name, limit in self.given.items():
            share = isinstance(limit, float)
            self.rules[name] = limit * self.total_weight if share else limit
        waited = self.weight_at(self.fresh(leaf)) - leaf.n_examined
        if waited >= self.grace_period and self.may_split(leaf):
            self.update(leaf)

    def share_of(self, node):
        """Return one: all of a row's weight is evidence."""
        return 1.0

    def may_split(self, leaf):
        """Whether it may split at all: not if it is pure, small or deep."""
        rows = self.evidence(leaf)
        n_leaves = sum(node.split is None for node in self.nodes)
        max_depth = self.rules["max_depth"]
        return (
            np.count_nonzero(self.counts_of(np.array(rows, dtype=int))) > 1
            and self.weight_at(rows) >= self.rules["min_samples_split"]
            and (max_depth is None or leaf.depth < max_depth)
            and n_leaves < self.max_leaf_nodes
        )

    def update(self, leaf):
        leaf.attempt += 1
        leaf.n_examined = self.weight_at(self.fresh(leaf))
        self.leaf = leaf
        rows = np.array(self.evidence(leaf), dtype=int)
        pool = leaf.volume
        if self.pool_weight != "volume":
            pool = self.weight_at(rows) + len(leaf.pool_rows)
        looked_at = self.make_node(rows, leaf.pool_rows, leaf.depth, pool, leaf.box)
        # where W is a volume, leaves outside the box have none
        split = self.examine(looked_at) if looked_at.pool > 0 else None
        if split is None or not self.has_capacity(split):
            return
        self.part(leaf, split)
        if self.examines_children:
            for child in leaf.children:
                if self.may_split(child):
                    self.update(child)

    def has_capacity(self, split):
        """Whether the tree may have as many leaves more as the test has outcomes."""
        n_leaves = sum(node.split is None for node in self.nodes)
        return n_leaves - 1 + len(split.test.counts) <= self.max_leaf_nodes

    def outcomes(self, leaf, rows):
        """Child of a split leaf that each row goes to."""
        values = rows[:, leaf.split.feature].astype(float)
        if leaf.branches is not None:
            return np.array(
                [leaf.branches.get(int(v), leaf.stray) for v in values], int
            )
        right = np.where(
            np.isnan(values), not leaf.missing_left, values > leaf.split.threshold
        )
        return right.astype(int)

    def part(self, leaf, split):
        leaf.split = split
        feature, threshold = split.feature, split.threshold
        weights = split.test.weights
        if split.test.branches is not None:
            leaf.branches = dict(split.test.branches)
            leaf.stray = max(range(len(weights)), key=lambda z: (weights[z], z))
        elif split.test.missing_left is not None:
            leaf.missing_left = split.test.missing_left
        else:  # no row of the evidence missed the value
            leaf.missing_left = weights[0] > weights[1]
        outcome = self.outcomes(leaf, self.X[leaf.rows])
        pool_outcome = self.outcomes(leaf, self.X_pool[leaf.pool_rows])
        children = []
        for z, volume in enumerate(split.test.pool):
            box = leaf.box.copy()
            if math.isfinite(threshold):
                box[feature, 1 - z] = np.clip(threshold, *box[feature])
            rows = np.array(leaf.rows)[outcome == z].tolist()
            pool_rows = leaf.pool_rows[pool_outcome == z]
            children.append(
                self.add_node(leaf.number, leaf.depth + 1, rows, pool_rows, volume, box)
            )
        leaf.children = tuple(children)

    # -- what the batch reference asks ---------------------------------------------

    def stats_of(self, node, n_tests):
        node_stats = super().stats_of(node, n_tests)
        node_stats["n_fresh"] = self.weight_at(self.fresh(self.leaf))
        # rows that the parent has looked at are looked at again
        node_stats["attempt"] = self.leaf.attempt + self.counts_every_row
        return node_stats

    def numeric_tests(self, node, feature):
        if not self.fixes_cuts:
            return super().numeric_tests(node, feature)
        x = self.X[node.rows, feature].astype(float)
        pool_x = self.X_pool[node.pool_rows, feature].astype(float)
        cuts = self.leaf.cuts[feature] if self.leaf.cuts else []
        return [self.numeric_test(node, feature, x, pool_x, cut, None) for cut in cuts]

    def candidates(self, node):
        result, compared = super().candidates(node)
        if self.fixes_cuts and self.leaf.cuts:
            # every cut has its weight, even if it parts nothing
            nominal = {f: n for f, n in compared.items() if f in self.nominal}
            cuts = enumerate(self.leaf.cuts)
            compared = {f: len(c) for f, c in cuts if c and f not in self.nominal}
            compared |= nominal  # sets of categories are not fixed
        return result, compared

    def _decide_race(self, node, tests, node_stats, compared):
        chosen, accepted, evidence = super()._decide_race(
            node, tests, node_stats, compared
        )
        radius = evidence.get("radius", math.inf)
        if self.tie_threshold > 0.0 and radius <= self.tie_threshold:
            no_split = phi(self.criterion, node_stats["counts"])
            accepted = accepted or evidence["score"] < no_split - 1e-12
        return chosen, accepted, evidence
