"""Tests above two leaves that do not earn their place, from the leaves upwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
