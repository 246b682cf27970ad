"""A single query, for loops that manage labels and models themselves."""

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
    """Select the rows of a pool to label next, without creating a learner.

    Use it in custom active learning loops that manage labels and models themselves.

    Parameters
    ----------
    strategy : str, SamplingStrategy or callable
        Query strategy, as in :class:`ActiveLearner`.
    estimator : classifier
        A fitted classifier is used as it is. Otherwise, a copy is fitted to the labeled
        rows.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        The pool, including labeled rows.
    y : array-like of shape (n_rows,) or None
        Labels, None or NaN for rows without a label. None: no row has a label.
    k : int, default=1
        Number of rows to select. If fewer unlabeled rows remain, all are returned.
    random_state : int, RandomState instance or None, default=None
        Pass an int to select the same rows for the same labels.

    Returns
    -------
    ndarray of shape (k,), intp
        Indices into the pool of unlabeled rows, without duplicates.

    See Also
    --------
    ActiveLearner : Stores the labels and reuses results in later queries.

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
        learner = _PrefitLearner(
            estimator, strategy=strategy, random_state=random_state
        )
    return learner.fit(X, y).query(k)


class _PrefitLearner(ActiveLearner):
    """Active learner that uses a fitted classifier without refitting it."""

    def _refit(self):
        self.estimator_ = self.estimator
