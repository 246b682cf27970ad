"""Rows of a table for a growing tree."""

import numpy as np

from ...tables._sparse import blocks


def learn_rows(
    grower, X, y, weight, finite, predicted=None, proba=None, from_pool=None
):
    """Let a growing tree learn rows in their order, see `Grower.learn`."""
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    grower.learn(X, y, weight, finite, predicted, proba, from_pool)


def remember_rows(grower, X, y, weight):
    """Hand the leaves the rows that the tree was fitted to, as `learn_rows`."""
    for rows, block in blocks(X):
        grower.remember(block, y[rows], _part(weight, rows))
    grower.settle()


def _part(array, rows):
    return None if array is None else array[rows]
