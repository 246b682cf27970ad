"""Base classes of query strategies, uncertainty sampling and random sampling.

The *pool* is the table of unlabeled and labeled rows. `VersionedState` stores the
version of the package in pickles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator

from ..utils._codec import VersionedState
from ..utils._types import Floats, Indices

TIES = ("random", "leaf", "density")  # how ties between rows are broken
# purposes of random draws: ties, rows of random strategies, rows that are drawn at
# random to estimate the accuracy (audit), and leaves (numbers from FOR_LEAVES on)
FOR_TIES, FOR_ROWS, FOR_AUDIT, FOR_LEAVES = range(4)


class SamplingStrategy(VersionedState, BaseEstimator):
    """Base class of query strategies.

    A strategy scores the candidates, which are the unlabeled rows of a pool; the rows
    with the largest scores are queried. Strategies that select the rows of a batch
    jointly override `select`.

    A custom strategy only needs to define `score`. It is passed as an object:
    ``ActiveLearner(estimator, strategy=MySampling())``.

    Attributes
    ----------
    needs : tuple of str
        Capabilities of the fitted classifier that the strategy needs, such as
        ``("predict_proba",)``.
    takes_costs : bool
        Whether scores may be divided by the costs of labels, which requires that they
        are not negative.
    without_model : bool
        Whether the strategy can select rows before there is a classifier, although it
        has `needs`.

    See Also
    --------
    skconftree.testing.check_strategy : Checks a custom strategy.

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
            Pool, classifier and labels at the time of the query.

        Returns
        -------
        ndarray of shape (n_candidates,)
            Score of each candidate; rows with larger scores are queried first.
        """
        raise NotImplementedError(f"{type(self).__name__} must define score(context).")

    def select(self, context: Any, k: int) -> tuple[Indices, Floats]:
        """Select candidates.

        Parameters
        ----------
        context : QueryContext
            Pool, classifier and labels at the time of the query.
        k : int
            Number of rows to select, at most the number of candidates.

        Returns
        -------
        chosen : ndarray of shape (k,), intp
            Indices among the candidates, without duplicates.
        scores : ndarray of shape (k,)
            Scores of the selected candidates.
        """
        scores = checked_scores(self, self.score(context), context)
        chosen = largest(scores, k, context)
        return chosen, scores[chosen]

    def select_rows(self, context: Any, k: int) -> tuple[Indices, Floats]:
        """Select rows as `select` does, and return their indices into the pool.

        The learner calls this method. A strategy that does not need the array of all
        candidates overrides it.

        Parameters
        ----------
        context : QueryContext
            Pool, classifier and labels at the time of the query.
        k : int
            Number of rows to select, at most the number of candidates.

        Returns
        -------
        rows : ndarray of shape (k,), intp
            Indices into the pool, without duplicates.
        scores : ndarray of shape (k,)
            Scores of the selected rows.
        """
        chosen, scores = self.select(context, k)
        chosen = np.asarray(chosen)
        n = len(context.candidates)
        if not ((chosen >= 0) & (chosen < n)).all():
            raise ValueError(
                f"{type(self).__name__}.select must return indices from 0 to {n - 1}, "
                f"among {n} candidates. Got {chosen!r}."
            )
        return context.candidates[chosen], scores


class FunctionSampling(SamplingStrategy):
    """Strategy that scores candidates by a function ``f(estimator, X) -> scores``."""

    needs = ("predict",)  # so that it is not called before there is a classifier

    def __init__(self, function):
        self.function = function

    def score(self, context):
        return self.function(context.estimator, context.take(context.candidates))


def checked_scores(strategy, scores, context):
    """Validate scores, convert them to float64 and divide them by the costs."""
    name = type(strategy).__name__
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != context.candidates.shape:
        raise ValueError(
            f"{name} must return one score for each of the {len(context.candidates)} "
            f"candidates. Got shape {scores.shape}."
        )
    if np.isnan(scores).any():
        raise ValueError(f"{name} returned NaN scores. Scores must be numbers.")
    if context.costs is None:
        return scores
    if not strategy.takes_costs:
        raise ValueError(f"{name} does not support costs. Omit them.")
    if scores.min(initial=0.0) < 0.0:
        raise ValueError(
            f"{name} returned negative scores, which cannot be divided by costs. Omit "
            "the costs, or return scores of 0 or more."
        )
    return scores / context.costs


def largest(scores, k, context):
    """Indices of the `k` largest scores; ties by cost, then `context.tie_break`."""
    if k == 0:
        return np.empty(0, dtype=np.intp)
    if k >= len(scores):
        selected = np.arange(len(scores))
    else:
        smallest = np.partition(scores, len(scores) - k)[len(scores) - k]
        selected = np.flatnonzero(scores > smallest)
        tied = np.flatnonzero(scores == smallest)
        order = np.lexsort(tie_keys(tied, context))
        selected = np.concatenate([selected, tied[order[: k - len(selected)]]])
    order = np.lexsort((*tie_keys(selected, context), -scores[selected]))
    return selected[order]


def tie_keys(indices, context):
    """Keys of `np.lexsort` that order candidates of equal score."""
    random = context.rng(FOR_TIES).random(len(context.candidates))[indices]
    if context.costs is not None:
        return random, context.costs[indices]
    if context.tie_break == "leaf" and context.estimator is not None:
        # leaves with many rows per label first
        leaves = context.leaf_ids[indices]
        labels = context.leaf_counts.sum(axis=1)
        return random, -(context.leaf_sizes / (labels + 1.0))[leaves]
    if context.tie_break == "density":
        # squared distance to the nearest rows: dense regions first
        return random, context.density[indices]
    return (random,)


class RandomSampling(SamplingStrategy):
    """Random sampling, the baseline of all query strategies.

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
    """Uncertainty sampling by the probability of the most probable class.

    The score is one minus the largest class probability.

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
    """Uncertainty sampling by the margin between the two most probable classes.

    The score is one minus the difference of their probabilities. It is the usual first
    choice, because it ignores uncertainty between improbable classes.

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
    """Uncertainty sampling by the entropy of the class probabilities, in nats.

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
    """Difference of the two largest values of each row."""
    if shares.shape[1] == 1:
        return np.ones(len(shares))
    if shares.shape[1] == 2:
        return np.abs(shares[:, 0] - shares[:, 1])
    top = np.partition(shares, shares.shape[1] - 2, axis=1)[:, -2:]
    return top[:, 1] - top[:, 0]


def entropy(shares):
    """Entropy of each row of shares, in nats."""
    return np.maximum(-xlogy(shares, shares).sum(axis=-1), 0.0)


MAX_LISTED = 20  # keys that a message lists


def choices(labels, commands=()):
    """Return a menu key for each label, and a dict from inputs to indices of labels.

    Keys are positions from 1 on, and labels can also be typed. If a label equals the
    position of another label, such as 1 among 0, 1 and 2, then keys are the labels, to
    avoid ambiguity. `commands` are inputs with another meaning.
    """
    by_label = {}
    for i, label in enumerate(labels):
        by_label.setdefault(str(label).strip(), i)
        if isinstance(label, float) and label.is_integer():
            by_label.setdefault(str(int(label)), i)
    positions = {str(i + 1): i for i in range(len(labels))}
    is_ambiguous = any(by_label.get(text, i) != i for text, i in positions.items())
    if not is_ambiguous or not by_label.keys().isdisjoint(commands):
        return list(positions), by_label | positions
    return [str(label).strip() for label in labels], by_label


def typed_like(text, labels):
    """Return a label that was typed, as a number if all labels are numbers."""
    kinds = {type(label) for label in labels}
    if not text:
        raise ValueError("The label is empty.")
    if kinds <= {int, float} and kinds:
        try:
            return int(text) if kinds == {int} else float(text)
        except ValueError:
            raise ValueError(f"The labels are numbers. Got {text!r}.") from None
    return text


def menu_entries(keys, labels):
    """Menu entry of each label: its key, and the label if it differs."""
    for key, label in zip(keys, labels, strict=True):
        yield f"[{key}]" if key == str(label) else f"[{key}] {label}"


def keys_text(keys, noun="number"):
    """Describe the valid inputs: a `noun` (number or key), or the label itself."""
    if keys == [str(i + 1) for i in range(len(keys))]:
        itself = ", the label itself" if noun == "number" else ""
        return f"a {noun} from 1 to {len(keys)}{itself}"
    more = ", ..." if len(keys) > MAX_LISTED else ""
    return f"one of {', '.join(keys[:MAX_LISTED])}{more}"
