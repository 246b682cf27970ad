"""A pickle that holds a pool once, though a classifier refers to it too."""

import io
import pickle

import numpy as np
from scipy.sparse import issparse

THE_POOL = "X as float32"


class WithoutPool:
    """A classifier at one moment, without the pool that it refers to.

    A tree that weighs its tests by a pool has it as float32, the learner as it was
    given: two tables of the same rows.

    Parameters
    ----------
    written : bytes
        The classifier, with a sign where it refers to the pool.
    """

    __slots__ = ("written",)

    def __init__(self, written):
        self.written = written

    def __reduce__(self):
        return WithoutPool, (self.written,)

    @classmethod
    def of(cls, classifier, X):
        """Take the pool out of a classifier.

        Parameters
        ----------
        classifier : object
        X : array-like, sparse or frame
            The pool.

        Returns
        -------
        WithoutPool
        """
        file = io.BytesIO()
        _Writer(file, X).dump(classifier)
        return cls(file.getvalue())

    def joined(self, X):
        """Make the classifier again.

        Parameters
        ----------
        X : array-like, sparse or frame
            The same pool.

        Returns
        -------
        object
        """
        return _Reader(io.BytesIO(self.written), X).load()


class _Writer(pickle.Pickler):
    def __init__(self, file, X):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.X = X

    def persistent_id(self, value):
        alike = (
            type(value) is np.ndarray
            and value.dtype == np.float32
            and value.shape == np.shape(self.X)
            and value.flags.c_contiguous
            and (narrowed := _narrowed(self.X)) is not None
            and np.array_equal(value, narrowed, equal_nan=True)
        )
        return THE_POOL if alike else None


class _Reader(pickle.Unpickler):
    def __init__(self, file, X):
        super().__init__(file)
        self.X = X

    def persistent_load(self, sign):
        if sign == THE_POOL and (narrowed := _narrowed(self.X)) is not None:
            return narrowed
        raise pickle.UnpicklingError(f"{sign!r} is no part of a learner's pool.")


def _narrowed(X):
    # The pool as trees read tables of numbers; None if it holds something else.
    if issparse(X):
        X = X.toarray()
    try:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        return None
