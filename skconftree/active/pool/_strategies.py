"""Density, diversity, core-set and committee strategies, and the default strategy.

The *pool* is the table of unlabeled and labeled rows; *candidates* are rows that can be
queried. The *context* is the state of the learner: pool, classifier and labels.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ..._compat import Interval, StrOptions
from ...utils._types import Floats, Indices
from .._estimators import final_step, supports
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
    """Density sampling: queries rows in dense regions, which represent many others.

    The score is the difference between the largest mean squared distance of a candidate
    to its nearest rows of the pool, and that of the row. Alone, it queries near copies
    of one row; combine it with other strategies in :class:`WeightedSampling`.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of nearest rows. Larger values smooth the density.
    of : {"unlabeled", "all"}, default="unlabeled"
        Rows among which the nearest are found. Among unlabeled rows, a region becomes
        less dense with each of its labels. ``"all"`` is faster: densities are computed
        once.

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
        "of": [StrOptions({"unlabeled", "all"})],
    }

    def __init__(
        self, n_neighbors: int = 10, of: Literal["unlabeled", "all"] = "unlabeled"
    ) -> None:
        self.n_neighbors = n_neighbors
        self.of = of

    def score(self, context: QueryContext) -> Floats:
        # mean squared distances: large where rows are sparse
        sparse = context.density_of(self.n_neighbors, self.of).astype(np.float64)
        return sparse.max() - sparse


class DiversitySampling(SamplingStrategy):
    """Diversity sampling: queries rows far from all labeled rows.

    The score is the squared distance to the nearest labeled row. In a batch, each row
    counts as labeled once it is selected, as in :class:`KCenterSampling`.

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
        distances = context.dist_to_labeled  # infinite without a label
        return np.where(np.isfinite(distances), distances, 1.0).astype(np.float64)

    def select(self, context: QueryContext, k: int) -> tuple[Indices, Floats]:
        return _farthest(self, context, k)


class KCenterSampling(DiversitySampling):
    """Core-set sampling: queries the row that is farthest from all labeled rows.

    This is the greedy algorithm for the k-center problem, whose largest distance is at
    most twice the optimum [1]_. Without labels, the first row is the one nearest to the
    mean of the pool.

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
    costs = 1.0 if context.costs is None else context.costs
    chosen, scores = [], []
    ties = context.rng(FOR_ROWS).random(len(nearest))
    if not np.isfinite(nearest).any():
        middle = context.points[context.candidates]
        middle = ((middle - middle.mean(axis=0)) ** 2).sum(axis=1)
        first = int(np.lexsort((ties, middle))[0])
        nearest = context.squared_distances(context.candidates[first]).astype(float)
        nearest[first] = -1.0
        chosen.append(first)
        scores.append(0.0)
    while len(chosen) < k:
        priority = nearest / costs
        best = np.flatnonzero(priority == priority.max())
        nearest_candidate = int(best[ties[best].argmin()])
        chosen.append(nearest_candidate)
        scores.append(priority[nearest_candidate])
        distances = context.squared_distances(context.candidates[nearest_candidate])
        nearest = np.minimum(nearest, distances)
        nearest[chosen] = -1.0
    return np.array(chosen, dtype=np.intp), np.array(scores)


