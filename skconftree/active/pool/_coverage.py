"""Strategies that look at where rows lie, not at what is predicted for them."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from ..._compat import Interval
from ...utils._types import Floats, Indices
from .._strategy import FOR_ROWS, SamplingStrategy

if TYPE_CHECKING:
    from ._context import QueryContext


class DensitySampling(SamplingStrategy):
    """Ask for rows in crowded places, which stand for many others.

    The mean squared distance to the nearest rows of the pool is small there; the score
    is by how much it is below the largest of a candidate. Alone it asks for near copies
    of one row; it is meant to be weighed with other scores, see
    :class:`WeightedSampling`.

    Parameters
    ----------
    n_neighbors : int, default=10
        How many nearest rows, with or without a label.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy="density", random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """

    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def score(self, context: QueryContext) -> Floats:
        sparse = context.density_of(self.n_neighbors).astype(np.float64)
        return sparse.max() - sparse


class DiversitySampling(SamplingStrategy):
    """Ask for rows that are far from every row with a label.

    The score is the squared distance to the nearest one. In a batch each row counts as
    labelled once it is chosen, which makes it :class:`KCenterSampling`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy="diversity", random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """

    def score(self, context: QueryContext) -> Floats:
        return _finite(context.dist_to_labeled)

    def select(self, context: QueryContext, k: int) -> tuple[Indices, Floats]:
        return _farthest(self, context, k)


class KCenterSampling(DiversitySampling):
    """Cover the pool: ask for the row that is farthest from all chosen so far.

    The greedy rule for k centres, whose largest distance is at most twice the
    smallest possible [1]_. Without any label the first row is the one nearest to the
    middle of the pool.

    References
    ----------
    .. [1] T. Gonzalez (1985), "Clustering to minimize the maximum intercluster
       distance", Theoretical Computer Science 38.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy="k_center", random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """


def _finite(distances):
    # Infinite without a label: then all rows are the same.
    return np.where(np.isfinite(distances), distances, 1.0).astype(np.float64)


def _farthest(strategy, context, k):
    nearest = context.dist_to_labeled.astype(np.float64)
    price = 1.0 if context.costs is None else context.costs
    chosen, scores = [], []
    chance = context.rng(FOR_ROWS).random(len(nearest))
    if not np.isfinite(nearest).any():
        middle = context.points[context.candidates]
        middle = ((middle - middle.mean(axis=0)) ** 2).sum(axis=1)
        first = int(np.lexsort((chance, middle))[0])
        nearest = context.squared_distances(context.candidates[first]).astype(float)
        nearest[first] = -1.0
        chosen.append(first)
        scores.append(0.0)
    while len(chosen) < k:
        worth = nearest / price
        best = np.flatnonzero(worth == worth.max())
        place = int(best[chance[best].argmin()])
        chosen.append(place)
        scores.append(worth[place])
        distances = context.squared_distances(context.candidates[place])
        nearest = np.minimum(nearest, distances)
        nearest[chosen] = -1.0
    return np.array(chosen, dtype=np.intp), np.array(scores)
