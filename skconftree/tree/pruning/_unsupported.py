"""Tests above two leaves that do not earn their place, from the leaves upwards."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._compat import Interval
from ...bounds import Chi2Bound, EC2Bound, chi2_pvalue, ec2_confidence
from ._base import BasePruning, proportionate_counts

if TYPE_CHECKING:
    from ..nodes._tree import Tree
    from ._base import TrainingRows


class UnsupportedTests(BasePruning):
    """A node above leaves becomes one if its test is not supported; see `stops`."""

    def stops(self, tables, depth, rows):
        """Say which tests are not supported, from the class counts of their outcomes.

        `tables` is of shape (n_tests, n_outcomes, n_classes), `depth` of the tests'
        nodes.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define stops.")

    def keep_as_leaf(self, tree: Tree, rows: TrainingRows) -> NDArray[np.bool_] | None:
        counts = proportionate_counts(tree)
        parent, depth, n_children = tree.parent, tree.depth, tree.n_children
        first = np.zeros(tree.node_count, dtype=np.intp)
        first[parent[:0:-1]] = np.arange(tree.node_count - 1, 0, -1)
        keep_as_leaf = np.zeros(tree.node_count, dtype=bool)
        internal = n_children > 0
        n_internal_children = np.bincount(
            parent[1:][internal[1:]], minlength=tree.node_count
        )
        nodes = np.flatnonzero(internal & (n_internal_children == 0))
        while len(nodes):
            stopped = []
            for r in np.unique(n_children[nodes]):
                same = nodes[n_children[nodes] == r]
                tables = counts[first[same][:, np.newaxis] + np.arange(r)]
                stopped.append(same[self.stops(tables, depth[same], rows)])
            nodes = np.concatenate(stopped)
            keep_as_leaf[nodes] = True
            nodes = parent[nodes[nodes > 0]]
            np.subtract.at(n_internal_children, nodes, 1)
            nodes = np.unique(nodes[n_internal_children[nodes] == 0])
        return keep_as_leaf


class Chi2Pruning(UnsupportedTests):
    """A test above leaves stays if class and outcome depend on each other.

    Small tables have the p-value of the tree's bound, if it is a `Chi2Bound`.

    Parameters
    ----------
    confidence : float, default=0.05
        Largest p-value of a test that stays, in (0, 1); smaller prunes more.

    See Also
    --------
    skconftree.bounds.chi2_pvalue : The p-value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import Chi2Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=Chi2Pruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    4
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")]
    }

    def __init__(self, confidence: float = 0.05) -> None:
        self.confidence = confidence

    def stops(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        bound = rows.bound if isinstance(rows.bound, Chi2Bound) else Chi2Bound()
        # Exact p-values are ratios of small numbers: they meet .05 and rounding.
        p = chi2_pvalue(tables, fisher=bound.fisher)
        return p > self.confidence * (1.0 + 1e-9)


class EC2Pruning(UnsupportedTests):
    """A test above leaves stays if label noise hardly explains it.

    The noise, and what is to be beaten, are those of the tree's bound, if it is EC2's.

    Parameters
    ----------
    confidence : float, default=0.5
        Least confidence of a test that stays, in [0, 1]; larger prunes more.

    See Also
    --------
    skconftree.bounds.ec2_confidence : The confidence.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import EC2Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=EC2Pruning(0.9))
    >>> tree.fit(X, y).get_n_leaves()
    7
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="both")]
    }

    def __init__(self, confidence: float = 0.5) -> None:
        self.confidence = confidence

    def stops(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        noise = rows.bound if isinstance(rows.bound, EC2Bound) else EC2Bound()
        sure = ec2_confidence(
            tables,
            depth,
            noise.noise,
            error_outcomes=noise.error_outcomes,
            margin=noise.margin,
            against=noise.against,
        )
        return sure < self.confidence
