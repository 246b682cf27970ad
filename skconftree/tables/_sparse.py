"""Sparse tables: validation, and conversion to dense blocks."""

import numpy as np
from scipy import sparse
from scipy.sparse import issparse
from sklearn.utils import check_array

FORMATS = ("csr", "csc")
BLOCK_ROWS = 8192
BLOCK_VALUES = 1 << 20  # largest number of values of a block, unless a row has more


def read_sparse(X, caller):
    """Validate a sparse table."""
    if X.format not in FORMATS:  # COO, LIL, DOK, BSR, DIA
        X = X.tocsr()
    if X.ndim == 2:
        _check_indices(X)
        if not X.has_canonical_format or X.nnz < len(X.data):
            X = X.copy()
            X.sum_duplicates()
            X.prune()
    if X.dtype.kind == "f" and np.isnan(X.data).any():
        raise ValueError(
            "Sparse X contains NaN. Missing values are supported in dense tables only."
        )
    # infinity is an error; an overflow in the sum that scikit-learn computes first is
    # not
    with np.errstate(over="ignore", invalid="ignore"):
        return check_array(
            X, dtype=np.float32, accept_sparse=FORMATS, estimator=caller, input_name="X"
        )


def _check_indices(X):
    # Compiled code relies on valid indices, and scikit-learn does not check them.
    n_major, n_minor = X.shape if X.format == "csr" else X.shape[::-1]
    starts, indices = X.indptr, X.indices
    if (
        len(starts) != n_major + 1
        or starts[0] != 0
        or (starts[1:] < starts[:-1]).any()
        or starts[-1] > len(indices)
        or starts[-1] > len(X.data)
        or (len(indices) and (indices.min() < 0 or indices.max() >= n_minor))
    ):
        raise ValueError(
            f"Sparse X of shape {X.shape} is corrupt: its indices or indptr are not "
            "valid. Create it again, for example from its dense form."
        )


def blocks(X):
    """Yield pairs of a slice of rows and a dense block of them; one block if dense."""
    if not issparse(X):
        yield slice(0, len(X)), X
        return
    X = X.tocsr()
    n_rows, n_features = X.shape
    size = min(max(BLOCK_VALUES // n_features, 1), BLOCK_ROWS)
    for start in range(0, n_rows, size):
        rows = slice(start, min(start + size, n_rows))
        yield rows, X[rows].toarray(order="C")


def in_blocks(function, X):
    """Apply a function of dense rows to a table."""
    if isinstance(X, np.ndarray):
        return function(X)
    return np.concatenate([function(block) for _, block in blocks(X)])


def take_rows(X, mask):
    """Return the rows of a mask; a dense result is C-contiguous."""
    return X[mask] if issparse(X) else np.ascontiguousarray(X[mask])


def stack_rows(above, below):
    """Stack two tables; sparse if one of them is, unless there are NaN."""
    parts = [above, below]
    if not any(map(issparse, parts)):
        return np.vstack(parts)
    if any(not issparse(part) and np.isnan(part).any() for part in parts):
        return np.vstack([p.toarray() if issparse(p) else p for p in parts])
    return sparse.vstack([sparse.csc_array(part) for part in parts], format="csc")


def rows_at(X, row_indices):
    """Return rows of a table by their indices."""
    # indexing CSC would leave the entries of columns unsorted
    return X.tocsr()[row_indices] if issparse(X) else X[row_indices]


def column_limits(X):
    """Return the smallest and largest value of each column, ignoring NaN."""
    if issparse(X):
        limits = [X.min(axis=0), X.max(axis=0)]
        limits = [limit.toarray().ravel() for limit in limits]
    else:
        limits = [np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)]
    return np.column_stack(limits).astype(float)
