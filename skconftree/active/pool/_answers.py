"""What has been taught of a pool, and what is known of it without any label."""

from typing import NamedTuple

import numpy as np

from ...utils import canonical
from .._rows import n_rows_of
from ._embedding import Embedding


class Answer(NamedTuple):
    """One label that was taught.

    Parameters
    ----------
    row : int
        Row of the pool.
    label : object
        Its label, or `missing_label` if the row was skipped.
    weight : float
        Weight of the row.

    Examples
    --------
    >>> from skconftree.active.pool import Answer
    >>> Answer(7, "ham", 1.0).label
    'ham'
    """

    row: int
    label: object
    weight: float


class Batch(NamedTuple):
    # What one call of teach brought; label codes depend on all labels, so labels stay.
    rows: np.ndarray
    known: np.ndarray  # which of the rows have a label
    labels: np.ndarray  # of those
    weight: np.ndarray | None
    n_wrong: int | None = None  # of its labels, if it was drawn for an audit


class Pool:
    # The rows, and what is known of them without any label.
    def __init__(self, X, transform, neighbors, seed):
        self.X = X
        self.n_rows = n_rows_of(X)
        self._made_of = transform, neighbors, seed
        self._embedding = None

    @property
    def embedding(self):
        if self._embedding is None:
            self._embedding = Embedding(self.X, *self._made_of)
        return self._embedding

    def __getstate__(self):
        # coordinates can be made again
        return canonical(self.__dict__ | {"_embedding": None})

    def __setstate__(self, state):
        vars(self).update(state)
        self.n_rows = n_rows_of(self.X)  # of arrays that will be made
