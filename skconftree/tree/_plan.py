"""What the parameters of an estimator make of a growth."""

from typing import NamedTuple

import numpy as np

from ._settings import GrowthSettings
from .batch._grow import Lookahead, grow
from .pruning._base import TrainingRows
from .pruning._registry import prune


class Resolved(NamedTuple):
    """What parameters of a tree that leave it open have come to be."""

    bound: object
    criterion: str
    max_features: int
    pruning: object = None
    lookahead: int = 0


class Plan(NamedTuple):
    """How a tree is grown from a table; the features `left_out` are not searched."""

    settings: GrowthSettings
    pruning: object
    shrinkage: float
    lookahead: Lookahead | None = None
    left_out: np.ndarray | None = None

    @property
    def resolved(self):
        """What its trees tell of their parameters."""
        return Resolved(
            self.settings.bound,
            self.settings.criterion,
            self.settings.max_features,
            self.pruning,
            0 if self.lookahead is None else self.lookahead.n_levels,
        )

    def grow(self, data, seed, rows, *, counts=None, distinct=None, spends=False):
        """Grow a tree, prune it, and draw its leaves towards the nodes above."""
        settings = self.settings
        tree = grow(
            data,
            counts,
            settings,
            seed,
            left_out=self.left_out,
            distinct=distinct,
            spends=spends,
            lookahead=self.lookahead,
        )
        rows = TrainingRows(rows, settings.criterion, settings.bound)
        tree = prune(tree, self.pruning, rows)
        tree._shrunk_by(self.shrinkage)
        return tree
