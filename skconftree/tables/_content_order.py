"""Rows in an order that depends on what they hold."""

import numpy as np
from scipy.sparse import issparse

from ._row_hashes import hash_dense, hash_sparse


class ContentOrder:
    """Rows in an order by what they hold, given two hashes of each.

    Equal rows with equal labels are one group, groups follow each other by their
    hashes. Along that order the weights (positive) add up, and a draw falls into the
    sum. So neither the order of the rows matters nor whether a row has weight k or
    comes k times. `places` are the rows in this order, `starts` where each group begins
    in it, `ends` the sums of weights up to and with each group.
    """

    def __init__(self, first, second, weight=None):
        # equal rows by weight, so that their sum has one order as well
        keys = (second, first) if weight is None else (weight, second, first)
        self.places = np.lexsort(keys)
        new = np.zeros(len(first), dtype=bool)
        new[:1] = True
        for key in (first[self.places], second[self.places]):
            new[1:] |= key[1:] != key[:-1]
        self.starts = np.flatnonzero(new)
        if weight is None:
            sizes = np.diff(self.starts, append=len(first)).astype(np.float64)
        else:
            sizes = np.add.reduceat(weight[self.places], self.starts)
        self.ends = np.cumsum(sizes)

    @property
    def total(self):
        """Weight of all rows."""
        return float(self.ends[-1])

    def group_of_rows(self):
        """Find the group of each row."""
        new = np.zeros(len(self.places), dtype=np.intp)
        new[self.starts[1:]] = 1
        groups = np.empty(len(new), dtype=np.intp)
        groups[self.places] = np.cumsum(new)
        return groups


def hash_rows(X, y):
    """Two hashes of each row, by its values and label."""
    if issparse(X):
        X = X.tocsr()
        return hash_sparse(
            X.indptr.astype(np.intp), X.indices.astype(np.intp), X.data, y
        )
    return hash_dense(X, y)
