"""The rows that an NCM estimator keeps, to learn from again."""

from typing import NamedTuple

import numpy as np

from ...tables._row_hashes import hash_dense
from .._bootstrap import draw_counts, tree_seed

RANKS, UPDATES = 0x5A4D, 0x4843  # keys of seeds: one for each use of the user's


class Samples(NamedTuple):
    """Rows in the order of the calls that brought them.

    The rows of one call are in an order that depends on what they hold, so that the
    order in which they were given does not matter. Where there is no room for all rows
    of a class those with the smallest `ranks`, random numbers, stay, which are a sample
    of all that have come: `n_seen` of each class.
    """

    X: np.ndarray
    y: np.ndarray
    ranks: np.ndarray
    n_seen: np.ndarray

    @classmethod
    def of(cls, X, y, n_classes, seed, n_before=0):
        """Order the rows of one call."""
        order = content_order(X, y)
        ranks = _ranks(tree_seed(seed, RANKS), n_before, len(y))
        n_seen = np.bincount(y, minlength=n_classes).astype(np.int64)
        return cls(X[order], y[order], ranks, n_seen)

    def with_classes(self, n_classes, places):
        """Give the classes other indices."""
        n_seen = np.zeros(n_classes, dtype=np.int64)
        n_seen[places] = self.n_seen
        y = places.astype(np.uint16).take(self.y)
        return self._replace(y=y, n_seen=n_seen)

    def joined(self, more):
        """Put further rows behind these; both know the same classes."""
        return Samples(
            np.concatenate([self.X, more.X]),
            np.concatenate([self.y, more.y]),
            np.concatenate([self.ranks, more.ranks]),
            self.n_seen + more.n_seen,
        )

    def in_one_order(self):
        """Order all rows as if they had come in one call."""
        order = content_order(self.X, self.y)
        return self._replace(X=self.X[order], y=self.y[order], ranks=self.ranks[order])

    def to_keep(self, most):
        """Say which rows stay."""
        if most is None or len(self.y) <= most:
            return None
        room = room_of_a_class(self.n_seen, most)
        # by class, then by rank
        order = np.lexsort((self.ranks, self.y))
        y = self.y[order]
        place = np.arange(len(y)) - np.searchsorted(y, y)
        kept = np.zeros(len(y), dtype=bool)
        kept[order[place < room]] = True
        return kept

    def taken(self, kept):
        """Leave the other rows out; None leaves out none."""
        if kept is None:
            return self
        return self._replace(X=self.X[kept], y=self.y[kept], ranks=self.ranks[kept])


def room_of_a_class(n_seen, most):
    """Rows that a class may keep, so that all keep `most` at the most."""
    low, high = 0, int(n_seen.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(n_seen, middle).sum() <= most:
            low = middle
        else:
            high = middle - 1
    return low


def content_order(X, y):
    """Order of rows that depends on what they hold alone."""
    first, second = hash_dense(X, y)
    return np.lexsort((second, first))


def _ranks(seed, n_before, n):
    rng = np.random.Philox(key=seed)
    rng.advance(n_before)  # four numbers of 64 bits each step
    return (rng.random_raw(4 * n)[::4] >> np.uint64(32)).astype(np.uint32)


def seed_of_update(seed, update):
    """Seed of all samples and trees that are drawn in one call."""
    return seed if update == 0 else tree_seed(tree_seed(seed, UPDATES), update)


def bootstrap_of(n_rows, seed, tree):
    """How often each row is in the sample of a tree."""
    return draw_counts(np.arange(1.0, n_rows + 1.0), n_rows, seed, tree)
