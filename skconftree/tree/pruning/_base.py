"""What every pruning shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..._compat import validate_parameters
from ...utils._codec import VersionedState
from ...utils._types import Floats
from ._pruning import cheaper_as_leaf

if TYPE_CHECKING:
    from ..nodes._tree import LeafCost, Tree


class TrainingRows(NamedTuple):
    """What a tree grew from; `take` makes rows, class indices and weights (None: 1)."""

    take: Callable
    criterion: str
    bound: object


class BasePruning(VersionedState, BaseEstimator):
    """Parameters of a pruning, and what it makes of a grown tree.

    A pruning is a subclass, registered by name in ``_registry.py``. It
    defines either what a node costs as a leaf (``cost``), of which the cheapest tree
    follows, or which nodes become leaves (``keep_as_leaf``), or all of it (``prune``).
    Parameters are only stored; they are checked when a tree is fitted. One of them,
    `strength_parameter`, is how strongly the pruning prunes; its range is in
    ``_parameter_constraints``.

    Attributes
    ----------
    strength_parameter : str
        Name of that parameter; ``"confidence"`` unless a subclass has another one.
    limits_errors : bool
        Whether weak splits stay for an upper limit of the errors.

    See Also
    --------
    PessimisticPruning : The one that goes with the default bound.
    skconftree.testing.check_pruning : Tries a pruning of your own.

    Examples
    --------
    >>> from skconftree.tree import BasePruning, C45Pruning
    >>> isinstance(C45Pruning(), BasePruning)
    True
    >>> C45Pruning().get_params()
    {'confidence': 0.25}
    """

    strength_parameter = "confidence"
    limits_errors = False
    _parameter_constraints: dict = {}

    @property
    def strength_range(self) -> tuple[float, float]:
        """Least and largest strength, of which either may itself be out of range."""
        interval = self._parameter_constraints[self.strength_parameter][0]
        return interval.left, math.inf if interval.right is None else interval.right

    def check_parameters(self) -> None:
        """Raise ``InvalidParameterError`` unless every parameter is valid."""
        validate_parameters(self)

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        """Return the pruned tree, the same one where nothing is pruned.

        Parameters
        ----------
        tree : Tree
            It stays as it is.
        rows : TrainingRows
            What it was grown from.

        Returns
        -------
        Tree
        """
        keep_as_leaf = self.keep_as_leaf(tree, rows)
        if not (keep_as_leaf & (tree.n_children > 0)).any():
            return tree
        return tree._pruned(keep_as_leaf)

    def keep_as_leaf(self, tree: Tree, rows: TrainingRows) -> NDArray[np.bool_] | None:
        """Say which nodes become leaves.

        Parameters
        ----------
        tree : Tree
        rows : TrainingRows

        Returns
        -------
        ndarray of shape (n_nodes,), bool
        """
        return cheaper_as_leaf(tree, self.cost(tree, rows))

    def leaf_cost(self, n_leaves: int) -> LeafCost | None:
        """Make the same cost for growing trees, which look ahead by it.

        Parameters
        ----------
        n_leaves : int
            About so many different leaves there will be.

        Returns
        -------
        LeafCost or None
            Of one worker; None if it has none.
        """
        return None

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        """Say what each node costs as a leaf; a tree costs the sum over its leaves.

        Parameters
        ----------
        tree : Tree
        rows : TrainingRows

        Returns
        -------
        ndarray of shape (n_nodes,)
            Not negative.
        """
        raise NotImplementedError(
            f"{type(self).__name__} defines neither cost, keep_as_leaf nor prune."
        )


def proportionate_counts(tree):
    """Class counts as a bound sees them: with `class_weight`, as many as rows."""
    if (tree.class_weight == 1.0).all():
        return tree.counts
    return tree.raw_value * tree.counts.sum(axis=1, keepdims=True)
