"""Base class of pruning methods. A bound is the split rule of a tree."""

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
    """Training data of a tree; `take` returns rows, classes, and weights or None."""

    take: Callable
    criterion: str
    bound: object


class BasePruning(VersionedState, BaseEstimator):
    """Base class of pruning methods: parameters, and the pruning of a fitted tree.

    Each method is a subclass, registered by name in ``_registry.py``. A subclass
    defines the cost of each node as a leaf (``cost``), so that the subtree with the
    smallest total cost is selected; or the nodes that become leaves
    (``keep_as_leaf``); or the complete method (``prune``). As in scikit-learn,
    parameters are stored by the constructor and validated when a tree is fitted. One of
    them, `strength_parameter`, controls how strongly the tree is pruned; its range is
    in ``_parameter_constraints``.

    Attributes
    ----------
    strength_parameter : str
        Name of that parameter; ``"confidence"`` unless a subclass sets another name.
    limits_errors : bool
        Whether the method compares upper limits of the errors, so that splits that may
        be due to chance can remain.

    See Also
    --------
    PessimisticPruning : The method of the default bound.
    skconftree.testing.check_pruning : Test suite for custom pruning methods.

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
        """Limits of the strength; a limit itself may be excluded."""
        interval = self._parameter_constraints[self.strength_parameter][0]
        return interval.left, math.inf if interval.right is None else interval.right

    def check_parameters(self) -> None:
        """Raise ``InvalidParameterError`` unless every parameter is valid."""
        validate_parameters(self)

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        """Prune a tree.

        Parameters
        ----------
        tree : Tree
            The fitted tree; it is not modified.
        rows : TrainingRows
            The data that it was fitted to.

        Returns
        -------
        Tree
            The pruned tree; `tree` itself if nothing is pruned.
        """
        keep_as_leaf = self.keep_as_leaf(tree, rows)
        if not (keep_as_leaf & (tree.n_children > 0)).any():
            return tree
        return tree._pruned(keep_as_leaf)

    def keep_as_leaf(self, tree: Tree, rows: TrainingRows) -> NDArray[np.bool_] | None:
        """Return a mask of the nodes that become leaves.

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
        """Create the compiled `cost`, for growth with look-ahead.

        Look-ahead chooses a split by the cost of the pruned trees below it.

        Parameters
        ----------
        n_leaves : int
            Approximate number of leaves with different counts, for the size of a cache.

        Returns
        -------
        LeafCost or None
            Cost for one thread; None if the method does not support look-ahead.
        """
        return None

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        """Return the cost of each node as a leaf; a tree costs the sum of its leaves.

        Parameters
        ----------
        tree : Tree
        rows : TrainingRows

        Returns
        -------
        ndarray of shape (n_nodes,)
            Costs, not negative.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not define cost, keep_as_leaf or prune. A "
            "pruning must define one of them."
        )


def proportionate_counts(tree):
    """Class counts as a bound uses them: reweighted, with the unweighted total."""
    if (tree.class_weight == 1.0).all():
        return tree.counts
    # `raw_proba` has the class proportions before shrinkage
    return tree.raw_proba * tree.counts.sum(axis=1, keepdims=True)
