"""A slow, obvious decision tree: the compiled one must grow the same nodes.

Every candidate test of a node is written out with the class counts of its
outcomes; nothing is updated, cached or skipped.
"""

import itertools
import math

import numpy as np

from .bounds import BY_CHANCE, NoBound, by_chance
from .criteria import (
    NOT_CONCAVE,
    TIE,
    best_by_criterion,
    first_lowest,
    impurity,
    total,
)
from .nodes import Candidate, Node, Split, as_bound_sees, cut_between
from .nominal import ENUMERABLE, subsets, tests_of

EPSILON = float(np.finfo(float).eps)
ROUNDING = 1e-11


class Grower:
    def __init__(
        self,
        X,
        y,
        n_classes,
        criterion,
        bound,
        sample_weight,
        X_pool,
        class_weight,
        rules,
        nominal,
        multiway,
        distinct=None,
    ):
        self.X = np.asarray(X, dtype=np.float32)
        self.y = np.asarray(y)
        self.K = n_classes
        self.criterion = criterion
        self.bound = bound if bound is not None else NoBound(criterion, n_classes)
        self.w = (
            np.ones(len(self.X))
            if sample_weight is None
            else np.asarray(sample_weight, dtype=float)
        )
        keep = self.w > 0
        self.distinct = self.w if distinct is None else np.asarray(distinct)
        self.distinct = self.distinct[keep]
        self.X, self.y, self.w = self.X[keep], self.y[keep], self.w[keep]
        shape = (0, self.X.shape[1])
        self.X_pool = np.asarray(
            np.empty(shape) if X_pool is None else X_pool, dtype=np.float32
        )
        self.class_weight = (
            np.ones(n_classes) if class_weight is None else np.asarray(class_weight)
        )
        self.pool_weight = getattr(self.bound, "pool_weight", "pool")
        if self.pool_weight == "labeled":
            self.X_pool = self.X_pool[:0]
        table = np.vstack([self.X, self.X_pool]).astype(float)
        self.root_box = np.column_stack(
            [np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)]
        )
        self.nominal = set(nominal)
        self.multiway = multiway
        self.total_weight = float(self.w.sum())
        self.total_evidence = float(self.distinct.sum())
        self.total_reweighted = float((self.w * self.class_weight[self.y]).sum())
        self.rules = rules
        self.left_out = set()
        self.ambiguous = False
        # As in scikit-learn this share includes class_weight.
        self.min_weight_leaf = rules["min_weight_fraction_leaf"] * self.total_reweighted

    def counts_of(self, rows):
        return np.bincount(self.y[rows], self.w[rows], self.K)

    def make_node(self, rows, pool_rows, depth, pool, box):
        raw = self.counts_of(rows)
        counts = raw * self.class_weight
        return Node(
            rows=rows,
            pool_rows=pool_rows,
            depth=depth,
            counts=counts,
            raw_counts=raw,
            pool=pool,
            box=box,
            impurity=impurity(self.criterion, counts),
        )

    def share_of(self, node):
        """Return the share of its weight that is evidence."""
        return self.distinct[node.rows].sum() / node.weight

    def stats_of(self, node, n_tests):
        share = self.share_of(node)
        return {
            "n_classes": self.K,
            "counts": as_bound_sees(node.counts, node.weight * share),
            "n": node.weight * share,
            "pool": node.pool * share,
            "n_fresh": node.weight * share,
            "n_tests": n_tests,
            "n_varying": 1,
            "time": self.total_evidence,
            "n_attributes": self.X.shape[1],
            "attempt": 1,
            "depth": node.depth,
        }

    def searched(self):
        return [f for f in range(self.X.shape[1]) if f not in self.left_out]

    def candidates(self, node):
        """Tests that the size limits allow, and how many each attribute compares."""
        result, compared = [], {}
        for feature in self.searched():
            own, number, _ = self.tests_of(node, feature)
            if own:
                compared[feature] = number
            result += own
        return result, compared

    def tests_of(self, node, feature):
        """Tests of an attribute, how many it compares, and whether it varies at all."""
        if feature in self.nominal and self.is_scattered(node, feature):
            return [], 0, True
        if feature in self.nominal:
            tests, number = self.nominal_tests(node, feature)
        else:
            tests, number = self.numeric_tests(node, feature), None
        for test in tests:
            self._count(node, test)
        own = [
            test
            for test in tests
            if min(test.weights) >= self.rules["min_samples_leaf"]
            and min(map(sum, test.counts)) >= self.min_weight_leaf
        ]
        return own, number or len(own), bool(tests)

    def is_scattered(self, node, feature):
        """Most rows have a category of their own, where the bound minds that."""
        weights = {}
        for code, w in zip(self.X[node.rows, feature], self.w[node.rows], strict=True):
            weights[code] = weights.get(code, 0.0) + w
        alone = sum(w for w in weights.values() if w <= 1.0)
        ranks = getattr(self.bound, "ranks_features", False)
        return ranks and len(weights) > 1 and alone > node.weight / 2

    def identifies(self, feature):
        """Most rows of the table have a category of their own, of many."""
        rows = {}
        for row, code in enumerate(self.X[:, feature]):
            rows.setdefault(code, []).append(row)
        alone = [own[0] for own in rows.values() if len(own) == 1]
        weight = sum(self.w[row] for row in alone if self.w[row] <= 1.0)
        return len(rows) > ENUMERABLE and weight > self.w.sum() / 2

    def numeric_tests(self, node, feature):
        """Cuts between values, with rows that miss the value on either side."""
        x = self.X[node.rows, feature].astype(float)
        pool_x = self.X_pool[node.pool_rows, feature].astype(float)
        values = np.unique(x[~np.isnan(x)])
        cuts = [cut_between(a, b) for a, b in itertools.pairwise(values)]
        some_miss = bool(np.isnan(x).any())
        choices = [(cut, False if some_miss else None) for cut in cuts]
        if some_miss and len(values):
            choices.append((math.inf, False))
            choices += [(cut, True) for cut in cuts]
        return [
            self.numeric_test(node, feature, x, pool_x, *choice) for choice in choices
        ]

    def numeric_test(self, node, feature, x, pool_x, cut, missing_left):
        right = np.where(np.isnan(x), not missing_left, x > cut)
        goes_left = bool(missing_left)
        if missing_left is None:
            goes_left = self.w[node.rows][~right].sum() > self.w[node.rows][right].sum()
        pool_right = np.where(np.isnan(pool_x), not goes_left, pool_x > cut)
        low, high = node.box[feature]
        share = 0.5
        if math.isfinite(cut) and low < high:
            share = (np.clip(cut, low, high) - low) / (high - low)
        return Candidate(
            feature,
            right.astype(int),
            pool_right.astype(int),
            threshold=cut,
            missing_left=missing_left,
            shares=[share, 1.0 - share],
        )

    def nominal_tests(self, node, feature):
        x, pool_x = self.X[node.rows, feature], self.X_pool[node.pool_rows, feature]
        counts = {
            int(code): list(self.counts_of(node.rows[x == code]) * self.class_weight)
            for code in np.unique(x)
        }
        if len(counts) < 2:
            return [], None
        concave = self.bound.kind == "race" and self.criterion not in NOT_CONCAVE
        divisions, number, near = tests_of(
            counts, n_classes=self.K, concave=concave, multiway=self.multiway
        )
        self.ambiguous |= near
        if number is not None and concave and self.K == 2 and len(counts) <= ENUMERABLE:
            self._check_exact(counts, divisions)
        return [
            self.nominal_test(node, feature, x, pool_x, groups) for groups in divisions
        ], number

    def _check_exact(self, counts, divisions):
        """No set of categories is better than the best prefix."""

        def lowest(tests):
            return min(
                total(
                    self.criterion,
                    [list(np.sum([counts[c] for c in group], axis=0)) for group in one],
                )
                for one in tests
            )

        n = sum(map(sum, counts.values()))
        assert lowest(divisions) <= lowest(subsets(sorted(counts))) + TIE * n

    def nominal_test(self, node, feature, x, pool_x, groups):
        branches = {code: z for z, group in enumerate(groups) for code in group}
        outcome = np.array([branches[int(code)] for code in x])
        weights = [self.w[node.rows][outcome == z].sum() for z in range(len(groups))]
        largest = max(range(len(groups)), key=lambda z: (weights[z], z))
        return Candidate(
            feature,
            outcome,
            np.array([branches.get(int(code), largest) for code in pool_x], dtype=int),
            branches=branches,
            shares=[len(group) / len(branches) for group in groups],
        )

    def _count(self, node, test):
        node_share = self.share_of(node)
        for z, share in enumerate(test.shares):
            raw = self.counts_of(node.rows[test.outcome == z])
            weight = float(raw.sum())
            counts = raw * self.class_weight
            test.counts.append([float(c) for c in counts])
            test.bound_counts.append(as_bound_sees(counts, weight * node_share))
            test.weights.append(weight)
            if self.pool_weight == "volume":
                test.pool.append(node.pool * share)
            else:
                test.pool.append(weight + int((test.pool_outcome == z).sum()))

    def examine(self, node):
        """Return the split of a node, or None."""
        rules, weight = self.rules, node.weight
        if (
            (rules["max_depth"] is not None and node.depth >= rules["max_depth"])
            or weight < rules["min_samples_split"]
            or weight < 2 * rules["min_samples_leaf"]
            or node.counts.sum() < 2 * self.min_weight_leaf
            or node.impurity <= EPSILON
        ):
            return None
        tests, compared = self.candidates(node)
        if not tests:
            return None
        node_stats = self.stats_of(node, n_tests=float(sum(compared.values())))
        node_stats["n_varying"] = len(compared)
        ask = {
            "race": self._decide_race,
            "interval": self._decide_interval,
            "evidence": self._decide_evidence,
        }[self.bound.kind]
        chosen, accepted, evidence = ask(node, tests, node_stats, compared)
        if not accepted:
            return None
        improvement = self.improvement(node, chosen)
        if improvement + EPSILON < rules["min_impurity_decrease"]:
            return None
        evidence.setdefault(
            "score", total(self.criterion, chosen.counts) / node.counts.sum()
        )
        evidence |= by_chance(node_stats, chosen.bound_counts, chosen.feature, compared)
        return Split(chosen, evidence, improvement)

    def _decide_race(self, node, tests, node_stats, compared):
        if getattr(self.bound, "ranks_features", False):
            return self._decide_ranking(node, tests, node_stats, compared)
        n = float(node.counts.sum())
        best, competitor, scores = best_by_criterion(
            self.criterion, [t.feature for t in tests], [t.counts for t in tests], n
        )
        evidence = {
            "score": scores[best] / n,
            "runner_up_score": math.inf
            if competitor is None
            else scores[competitor] / n,
            "runner_up_feature": -1
            if competitor is None
            else tests[competitor].feature,
        }
        accepted, evidence = self.bound.decide(
            node_stats, tests[best].bound_counts, evidence
        )
        return tests[best], accepted, evidence

    def _decide_ranking(self, node, tests, node_stats, compared):
        """Attributes compete by what the bound says of their best tests."""
        n = float(node.counts.sum())
        contenders = []
        for feature in sorted(compared):  # which may have been drawn in any order
            own = [t for t in tests if t.feature == feature]
            scores = [total(self.criterion, t.counts) for t in own]
            best = first_lowest(scores, TIE * n)
            rank = self.bound.rank(
                node_stats, own[best].bound_counts, compared[feature]
            )
            contenders.append((rank, scores[best], own[best]))

        def first(contenders):
            winner = None
            for one in contenders:
                if winner is None or one[0] < winner[0] - 2 * TIE * n:
                    winner = one
                elif one[0] <= winner[0] + 2 * TIE * n:
                    winner = one if one[1] < winner[1] - TIE * n else winner
            return winner

        _, score, chosen = first(contenders)
        competitor = first([one for one in contenders if one[2] is not chosen])
        evidence = {
            "score": score / n,
            "runner_up_score": math.inf if competitor is None else competitor[1] / n,
            "runner_up_feature": -1 if competitor is None else competitor[2].feature,
        }
        node_stats["attribute_tests"] = compared[chosen.feature]
        accepted, evidence = self.bound.decide(
            node_stats, chosen.bound_counts, evidence
        )
        return chosen, accepted, evidence

    def _decide_interval(self, node, tests, node_stats, compared):
        limit = self.bound.limit(node_stats)
        share = self.share_of(node)
        costs = [
            sum(
                self.bound.cost(
                    node_stats, counts, weight * share, pool * share, r=len(t.counts)
                )
                for counts, weight, pool in zip(
                    t.bound_counts, t.weights, t.pool, strict=True
                )
            )
            for t in tests
        ]
        best = first_lowest(costs, TIE * node_stats["pool"])
        evidence = {
            "parent_limit": limit / node_stats[self.bound.per],
            "child_limit": costs[best] / node_stats[self.bound.per],
        }
        self.ambiguous |= abs(costs[best] - limit) < ROUNDING * node_stats["pool"]
        return tests[best], costs[best] < limit, evidence

    def _decide_evidence(self, node, tests, node_stats, compared):
        logs = [self.bound.log_evidence(node_stats, t.bound_counts) for t in tests]
        own = [t.feature for t in tests]
        log_weights = [-math.log(len(compared)) - math.log(compared[f]) for f in own]
        terms = [a + b for a, b in zip(logs, log_weights, strict=True)]
        top = max(terms)
        log_mean = top + math.log(sum(math.exp(t - top) for t in terms))
        if self.bound.choose == "criterion":
            best, _, _ = best_by_criterion(
                self.criterion, own, [t.counts for t in tests], float(node.counts.sum())
            )
        else:
            best = first_lowest([-v for v in logs], TIE * node_stats["n"])
        self.ambiguous |= (
            self.bound.decide(node_stats, log_mean - ROUNDING)[0]
            != self.bound.decide(node_stats, log_mean + ROUNDING)[0]
        )
        accepted, statistic = self.bound.decide(node_stats, log_mean)
        return tests[best], accepted, {"statistic": statistic}

    def improvement(self, node, test):
        n = sum(map(sum, test.counts))
        children = sum(sum(c) / n * impurity(self.criterion, c) for c in test.counts)
        share = node.counts.sum() / self.total_reweighted
        return float(share * (node.impurity - children))

    def split(self, node):
        """Attach the children that ``node.split`` makes."""
        test = node.split.test
        for z, pool in enumerate(test.pool):
            box = node.box.copy()
            if math.isfinite(test.threshold):
                box[test.feature, 1 - z] = test.threshold
            child = self.make_node(
                node.rows[test.outcome == z],
                node.pool_rows[test.pool_outcome == z],
                node.depth + 1,
                pool,
                box,
            )
            node.children.append(child)

    def grow_depth_first(self, node):
        node.split = self.examine(node)
        if node.split is not None:
            self.split(node)
            for child in node.children:
                self.grow_depth_first(child)

    def grow_best_first(self, root, max_leaf_nodes):
        """Split the leaf with the largest improvement, the oldest of equals."""
        leaves = [(root, self.examine(root))]
        while len(leaves) < max_leaf_nodes:
            open_leaves = [pair for pair in leaves if pair[1] is not None]
            if not open_leaves:
                break
            node, split = max(open_leaves, key=lambda pair: pair[1].improvement)
            self.ambiguous |= any(
                other is not node
                and abs(competitor.improvement - split.improvement) < ROUNDING
                for other, competitor in open_leaves
            )
            leaves = [pair for pair in leaves if pair[0] is not node]
            if len(leaves) + len(split.test.counts) > max_leaf_nodes:
                leaves.append((node, None))  # more branches than leaves are left
                continue
            node.split = split
            self.split(node)
            for child in node.children:
                leaves.append((child, self.examine(child)))


