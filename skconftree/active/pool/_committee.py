"""Strategies for classifiers with members that vote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...utils._types import Floats
from .._strategy import SamplingStrategy
from .._uncertainty import entropy

if TYPE_CHECKING:
    from ._context import QueryContext


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
