"""Context of a stream strategy: the rows to decide on, the model and the budget.

An `Account` is the label budget: it counts rows and queried labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...utils._codec import canonical
from ...utils._types import Estimator, TableLike
from .._estimators import final_step
from ._decisions import draws

if TYPE_CHECKING:
    from ._decisions import Account


@dataclass(eq=False, repr=False)
class StreamContext:
    """Rows of a stream to decide on, and the state of the learner.

    Parameters
    ----------
    estimator : classifier or None
        The current model; None before it has learned two classes.
    X : array-like of shape (n_rows, n_features)
        The rows.
    n_classes : int
        Number of classes, at least 2.
    first : int
        Number of the first row in the stream.
    seed : int
        Key of random draws.
    leaves : LeafLabels
        Number of labels queried in each leaf of a single tree since it was created.
    budget : Account
        Numbers of rows and queried labels so far.
    stop : bool
        Whether decisions end after the first label that is queried.

    Examples
    --------
    A strategy that queries labels if the largest probability is below 80%:

    >>> from skconftree.active.stream import StreamStrategy
    >>> class Unsure(StreamStrategy):
    ...     def wants(self, context, i):
    ...         return context.certainty[i] < 0.8
    """

    estimator: Estimator | None
    X: TableLike
    n_classes: int
    first: int
    seed: int
    leaves: LeafLabels
    budget: Account
    stop: bool

    def __post_init__(self):
        self.n_rows = self.X.shape[0]

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
        final, transform = final_step(self.estimator)
        return np.asarray(final.apply(transform(self.X)), dtype=np.intp)

    def draws(self, use: int) -> NDArray[Any]:
        """Uniform draws from [0, 1) for the rows, independent of the division in calls.

        Parameters
        ----------
        use : int
            Key that separates the draws for different purposes.

        Returns
        -------
        ndarray of shape (n_rows,)
            One draw per row.
        """
        return draws(self.seed, self.first, self.n_rows, use)


class LeafLabels:
    """Numbers of queried labels and of rows in each leaf since it was created."""

    def __init__(self):
        self.counts = np.zeros((0, 2))
        self.n_rows = np.zeros(0)

    def copy(self):
        """Copy the counts."""
        copied = LeafLabels()
        copied.counts, copied.n_rows = self.counts.copy(), self.n_rows.copy()
        return copied

    def of(self, leaves, n_classes):
        """Label counts and numbers of rows of leaves, which may be new."""
        self._reserve(int(leaves.max(initial=-1)) + 1, n_classes)
        return self.counts[leaves], self.n_rows[leaves]

    def add_rows(self, leaves):
        """Count rows."""
        np.add.at(self.n_rows, leaves, 1.0)

    def add_labels(self, leaves, codes, n_classes):
        """Count queried labels; `codes` are their class indices."""
        self._reserve(int(leaves.max(initial=-1)) + 1, n_classes)
        np.add.at(self.counts, (leaves, codes), 1.0)

    def __getstate__(self):
        return canonical(self.__dict__)  # equal states have equal pickles

    def _reserve(self, n_nodes, n_classes):
        n_new_nodes = max(n_nodes - len(self.counts), 0)
        n_new_classes = max(n_classes - self.counts.shape[1], 0)
        if n_new_nodes or n_new_classes:
            self.counts = np.pad(self.counts, ((0, n_new_nodes), (0, n_new_classes)))
            self.n_rows = np.pad(self.n_rows, (0, n_new_nodes))
