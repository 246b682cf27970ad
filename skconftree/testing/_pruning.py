"""What a pruning has to keep."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier

from ._common import accepts, going_well, require, with_wrong_labels

if TYPE_CHECKING:
    from ..tree import BasePruning


def check_pruning(pruning: BasePruning) -> None:
    """Check that a pruning keeps the contract of prunings.

    It knows the range of its confidence, and can be cloned. A pruned tree has at most
    as many nodes, is of the same rows, and is the same each time; the tree that it was
    made from stays as it is.

    Parameters
    ----------
    pruning : BasePruning
        It is tried with its own confidence and others of its range.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

    Examples
    --------
    >>> from skconftree.testing import check_pruning
    >>> from skconftree.tree import C45Pruning
    >>> check_pruning(C45Pruning())
    """
    name = type(pruning).__name__
    parameter = pruning.strength_parameter
    X, y = with_wrong_labels()
    full = ConfidenceTreeClassifier(None).fit(X, y).tree_
    before = pickle.dumps(full)
    rows = SimpleNamespace(take=lambda: (X, y, None), criterion="gini", bound=None)
    with going_well(f"{name}.strength_range must be there"):
        values = strengths(pruning)
    for value in values:
        with going_well(f"{name}({value}) must prune a tree"):
            candidate = clone(pruning).set_params(**{parameter: value})
            candidate.check_parameters()
            pruned = candidate.prune(full, rows)
            again = clone(candidate).prune(full, rows)
        require(
            pickle.dumps(full) == before,
            f"{name} must leave the tree that it prunes as it is.",
        )
        _check_pruned(f"{name}({value})", full, pruned)
        require(
            pickle.dumps(pruned) == pickle.dumps(again),
            f"{name}({value}) must prune a tree in the same way each time.",
        )
    for value in (np.nan, np.inf, -np.inf):
        require(
            not accepts(clone(pruning).set_params(**{parameter: value})),
            f"The range of {parameter} of {name} must not contain {value}.",
        )


def _check_pruned(name, full, pruned):
    """A tree of the same rows that is no larger."""
    require(
        1 <= pruned.node_count <= full.node_count,
        f"{name} must give a tree that is no larger. Got {pruned.node_count} nodes "
        f"instead of {full.node_count}.",
    )
    leaves = pruned.feature < 0
    same = np.array_equal(pruned.counts[0], full.counts[0])
    require(
        same and np.allclose(pruned.counts[leaves].sum(axis=0), full.counts[0]),
        f"{name} must give a tree of the same rows; counts of classes in its leaves do "
        "not add up to those of the root.",
    )


def strengths(pruning):
    """Return the strength of a pruning and a few values from its range."""
    low, high = pruning.strength_range
    top = high if np.isfinite(high) else low + 1.0
    inside = [low + share * (top - low) for share in (0.1, 0.5, 0.9)]
    return [getattr(pruning, pruning.strength_parameter), *inside]
