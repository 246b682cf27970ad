"""A slow, obvious tree of nearest class means, and the forest that learns with it.

Written from sections E4 and E5 of the specification. What is drawn is keyed by what it
is for, so that the compiled trees must be the same node for node.
"""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from .criteria import TIE, impurity, total
from .draws import WORD, mix

EPSILON = float(np.finfo(float).eps)
GOLDEN = 0x9E3779B97F4A7C15
MAX_ENUMERATED = 10


def unit(key):
    return (key >> 11) / 2**53


def entropy(counts):
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts if c)


def ncm_gain(sides):
    """Gain of a test, given the class counts of its sides (E4)."""
    whole = np.sum(sides, axis=0)
    n = whole.sum()
    return entropy(whole) - sum(sum(one) / n * entropy(one) for one in sides)


@dataclass(eq=False)
class Node:
    """A node; without means it is a leaf."""

    rows: np.ndarray
    counts: np.ndarray
    depth: int
    classes: list = field(default_factory=list)
    means: np.ndarray = None
    sides: list = field(default_factory=list)
    children: list = field(default_factory=list)

    def child_of(self, row):
        return self.children[self.sides[nearest(row, self.means)]]


def nearest(row, means):
    gaps = row.astype(np.float64) - means.astype(np.float64)
    return int(np.argmin((gaps * gaps).sum(axis=1)))


def number_of_classes(max_classes, present):
    if max_classes is None:
        wanted = present
    elif max_classes == "sqrt":
        wanted = math.ceil(math.sqrt(present))
    elif isinstance(max_classes, float):
        wanted = int(max_classes * present)
    else:
        wanted = max_classes
    return max(2, min(wanted, present))


def drawn_classes(present, m, key):
    """Draw m of the classes, and give them in their order."""
    left = list(present)
    for i in range(m if m < len(left) else 0):
        key = mix(key)
        j = i + key % (len(left) - i)
        left[i], left[j] = left[j], left[i]
    return sorted(left[:m])


def assignments(m, n_drawn, key):
    """Sides of the means, assignment for assignment; the first mean is on the left."""
    if m <= MAX_ENUMERATED:
        for bits in itertools.product((0, 1), repeat=m - 1):
            if any(bits):
                yield (0, *bits[::-1])
        return
    for assignment in range(n_drawn):
        bits, sides = mix(key ^ mix(assignment ^ WORD)), [0]
        for j in range(1, m):
            sides.append(bits & 1)
            bits >>= 1
            if j % 32 == 0:
                bits = mix(bits ^ mix((key + assignment + j) & WORD))
        yield tuple(sides)


class Tree:
    """Nodes in the order of their ids.

    Parameters
    ----------
    X, y, times : ndarray
        Rows, class indices, and how often each row counts.
    n_classes, seed : int
    """

    def __init__(
        self,
        X,
        y,
        times,
        n_classes,
        seed,
        *,
        criterion="entropy",
        max_classes="sqrt",
        n_assignments=256,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        accepts=None,
    ):
        self.X, self.y, self.times = X, y, times
        self.n_classes, self.seed, self.criterion = n_classes, seed, criterion
        self.max_classes, self.n_assignments = max_classes, n_assignments
        self.max_depth = math.inf if max_depth is None else max_depth
        self.min_split, self.min_leaf = min_samples_split, min_samples_leaf
        self.accepts = accepts or (lambda sides, n_tests, depth: True)
        self.nodes = [self.make(np.flatnonzero(times), 0)]
        place = 0
        while place < len(self.nodes):
            self.split(place)
            place += 1

    def make(self, rows, depth):
        counts = np.zeros(self.n_classes)
        for row in rows:
            counts[self.y[row]] += self.times[row]
        return Node(rows, counts, depth)

    def split(self, place):
        node = self.nodes[place]
        present = [c for c in range(self.n_classes) if node.counts[c]]
        if (
            node.depth >= self.max_depth
            or node.counts.sum() < self.min_split
            or impurity(self.criterion, node.counts) <= EPSILON
        ):
            return
        key = mix(self.seed ^ mix(place))
        m = number_of_classes(self.max_classes, len(present))
        classes = drawn_classes(present, m, key)
        means = np.array([self.mean(node, c) for c in classes], dtype=np.float32)
        near = np.array([nearest(self.X[row], means) for row in node.rows])
        whole = total(self.criterion, [node.counts])
        least, best, n_tests = math.inf, None, 0
        for sides in assignments(m, self.n_assignments, key):
            side = np.array(sides)[near]
            parts = [node.rows[side == z] for z in (0, 1)]
            pair = [self.make(part, node.depth + 1) for part in parts]
            if any(child.counts.sum() < self.min_leaf for child in pair):
                continue
            n_tests += 1
            score = total(self.criterion, [child.counts for child in pair])
            if best is None or score < least - TIE * whole:
                least, best = score, (sides, pair)
        if best is None or not least < whole - TIE * whole:
            return
        sides, pair = best
        if self.accepts([child.counts for child in pair], n_tests, node.depth):
            node.classes, node.means, node.sides = classes, means, sides
            node.children = pair
            self.nodes += pair

    def mean(self, node, c):
        of_class = [row for row in node.rows if self.y[row] == c]
        summed = np.zeros(self.X.shape[1])
        for row in of_class:
            summed = summed + float(self.times[row]) * self.X[row].astype(np.float64)
        return summed / node.counts[c]

    # -- what it says -------------------------------------------------------------

    def leaf(self, row):
        node = self.nodes[0]
        while node.children:
            node = node.child_of(row)
        return node

    def path(self, row):
        node, passed = self.nodes[0], [self.nodes[0]]
        while node.children:
            node = node.child_of(row)
            passed.append(node)
        return passed

    def proba(self, row):
        """Proportions of the last node on the way that has any row."""
        for node in reversed(self.path(row)):
            if node.counts.sum():
                return node.counts / node.counts.sum()
        return np.eye(self.n_classes)[0]

    # -- RLP ----------------------------------------------------------------------

    def recount(self, X, y, times, n_classes, places):
        """Count other rows in the nodes that stay as they are."""
        for node in self.nodes:
            node.counts = np.zeros(n_classes)
            node.classes = [places[c] for c in node.classes]
        self.n_classes = n_classes
        for row, label, k in zip(X, y, times, strict=True):
            for node in self.path(row):
                node.counts[label] += k

    # -- Ristin et al.: incrementally growing trees -------------------------------

    def grow_on(self, X, y, times, n_classes, places, n_new):
        """Put all rows into the nodes, and split the leaves that new rows reach."""
        self.recount(X, y, times, n_classes, places)
        self.X, self.y, self.times = X, y, times
        of_node = {id(node): [] for node in self.nodes}
        for row in np.flatnonzero(times):
            for node in self.path(X[row]):
                of_node[id(node)].append(row)
        size = len(self.nodes)
        for node in self.nodes:
            node.rows = np.array(of_node[id(node)], dtype=int)
        for place in range(size):
            node = self.nodes[place]
            if not node.children and any(node.rows >= len(y) - n_new):
                self.split(place)
        while size < len(self.nodes):
            self.split(size)
            size += 1