def grow(
    X,
    y,
    *,
    n_classes,
    criterion="gini",
    bound=None,
    sample_weight=None,
    X_pool=None,
    class_weight=None,
    max_depth=None,
    min_samples_split=2,
    min_samples_leaf=1,
    min_weight_fraction_leaf=0.0,
    max_leaf_nodes=None,
    min_impurity_decrease=0.0,
    nominal=(),
    multiway=False,
    distinct=None,
    make=Grower,
):
    """Grow a tree and return its root.

    Parameters
    ----------
    y : array of int
        Class indices.
    bound : object of reference.bounds or None
    class_weight : array of shape (n_classes,) or None
    min_samples_split, min_samples_leaf : int or float
        A float is a share of the total weight, rounded up.
    nominal : sequence of int
        Features that hold codes of categories.
    multiway : bool
        Whether their tests have a branch for every category.
    distinct : array of shape (n_rows,) or None
        What each row weighs as evidence; None: `sample_weight`.
    make : callable
        `Grower` or what extends it.
    """
    weight = len(X) if sample_weight is None else float(np.sum(sample_weight))

    def absolute(value, smallest):
        if isinstance(value, float):
            return max(math.ceil(value * weight), smallest)
        return value

    grower = make(
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
            "min_samples_split": absolute(min_samples_split, 2),
            "min_samples_leaf": absolute(min_samples_leaf, 1),
            "min_weight_fraction_leaf": min_weight_fraction_leaf,
            "min_impurity_decrease": min_impurity_decrease,
        },
        nominal=nominal,
        multiway=multiway,
        distinct=distinct,
    )
    grower.left_out = {f for f in nominal if grower.identifies(f)}
    root = grower.make_node(
        np.arange(len(grower.X)),
        np.arange(len(grower.X_pool)),
        depth=0,
        pool=1.0
        if grower.pool_weight == "volume"
        else grower.total_weight + len(grower.X_pool),
        box=grower.root_box,
    )
    if max_leaf_nodes is None:
        grower.grow_depth_first(root)
    else:
        grower.grow_best_first(root, max_leaf_nodes)
    root.ambiguous = grower.ambiguous
    return root


def kept(tree, evidence):
    """What a tree keeps of the evidence for a split; without a bound some fields."""
    if tree.keeps_evidence:
        return evidence
    return {name: evidence[name] for name in BY_CHANCE}


def assert_same_evidence(tree, i, expected, where):
    """Compare stored evidence with the fields that the reference knows."""
    found, expected = tree.evidence[i], kept(tree, expected)
    for name, value in expected.items():
        if name == "runner_up_feature" or math.isnan(value):
            continue
        assert math.isclose(found[name], value, rel_tol=1e-7, abs_tol=1e-9), (
            f"{name} is {found[name]}, not {value}; {where}"
        )
    competitor_is_no_split = math.isclose(
        expected.get("runner_up_score", math.nan), found["parent_limit"], abs_tol=1e-9
    )
    if "runner_up_feature" in expected and not competitor_is_no_split:
        assert found["runner_up_feature"] == expected["runner_up_feature"], where
