"""What the parameters of an estimator make of a growth."""

from typing import NamedTuple

import numpy as np

from ..utils import NO_DEFAULT, completed
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
    taken_back: int | None = None  # splits, by the pruning; None: not known


def read_resolved(parts):
    """Make `Resolved` from a state; StateError if it has unknown parts."""
    defaults = {
        **dict.fromkeys(Resolved._fields, NO_DEFAULT),
        **Resolved._field_defaults,
    }
    return Resolved(**completed(parts, defaults, "The state of a tree"))


class Grown(NamedTuple):
    """A tree, and how many of its splits the pruning took back."""

    tree: object
    taken_back: int


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

    def grow(self, data, seed, rows, *, spends=False, team=None):
        """Grow a tree from `GrowthData`, prune it, and shrink its leaves.

        `rows` returns them for a pruning that needs them, see `TrainingRows`.
        """
        settings = self.settings
        tree = grow(
            data,
            settings,
            seed,
            left_out=self.left_out,
            spends=spends,
            lookahead=self.lookahead,
            team=team,
        )
        rows = TrainingRows(rows, settings.criterion, settings.bound)
        pruned = prune(tree, self.pruning, rows)
        taken_back = np.count_nonzero(tree.n_children) - np.count_nonzero(
            pruned.n_children
        )
        pruned._shrunk_by(self.shrinkage)
        return Grown(pruned, int(taken_back))
