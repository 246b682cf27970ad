"""Order of rows by their content."""

import numpy as np
from scipy.sparse import issparse

from ._row_hashes import hash_dense, hash_sparse


class ContentOrder:
    """Order of rows by their content, from two hashes of each row.

    Equal rows with equal labels are a group, and groups are ordered by their hashes. A
    random sample draws from the cumulative weights (positive) in this order. It
    therefore depends neither on the order of the rows nor on whether a row has weight k
    or occurs k times. `row_indices` are the rows in this order, `starts` the positions
    of the first row of each group, and `ends` the cumulative weights including each
    group.
    """

    def __init__(self, first, second, weight=None):
        # equal rows are ordered by weight, so that their sum is rounded in one way only
        keys = (second, first) if weight is None else (weight, second, first)
        self.row_indices = np.lexsort(keys)
        new = np.zeros(len(first), dtype=bool)
        new[:1] = True
        for key in (first[self.row_indices], second[self.row_indices]):
            new[1:] |= key[1:] != key[:-1]
        self.starts = np.flatnonzero(new)
        if weight is None:
            sizes = np.diff(self.starts, append=len(first)).astype(np.float64)
        else:
            sizes = np.add.reduceat(weight[self.row_indices], self.starts)
        self.ends = np.cumsum(sizes)

    @property
    def total(self):
        """Weight of all rows."""
        return float(self.ends[-1])

    def group_of_rows(self):
        """Group of each row."""
        new = np.zeros(len(self.row_indices), dtype=np.intp)
        new[self.starts[1:]] = 1
        groups = np.empty(len(new), dtype=np.intp)
        groups[self.row_indices] = np.cumsum(new)
        return groups


def hash_rows(X, y):
    """Return two hashes of each row, of its values and label."""
    if issparse(X):
        X = X.tocsr()
        return hash_sparse(
            X.indptr.astype(np.intp), X.indices.astype(np.intp), X.data, y
        )
    return hash_dense(X, y)
