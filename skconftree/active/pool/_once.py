"""One question, for loops that keep the labels themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ...utils._types import Estimator, Indices, Seed, TableLike
from ._learner import ActiveLearner

if TYPE_CHECKING:
    from .._strategy import SamplingStrategy


def query_once(
    strategy: str | SamplingStrategy | Callable[..., Any],
    estimator: Estimator,
    X: TableLike,
    y: ArrayLike | None,
    k: int = 1,
    *,
    random_state: Seed = None,
) -> Indices:
    """Say which rows of a pool to label next, without a learner that remembers.

    For a loop of your own, that keeps labels and models in its own way.

    Parameters
    ----------
    strategy : str, SamplingStrategy or callable
        As for :class:`ActiveLearner`.
    estimator : classifier
        Asked as it is if it has been fitted; else a copy is fitted to the rows that
        have a label.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        The pool, labelled rows included.
    y : array-like of shape (n_rows,) or None
        Labels, None or NaN where there is none. None: there are no labels at all.
    k : int, default=1
        How many rows; fewer are given where fewer are left.
    random_state : int, RandomState instance or None, default=None
        An int gives the same rows for the same labels.

    Returns
    -------
    ndarray of shape (k,), intp
        Places in the pool, all different and without a label.

    See Also
    --------
    ActiveLearner : Keeps the labels, and what can be used again at the next question.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import query_once
    >>> X, labels = load_iris(return_X_y=True)
    >>> y = np.full(150, None)
    >>> for _ in range(10):
    ...     rows = query_once("margin", GaussianNB(), X, y, 2, random_state=0)
    ...     y[rows] = labels[rows]
    >>> int(sum(one is not None for one in y))
    20
    """
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        learner = ActiveLearner(estimator, strategy=strategy, random_state=random_state)
    else:
        learner = _AsItIs(estimator, strategy=strategy, random_state=random_state)
    return learner.fit(X, y).query(k)


class _AsItIs(ActiveLearner):
    """An active learner of a classifier that somebody else fits."""

    def _refit(self):
        self.estimator_ = self.estimator
