"""What is asked for unless a strategy is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ...utils._types import Floats, Indices
from .._estimators import final_step, serves
from .._strategy import FOR_ROWS, SamplingStrategy, checked_scores, largest
from .._uncertainty import MarginSampling, RandomSampling

if TYPE_CHECKING:
    from ._context import QueryContext

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
        lucky = int((chance.random(k) < AT_RANDOM).sum())
        chosen = largest(scores, k - lucky, context)
        if lucky:
            left = np.ones(len(scores), dtype=bool)
            left[chosen] = False
            rest = np.flatnonzero(left)
            chosen = np.concatenate([chosen, chance.choice(rest, lucky, replace=False)])
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
    place_of = np.searchsorted(candidates, looked_at)
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
        chosen.append(int(place_of[i]))
        scores.append(worth[j])
        sizes[j] -= 1
        labels[j] += 1
    return np.array(chosen, dtype=np.intp), np.array(scores, dtype=np.float64)


def tie_break_for(estimator):
    """How rows of equal score are told apart if nobody says so."""
    final, _ = final_step(estimator)
    single = hasattr(final, "apply") and hasattr(final, "tree_")
    return "leaf" if single else "random"
