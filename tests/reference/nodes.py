"""Nodes of the slow tree, and their candidate splits."""

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass(eq=False)
class Node:
    """A node; ``split`` is None at a leaf."""

    rows: np.ndarray  # labeled rows that reach the node
    pool_rows: np.ndarray  # unlabeled ones
    depth: int
    counts: np.ndarray  # reweighted by class_weight
    raw_counts: np.ndarray  # by sample_weight alone
    pool: float  # W: labeled and unlabeled weight, or volume
    box: np.ndarray  # limits of each feature
    impurity: float
    split: "Split | None" = None
    children: list = field(default_factory=list)
    ambiguous: bool = False  # of the root: rounding decided something on the way

    @property
    def weight(self):
        return float(self.raw_counts.sum())

    @property
    def left(self):
        return self.children[0] if self.children else None

    @property
    def right(self):
        return self.children[1] if self.children else None

    def walk(self):
        """Every node, each parent before its children, left before right."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Split:
    test: "Candidate"
    evidence: dict
    improvement: float  # N_t / N * decrease of impurity

    @property
    def feature(self):
        return self.test.feature

    @property
    def threshold(self):
        return self.test.threshold


@dataclass(eq=False)
class Candidate:
    feature: int
    outcome: np.ndarray  # which child each labeled row of the node goes to
    pool_outcome: np.ndarray
    threshold: float = math.nan
    missing_left: bool | None = None  # None: no labeled row misses the value
    branches: dict | None = None  # of a nominal test: child of each category
    shares: list = field(default_factory=list)  # of the node's volume
    counts: list = field(default_factory=list)  # of each child, as the criterion sees
    bound_counts: list = field(default_factory=list)  # as the bound sees
    weights: list = field(default_factory=list)  # sample_weight of each child
    pool: list = field(default_factory=list)  # labeled and unlabeled weight


def cut_between(lo, hi):
    """Midpoint of two float32 values, the lower one if there is none between."""
    lo, hi = float(lo), float(hi)
    middle = lo / 2 + hi / 2
    return lo if middle >= hi or math.isinf(middle) else middle


def as_bound_sees(counts, weight):
    """Reweighted proportions on the scale of the sample weight behind them."""
    total = counts.sum()
    return [float(c) for c in (counts * (weight / total) if total > 0 else counts)]
