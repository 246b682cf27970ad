"""Which rows each tree of a forest sees."""

import numpy as np
from scipy.sparse import issparse

from ._bootstrap import draw_counts, hash_dense, hash_sparse

MOST_DRAWS = 2**31 - 1  # whole counts are added up in 32 bits


class ContentOrder:
    """The rows of a table in an order that depends on what they hold.

    Equal rows with equal labels are one group. Along the order of the groups' hashes
    the weights add up, and a draw falls into the sum. So neither the order of the rows
    matters nor whether a row has weight k or comes k times.

    Parameters
    ----------
    X : ndarray, C-contiguous, or sparse, of shape (n_rows, n_features), float32
        Categories as codes.
    y : ndarray of shape (n_rows,), uint16
        Class indices.
    weight : ndarray of shape (n_rows,), float64, or None
        Positive.

    Attributes
    ----------
    group : ndarray of shape (n_rows,), intp
        Of each row.
    first : ndarray of shape (n_groups,), intp
        The row that stands for a group: its first one.
    ends : ndarray of shape (n_groups,), float64
        Sums of weights up to and with each group.
    """

    def __init__(self, X, y, weight):
        if issparse(X):
            X = X.tocsr()
            first, second = hash_sparse(
                X.indptr.astype(np.intp), X.indices.astype(np.intp), X.data, y
            )
        else:
            first, second = hash_dense(X, y)
        keys = (second, first) if weight is None else (weight, second, first)
        order = np.lexsort(keys)  # sums of equal rows have one order as well
        new = np.ones(len(order), dtype=bool)
        for key in (first, second):
            key = key[order]
            new[1:] &= key[1:] == key[:-1]
        new[1:] = ~new[1:]
        starts = np.flatnonzero(new)
        self.group = np.empty(len(order), dtype=np.intp)
        self.group[order] = np.cumsum(new) - 1
        self.first = np.minimum.reduceat(order, starts)
        if weight is None:
            sizes = np.diff(starts, append=len(order)).astype(np.float64)
        else:
            sizes = np.add.reduceat(weight[order], starts)
        self.ends = np.cumsum(sizes)

    @property
    def total(self):
        """Weight of all rows."""
        return float(self.ends[-1])


def number_of_draws(max_samples, total):
    """Resolve the parameter `max_samples`.

    Parameters
    ----------
    max_samples : int, float or None
    total : float
        Weight of all rows.

    Returns
    -------
    int
    """
    if max_samples is None:
        n_draws = round(total)
    elif isinstance(max_samples, float | np.floating):
        n_draws = round(max_samples * total)
    else:
        n_draws = int(max_samples)
        if n_draws > total:
            raise ValueError(
                f"max_samples must be at most the total weight of the rows, "
                f"{total:g}, got {max_samples!r}."
            )
    if n_draws > MOST_DRAWS:
        raise ValueError(
            f"The sample weights sum to {total:g}, which is too many rows to draw for "
            f"each tree: at most {MOST_DRAWS} are. Set max_samples, or bootstrap=False."
        )
    return max(n_draws, 1)


class Sampler:
    """The samples of a forest's trees.

    Parameters
    ----------
    order : ContentOrder
    n_draws : int
        Rows in a sample, repeated ones included.
    seed : int
        Of the forest.
    """

    def __init__(self, order, n_draws, seed):
        self.order = order
        self.n_draws = n_draws
        self.seed = seed

    def group_counts(self, tree):
        """How often each group of equal rows is in the sample of a tree.

        Parameters
        ----------
        tree : int

        Returns
        -------
        ndarray of shape (n_groups,), uint32
        """
        return draw_counts(self.order.ends, self.n_draws, self.seed, tree)

    def counts(self, tree, n_pool=0):
        """How often each row of the table is in the sample of a tree.

        All draws of a group count for its first row.

        Parameters
        ----------
        tree : int
        n_pool : int, default=0
            Rows without label behind the others, which all trees see once.

        Returns
        -------
        ndarray of shape (n_rows + n_pool,), uint32
        """
        n_rows = len(self.order.group)
        counts = np.zeros(n_rows + n_pool, dtype=np.uint32)
        counts[self.order.first] = self.group_counts(tree)
        counts[n_rows:] = 1
        return counts

    def is_absent(self, tree):
        """Whether each labelled row is out of the sample of a tree, as are its equals.

        Parameters
        ----------
        tree : int

        Returns
        -------
        ndarray of shape (n_rows,), bool
        """
        return (self.group_counts(tree) == 0)[self.order.group]
