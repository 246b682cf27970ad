"""Which row of a table lies in which node of a growing tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..utils._lock import Lockable
from ..utils._types import Estimator, Indices, TableLike
from ._growth import IndexedTable, follows
from .nodes._row_index import NodeRanges

LARGEST_KEY = 2**64  # keys are below it


class RowIndex(Lockable):
    """Which row of a table lies in which node of a tree, while the tree grows.

    Made by :meth:`ConfidenceTreeClassifier.index_rows`. Whatever is asked is answered
    for the tree as it is at that moment: after further splits, with categories that
    it has learnt late, after a drift or another `fit`. Only rows of nodes that have
    changed are looked at, so that a question costs next to nothing while the tree
    stays as it is, however large the table.

    A row lies where `apply` says: in a leaf, or at an inner node that does not know
    its category. Rows can be taken out, such as those that have got a label.

    An index refers to the estimator and the table, which must not be changed, and
    takes 5 bytes a row besides. It is not pickled. Threads may share it, one call after
    the other.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted.
    X : array-like, sparse or frame of shape (n_rows, n_features)

    Attributes
    ----------
    n_rows : int
        Rows of the table, those taken included.
    n_bytes : int
        Bytes that the index takes, without the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound="credible", grace_period=1)
    >>> tree = tree.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    >>> index = tree.index_rows(X)
    >>> index.counts()
    array([150])
    >>> tree = tree.partial_fit(X[1:100], y[1:100])
    >>> index.counts()
    array([  0,  50, 100])
    >>> index.update(), index.members(1)[:3]
    (array([0, 1, 2]), array([0, 1, 2]))
    >>> row = index.draw(2, key=0)
    >>> index.take(row)
    >>> index.counts(), index.update()
    (array([ 0, 50, 99]), array([2]))
    """

    def __init__(self, estimator: Estimator, X: TableLike) -> None:
        self._table = IndexedTable(estimator, X)
        self._ranges = NodeRanges(self._table.rows, self._table.finite)
        self._follow()

    def _follow(self):
        # For whoever holds both locks.
        table = self._table.current()
        if table is not self._table:
            self._ranges.become(table.rows, table.finite)
            self._table = table  # behind it, as it may be interrupted
        self._ranges.update(table.estimator.tree_)
        return self._ranges

    @property
    def n_rows(self) -> int:
        """Rows of the table, those taken included."""
        return self._ranges.n_rows

    @property
    def n_bytes(self) -> int:
        """Bytes that the index takes, without the table."""
        return self._ranges.n_bytes

    @follows
    def update(self) -> Indices:
        """Tell which nodes have got or lost rows since the last call.

        Returns
        -------
        ndarray of shape (n_changed,), intp
            Ascending; new nodes among them, whether or not rows lie there. All nodes
            of the tree at first, and after another one has taken its place.
        """
        return self._follow().changed()

    @follows
    def counts(self) -> Indices:
        """Count the rows in each node, but for those taken.

        Returns
        -------
        ndarray of shape (node_count,), intp
        """
        return self._follow().counts()

    @follows
    def apply(self) -> Indices:
        """Node of each row, as `apply` of the estimator says.

        Returns
        -------
        ndarray of shape (n_rows,), intp
        """
        return self._follow().nodes()

    @follows
    def members(self, node: int) -> Indices:
        """Rows that lie in a node, but for those taken.

        Parameters
        ----------
        node : int

        Returns
        -------
        ndarray of shape (n_members,), intp
            Ascending.
        """
        return self._follow().members(node)

    @follows
    def draw(self, node: int, key: int, size: int | None = None) -> int | Indices:
        """Draw rows that lie in a node at random, each as likely as any other.

        The draw depends on the key and the rows in the node alone: not on how the
        tree has grown, nor on other draws. A node with many rows takes no longer than
        one with few.

        Parameters
        ----------
        node : int
        key : int
            Not negative, below 2**64.
        size : int, default=None
            How many rows, all different. None: one, as a number.

        Returns
        -------
        int or ndarray of shape (size,), intp

        Raises
        ------
        ValueError
            If there are fewer rows in the node.
        """
        if not 0 <= key < LARGEST_KEY:
            raise ValueError(f"key must be from 0 to 2**64 - 1. Got {key!r} instead.")
        if size is not None and size < 0:
            raise ValueError(f"size must not be negative. Got {size!r} instead.")
        rows = self._follow().draw(node, key, 1 if size is None else size)
        return int(rows[0]) if size is None else rows

    def take(self, rows: int | ArrayLike) -> None:
        """Take rows out: they are counted, listed and drawn no more.

        Parameters
        ----------
        rows : int or array-like of int
            One that is out already stays so.
        """
        self._mark(rows, True)

    def put_back(self, rows: int | ArrayLike) -> None:
        """Put rows that were taken back to where they belong by now.

        Parameters
        ----------
        rows : int or array-like of int
        """
        self._mark(rows, False)

    @follows
    def _mark(self, rows, away):
        rows = np.asarray(rows)
        if rows.size and rows.dtype.kind not in "iu":
            raise ValueError(f"rows must be integers. Got {rows!r} instead.")
        rows = np.atleast_1d(rows).ravel().tolist()
        n = self.n_rows
        for row in rows:
            if not 0 <= row < n:
                raise ValueError(
                    f"rows must be of the table, from 0 to {n - 1}. Got {row} instead."
                )
        ranges = self._follow()
        for row in rows:
            ranges.take(row, away)

    def __reduce__(self):
        raise TypeError(
            "A RowIndex is not pickled or copied: make another one with index_rows(X)."
        )
