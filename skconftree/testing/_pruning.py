"""What a pruning has to keep."""

import pickle
from types import SimpleNamespace

import numpy as np

from skconftree import ConfidenceTreeClassifier

from ._require import going_well, require
from ._tables import with_wrong_labels


def check_pruning(pruning):
    """Check that a pruning keeps the contract of prunings.

    It knows the range of its strength, which the default is in. A pruned tree is no
    larger, is of the same rows, and is the same each time; the tree that was given
    stays as it is.

    Parameters
    ----------
    pruning : type
        Class of the pruning; it is called with values of its ``strength``.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

    Examples
    --------
    >>> from skconftree.testing import check_pruning
    >>> from skconftree.tree.pruning._registry import PRUNINGS
    >>> check_pruning(PRUNINGS["c45"])
    """
    name, strength = pruning.__name__, pruning.strength
    X, y = with_wrong_labels()
    full = ConfidenceTreeClassifier(None).fit(X, y).tree_
    before = pickle.dumps(full)
    rows = SimpleNamespace(take=lambda: (X, y, None), criterion="gini", bound=None)
    for value in strengths(strength):
        require(
            strength.contains(value),
            f"The range of {name}.strength, {strength}, must contain {value}.",
        )
        with going_well(f"{name}({value}) must prune a tree"):
            pruned = pruning(value).prune(full, rows)
            again = pruning(value).prune(full, rows)
        require(
            pickle.dumps(full) == before,
            f"{name} must leave the tree that it prunes as it is.",
        )
        _check_pruned(f"{name}({value})", full, pruned)
        require(
            pickle.dumps(pruned) == pickle.dumps(again),
            f"{name}({value}) must prune a tree in the same way each time.",
        )
    for value in (np.nan, -1.0, np.inf if np.isfinite(strength.high) else -np.inf):
        require(
            not strength.contains(value),
            f"The range of {name}.strength, {strength}, must not contain {value}.",
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


def strengths(strength):
    """Return the default of a pruning and a few values from its range."""
    top = strength.high if np.isfinite(strength.high) else strength.low + 1.0
    inside = [strength.low + share * (top - strength.low) for share in (0.1, 0.5, 0.9)]
    return [strength.default, *inside]
