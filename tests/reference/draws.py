"""Trees that draw features and cuts, with the random numbers written out.

A number depends on what it is for and on nothing that happened before (contract 1 of
growth): the seed, the node, how often the node was examined, the feature.
"""

import math

import numpy as np

from .online import OnlineTree
from .tree import Grower

WORD = 2**64 - 1


def mix(x):
    """One step of splitmix64, in whole numbers modulo 2**64."""
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
    return x ^ (x >> 31)


def between(low, high, key):
    """Cut between two values that a key stands for; never the higher one."""
    cut = low + (key >> 11) / 2**53 * (high - low)
    return low if cut >= high else cut


class Draws:
    """What a tree with draws does otherwise; goes in front of a reference tree.

    Parameters
    ----------
    seed : int
    max_features : int
    random_cuts : bool
        One test of each feature, drawn.
    """

    def __init__(self, *args, seed, max_features, random_cuts, **kwargs):
        self.seed, self.max_features = seed, max_features
        self.random_cuts = random_cuts
        super().__init__(*args, **kwargs)

    def candidates(self, node):
        """Visit features until max_features vary and one of them has a test.

        Those that are left, in their order, are where the children of a batch tree
        begin.
        """
        number, attempt, features = self.index_of(node)
        key = mix(self.seed ^ mix(number) ^ (attempt - 1))
        waiting, visited, left = list(features), {}, []
        sampling = self.max_features < self.X.shape[1]
        while waiting:
            found = any(own for own, _ in visited.values())
            if sampling and len(visited) >= self.max_features and found:
                break
            place = 0
            if sampling:
                key = mix(key)
                place = key % len(waiting)
            feature = waiting[place]
            waiting[place] = waiting[0]
            del waiting[0]
            own, compared, varies = self.tests_of(node, feature)
            if varies:
                visited[feature] = own, compared
                left.append(feature)
        self.leave(node, left + waiting)
        result = [test for f in sorted(visited) for test in visited[f][0]]
        return result, {f: n for f, (own, n) in visited.items() if own}


class DrawingGrower(Draws, Grower):
    """A batch tree. Nodes are numbered as they are made."""

    n_nodes = 0

    def make_node(self, *args, **kwargs):
        node = super().make_node(*args, **kwargs)
        node.number = self.n_nodes
        self.n_nodes += 1
        return node

    def index_of(self, node):
        features = getattr(node, "features", self.searched())
        return node.number, 1, features

    def leave(self, node, features):
        node.features = features

    def split(self, node):
        super().split(node)
        for child in node.children:
            child.features = node.features

    def numeric_tests(self, node, feature):
        if not self.random_cuts:
            return super().numeric_tests(node, feature)
        x = self.X[node.rows, feature].astype(float)
        pool_x = self.X_pool[node.pool_rows, feature].astype(float)
        seen = x[~np.isnan(x)]
        some_miss = len(seen) < len(x)
        if not len(seen):
            return []
        low, high = seen.min(), seen.max()
        cut, missing_left = math.inf, False if some_miss else None
        if low < high:
            key = mix(mix(self.seed ^ mix(node.number)) ^ feature)
            cut = between(low, high, key)
            if some_miss:
                missing_left = bool(mix(key) & 1)
        elif not some_miss:
            return []
        return [self.numeric_test(node, feature, x, pool_x, cut, missing_left)]

    def nominal_tests(self, node, feature):
        if not self.random_cuts or self.multiway:
            return super().nominal_tests(node, feature)
        x, pool_x = self.X[node.rows, feature], self.X_pool[node.pool_rows, feature]
        present = np.unique(x).astype(int).tolist()
        if len(present) < 2:
            return [], None
        key = mix(mix(self.seed ^ mix(node.number)) ^ feature)
        groups = [[c for c in present if mix(key ^ c) & 1 != z] for z in (0, 1)]
        for empty, other in (groups, groups[::-1]):
            if not empty:
                empty.append(other.pop(0))
        return [self.nominal_test(node, feature, x, pool_x, groups)], None


class DrawingOnlineTree(Draws, OnlineTree):
    """A tree that grows row by row; a leaf starts from all features at each look."""

    def index_of(self, node):
        return self.leaf.number, self.leaf.attempt, range(self.X.shape[1])

    def leave(self, node, features):
        pass

    def numeric_tests(self, node, feature):
        if not self.random_cuts:
            return super().numeric_tests(node, feature)
        x = self.X[node.rows, feature].astype(float)
        pool_x = self.X_pool[node.pool_rows, feature].astype(float)
        labeled = x[~np.isnan(x)]
        seen = np.concatenate([labeled, pool_x[~np.isnan(pool_x)]])
        some_miss = len(labeled) < len(x)
        if not len(seen):
            return []
        cut, missing_left = math.inf, False if some_miss else None
        if seen.min() < seen.max():
            key = mix(mix(self.seed ^ mix(self.leaf.number)) ^ self.leaf.attempt)
            key = mix(key ^ feature)
            cut = between(seen.min(), seen.max(), key)
            if some_miss:
                missing_left = bool(mix(key) & 1)
        elif not some_miss or not len(labeled):
            return []
        return [self.numeric_test(node, feature, x, pool_x, cut, missing_left)]


class LastingTree(Draws, OnlineTree):
    """A tree of a forest that learns a stream: a leaf draws once, and starts alone.

    Of the rows that its parent has handed over it knows the classes, and no value of
    the features that it has drawn.
    """

    def __init__(self, *args, seed, max_features, **kwargs):
        self.n_drawn = max_features
        everything = {"max_features": math.inf, "random_cuts": False}
        super().__init__(*args, seed=seed, **everything, **kwargs)

    def drawn(self, number):
        """Features of a leaf, for its life."""
        key, features = mix(self.seed ^ mix(number)), list(range(self.X.shape[1]))
        for i in range(self.n_drawn):
            key = mix(key)
            k = i + key % (len(features) - i)
            features[i], features[k] = features[k], features[i]
        return sorted(features[: self.n_drawn])

    def index_of(self, node):
        return self.leaf.number, self.leaf.attempt, self.drawn(self.leaf.number)

    def leave(self, node, features):
        pass

    def evidence(self, leaf):
        return self.fresh(leaf)