class VoteEntropySampling(SamplingStrategy):
    """Query by committee: entropy of the votes of an ensemble's members, in nats.

    It works with any ensemble that has `estimators_`.

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


class MostLikelySampling(SamplingStrategy):
    """Certainty sampling: queries rows that are most probably of a rare class.

    Use it to find as many rows of a rare class as possible, such as relevant documents,
    rather than to train an accurate classifier. The score is the probability of the
    class. While the class has no labels, rows with uncertain predictions are queried.
    The selected rows do not represent the pool: `random_share` of
    :meth:`ActiveLearner.run` adds random rows, by which the error rate is estimated.

    Parameters
    ----------
    pos_label : str, number or bool, default=None
        The class to find. None: the last class in sorted order, which is the second of
        two classes, as in scikit-learn's metrics.

    References
    ----------
    .. [1] G. V. Cormack, M. R. Grossman (2014), "Evaluation of machine-learning
       protocols for technology-assisted review in electronic discovery", SIGIR.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, ArrayOracle, MostLikelySampling
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> strategy = MostLikelySampling(pos_label=0)        # malignant
    >>> learner = ActiveLearner(GaussianNB(), strategy=strategy, random_state=0)
    >>> learner = learner.fit(X).run(ArrayOracle(y), budget=50)
    >>> bool((learner.y_ == 0).sum() > 40)
    True
    """

    _parameter_constraints = {"pos_label": [Real, str, "boolean", None]}

    needs = ("predict_proba",)

    def __init__(self, pos_label: str | float | bool | None = None) -> None:
        self.pos_label = pos_label

    def score(self, context: QueryContext) -> Floats:
        pos_label = context.classes[-1] if self.pos_label is None else self.pos_label
        (positive,) = np.nonzero(context.estimator.classes_ == pos_label)
        if len(positive):
            return context.proba[:, positive[0]]
        return 1.0 - context.proba.max(axis=1)


MAX_CLUSTERED_ROWS = 20000  # maximum number of rows that are clustered
MIN_LABELS_PER_CLASS = 3  # average number of labels until which the pool is covered
RANDOM_SHARE = 0.1  # share of random queries after that


class AutoSampling(SamplingStrategy):
    """Default query strategy: clusters first, then margin and random sampling.

    While there are fewer than three labels per class on average, the pool is divided
    into as many clusters as there will be labels, and the central rows of the largest
    clusters without a label are queried. After that, rows with a small margin are
    queried, and on average every tenth row at random: margin sampling alone is misled
    by wrong labels, and never queries where the classifier is confident but wrong. The
    margins of a single tree have many ties; among them, leaves with many rows per label
    come first.

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
        has_few_labels = len(context.labeled) < MIN_LABELS_PER_CLASS * max(
            context.n_classes, 2
        )
        if context.estimator is None or (has_few_labels and context.costs is None):
            return cover(context, k)
        margin = MarginSampling()
        if not supports(margin, context.estimator):
            margin = RandomSampling()
        scores = checked_scores(margin, margin.score(context), context)
        rng = context.rng(FOR_ROWS)
        n_random = int((rng.random(k) < RANDOM_SHARE).sum())
        chosen = largest(scores, k - n_random, context)
        if n_random:
            left = np.ones(len(scores), dtype=bool)
            left[chosen] = False
            rest = np.flatnonzero(left)
            chosen = np.concatenate([chosen, rng.choice(rest, n_random, replace=False)])
        return chosen, scores[chosen]


def cover(context, k):
    """Select central rows of the largest clusters without a label."""
    candidates = context.candidates
    rng = context.rng(FOR_ROWS)
    sampled = candidates
    if len(candidates) > MAX_CLUSTERED_ROWS:
        sampled = np.sort(rng.choice(candidates, MAX_CLUSTERED_ROWS, replace=False))
    rows = np.concatenate([sampled, context.labeled])
    points = context.points[rows]
    n_clusters = min(len(context.labeled) + k, len(np.unique(points, axis=0)))
    model = MiniBatchKMeans(
        n_clusters, random_state=int(rng.integers(2**31 - 1)), n_init=1
    ).fit(points)
    # by the final centers: labels_ may be those of the previous iteration
    members = model.predict(points)
    distance = ((points - model.cluster_centers_[members]) ** 2).sum(axis=1)
    # numbers of unlabeled and of labeled rows in each cluster
    sizes = np.bincount(members[: len(sampled)], minlength=n_clusters)
    labels = np.bincount(members[len(sampled) :], minlength=n_clusters)
    index_of = np.searchsorted(candidates, sampled)
    is_unselected = np.ones(len(sampled), dtype=bool)
    ties = rng.random(len(sampled))  # breaks ties between distances
    chosen, scores = [], []
    while len(chosen) < k:
        priority = np.where(sizes > 0, sizes / (1.0 + labels) ** 2, -1.0)
        j = int(priority.argmax())
        if sizes[j] == 0:  # more rows are requested than were clustered
            others = np.setdiff1d(np.arange(len(candidates)), chosen)
            more = rng.choice(others, k - len(chosen), replace=False)
            return np.concatenate([chosen, more]).astype(np.intp), np.concatenate(
                [scores, np.zeros(len(more))]
            )
        inside = np.flatnonzero(is_unselected & (members[: len(sampled)] == j))
        i = inside[np.lexsort((ties[inside], distance[inside]))[0]]
        is_unselected[i] = False
        chosen.append(int(index_of[i]))
        scores.append(priority[j])
        sizes[j] -= 1
        labels[j] += 1
    return np.array(chosen, dtype=np.intp), np.array(scores, dtype=np.float64)


def tie_break_for(estimator):
    """Default rule to break ties between scores."""
    final, _ = final_step(estimator)
    single = hasattr(final, "apply") and hasattr(final, "tree_")
    return "leaf" if single else "random"
