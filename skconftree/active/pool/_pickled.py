"""A pickle that holds a pool once, though a classifier refers to it too."""

import io
import pickle

import numpy as np
from scipy.sparse import issparse

from .._rows import take

THE_POOL = "X as float32"
THE_REST = "X without a label as float32"


class WithoutPool:
    """A classifier at one moment, without the pool that it refers to.

    A tree that weighs its tests by a pool has it as float32, the learner as it was
    given: two tables of the same rows. A tree that grows has all of the pool, one that
    is fitted anew the unlabelled rows. A sign stands in `written` for the pool.
    """

    __slots__ = ("written",)

    def __init__(self, written):
        self.written = written

    def __reduce__(self):
        return WithoutPool, (self.written,)

    @classmethod
    def of(cls, classifier, X, rest):
        """Take the pool out of a classifier; `rest` are its unlabelled rows."""
        file = io.BytesIO()
        _Writer(file, X, rest).dump(classifier)
        return cls(file.getvalue())

    def joined(self, X, rest):
        """Make the classifier again, with the same pool and rest."""
        return _Reader(io.BytesIO(self.written), X, rest).load()


class _Writer(pickle.Pickler):
    def __init__(self, file, X, rest):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        n_rows, *n_columns = np.shape(X)
        self.tables = {  # by their shape, which tells most arrays apart
            (len(rest), *n_columns): (THE_REST, X, rest),
            (n_rows, *n_columns): (THE_POOL, X, None),
        }

    def persistent_id(self, value):
        if (
            type(value) is not np.ndarray
            or value.dtype != np.float32
            or value.shape not in self.tables
            or not value.flags.c_contiguous
        ):
            return None
        sign, X, rows = self.tables[value.shape]
        narrowed = _narrowed(X, rows)
        if narrowed is None or not np.array_equal(value, narrowed, equal_nan=True):
            return None
        return sign


class _Reader(pickle.Unpickler):
    def __init__(self, file, X, rest):
        super().__init__(file)
        self.tables = {THE_POOL: (X, None), THE_REST: (X, rest)}

    def persistent_load(self, sign):
        table = self.tables.get(sign)
        if table is not None and (narrowed := _narrowed(*table)) is not None:
            return narrowed
        raise pickle.UnpicklingError(f"{sign!r} is no part of a learner's pool.")


def _narrowed(X, rows):
    # The pool, or rows of it, as trees read tables of numbers; None if it holds
    # something else.
    if rows is not None:
        X = take(X, rows)
    if issparse(X):
        X = X.toarray()
    try:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        return None
