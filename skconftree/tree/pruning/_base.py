"""What every pruning shares."""

from collections.abc import Callable
from typing import NamedTuple

from ._pruning import cheaper_as_leaf


class Strength(NamedTuple):
    """What `pruning_confidence` means for a pruning: default and range."""

    default: float
    low: float
    high: float
    closed: str

    def contains(self, value):
        above = value >= self.low if self.closed[0] == "[" else value > self.low
        below = value <= self.high if self.closed[1] == "]" else value < self.high
        return above and below

    def __str__(self):
        return f"{self.closed[0]}{self.low:g}, {self.high:g}{self.closed[1]}"


class TrainingRows(NamedTuple):
    """What a tree was grown from, for prunings that look at more than the tree.

    `take` gives the rows, their class indices and their weights (None: all are 1); some
    have to be made first.
    """

    take: Callable
    criterion: str
    bound: object


class Pruning:
    """Replaces subtrees of a grown tree.

    A pruning is one file with one subclass, registered by name in ``_registry.py``. It
    defines either what a node costs as a leaf (`cost`), of which the cheapest tree
    follows, or which nodes become leaves (`keep_as_leaf`), or all of it (`prune`).

    Parameters
    ----------
    confidence : float
        In the range of `strength`.

    Attributes
    ----------
    strength : Strength
        Meaning of the confidence.
    """

    strength: Strength

    def __init__(self, confidence):
        self.confidence = confidence

    def prune(self, tree, rows):
        """Return the pruned tree, the same one where nothing is pruned."""
        keep_as_leaf = self.keep_as_leaf(tree, rows)
        if not (keep_as_leaf & (tree.n_children > 0)).any():
            return tree
        return tree._pruned(keep_as_leaf)

    def keep_as_leaf(self, tree, rows):
        """Whether each node becomes a leaf, for `Tree._pruned`."""
        return cheaper_as_leaf(tree, self.cost(tree, rows))

    def leaf_cost(self, n_leaves):
        """Make the same cost for trees that grow to about so many leaves, or None."""
        return None

    def cost(self, tree, rows):
        """What each node costs as a leaf; a tree costs the sum over its leaves."""
        raise NotImplementedError(
            f"{type(self).__name__} defines neither cost, keep_as_leaf nor prune."
        )


def proportionate_counts(tree):
    """Class counts as a bound sees them: with `class_weight`, as many as rows."""
    if (tree.class_weight == 1.0).all():
        return tree.counts
    return tree.raw_value * tree.counts.sum(axis=1, keepdims=True)
