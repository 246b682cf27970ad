"""A table whose rows are followed through the trees of an estimator."""

from scipy.sparse import issparse

from ..tables._reading import read_rows


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
        self.read()

    def read(self):
        """Read the table with the categories that are known by now."""
        estimator = self.estimator
        features = getattr(estimator, "_features", None)
        rows, self.finite = read_rows(estimator, self.given, features)
        self.rows = rows.tocsr() if issparse(rows) else rows
        self.features = features

    def is_current(self):
        """Whether the categories are those with which the table was read."""
        return self.features is getattr(self.estimator, "_features", None)
