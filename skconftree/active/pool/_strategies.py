"""Density, diversity, core-set and committee strategies, and the default one."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ..._compat import Interval
from ...utils._types import Floats, Indices
from .._estimators import final_step, serves
from .._strategy import (
    FOR_ROWS,
    MarginSampling,
    RandomSampling,
    SamplingStrategy,
    checked_scores,
    entropy,
    largest,
)

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
        "n_neighbors": [Interval(Integral, 1, None, closed="left")]
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
        distances = context.dist_to_labeled  # infinite without a label: rows are alike
        return np.where(np.isfinite(distances), distances, 1.0).astype(np.float64)

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


class VoteEntropySampling(SamplingStrategy):
    """Ask where the members of a forest disagree: entropy of their votes, in nats.

    Any ensemble with `estimators_` will do: nothing is fitted beside it.

    References
    ----------
    .. [1] I. Dagan, S. Engelson (1995), "Committee-based sampling for training
       probabilistic classifiers", ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(RandomForestClassifier(9), strategy="vote_entropy")
    >>> len(learner.fit(X, known).query(3))
    3
    """

    needs = ("committee",)

    def score(self, context: QueryContext) -> Floats:
        return entropy(context.votes)


CLUSTERED = 20000  # rows among which clusters are looked for
FEW = 3  # labels a class, on average, up to which the pool is covered first
AT_RANDOM = 0.1  # share of the questions after that


class AutoSampling(SamplingStrategy):
    """Cover the pool first, then ask by margin, with some rows at random.

    While there are fewer than three labels a class, the pool is cut into as many
    clusters as there will be labels; the largest ones without a label are asked for
    their middle rows. After that rows with a small margin are asked for, and on average
    every tenth at random: margins alone chase wrong labels, and never look where the
    classifier is sure and wrong. Of a single tree, whose margins tie in droves, leaves
    with many rows a label come first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy="auto", random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """

    takes_costs = True

    def select(self, context: QueryContext, k: int) -> tuple[Indices, Floats]:
        few = len(context.labeled) < FEW * max(context.n_classes, 2)
        if context.estimator is None or (few and context.costs is None):
            return cover(context, k)
        margin = MarginSampling()
        if not serves(margin, context.estimator):
            margin = RandomSampling()
        scores = checked_scores(margin, margin.score(context), context)
        chance = context.rng(FOR_ROWS)
        n_random = int((chance.random(k) < AT_RANDOM).sum())
        chosen = largest(scores, k - n_random, context)
        if n_random:
            left = np.ones(len(scores), dtype=bool)
            left[chosen] = False
            rest = np.flatnonzero(left)
            chosen = np.concatenate(
                [chosen, chance.choice(rest, n_random, replace=False)]
            )
        return chosen, scores[chosen]


def cover(context, k):
    """Middle rows of the largest clusters without a label."""
    candidates = context.candidates
    rng = context.rng(FOR_ROWS)
    looked_at = candidates
    if len(candidates) > CLUSTERED:
        looked_at = np.sort(rng.choice(candidates, CLUSTERED, replace=False))
    rows = np.concatenate([looked_at, context.labeled])
    points = context.points[rows]
    n_clusters = min(len(context.labeled) + k, len(np.unique(points, axis=0)))
    model = MiniBatchKMeans(
        n_clusters, random_state=int(rng.integers(2**31 - 1)), n_init=1
    ).fit(points)
    # from the stored centres: labels_ may be those of the step before
    members = model.predict(points)
    distance = ((points - model.cluster_centers_[members]) ** 2).sum(axis=1)
    sizes = np.bincount(members[: len(looked_at)], minlength=n_clusters)
    labels = np.bincount(members[len(looked_at) :], minlength=n_clusters)
    index_of = np.searchsorted(candidates, looked_at)
    free = np.ones(len(looked_at), dtype=bool)
    chance = rng.random(len(looked_at))  # of rows that are equally near
    chosen, scores = [], []
    while len(chosen) < k:
        worth = np.where(sizes > 0, sizes / (1.0 + labels) ** 2, -1.0)
        j = int(worth.argmax())
        if sizes[j] == 0:  # more rows are wanted than were looked at
            others = np.setdiff1d(np.arange(len(candidates)), chosen)
            more = rng.choice(others, k - len(chosen), replace=False)
            return np.concatenate([chosen, more]).astype(np.intp), np.concatenate(
                [scores, np.zeros(len(more))]
            )
        inside = np.flatnonzero(free & (members[: len(looked_at)] == j))
        i = inside[np.lexsort((chance[inside], distance[inside]))[0]]
        free[i] = False
        chosen.append(int(index_of[i]))
        scores.append(worth[j])
        sizes[j] -= 1
        labels[j] += 1
    return np.array(chosen, dtype=np.intp), np.array(scores, dtype=np.float64)


def tie_break_for(estimator):
    """How rows of equal score are told apart if nobody says so."""
    final, _ = final_step(estimator)
    single = hasattr(final, "apply") and hasattr(final, "tree_")
    return "leaf" if single else "random"
