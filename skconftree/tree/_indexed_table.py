"""A table whose rows are followed through the trees of an estimator."""

from functools import wraps

from scipy.sparse import issparse

from ..tables._reading import read_rows
from ..utils._lock import learns


class IndexedTable:
    """A table as the estimator reads it now.

    Parameters
    ----------
    estimator : estimator
        Fitted, with a `_lock`.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        Kept, not copied, if it is float32 in C order.
    """

    def __init__(self, estimator, X):
        self.estimator = estimator
        self.given = X
        features = getattr(estimator, "_features", None)
        rows, self.finite = read_rows(estimator, X, features)
        self.rows = rows.tocsr() if issparse(rows) else rows
        self.features = features

    def current(self):
        """Give the table, read anew if there are further categories."""
        if self.features is getattr(self.estimator, "_features", None):
            return self
        return IndexedTable(self.estimator, self.given)


def follows(method):
    """Decorate a method of an index, a `Lockable` with a `_table`, that has a lock.

    The estimator is held first: whoever waits for the index then never keeps a thread
    that learns waiting for itself.
    """
    alone = learns(method)

    @wraps(method)
    def following(self, *args, **kwargs):
        with self._table.estimator._lock:
            return alone(self, *args, **kwargs)

    return following
