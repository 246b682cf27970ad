"""How a forest of NCM trees takes up new rows: hi-RF and what it is made of."""

from typing import NamedTuple

import numpy as np

from .._bootstrap import tree_seed
from ._samples import bootstrap_of, seed_of_update


class TreeUpdate(NamedTuple):
    """What becomes of one tree of a forest; without tree a new one is grown.

    `leaves` are where the first rows come to in the tree; -1 where not known.
    """

    index: int
    tree: object
    leaves: np.ndarray | None


class UpdatedTree(NamedTuple):
    """What has become of it.

    Bits of `in_bag` say whether each row is in the sample of the tree, `leaves` where
    it comes to; -1 where not known.
    """

    tree: object
    in_bag: np.ndarray
    leaves: np.ndarray


class Update(NamedTuple):
    """What all trees of a forest share in one update, of all rows.

    `places` are what the classes of trees that are kept are from now on.
    """

    plan: object
    samples: object
    n_classes: int
    places: np.ndarray
    seed: int

    def carry_out(self, one):
        """Grow or recount one tree."""
        X, y, _, _ = self.samples
        times = bootstrap_of(len(y), self.seed, one.index)
        if one.tree is None:
            seed = tree_seed(self.seed, one.index)
            tree, leaves = self.plan.grow(X, y, times, self.n_classes, seed)
        else:
            leaves = one.tree.leaves_of(X, one.leaves)
            tree = one.tree.recounted(
                self.n_classes,
                self.places,
                leaves,
                y,
                times,
                self.plan.criterion(self.n_classes),
                False,
            )
        return UpdatedTree(tree, np.packbits(times > 0), leaves)

    def error_out_of_bag(self, one, in_bag):
        """Share of wrong predictions of a tree among the rows it has not seen."""
        leaves = one.tree.leaves_of(self.samples.X, one.leaves)
        out = (~in_bag).view(np.uint8)
        return one.tree.error_of(leaves, self.samples.y, self.places, out), leaves


class Verdict(NamedTuple):
    """Which trees are grown anew, and what the next errors are raised by."""

    regrown: np.ndarray
    threshold: float
    penalty: np.ndarray


def judge(errors, penalty, boost, alpha):
    """Tell the trees that are worse than the average, out of bag, from the others.

    An error is NaN where nothing is out of the bag; `penalty` is what earlier updates
    left, 0 but with ``boost="persistent"``.
    """
    errors = errors + penalty
    known = ~np.isnan(errors)
    threshold = float(errors[known].mean()) if known.any() else np.nan
    boosted = errors + alpha * np.tanh(errors)
    with np.errstate(invalid="ignore"):  # what is not known is no worse
        if boost == "decision":
            regrown = boosted > threshold
        else:
            regrown = errors > threshold
    left = np.zeros(len(errors))
    if boost == "persistent" and alpha != 0.0:
        left = np.where(regrown | ~known, 0.0, boosted)
    return Verdict(regrown, threshold, left)


def seed_of_call(seed, update, n_updates):
    """Seed of the samples and trees of one call."""
    return seed_of_update(seed, 0 if update == "retrain" else n_updates)
