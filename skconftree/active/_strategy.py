"""Base classes of query strategies, uncertainty sampling and random sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator

from ..utils import VersionedState
from ..utils._types import Floats, Indices

TIES = ("random", "leaf", "density")  # how rows of equal score are told apart
# what random numbers are drawn for; leaves have numbers from FOR_LEAVES on
FOR_TIES, FOR_ROWS, FOR_AUDIT, FOR_LEAVES = range(4)


class SamplingStrategy(VersionedState, BaseEstimator):
    """Base class of query strategies.

    A strategy scores the candidates of a pool; rows with the largest scores are asked
    for. Those that choose several rows with regard to each other override `select`.

    A class of your own needs `score` only. It works by name nowhere, and as an object
    everywhere: ``ActiveLearner(estimator, strategy=MySampling())``.

    Attributes
    ----------
    needs : tuple of str
        Attributes of the fitted classifier without which the strategy cannot work,
        such as ``("predict_proba",)``.
    takes_costs : bool
        Whether scores are divided by the costs of labels. They must not be negative
        then.
    without_model : bool
        Whether it can choose before there is a classifier, although it has `needs`.

    See Also
    --------
    skconftree.testing.check_strategy : Tries a strategy of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> from skconftree.active.pool import SamplingStrategy
    >>> class LongPetals(SamplingStrategy):
    ...     def score(self, context):
    ...         return context.X[context.candidates, 2]
    >>> X, _ = load_iris(return_X_y=True)
    >>> int(ActiveLearner(GaussianNB(), strategy=LongPetals()).fit(X).query()[0])
    118
    """

    _parameter_constraints: dict = {}

    needs = ()
    takes_costs = True
    without_model = False

    def score(self, context: Any) -> Floats:
        """Score the candidates.

        Parameters
        ----------
        context : QueryContext

        Returns
        -------
        ndarray of shape (n_candidates,)
            The larger, the sooner a row is asked for.
        """
        raise NotImplementedError(f"{type(self).__name__} must define score(context).")

    def select(self, context: Any, k: int) -> tuple[Indices, Floats]:
        """Choose rows.

        Parameters
        ----------
        context : QueryContext
        k : int
            At most the number of candidates.

        Returns
        -------
        chosen : ndarray of shape (k,), intp
            Places among the candidates, each once.
        scores : ndarray of shape (k,)
        """
        scores = checked_scores(self, self.score(context), context)
        chosen = largest(scores, k, context)
        return chosen, scores[chosen]

    def select_rows(self, context: Any, k: int) -> tuple[Indices, Floats]:
        """Choose rows as `select` does, but give their places in the pool.

        It is what the learner asks. A strategy that can do without a list of all the
        candidates overrides it.

        Parameters
        ----------
        context : QueryContext
        k : int
            At most the number of candidates.

        Returns
        -------
        rows : ndarray of shape (k,), intp
            Places in the pool, each once.
        scores : ndarray of shape (k,)
        """
        chosen, scores = self.select(context, k)
        chosen = np.asarray(chosen)
        n = len(context.candidates)
        if not ((chosen >= 0) & (chosen < n)).all():
            raise ValueError(
                f"{type(self).__name__}.select must give places among {n} candidates. "
                f"Got {chosen!r}."
            )
        return context.candidates[chosen], scores


class FunctionSampling(SamplingStrategy):
    """A function ``f(estimator, X) -> scores`` of the candidates as a strategy."""

    needs = ("predict",)  # it is not asked before there is a classifier

    def __init__(self, function):
        self.function = function

    def score(self, context):
        return self.function(context.estimator, context.take(context.candidates))


def checked_scores(strategy, scores, context):
    """Scores as float64, one for each candidate, with costs taken into account."""
    name = type(strategy).__name__
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != context.candidates.shape:
        raise ValueError(
            f"{name} must give one score for each of the {len(context.candidates)} "
            f"candidates. Got shape {scores.shape}."
        )
    if np.isnan(scores).any():
        raise ValueError(f"{name} gave NaN as the score of a row.")
    if context.costs is None:
        return scores
    if not strategy.takes_costs:
        raise ValueError(f"{name} does not take costs.")
    if scores.min(initial=0.0) < 0.0:
        raise ValueError(f"{name} gave negative scores, which cannot be had per cost.")
    return scores / context.costs


def largest(scores, k, context):
    """Indices of the `k` largest scores; ties by cost, then `context.tie_break`."""
    if k == 0:
        return np.empty(0, dtype=np.intp)
    if k >= len(scores):
        found = np.arange(len(scores))
    else:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        found = np.flatnonzero(scores > least)
        tied = np.flatnonzero(scores == least)
        order = np.lexsort(tie_keys(tied, context))
        found = np.concatenate([found, tied[order[: k - len(found)]]])
    order = np.lexsort((*tie_keys(found, context), -scores[found]))
    return found[order]


def tie_keys(places, context):
    """Keys of `np.lexsort` that order candidates of equal score."""
    chance = context.rng(FOR_TIES).random(len(context.candidates))[places]
    if context.costs is not None:
        return chance, context.costs[places]
    if context.tie_break == "leaf" and context.estimator is not None:
        # leaves with many rows a label first
        leaves = context.leaf_ids[places]
        labels = context.leaf_counts.sum(axis=1)
        return chance, -(context.leaf_sizes / (labels + 1.0))[leaves]
    if context.tie_break == "density":
        return chance, context.density[places]
    return (chance,)


class RandomSampling(SamplingStrategy):
    """Ask for rows at random: what every other strategy has to beat.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, RandomSampling
    >>> X, _ = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(GaussianNB(), strategy=RandomSampling(), random_state=0)
    >>> len(learner.fit(X).query(5))
    5
    """

    def score(self, context: Any) -> Floats:
        return context.rng(FOR_ROWS).random(len(context.candidates))


class LeastConfidentSampling(SamplingStrategy):
    """Ask where the most probable class has the smallest probability.

    The score is one minus that probability.

    References
    ----------
    .. [1] D. Lewis, W. Gale (1994), "A sequential algorithm for training text
       classifiers", SIGIR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy="least_confident")
    >>> len(learner.fit(X, known).query(3))
    3
    """

    needs = ("predict_proba",)

    def score(self, context: Any) -> Floats:
        return 1.0 - context.proba.max(axis=1)


class MarginSampling(SamplingStrategy):
    """Ask where the two most probable classes are nearest to each other.

    The score is one minus the gap of their probabilities. The usual first choice: it
    does not chase rows that are uncertain among classes out of the question.

    References
    ----------
    .. [1] T. Scheffer, C. Decomain, S. Wrobel (2001), "Active hidden Markov models for
       information extraction", IDA.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.full(150, None)
    >>> known[::5] = y[::5]
    >>> learner = ActiveLearner(GaussianNB(), strategy="margin").fit(X, known)
    >>> rows, scores = learner.query(2, return_scores=True)
    >>> bool(scores[0] >= scores[1] > 0.5)
    True
    """

    needs = ("predict_proba",)

    def score(self, context: Any) -> Floats:
        return 1.0 - margins(context.proba)


class EntropySampling(SamplingStrategy):
    """Ask where the class probabilities have the largest entropy, in nats.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy="entropy", random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """

    needs = ("predict_proba",)

    def score(self, context: Any) -> Floats:
        return entropy(context.proba)


def margins(shares):
    """Gap between the two largest values of each row."""
    if shares.shape[1] == 1:
        return np.ones(len(shares))
    if shares.shape[1] == 2:
        return np.abs(shares[:, 0] - shares[:, 1])
    top = np.partition(shares, shares.shape[1] - 2, axis=1)[:, -2:]
    return top[:, 1] - top[:, 0]


def entropy(shares):
    """Entropy of each row of shares, in nats."""
    return np.maximum(-xlogy(shares, shares).sum(axis=-1), 0.0)


MAX_LISTED = 20  # keys in a sentence


def choices(labels, commands=()):
    """Key of each label, and the place of the label that each text means.

    Keys are positions from 1 on, and a label can be typed as itself too. If a label is
    the number of another one's position, as 1 is among 0, 1 and 2, then keys are the
    labels: whoever reads 1 and types 1 means that label. `commands` are texts that mean
    something else.
    """
    own = {}
    for place, label in enumerate(labels):
        own.setdefault(str(label).strip(), place)
        if isinstance(label, float) and label.is_integer():
            own.setdefault(str(int(label)), place)
    positions = {str(place + 1): place for place in range(len(labels))}
    differ = any(own.get(text, place) != place for text, place in positions.items())
    if not differ or not own.keys().isdisjoint(commands):
        return list(positions), own | positions
    return [str(label).strip() for label in labels], own


def menu_entries(keys, labels):
    """What a menu has for each label: its key, and the label if that differs."""
    for key, label in zip(keys, labels, strict=True):
        yield f"[{key}]" if key == str(label) else f"[{key}] {label}"


def keys_text(keys, noun="number"):
    """Say in a few words what may be typed: a `noun`, or the label itself."""
    if keys == [str(place + 1) for place in range(len(keys))]:
        itself = ", the label itself" if noun == "number" else ""
        return f"a {noun} from 1 to {len(keys)}{itself}"
    more = ", ..." if len(keys) > MAX_LISTED else ""
    return f"one of {', '.join(keys[:MAX_LISTED])}{more}"
