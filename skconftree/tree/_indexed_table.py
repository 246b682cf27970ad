"""A table whose rows are followed through the trees of an estimator."""

from functools import wraps

from scipy.sparse import issparse

from ..tables._table_rows import Rows
from ..utils._lock import learns
from ..utils._types import Method


class IndexedTable:
    """A table as a fitted estimator, with a `_lock`, reads it now.

    X is kept, not copied, if it is float32 in C order.
    """

    def __init__(self, estimator, X):
        self.estimator = estimator
        self.given = X
        rows, self.finite, self.schema = estimator._rows(X)
        self.rows = rows.tocsr() if issparse(rows) else rows

    def as_rows(self):
        """The table as the estimator reads rows."""
        return Rows(self.rows, self.finite, self.schema)

    def current(self):
        """Give the table, read anew if there are further categories."""
        if self.schema.features is self.estimator._model.schema.features:
            return self
        return IndexedTable(self.estimator, self.given)


def follows(method: Method) -> Method:
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
