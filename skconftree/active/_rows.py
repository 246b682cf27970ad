"""Rows of a pool or of a stream, whatever holds them."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from .._compat import _safe_indexing

CHUNK = 65536  # rows that are predicted, or compared, at once


def take(X, rows):
    """Rows of an array, a sparse table or a frame, in their order."""
    if type(X) is np.ndarray and type(rows) is np.ndarray:
        return X[rows]  # which takes a tenth of the time
    return _safe_indexing(X, rows)


def readable(X):
    """A table whose rows can be taken, with at least one row and one column."""
    if issparse(X):
        X = X if X.format in ("csr", "csc") else X.tocsr()
    elif not hasattr(X, "shape"):
        texts = isinstance(X, list | tuple) and all(isinstance(one, str) for one in X)
        # else all texts would take as much memory as the longest
        X = np.array(X, dtype=object) if texts else np.asarray(X)
    if not X.shape:
        raise ValueError(f"X must be a table. Got {X.tolist()!r} instead.")
    if len(X.shape) == 1 and getattr(X.dtype, "kind", "O") in "biuf":  # not of texts
        raise ValueError(
            "Expected 2D array, got 1D array instead. A pool of one feature is "
            "X.reshape(-1, 1), of one row X.reshape(1, -1)."
        )
    for size, what in zip(X.shape, ("sample", "feature"), strict=False):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 "
                "is required by ActiveLearner."
            )
    return X


def n_rows_of(X):
    """Rows of a table."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def in_chunks(X, rows, call):
    """Call a function on rows, a limited number at a time, and join the results."""
    parts = [
        np.asarray(call(take(X, rows[part]))) for part in gen_batches(len(rows), CHUNK)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def check_costs(costs, n_rows):
    """Prices of a pool's labels, or an error that says what is wrong with them."""
    price = np.asarray(costs, dtype=np.float64)
    if price.shape != (n_rows,):
        raise ValueError(
            f"costs must have one number for each of the {n_rows} rows of the pool. "
            f"Got shape {price.shape}."
        )
    if not (np.isfinite(price) & (price > 0.0)).all():
        raise ValueError("costs must be finite and above 0.")
    return price
