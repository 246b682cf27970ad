"""Leaves of the rows of a table in each tree of a forest that learns row by row.

The vote of a tree on a row is the class proportions of the row's leaf. Methods
decorated by `follows` lock the forest and the index. `reroute` continues the path of
each row at a node that has been split, and marks the rows whose leaf has changed.
`growth_of` returns the number of nodes of a tree and the number of changes of its
existing splits, such as new categories.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...tree._growth import IndexedTable, follows
from ...tree.nodes._row_index import growth_of, reroute
from ...utils._lock import Lockable
from ...utils._types import Estimator, Floats, Indices, TableLike
from ._voting import add_changes

UNIT = 1 << 40  # probability 1 in fixed point; 64-bit sums are exact for 2^23 trees


class ForestRowIndex(Lockable):
    """Leaves of the rows of a table in each tree of a forest, updated while it grows.

    Created by :meth:`ConfidenceForestClassifier.index_rows`. Results are those of the
    forest at the time of the call; only rows whose leaf was split are routed again.

    An index references the estimator and the table, which must not be modified. It
    needs 4 bytes per row and tree, and 8 bytes per row and class after the first call
    of `predict_proba`. It cannot be pickled. Threads may share it; their calls are
    executed one after the other.

    Parameters
    ----------
    estimator : ConfidenceForestClassifier
        A fitted forest.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        Rows to index.

    Attributes
    ----------
    n_rows : int
        Number of rows of the table.
    n_bytes : int
        Number of bytes that the index occupies, without the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ConfidenceForestClassifier(n_estimators=5, random_state=0)
    >>> forest = forest.partial_fit(X, y, classes=[0, 1, 2])
    >>> index = forest.index_rows(X)
    >>> index.apply().shape
    (150, 5)
    >>> len(index.update())         # all rows are new
    150
    >>> forest = forest.partial_fit(X[:1], y[:1])
    >>> len(index.update())
    0
    """

    def __init__(self, estimator: Estimator, X: TableLike) -> None:
        self._table = IndexedTable(estimator, X)  # validated rows, and the estimator
        n = self._table.rows.shape[0]
        if n > 2**31 - 1:
            raise ValueError(f"An index holds at most {2**31 - 1} rows, got {n}.")
        self._nodes = []  # leaf of each row, per tree
        self._trees = []  # each tree, and `growth_of` it when rows were last routed
        self._is_changed = np.ones(n, dtype=np.uint8)  # rows that `update` will return
        self._sums = None  # of the trees' votes for each row and class, in fixed point
        self._shares = []  # class proportions of the nodes of each tree in these sums
        self._update_leaves()
        self._is_changed[:] = 1

    def _update_leaves(self):
        # Route rows whose leaf was split. Requires the locks of forest and index.
        table = self._table.current()  # another table if there are new categories
        has_new_codes = table is not self._table
        members = table.estimator._model.trees
        if len(members) != len(self._trees):
            self._is_changed[:] = 1
            self._sums = None
        del self._trees[len(members) :], self._nodes[len(members) :]
        for i, member in enumerate(members):
            tree = member.tree
            before = self._trees[i] if i < len(self._trees) else (None, None)
            now = tree, growth_of(tree)
            if before[0] is tree and before[1] == now[1] and not has_new_codes:
                continue
            if i == len(self._trees):
                self._nodes.append(np.zeros(self.n_rows, dtype=np.int32))
                self._trees.append(before)
            if before[0] is not tree or has_new_codes or before[1][1] != now[1][1]:
                self._sums = None  # the previous leaves of rows are unknown
            if before[0] is not tree:
                self._is_changed[:] = 1
                self._trees[i] = None, None
                self._nodes[i][:] = 0
            reroute(tree, table.rows, self._nodes[i], self._is_changed)
            self._trees[i] = now
        self._table = table  # last, as the routing above may be interrupted
        return self._nodes

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self._is_changed)

    @property
    def n_bytes(self) -> int:
        """Number of bytes that the index occupies, without the table."""
        sums = 0 if self._sums is None else self._sums.nbytes
        return (
            sum(nodes.nbytes for nodes in self._nodes) + self._is_changed.nbytes + sums
        )

    @follows
    def update(self) -> Indices:
        """Return the rows whose leaf changed in some tree since the last call.

        Returns
        -------
        ndarray of shape (n_changed,), intp
            Row indices in ascending order. All rows on the first call, and after a tree
            was replaced.
        """
        self._update_leaves()
        changed = np.flatnonzero(self._is_changed)
        self._is_changed[:] = 0
        return changed

    @follows
    def apply(self) -> NDArray[np.int32]:
        """Leaf of each row in each tree, as `apply` of the estimator returns it.

        Returns
        -------
        ndarray of shape (n_rows, n_trees), int32
            Leaf indices.
        """
        return np.column_stack(self._update_leaves())

    @follows
    def predict_proba(self) -> Floats:
        """Class probabilities of each row, as `predict_proba` of the estimator.

        Sums over the trees are stored in fixed point, and only rows of changed leaves
        are updated. The result is the same, bit for bit, as that of a new index. It
        differs from the result of the estimator by rounding, at most 1e-12. If leaves
        predict by naive Bayes, or trees vote by their accuracy, the estimator predicts
        all rows again.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        estimator, nodes = self._table.estimator, self._update_leaves()
        model = estimator._model
        if model.vote_weights(estimator.vote) is not None or any(
            member.predicts_by_bayes for member in model.trees
        ):
            self._sums, self._shares = None, []
            return estimator._mean_proba(self._table.as_rows())
        self._add_up(nodes, len(model.classes))
        return self._sums / (UNIT * len(nodes))

    def _add_up(self, nodes, n_classes):
        # Update the sums of votes by the changes of class proportions since they were
        # computed. `nodes` has the leaf of each row, per tree.
        sums, self._sums = self._sums, None  # recomputed if this is interrupted
        if sums is None:
            sums = np.zeros((self.n_rows, n_classes), dtype=np.int64)
            self._shares = []
        changed, shares = [], []
        for i, leaves in enumerate(nodes):
            tree = self._trees[i][0]
            now = np.rint(tree.proba * UNIT).astype(np.int64)
            change = now.copy()
            if i < len(self._shares):
                # a row was counted at its nearest ancestor that already existed
                before = self._shares[i]
                above, parent = np.arange(len(now)), tree.parent
                for node in range(len(before), len(now)):
                    above[node] = above[parent[node]]
                change -= before[above]
            if change.any():
                changed.append((leaves, change))
            shares.append(now)
        if changed:
            add_changes(*map(list, zip(*changed, strict=True)), sums)
        self._shares = shares
        self._sums = sums

    @follows
    def leaves(self, tree: int) -> NDArray[np.int32]:
        """Leaf of each row in one tree.

        Parameters
        ----------
        tree : int
            Index in ``estimators_``.

        Returns
        -------
        ndarray of shape (n_rows,), int32
            Leaf indices.
        """
        return self._update_leaves()[tree].copy()

    def __reduce__(self):
        raise TypeError(
            "A ForestRowIndex cannot be pickled or copied. Create another one with "
            "index_rows(X)."
        )
