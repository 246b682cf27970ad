"""Rows of a table for a growing tree."""

import numpy as np

from ...tables._sparse import blocks


def learn_rows(
    grower, X, y, weight, finite, predicted=None, proba=None, from_pool=None
):
    """Let a growing tree learn rows in their order.

    Parameters
    ----------
    grower : Grower
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,), uint16
        Class indices.
    weight : ndarray of shape (n_rows,), float64, or None
    finite : bool
        Whether X has no NaN.
    predicted : ndarray of shape (n_rows,), intp, or None, default=None
        Filled with the class predicted for each row before it is learnt.
    proba : ndarray of shape (n_rows, n_classes), float64, or None, default=None
        Filled with the probabilities of the classes before it is learnt.
    from_pool : ndarray of shape (n_rows,), int32, or None, default=None
        The places of the rows in `X_pool`, which they leave.
    """
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    grower.learn(X, y, weight, finite, predicted, proba, from_pool)


def remember_rows(grower, X, y, weight):
    """Hand the leaves the rows that the tree was fitted to.

    Parameters
    ----------
    grower : Grower
    X, y, weight
        As for `learn_rows`.
    """
    for rows, block in blocks(X):
        grower.remember(block, y[rows], _part(weight, rows))
    grower.settle()


def _part(array, rows):
    return None if array is None else array[rows]
