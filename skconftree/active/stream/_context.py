"""What a stream strategy may ask about the rows it decides on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...utils import canonical
from ...utils._types import Estimator, TableLike
from .._estimators import final_step
from ._decisions import draws

if TYPE_CHECKING:
    from ._decisions import Account


class StreamContext:
    """Rows of a stream that wait for a decision, and the model as it is.

    Parameters
    ----------
    estimator : classifier or None
        None before it has learnt two classes.
    X : array-like of shape (n_rows, n_features)
        The rows.
    n_classes : int
        Number of classes, at least 2.
    first : int
        Number of the first row in the stream.
    seed : int
        What draws are keyed by.
    leaves : LeafLabels
        Labels requested in each leaf of a single tree since it was made.
    budget : Account
        What has been spent.
    stop : bool
        Decide no further than the first label that is requested.

    Examples
    --------
    A strategy that asks wherever the model is less than 80 % sure:

    >>> from skconftree.active.stream import StreamStrategy
    >>> class Unsure(StreamStrategy):
    ...     def wants(self, context, i):
    ...         return context.certainty[i] < 0.8
    """

    def __init__(
        self,
        estimator: Estimator | None,
        X: TableLike,
        n_classes: int,
        first: int,
        seed: int,
        leaves: LeafLabels,
        budget: Account,
        stop: bool,
    ) -> None:
        self.estimator = estimator
        self.X = X
        self.n_rows = X.shape[0]
        self.n_classes = n_classes
        self.first = first
        self.seed = seed
        self.leaves = leaves
        self.budget = budget
        self.stop = stop

    @cached_property
    def proba(self):
        """Class probabilities, (n_rows, n_classes); all 0 without a model."""
        if self.estimator is None:
            return np.zeros((self.n_rows, self.n_classes))
        return np.asarray(self.estimator.predict_proba(self.X), dtype=np.float64)

    @cached_property
    def certainty(self):
        """Largest class probability of each row, (n_rows,); 0 without a model."""
        return np.ascontiguousarray(self.proba.max(axis=1))

    @cached_property
    def leaf_ids(self):
        """Leaf of each row in a single tree, (n_rows,)."""
        final, seen = final_step(self.estimator)
        return np.asarray(final.apply(seen(self.X)), dtype=np.intp)

    def draws(self, use: int) -> NDArray[Any]:
        """Draws from [0, 1) of the rows, which do not depend on how they are cut.

        Parameters
        ----------
        use : int
            Tells the draws of one purpose from those of another.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return draws(self.seed, self.first, self.n_rows, use)


class LeafLabels:
    """Labels requested and rows seen in each leaf since it was made."""

    def __init__(self):
        self.counts = np.zeros((0, 2))
        self.seen = np.zeros(0)

    def copy(self):
        """Make the same counts, which change on their own."""
        other = LeafLabels()
        other.counts, other.seen = self.counts.copy(), self.seen.copy()
        return other

    def of(self, leaves, n_classes):
        """Counts of labels, and rows seen, of leaves; with room for new ones."""
        self._reserve(int(leaves.max(initial=-1)) + 1, n_classes)
        return self.counts[leaves], self.seen[leaves]

    def add_rows(self, leaves):
        """Count rows that were seen."""
        np.add.at(self.seen, leaves, 1.0)

    def add_labels(self, leaves, codes, n_classes):
        """Count labels that were requested."""
        self._reserve(int(leaves.max(initial=-1)) + 1, n_classes)
        np.add.at(self.counts, (leaves, codes), 1.0)

    def __getstate__(self):
        return canonical(self.__dict__)

    def _reserve(self, n_nodes, n_classes):
        more = max(n_nodes - len(self.counts), 0)
        wider = max(n_classes - self.counts.shape[1], 0)
        if more or wider:
            self.counts = np.pad(self.counts, ((0, more), (0, wider)))
            self.seen = np.pad(self.seen, (0, more))
