"""Index of the rows of a table by node of a growing tree.

`follows` decorates a method that locks the estimator and the index. The *ranges* have
the rows of each node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..utils._lock import Lockable
from ..utils._types import Estimator, Indices, TableLike
from ._growth import IndexedTable, follows
from .nodes._row_index import NodeRanges

LARGEST_KEY = 2**64  # keys are below it


class RowIndex(Lockable):
    """Index of the rows of a table by node, which follows the tree while it grows.

    Made by :meth:`ConfidenceTreeClassifier.index_rows`. Results always refer to the
    current tree, also after further splits, new categories, a drift or another `fit`.
    Only rows of changed nodes are routed again, so calls are fast while the tree does
    not change, for any size of the table.

    The node of a row is that of `apply`: a leaf, or an inner node at which the row's
    category is unknown. Rows can be excluded, for example once they are labeled.

    An index refers to the estimator and the table, which must not be modified, and
    takes 5 additional bytes per row. It cannot be pickled. Threads may share it; their
    calls are serialized.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
        Fitted.
    X : array-like, sparse or frame of shape (n_rows, n_features)

    Attributes
    ----------
    n_rows : int
        Number of rows of the table, including those excluded by `take`.
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
        # The caller holds both locks.
        table = self._table.current()
        if table is not self._table:
            self._ranges.replace_table(table.rows, table.finite)
            self._table = table  # last, because the call may be interrupted
        self._ranges.update(table.estimator.tree_)
        return self._ranges

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, including those excluded by `take`."""
        return self._ranges.n_rows

    @property
    def n_bytes(self) -> int:
        """Bytes that the index takes, without the table."""
        return self._ranges.n_bytes

    @follows
    def update(self) -> Indices:
        """Return the nodes whose rows have changed since the last call.

        Returns
        -------
        ndarray of shape (n_changed,), intp
            Ascending, including new nodes, with or without rows. All nodes in the first
            call, and after the tree has been replaced.
        """
        return self._follow().changed()

    @follows
    def counts(self) -> Indices:
        """Count the rows in each node, without those excluded by `take`.

        Returns
        -------
        ndarray of shape (node_count,), intp
        """
        return self._follow().counts()

    @follows
    def apply(self) -> Indices:
        """Return the node of each row, as `apply` of the estimator.

        Returns
        -------
        ndarray of shape (n_rows,), intp
        """
        return self._follow().nodes()

    @follows
    def members(self, node: int) -> Indices:
        """Return the rows of a node, without those excluded by `take`.

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
        """Sample rows of a node uniformly, without replacement.

        The sample depends only on the key and the rows in the node, not on the history
        of the tree or on other samples. The time does not depend on the size of the
        node.

        Parameters
        ----------
        node : int
        key : int
            Not negative, below 2**64.
        size : int, default=None
            Number of rows. None: one row, returned as a number.

        Returns
        -------
        int or ndarray of shape (size,), intp

        Raises
        ------
        ValueError
            If there are fewer rows in the node.
        """
        if not 0 <= key < LARGEST_KEY:
            raise ValueError(f"key must be between 0 and 2**64 - 1. Got {key!r}.")
        if size is not None and size < 0:
            raise ValueError(f"size must not be negative. Got {size!r}.")
        rows = self._follow().draw(node, key, 1 if size is None else size)
        return int(rows[0]) if size is None else rows

    def take(self, rows: int | ArrayLike) -> None:
        """Exclude rows: they are no longer counted, listed or sampled.

        Parameters
        ----------
        rows : int or array-like of int
            Rows that are already excluded stay excluded.
        """
        self._mark(rows, True)

    def put_back(self, rows: int | ArrayLike) -> None:
        """Include excluded rows again, in their present nodes.

        Parameters
        ----------
        rows : int or array-like of int
        """
        self._mark(rows, False)

    @follows
    def _mark(self, rows, excluded):
        rows = np.asarray(rows)
        if rows.size and rows.dtype.kind not in "iu":
            raise ValueError(f"rows must be integers. Got {rows!r}.")
        rows = np.atleast_1d(rows).ravel().tolist()
        n = self.n_rows
        for row in rows:
            if not 0 <= row < n:
                raise ValueError(
                    f"rows must be indices between 0 and {n - 1}. Got {row}."
                )
        ranges = self._follow()
        for row in rows:
            ranges.exclude(row, excluded)

    def __reduce__(self):
        raise TypeError(
            "A RowIndex cannot be pickled or copied. Make another with index_rows(X)."
        )
