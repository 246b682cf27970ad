"""Strategies by the class probabilities of a row, and random sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from ..utils._types import Floats
from ._strategy import FOR_ROWS, SamplingStrategy


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
