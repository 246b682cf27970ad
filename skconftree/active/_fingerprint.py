"""Whether a table has the rows that it had: hashes of what the rows hold."""

from hashlib import blake2b

import numpy as np
from scipy.sparse import issparse

from .._compat import _safe_indexing
from ..tables._row_hashes import hash_dense, hash_sparse
from ._rows import n_rows_of


def fingerprint(X):
    """What tells a pool from another one; a dict of plain values.

    `rows` is of the rows in their order, `any_order` of the rows as a set. Numbers
    count by their values, as float64, other things by what ``str`` makes of them, so
    that a frame and an array of the same numbers are the same pool.
    """
    hashes = row_hashes(X)
    shape = np.shape(X)
    return {
        "n_rows": n_rows_of(X),
        "n_columns": int(shape[1]) if len(shape) > 1 else None,
        "rows": blake2b(hashes.tobytes(), digest_size=16).hexdigest(),
        "any_order": f"{int(hashes.sum(dtype=np.uint64)):016x}",
    }


def difference(found, expected):
    """Say in which way a pool is not the one that is expected; None if it is."""
    for name, what in (("n_rows", "rows"), ("n_columns", "columns")):
        if found[name] != expected[name]:
            return f"it has {found[name]} {what}, the other had {expected[name]}"
    if found["rows"] == expected["rows"]:
        return None
    if found["any_order"] == expected["any_order"]:
        return "it has the same rows in another order"
    return "rows of it hold other values"


def row_hashes(X):
    """One hash, uint64, of what each row holds."""
    n = n_rows_of(X)
    none = np.zeros(n, dtype=np.uint16)
    if issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        high, low = _halves(X.data)
        # what float32 leaves of a value is a value of a column of its own
        indptr = 2 * X.indptr.astype(np.intp)
        indices = np.empty(2 * len(high), dtype=np.intp)
        data = np.empty(len(indices), dtype=np.float32)
        indices[0::2], indices[1::2] = X.indices, X.indices + X.shape[1]
        data[0::2], data[1::2] = high, low
        return hash_sparse(indptr, indices, data, none)[0]
    if getattr(getattr(X, "dtype", None), "kind", "O") in "biuf":
        parts = _halves(np.asarray(X).reshape(n, -1))
        return hash_dense(np.ascontiguousarray(np.hstack(parts)), none)[0]
    if len(np.shape(X)) == 1:
        columns = [np.asarray(X, dtype=object)]
    else:
        columns = [np.asarray(_safe_indexing(X, j, axis=1)) for j in range(X.shape[1])]
    numbers = [_as_numbers(column) for column in columns]
    if all(one is not None for one in numbers):
        return row_hashes(np.column_stack(numbers))
    parts = []
    for column, values in zip(columns, numbers, strict=True):
        parts.extend(_pieces(column) if values is None else _halves(values))
    return hash_dense(np.ascontiguousarray(np.column_stack(parts)), none)[0]


def _as_numbers(column):
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind != "O" or any(isinstance(one, str) for one in column):
        return None
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _halves(values):
    # A float64 as two float32, which have 48 of its 53 bits.
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        high = values.astype(np.float32)
        low = np.where(np.isfinite(high), values - high, 0.0).astype(np.float32)
    return high, low


def _pieces(column):
    # The hash of a text in three whole numbers that float32 has exactly.
    known = {}
    out = np.empty(len(column), dtype=np.uint64)
    for place, one in enumerate(column.tolist()):
        text = one if type(one) is str else str(one)
        value = known.get(text)
        if value is None:
            coded = text.encode("utf-8", "surrogatepass")
            value = int.from_bytes(blake2b(coded, digest_size=8).digest(), "little")
            known[text] = value
        out[place] = value
    mask = np.uint64(0xFFFFFF)
    return [
        ((out >> np.uint64(shift)) & mask).astype(np.float32) for shift in (0, 24, 48)
    ]
