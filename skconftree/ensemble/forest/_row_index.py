"""Which leaf each row of a table reaches in each tree of a growing forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...tree._growth import IndexedTable, follows
from ...tree.nodes._row_index import growth_of, send_on
from ...utils._lock import Lockable
from ...utils._types import Estimator, Floats, Indices, TableLike
from ._voting import add_changes

ONE = 1 << 40  # a probability of 1 in the sums: 8 million trees fit in


class ForestRowIndex(Lockable):
    """The leaf of each row of a table in each tree of a forest, while they grow.

    Made by :meth:`ConfidenceForestClassifier.index_rows`. What it says is true of the
    forest as it is at that moment; only rows whose leaf has split are sent on.

    An index refers to the estimator and the table, which must not be changed, and
    takes 4 bytes a row and tree besides, and 8 bytes a row and class once it has been
    asked for probabilities. It is not pickled. Threads may share it, one call after the
    other.

    Parameters
    ----------
    estimator : ConfidenceForestClassifier
        Fitted.
    X : array-like, sparse or frame of shape (n_rows, n_features)

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    n_bytes : int
        Bytes that the index takes, without the table.

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
    >>> len(index.update())         # all of them are new
    150
    >>> forest = forest.partial_fit(X[:1], y[:1])
    >>> len(index.update())
    0
    """

    def __init__(self, estimator: Estimator, X: TableLike) -> None:
        self._table = IndexedTable(estimator, X)
        n = self._table.rows.shape[0]
        if n > 2**31 - 1:
            raise ValueError("The table has more rows than the index type holds.")
        self._nodes = []  # (n_rows,) of each tree
        self._trees = []  # and the tree, with what has grown of it
        self._moved = np.ones(n, dtype=np.uint8)
        self._sums = None  # of the trees' votes for each row and class
        self._shares = []  # of the nodes of each tree, as they are in the sums
        self._follow()
        self._moved[:] = 1

    def _follow(self):
        # For whoever holds both locks.
        table = self._table.current()
        recoded = table is not self._table
        members = table.estimator._model.trees
        if len(members) != len(self._trees):
            self._moved[:] = 1
            self._sums = None
        del self._trees[len(members) :], self._nodes[len(members) :]
        for i, member in enumerate(members):
            tree = member.tree
            known = self._trees[i] if i < len(self._trees) else (None, None)
            now = tree, growth_of(tree)
            if known[0] is tree and known[1] == now[1] and not recoded:
                continue
            if i == len(self._trees):
                self._nodes.append(np.zeros(self.n_rows, dtype=np.int32))
                self._trees.append(known)
            if known[0] is not tree or recoded or known[1][1] != now[1][1]:
                self._sums = None  # where rows have come from is not known
            if known[0] is not tree:
                self._moved[:] = 1
                self._trees[i] = None, None
                self._nodes[i][:] = 0
            send_on(tree, table.rows, self._nodes[i], self._moved)
            self._trees[i] = now
        self._table = table  # when all rows have been sent on, which may be interrupted
        return self._nodes

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self._moved)

    @property
    def n_bytes(self) -> int:
        """Bytes that the index takes, without the table."""
        sums = 0 if self._sums is None else self._sums.nbytes
        return sum(nodes.nbytes for nodes in self._nodes) + self._moved.nbytes + sums

    @follows
    def update(self) -> Indices:
        """Tell which rows have got another leaf in a tree since the last call.

        Returns
        -------
        ndarray of shape (n_changed,), intp
            Ascending. All rows at first, and after another tree has taken the place of
            one.
        """
        self._follow()
        found = np.flatnonzero(self._moved)
        self._moved[:] = 0
        return found

    @follows
    def apply(self) -> NDArray[np.int32]:
        """Leaf of each row in each tree, as `apply` of the estimator says.

        Returns
        -------
        ndarray of shape (n_rows, n_trees), int32
        """
        return np.column_stack(self._follow())

    @follows
    def predict_proba(self) -> Floats:
        """Class probabilities of each row, as `predict_proba` of the estimator says.

        Sums over the trees are kept as whole numbers, to which only rows of leaves that
        have changed add something: the result has the same bits as that of an index
        made now. It differs from the estimator's own by what rounding does, at most
        1e-12. Forests whose leaves predict by naive Bayes, or whose trees vote by
        their accuracy, are asked about all rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        estimator, nodes = self._table.estimator, self._follow()
        model = estimator._model
        if model.vote_weights(estimator.vote) is not None or any(
            member.predicts_by_bayes for member in model.trees
        ):
            self._sums, self._shares = None, []
            return estimator._mean_proba(self._table.as_rows())
        self._add_up(nodes, len(model.classes))
        return self._sums / (ONE * len(nodes))

    def _add_up(self, nodes, n_classes):
        sums, self._sums = self._sums, None  # made again if this is interrupted
        if sums is None:
            sums = np.zeros((self.n_rows, n_classes), dtype=np.int64)
            self._shares = []
        changed, shares = [], []
        for i, places in enumerate(nodes):
            tree = self._trees[i][0]
            now = np.rint(tree.value * ONE).astype(np.int64)
            change = now.copy()
            if i < len(self._shares):
                # a row has come from the nearest node above that was there
                before = self._shares[i]
                above, parent = np.arange(len(now)), tree.parent
                for node in range(len(before), len(now)):
                    above[node] = above[parent[node]]
                change -= before[above]
            if change.any():
                changed.append((places, change))
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
            Place in ``estimators_``.

        Returns
        -------
        ndarray of shape (n_rows,), int32
        """
        return self._follow()[tree].copy()

    def __reduce__(self):
        raise TypeError(
            "A ForestRowIndex is not pickled or copied: make another one with "
            "index_rows(X)."
        )