def tree_seed(seed, tree):
    return int(unit(mix(mix(seed) ^ mix(tree + 1))) * 2147483647.0)


def bootstrap(n, seed, tree):
    """Draw j of tree t, keyed by (seed, t, j)."""
    key = mix((mix(seed) + mix(tree ^ WORD)) & WORD)
    times = np.zeros(n, dtype=np.uint32)
    for j in range(n):
        times[int(unit(mix((key + j * GOLDEN) & WORD)) * n)] += 1
    return times


def judge(errors, penalty, boost, alpha):
    """Trees to be grown again, the threshold, and what is carried on (E5)."""
    errors = [one + more for one, more in zip(errors, penalty, strict=True)]
    threshold = float(np.mean(errors))
    boosted = [one + alpha * math.tanh(one) for one in errors]
    compared = boosted if boost == "decision" else errors
    regrown = [one > threshold for one in compared]
    carried = [0.0] * len(errors)
    if boost == "persistent" and alpha:
        carried = [
            0.0 if new else one for new, one in zip(regrown, boosted, strict=True)
        ]
    return regrown, threshold, carried


class Forest:
    """A forest on rows in a fixed order, which the caller knows.

    Parameters
    ----------
    n_trees, seed : int
    update, boost, alpha
        As of the estimator.
    """

    def __init__(self, n_trees, seed, update="hi-rf", boost=None, alpha=0.0, **growth):
        self.n_trees, self.seed, self.growth = n_trees, seed, growth
        self.update, self.boost, self.alpha = update, boost, alpha
        self.penalty = [0.0] * n_trees

    def start(self, X, y, n_classes):
        self.X, self.y, self.n_classes = X, y, n_classes
        self.trees, self.times = [None] * self.n_trees, [None] * self.n_trees
        self.n_updates = 0
        self.take(range(self.n_trees), self.seed, None)

    def take(self, regrown, seed, places):
        for t in range(self.n_trees):
            if t in regrown:
                self.grow(t, seed)
            else:
                times = self.times[t] = bootstrap(len(self.y), seed, t)
                self.trees[t].recount(self.X, self.y, times, self.n_classes, places)

    def grow(self, t, seed):
        """Grow a tree on a new sample."""
        times = self.times[t] = bootstrap(len(self.y), seed, t)
        key = tree_seed(seed, t)
        self.trees[t] = Tree(self.X, self.y, times, self.n_classes, key, **self.growth)

    def go_on(self, X, y, n_classes, places, seed):
        """Learn further rows, which come behind the others.

        Parameters
        ----------
        X, y : ndarray
        n_classes : int
        places : list of int
            What each class so far is from now on.
        seed : int
            Of this update.
        """
        n_new = len(y)
        self.X = np.concatenate([self.X, X])
        self.y = np.concatenate([np.array(places)[self.y], y])
        self.n_classes = n_classes
        regrown = range(self.n_trees)
        self.errors = self.threshold = None
        self.n_updates += 1
        if self.update in ("igt", "igt+rrn", "leaves"):
            self.regrown = []
            for t, tree in enumerate(self.trees):
                if self.update == "igt+rrn" and (t + self.n_updates) % 5 == 0:
                    self.regrown.append(t)
                    self.grow(t, seed)
                    continue
                times = self.times[t] = np.append(self.times[t], np.ones(n_new, int))
                rows = self.X, self.y, times, n_classes, places
                if self.update != "leaves":
                    tree.grow_on(*rows, n_new)
                else:
                    tree.recount(*rows)
            return
        if self.update == "rlp":
            regrown = []
        elif self.update == "hi-rf":
            self.errors = []
            for tree, times in zip(self.trees, self.times, strict=True):
                out = np.append(times, np.zeros(n_new)) == 0
                wrong = [
                    places[int(np.argmax(tree.proba(row)))] != label
                    for row, label in zip(self.X[out], self.y[out], strict=True)
                ]
                self.errors.append(np.mean(wrong))
            flags, self.threshold, self.penalty = judge(
                self.errors, self.penalty, self.boost, self.alpha
            )
            regrown = [t for t in regrown if flags[t]]
        self.regrown = list(regrown)
        self.take(self.regrown, seed, places)

    def proba(self, X):
        return np.array(
            [sum(tree.proba(row) for tree in self.trees) / self.n_trees for row in X]
        )
