"""A slow, simple forest: rows in a dictionary, draws written out one by one."""

import bisect
import functools
import itertools
import math
import struct

import numpy as np

from .draws import WORD, DrawingGrower, mix
from .tree import grow

GOLDEN = 0x9E3779B97F4A7C15
CHECK = 0xD1B54A32D192ED03
GRAIN = 2**20  # what rows weigh as evidence is a whole number of 1 / GRAIN


def unit(key):
    """The number in [0, 1) that a key stands for."""
    return (key >> 11) / 2**53


def key_of(feature, value):
    bits = (
        0x7FC00000
        if math.isnan(value)
        else struct.unpack("I", struct.pack("f", value))[0]
    )
    return mix(feature << 32 | bits)


def stream_counts(seed, tree, rate, before):
    """How often a tree learns rows of a stream: Poisson numbers, by inversion.

    Parameters
    ----------
    seed, tree : int
        Of the forest, and the tree's place in it.
    rate : float
        Their mean.
    before : iterable of int
        How many rows had been learned before each row.
    """
    key = mix(seed ^ GOLDEN) + mix(tree) & WORD
    key, counts = mix(key), []
    for row in before:
        share = unit(mix(key + int(row) * GOLDEN & WORD))
        term = below = math.exp(-rate)
        count = 0
        while share >= below:
            count += 1
            term *= rate / count
            below += term
        counts.append(float(count))
    return np.array(counts)


def hashes_of(row, label):
    """Two numbers that equal rows with equal labels share."""
    first = second = mix(label)
    for feature, value in enumerate(row):
        if value != 0.0:
            first = first + key_of(feature, value) & WORD
            second ^= key_of(feature, value) * CHECK & WORD
    return mix(first), mix(second)


class Sampling:
    """The rows of a table without repeats, and the samples that trees draw of them.

    Parameters
    ----------
    X : array of float32
    y : array of int
    weight : array or None
    n_draws : int or None
        None: as many as the weights sum up to.
    seed : int
        Of the forest.
    """

    def __init__(self, X, y, weight, n_draws, seed):
        weight = np.ones(len(y)) if weight is None else weight
        rows = {}
        for i in range(len(y)):
            if weight[i] > 0:
                rows.setdefault(hashes_of(X[i].tolist(), int(y[i])), []).append(i)
        ordered = [rows[key] for key in sorted(rows)]
        self.first = [group[0] for group in ordered]
        self.weights = [math.fsum(weight[i] for i in group) for group in ordered]
        self.ends = list(itertools.accumulate(self.weights))
        self.n_draws = round(self.ends[-1]) if n_draws is None else n_draws
        self.seed = seed

    def counts(self, tree):
        """How often each row is drawn."""
        counts = np.zeros(len(self.ends))
        key = mix(mix(self.seed) + mix(tree ^ WORD) & WORD)
        for j in range(self.n_draws):
            place = unit(mix(key + j * GOLDEN & WORD)) * self.ends[-1]
            counts[bisect.bisect_right(self.ends, place)] += 1
        return counts

    def distinct(self, counts):
        """How many rows have been drawn, on average, where k equal ones are one."""
        result = []
        for k, c in zip(self.weights, counts, strict=True):
            k = max(k, 1.0)
            result.append(round(k * (1.0 - (1.0 - 1.0 / k) ** c) * GRAIN) / GRAIN)
        return np.array(result)


def tree_seed(seed, tree):
    """The `random_state` of a tree."""
    return int(unit(mix(mix(seed) ^ mix(tree + 1))) * (2**31 - 1))


def grow_forest(
    X,
    y,
    *,
    seed,
    n_trees,
    max_features,
    weight=None,
    n_draws=None,
    count_repeats,
    **settings,
):
    """Grow a forest.

    Parameters
    ----------
    X, y, weight, n_draws, seed
        As of `Sampling`.
    n_trees, max_features : int
    count_repeats : bool
    settings
        Of `reference.tree.grow`.

    Returns
    -------
    list of Node
        The root of each tree.
    """
    sampling = Sampling(X, y, weight, n_draws, seed)
    roots = []
    for tree in range(n_trees):
        counts = sampling.counts(tree)
        random = np.random.RandomState(tree_seed(seed, tree))
        make = functools.partial(
            DrawingGrower,
            seed=int(random.randint(2**31 - 1)),
            max_features=max_features,
            random_cuts=False,
        )
        roots.append(
            grow(
                X[sampling.first],
                y[sampling.first],
                sample_weight=counts,
                distinct=None if count_repeats else sampling.distinct(counts),
                make=make,
                **settings,
            )
        )
    return roots
